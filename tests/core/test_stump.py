"""The loops of a moving stump agree with NumPy."""

import numpy as np
import pytest

from obtree.testing import probe_stump

SIZES = [(1, 1), (3, 8), (7, 17), (100, 40), (129, 784)]


def draw(n, m):
    rng = np.random.default_rng(n * 1000 + m)
    return rng, probe_stump.pad_rows(rng.normal(size=(n, m)))


def sum_in_lanes(products):
    """Eight partial sums, folded in halves, in float32."""
    lanes = np.zeros((len(products), 8), dtype=np.float32)
    for k in range(0, products.shape[1], 8):
        lanes += products[:, k : k + 8]
    for width in (4, 2, 1):
        lanes = lanes[:, :width] + lanes[:, width : 2 * width]
    return lanes[:, 0]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_scores_are_sums_in_a_fixed_order(n, m):
    rng, X = draw(n, m)
    w = rng.normal(size=X.shape[1]).astype(np.float32)
    np.testing.assert_array_equal(probe_stump.dot_rows(X, w), sum_in_lanes(X * w))


def test_scores_of_stored_entries_are_sums_in_a_fixed_order():
    rng = np.random.default_rng(0)
    sizes = np.r_[0, np.arange(40), 0]
    start = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    column = rng.integers(0, 30, start[-1]).astype(np.int32)
    value, w = (rng.normal(size=n).astype(np.float32) for n in (start[-1], 30))
    found = probe_stump.dot_entries(start, column, value, w, 0.5)
    for p, n in enumerate(sizes):
        products = (value * w[column])[start[p] : start[p + 1]]
        lanes = np.zeros(4, dtype=np.float32)
        for k in range(0, n // 4 * 4, 4):
            lanes += products[k : k + 4]
        for product in products[n // 4 * 4 :]:
            lanes[0] += product
        expected = np.float32(0.5) + ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
        assert found[p] == expected


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_sums_of_rows_are_taken_in_order(n, m):
    rng, X = draw(n, m)
    at = rng.integers(0, n, 50)
    factor = rng.normal(size=50).astype(np.float32)
    expected = np.zeros(X.shape[1], dtype=np.float32)
    for i, f in zip(at, factor, strict=True):
        expected += X[i] * f
    np.testing.assert_array_equal(probe_stump.add_rows(X, at, factor), expected)


def test_exponentials():
    x = np.linspace(-90, 0, 2001).astype(np.float32)
    expected = np.exp(np.maximum(x, -87).astype(np.float64))
    np.testing.assert_allclose(probe_stump.exp_differences(x + 2, 2.0), expected, rtol=1e-5)
    assert probe_stump.exp_differences(np.zeros(3), 0.0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_moments(n, m):
    rng, X = draw(n, m)
    weight = rng.random(n)
    gap = (X - X[0]).astype(np.float64)
    total, squares = probe_stump.add_moments(X, X[0].copy(), weight)
    np.testing.assert_allclose(total, weight @ gap, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares, weight @ gap**2, rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_centring(n, m):
    rng, X = draw(n, m)
    row = X[-1].copy()
    origin, mean, scale = rng.normal(size=(3, 5)).astype(np.float32)
    column = rng.integers(0, X.shape[1], 5)
    expected = ((row[column] - origin) - mean) * scale
    result = probe_stump.standardise_row(row, column, origin, mean, scale)
    np.testing.assert_array_equal(result, expected)
    result = probe_stump.standardise_row(row, None, origin, mean, scale)
    np.testing.assert_array_equal(result, ((row[:5] - origin) - mean) * scale)


@pytest.mark.parametrize("n", [1, 8, 35])
def test_steps_are_those_of_adam(n):
    rng = np.random.default_rng(n)
    w, m, gradient = rng.normal(size=(3, n)).astype(np.float32)
    v = rng.random(n).astype(np.float32)
    moved = probe_stump.adam_step(w, m, v, gradient, 0.5, 1.7)
    m = 0.9 * m + 0.1 * gradient
    v = 0.99 * v + 0.01 * gradient**2
    w = w - 0.5 * m / (np.sqrt(v * 1.7) + 1e-6)
    for result, expected in zip(moved, (w, m, v), strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-6)
