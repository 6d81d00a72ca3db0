"""The Gaussians of nodes against NumPy and SciPy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from obtree.forest.calls import run_calls
from obtree.forest.gaussians import (
    add_densities,
    choose_leaves,
    draw_rows,
    fit_gaussians,
    number_branches,
    sum_moments,
    trace_densities,
)

#     0
#   1   4
#  2 3
LEFT = np.array([1, 2, -1, -1, -1])
RIGHT = np.array([4, 3, -1, -1, -1])
PARENT = np.array([0, 0, 1, 1, 0])
BELOW = {0: [2, 3, 4], 1: [2, 3], 2: [2], 3: [3], 4: [4]}


def unpack(packed, d):
    full = np.zeros((d, d))
    full[np.tril_indices(d)] = packed
    return full


@pytest.fixture(params=[1, 3])
def rows(request):
    rng = np.random.default_rng(request.param)
    X = rng.normal(size=(60, request.param))
    return X, rng.choice([2, 3, 4], size=60), rng.integers(0, 3, 60).astype(float)


def test_moments_and_gaussians(rows):
    X, leaf_of, weight = rows
    d = X.shape[1]
    total, first, second = sum_moments(X, leaf_of, weight, PARENT)
    mean, factor = fit_gaussians(total, first, second, PARENT, 2.5, 1e-3)
    covariances, scatters = {}, {}
    for node in range(5):
        here = np.isin(leaf_of, BELOW[node])
        w = weight[here]
        assert total[node] == w.sum()
        np.testing.assert_allclose(mean[node], np.average(X[here], axis=0, weights=w), atol=1e-14)
        centred = X[here] - mean[node]
        scatters[node] = (centred * w[:, np.newaxis]).T @ centred
    for node in range(5):
        covariances[node] = scatters[node] / total[node]
        if node > 0:
            up = PARENT[node]
            inside = sum(scatters[k] for k in (LEFT[up], RIGHT[up]))
            borrowed = (inside + 2.5 * covariances[up]) / (total[up] + 2.5)
            covariances[node] = (scatters[node] + 2.5 * borrowed) / (total[node] + 2.5)
        L = unpack(factor[node], d)
        np.testing.assert_allclose(L @ L.T, covariances[node] + 1e-3 * np.eye(d), atol=1e-12)


def test_gaussians_with_smaller_correlations(rows):
    X, leaf_of, weight = rows
    moments = sum_moments(X, leaf_of, weight, PARENT)
    plain = fit_gaussians(*moments, PARENT, 0.0, 0.0)
    apart = fit_gaussians(*moments, PARENT, 0.0, 0.0, 0.25)
    np.testing.assert_array_equal(apart[0], plain[0])
    np.testing.assert_allclose(apart[1][0], plain[1][0], rtol=1e-12)
    for node in range(1, 5):
        one, other = (unpack(found[1][node], X.shape[1]) for found in (plain, apart))
        np.testing.assert_allclose(
            other @ other.T, 0.25 * (one @ one.T) + 0.75 * np.diag(np.diag(one @ one.T)), atol=1e-12
        )


def test_rows_may_be_uncertain(rows):
    X, leaf_of, weight = rows
    d = X.shape[1]
    own = np.eye(d)[np.tril_indices(d)][np.newaxis] * 2.0
    extra_of = np.where(np.arange(60) < 10, 0, -1)
    plain = sum_moments(X, leaf_of, weight, PARENT)
    more = sum_moments(X, leaf_of, weight, PARENT, own, extra_of)
    for node in range(5):
        w = weight[:10][np.isin(leaf_of[:10], BELOW[node])].sum()
        np.testing.assert_allclose(more[2][node], plain[2][node] + w * own[0], atol=1e-12)


def test_a_node_without_rows_is_its_parent():
    X = np.random.default_rng(0).normal(size=(30, 2))
    moments = sum_moments(X, np.full(30, 2), np.ones(30), PARENT)
    mean, factor = fit_gaussians(*moments, PARENT, 2.0, 1e-6)
    np.testing.assert_array_equal(mean[4], mean[0])
    assert (np.diagonal(unpack(factor[4], 2)) > 0).all()


def test_densities_are_those_of_scipy(rows):
    X, leaf_of, weight = rows
    d = X.shape[1]
    mean, factor = fit_gaussians(*sum_moments(X, leaf_of, weight, PARENT), PARENT, 1.0, 1e-3)
    log_weight = np.log([1.0, 0.5, 0.3, 0.2, 0.5])
    gaussians = [
        multivariate_normal(mean[node], unpack(factor[node], d) @ unpack(factor[node], d).T)
        for node in range(5)
    ]
    some = np.array([3, 7, 11])
    start, node, value = trace_densities(X, some, leaf_of, PARENT, mean, factor, log_weight)
    for k, i in enumerate(some):
        path = node[start[k] : start[k + 1]].tolist()
        assert path == ([leaf_of[i], 1, 0] if leaf_of[i] < 4 else [4, 0])
        expected = [gaussians[at].logpdf(X[i]) + log_weight[at] for at in path]
        np.testing.assert_allclose(value[start[k] : start[k + 1]], expected, rtol=1e-10)
    rows32 = X.astype(np.float32)
    for own in (True, False):
        top, total = np.full(60, -np.inf), np.zeros(60)
        nodes = leaf_of if own else np.array([2, 3, 4])
        for _ in range(2):
            add_densities(rows32, nodes, mean, factor, log_weight, top, total, own)
        each = np.array(
            [g.logpdf(rows32).reshape(60) + w for g, w in zip(gaussians, log_weight, strict=True)]
        )
        expected = np.exp(each[leaf_of, np.arange(60)]) if own else np.exp(each[2:]).sum(axis=0)
        np.testing.assert_allclose(total * np.exp(top), 2 * expected, rtol=1e-9)


def test_draws():
    mean, L = np.array([[1.0, -2.0], [5.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 0.5]])
    factor = np.tile(L[np.tril_indices(2)], (2, 1))
    counts = np.array([20_000, 10])
    nodes = np.array([3, 8])
    X = draw_rows(7, nodes, counts, mean, factor)
    assert X.shape == (20_010, 2)
    np.testing.assert_allclose(X[:20_000].mean(axis=0), mean[0], atol=1e-5)  # pairs
    np.testing.assert_allclose(np.cov(X[:20_000].T), L @ L.T, rtol=0.05)
    # A node's draws are its own, whoever else draws.
    alone = draw_rows(7, nodes[1:], counts[1:], mean[1:], factor[1:])
    np.testing.assert_array_equal(alone, X[20_000:])
    assert (draw_rows(7, nodes, counts, mean, factor, 1) != X).all()
    same = draw_rows(7, nodes, counts, mean, factor, shared=True)
    np.testing.assert_allclose(same[20_000:] - mean[1], same[:10] - mean[0], atol=1e-5)


def test_choosing_leaves():
    total = np.array([60.0, 40.0, 30.0, 10.0, 20.0])

    def choose(min_weight, own=None, mass=None):
        own = None if own is None else np.array(own, dtype=float)
        leaf, is_leaf = choose_leaves(PARENT, LEFT, RIGHT, total, min_weight, own, mass, 0.1)
        return leaf.tolist(), np.flatnonzero(is_leaf).tolist()

    assert choose(10.0) == ([0, 1, 2, 3, 4], [2, 3, 4])
    assert choose(11.0) == ([0, 1, 1, 1, 4], [1, 4])
    assert choose(21.0) == ([0, 0, 0, 0, 0], [0])
    # Splits that do not raise the likelihood go, unless what is below makes up for it.
    assert choose(1.0, [-10, -7, -4, -4, -2])[1] == [1, 4]
    assert choose(1.0, [-10, -9, -3, -3, -2])[1] == [2, 3, 4]
    assert choose(1.0, [-7, -9, -3, -3, -2])[1] == [0]
    assert choose(1.0, mass=np.array([1.0, 1.0, 0.05, 1.0, 1.0]))[1] == [1, 4]


def test_branches_are_ranges():
    first, last = number_branches(LEFT, RIGHT)
    for node in range(5):
        inside = {other for other in range(5) if first[node] <= first[other] < last[node]}
        expected = {node, *BELOW[node]} | ({1} if node == 0 else set())
        assert inside == expected


@pytest.mark.parametrize("n_threads", [1, 3])
def test_calls(n_threads):
    assert run_calls(lambda t: t * t, 10, n_threads) == [t * t for t in range(10)]
    assert run_calls(lambda t: t, 0, n_threads) == []

    def fail(t):
        raise KeyError(t)

    with pytest.raises(KeyError):
        run_calls(fail, 3, n_threads)
