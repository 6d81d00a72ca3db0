"""Drawing candidate features, with what is known to be constant left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.probe import draw_candidates


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sets(st.integers(0, 11)))
def test_each_feature_is_drawn_once(seed, n_features, constants):
    ((drawn, n_constant, order),) = draw_candidates(
        n_features, [constants], seed, [(0, n_features + 3)]
    )
    assert sorted(drawn) == list(range(n_features))
    assert sorted(order) == list(range(n_features))
    assert set(order[:n_constant]) == constants & set(range(n_features))


@pytest.mark.parametrize("n_draws", [1, 3])
def test_draws_are_uniform(n_draws):
    plan = [(0, n_draws)] * 6000
    results = draw_candidates(6, [set()] * 6000, 1, plan)
    counts = np.bincount(np.concatenate([drawn for drawn, *_ in results]), minlength=6)
    expected = 1000 * n_draws
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))
    # The order of the draws is random, too.
    first = np.bincount([drawn[0] for drawn, *_ in results], minlength=6)
    assert np.all(np.abs(first - 1000) < 5 * np.sqrt(1000))


@given(st.integers(0, 2**32 - 1), st.integers(2, 15), st.data())
def test_known_constants_stay_in_place_in_depth_first_order(seed, n_features, data):
    # A random tree, taken depth-first. Constants of a node are constants below it; what a
    # node knows at its turn must be what its parent found, whatever happened in between.
    plan, constants, parents = [], [], []

    def visit(depth, parent, inherited):
        node = len(plan)
        more = data.draw(st.sets(st.integers(0, n_features - 1), max_size=3))
        plan.append(data.draw(st.integers(1, n_features)))
        constants.append(inherited | more)
        parents.append(parent)
        if depth < 3 and data.draw(st.booleans()):
            visit(depth + 1, node, constants[node])
            visit(depth + 1, node, constants[node])

    visit(0, -1, set())
    known = [0]
    # How many constants a node knows depends on the draws before it, so grow the plan
    # node by node; the same seed gives the same draws.
    for k in range(len(plan)):
        results = draw_candidates(
            n_features, constants[: k + 1], seed, list(zip(known, plan[: k + 1], strict=True))
        )
        drawn, n_constant, order = results[k]
        if parents[k] >= 0:
            _, n_known, before = results[parents[k]]
            assert set(order[:n_known]) == set(before[:n_known])
            assert not set(drawn) & set(before[:n_known])
        assert set(order[:n_constant]) <= constants[k]
        assert sorted(order) == list(range(n_features))
        if k + 1 < len(plan):
            known.append(results[parents[k + 1]][1])
