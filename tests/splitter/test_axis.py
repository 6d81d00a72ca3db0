"""Best axis splits against a list of all splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.criterion.registry import CLASSIFICATION
from obtree.data.dataset import Dataset
from obtree.splitter import AxisSplitter
from obtree.testing.growth import bind_criterion, grow_tree
from obtree.testing.probe import propose_splits
from obtree.testing.reference import RATED, list_axis_splits, rate_split

CRITERIA = list(RATED)


def draw_problem(rng, name, n, n_features, n_outputs, missing, decimals):
    X = np.round(rng.normal(size=(n, n_features)), decimals).astype(np.float32)
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    if name in CLASSIFICATION:
        return X, rng.integers(0, 3, (n, n_outputs)), [3] * n_outputs
    y = rng.gamma(1.0, size=(n, n_outputs))
    return X, y, None


def apply_split(X, feature, threshold, missing_left):
    column = X[:, feature].astype(float)
    return np.where(np.isnan(column), missing_left, column <= threshold)


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    n_features=st.integers(1, 4),
    n_outputs=st.integers(1, 2),
    missing=st.sampled_from([0.0, 0.3, 0.8]),
    decimals=st.integers(0, 3),
    min_samples_leaf=st.sampled_from([1, 1, 3]),
    kind=st.sampled_from(["float32", "float64", "sparse"]),
)
def test_no_split_is_better(
    name, seed, n, n_features, n_outputs, missing, decimals, min_samples_leaf, kind
):
    rng = np.random.default_rng(seed)
    X, y, n_classes = draw_problem(rng, name, n, n_features, n_outputs, missing, decimals)
    weight = rng.random(n) + 0.1
    rows = np.sort(rng.choice(n, max(2, int(0.8 * n)), replace=False))
    table = {"float64": X.astype(float), "sparse": sparse.csc_array(X)}.get(kind, X)
    limits = {"min_samples_leaf": min_samples_leaf, "min_weight_leaf": 0.05}
    (found,) = propose_splits(
        Dataset(table),
        bind_criterion(name, y, n_classes),
        AxisSplitter(),
        rows,
        weight,
        max_features=n_features,
        **limits,
    )
    X, y, weight = X[rows], y[rows], weight[rows]
    splits = list_axis_splits(name, X, y, weight, n_classes, **limits)
    if not splits:
        assert found is None
        return
    (feature,), (term,), threshold, missing_left, *_ = found
    assert term == 1.0
    left = apply_split(X, feature, threshold, missing_left)
    assert any(feature == j and np.array_equal(left, other) for _, j, other in splits)
    best = max(quality for quality, *_ in splits)
    scale = max(abs(best), weight.sum())
    assert rate_split(name, y, weight, left, n_classes) >= best - 1e-10 * scale


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
@given(
    value=st.floats(width=32, allow_nan=False, allow_infinity=False),
    other=st.floats(width=32, allow_nan=False, allow_infinity=False) | st.none(),
)
def test_threshold_lies_strictly_between_neighbours(kind, value, other):
    low = np.float32(value)
    high = np.nextafter(low, np.float32(np.inf)) if other is None else np.float32(other)
    low, high = min(low, high), max(low, high)
    if low == high or np.isinf(high):
        return
    X = np.array([[low], [high]], dtype=np.float32)
    table = {"float64": X.astype(float), "sparse": sparse.csr_array(X)}.get(kind, X)
    tree = grow_tree(table, [0, 1])
    assert tree.node_count == 3
    assert float(low) < tree.threshold[0] < float(high)


def test_missing_against_present():
    X = np.array([[1.0], [2.0], [np.nan], [3.0], [np.nan]], dtype=np.float32)
    tree = grow_tree(X, [0, 0, 1, 0, 1])
    assert tree.node_count == 3
    assert tree.n_node_samples.tolist() == [5, 3, 2]
    assert tree.missing_go_left[0] == 0
    # Any number goes with the numbers, however large.
    assert tree.threshold[0] >= np.finfo(np.float32).max


@pytest.mark.parametrize("flip", [False, True])
def test_missing_values_go_where_they_fit(flip):
    rng = np.random.default_rng(0)
    column = rng.normal(size=200)
    y = (column > 0).astype(int)
    column[rng.random(200) < 0.3] = np.nan
    missing = np.isnan(column)
    y[missing] = 1 if flip else 0
    tree = grow_tree(column[:, None].astype(np.float32), y, max_depth=1)
    assert tree.missing_go_left[0] == (0 if flip else 1)
    assert tree.impurity[1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("splitter", ["axis", "axis_random"])
@pytest.mark.parametrize("X_kind", ["dense", "sparse"])
def test_constants_do_not_count_towards_max_features(splitter, X_kind):
    rng = np.random.default_rng(0)
    X = np.full((50, 300), 2.0, dtype=np.float32)
    X[:, 7] = rng.normal(size=50)
    X[:, 100] = np.nan
    if X_kind == "sparse":
        X = sparse.csr_array(np.where(X == 2.0, 0.0, X).astype(np.float32))
    y = (rng.random(50) < 0.5).astype(int)
    for seed in range(5):
        tree = grow_tree(X, y, splitter=splitter, max_features=1, seeds=[seed])
        leaves = tree.children_left < 0
        assert set(tree.feature[~leaves]) == {7}
        assert np.all(tree.impurity[leaves] == 0.0)


def test_constants_in_the_node_do_not_count_either():
    # Column k varies inside group k only, so that every node but the root sees one
    # useful column among many that have become constant.
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 6)
    X = np.zeros((240, 41), dtype=np.float32)
    X[np.arange(240), group] = np.tile(rng.permutation(6), 40)
    X[:, 40] = group
    y = rng.integers(0, 2, 240)
    for rule in ({}, {"max_leaf_nodes": 240}):
        tree = grow_tree(X, y, max_features=1, **rule)
        assert np.all(tree.impurity[tree.children_left < 0] == 0.0)


def test_candidates_are_drawn_uniformly():
    # All columns are equally good, so the one chosen is the one drawn.
    rng = np.random.default_rng(0)
    X = np.repeat(rng.permutation(30)[:, None], 10, axis=1).astype(np.float32)
    X[:, 3] = 0.0
    results = propose_splits(
        Dataset(X),
        bind_criterion("gini", rng.integers(0, 2, 30)),
        AxisSplitter(),
        np.arange(30),
        np.ones(30),
        max_features=1,
        repeats=9000,
    )
    counts = np.bincount([feature[0] for feature, *_ in results], minlength=10)
    assert counts[3] == 0
    # 1000 each, standard deviation 30
    assert np.all(np.abs(np.delete(counts, 3) - 1000) < 150)


def test_all_features_are_looked_at():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(size=(40, 6)).astype(np.float32)
        best = rng.integers(6)
        X[:, best] = np.arange(40)
        y = (np.arange(40) < 23).astype(int)
        tree = grow_tree(X, y, seeds=[int(rng.integers(2**32))])
        assert tree.feature[0] == best
        assert tree.threshold[0] == 22.5
