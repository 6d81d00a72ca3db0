"""Changes of the data that must not change trees whose directions are fitted to sums.

Sums round differently when a row of weight two takes the place of two equal rows, or when
everything is shifted; directions are rounded so that trees stay the same all the same.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.splitter import AxisSplitter, DiscriminantSplitter, RotationSplitter
from obtree.testing.growth import find_differences, grow_tree, name_partition
from obtree.testing.reference import route_rows

SEEDS = st.integers(0, 2**32 - 1)
SPLITTERS = {
    "ridge": DiscriminantSplitter(),
    "lda": DiscriminantSplitter("lda"),
    "logistic": DiscriminantSplitter("logistic"),
    "rotation": RotationSplitter(AxisSplitter()),
}


def draw(seed, criterion, n=60):
    """No two equal values; classes and targets that follow oblique directions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    latent = X @ rng.normal(size=4) + 0.5 * rng.normal(size=n)
    return rng, X, np.digitize(latent, [-0.7, 0.7]) if criterion == "gini" else latent


def grow(X, y, criterion, name, seed, **options):
    rule = {"min_samples_leaf": 6} if "min_weight_fraction_leaf" not in options else {}
    return grow_tree(
        X,
        y,
        criterion,
        splitter=SPLITTERS[name],
        seeds=[seed],
        keep_rows=True,
        max_features=2,
        n_classes=[3],
        **rule,
        **options,
    )


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS)
def test_whole_weights_equal_repeated_rows(name, criterion, seed):
    rng, X, y = draw(seed, criterion)
    counts = rng.integers(0, 3, len(y))
    least = {"min_weight_fraction_leaf": 0.11}
    weighted = grow(X, y, criterion, name, seed, sample_weight=counts.astype(float), **least)
    repeated = grow(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), criterion, name, seed, **least
    )
    np.testing.assert_array_equal(route_rows(weighted, X), route_rows(repeated, X))


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS)
def test_zero_weights_equal_absent_rows(name, criterion, seed):
    rng, X, y = draw(seed, criterion)
    weight = rng.integers(0, 3, len(y)).astype(float)
    kept = weight > 0
    one = grow(X, y, criterion, name, seed, sample_weight=weight)
    other = grow(X[kept], y[kept], criterion, name, seed, sample_weight=weight[kept])
    assert find_differences(one, other) == []


@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS, power=st.integers(-30, 30))
def test_one_scale_for_all_features_keeps_the_partition(name, seed, power):
    _, X, y = draw(seed, "gini")
    one = grow(X, y, "gini", name, seed)
    other = grow((X * 2.0**power).astype(np.float32), y, "gini", name, seed)
    changed = ("threshold", "term_weight")
    assert find_differences(one, other, ignore=changed) == []


@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS, shift=st.integers(-100, 100))
def test_a_shift_keeps_the_partition(name, seed, shift):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-500, 500, (60, 4)) / 16).astype(np.float32)  # exact after the shift
    y = rng.integers(0, 3, 60)
    one = grow(X, y, "gini", name, seed)
    other = grow(X + np.float32(shift), y, "gini", name, seed)
    leaves = route_rows(one, X), route_rows(other, X + np.float32(shift))
    np.testing.assert_array_equal(*map(name_partition, leaves))


@pytest.mark.parametrize("name", ["ridge", "lda", "logistic"])
@given(seed=SEEDS)
def test_type_and_layout_of_X_do_not_matter(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 30, (50, 4)).astype(np.uint8)
    X[rng.random(X.shape) < 0.5] = 0
    y = rng.integers(0, 3, 50)
    expected = grow(X, y, "gini", name, seed)
    for table in (
        X.astype(np.int64),
        np.asfortranarray(X.astype(np.float64)),
        sparse.csr_array(X.astype(np.float32)),
    ):
        assert find_differences(expected, grow(table, y, "gini", name, seed)) == []
