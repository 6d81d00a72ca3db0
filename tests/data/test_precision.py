"""Columns that float32 does not tell apart: which are found, shifted, and told of."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from obtree.data.offset import shift_features
from obtree.data.precision import PrecisionLoss, find_offset, find_precision_losses, may_round

RNG = np.random.default_rng(0)
STEPS = RNG.permutation(4000)

# Columns that a shift keeps apart.
SHIFTED = {
    "seconds": 1.7e9 + STEPS,
    "integers": 1_700_000_000 + STEPS,
    "before 1970": -1.7e9 - STEPS,
    "identifiers": 10**12 + STEPS,
    "beyond float64": 2**60 + STEPS,
    "unsigned": np.uint64(2**64 - 5000) + STEPS.astype(np.uint64),
    "int32": (2**31 - 5000 + STEPS).astype(np.int32),
    "a year": 1.7e9 + RNG.integers(0, 31_536_000, 4000),
    "missing": np.where(STEPS < 1000, np.nan, 1.7e9 + STEPS),
    "zero for never": np.where(STEPS < 1000, 0.0, 1.7e9 + STEPS),
    "nanoseconds": 1_700_000_000_000_000_000 + 10**9 * STEPS,
    "fractions of seconds": np.where(STEPS < 10, -1.0, 1.7e9 + RNG.uniform(0, 4000, 4000)),
    "julian days": 2460000.5 + STEPS / 86400,
    "long": np.longdouble(2) ** 53 + STEPS,
}

# Columns that stay as they are, and of which nobody is told.
HARMLESS = {
    "small whole numbers": RNG.integers(-(2**24), 2**24, 4000).astype(float),
    "uniform": RNG.random(100_000),
    "kelvin": RNG.uniform(290, 300, 100_000),
    "normal": RNG.normal(size=4000),
    "large": RNG.lognormal(40, 1, 4000) * 1e20,
    "constant": np.full(50, 1.7e9 + 1),
    "two far values": np.where(STEPS % 2, 3e38, -3e38),
    "one value": np.where(STEPS % 2, np.nan, 16777217.0),
    "missing": np.full(50, np.nan),
    "bytes as int64": RNG.integers(0, 256, 4000),
    "every other whole number": 2**24 + 2 * STEPS.astype(float),
    "infinite": np.where(STEPS < 5, np.inf, STEPS),
    "too large": 1e300 * (1 + RNG.random(50)),
}

# Columns of which values are lost for good.
LOST = {
    "two ranges": np.where(STEPS < 2000, STEPS, 1.7e9 + STEPS),
    "identifiers of any size": RNG.integers(0, 10**9, 100_000),
    "tiny": RNG.random(4000) * 1e-60,
    "both ends": np.where(STEPS < 2000, -2460000.5, 2460000.5) + STEPS / 86400,
}


def count_left(column, offset):
    column = np.asarray(column)
    if column.dtype.kind == "f":
        column = column[np.isfinite(column)]
    offset = np.zeros(1) if offset is None else offset
    return len(np.unique(shift_features(column[:, None], offset)))


@pytest.mark.parametrize("name", SHIFTED)
def test_columns_that_are_shifted(name):
    column = SHIFTED[name]
    offset, losses = find_offset(column[:, None])
    n_distinct = len(np.unique(column[np.isfinite(column)]))
    assert count_left(column, None) < n_distinct  # the test can fail
    assert count_left(column, offset) == n_distinct
    assert losses == []


@pytest.mark.parametrize("name", HARMLESS)
def test_columns_that_stay(name):
    assert find_offset(HARMLESS[name][:, None]) == (None, [])
    assert find_precision_losses(HARMLESS[name][:, None]) == []


@pytest.mark.parametrize("name", LOST)
def test_columns_that_lose(name):
    column = LOST[name]
    offset, losses = find_offset(column[:, None])
    assert offset is None
    assert losses == [PrecisionLoss(0, len(np.unique(column)), count_left(column, None))]
    assert find_precision_losses(column[:, None]) == losses


def test_columns_that_lose_after_the_shift():
    """Ten years of seconds: no float32 grid is that fine, but a shift makes it 16 times finer."""
    column = 1.4e9 + np.random.default_rng(0).integers(0, 315_360_000, 300_000)
    offset, losses = find_offset(column[:, None])
    n_distinct = len(np.unique(column))
    n_left = count_left(column, offset)
    assert losses == [PrecisionLoss(0, n_distinct, n_left)]
    assert n_distinct - n_left < 0.1 * (n_distinct - count_left(column, None))
    assert find_precision_losses(column[:, None], offset) == losses
    assert find_precision_losses(column[:, None])[0].n_left == count_left(column, None)


def test_few_merges_of_numbers_beyond_2_53_are_not_told():
    """A day of nanoseconds: float32 has steps of 4 milliseconds."""
    column = 1_700_000_000 * 10**9 + np.random.default_rng(0).integers(0, 86400 * 10**9, 30_000)
    for X in (column[:, None], column[:, None].astype(np.float64)):
        offset, losses = find_offset(X)
        assert losses == []
        n_distinct = len(np.unique(X))
        assert count_left(X[:, 0], None) < 1000
        assert 0.99 * n_distinct < count_left(X[:, 0], offset) < n_distinct


def test_columns_are_judged_one_by_one():
    X = np.column_stack([RNG.normal(size=4000), 1.7e9 + STEPS, STEPS, LOST["two ranges"]])
    for order in "CF":
        offset, losses = find_offset(np.asarray(X, order=order))
        assert offset[[0, 2, 3]].tolist() == [0.0, 0.0, 0.0]
        assert offset[1] == find_offset(X[:, 1:2])[0][0]
        assert [loss.column for loss in losses] == [3]


def test_wide_tables_are_looked_at_in_parts():
    X = np.random.default_rng(0).normal(size=(40, 5000))
    X[:, 4321] = 1.7e9 + np.arange(40)
    offset, losses = find_offset(X)
    assert np.flatnonzero(offset).tolist() == [4321]
    assert losses == []


def test_integers_and_floats_have_the_same_offset():
    column = 1_700_000_000 + STEPS
    offset, _ = find_offset(column[:, None])
    other, _ = find_offset(column[:, None].astype(np.float64))
    np.testing.assert_array_equal(offset, other)


@given(
    st.one_of(st.integers(-(2**52), 2**52), st.integers(-(2**62), 2**62)),
    st.lists(st.integers(-2000, 2000), min_size=2, unique=True),
)
def test_whole_numbers_close_to_each_other_stay_apart(origin, steps):
    X = (origin + np.array(steps))[:, None]
    for dtype in (np.int64, np.float64) if abs(origin) <= 2**52 else (np.int64,):
        offset, losses = find_offset(X.astype(dtype))
        assert losses == []
        assert count_left(X[:, 0].astype(dtype), offset) == len(steps)
        assert offset is None or offset[0].is_integer()
        if np.abs(X).max() <= 2**24:
            assert offset is None


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_offsets_of_whole_numbers_are_whole(width, dtype):
    X = np.array([[10**12], [10**12 + width]], dtype=dtype)
    offset, losses = find_offset(X)
    assert losses == []
    assert offset[0].is_integer()


@given(st.data())
def test_losses_are_counted_as_they_are(data):
    """Against counting every column, for numbers of all sizes."""
    sizes = data.draw(st.lists(st.integers(20, 50), min_size=1, max_size=3))
    columns = [[data.draw(st.integers(-(2**size), 2**size)) for _ in range(12)] for size in sizes]
    X = np.array(columns, dtype=np.float64).T
    offset, losses = find_offset(X)
    expected = []
    for j in range(X.shape[1]):
        n = len(np.unique(X[:, j]))
        left = count_left(X[:, j], None if offset is None else offset[j : j + 1])
        if left < n:
            expected.append(PrecisionLoss(j, n, left))
    assert losses == expected


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_matrices(kind):
    X = np.zeros((4000, 6))
    X[:, 0] = LOST["two ranges"]
    X[:, 1] = 1.7e9 + STEPS
    X[:, 2] = RNG.random(4000)
    X[:, 3] = np.where(STEPS < 4, 2460000.5 + STEPS / 86400, 0.0)
    X[:, 4] = np.where(STEPS < 100, np.nan, STEPS)
    losses = find_precision_losses(kind(X))
    assert losses == [
        PrecisionLoss(j, len(np.unique(X[X[:, j] != 0, j])), count_left(X[X[:, j] != 0, j], None))
        for j in (0, 1, 3)
    ]
    assert find_precision_losses(kind((4, 3))) == []
    assert find_precision_losses(kind(X.astype(np.float32))) == []
    whole = find_precision_losses(kind(np.nan_to_num(X[:, :2]).astype(np.int64)))
    assert [loss.column for loss in whole] == [0, 1]


def test_types_that_lose():
    lossy = [np.float64, np.longdouble, np.int32, np.uint32, np.int64, np.uint64]
    kept = [np.float32, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.bool_]
    assert [dtype for dtype in lossy + kept if may_round(np.dtype(dtype))] == lossy
