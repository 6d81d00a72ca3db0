"""Checks of parameters: what passes, and one kind of error for one kind of mistake."""

import math

import numpy as np
import pytest

from obtree.core.params import (
    FLAG,
    Fraction,
    Integer,
    Number,
    ParameterTypeError,
    check_param,
    check_params,
    refuse_param,
)

PART = Fraction(0.0, 1.0, open_low=True)


@pytest.mark.parametrize(
    ("value", "kinds", "expected"),
    [
        (None, (None, Integer(1)), None),
        ("auto", ("auto", Integer(1)), "auto"),
        (np.str_("auto"), ("auto",), "auto"),
        (np.int64(3), (Integer(1, 3),), 3),
        (np.bool_(True), (FLAG, Integer(0)), True),
        (1, (FLAG, Integer(0)), 1),
        (2, (Number(0),), 2.0),
        (np.float32(0.5), (Integer(2), PART), 0.5),
        (1.0, (Integer(2), PART), 1.0),
        (0, (Number(0, 1),), 0.0),
    ],
)
def test_what_passes_becomes_plain(value, kinds, expected):
    found = check_param("x", value, *kinds)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "kinds", "error", "expected"),
    [
        (0, (Integer(1),), ValueError, "an integer >= 1"),
        (9, (None, Integer(1, 8)), ValueError, "None or an integer from 1 to 8"),
        (1.0, (Integer(1),), TypeError, "an integer >= 1"),
        (True, (Integer(0),), TypeError, "an integer >= 0"),
        (False, (Number(0),), TypeError, "a number >= 0"),
        (0, (Number(0, open_low=True),), ValueError, "a number > 0"),
        (1, (Number(0, 1, open_high=True),), ValueError, r"a number in \[0, 1\)"),
        (math.nan, (Number(0),), ValueError, "a number >= 0"),
        (math.inf, (Number(0),), ValueError, "a number >= 0"),
        (1, (Integer(2), PART), ValueError, r"an integer >= 2 or a number in \(0, 1\]"),
        ("1", (Number(0),), TypeError, "a number >= 0"),
        (1, (FLAG, "auto"), TypeError, "True, False or 'auto'"),
        (None, ("b", "a"), TypeError, "one of 'a', 'b'"),
        (1j, ("auto", None, Integer(1)), TypeError, "'auto', None or an integer >= 1"),
        (np.array([1.0, 2.0]), ("auto", None, Number(1)), TypeError, "'auto', None or"),
    ],
)
def test_a_wrong_type_and_a_wrong_value(value, kinds, error, expected):
    with pytest.raises(ValueError, match=rf"^x=.* is not valid; expected {expected}") as caught:
        check_param("x", value, *kinds)
    assert isinstance(caught.value, TypeError) == (error is TypeError)
    assert type(caught.value) in (ValueError, ParameterTypeError)


def test_names_suggest_the_nearest():
    with pytest.raises(ValueError, match=r"unknown colour 'rde'; .*'blue', 'red'.*mean 'red'"):
        check_param("colour", "rde", "red", "blue")
    with pytest.raises(ValueError, match=r"unknown size 'Auto'; expected 'auto' or an .*'auto'\?$"):
        check_param("size", "Auto", "auto", Integer(1))


def test_several():
    rules = {"size": (Integer(1),), "colour": ("red", "blue")}
    check_params(rules, size=1, colour="red")
    with pytest.raises(ValueError, match="unknown colour 'green'"):
        check_params(rules, size=1, colour="green")


def test_what_only_words_can_say():
    with pytest.raises(ParameterTypeError, match=r"n=\[\] is not valid; expected a dict"):
        refuse_param("n", [], expected="a dict")
