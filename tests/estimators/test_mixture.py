"""Fractions of forests in their mean, against slow and obvious computations."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.estimators.mixture import (
    DOUBT,
    Residuals,
    choose_fractions,
    deal_out,
    measure_products,
)


def fill(truth, trees):
    """Residuals of some trees: (rows left out, what is predicted for them)."""
    found = Residuals(truth)
    for rows, values in trees:
        found.add(rows, values)
    return found


def draw_trees(rng, n_rows, n_values, n_trees):
    trees = []
    for _ in range(n_trees):
        rows = np.flatnonzero(rng.random(n_rows) < 0.5)
        trees.append((rows, rng.normal(size=(len(rows), n_values))))
    return trees


def multiply_slowly(truth, first, second, weight, same):
    """Mean over rows of the mean product of all pairs of trees that left a row out."""
    total = count = 0.0
    for row in range(len(truth)):
        products = [
            (a[rows_a == row][0] - truth[row]) @ (b[rows_b == row][0] - truth[row])
            for (i, (rows_a, a)), (j, (rows_b, b)) in itertools.product(
                enumerate(first), enumerate(second)
            )
            if row in rows_a and row in rows_b and not (same and i == j)
        ]
        if products:
            total += weight[row] * np.mean(products)
            count += weight[row]
    return total / count


def test_products_are_those_of_all_pairs_of_trees():
    rng = np.random.default_rng(0)
    truth, weight = rng.normal(size=(12, 3)), rng.integers(1, 4, 12).astype(float)
    trees = [draw_trees(rng, 12, 3, n_trees) for n_trees in (3, 5)]
    found = measure_products([fill(truth, some) for some in trees], weight)
    for a, b in itertools.product(range(2), repeat=2):
        expected = multiply_slowly(truth, trees[a], trees[b], weight, a == b)
        assert found[a, b] == pytest.approx(expected, rel=1e-12)


def test_the_diagonal_is_the_error_without_the_trees_own_noise():
    rng = np.random.default_rng(1)
    truth = np.zeros((20_000, 1))
    rows = np.arange(len(truth))
    trees = [(rows, 0.5 + rng.normal(size=truth.shape)) for _ in range(3)]
    (error,) = measure_products([fill(truth, trees)], np.ones(len(truth)))[0]
    assert error == pytest.approx(0.25, abs=0.03)  # one tree has 1.25, their mean 0.58


@given(st.integers(2, 4), st.integers(0, 10_000))
def test_no_other_fractions_are_better(n_forests, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_forests, n_forests + 2))
    products, costs = root @ root.T, 0.1 * rng.random(n_forests)
    found = choose_fractions(products, costs)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)

    def measure(fractions):
        own = np.diag(products)
        doubt = DOUBT * (own * fractions**2).sum()
        return fractions @ products @ fractions + doubt + own.min() * (costs * fractions).sum()

    others = rng.dirichlet(np.full(n_forests, 0.5), size=2000)
    others = np.vstack([others, np.eye(n_forests)])
    best = min(map(measure, others))
    assert measure(found) <= best + 1e-5 * abs(best)


def test_the_cheaper_of_equals_is_taken():
    products = np.full((2, 2), 1.0)
    products[0, 0] = products[1, 1] = 1.0
    assert choose_fractions(products, np.array([0.0, 1.0])).tolist() == [1.0, 0.0]
    # By doubt alone, equals share.
    assert choose_fractions(products, np.zeros(2)).tolist() == [0.5, 0.5]


def test_what_cannot_be_judged_has_no_part():
    products = np.array([[np.nan, np.nan], [np.nan, 1.0]])
    assert choose_fractions(products, np.zeros(2)).tolist() == [0.0, 1.0]
    assert choose_fractions(np.full((2, 2), np.nan), np.zeros(2)).tolist() == [1.0, 0.0]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.integers(1, 60))
def test_any_first_trees_are_as_the_fractions_say(shares, n_trees):
    fractions = np.array(shares, dtype=float) + (sum(shares) == 0)
    fractions /= fractions.sum()
    owner = deal_out(fractions, n_trees)
    for t in range(1, n_trees + 1):
        counts = np.bincount(owner[:t], minlength=len(fractions))
        assert np.abs(counts - fractions * t).max() <= len(fractions)
        assert (counts[fractions == 0.0] == 0).all()
    assert np.array_equal(deal_out(fractions, n_trees + 7)[:n_trees], owner)


def test_forests_that_share_no_row_are_not_mixed():
    products = np.array([[1.0, 0.5, np.nan], [0.5, 1.0, 0.5], [np.nan, 0.5, 2.0]])
    fractions = choose_fractions(products, np.zeros(3))
    assert fractions[2] == 0.0
    assert fractions.sum() == pytest.approx(1.0)
