"""Random thresholds: uniform, inside the node's range, and never empty sides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from obtree.data.dataset import Dataset
from obtree.splitter import AxisRandomSplitter
from obtree.testing.growth import bind_criterion
from obtree.testing.probe import propose_splits


def propose(X, y, rows=None, *, repeats=1, max_features=None, seed=0, **limits):
    n = X.shape[0]
    return propose_splits(
        Dataset(X),
        bind_criterion("squared_error", y),
        AxisRandomSplitter(),
        np.arange(n) if rows is None else rows,
        np.ones(n),
        max_features=max_features or X.shape[1],
        repeats=repeats,
        seed=seed,
        **limits,
    )


@pytest.mark.parametrize("missing", [False, True])
def test_thresholds_are_uniform_between_smallest_and_largest(missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1)).astype(np.float32)
    X[:2] = [[-40.0], [40.0]]  # outside the node
    if missing:
        X[10:20] = np.nan
    rows = np.arange(2, 50)
    low, high = np.nanmin(X[rows]), np.nanmax(X[rows])
    results = propose(X, rng.random(50), rows, repeats=4000)
    thresholds = np.array([threshold for _, _, threshold, *_ in results])
    assert thresholds.min() >= low
    assert thresholds.max() < high
    assert stats.kstest((thresholds - low) / (high - low), "uniform").pvalue > 1e-4
    sides = np.array([missing_left for *_, missing_left, _, _ in results])
    if missing:
        assert 0.45 < sides.mean() < 0.55


@pytest.mark.parametrize("sparse_input", [False, True])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 20),
    n_features=st.integers(1, 4),
    missing=st.sampled_from([0.0, 0.3]),
)
def test_rank_cut_and_threshold_say_the_same(sparse_input, seed, n, n_features, missing):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), 1).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    dataset = Dataset(sparse.csr_array(X) if sparse_input else X)
    (found,) = propose_splits(
        dataset,
        bind_criterion("squared_error", rng.random(n)),
        AxisRandomSplitter(),
        np.arange(n),
        np.ones(n),
        max_features=n_features,
        seed=seed,
    )
    if found is None:
        assert all(len(np.unique(column)) == 1 for column in X.T)
        return
    (feature,), _, threshold, missing_left, rank_cut, _ = found
    column = X[:, feature].astype(float)
    left = np.where(np.isnan(column), missing_left, column <= threshold)
    assert 0 < left.sum() < n
    codes = dataset.column(feature)[0]
    np.testing.assert_array_equal(left, np.where(np.isnan(column), missing_left, codes <= rank_cut))


def test_neighbours_are_separated():
    low = np.float32(1.0)
    X = np.array([[low], [np.nextafter(low, np.float32(2))]], dtype=np.float32)
    for _, _, threshold, _, rank_cut, _ in propose(X, np.array([0.0, 1.0]), repeats=300):
        assert float(X[0, 0]) <= threshold < float(X[1, 0])
        assert rank_cut == 0


def test_one_value_and_missing_ones():
    X = np.array([[5.0], [np.nan], [5.0]], dtype=np.float32)
    for (feature,), _, threshold, missing_left, *_ in propose(X, np.arange(3.0), repeats=20):
        assert feature == 0
        assert threshold >= np.finfo(np.float32).max
        assert not missing_left


def test_limits_may_leave_no_split():
    X = np.array([[0.0], [0.0], [1.0]], dtype=np.float32)
    assert propose(X, np.arange(3.0), min_samples_leaf=2) == [None]


def test_the_best_of_the_draws_is_taken():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    y = 100.0 * (X[:, 2] > 0) + rng.normal(size=200)
    results = propose(X, y, repeats=200)
    chosen = np.mean([feature[0] == 2 for feature, *_ in results])
    assert chosen > 0.8
    results = propose(X, y, repeats=2000, max_features=1)
    counts = np.bincount([feature[0] for feature, *_ in results], minlength=5)
    assert stats.chisquare(counts).pvalue > 1e-4
