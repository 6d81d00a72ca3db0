"""Growth without targets: a criterion that reads X, and y that is absent."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from obtree.splitter import PythonSplitter
from obtree.testing.growth import find_differences, grow_forest, grow_tree
from obtree.testing.row_variance import RowVariance
from obtree.tree.predict import Predictor


def draw_rows(n=200, p=4):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, p)) * [1, 2, 3, 4]).astype(np.float32)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_forest_grows_with_y_absent(n_threads):
    X = draw_rows()
    options = {"seeds": range(6), "n_bootstrap": len(X), "max_features": 2, "min_samples_leaf": 5}
    trees = grow_forest(X, None, RowVariance, n_threads=n_threads, **options)
    same = grow_forest(X, None, RowVariance, **options)
    assert not any(find_differences(*pair) for pair in zip(trees, same, strict=True))
    assert len({tree.threshold.tobytes() for tree in trees}) == 6
    assert min(tree.node_count for tree in trees) > 20
    # What the forest gives for a row is an average of rows near it.
    near = Predictor(trees).predict(X)[:, :, 0]
    assert np.var(X - near) < 0.3 * np.var(X)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_squared_error_with_x_for_a_target(weighted):
    X = draw_rows()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    options = {"sample_weight": weight, "max_depth": 5}
    tree = grow_tree(X, None, RowVariance, **options)
    twin = grow_tree(X, X, "squared_error", **options)
    assert tree.node_count > 30
    for name in ("children_left", "children_right", "term_feature", "threshold"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(twin, name))
    np.testing.assert_allclose(tree.impurity, twin.impurity, rtol=1e-9)
    np.testing.assert_allclose(tree.value, twin.value, rtol=1e-9, atol=1e-12)


def test_leaves_are_means_of_their_rows():
    X = load_iris().data.astype(np.float32)
    tree = grow_tree(X, None, RowVariance, max_leaf_nodes=6)
    leaf = Predictor([tree]).apply(X)[:, 0]
    assert len(np.unique(leaf)) == 6
    for node in np.unique(leaf):
        rows = X[leaf == node].astype(np.float64)
        np.testing.assert_allclose(tree.value[node].ravel(), rows.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(tree.impurity[node], rows.var(axis=0).mean(), rtol=1e-9)


@pytest.mark.parametrize("splitter", ["axis", "axis_random", "random_oblique", "two_probe"])
def test_splitters_that_do_not_ask_for_targets(splitter):
    X = draw_rows()
    dense = grow_tree(X, None, RowVariance, splitter=splitter, keep_rows=True)
    assert dense.node_count > 50
    thin = sparse.csc_matrix(np.where(np.abs(X) > 2, X, 0))
    assert grow_tree(thin, None, RowVariance, splitter=splitter).node_count > 20


class Middle(PythonSplitter):
    def split(self, X, y, sample_weight, rng):
        assert y is None
        return np.eye(X.shape[1])[0], np.median(X[:, 0])


def test_splitters_in_python_are_told_that_there_are_none():
    assert grow_tree(draw_rows(), None, RowVariance, splitter=Middle()).node_count > 50


def test_targets_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="y has 5 rows; expected 200, as X has"):
        grow_tree(draw_rows(), [0, 1, 0, 1, 0])


@pytest.mark.parametrize("splitter", ["co2", "discriminant"])
def test_splitters_that_fit_y_refuse(splitter):
    with pytest.raises(ValueError, match="expected targets"):
        grow_tree(draw_rows(), None, RowVariance, splitter=splitter, keep_rows=True)
