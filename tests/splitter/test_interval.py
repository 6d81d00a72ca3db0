"""Intervals of scores against a list of all intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.growth import bind_criterion
from obtree.testing.probe_scores import sweep_scores
from obtree.testing.reference import is_allowed, rate_split


def sweep(name, y, weight, score, **options):
    """(score, lower, threshold, missing_left) of the best plain cut and of the best interval."""
    criterion = bind_criterion(name, y)
    return [
        sweep_scores(criterion, weight, [score], two_sided=two_sided, **options)
        for two_sided in (False, True)
    ]


def inside(score, found):
    _, _, threshold, missing_left, lower = found
    left = (score > lower) & (score <= threshold)
    return np.where(np.isnan(score), missing_left, left)


@pytest.mark.parametrize("name", ["gini", "entropy", "squared_error", "absolute_error"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    missing=st.sampled_from([0.0, 0.3, 0.8]),
    decimals=st.integers(0, 3),
    min_samples_leaf=st.sampled_from([1, 1, 3]),
)
def test_an_interval_is_never_worse_than_a_cut(name, seed, n, missing, decimals, min_samples_leaf):
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=n), decimals)
    score[rng.random(n) < missing] = np.nan
    y = rng.integers(0, 3, n) if name in ("gini", "entropy") else rng.normal(size=n)
    weight = rng.random(n) + 0.1
    limits = {"min_samples_leaf": min_samples_leaf}
    plain, found = sweep(name, y, weight, score, **limits)
    assert (found is None) == (plain is None)
    if plain is None or isinstance(plain, str):
        assert plain == found
        return
    n_classes = [3] if name in ("gini", "entropy") else None
    target = y.reshape(-1, 1)
    left = inside(score, found)
    assert is_allowed(name, target, weight, left, n_classes, **limits)
    assert found[1] >= plain[1] - 1e-9 * n  # equal ones may round otherwise
    rated = rate_split(name, target, weight, left, n_classes)
    plain_left = inside(score, (*plain[:4], -np.inf))
    assert rated >= rate_split(name, target, weight, plain_left, n_classes) - 1e-9 * n
    lower, threshold = found[4], found[2]
    assert lower < threshold
    if np.isinf(lower):
        return
    # Both ends lie between the scores they separate, and neither can be moved for a gain.
    present = np.unique(score[~np.isnan(score)])
    cuts = [-np.inf, *(0.5 * (present[:-1] + present[1:]))]
    assert lower in cuts
    for other in cuts[1:]:
        for ends in ((lower, other), (other, threshold)):
            moved = inside(score, (0, 0, max(ends), found[3], min(ends)))
            if is_allowed(name, target, weight, moved, n_classes, **limits):
                assert rate_split(name, target, weight, moved, n_classes) <= rated + 1e-9 * n


def test_a_class_in_the_middle_takes_one_question():
    score = np.arange(30.0)
    y = ((score >= 10) & (score < 17)).astype(int)
    plain, found = sweep("gini", y, np.ones(30), score)
    np.testing.assert_array_equal(inside(score, found), y == 1)
    assert found[4] == 9.5
    assert found[2] == 16.5
    assert plain[1] < found[1]


@pytest.mark.parametrize("with_inside", [False, True])
def test_missing_scores_join_the_better_side(with_inside):
    score = np.concatenate([np.arange(30.0), np.full(5, np.nan)])
    y = ((score >= 10) & (score < 17)).astype(int)
    y[30:] = with_inside
    _, found = sweep("gini", y, np.ones(35), score)
    np.testing.assert_array_equal(inside(score, found), y == 1)


def test_neighbours_are_separated():
    low = 1.0
    score = np.array([low, np.nextafter(low, 2), np.nextafter(np.nextafter(low, 2), 2)])
    _, found = sweep("gini", np.array([0, 1, 0]), np.ones(3), score)
    np.testing.assert_array_equal(inside(score, found), [False, True, False])
