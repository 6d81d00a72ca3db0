"""Gaussian information gain against log determinants by NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing import check_criterion
from obtree.testing.criterion_node import NodeProbe
from obtree.testing.growth import bind_criterion, grow_tree
from obtree.tree.predict import Predictor

FLOOR = 1e-6


def load_node(X, weight=None):
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    X = np.asarray(X, dtype=np.float32)
    return NodeProbe(bind_criterion("gaussian", X=X), np.arange(len(X)), weight)


def measure(scatter, weight, variance, diagonal):
    """Log determinant over that of the floor alone."""
    covariance = scatter / weight
    if diagonal:
        covariance = np.diag(np.diag(covariance))
    floor = np.where(variance > 0, FLOOR * variance, 1.0)
    scale = 1 / np.sqrt(floor)
    return np.linalg.slogdet(covariance * np.outer(scale, scale) + np.eye(len(floor)))[1]


def find_scatter(X, weight):
    centred = X - np.average(X, axis=0, weights=weight)
    return (centred * weight[:, np.newaxis]).T @ centred


def score_cut(X, weight, left):
    """The score of one cut, slowly."""
    d = X.shape[1]
    diagonal = d > 32
    prior, spread = (1, 2 * d) if diagonal else (d, d * (d + 1))
    node = find_scatter(X, weight)
    variance = np.diag(node) / weight.sum()
    score = 0.0
    for side in (left, ~left):
        w = weight[side].sum()
        scatter = find_scatter(X[side], weight[side]) + prior * node / weight.sum()
        value = measure(scatter, w + prior, variance, diagonal)
        value += d / (w + prior) + 0.5 * (w - 1) * spread / (w + prior) ** 2
        score -= w * value / weight.sum()
    return score


@pytest.mark.parametrize("d", [1, 2, 7, 33])
@pytest.mark.parametrize("n", [12, 60])
def test_impurity_and_cuts_are_those_of_numpy(d, n):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5).astype(np.float32)
    weight = rng.integers(1, 4, n).astype(float)
    probe = load_node(X, weight)
    X = X.astype(np.float64)
    scatter = find_scatter(X, weight)
    variance = np.diag(scatter) / weight.sum()
    expected = measure(scatter, weight.sum(), variance, d > 32)
    np.testing.assert_allclose(probe.impurity, expected, rtol=1e-5)
    for code in rng.integers(0, 2, (5, n)):
        if 0 < code.sum() < n:
            score = score_cut(X, weight, code == 0)
            np.testing.assert_allclose(probe.scan(code)[0], score, rtol=1e-5)


def test_few_cuts_are_all_looked_at_and_of_many_some_everywhere():
    X = np.random.default_rng(0).normal(size=(400, 3))
    # The one cut that matters is found to within a 31st of the rows.
    for place in range(5, 400, 30):
        X[:, 1] = np.where(np.arange(400) < place, -30, 30) + X[:, 0]
        low = load_node(X).scan(np.arange(400))[1] + 1
        assert abs(low - place) <= 400 / 24
        # As if the rows were only those around it.
        near = np.clip(np.arange(400), place - 10, place + 10)
        assert load_node(X).scan(near)[1] + 1 == place


@pytest.mark.parametrize("d", [2, 5, 10, 40])
def test_cuts_near_the_ends_have_no_advantage(d):
    n, gains, ends = 200, {}, 0
    for seed in range(100):
        probe = load_node(np.random.default_rng(seed).normal(size=(n, d)))
        for fraction in (0.03, 0.1, 0.25, 0.5):
            codes = np.arange(n) >= fraction * n
            gain = probe.impurity + probe.scan(codes.astype(int))[0]
            gains.setdefault(fraction, []).append(gain)
        best = probe.scan(np.arange(n))[2]
        ends += best < 0.05 * n or best > 0.95 * n
    means = [np.mean(values) for values in gains.values()]
    assert np.ptp(means) < 0.02 * d
    assert ends < 40


@given(st.integers(0, 1000), st.floats(-50, 50), st.integers(-20, 20))
def test_shifts_and_scales_change_nothing(seed, shift, exponent):
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (25, 3)).astype(np.float32)
    codes = rng.permutation(25)
    moved = X.copy()
    moved[:, 1] = moved[:, 1] * 2.0**exponent
    moved[:, 2] += round(shift)
    one, other = load_node(X), load_node(moved)
    np.testing.assert_allclose(other.impurity, one.impurity, rtol=1e-6)
    np.testing.assert_allclose(other.scan(codes)[0], one.scan(codes)[0], rtol=1e-5, atol=1e-6)


@given(st.integers(0, 1000), st.booleans())
def test_a_weight_of_two_is_two_rows(seed, wide):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 40 if wide else 4))
    weight = rng.integers(1, 4, 50)
    codes = rng.integers(0, 50, 50)
    one = load_node(X, weight)
    other = load_node(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(other.impurity, one.impurity, rtol=1e-6)
    left = one.scan(codes), other.scan(np.repeat(codes, weight))
    assert left[0][1:] == left[1][1:]
    np.testing.assert_allclose(left[0][0], left[1][0], rtol=1e-6)


def test_columns_that_say_nothing():
    X = np.random.default_rng(0).normal(size=(60, 2))
    codes = np.arange(60)
    plain = load_node(X)
    constant = load_node(np.column_stack([X, np.full(60, 3.0)]))
    assert constant.impurity == plain.impurity
    twice = load_node(np.column_stack([X, X[:, 0]]))
    # The difference of two equal columns has the floor's variance, in the node and its children.
    np.testing.assert_allclose(twice.impurity, plain.impurity + np.log(2), atol=1e-4)
    assert np.isfinite(twice.scan(codes)[0])
    assert load_node(np.ones((60, 3))).impurity == 0.0
    assert load_node(X[:1]).impurity == 0.0


def test_missing_values_count_as_the_mean_of_the_node():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3)).astype(np.float32)
    lost = rng.random(X.shape) < 0.2
    holes = np.where(lost, np.nan, X)
    filled = np.where(lost, np.nanmean(holes, axis=0), X)
    codes = rng.permutation(80)
    one, other = load_node(holes), load_node(filled)
    np.testing.assert_allclose(one.impurity, other.impurity, rtol=1e-5)
    assert one.scan(codes)[1:] == other.scan(codes)[1:]
    holes[:, 2] = np.nan
    assert np.isfinite(load_node(holes).impurity)


@pytest.mark.parametrize("splitter", ["axis", "axis_random", "random_oblique", "two_probe"])
def test_trees_find_two_heaps(splitter):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + np.repeat([[0, 0], [9, -9]], 200, axis=0)
    tree = grow_tree(X.astype(np.float32), None, "gaussian", splitter=splitter, max_depth=1)
    leaf = Predictor([tree]).apply(X.astype(np.float32))[:, 0]
    assert len(set(leaf[:200]) | set(leaf[200:])) == 2
    # Extremely random thresholds only have to be between the heaps.
    assert max(np.mean(leaf[:200] == leaf[0]), np.mean(leaf[200:] != leaf[0])) > 0.9


def test_contract():
    check_criterion("gaussian", task="unsupervised")
