"""Planes found by coordinate descent: never worse than the axis split, of any scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.criterion.registry import CLASSIFICATION
from obtree.data.dataset import Dataset
from obtree.splitter import AxisSplitter, OC1Splitter
from obtree.testing.growth import bind_criterion, find_differences, grow_tree, name_partition
from obtree.testing.probe import propose_splits
from obtree.testing.reference import RATED, project, rate_split, route_rows

CRITERIA = list(RATED)
SEEDS = st.integers(0, 2**32 - 1)
SETTINGS = [
    {},
    {"order": "best"},
    {"order": "random", "n_restarts": 2},
    {"mode": "cart-lc"},
    {"max_search_rows": 10, "max_coefficients": 2},
    {"mode": "cart-lc", "max_search_rows": 10, "max_coefficients": 1},
]


def draw_problem(rng, name, n, n_features=4, n_outputs=1, missing=0.0, decimals=3):
    X = np.round(rng.normal(size=(n, n_features)), decimals).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    if name in CLASSIFICATION:
        return X, rng.integers(0, 3, (n, n_outputs)), [3] * n_outputs
    return X, rng.gamma(1.0, size=(n, n_outputs)), None


def find_left(plane, X):
    """Rows that a proposed split sends left."""
    feature, weight, threshold, missing_left, *_ = plane
    scores = np.array([project(feature, weight, x) for x in X])
    return np.where(np.isnan(scores), missing_left, scores <= threshold)


def grow_rows(X, y, criterion="gini", **options):
    """A tree that sees the values of X, and the partition of its rows into leaves."""
    tree = grow_tree(X, y, criterion, keep_rows=True, **options)
    dense = X.toarray() if sparse.issparse(X) else X
    return tree, name_partition(route_rows(tree, dense))


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=SEEDS,
    n=st.integers(2, 40),
    n_outputs=st.integers(1, 2),
    missing=st.sampled_from([0.0, 0.0, 0.1, 0.9]),
    decimals=st.integers(0, 3),
    min_samples_leaf=st.sampled_from([1, 1, 4]),
    sparse_input=st.booleans(),
)
def test_never_worse_than_the_axis_split(
    name, setting, seed, n, n_outputs, missing, decimals, min_samples_leaf, sparse_input
):
    rng = np.random.default_rng(seed)
    X, y, n_classes = draw_problem(rng, name, n, 4, n_outputs, missing, decimals)
    weight = rng.random(n) + 0.1
    criterion = bind_criterion(name, y, n_classes)
    table = sparse.csc_array(X) if sparse_input else X
    axis, plane = (
        propose_splits(
            Dataset(table, keep_rows=True),
            criterion,
            splitter,
            np.arange(n),
            weight,
            max_features=4,
            seed=seed,
            min_samples_leaf=min_samples_leaf,
        )[0]
        for splitter in (AxisSplitter(), OC1Splitter(**setting))
    )
    if axis is None:
        assert plane is None
        return
    left = find_left(plane, X)
    assert min(left.sum(), n - left.sum()) >= min_samples_leaf
    start, found = (
        rate_split(name, y, weight, find_left(split, X), n_classes) for split in (axis, plane)
    )
    assert found >= start - 1e-10 * max(abs(start), weight.sum())


@pytest.mark.parametrize("mode", ["oc1", "cart-lc"])
@pytest.mark.parametrize("angle", np.arange(0.2, 3.2, 0.5))
@pytest.mark.parametrize("scale", [(1, 1), (1e-6, 1e6), (1e15, 1e-15)])
def test_finds_a_plane_that_separates(angle, scale, mode):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    side = X @ [np.cos(angle), np.sin(angle)]
    keep = np.abs(side) > 0.1
    X, y = (X[keep] * scale + [0, 3 * scale[1]]).astype(np.float32), (side[keep] > 0).astype(int)
    tree, _ = grow_rows(X, y, "entropy", splitter=OC1Splitter(mode=mode), max_depth=1)
    if mode == "oc1":
        assert tree.impurity[1:].tolist() == [0.0, 0.0]
    else:
        assert tree.impurity[1:].max() < 0.2


@pytest.mark.parametrize("mode", ["oc1", "cart-lc"])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@given(seed=SEEDS, powers=st.lists(st.integers(-30, 30), min_size=4, max_size=4))
def test_powers_of_two_do_not_change_the_partition(mode, criterion, seed, powers):
    rng = np.random.default_rng(seed)
    X, y, _ = draw_problem(rng, criterion, 50)
    options = {"splitter": OC1Splitter(mode=mode), "seeds": [seed], "max_features": 2}
    _, one = grow_rows(X, y, criterion, **options)
    _, other = grow_rows((X * np.exp2(powers)).astype(np.float32), y, criterion, **options)
    np.testing.assert_array_equal(one, other)


@given(seed=SEEDS, shift=st.integers(-1000, 1000))
def test_a_shift_does_not_change_the_partition(seed, shift):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-100, 100, (50, 3)) / 8).astype(np.float32)  # exact after the shift
    y = rng.integers(0, 3, 50)
    options = {"splitter": "oc1", "seeds": [seed], "max_features": 2}
    _, one = grow_rows(X, y, **options)
    _, other = grow_rows(X + np.float32(shift), y, **options)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "twoing", "squared_error"])
@given(seed=SEEDS)
def test_whole_weights_equal_repeated_rows(criterion, seed):
    rng = np.random.default_rng(seed)
    X, y, n_classes = draw_problem(rng, criterion, 40, decimals=1)
    counts = rng.integers(0, 4, 40)
    counts[y[:, 0].argmax()] = 1
    options = {"splitter": "oc1", "seeds": [seed], "max_features": 2, "n_classes": n_classes}
    weighted, _ = grow_rows(X, y, criterion, sample_weight=counts.astype(float), **options)
    repeated, _ = grow_rows(
        np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0), criterion, **options
    )
    np.testing.assert_array_equal(weighted.children_left, repeated.children_left)
    np.testing.assert_array_equal(route_rows(weighted, X), route_rows(repeated, X))


@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.2]))
def test_sparse_equals_dense(seed, missing):
    rng = np.random.default_rng(seed)
    X, y, _ = draw_problem(rng, "gini", 40, missing=missing)
    X[rng.random(X.shape) < 0.5] = 0.0
    options = {"splitter": "oc1", "seeds": [seed], "max_features": 2, "keep_rows": True}
    expected = grow_tree(X, y, **options)
    for table in (sparse.csr_array(X), sparse.csc_array(X)):
        assert find_differences(expected, grow_tree(table, y, **options)) == []


@pytest.mark.parametrize("criterion", ["gini", "entropy", "sum_minority"])
@given(seed=SEEDS)
def test_swapping_two_classes_keeps_the_partition(criterion, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    y = rng.integers(0, 2, 60)
    options = {"splitter": "oc1", "seeds": [seed], "max_features": 2}
    one, rows = grow_rows(X, y, criterion, **options)
    other, swapped = grow_rows(X, 1 - y, criterion, **options)
    np.testing.assert_array_equal(rows, swapped)
    np.testing.assert_array_equal(one.value, other.value[:, :, ::-1])


def test_symmetric_classes_have_symmetric_errors():
    rng = np.random.default_rng(0)
    half = rng.normal([0.6, 0.2, 0.0, 0.4], size=(1000, 4))
    X = np.concatenate([half, -half])
    y = np.repeat([0, 1], 1000)
    train = rng.random(2000) < 0.5
    forest = ObliqueForestClassifier(30, splitter="oc1", random_state=0, max_depth=6)
    wrong = forest.fit(X[train], y[train]).predict(X[~train]) != y[~train]
    errors = [wrong[y[~train] == label].mean() for label in (0, 1)]
    assert 0.1 < np.mean(errors) < 0.4
    assert abs(errors[0] - errors[1]) < 0.08


def test_cart_is_deterministic_and_deletes_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)).astype(np.float32)
    y = (X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=400) > 0).astype(int)
    # Ties between features are broken at random: below the root of a search that saw a
    # sample only, there are some.
    for rows, options in ((None, {}), ("auto", {"max_depth": 1})):
        splitter = OC1Splitter(mode="cart-lc", max_search_rows=rows)
        trees = [
            grow_rows(X, y, "entropy", splitter=splitter, seeds=[seed], **options)[0]
            for seed in (1, 2, 3)
        ]
        assert all(find_differences(trees[0], other) == [] for other in trees[1:])
    assert set(trees[0].term_feature[: trees[0].term_ptr[1]]) == {1, 2}
    full, _ = grow_rows(X, y, "entropy", splitter="oc1")
    assert full.term_ptr[1] > 2


def test_axis_bias():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X @ [1.0, 2.0, -1.0, 0.5] > 0).astype(int)
    n_terms = []
    for bias in (1.0, 1.5, 1e9):
        tree, _ = grow_rows(X, y, splitter=OC1Splitter(axis_bias=bias))
        n_terms.append(len(tree.term_feature) / (tree.children_left >= 0).sum())
    assert n_terms[0] >= n_terms[1] > n_terms[2] == 1.0


def test_restarts_and_jumps_gain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = rng.integers(0, 3, 300)

    def mean_impurity(**setting):
        trees = [
            grow_rows(X, y, splitter=OC1Splitter(**setting), seeds=[k], max_depth=1)[0]
            for k in range(10)
        ]
        return np.mean([t.impurity[1:] @ t.weighted_n_node_samples[1:] for t in trees])

    plain = mean_impurity(n_jumps=0)
    assert mean_impurity(n_jumps=20) < plain
    assert mean_impurity(n_jumps=0, n_restarts=5) < plain


def test_features_that_rows_lack_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random(200) < 0.1, 2] = np.nan
    tree, _ = grow_rows(X, y, splitter="oc1", max_depth=1)
    assert tree.term_ptr[1] > 1
    assert 2 not in tree.term_feature[: tree.term_ptr[1]]
    X[:4, range(4)] = np.where(np.eye(4), np.nan, X[:4])
    tree, _ = grow_rows(X, y, splitter="oc1", max_depth=1)
    assert tree.term_ptr[1] == 1


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"mode": "cart"}, ValueError, "unknown mode 'cart'; expected one of 'cart-lc', 'oc1'"),
        ({"order": "worst"}, ValueError, "unknown order 'worst'; expected one of"),
        ({"n_jumps": -1}, ValueError, "n_jumps=-1 is not valid; expected an integer >= 0"),
        ({"n_jumps": 1.5}, TypeError, "n_jumps=1.5 is not valid; expected an integer >= 0"),
        ({"n_restarts": True}, TypeError, "n_restarts=True is not valid"),
        ({"max_passes": 0}, ValueError, "max_passes=0 is not valid; expected an integer >= 1"),
        ({"max_search_rows": 1}, ValueError, "max_search_rows=1 is not valid"),
        (
            {"max_search_rows": "all"},
            ValueError,
            "unknown max_search_rows 'all'; expected 'auto', None",
        ),
        (
            {"max_coefficients": "all"},
            ValueError,
            "unknown max_coefficients 'all'; expected 'auto'",
        ),
        ({"axis_bias": 0.5}, ValueError, "axis_bias=0.5 is not valid; expected a number >= 1"),
        ({"axis_bias": "1"}, TypeError, "axis_bias='1' is not valid; expected a number >= 1"),
    ],
)
def test_wrong_parameters(setting, error, message):
    with pytest.raises(error, match=message):
        OC1Splitter(**setting)
    with pytest.raises(error, match=message):
        OC1Splitter().set_params(**setting)


def test_a_tree_uses_all_rows_for_the_threshold():
    # The search sees ten rows; the threshold must still fit all of them.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2)).astype(np.float32)
    X = X[np.abs(X.sum(axis=1)) > 0.2]
    y = (X.sum(axis=1) > 0).astype(int)
    splitter = OC1Splitter(max_search_rows=30)
    tree = ObliqueTreeClassifier(splitter=splitter, max_depth=1, random_state=0).fit(X, y)
    axis = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    assert tree.score(X, y) > axis.score(X, y)


def test_auto_samples_by_the_number_of_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)).astype(np.float32)
    y = rng.integers(0, 30, 900)
    options = {"max_depth": 2, "seeds": [1]}
    for n_classes, rows in ((2, 400), (30, 600)):
        trees = [
            grow_rows(X, y % n_classes, splitter=OC1Splitter(max_search_rows=size), **options)[0]
            for size in ("auto", rows)
        ]
        assert find_differences(*trees) == []
    trees = [
        grow_rows(X, y, "squared_error", splitter=OC1Splitter(max_search_rows=size), **options)[0]
        for size in ("auto", 400)
    ]
    assert find_differences(*trees) == []
