"""The best cut of a vector of scores against a list of all cuts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.criterion.registry import CLASSIFICATION
from obtree.testing.growth import bind_criterion
from obtree.testing.probe_scores import sweep_scores
from obtree.testing.reference import RATED, list_axis_splits, rate_split


def cut_rows(score, threshold, missing_left):
    return np.where(np.isnan(score), missing_left, score <= threshold)


@pytest.mark.parametrize("name", RATED)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    n_directions=st.integers(1, 3),
    n_outputs=st.integers(1, 2),
    missing=st.sampled_from([0.0, 0.3, 0.8]),
    decimals=st.integers(0, 3),
    min_samples_leaf=st.sampled_from([1, 1, 3]),
)
def test_no_cut_is_better(
    name, seed, n, n_directions, n_outputs, missing, decimals, min_samples_leaf
):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=(n_directions, n)), decimals)
    scores[rng.random(scores.shape) < missing] = np.nan
    if name in CLASSIFICATION:
        y, n_classes = rng.integers(0, 3, (n, n_outputs)), [3] * n_outputs
    else:
        y, n_classes = rng.gamma(1.0, size=(n, n_outputs)), None
    weight = rng.random(n) + 0.1
    limits = {"min_samples_leaf": min_samples_leaf, "min_weight_leaf": 0.05}
    found = sweep_scores(bind_criterion(name, y, n_classes), weight, scores, **limits)
    splits = list_axis_splits(name, scores.T, y, weight, n_classes, **limits)
    if not splits:
        assert found is None or found == "constant"
        return
    direction, _, threshold, missing_left = found
    score = scores[direction]
    left = cut_rows(score, threshold, missing_left)
    assert any(direction == j and np.array_equal(left, other) for _, j, other in splits)
    best = max(quality for quality, *_ in splits)
    scale = max(abs(best), weight.sum())
    assert rate_split(name, y, weight, left, n_classes) >= best - 1e-10 * scale


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.booleans())
def test_threshold_lies_between_neighbours(low, next_to):
    high = np.nextafter(low, np.inf) if next_to else low + 2.0**-10 + abs(low)
    _, _, threshold, _ = sweep_scores(bind_criterion("gini", [0, 1]), [1.0, 1.0], [[high, low]])
    assert low <= threshold < high
    if not next_to:
        assert threshold == 0.5 * low + 0.5 * high


def test_constant_scores():
    criterion = bind_criterion("gini", [0, 1, 1])
    for scores in ([[2.0] * 3], [[np.nan] * 3], [[0.0, -0.0, 0.0]]):
        assert sweep_scores(criterion, np.ones(3), scores) == "constant"


def test_missing_against_present():
    criterion = bind_criterion("gini", [0, 1, 0])
    found = sweep_scores(criterion, np.ones(3), [[2.0, np.nan, 2.0]])
    assert found[2] == np.finfo(float).max
    assert not found[3]
