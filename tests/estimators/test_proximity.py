"""Proximities against slow and obvious sums over trees."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_regression

from obtree import (
    DisjunctiveForestClassifier,
    NonGreedyForestRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    TAOForestClassifier,
    load_model,
    save_model,
)

X, Y = load_iris(return_X_y=True)
REGRESSION = make_regression(150, 5, noise=5.0, random_state=0)
NEW = X[::3] + 0.05


def count_in_bags(forest, n_rows, rows=None):
    """Return how often each tree drew each row, (n_rows, n_trees)."""
    rows = np.arange(n_rows) if rows is None else rows
    counts = np.zeros((n_rows, len(forest.estimators_)))
    for t, (tree, sample) in enumerate(zip(forest.estimators_, forest._samples, strict=True)):
        counts[rows, t] = sample.count(tree.random_state, len(rows))
    return counts


def sum_slowly(forest, X, Y, kind, counts=None, weight=1.0):
    """Proximities as a dense matrix, tree by tree."""
    a = forest.apply(X)
    b = a if Y is None else forest.apply(Y)
    shared = (a[:, None, :] == b[None, :, :]).astype(float)
    if kind == "leaf":
        return shared.mean(axis=2)
    out = (counts == 0) if Y is None else np.ones(a.shape, bool)
    if kind == "oob":
        both = out[:, None, :] & (counts == 0)[None, :, :]
        return (shared * both).sum(axis=2) / np.maximum(both.sum(axis=2), 1)
    share = shared * (counts * np.reshape(weight, (-1, 1)))[None, :, :]
    share /= share.sum(axis=1, keepdims=True)
    return (share * out[:, None, :]).sum(axis=2) / np.maximum(out.sum(axis=1), 1)[:, None]


def check_equal(matrix, dense):
    """The sparse matrix is canonical and has these values, and no zeros."""
    assert matrix.format == "csr"
    assert matrix.has_canonical_format
    rtol = 1e-12 if matrix.dtype == np.float64 else 1e-7
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=rtol, atol=1e-14)
    assert (matrix.data > 0).all()


@pytest.mark.parametrize("kind", ["leaf", "oob", "gap"])
@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "auto"])
@pytest.mark.parametrize("new", [False, True])
def test_slow_sums_agree(kind, splitter, new):
    forest = ObliqueForestClassifier(70, splitter=splitter, bootstrap=True, random_state=0)
    forest.fit(X, Y)
    given = (NEW, X) if new else (X, None)
    expected = sum_slowly(forest, *given, kind, count_in_bags(forest, len(X)))
    check_equal(forest.proximity(*given, kind=kind), expected)
    if kind != "gap" and not new:
        found = forest.proximity(X, kind=kind)
        assert abs(found - found.T).max() < 1e-15
        np.testing.assert_array_equal(found.diagonal(), 1.0)


def test_gap_predicts_what_the_forest_predicts():
    X, y = REGRESSION
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    forest = ObliqueForestRegressor(80, splitter="axis", oob_score=True, random_state=0)
    for given in (None, weight):
        forest.fit(X, y, given)
        gap = forest.proximity(X, kind="gap")
        np.testing.assert_allclose(gap.sum(axis=1), 1.0)
        np.testing.assert_allclose(gap @ y, forest.oob_prediction_)
        fresh = X[:40] + 0.1
        np.testing.assert_allclose(
            forest.proximity(fresh, X, kind="gap") @ y, forest.predict(fresh)
        )
        if given is not None:
            assert gap[:, given == 0].nnz == 0


def test_gap_predicts_out_of_bag_probabilities():
    forest = ObliqueForestClassifier(60, splitter="axis", oob_score=True, random_state=0)
    forest.fit(X, Y)
    gap = forest.proximity(X, kind="gap")
    np.testing.assert_allclose(gap @ np.eye(3)[Y], forest.oob_decision_function_, atol=1e-12)
    assert gap.diagonal().max() == 0.0


def test_gap_of_all_rows_for_new_ones():
    X, y = REGRESSION
    forest = ObliqueForestRegressor(10, splitter="axis", bootstrap=False, random_state=0)
    forest.set_params(max_features=2, min_samples_leaf=4).fit(X, y)
    fresh = X[:40] + 0.1
    np.testing.assert_allclose(forest.proximity(fresh, X, kind="gap") @ y, forest.predict(fresh))
    with pytest.raises(ValueError, match="every tree has seen every row"):
        forest.proximity(X, kind="gap")


def test_rows_that_no_tree_left_out_are_empty():
    forest = ObliqueForestClassifier(2, splitter="axis", bootstrap=True, random_state=0).fit(X, Y)
    counts = count_in_bags(forest, len(X))
    always = (counts > 0).all(axis=1)
    assert always.any()
    for kind in ("oob", "gap"):
        found = forest.proximity(X, kind=kind)
        np.testing.assert_array_equal(found.getnnz(axis=1) == 0, always)


@pytest.mark.parametrize("kind", ["leaf", "oob", "gap"])
def test_nearest_neighbours(kind):
    forest = ObliqueForestClassifier(65, splitter="axis", max_depth=4, random_state=0).fit(X, Y)
    whole = forest.proximity(X, kind=kind).toarray()
    found = forest.proximity(X, kind=kind, n_neighbors=6)
    # Values are compared as float32.
    order = np.argsort(-whole.astype(np.float32), axis=1, kind="stable")[:, :6]
    expected = np.zeros_like(whole)
    np.put_along_axis(expected, order, np.take_along_axis(whole, order, axis=1), axis=1)
    check_equal(found, expected)
    assert (forest.proximity(X, kind=kind, n_neighbors=1000) != whole).sum() == 0


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(4000, 3))
    forest = ObliqueForestRegressor(30, splitter="axis", max_depth=5, random_state=0)
    forest.fit(many, many[:, 0] + rng.normal(size=4000))
    for kind in ("leaf", "oob", "gap"):
        for limit in (None, 20):
            one = forest.set_params(n_jobs=1).proximity(many, kind=kind, n_neighbors=limit)
            two = forest.set_params(n_jobs=2).proximity(many, kind=kind, n_neighbors=limit)
            for name in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_forests_that_are_optimised():
    for forest in (
        TAOForestClassifier(3, n_iter=1, random_state=0).fit(X, Y),
        NonGreedyForestRegressor(3, n_epochs=1, random_state=0).fit(X, Y),
    ):
        check_equal(forest.proximity(X, NEW), sum_slowly(forest, X, NEW, "leaf"))
        with pytest.raises(ValueError, match="not optimised on all rows"):
            forest.proximity(X, kind="gap")
    soft = DisjunctiveForestClassifier(2, n_epochs=1, random_state=0).fit(X, Y)
    with pytest.raises(AttributeError, match="neither apply, proximity"):
        soft.proximity(X)


def test_missing_values_and_sparse_rows():
    holes = X.copy()
    holes[::7, 1] = np.nan
    forest = ObliqueForestClassifier(20, splitter="axis", random_state=0).fit(holes, Y)
    for kind in ("leaf", "oob", "gap"):
        counts = count_in_bags(forest, len(X))
        check_equal(
            forest.proximity(holes, kind=kind), sum_slowly(forest, holes, None, kind, counts)
        )
    forest.fit(X, Y)
    assert (forest.proximity(sp.csr_matrix(X)) != forest.proximity(X)).nnz == 0


def test_saved_and_copied_forests(tmp_path):
    forest = ObliqueForestClassifier(8, splitter="axis", random_state=0).fit(X, Y)
    save_model(forest, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (loaded.proximity(X) != forest.proximity(X)).nnz == 0
    with pytest.raises(ValueError, match="model files do not keep"):
        loaded.proximity(X, kind="oob")
    copied = pickle.loads(pickle.dumps(forest))
    assert (copied.proximity(X, kind="gap") != forest.proximity(X, kind="gap")).nnz == 0


def test_warm_start_keeps_all_bags():
    forest = ObliqueForestClassifier(5, splitter="axis", warm_start=True, random_state=0)
    forest.fit(X, Y).set_params(n_estimators=12).fit(X, Y)
    whole = ObliqueForestClassifier(12, splitter="axis", random_state=0).fit(X, Y)
    assert (forest.proximity(X, kind="gap") != whole.proximity(X, kind="gap")).nnz == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kind": "near"}, "unknown kind 'near'"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"max_bytes": 0}, "max_bytes=0"),
        ({"max_bytes": 1000}, "MB, more than max_bytes=1000; expected n_neighbors"),
    ],
)
def test_bad_parameters(options, match):
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=match):
        forest.proximity(X, **options)


def test_rows_that_are_not_of_the_fit():
    forest = ObliqueForestClassifier(5, splitter="axis", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="needs the 150 rows"):
        forest.proximity(X[:100], kind="oob")
    with pytest.raises(ValueError, match="in the same order"):
        forest.proximity(X[::-1], kind="gap")
    with pytest.raises(ValueError, match="infinity"):
        forest.proximity(np.where(X > 6, np.inf, X))


def test_one_row_and_one_leaf():
    forest = ObliqueForestRegressor(3, splitter="axis", random_state=0).fit(X[:1], [1.0])
    assert forest.proximity(X[:1]).toarray().tolist() == [[1.0]]
    constant = ObliqueForestRegressor(3, splitter="axis", random_state=0).fit(X, np.ones(len(X)))
    assert (constant.proximity(X) == 1.0).toarray().all()
