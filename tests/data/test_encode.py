"""Columns as ranks: nothing is lost, whatever the numbers look like."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.probe import encode_column
from obtree.testing.reference import rank_column

TINY = np.float32(1e-45)  # the smallest positive number
ONE = np.float32(1.0)
COLUMNS = {
    "one row": [3.5],
    "constant": [2.0] * 7,
    "both zeros": [0.0, -0.0, 0.0, -0.0],
    "both zeros among others": [0.5, -0.0, 0.0, -0.5, np.nan],
    "subnormal": [TINY, 0.0, -TINY, 2 * TINY, np.nan, TINY],
    "neighbours": [ONE, np.nextafter(ONE, 2, dtype="f"), np.nextafter(ONE, 0, dtype="f"), ONE],
    "extremes": [np.finfo("f").max, np.finfo("f").min, np.finfo("f").tiny, 0.0, -1.0],
    "all missing": [np.nan] * 5,
    "one missing row": [np.nan],
    "missing and one value": [np.nan, 4.0, np.nan],
    "whole numbers": [5, -3, 5, 0, 2, -3],
    "whole numbers and missing": [5, np.nan, -3, 5, 0, 2, -3, np.nan],
    "whole numbers far apart": [0, 10**7, 5, -(10**7)],
    "whole numbers beyond 2**24": [2**24, 2**24 + 2, 2**25, 2**24],
    "large whole numbers close together": [2**30, 2**30 + 64, 2**30, 2**30 + 128],
    "nearly whole": [1, 2, 3, 3.5, 2, 1, 1, 2],
}


def check(column):
    """The ranks and values are those of NumPy's unique, and give the column back."""
    column = np.array(column, dtype=np.float32)
    codes, values, has_missing = encode_column(column)
    expected_codes, expected_values = rank_column(column)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(values, expected_values)
    assert not np.any(np.signbit(values) & (values == 0))  # zero has one form
    assert has_missing == np.isnan(column).any()
    missing = codes == len(values)
    np.testing.assert_array_equal(missing, np.isnan(column))
    np.testing.assert_array_equal(values[codes[~missing]], column[~missing])


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_special_columns(column):
    check(column)


@given(
    st.lists(
        st.floats(width=32, allow_infinity=False) | st.integers(-40, 40), min_size=1, max_size=200
    )
)
def test_any_column(column):
    check(column)


@given(st.lists(st.integers(-300, 300) | st.just(np.nan), min_size=1, max_size=300))
def test_whole_numbers_by_table(column):
    check(column)


@pytest.mark.parametrize("n_values", [2, 255, 256, 257, 65535, 65536, 65537, 70000])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("missing", [True, False])
def test_many_values(n_values, whole, missing):
    rng = np.random.default_rng(n_values)
    values = np.arange(n_values) if whole else np.arange(n_values) / 8 - 1000
    column = rng.permutation(np.concatenate([values, values[: n_values // 2]]))
    if missing:
        column = np.append(column, np.nan)
    check(column)
