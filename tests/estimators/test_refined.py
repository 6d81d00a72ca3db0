"""Trees refined on samples of the rows."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from obtree import ObliqueForestRegressor, TAOTreeRegressor
from obtree.estimators.refined import refine_sampled
from obtree.estimators.sampling import RowSample

X, Y = make_friedman1(200, 10, noise=0.2, random_state=0)
SEEDS = np.array([3, 4], dtype=np.uint32)
SAMPLE = RowSample(150, replace=False)


def grow(X, y, relevance=None, n_threads=1):
    plan = ObliqueForestRegressor(splitter="axis", max_depth=4)._plan_growth(X, y, None)
    plan = plan.draw_by(relevance)
    trees = plan.grow(SEEDS, **SAMPLE.options)
    return trees, refine_sampled(
        plan, trees, SEEDS, SAMPLE, TAOTreeRegressor(), n_threads=n_threads
    )


def test_trees_get_better_on_their_own_rows():
    starts, refined = grow(X, Y)
    for start, tree, seed in zip(starts, refined, SEEDS, strict=True):
        own = SAMPLE.count(seed, len(Y)) > 0
        before, after = (np.mean((t.predict(X[own])[:, 0, 0] - Y[own]) ** 2) for t in (start, tree))
        assert after < 0.8 * before


def test_rows_left_out_do_not_matter():
    _, expected = grow(X, Y)
    for t, seed in enumerate(SEEDS):
        out = SAMPLE.count(seed, len(Y)) == 0
        y = np.where(out, Y + 100.0, Y)
        _, refined = grow(X, y)
        assert np.array_equal(refined[t].predict(X), expected[t].predict(X))


def test_threads_change_nothing():
    _, one = grow(X, Y)
    _, many = grow(X, Y, n_threads=3)
    for a, b in zip(one, many, strict=True):
        assert np.array_equal(a.predict(X), b.predict(X))


def test_features_of_no_relevance_stay_out():
    relevance = np.ones(10, dtype=np.float32)
    relevance[5:] = 0.0
    _, refined = grow(X, Y, relevance)
    assert all(tree.term_feature.max() < 5 for tree in refined)
    assert max(np.diff(tree.term_ptr).max() for tree in refined) == 5
    _, plain = grow(X, Y)
    assert max(tree.term_feature.max() for tree in plain) == 9


@pytest.mark.parametrize("n_draws", [0, 150])
def test_all_rows_or_some(n_draws):
    sample = dataclasses.replace(SAMPLE, n_draws=n_draws)
    assert (sample.count(1, 200) > 0).sum() == (n_draws or 200)
