"""Weak learners in NumPy, and the toy data they are shown."""

import numpy as np
import pytest

from obtree import ObliqueForestClassifier
from obtree.bench.toys import GAP, SPAN, TOYS
from obtree.bench.weak_learners import LEARNERS, RandomTests, expand, measure_uncertainty


@pytest.mark.parametrize("axis", [True, False])
def test_the_best_of_its_tests(axis):
    """With more tests the gain of the root rises to what the best cut can have."""
    X, y = TOYS["four"](0)
    X[::7, 0] = np.nan
    gains = []
    for rho in (1, 10, 300):
        drawn = [
            RandomTests(axis, rho).split(X, y, np.ones(len(y)), np.random.default_rng(seed))
            for seed in range(10)
        ]
        filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        left = [filled @ weights <= threshold for weights, threshold in drawn]
        sides = [[np.bincount(y[side], minlength=4) for side in (at, ~at)] for at in left]
        rest = [measure_uncertainty(np.array(pair, float).T).sum() for pair in sides]
        gains.append(len(y) * np.log(4) - np.mean(rest))
        if axis:
            assert all(sorted(weights) == [0.0, 1.0] for weights, _ in drawn)
    assert gains[0] < gains[1] < gains[2]
    # Two classes on each side is the best there is.
    assert gains[2] <= len(y) * np.log(2) + 1e-9
    assert gains[2] > 0.9 * len(y) * np.log(2)


def test_uncertainty_is_entropy_times_weight():
    counts = np.array([[2.0, 4.0, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_allclose(measure_uncertainty(counts), [4 * np.log(2), 0, 0], atol=1e-9)


@pytest.mark.parametrize("name", TOYS)
def test_toys(name):
    X, y = TOYS[name](0)
    again, _ = TOYS[name](0)
    np.testing.assert_array_equal(X, again)
    assert np.abs(X).max() < SPAN
    assert len(np.unique(y)) == (2 if name == "gap" else 4)
    if name == "gap":
        assert X[y == 0, 0].max() == -GAP / 2
        assert X[y == 1, 0].min() == GAP / 2


def test_axes_are_axes_and_thresholds_fill_the_gap():
    """The posterior of many stumps rises evenly from one edge of the gap to the other."""
    X, y = TOYS["gap"](0)
    forest = ObliqueForestClassifier(
        200, splitter=RandomTests(True, 100), max_depth=1, bootstrap=False, random_state=0
    ).fit(X, y)
    assert {tree.tree_.term_feature[0] for tree in forest.estimators_} == {0}
    cuts = np.array([tree.tree_.threshold[0] for tree in forest.estimators_])
    assert np.all(np.abs(cuts) <= GAP / 2)
    assert abs(cuts.mean()) < 0.03
    assert cuts.std() == pytest.approx(GAP / np.sqrt(12), rel=0.2)


def test_conics_see_products():
    X = np.array([[2.0, 3.0]])
    assert expand(X, "conic").tolist() == [[2.0, 3.0, 4.0, 6.0, 9.0]]
    for learner in LEARNERS[:2]:
        assert expand(X, learner) is X
