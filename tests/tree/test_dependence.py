"""Partial dependence by recursion: against scikit-learn, and a slow walk of every path."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.inspection import partial_dependence
from sklearn.tree import DecisionTreeRegressor

from obtree import ObliqueForestRegressor, ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.tree import dependence


def walk(tree, row, node=0):
    """The mean of the leaves that a row of given and unknown (None) values arrives in."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return tree.value[node]
    value = row[tree.feature[node]]
    if value is None:
        parts = tree.weighted_n_node_samples[[left, right]]
        parts = parts / parts.sum()
        return parts[0] * walk(tree, row, left) + parts[1] * walk(tree, row, right)
    missing, other = (left, right) if tree.missing_go_left[node] else (right, left)
    if tree.set_ptr is not None and tree.set_ptr[node] < tree.set_ptr[node + 1]:
        listed = tree.set_categories[tree.set_ptr[node] : tree.set_ptr[node + 1]].tolist()
        return walk(tree, row, other if value in listed else missing)
    if np.isnan(value):
        return walk(tree, row, missing)
    return walk(tree, row, left if np.float32(value) <= tree.threshold[node] else right)


@pytest.mark.parametrize("features", [[1], [3, 0], [2, 1, 0, 3]])
@pytest.mark.parametrize("kind", [ObliqueTreeRegressor, ObliqueTreeClassifier])
def test_against_a_slow_walk(kind, features):
    X, y = make_classification(150, 4, n_informative=3, n_redundant=0, random_state=0)
    X[::7, 1] = np.nan
    weight = np.random.default_rng(0).integers(0, 3, 150)
    tree = kind(random_state=0).fit(X, y, weight).tree_
    grid = np.vstack([X[:12, features], np.full((1, len(features)), np.nan)])
    found = tree.compute_partial_dependence(grid, features)
    for row, mean in zip(grid, found, strict=True):
        values = [row[features.index(j)] if j in features else None for j in range(4)]
        np.testing.assert_allclose(mean, walk(tree, values), rtol=1e-12)
    if len(features) == 4:
        rows = np.empty_like(grid)
        rows[:, features] = grid
        np.testing.assert_allclose(found, tree.predict(rows))


def test_like_scikit_learn():
    X, y = make_regression(200, 4, random_state=0)
    X = X.astype(np.float32)
    theirs = DecisionTreeRegressor(random_state=0, max_depth=5).fit(X, y)
    ours = ObliqueTreeRegressor(splitter="axis", random_state=0, max_depth=5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    grid, features = X[:20, [2, 0]].copy(), np.array([2, 0], dtype=np.intp)
    expected, found = np.ones(20), np.ones(20)
    theirs.tree_.compute_partial_dependence(grid, features, expected)
    assert ours.tree_.compute_partial_dependence(grid, features, found) is found
    np.testing.assert_allclose(found, expected)


def test_shifted_features():
    X, y = make_regression(150, 3, random_state=0)
    tree = ObliqueTreeRegressor(random_state=0).fit(X, y).tree_
    moved = ObliqueTreeRegressor(random_state=0).fit(X + 1e9, y).tree_
    assert moved.feature_offset is not None
    grid = X[:20, [1]]
    np.testing.assert_allclose(
        moved.compute_partial_dependence(grid + 1e9, [1]),
        tree.compute_partial_dependence(grid, [1]),
        atol=0.05 * np.ptp(y),
    )


def test_forests_are_means_and_near_brute_force():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))  # independent columns, for which the two mean the same
    y = 3.0 * X[:, 0] + X[:, 1] ** 2
    forest = ObliqueForestRegressor(30, splitter="axis", random_state=0).fit(X, y)
    brute = partial_dependence(forest, X, [0], method="brute", grid_resolution=12)
    grid = brute["grid_values"][0][:, None]
    mean = np.mean(
        [tree.tree_.compute_partial_dependence(grid, [0])[:, 0, 0] for tree in forest.estimators_],
        axis=0,
    )
    np.testing.assert_allclose(mean, brute["average"][0], atol=0.1)
    auto = partial_dependence(forest, X, [0], method="auto", grid_resolution=12)
    np.testing.assert_array_equal(auto["average"], brute["average"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"splitter": "random_oblique"}, r"\d+ of this tree test several.*method='brute'"),
        ({"splitter": "conic"}, "test several"),
        ({"leaf": "linear", "max_depth": 2}, "needs constant leaves, and this tree has linear"),
    ],
)
def test_trees_that_are_refused(params, message):
    X, y = make_regression(150, 3, random_state=0)
    tree = ObliqueTreeRegressor(random_state=0, **params).fit(X, y).tree_
    with pytest.raises(ValueError, match=message):
        tree.compute_partial_dependence(X[:, [0]], [0])


def test_nodes_of_a_kind_to_come_are_refused(monkeypatch):
    X, y = make_regression(50, 4, random_state=0)
    tree = ObliqueTreeRegressor(random_state=0, max_depth=2).fit(X, y).tree_
    monkeypatch.setitem(dependence.OPTIONAL_FIELDS, "more", np.float64)
    tree.more = None
    tree.compute_partial_dependence(X[:, [0]], [0])
    tree.more = np.zeros(3)
    with pytest.raises(ValueError, match="knows no nodes with more"):
        tree.compute_partial_dependence(X[:, [0]], [0])


@pytest.mark.parametrize(
    ("grid", "features", "out", "error", "message"),
    [
        (np.zeros((3, 2)), [0], None, ValueError, "a column for each of 1"),
        (np.zeros((3, 1)), [4], None, ValueError, "from 0 to 3"),
        (np.zeros((3, 2)), [1, 1], None, ValueError, "expected distinct numbers"),
        (np.zeros((3, 1)), ["a"], None, ValueError, "expected distinct numbers"),
        (np.zeros((3, 1)), [0], [0.0] * 3, TypeError, "out is a list"),
        (np.zeros((3, 1)), [0], np.zeros(4), ValueError, r"out has shape \(4,\)"),
    ],
)
def test_arguments_that_are_refused(grid, features, out, error, message):
    X, y = make_regression(50, 4, random_state=0)
    tree = ObliqueTreeRegressor(random_state=0, max_depth=2).fit(X, y).tree_
    with pytest.raises(error, match=message):
        tree.compute_partial_dependence(grid, features, out)


@pytest.mark.parametrize("features", [[1], [2, 0], [0, 1, 2]])
def test_categories(features):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 6, 200), rng.integers(0, 30, 200)])
    y = np.isin(X[:, 1], [0, 3]) * 2.0 + X[:, 0] + (X[:, 2] % 3 == 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = ObliqueTreeRegressor(categorical_features=[1, 2], random_state=0).fit(X, y)
    # Categories are all numbers from 0 on, so that codes are what they stand for.
    tree = model.tree_
    strange = rng.choice([np.nan, -1.0, 0.5, 65536.0, 65538.0, np.inf], (9, len(features)))
    grid = np.vstack([X[:20, features], strange])
    found = tree.compute_partial_dependence(grid, features)
    for row, mean in zip(grid, found, strict=True):
        values = [row[features.index(j)] if j in features else None for j in range(3)]
        np.testing.assert_allclose(mean, walk(tree, values), rtol=1e-12)
