"""Copies of a node's rows agree with indexing."""

import numpy as np
import pytest
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.testing import probe_rows


def draw_table(layout):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 9)).astype(np.float32)
    X[rng.random(X.shape) < 0.4] = 0.0
    X[5:9, 2] = np.nan
    X[600, 7] = np.nan
    if layout == "ranks":
        X = np.round(2 * X)
        return X, Dataset(X)
    if layout == "fortran":
        return X, Dataset(np.asfortranarray(X), keep_rows=True)
    if layout == "sparse":
        return X, Dataset(sparse.csc_array(X), keep_rows=True)
    return X, Dataset(X, keep_rows=True)


@pytest.mark.parametrize("layout", ["c", "fortran", "ranks", "sparse"])
@pytest.mark.parametrize("n", [1, 40, 650])
def test_copies(layout, n):
    X, dataset = draw_table(layout)
    rng = np.random.default_rng(n)
    rows = np.sort(rng.choice(len(X), n, replace=False))
    features = [1, 2, 7, 8]
    expected = X[rows][:, features]
    np.testing.assert_array_equal(probe_rows.read_rows(dataset, rows, features), expected)
    copied = probe_rows.read_rows(dataset, rows, features, by_columns=True)
    np.testing.assert_array_equal(copied, expected.T)


@pytest.mark.parametrize("layout", ["c", "fortran", "ranks", "sparse"])
def test_complete_features(layout):
    _, dataset = draw_table(layout)
    complete = list(range(9))
    assert list(probe_rows.find_complete(dataset, np.arange(20, 500))) == complete
    complete.remove(2)
    assert list(probe_rows.find_complete(dataset, np.arange(8, 500))) == complete
    complete.remove(7)
    assert list(probe_rows.find_complete(dataset, np.arange(700))) == complete


@pytest.mark.parametrize("layout", ["c", "ranks", "sparse"])
def test_whether_columns_vary(layout):
    X, dataset = draw_table(layout)
    for rows in (np.arange(3, 9), np.arange(5, 9), np.flatnonzero(X[:, 4] == 0), [17]):
        for j in range(9):
            # A missing value besides others is a difference, too.
            expected = len(np.unique(X[rows, j])) > 1
            assert probe_rows.column_varies(dataset, j, rows) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_rows_as_they_are(dtype):
    X = np.random.default_rng(0).integers(0, 256, (300, 20)).astype(dtype)
    dataset = Dataset.of_rows(X)
    assert (dataset.n_samples, dataset.n_features) == X.shape
    rows, features = np.arange(7, 290), [0, 3, 19]
    expected = X[rows][:, features]
    np.testing.assert_array_equal(probe_rows.read_rows(dataset, rows, features), expected)
    copied = probe_rows.read_rows(dataset, rows, features, by_columns=True)
    np.testing.assert_array_equal(copied, expected.T)
