"""What part of a split each term accounts for."""

import numpy as np
import pytest
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.testing.probe_rows import measure_term_shares


def compute_shares(X, feature, weight, rows, sample_weight, partner=None):
    """The documented quotient, with NumPy."""
    sizes = []
    for k, j in enumerate(feature):
        column = X[rows, j].astype(float)
        if partner is not None and partner[k] >= 0:
            column = column * X[rows, partner[k]]
        seen = ~np.isnan(column)
        w = sample_weight[rows][seen]
        mean = np.average(column[seen], weights=w)
        spread = np.sqrt(np.average((column[seen] - mean) ** 2, weights=w))
        sizes.append(abs(weight[k]) * spread)
    return np.array(sizes) / np.sum(sizes)


@pytest.mark.parametrize("kind", ["ranks", "float32", "sparse"])
@pytest.mark.parametrize("products", [False, True])
def test_shares_are_weights_times_spreads(kind, products):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(100, 6)) * 10.0 ** np.arange(-3, 3) + 50).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    table = sparse.csr_array(X) if kind == "sparse" else X
    data = Dataset(table, keep_rows=kind == "float32")
    feature, weight = [0, 2, 5], [300.0, -20.0, 0.01]
    partner = [-1, 1, 5] if products else None
    rows = np.sort(rng.permutation(100)[:60])
    sample_weight = rng.integers(1, 4, 100).astype(float)
    np.testing.assert_allclose(
        measure_term_shares(data, feature, weight, rows, sample_weight, partner),
        compute_shares(X, feature, weight, rows, sample_weight, partner),
        rtol=1e-9,
    )


def test_large_nodes_are_sampled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)).astype(np.float32)
    shares = measure_term_shares(
        Dataset(X), [0, 1, 2], [1.0, 2.0, -5.0], np.arange(5000), np.ones(5000)
    )
    np.testing.assert_allclose(shares, [1 / 8, 2 / 8, 5 / 8], atol=0.06)
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1.0, 1.0, 1.0], [0.0, 1.0]),
        ([np.nan, np.nan, np.nan], [0.0, 1.0]),
        ([0.0, 3e38, -3e38], [1.0, 0.0]),
    ],
)
def test_constant_missing_and_huge_values(column, expected):
    X = np.column_stack([column, [0.0, 1.0, 2.0]]).astype(np.float32)
    shares = measure_term_shares(Dataset(X), [0, 1], [1.0, 1.0], np.arange(3), np.ones(3))
    np.testing.assert_allclose(shares, expected, atol=1e-30)
    everywhere = measure_term_shares(Dataset(X), [0, 1], [0.0, 0.0], np.arange(3), np.ones(3))
    np.testing.assert_array_equal(everywhere, 0.5)
    huge = measure_term_shares(Dataset(X), [1, 1], [1e308, 1e308], np.arange(3), np.ones(3))
    np.testing.assert_array_equal(huge, 0.5)
