"""Numbers as text: something is left of each, and larger numbers never look smaller."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.tree.digits import write_number


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.0, 2, "0.00"),
        (-0.0, 2, "0.00"),
        (0.125, 2, "0.12"),
        (-2.5, 1, "-2.5"),
        (0.004, 2, "0.0040"),
        (-0.004, 0, "-0.004"),
        (0.3, 0, "0.3"),
        (1e-5, 2, "0.000010"),
        (9.9e-6, 2, "9.9e-06"),
        (1.234e-6, 8, "1.23e-06"),
        (5e-324, 0, "5e-324"),
        (123456.789, 2, "123456.79"),
        (3.4028e38, 2, "3.40e+38"),
        (math.inf, 2, "inf"),
    ],
)
def test_known_numbers(value, decimals, text):
    assert write_number(value, decimals) == text


@given(
    st.floats(-1e300, 1e300),
    st.floats(-1e300, 1e300),
    st.integers(0, 12),
)
def test_order_is_kept(one, two, decimals):
    low, high = sorted((one, two))
    shown = [float(write_number(value, decimals)) for value in (low, high)]
    assert shown[0] <= shown[1]
    for value, text in zip((low, high), shown, strict=True):
        assert (value == 0.0) == (text == 0.0)
        assert math.isclose(value, text, rel_tol=0.5) or abs(value - text) <= 0.51 * 10.0**-decimals
