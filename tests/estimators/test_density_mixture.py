"""The mixtures that leaves become where they overlap, against slow and obvious ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from obtree.estimators import density_mixture
from obtree.estimators.density_data import prepare_data
from obtree.estimators.density_mixture import Expansion, measure_mixture, refine_mixture
from obtree.estimators.density_nodes import FLOOR


def draw_problem(seed, holes=False):
    rng = np.random.default_rng(seed)
    n, d = 120, int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, (n, 1))
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.0
    weight = rng.integers(0, 3, n).astype(float)
    return prepare_data(X.astype(np.float32), None), weight, rng.integers(0, 3, n)


def fill_uncertainty(data, i):
    """The covariance that the values of a row have of their own."""
    d = data.Z.shape[1]
    full = np.zeros((d, d))
    if data.extra_of is not None and data.extra_of[i] >= 0:
        full[np.tril_indices(d)] = data.extra[data.extra_of[i]]
        full = full + full.T - np.diag(np.diag(full))
    return full


def fit_slowly(data, weight, share, shrinkage):
    """Weights, means and covariances, row by row."""
    d, parts = data.Z.shape[1], share.shape[1]
    total, mean, scatter = np.zeros(parts), np.zeros((parts, d)), np.zeros((parts, d, d))
    for k in range(parts):
        w = weight * share[:, k]
        total[k] = w.sum()
        mean[k] = w @ data.Z / total[k]
        for i, z in enumerate(data.Z):
            scatter[k] += w[i] * (np.outer(z - mean[k], z - mean[k]) + fill_uncertainty(data, i))
    pooled = scatter.sum(axis=0) / total.sum()
    borrowed = shrinkage * d
    covariance = [
        (scatter[k] + borrowed * pooled) / (total[k] + borrowed) + FLOOR * np.eye(d)
        for k in range(parts)
    ]
    return total / total.sum(), mean, np.array(covariance)


def measure_slowly(data, weight, mean, covariance):
    """The log density of each row under each part."""
    values = np.empty((len(data.Z), len(weight)))
    for k in range(len(weight)):
        gaussian = multivariate_normal(mean[k], covariance[k])
        inverse = np.linalg.inv(covariance[k])
        for i, z in enumerate(data.Z):
            spread = 0.5 * np.trace(inverse @ fill_uncertainty(data, i))
            values[i, k] = np.log(weight[k]) + gaussian.logpdf(z) - spread
    return values


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.booleans(), st.sampled_from([0.25, 2.0]))
def test_steps_are_the_slow_ones(seed, holes, shrinkage):
    data, weight, owner = draw_problem(seed, holes)
    expected = fit_slowly(data, weight, np.eye(3)[owner], shrinkage)
    for _ in range(density_mixture.STEPS):
        values = measure_slowly(data, *expected)
        share = np.exp(values - values.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        expected = fit_slowly(data, weight, share, shrinkage)
    found = refine_mixture(Expansion(data), weight, owner, 3, shrinkage)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    rows = np.arange(0, 120, 7)
    values = np.logaddexp.reduce(measure_slowly(data, *expected), axis=1)
    assert_allclose(measure_mixture(Expansion(data), rows, found), values[rows], atol=1e-6)


def test_rows_that_are_not_kept(monkeypatch):
    data, weight, owner = draw_problem(0)
    kept = refine_mixture(Expansion(data), weight, owner, 3, 1.0)
    monkeypatch.setattr(density_mixture, "MOST_KEPT", 0)
    monkeypatch.setattr(density_mixture, "BLOCK_SIZE", 100)
    for one, other in zip(
        refine_mixture(Expansion(data), weight, owner, 3, 1.0), kept, strict=True
    ):
        assert_allclose(one, other, rtol=1e-9)


def test_steps_that_look_at_some_rows(monkeypatch):
    data, _, _ = draw_problem(1)
    weight, owner = np.ones(len(data.Z)), (data.Z[:, 0] > 0).astype(int)
    whole = refine_mixture(Expansion(data), weight, owner, 2, 1.0)
    monkeypatch.setattr(density_mixture, "MAX_ROWS", 60)
    some = refine_mixture(Expansion(data), weight, owner, 2, 1.0)
    assert_allclose(some.mean, whole.mean, atol=0.3)
    assert some.weight.sum() == pytest.approx(1.0)


def test_leaves_without_rows():
    data, weight, owner = draw_problem(2)
    found = refine_mixture(Expansion(data), weight, owner, 5, 1.0)
    assert all(np.isfinite(part).all() for part in found)
    assert (found.weight > 0).all()
    np.linalg.cholesky(found.covariance)
