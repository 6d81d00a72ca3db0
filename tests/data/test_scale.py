"""Spans and variances of features, and whether they are in different units."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, load_wine

from obtree.data.dataset import Dataset
from obtree.data.scale import have_different_units
from obtree.testing.probe_scores import measure_scales


def measure_distance(X, weight):
    """Relative entropy of fractions of the variance, in units of spans and as they are."""
    span = np.ones(X.shape[1])
    variance = np.zeros(X.shape[1])
    for j, column in enumerate(X.T):
        known = ~np.isnan(column)
        values = np.unique(column[known]).astype(float)
        if len(values) > 1:
            skipped = len(values) // 4
            span[j] = values[-1 - skipped] - values[skipped]
        mean = np.average(column[known].astype(float), weights=weight[known])
        variance[j] = np.average((column[known] - mean) ** 2, weights=weight[known])
    united = variance / span**2
    fraction, plain = united / united.sum(), variance / variance.sum()
    here = fraction > 0
    return np.sum(fraction[here] * np.log(fraction[here] / plain[here]))


@given(seed=st.integers(0, 2**32 - 1), spread=st.floats(0, 4), missing=st.booleans())
def test_the_judgement_is_by_relative_entropy(seed, spread, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 6)) * np.exp(rng.normal(size=6) * spread)
    X[:, 2] = X[:, 2] > 0
    X = X.astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[0] = 1.0
    weight = rng.random(50) + 0.1
    distance = measure_distance(X, weight)
    if abs(distance - 0.15) > 1e-6:
        assert have_different_units(X, weight) == (distance > 0.15)


@pytest.mark.parametrize(
    ("load", "differ"), [(load_wine, True), (load_iris, False), (load_digits, False)]
)
def test_known_data(load, differ):
    X = load().data.astype(np.float32)
    assert have_different_units(X, np.ones(len(X))) == differ
    scaled = ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-3)).astype(np.float32)
    if differ:
        scaled *= np.exp2(np.arange(X.shape[1]))
        assert have_different_units(scaled, np.ones(len(X)))


def test_many_columns_are_measured_in_blocks():
    """More cells than are ranked at a time: units of the last block count as well."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (70_000, 260)).astype(np.float32)
    assert not have_different_units(X, np.ones(len(X)))
    X[:, -2:] *= 1000
    assert have_different_units(X, np.ones(len(X)))


@pytest.mark.parametrize("kind", ["spans", "variances"])
@pytest.mark.parametrize("sparse", [False, True])
def test_threads_change_nothing(kind, sparse):
    """Columns are shared out; 43 of them do not go into equal parts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80_000, 43)).astype(np.float32)
    X[rng.random(X.shape) < 0.5] = 0
    weight = rng.integers(0, 3, len(X)).astype(float)
    dataset = Dataset(sp.csc_matrix(X) if sparse else X, keep_rows=not sparse)
    one, many = (measure_scales(dataset, weight, kind, n_threads=n_threads) for n_threads in (1, 3))
    assert_array_equal(many, one)
    values = X[weight > 0].astype(float)
    if kind == "variances":
        mean = np.average(values, axis=0, weights=weight[weight > 0])
        assert_allclose(
            one, np.average((values - mean) ** 2, axis=0, weights=weight[weight > 0]), rtol=1e-9
        )
    else:
        for j in (0, 42):
            ranks = np.unique(values[:, j])
            skipped = len(ranks) // 4
            assert one[j] == ranks[-1 - skipped] - ranks[skipped]
