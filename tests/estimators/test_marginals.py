"""Marginal and conditional densities against slow ones, leaf by leaf."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from obtree import DensityForest
from obtree.estimators import marginals
from obtree.forest.gaussians import draw_rows, integrate_out, list_paths
from obtree.splitter import ConicSplitter, RandomObliqueSplitter

SPLITTERS = {
    "axis": "axis",
    "pairs": "random_oblique",
    "all": RandomObliqueSplitter(weights="gaussian", feature_combinations=4.0),
    "conic": ConicSplitter(),
    "rings": ConicSplitter(subset_size=3, two_sided=True),
}


def draw_problem(seed, d=4, n=300):
    """Rows of two bent groups, and the same with holes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[: n // 2] += 4.0
    X[:, 0] += 0.3 * X[:, 1] ** 2
    holes = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    return X, holes


def integrate_slowly(forest, row, wanted):
    """The log density of what a row has, and the mean of some columns that it lacks."""
    row = row.astype(np.float32).astype(float)
    lacks = np.isnan(row)
    values, means = [], []
    for member in forest.estimators_:
        tree = member.tree_.shifted
        n, d = int(lacks.sum()), len(row)
        z = draw_rows(
            member.random_state,
            np.zeros(1, dtype=np.int64),
            np.array([marginals.N_DRAWS]),
            np.zeros((1, n)),
            np.eye(n)[np.tril_indices(n)][np.newaxis],
            marginals.DRAW_STREAM,
        )
        found = []
        for leaf in np.flatnonzero(tree.children_left < 0):
            factor = np.zeros((d, d))
            factor[np.tril_indices(d)] = tree.leaf_factor[leaf]
            covariance, mean = factor @ factor.T, tree.leaf_mean[leaf]
            value, centre = tree.leaf_log_weight[leaf], mean[lacks]
            rest = covariance[np.ix_(lacks, lacks)]
            if not lacks.all():
                known = covariance[np.ix_(~lacks, ~lacks)]
                slope = np.linalg.solve(known, covariance[np.ix_(~lacks, lacks)]).T
                value += multivariate_normal(mean[~lacks], known).logpdf(row[~lacks])
                centre = centre + slope @ (row - mean)[~lacks]
                rest = rest - slope @ covariance[np.ix_(~lacks, lacks)]
            found.append((leaf, value, centre, np.linalg.cholesky(rest)))
        best = max(value for _, value, _, _ in found)
        terms, inside = [], []
        for leaf, value, centre, factor in found:
            drawn = centre + z.astype(float) @ factor.T
            if forest.truncate:
                if value < best - marginals.NEGLIGIBLE:
                    continue
                x = np.tile(row, (len(drawn), 1)).astype(np.float32)
                x[:, lacks] = drawn
                hit = tree.apply(x) == leaf
                if not hit.any():
                    continue
                value, centre = value + np.log(hit.mean()), drawn[hit].mean(axis=0)
            terms.append(value)
            filled = row.copy()
            filled[lacks] = centre
            inside.append(filled[wanted])
        values.append(logsumexp(terms) if terms else -np.inf)
        means.append(np.exp(terms - values[-1]) @ inside if terms else np.zeros(len(wanted)))
    log_density = logsumexp(values) - np.log(len(values))
    return log_density, np.exp(values - logsumexp(values)) @ means


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("splitter", SPLITTERS)
@settings(max_examples=3)
@given(seed=st.integers(0, 1000), d=st.integers(2, 5))
def test_marginals_are_the_slow_ones(splitter, truncate, seed, d):
    X, holes = draw_problem(seed, d)
    params = {"splitter": SPLITTERS[splitter], "truncate": truncate, "random_state": seed}
    forest = DensityForest(3, shrinkage=1.0, max_samples=None, **params).fit(X)
    rows = np.r_[holes[:7], np.full((1, d), np.nan)]
    rows[:, 0] = np.where(np.isnan(rows).any(axis=1), rows[:, 0], np.nan)
    found = forest.score_samples(rows)
    slow = [integrate_slowly(forest, row, [0])[0] for row in rows]
    assert_allclose(found, slow, rtol=1e-6, atol=1e-9)
    wanted = [d - 1, 0]
    rows[:, wanted] = np.nan
    _, mean = forest.conditional(rows, wanted)
    slow = [integrate_slowly(forest, row, wanted)[1] for row in rows]
    assert_allclose(mean, slow, rtol=1e-5, atol=1e-5)


def test_trees_of_conic_nodes_have_products_and_intervals():
    # So that the slow densities above are also those of such nodes.
    X, _ = draw_problem(0)
    forest = DensityForest(3, splitter=SPLITTERS["rings"], shrinkage=1.0, max_samples=None)
    trees = [member.tree_ for member in forest.set_params(random_state=0).fit(X).estimators_]
    assert any(tree.term_partner is not None for tree in trees)
    assert any(tree.lower_threshold is not None for tree in trees)


@settings(max_examples=5)
@given(seed=st.integers(0, 1000))
def test_rows_are_scored_one_by_one(seed):
    X, holes = draw_problem(seed)
    forest = DensityForest(3, splitter="axis", random_state=seed).fit(X)
    found = forest.score_samples(holes)
    assert_array_equal(found[::-1], forest.score_samples(holes[::-1]))
    assert_array_equal(found[:5], [forest.score_samples(row[None])[0] for row in holes[:5]])
    assert_array_equal(found, forest.set_params(n_jobs=2).score_samples(holes))


def test_many_columns():
    # Sums of sixteen terms and more have an order of their own.
    X, holes = draw_problem(0, d=24)
    weights = RandomObliqueSplitter(weights="gaussian", feature_combinations=20.0)
    params = {"splitter": weights, "min_samples_leaf": 60, "max_samples": None, "random_state": 0}
    forest = DensityForest(2, **params).fit(X)
    assert any((np.diff(m.tree_.term_ptr) >= 16).any() for m in forest.estimators_)
    expected = [integrate_slowly(forest, row, [0])[0] for row in holes[:6]]
    assert_allclose(forest.score_samples(holes[:6]), expected, rtol=1e-6, atol=1e-9)


def test_paths_lead_to_leaves():
    X, _ = draw_problem(1)
    tree = DensityForest(1, splitter="axis", random_state=0).fit(X).estimators_[0].tree_
    leaf, start, node, is_left = list_paths(tree.children_left, tree.children_right)
    assert_array_equal(leaf, np.flatnonzero(tree.children_left < 0))
    for k, end in enumerate(leaf):
        below = end
        for above, left in zip(
            node[start[k] : start[k + 1]], is_left[start[k] : start[k + 1]], strict=True
        ):
            assert (tree.children_left if left else tree.children_right)[above] == below
            below = above
        assert below == 0


def test_arrays_that_do_not_belong_together():
    X, _ = draw_problem(1)
    tree = DensityForest(1, splitter="axis", random_state=0).fit(X).estimators_[0].tree_.shifted
    paths = list_paths(tree.children_left, tree.children_right)
    rows = X[:3].astype(np.float32)
    lacks = np.array([True, False, False, True])
    for wrong, z in ((rows[:, :3].copy(), 2), (rows, 1)):
        with pytest.raises(ValueError, match="do not belong together"):
            integrate_out(wrong, lacks, tree, paths, np.zeros((z, 8)), True, 16.0)
