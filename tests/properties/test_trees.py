"""What holds for every grown tree, whatever the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.forest.grow import bootstrap_counts
from obtree.splitter import available
from obtree.testing.growth import grow_forest, hash_trees
from obtree.testing.reference import find_members, route_rows

CRITERIA = [*CLASSIFICATION, *REGRESSION]
SPLITTERS = list(available())
AXIS_SPLITTERS = ["axis", "axis_random"]
SEEDS = st.integers(0, 2**32 - 1)

KINDS = {
    "float32": lambda X: X,
    "float64": lambda X: X.astype(np.float64) * (1 + 1e-9),  # not float32 numbers
    "F order": np.asfortranarray,
    "slice": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "uint8": lambda X: np.nan_to_num(np.abs(X) * 10).astype(np.uint8),
    "int16": lambda X: np.nan_to_num(X * 100).astype(np.int16),
    "int64": lambda X: np.nan_to_num(X * 1e10).astype(np.int64),
    "bool": lambda X: np.nan_to_num(X) > 0,
    "csr": lambda X: sparse.csr_array(np.where(np.abs(X) < 0.7, 0, X)),
    "csc": lambda X: sparse.csc_array(np.where(np.abs(X) < 0.7, 0, X)),
}
MISSING = {
    "none": lambda X, rng: None,
    "some": lambda X, rng: X.__setitem__(rng.random(X.shape) < 0.2, np.nan),
    "most": lambda X, rng: X.__setitem__(rng.random(X.shape) < 0.9, np.nan),
    "a column": lambda X, rng: X.__setitem__((slice(None), 0), np.nan),
    "a row": lambda X, rng: X.__setitem__(0, np.nan),
    "all": lambda X, rng: X.fill(np.nan),
}


def draw_table(rng, missing, n=None):
    n = n or int(rng.integers(1, 70))
    X = np.round(rng.normal(size=(n, 3)), int(rng.integers(0, 4))).astype(np.float32)
    MISSING[missing](X, rng)
    return X


def draw_targets(rng, criterion, n):
    if criterion in CLASSIFICATION:
        return rng.integers(0, 3, n)
    return rng.gamma(1.0, size=n) + 0.01


def draw_weight(rng, n, kind):
    return {
        "none": None,
        "whole": rng.integers(0, 3, n) + np.eye(n)[rng.integers(n)],
        "real": rng.random(n) + 0.01,
    }[kind]


def to_float32(X):
    X = X.toarray() if sparse.issparse(X) else X
    return X.astype(np.float64).astype(np.float32)


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("splitter", SPLITTERS)
@given(seed=SEEDS)
def test_training_rows_reach_the_leaves_that_counted_them(splitter, kind, missing, seed):
    rng = np.random.default_rng(seed)
    criterion = CRITERIA[rng.integers(len(CRITERIA))]
    X = KINDS[kind](draw_table(rng, missing))
    n = X.shape[0]
    weight = draw_weight(rng, n, rng.choice(["none", "whole", "real"]))
    n_bootstrap = int(rng.choice([0, n]))
    (tree,) = grow_forest(
        X,
        draw_targets(rng, criterion, n),
        criterion,
        n_classes=[3],
        splitter=splitter,
        seeds=[seed],
        sample_weight=weight,
        n_bootstrap=n_bootstrap,
        max_features=int(rng.integers(1, 4)),
        max_leaf_nodes=int(rng.choice([-1, 8])),
        keep_rows=bool(rng.integers(2)),
    )
    weight = np.ones(n) if weight is None else weight
    if n_bootstrap:
        counts = bootstrap_counts(seed, n, n_bootstrap)
        weight = weight * counts if np.any(weight * counts) else weight
    rows = np.flatnonzero(weight)
    values = to_float32(X)
    leaves = route_rows(tree, values)
    members = find_members(tree, leaves[rows])
    np.testing.assert_array_equal(members.sum(axis=1), tree.n_node_samples)
    np.testing.assert_allclose(members @ weight[rows], tree.weighted_n_node_samples, rtol=1e-12)
    # The fast way to a leaf is the same.
    np.testing.assert_array_equal(tree.apply(values), leaves)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("splitter", SPLITTERS)
@given(
    seed=SEEDS, missing=st.sampled_from(list(MISSING)), weights=st.sampled_from(["none", "real"])
)
def test_children_cover_the_parent_and_never_lose(splitter, criterion, seed, missing, weights):
    rng = np.random.default_rng(seed)
    X = draw_table(rng, missing)
    y = draw_targets(rng, criterion, len(X))
    weight = draw_weight(rng, len(X), weights)
    (tree,) = grow_forest(
        X, y, criterion, splitter=splitter, seeds=[seed], sample_weight=weight, max_features=2
    )
    members = find_members(tree, route_rows(tree, X))
    assert np.all(members[0])
    inner = np.flatnonzero(tree.children_left >= 0)
    left, right = tree.children_left[inner], tree.children_right[inner]
    np.testing.assert_array_equal(members[left] | members[right], members[inner])
    assert not np.any(members[left] & members[right])
    assert np.all(members.any(axis=1))
    loss = tree.impurity * tree.weighted_n_node_samples
    gain = loss[inner] - loss[left] - loss[right]
    # Lines take means for what is missing, and a child's are not its parent's.
    if criterion != "linear_gaussian" or missing == "none":
        assert np.all(gain >= -1e-9 * np.maximum(loss[inner], 1.0))
    assert np.all(tree.impurity >= 0.0 if criterion != "gini" else tree.impurity >= -1e-15)
    if criterion in CLASSIFICATION:
        np.testing.assert_allclose(tree.value.sum(axis=2), 1.0, rtol=1e-12)


@pytest.mark.parametrize("splitter", AXIS_SPLITTERS)
@given(seed=SEEDS, missing=st.sampled_from(["none", "some"]))
def test_thresholds_lie_between_the_children(splitter, seed, missing):
    rng = np.random.default_rng(seed)
    X = draw_table(rng, missing)
    # Neighbours in float32, where a rounded middle would be one of the two.
    X[:, 1] = np.nextafter(np.float32(1), X[:, 1], dtype=np.float32)
    (tree,) = grow_forest(X, rng.integers(0, 2, len(X)), splitter=splitter, seeds=[seed])
    members = find_members(tree, route_rows(tree, X))
    for node in np.flatnonzero(tree.children_left >= 0):
        column = X[:, tree.feature[node]].astype(float)
        present = ~np.isnan(column)
        left = column[members[tree.children_left[node]] & present]
        right = column[members[tree.children_right[node]] & present]
        if len(left) and splitter == "axis":
            assert left.max() < tree.threshold[node]
        elif len(left):
            assert left.max() <= tree.threshold[node]
        if len(right):
            assert right.min() > tree.threshold[node]


@pytest.mark.parametrize("splitter", SPLITTERS)
@given(seed=SEEDS, missing=st.sampled_from(list(MISSING)))
def test_threads_change_nothing(splitter, seed, missing):
    rng = np.random.default_rng(seed)
    X = draw_table(rng, missing)
    y = draw_targets(rng, "squared_error", len(X))
    options = {"splitter": splitter, "seeds": rng.integers(0, 2**32, 5), "n_bootstrap": len(X)}
    trees = [grow_forest(X, y, "squared_error", n_threads=k, **options) for k in (1, 2, 4)]
    assert len({hash_trees(forest) for forest in trees}) == 1
