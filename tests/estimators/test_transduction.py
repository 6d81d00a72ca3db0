"""How far labels that have travelled are believed."""

import numpy as np
import pytest

from obtree.estimators.transduction import (
    MIN_JUDGED,
    N_FOLDS,
    Check,
    clamp,
    combine,
    deal_folds,
    weigh_paths,
)


def test_each_class_is_spread_over_the_folds():
    codes = np.repeat([-1, 0, 1, 2], [20, 10, 5, 1])
    fold = deal_folds(codes, np.random.default_rng(0))
    assert (fold[codes < 0] == -1).all()
    np.testing.assert_array_equal(np.bincount(fold[codes == 0], minlength=N_FOLDS), 2)
    np.testing.assert_array_equal(np.bincount(fold[codes == 1], minlength=N_FOLDS), 1)


def test_the_nearest_class_weighs_most_and_rows_out_of_reach_are_undecided():
    inf = np.inf
    distance = np.array([[0.0, 1.0, inf], [2.0, 2.0, 2.0], [inf, inf, inf], [3.0, 1.0, 2.0]])
    weight = weigh_paths(distance, 4.0)
    np.testing.assert_allclose(weight.sum(axis=1), 1.0)
    np.testing.assert_allclose(weight[1:3], 1 / 3)
    assert weight[0, 0] > weight[0, 1] > weight[0, 2] > 0
    assert list(np.argsort(weight[3])) == [0, 2, 1]
    sharper = weigh_paths(distance, 8.0)
    assert sharper[0, 0] > weight[0, 0]
    np.testing.assert_array_equal(weigh_paths(distance, 0.0), 1 / 3)
    # The unit of length does not matter.
    np.testing.assert_allclose(weigh_paths(1e-9 * distance, 4.0), weight)


def test_a_forest_that_has_seen_few_labels_is_not_certain():
    unreached = np.full((1, 2), np.inf)
    sure = np.array([[1.0, 0.0]])
    np.testing.assert_allclose(combine(unreached, sure, 2, 1.0), [[0.75, 0.25]])
    np.testing.assert_allclose(combine(unreached, sure, 98, 1.0), [[0.99, 0.01]])


def test_labels_are_certain():
    distributions = np.full((3, 2), 0.5)
    np.testing.assert_array_equal(
        clamp(distributions, np.array([-1, 1, 0])), [[0.5, 0.5], [0, 1], [1, 0]]
    )
    assert (distributions == 0.5).all()


@pytest.mark.parametrize("helps", [True, False])
def test_paths_that_help_and_paths_that_harm(helps):
    truth = np.arange(40) % 2
    right = np.stack([truth == 1, truth == 0], axis=1).astype(float)
    check = Check()
    check.add(right if helps else 1 - right, np.full((40, 2), 0.5), 40, truth)
    verdict = check.conclude()
    assert verdict["harm"] is not helps
    assert (verdict["gain"] > 0) is helps
    assert verdict["error"] == (0 if helps else 1)
    assert verdict["supervised_error"] == 0.5
    assert verdict["sharpness"] == (4.0 if helps else 0.5)


def test_a_gain_that_may_be_luck_is_none():
    truth = np.zeros(40, dtype=int)
    distance = np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1))
    distance[:2] = [0.0, 1.0]
    check = Check()
    check.add(distance, np.full((40, 2), 0.5), 40, truth)
    assert check.conclude()["harm"]


def test_too_few_labels_to_judge():
    check = Check()
    check.add(np.ones((MIN_JUDGED - 1, 2)), np.ones((9, 2)) / 2, 40, np.zeros(9, dtype=int))
    assert check.conclude() == {"n_judged": 9, "sharpness": 4.0, "harm": False}
