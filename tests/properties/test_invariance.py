"""Changes of the data that must not change the tree, or change it in a known way.

With Gini impurity and whole-number weights every sum is exact, so that every bit must be
the same. Other criteria round, but splits that are equally good but for rounding are
told apart by their order: the shape of the tree must be the same on any data.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.testing.growth import find_differences, grow_tree, name_partition
from obtree.testing.reference import route_rows

AXIS = ["axis", "axis_random"]
SPLITTERS = [*AXIS, "oc1", "random_oblique"]
SEEDS = st.integers(0, 2**32 - 1)
REAL = ["entropy", "squared_error", "friedman_mse", "poisson", "absolute_error"]
SHAPE = ("children_left", "term_ptr", "term_feature", "threshold", "missing_go_left")


def draw_rough(seed, n=40):
    """Few values, many ties, missing values."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1).astype(np.float32)
    X[:, 3] = rng.integers(0, 3, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return rng, X, rng.integers(0, 3, n)


def draw_smooth(seed, criterion, n=150):
    """No two equal values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    latent = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) * 0.3
    y = np.digitize(latent, [0.0, 1.0]) if criterion == "entropy" else np.exp(latent / 2)
    return rng, X, y


def check_shape(one, other):
    """The two trees ask the same questions and say nearly the same."""
    for name in SHAPE:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_allclose(one.impurity, other.impurity, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)


@pytest.mark.parametrize("criterion", ["gini", *REAL])
@pytest.mark.parametrize("splitter", SPLITTERS)
@given(seed=SEEDS)
def test_whole_weights_equal_repeated_rows(splitter, criterion, seed):
    rng, X, y = draw_rough(seed)
    counts = rng.integers(0, 4, len(y))
    counts[y.argmax()] = 1
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2, "n_classes": [3]}
    weighted = grow_tree(X, y, criterion, sample_weight=counts.astype(float), **options)
    repeated = grow_tree(np.repeat(X, counts, axis=0), np.repeat(y, counts), criterion, **options)
    check_shape(weighted, repeated)
    if criterion == "gini":
        assert find_differences(weighted, repeated, ignore=["n_node_samples"]) == []


@pytest.mark.parametrize("criterion", REAL)
@given(seed=SEEDS)
def test_whole_factors_equal_repeated_rows(criterion, seed):
    rng, X, y = draw_smooth(seed, criterion)
    counts = rng.integers(1, 4, len(y))
    factor = rng.random(len(y)) + 0.2
    options = {"min_weight_fraction_leaf": 0.06, "seeds": [seed]}
    weighted = grow_tree(X, y, criterion, sample_weight=counts * factor, **options)
    repeated = grow_tree(
        np.repeat(X, counts, axis=0),
        np.repeat(y, counts),
        criterion,
        sample_weight=np.repeat(factor, counts),
        **options,
    )
    assert weighted.node_count > 5
    check_shape(weighted, repeated)


@pytest.mark.parametrize("criterion", ["gini", *REAL])
@pytest.mark.parametrize("splitter", [*AXIS, "random_oblique"])
@given(seed=SEEDS, sparse_input=st.booleans(), whole=st.booleans())
def test_zero_weights_equal_absent_rows(splitter, criterion, seed, sparse_input, whole):
    rng, X, y = draw_rough(seed)
    weight = (rng.integers(1, 4, len(y)) if whole else rng.random(len(y)) + 0.1).astype(float)
    weight[rng.random(len(y)) < 0.4] = 0.0
    weight[y.argmax()] = 1.0
    kept = weight > 0
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2, "n_classes": [3]}
    X = sparse.csr_array(X) if sparse_input else X
    weighted = grow_tree(X, y, criterion, sample_weight=weight, **options)
    absent = grow_tree(X[kept], y[kept], criterion, sample_weight=weight[kept], **options)
    check_shape(weighted, absent)
    if criterion == "gini" and whole:
        assert find_differences(weighted, absent) == []


@pytest.mark.parametrize("criterion", ["gini", *REAL])
@given(seed=SEEDS)
def test_order_of_rows_does_not_matter(criterion, seed):
    rng, X, y = draw_rough(seed)
    order = rng.permutation(len(y))
    one, other = grow_tree(X, y, criterion), grow_tree(X[order], y[order], criterion)
    check_shape(one, other)
    if criterion == "gini":
        assert find_differences(one, other) == []


@pytest.mark.parametrize("criterion", ["gini", *REAL])
@given(seed=SEEDS)
def test_order_of_features_does_not_matter(criterion, seed):
    rng, X, y = draw_smooth(seed, criterion)
    y = (y > 1).astype(int) if criterion == "gini" else y
    order = rng.permutation(3)
    options = {
        "sample_weight": rng.random(len(y)) + 0.2,
        "min_weight_fraction_leaf": 0.06,
        "seeds": [seed],
    }
    one = grow_tree(X, y, criterion, **options)
    other = grow_tree(X[:, order], y, criterion, **options)
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.term_feature, order[other.term_feature])


@pytest.mark.parametrize("splitter", AXIS)
@given(seed=SEEDS, powers=st.lists(st.integers(-30, 30), min_size=4, max_size=4))
def test_scaling_by_powers_of_two_scales_the_thresholds(splitter, seed, powers):
    _, X, y = draw_rough(seed)
    scale = np.exp2(powers)
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2}
    one = grow_tree(X, y, **options)
    other = grow_tree((X * scale).astype(np.float32), y, **options)
    assert find_differences(one, other, ignore=("threshold",)) == []
    inner = one.children_left >= 0
    threshold = one.threshold[inner]
    # "Missing against present" has the largest number as its threshold, at any scale.
    largest = threshold == np.finfo(np.float32).max
    expected = np.where(largest, threshold, threshold * scale[one.feature[inner]])
    np.testing.assert_array_equal(other.threshold[inner], expected)


@given(seed=SEEDS, shift=st.integers(-1000, 1000))
def test_shifting_shifts_the_thresholds(seed, shift):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-100, 100, (40, 3)) / 8).astype(np.float32)  # exact after the shift
    y = rng.integers(0, 3, 40)
    one = grow_tree(X, y, seeds=[seed])
    other = grow_tree(X + np.float32(shift), y, seeds=[seed])
    assert find_differences(one, other, ignore=("threshold",)) == []
    inner = one.children_left >= 0
    np.testing.assert_array_equal(other.threshold[inner], one.threshold[inner] + shift)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@given(seed=SEEDS)
def test_type_and_layout_of_X_do_not_matter(criterion, splitter, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 30, (int(rng.integers(2, 60)), 4)).astype(np.uint8)
    X[rng.random(X.shape) < 0.5] = 0
    y = rng.integers(0, 2, len(X)) if criterion == "gini" else rng.random(len(X))
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2}
    expected = grow_tree(X, y, criterion, **options)
    for table in (
        X.astype(np.int16),
        X.astype(np.int64),
        X.astype(np.float32),
        np.asfortranarray(X.astype(np.float64)),
        sparse.csr_array(X.astype(np.float32)),
        sparse.csc_array(X.astype(np.float32)),
    ):
        assert find_differences(expected, grow_tree(table, y, criterion, **options)) == []


@given(seed=SEEDS)
def test_monotone_maps_keep_the_partition(seed):
    # Trees see the order of the values only.
    _, X, y = draw_rough(seed)
    one = grow_tree(X, y, seeds=[seed])
    mapped = np.sign(X) * np.sqrt(np.abs(X))
    other = grow_tree(mapped, y, seeds=[seed])
    np.testing.assert_array_equal(
        name_partition(route_rows(one, X)), name_partition(route_rows(other, mapped))
    )
    np.testing.assert_array_equal(one.impurity, other.impurity)
