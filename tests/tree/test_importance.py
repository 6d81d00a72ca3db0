"""Importances are never negative, and splits that gain nothing have none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.testing.reference import RATED
from obtree.tree.importance import compute_importances
from obtree.tree.tree import Tree


def make_stumps(weights, impurity=1.0, root_weight=None):
    """A chain of axis splits, of features 0, 1, ...: each leaf weighs one of the weights."""
    n = len(weights) - 1
    left = np.full(2 * n + 1, -1, dtype=np.int32)
    right = np.full(2 * n + 1, -1, dtype=np.int32)
    total = np.zeros(2 * n + 1)
    rest = list(np.cumsum(weights[::-1])[::-1])
    for k in range(n):
        left[2 * k], right[2 * k] = 2 * k + 1, 2 * k + 2
        total[2 * k], total[2 * k + 1] = rest[k], weights[k]
    total[2 * n] = weights[n]
    if root_weight is not None:
        total[0] = root_weight
    internal = left >= 0
    return Tree.from_arrays(
        n_features=n,
        children_left=left,
        children_right=right,
        threshold=np.zeros(2 * n + 1),
        missing_go_left=np.zeros(2 * n + 1, dtype=np.uint8),
        term_ptr=np.concatenate([[0], np.cumsum(internal)]).astype(np.int64),
        term_feature=np.arange(n, dtype=np.int32),
        term_weight=np.ones(n),
        impurity=np.full(2 * n + 1, impurity),
        n_node_samples=np.ones(2 * n + 1, dtype=np.int64),
        weighted_n_node_samples=total,
        value=np.zeros((2 * n + 1, 1, 1)),
        n_classes=np.ones(1, dtype=np.int64),
    )


def test_rounding_does_not_make_an_importance_negative():
    assert 0.3 - 0.1 - 0.2 < 0
    tree = make_stumps([0.1, 0.2], root_weight=0.3)
    assert compute_importances(tree, normalize=False)[0] == 0.0


@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=8), st.floats(1e-9, 1e9))
def test_splits_without_gain(weights, impurity):
    # What rounding leaves may be above zero, by as little.
    importances = compute_importances(make_stumps(weights, impurity), normalize=False)
    assert (importances >= 0).all()
    assert importances.max() <= 1e-14 * impurity


@pytest.mark.parametrize("criterion", RATED)
@pytest.mark.parametrize("splitter", ["axis_random", "random_oblique"])
def test_no_criterion_has_negative_importances(criterion, splitter):
    kind = ObliqueTreeClassifier if criterion in CLASSIFICATION else ObliqueTreeRegressor
    lowest = 0.0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 20)).round(1)
        y = np.abs(rng.normal(size=40)).round()
        if criterion in REGRESSION and seed % 3:
            y = 0.1 * (rng.random(40) < 0.3)
        weight = rng.random(40) if seed % 2 else None
        tree = kind(criterion=criterion, splitter=splitter, max_features=3, random_state=seed)
        tree.fit(X, y, sample_weight=weight)
        importances = tree.feature_importances_
        assert importances.sum() == pytest.approx(1.0)
        lowest = min(lowest, importances.min())
        # Any negative decrease is rounding, and nothing more.
        internal = np.flatnonzero(tree.tree_.children_left >= 0)
        risk = tree.tree_.weighted_n_node_samples * tree.tree_.impurity
        decrease = risk[internal] - risk[tree.tree_.children_left[internal]]
        decrease -= risk[tree.tree_.children_right[internal]]
        assert decrease.min() >= -1e-14 * risk[0]
        path = tree.cost_complexity_pruning_path(X, y, sample_weight=weight)
        assert path.ccp_alphas[0] == 0.0
        assert (np.diff(path.ccp_alphas) >= 0).all()
    assert lowest == 0.0
