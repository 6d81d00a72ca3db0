"""Very many columns, nearly all of them zero: the ways of their own that such data take."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.splitter import CO2Splitter, OC1Splitter, RandomObliqueSplitter

N_COLUMNS = 5_000  # more than a node draws from without a list of those that vary
SPLITTERS = ["axis", "axis_random", "random_oblique", "oc1", "co2", "discriminant"]


def make_wide(seed, n_rows=150, n_columns=N_COLUMNS, n_stored=60, signed=True, whole=False):
    """Rows of a few non-zeros, some columns in many rows and most in few; three classes."""
    rng = np.random.default_rng(seed)
    chance = 1.0 / (np.arange(n_columns) + 5.0)
    columns = rng.choice(n_columns, size=(n_rows, n_stored), p=chance / chance.sum())
    values = rng.integers(1, 4, size=columns.shape).astype(np.float32)
    if not whole:
        values *= rng.uniform(0.1, 1.0, size=columns.shape).astype(np.float32)
    if signed:
        values *= np.where(columns % 3 == 0, -1, 1)
    dense = np.zeros((n_rows, n_columns), dtype=np.float32)
    np.put_along_axis(dense, columns, values, axis=1)
    if signed:
        # A column that is negative, zero and positive, and one that is never zero.
        dense[:, 7] = rng.integers(-2, 3, size=n_rows)
        dense[:, 11] = 3.0 + rng.integers(0, 2, size=n_rows)
    y = (dense[:, :9].sum(axis=1) > np.median(dense[:, :9].sum(axis=1))).astype(int)
    y += dense[:, 9:40].sum(axis=1) > 0.5
    return dense, y


def assert_same_trees(a, b):
    """Two forests are equal to the last bit."""
    for one, other in zip(a.estimators_, b.estimators_, strict=True):
        for name in ("children_left", "threshold", "term_ptr", "term_feature", "term_weight"):
            np.testing.assert_array_equal(
                getattr(one.tree_, name), getattr(other.tree_, name), err_msg=name
            )
        np.testing.assert_array_equal(one.tree_.value, other.tree_.value)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_sparse_is_dense(splitter, signed):
    dense, y = make_wide(0, signed=signed)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    forests = [
        ObliqueForestClassifier(4, splitter=splitter, random_state=0).fit(X, y, weight)
        for X in (dense, sp.csr_array(dense), sp.csc_array(dense))
    ]
    assert_same_trees(forests[0], forests[1])
    assert_same_trees(forests[0], forests[2])
    np.testing.assert_array_equal(forests[0].feature_importances_, forests[1].feature_importances_)


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "oc1", "co2"])
def test_sparse_regression_is_dense(splitter):
    dense, y = make_wide(1)
    y = y + dense[:, 3]
    forests = [
        ObliqueForestRegressor(2, splitter=splitter, max_features=200, random_state=0).fit(X, y)
        for X in (dense, sp.csr_array(dense))
    ]
    np.testing.assert_allclose(forests[0].predict(dense), forests[1].predict(dense), rtol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_zeros_in_the_middle_of_a_column(criterion):
    """Entries below and above zero, in trees of one feature: all cuts are tried."""
    rng = np.random.default_rng(2)
    x = rng.integers(-6, 7, size=400) * (rng.random(400) < 0.4)
    for cut in range(-6, 6):
        y = (x > cut).astype(int)
        X = sp.csr_array(x[:, None].astype(np.float32))
        tree = ObliqueTreeClassifier(splitter="axis", criterion=criterion, random_state=0)
        tree.fit(X, y)
        assert tree.get_n_leaves() == 2
        assert tree.tree_.threshold[0] == cut + 0.5


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(2, 40),
    leaf=st.integers(1, 4),
    weights=st.sampled_from(["sign", "gaussian"]),
)
def test_projections_that_are_mostly_zero(seed, n_rows, leaf, weights):
    """Random directions over few sparse columns, where their sums often cancel."""
    rng = np.random.default_rng(seed)
    dense = (rng.integers(-2, 3, size=(n_rows, 6)) * (rng.random((n_rows, 6)) < 0.4)).astype(
        np.float32
    )
    y = rng.integers(0, 3, size=n_rows)
    splitter = RandomObliqueSplitter(feature_combinations=2.5, weights=weights)
    trees = [
        ObliqueTreeClassifier(
            splitter=splitter, max_features=5, min_samples_leaf=leaf, random_state=seed
        ).fit(X, y)
        for X in (dense, sp.csr_array(dense))
    ]
    np.testing.assert_array_equal(trees[0].tree_.threshold, trees[1].tree_.threshold)
    np.testing.assert_array_equal(trees[0].tree_.term_weight, trees[1].tree_.term_weight)


def test_explicit_zeros_are_zeros():
    dense, y = make_wide(3)
    plain = sp.csr_array(dense)
    stored = plain.copy()
    stored.data[::5] = 0.0
    plain = stored.copy()
    plain.eliminate_zeros()
    for splitter in ("axis", "random_oblique", "oc1", "co2"):
        forests = [
            ObliqueForestClassifier(2, splitter=splitter, random_state=0).fit(X, y)
            for X in (plain, stored)
        ]
        assert_same_trees(*forests)


def test_columns_that_never_vary_are_not_used():
    """Of 100,000 columns 30 hold something; every one of them is found."""
    rng = np.random.default_rng(4)
    X = sp.csc_array(sp.random(300, 30, density=0.3, random_state=rng, dtype=np.float32))
    place = np.sort(rng.choice(100_000, size=30, replace=False))
    pointers = np.zeros(100_001, dtype=np.int64)
    pointers[place + 1] = np.diff(X.indptr)
    wide = sp.csc_array((X.data, X.indices, np.cumsum(pointers)), shape=(300, 100_000))
    y = (X.sum(axis=1) > np.median(X.sum(axis=1))).astype(int)
    for splitter in ("axis", "axis_random", "random_oblique", "oc1", "co2"):
        forest = ObliqueForestClassifier(10, splitter=splitter, random_state=0).fit(wide, y)
        used = np.unique(np.concatenate([t.tree_.term_feature for t in forest.estimators_]))
        assert set(used) <= set(place)
        assert len(used) == 30, splitter
        assert forest.score(wide, y) > 0.95


@pytest.mark.parametrize("max_leaf_nodes", [None, 8])
def test_growth_order_and_threads_change_nothing(max_leaf_nodes):
    dense, y = make_wide(5)
    X = sp.csr_array(dense)
    for splitter in ("axis", "random_oblique", "oc1", "co2"):
        forests = [
            ObliqueForestClassifier(
                4,
                splitter=splitter,
                max_leaf_nodes=max_leaf_nodes,
                n_jobs=n_jobs,
                random_state=0,
            ).fit(X, y)
            for n_jobs in (1, 2)
        ]
        assert_same_trees(*forests)
        for tree in forests[0].estimators_:
            leaves = tree.apply(X)
            assert len(np.unique(leaves)) == tree.get_n_leaves()


# ---- CO2 ------------------------------------------------------------------------------


def make_onehot(seed, n_rows=400, n_features=12, n_levels=30):
    rng = np.random.default_rng(seed)
    levels = rng.integers(n_levels, size=(n_rows, n_features))
    effect = rng.normal(size=(n_features, n_levels))
    score = effect[np.arange(n_features), levels].sum(axis=1)
    dense = np.zeros((n_rows, n_features * n_levels), dtype=np.uint8)
    np.put_along_axis(dense, levels + n_levels * np.arange(n_features), 1, axis=1)
    return dense, (score > 0).astype(int)


def test_co2_onehot_is_the_same_in_any_form():
    dense, y = make_onehot(0)
    splitter = CO2Splitter(min_rows=2)
    forests = [
        ObliqueForestClassifier(3, splitter=splitter, random_state=0).fit(X, y)
        for X in (dense, dense.astype(np.float32), np.asfortranarray(dense), sp.csr_array(dense))
    ]
    for other in forests[1:]:
        assert_same_trees(forests[0], other)


def test_co2_onehot_learns():
    dense, y = make_onehot(1, n_rows=2_000)
    X = sp.csr_array(dense)
    scores = {
        splitter: ObliqueForestClassifier(20, splitter=splitter, random_state=0)
        .fit(X[:1_500], y[:1_500])
        .score(X[1_500:], y[1_500:])
        for splitter in ("axis", "co2")
    }
    assert scores["co2"] > scores["axis"]
    assert scores["co2"] > 0.8


def test_co2_takes_a_million_sparse_columns():
    """Dense copies of these rows would take more than 2 GiB."""
    dense, y = make_wide(6, n_rows=600)
    X = sp.csr_array(dense)
    X = sp.csr_array((X.data, X.indices * 200, X.indptr), shape=(600, 2**20))
    forest = ObliqueForestClassifier(2, splitter="co2", random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.95
    n_terms = max(np.diff(tree.tree_.term_ptr).max() for tree in forest.estimators_)
    assert 16 < n_terms <= 2401


@pytest.mark.parametrize("offset", [0.0, 2_000.0])
def test_co2_column_without_zeros_among_hollow_ones(offset):
    """A constant is left out, and a column far from zero keeps its digits."""
    dense, _ = make_wide(7, n_columns=400, n_stored=20, n_rows=300)
    rng = np.random.default_rng(0)
    dense[:, 0] = offset + 1.0
    dense[:, 1] = offset + rng.normal(size=300) + 10.0
    y = (dense[:, 1] > offset + 10.0).astype(int)
    X = sp.csr_array(dense)
    tree = ObliqueTreeClassifier(splitter="co2", random_state=0, max_features=None).fit(X, y)
    assert 0 not in tree.tree_.term_feature
    assert tree.score(X, y) == 1.0


# ---- OC1 ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["oc1", "cart-lc"])
@pytest.mark.parametrize("order", ["sequential", "best", "random"])
def test_oc1_sparse_columns_are_dense_columns(mode, order):
    dense, y = make_wide(8, n_columns=60, n_stored=12, n_rows=120)
    splitter = OC1Splitter(mode=mode, order=order, n_restarts=1)
    for X in (sp.csr_array(dense), sp.csc_array(dense)):
        trees = [
            ObliqueTreeClassifier(splitter=splitter, max_depth=4, random_state=0).fit(Z, y)
            for Z in (dense, X)
        ]
        np.testing.assert_array_equal(trees[0].tree_.threshold, trees[1].tree_.threshold)
        np.testing.assert_array_equal(trees[0].tree_.term_weight, trees[1].tree_.term_weight)


def test_oc1_regression_sparse_columns_are_dense_columns():
    dense, y = make_wide(9, n_columns=60, n_stored=12, n_rows=120)
    y = y + dense[:, 2]
    trees = [
        ObliqueTreeRegressor(splitter="oc1", max_depth=3, random_state=0).fit(X, y)
        for X in (dense, sp.csr_array(dense))
    ]
    np.testing.assert_allclose(
        trees[0].predict(dense), trees[1].predict(sp.csr_array(dense)), rtol=1e-9
    )
