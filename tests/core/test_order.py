"""Sorting float64 scores exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.probe_scores import sort_scores

SIZES = [2, 10, 63, 64, 65, 300, 2047, 2048, 5000]


def check(score):
    positions, keys, n_missing = sort_scores(score)
    missing = np.isnan(score)
    assert n_missing == missing.sum()
    # NumPy puts NaN last, too.
    np.testing.assert_array_equal(positions, np.argsort(score, kind="stable"))
    ranks = np.searchsorted(np.unique(score[~missing]), score[positions])
    np.testing.assert_array_equal(np.diff(keys.astype(int)) > 0, np.diff(ranks) > 0)
    assert np.all(np.diff(keys.astype(int)) >= 0)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["smooth", "ties", "outlier", "heavy", "neighbours", "tiny"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_order(n, kind, missing):
    rng = np.random.default_rng(n)
    score = rng.normal(size=n)
    if kind == "ties":
        score = np.round(score, 1)
    elif kind == "outlier":
        score[0] = 1e30
    elif kind == "heavy":
        score = np.exp(30.0 * score)
    elif kind == "neighbours":
        score = 1.0 + rng.integers(0, 5, n) * np.finfo(float).eps
    elif kind == "tiny":
        score = rng.integers(0, 40, n) * 5e-324
    score[rng.random(n) < missing] = np.nan
    score[-2:] = 0.5, 0.25
    check(score)


@given(st.lists(st.floats(allow_infinity=False, width=32), min_size=2, max_size=100))
def test_any_numbers(values):
    score = np.array(values, dtype=float)
    distinct = np.unique(score[~np.isnan(score)])
    if len(distinct) == 0 or (len(distinct) == 1 and not np.isnan(score).any()):
        assert sort_scores(score) is None
    else:
        check(score)


@pytest.mark.parametrize("n", SIZES)
def test_powers_of_two_change_no_key(n):
    score = np.random.default_rng(n).normal(size=n)
    _, keys, _ = sort_scores(score)
    for power in (-300, 10, 300):
        np.testing.assert_array_equal(sort_scores(score * 2.0**power)[1], keys)


def test_a_span_beyond_float64_is_refused():
    assert sort_scores([-1.7e308, 0.0, 1.7e308]) is None
