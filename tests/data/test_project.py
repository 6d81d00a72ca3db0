"""Projections of a node's rows: bit for bit those of single rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.testing.probe_scores import project_node
from obtree.testing.reference import project

KINDS = ["ranks", "rows", "columns", "sparse"]


def make_dataset(X, kind):
    if kind == "sparse":
        return Dataset(sparse.csr_array(X))
    return Dataset(np.asfortranarray(X) if kind == "columns" else X, keep_rows=kind != "ranks")


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 300),
    n_terms=st.integers(1, 50),
    missing=st.sampled_from([0.0, 0.05]),
)
def test_same_bits_as_row_by_row(kind, seed, n, n_terms, missing):
    rng = np.random.default_rng(seed)
    n_features = n_terms + 2
    # Few distinct values, so that ranks keep them; of very different size.
    X = np.round(rng.normal(size=(n, n_features)), 1) * 10.0 ** rng.integers(-8, 9, n_features)
    X[rng.random(X.shape) < missing] = np.nan
    X = X.astype(np.float32)
    feature = rng.permutation(n_features)[:n_terms]
    weight = rng.normal(size=n_terms)
    rows = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    expected = [project(feature, weight, X[i]) for i in rows]
    found = project_node(make_dataset(X, kind), feature, weight, rows)
    np.testing.assert_array_equal(found, expected)
