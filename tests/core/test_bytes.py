"""Sums over rows of bytes agree with NumPy, and with those over rows of float32."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obtree.optim.base import Problem
from obtree.testing import probe_bytes

SIZES = [(1, 1), (3, 8), (7, 33), (50, 64), (40, 784)]


def draw(n, m):
    rng = np.random.default_rng(n * 1000 + m)
    X = rng.integers(0, 256, (n, m)).astype(np.uint8)
    return rng, X, rng.integers(0, n, 30)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_bytes_and_floats_give_the_same_bits(n, m):
    rng, X, rows = draw(n, m)
    w = rng.normal(size=m).astype(np.float32)
    found = probe_bytes.approximate(X, rows, w)
    np.testing.assert_array_equal(found, probe_bytes.approximate(X.astype(np.float32), rows, w))
    exact = X[rows].astype(np.float64) @ w.astype(np.float64)
    size = np.abs(w).sum() * 255.0
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 * size)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_sums_of_whole_weights_are_exact(n, m):
    rng, X, rows = draw(n, m)
    for largest in (32767, 2147483647 // (255 * m)):
        w = rng.integers(-min(largest, 32767), min(largest, 32767) + 1, m)
        if np.abs(w).sum() * 255 <= 2147483647:
            expected = X[rows].astype(np.int64) @ w
            np.testing.assert_array_equal(probe_bytes.sum_bytes(X, rows, w), expected)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_sums_of_rows_are_taken_in_order(n, m):
    rng, X, rows = draw(n, m)
    factor = rng.normal(size=30).astype(np.float32)
    expected = np.zeros(m, dtype=np.float32)
    for i, f in zip(rows, factor, strict=True):
        expected += X[i].astype(np.float32) * f
    np.testing.assert_array_equal(probe_bytes.add_bytes(X, rows, factor), expected)


def test_scaling():
    rng, X, _ = draw(7, 33)
    origin, scale = rng.normal(size=(2, 33)).astype(np.float32)
    expected = (X[2].astype(np.float32) - origin) * scale
    np.testing.assert_array_equal(probe_bytes.scale_bytes(X[2], origin, scale), expected)


def test_only_bytes_are_packed():
    x = np.arange(256.0)
    packed, total = probe_bytes.pack_bytes(x)
    np.testing.assert_array_equal(packed, x)
    assert total == x.sum()
    for wrong in (0.5, 255.5, 256.0, -1.0, np.nan, np.inf, -1e30):
        for place in (0, 100, 255):
            y = x.copy()
            y[place] = wrong
            assert probe_bytes.pack_bytes(y)[1] == -1


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-250, 1e-8, 1.0, 1e6]))
def test_sides_are_exact(seed, size):
    """Also of rows that lie on the plane, or as near as rounding allows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 256, (60, 40))
    X[30:] = X[:30]
    X[30:, 0] ^= 1
    weight = size * rng.normal(size=40) ** 3
    weight[0] *= 1e-7
    total = np.zeros(60)
    for j in range(40):
        total += weight[j] * X[:, j]
    codes = np.zeros((60, 1), dtype=np.int32)
    whole = Problem(X.astype(np.uint8), codes, None, 1, as_bytes=True)
    for cells, is_bytes in ((X, True), (X + np.float32(0.25), False)):
        problem = Problem(cells.astype(np.float32), codes, None, 1)
        shift = 0.0 if is_bytes else 0.25 * weight.sum()
        for threshold in (total[3] + shift, np.nextafter(total[4] + shift, -np.inf)):
            found, packed = probe_bytes.find_left(problem, weight, threshold)
            assert packed == is_bytes
            if is_bytes:
                np.testing.assert_array_equal(
                    probe_bytes.find_left(whole, weight, threshold)[0], found
                )
            near = np.abs(total + shift - threshold) < 1e-12 * np.abs(weight).sum() * 255
            expected = total + shift <= threshold
            np.testing.assert_array_equal(found[~near], expected[~near])
