"""Reading and splitting encoded columns, for each width of a rank."""

import numpy as np
import pytest

from obtree.testing.probe_bytes import copy_codes
from obtree.testing.probe_core import gather_above, gather_bytes, gather_column, split_rows

WIDTHS = (np.uint8, np.uint16, np.uint32)
SIZES = (1, 7, 8, 9, 31, 64, 1000)


def draw_column(dtype, rng, n=1500):
    # Ranks are counts of rows, so they stay below 2**31.
    highest = min(np.iinfo(dtype).max, 2**31 - 2)
    return rng.integers(0, highest, n, dtype=dtype, endpoint=True)


def draw_rows(rng, n_rows, n=1500):
    return np.sort(rng.choice(n, n_rows, replace=False)).astype(np.int32)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", WIDTHS)
def test_gather(dtype, n):
    rng = np.random.default_rng(n)
    column, rows = draw_column(dtype, rng), draw_rows(rng, n)
    codes, low, high = gather_column(column, rows)
    np.testing.assert_array_equal(codes, column[rows])
    assert (low, high) == (column[rows].min(), column[rows].max())


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("offset", [0, 3, 9])
def test_gather_from_rows_of_bytes(width, offset, n):
    rng = np.random.default_rng(n)
    column = draw_column(WIDTHS[width - 1], rng)
    table = rng.integers(0, 256, (1500, 11), dtype=np.uint8)
    table[:, offset : offset + width] = column.view(np.uint8).reshape(1500, width)
    rows = draw_rows(rng, n)
    codes, low, high = gather_bytes(table, offset, width, rows)
    np.testing.assert_array_equal(codes, column[rows])
    assert (low, high) == (column[rows].min(), column[rows].max())


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("dtype", "stride"), [*((dtype, 0) for dtype in WIDTHS), (np.uint8, 7), (np.uint16, 7)]
)
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_gather_above_leaves_out_rank_zero(dtype, n, stride, fraction):
    rng = np.random.default_rng(n)
    column, rows = draw_column(dtype, rng), draw_rows(rng, n)
    column[rng.random(len(column)) >= fraction] = 0
    width = np.dtype(dtype).itemsize
    table = np.zeros((len(column), max(stride, width)), dtype=np.uint8)
    table[:, :width] = column.view(np.uint8).reshape(-1, width)
    above = np.flatnonzero(column[rows])
    expected = column[rows][above].astype(np.uint64) << np.uint64(32) | above.astype(np.uint64)
    for placed in (False, True) if width <= 2 else (False,):
        words, bits = gather_above(table, width, rows, placed)
        np.testing.assert_array_equal(words, expected)
        assert bits == np.bitwise_or.reduce(column[rows])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
def test_split_keeps_the_order_on_both_sides(dtype, n, fraction):
    rng = np.random.default_rng(n)
    column, rows = draw_column(dtype, rng), draw_rows(rng, n)
    cut = int(np.quantile(column[rows], fraction, method="nearest"))
    result, n_left = split_rows(column, cut, rows)
    left = column[rows] <= cut
    assert n_left == left.sum()
    np.testing.assert_array_equal(result, np.concatenate([rows[left], rows[~left]]))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("row_bytes", [1, 16, 63, 64, 200])
def test_copy_rows_and_their_bits(row_bytes, n):
    rng = np.random.default_rng(n)
    table = rng.integers(0, 256, (300, row_bytes), dtype=np.uint8)
    table[rng.random(table.shape) < 0.9] = 0
    rows = draw_rows(rng, n, 300)
    codes, bits = copy_codes(table, rows)
    np.testing.assert_array_equal(codes, table[rows])
    np.testing.assert_array_equal(bits, np.bitwise_or.reduce(table[rows], axis=0))
