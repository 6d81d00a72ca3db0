"""Ranks, wins, ratios and critical differences, against examples worked out by hand."""

import numpy as np
import pytest

from obtree.bench.ranking import (
    count_wins,
    find_critical_difference,
    find_groups,
    rank_models,
    relate_to,
)

ERRORS = [
    [0.1, 0.2, 0.3],  # ranks 1, 2, 3
    [0.2, 0.2, 0.1],  # 2.5, 2.5, 1
    [0.0, 0.0, 0.0],  # 2, 2, 2
    [0.3, 0.1, 0.1],  # 3, 1.5, 1.5
]


def test_mean_ranks():
    np.testing.assert_allclose(rank_models(ERRORS), [8.5 / 4, 8 / 4, 7.5 / 4])


def test_ties_win_together():
    np.testing.assert_array_equal(count_wins(ERRORS), [2, 2, 3])


def test_rounding_breaks_no_tie():
    equal = [[0.1 + 0.2, 0.3]]
    assert equal[0][0] != equal[0][1]
    np.testing.assert_array_equal(rank_models(equal), [1.5, 1.5])
    np.testing.assert_array_equal(count_wins(equal), [1, 1])


def test_ratios():
    np.testing.assert_allclose(relate_to([[0.1, 0.2], [0.4, 0.2]], 1), [[0.5, 1], [2, 1]])
    # Where the base makes no mistake the offset decides.
    np.testing.assert_allclose(relate_to([[0.003, 0.0]], 1, 0.001), [[4, 1]])


@pytest.mark.parametrize(
    ("n_models", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (6, 2.850), (10, 3.164)]
)
def test_critical_values_are_those_of_the_paper(n_models, q):
    """Table 5a of Demsar (2006)."""
    n_tables = n_models * (n_models + 1)  # so that the root is that of a sixth
    difference = find_critical_difference(n_models, n_tables)
    assert difference * np.sqrt(6) == pytest.approx(q, abs=1e-3)


def test_critical_difference_of_the_paper():
    """Section 3.2.4: four classifiers on fourteen data sets, 1.25; 2.291 stands for 0.10."""
    assert find_critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert find_critical_difference(4, 14, 0.1) == pytest.approx(2.291 * np.sqrt(20 / 84), abs=1e-3)


def test_groups_of_the_paper():
    """Section 3.2.4: at 0.10 one classifier is worse than two of the others."""
    ranks, difference = [3.143, 2.0, 2.893, 1.964], find_critical_difference(4, 14, 0.1)
    assert find_groups(ranks, difference) == [(1.964, 2.893), (2.893, 3.143)]
    assert find_groups(ranks, find_critical_difference(4, 14)) == [(1.964, 3.143)]


@pytest.mark.parametrize(
    ("ranks", "difference", "groups"),
    [
        ([1, 2, 3], 0.5, []),
        ([3, 1, 2], 5, [(1, 3)]),
        ([1, 2, 3, 4], 1.5, [(1, 2), (2, 3), (3, 4)]),
        ([1, 1.2, 3, 3.1], 1, [(1, 1.2), (3, 3.1)]),
        ([1, 2], 1, []),  # as far apart as the difference is enough
        ([2, 2], 0.1, [(2, 2)]),
        ([1], 1, []),
    ],
)
def test_groups(ranks, difference, groups):
    assert find_groups(ranks, difference) == groups
