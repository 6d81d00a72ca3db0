"""Small systems and eigenvectors against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing import probe_linalg

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, n=st.integers(1, 12))
def test_cholesky_solves(seed, n):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n))
    A = B @ B.T + 0.1 * np.eye(n)
    b = rng.normal(size=n)
    np.testing.assert_allclose(probe_linalg.solve(A, b), np.linalg.solve(A, b), rtol=1e-8)


def test_cholesky_refuses_what_is_not_positive_definite():
    assert probe_linalg.solve([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0]) is None
    assert probe_linalg.solve([[0.0]], [1.0]) is None
    assert probe_linalg.solve([[np.nan]], [1.0]) is None


@given(seed=SEEDS, n=st.integers(1, 10), rank=st.integers(0, 10))
def test_jacobi_finds_eigenvectors(seed, n, rank):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, min(rank, n)))
    A = B @ B.T
    values, vectors = probe_linalg.find_eigenvectors(A)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(vectors * values @ vectors.T, A, atol=1e-12 * max(1, A.max()))
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A), atol=1e-11)


def test_jacobi_leaves_diagonal_matrices_alone():
    values, vectors = probe_linalg.find_eigenvectors(np.diag([3.0, 0.0, 1.0]))
    np.testing.assert_array_equal(values, [3.0, 0.0, 1.0])
    np.testing.assert_array_equal(vectors, np.eye(3))


@pytest.mark.parametrize("power", [-900, -130, 0, 130, 900])
@given(x=st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False))
def test_rounding_keeps_24_bits_at_any_exponent(power, x):
    exact = float(x) * 2.0**power
    if exact == 0.0 or not 1e-290 < abs(exact) < 1e290:
        return
    assert probe_linalg.round_to_single(exact) == exact
    assert probe_linalg.round_to_single(exact * (1 + 1e-9)) == exact
    assert probe_linalg.round_to_single(-exact) == -exact
