"""Projections of whole numbers as integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.testing.probe_scores import measure_scales, project_fixed_point
from obtree.testing.reference import project


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 200),
    n_terms=st.integers(1, 15),
    wide=st.booleans(),
)
def test_keys_stand_for_the_projections(seed, n, n_terms, wide):
    rng = np.random.default_rng(seed)
    p = n_terms + 2
    # Wide and long enough for rows of ranks.
    p, n = (40, 20_000 + n) if wide else (p, n)
    X = rng.integers(-20, 30, (n, p)) * 2.0 ** rng.integers(-3, 4, p)
    X = X.astype(np.float32)
    feature = np.sort(rng.permutation(p)[:n_terms])
    weight = rng.choice([-1, 1], n_terms) * 2.0 ** rng.integers(-2, 3, n_terms)
    rows = np.sort(rng.choice(n, min(n, 50), replace=False))
    keys, values = project_fixed_point(Dataset(X.astype(float)), feature, weight, rows)
    expected = np.array([project(feature, weight, X[i]) for i in rows])
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(
        np.argsort(keys, kind="stable"), np.argsort(expected, kind="stable")
    )


def test_directions_that_are_not_on_a_lattice():
    X = np.arange(20.0).reshape(10, 2)
    rows = np.arange(10)
    assert project_fixed_point(Dataset(X), [0, 1], [1.0, 3.0], rows) is None
    assert project_fixed_point(Dataset(X), [0, 1], [1.0, 2.0**20], rows) is None
    assert project_fixed_point(Dataset(sparse.csr_array(X.astype("f"))), [0], [1.0], rows) is None
    for change in (np.nan, 0.1, 5000.5):
        table = X.copy()
        table[3, 0] = change
        assert project_fixed_point(Dataset(table), [0], [1.0], rows) is None
        assert project_fixed_point(Dataset(table), [1], [1.0], rows) is not None


@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
def test_scales(kind):
    rng = np.random.default_rng(0)
    X = np.zeros((400, 6), dtype=np.float32)
    X[:, 0] = rng.random(400)
    X[:, 1] = 1000 * rng.random(400)
    X[:, 2] = rng.integers(0, 2, 400)
    X[0, 4] = 3.0
    X[:, 5] = X[:, 0]
    X[0, 5] = 1e9
    table = {"float64": X.astype(float), "sparse": sparse.csr_array(X)}.get(kind, X)
    scales = measure_scales(Dataset(table, keep_rows=True))
    assert scales.tolist() == [0.5, 512.0, 1.0, 1.0, 4.0, 0.5]
    spans = measure_scales(Dataset(table, keep_rows=True), kind="spans")
    for j in range(6):
        values = np.unique(X[:, j]).astype(float)
        skipped = len(values) // 4
        assert spans[j] == (values[-1 - skipped] - values[skipped] if len(values) > 1 else 1.0)
    scaled = measure_scales(Dataset(table * 2.0**-20, keep_rows=True))
    np.testing.assert_array_equal(scaled[[0, 1, 2, 4, 5]], scales[[0, 1, 2, 4, 5]] * 2.0**-20)


@pytest.mark.parametrize("kind", ["dense", "ranks", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_variances(kind, weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5)) * [1, 1e-3, 1e4, 1, 0] + [0, 5, 1e5, 0, 7]
    X[:, 3] *= rng.random(300) < 0.1
    X[rng.random(300) < 0.2, 0] = np.nan
    X = X.astype(np.float32)
    weight = rng.random(300) * 3 if weighted else None
    data = Dataset(sparse.csc_array(X) if kind == "sparse" else X, keep_rows=kind != "ranks")
    known = np.where(np.isnan(X), 0.0, 1.0) * (1.0 if weight is None else weight[:, None])
    mean = np.nansum(known * X, axis=0) / known.sum(axis=0)
    expected = np.nansum(known * (X - mean) ** 2, axis=0) / known.sum(axis=0)
    found = measure_scales(data, weight, kind="variances")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "ranks", "sparse"])
def test_scales_without_rows_of_weight_zero(kind):
    rng = np.random.default_rng(0)
    X = np.zeros((400, 4), dtype=np.float32)
    X[:, 0] = rng.random(400)
    X[:, 1] = rng.integers(0, 50, 400)
    X[rng.random(400) < 0.5, 2] = np.nan
    weight = rng.integers(0, 2, 400).astype(float)
    absent = weight == 0
    X[absent] *= 1000
    X[absent, 3] = 5.0
    keep_rows = kind != "ranks"

    def measure(table, weight=None):
        table = sparse.csc_array(table) if kind == "sparse" else table
        return measure_scales(Dataset(table, keep_rows=keep_rows), weight)

    expected = measure(X[~absent])
    assert expected.tolist() != measure(X).tolist()
    assert measure(X, weight).tolist() == expected.tolist()
    assert measure(X, np.ones(400)).tolist() == measure(X).tolist()
