"""Symmetries that every splitter keeps: units, origin, names of classes, weights.

What is compared is the partition of the training rows. Data are multiples of 1/8, so that
scaling and shifting them rounds nothing.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueForestClassifier
from obtree.splitter import RandomObliqueSplitter, available
from obtree.testing.growth import find_differences, grow_tree, name_partition

SEEDS = st.integers(0, 2**32 - 1)
SPLITTERS = {name: name for name in available()} | {
    "random_oblique two-sided": RandomObliqueSplitter(two_sided=True),
    "random_oblique gaussian": RandomObliqueSplitter(weights="gaussian"),
}
# Sums of products, or of float32, round differently at another place.
ROUNDED = {"co2", "conic", "discriminant"}


def draw_problem(seed, n=50):
    """Values that are multiples of 1/8, and two classes."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(-100, 100, (n, 3)) / 8).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) * 4 > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def partition(name, X, y, seed, criterion="gini", **options):
    tree = grow_tree(
        X,
        y,
        criterion,
        splitter=SPLITTERS[name],
        seeds=[seed],
        max_features=2,
        keep_rows=True,
        **options,
    )
    return name_partition(tree.apply(X)), tree


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS, power=st.integers(-20, 20))
def test_another_unit_keeps_the_partition(name, criterion, seed, power):
    X, y = draw_problem(seed)
    one, _ = partition(name, X, y, seed, criterion)
    other, _ = partition(name, (X * 2.0**power).astype(np.float32), y, seed, criterion)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [name for name in SPLITTERS if name not in ROUNDED])
@given(seed=SEEDS, shift=st.integers(-1000, 1000))
def test_another_origin_keeps_the_partition(name, seed, shift):
    if name == "random_oblique gaussian":
        shift = np.sign(shift) * 64  # weights of many digits leave room for little more
    X, y = draw_problem(seed)
    one, _ = partition(name, X, y, seed)
    other, _ = partition(name, X + np.float32(shift), y, seed)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", sorted(ROUNDED))
def test_another_origin_changes_little(name):
    X, y = draw_problem(0, n=300)
    one, _ = partition(name, X, y, 0, max_depth=1)
    other, _ = partition(name, X + np.float32(256), y, 0, max_depth=1)
    assert np.mean(one == other) > 0.95


# The planes of a discriminant then point the other way, and ties are broken from there.
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("name", [name for name in SPLITTERS if name != "discriminant"])
@given(seed=SEEDS)
def test_swapping_two_classes_keeps_the_partition(name, criterion, seed):
    X, y = draw_problem(seed)
    one, tree = partition(name, X, y, seed, criterion)
    other, swapped = partition(name, X, 1 - y, seed, criterion)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(tree.value.reshape(-1, 2), swapped.value.reshape(-1, 2)[:, ::-1])


@pytest.mark.parametrize("name", SPLITTERS)
def test_symmetric_classes_have_symmetric_errors(name):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal([0.9, -0.3], 1.0, size=(600, 2)), 3)
    X, y = np.vstack([X, -X]), np.repeat([0, 1], 600)
    half = np.tile(np.arange(600) < 200, 2)
    forest = ObliqueForestClassifier(20, splitter=SPLITTERS[name], random_state=0)
    predicted = forest.fit(X[half], y[half]).predict(X[~half])
    wrong = predicted != y[~half]
    rates = wrong[: len(wrong) // 2].mean(), wrong[len(wrong) // 2 :].mean()
    # Two shares of 400 rows of about a quarter: their difference has an s.d. of 0.03.
    assert abs(rates[0] - rates[1]) < 0.1
    assert max(rates) < 0.4


@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS)
def test_zero_weights_equal_absent_rows(name, seed):
    X, y = draw_problem(seed)
    X[:, 1] *= 100  # far apart in scale, and rows that are absent decide the scale
    weight = np.random.default_rng(seed).integers(0, 2, len(y)).astype(float)
    X[weight == 0] *= 16
    weight[:2] = 1
    kept = weight > 0
    options = {"splitter": SPLITTERS[name], "seeds": [seed], "max_features": 2}
    options |= {"keep_rows": True, "n_classes": [2]}
    weighted = grow_tree(X, y, sample_weight=weight, **options)
    absent = grow_tree(X[kept], y[kept], **options)
    assert find_differences(weighted, absent) == []
