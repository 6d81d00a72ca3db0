"""Sums of planes, held against thresholds that they meet exactly."""

import numpy as np
import pytest
from sklearn.datasets import make_regression

from obtree import ObliqueTreeRegressor
from obtree.tree import Tree


def add_up(weight, values):
    """Sums of the rows of values in the order of obtree, slow and obvious."""
    sums = []
    for row in weight * values:
        if len(row) < 16:
            total = 0.0
            for term in row:
                total += term
            sums.append(total)
            continue
        lanes = [0.0] * 16
        for k, term in enumerate(row):
            lanes[k % 16] += term
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [lanes[k] + lanes[k + half] for k in range(half)]
        sums.append(lanes[0])
    return np.array(sums)


def make_ladder(feature, weight, partner, threshold, lower):
    """A tree that asks the same plane about one threshold after the other; leaf k says k."""
    n, terms = len(threshold), len(feature)
    inner, leaves = np.arange(n), np.arange(n, 2 * n + 1)
    left = np.concatenate([leaves[:n], np.full(n + 1, -1)])
    right = np.concatenate([inner[1:], leaves[n:], np.full(n + 1, -1)])
    rest = np.zeros(n + 1)
    return Tree.from_arrays(
        n_features=int(max(feature.max(), 0 if partner is None else partner.max())) + 1,
        children_left=left,
        children_right=right,
        threshold=np.concatenate([threshold, rest]),
        term_ptr=np.concatenate([inner * terms, np.full(n + 2, n * terms)]),
        term_feature=np.tile(feature, n),
        term_weight=np.tile(weight, n),
        term_partner=None if partner is None else np.tile(partner, n),
        lower_threshold=None if lower is None else np.concatenate([lower, rest - np.inf]),
        missing_go_left=np.zeros(2 * n + 1, dtype=np.uint8),
        impurity=np.zeros(2 * n + 1),
        n_node_samples=np.ones(2 * n + 1, dtype=np.int64),
        weighted_n_node_samples=np.ones(2 * n + 1),
        value=np.arange(-n, n + 1, dtype=np.float64).reshape(-1, 1, 1),
        n_classes=[1],
    )


@pytest.mark.parametrize("n_terms", [1, 2, 5, 15, 16, 17, 31, 32, 50])
@pytest.mark.parametrize("kind", ["run", "scattered", "products", "intervals"])
@pytest.mark.parametrize("flags", [("-O1",), ("-O3", "-march=native")])
def test_sums_meet_their_thresholds(export, n_terms, kind, flags):
    rng = np.random.default_rng(n_terms)
    weight = rng.normal(size=n_terms) * 3.0 ** rng.integers(-5, 6, n_terms)
    feature = np.arange(n_terms) + 2
    if kind == "scattered":
        feature = rng.permutation(2 * n_terms)[:n_terms]
    partner = lower = None
    X = rng.normal(size=(40, 2 * n_terms + 3)).astype(np.float32)
    values = X.astype(np.float64)[:, feature]
    if kind == "products":
        partner = np.where(np.arange(n_terms) % 3 == 0, rng.integers(0, n_terms, n_terms), -1)
        values = np.where(partner >= 0, values * X.astype(np.float64)[:, partner], values)
    sums = np.unique(add_up(weight, values))
    threshold = np.stack([np.nextafter(sums, -np.inf), sums], axis=1).ravel()
    if kind == "intervals":
        # Those that lie between a sum and what is next to it are empty, all others are not.
        lower = np.concatenate([[-np.inf], threshold[:-1]])
        lower[2::4] = threshold[2::4]
    tree = make_ladder(feature, weight, partner, threshold, lower)
    X = X[:, : tree.n_features]
    model = ObliqueTreeRegressor(max_depth=1).fit(X, X[:, 0])
    model._store_tree(tree, None, tree.n_features)
    if kind != "intervals":
        # Every row ends where its sum is the threshold, at an odd leaf.
        order = np.argsort(np.argsort(add_up(weight, values)))
        assert model.predict(X).tolist() == (2 * order + 1).tolist()
    standard = ("-std=gnu11", "-Wall", "-Wextra", "-Werror")
    export(model, *flags, standard=standard).check(X)


@pytest.mark.parametrize("n_terms", [3, 15, 16, 40])
def test_sums_of_linear_leaves(export, n_terms):
    X, y = make_regression(300, n_terms, noise=1.0, random_state=0)
    X = X.astype(np.float32)
    model = ObliqueTreeRegressor(leaf="linear", max_depth=1, random_state=0).fit(X, y)
    assert np.diff(model.tree_.leaf_ptr).max() == n_terms
    assert len(np.unique(model.predict(X))) == len(X)
    export(model).check(X)
