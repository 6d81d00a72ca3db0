"""Messages: values as a user would write them, and unknown names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.core.names import show, suggest, unknown_name

KNOWN = ["axis", "axis_random", "co2", "oc1", "random_oblique", "two_probe"]


def test_lists_the_known_and_suggests_the_nearest():
    text = unknown_name("criterion", "giny", ["entropy", "gini"])
    assert text == (
        "unknown criterion 'giny'; expected one of 'entropy', 'gini'. Did you mean 'gini'?"
    )


def test_no_suggestion_when_nothing_is_near():
    assert "Did you mean" not in unknown_name("criterion", "zzz", ["entropy", "gini"])


def test_names_that_are_not_text():
    assert "unknown criterion 7" in unknown_name("criterion", 7, ["gini"])


def test_one_name_and_none():
    assert unknown_name("rotation", "ica", ["pca"]) == (
        "unknown rotation 'ica'; expected 'pca'. Did you mean 'pca'?"
    )
    assert unknown_name("parameter", "x", []) == (
        "unknown parameter 'x'; there is none to choose from"
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("C02", "co2"),
        ("CO2", "co2"),
        ("co_2", "co2"),
        ("0C1", "oc1"),
        ("ocl", "oc1"),
        ("AXIS", "axis"),
        ("Axis", "axis"),
        ("axs", "axis"),
        ("axis-random", "axis_random"),
        ("AxisRandom", "axis_random"),
        ("RandomOblique", "random_oblique"),
        ("random oblique", "random_oblique"),
        ("TWO-PROBES", "two_probe"),
        ("xgboost", None),
        ("", None),
        (None, None),
        (2, None),
    ],
)
def test_what_was_meant(given, meant):
    assert suggest(given, KNOWN) == meant


def test_names_that_differ_in_case_only():
    assert suggest("ALPHa", ["alpha", "ALPHA"]) == "ALPHA"
    assert suggest("alphas", ["ALPHA", "alpha"]) == "alpha"


def test_very_many_names_are_not_compared_one_by_one():
    names = [f"column {j}" for j in range(20_000)]
    assert suggest("Column_19999", names) == "column 19999"
    assert suggest("col 19999", names) is None


@given(st.sampled_from(KNOWN), st.data())
def test_case_separators_and_lookalikes_do_not_count(name, data):
    swap = {"o": "o0O", "0": "0oO", "1": "1lL", "l": "l1L", "s": "s5S", "_": ["_", "-", " ", ""]}
    typed = "".join(data.draw(st.sampled_from(list(swap.get(c, c + c.upper())))) for c in name)
    assert suggest(typed, KNOWN) == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.5), "0.5"),
        (np.float32(0.1), "0.1"),
        (np.int64(-3), "-3"),
        (np.uint8(7), "7"),
        (np.bool_(True), "True"),
        (np.str_("a"), "'a'"),
        (np.bytes_(b"a"), "b'a'"),
        (np.datetime64("2020-01-01"), "2020-01-01"),
        (np.float64(np.nan), "nan"),
        ([np.int64(1), np.float64(2.0)], "[1, 2.0]"),
        ((np.int64(1),), "(1,)"),
        ((), "()"),
        ({np.int64(1)}, "{1}"),
        (set(), "set()"),
        ({np.str_("a"): np.float64(2)}, "{'a': 2.0}"),
        (np.array([1.5, 2.0]), "array([1.5, 2.0])"),
        (np.array(3), "array(3)"),
        (np.array([np.float64(1), "x"], dtype=object), "array([1.0, 'x'])"),
        ("it's", '"it\'s"'),
        (None, "None"),
    ],
)
def test_values_look_like_python(value, text):
    assert show(value) == text


def test_long_values_are_cut_and_lines_joined():
    text = show("x" * 1000)
    assert len(text) == 160
    assert text.endswith(" ...")
    assert show("x" * 1000, limit=None) == repr("x" * 1000)
    assert "\n" not in show(np.zeros((50, 50)))
    loop = []
    loop.append(loop)
    assert show(loop) == "[[[[[[...]]]]]]"


def test_addresses_are_not_shown():
    assert show(object()) == "<object object>"
    assert show([object()]) == "[<object object>]"
    assert show("<x at 0x12>") == "'<x at 0x12>'"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(values)
def test_plain_values_are_shown_as_python_does(value):
    assert show(value, limit=None) == repr(value)
