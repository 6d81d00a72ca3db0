"""The projection: one order of summation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.probe import project_rows
from obtree.testing.reference import project


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.booleans())
def test_sum_order(seed, n_terms, fortran):
    rng = np.random.default_rng(seed)
    n_features = n_terms + 3
    # Numbers of very different size: any other order would round differently.
    X = (rng.normal(size=(4, n_features)) * 10.0 ** rng.integers(-8, 9, n_features)).astype("f")
    X = np.asfortranarray(X) if fortran else X
    feature = rng.permutation(n_features)[:n_terms]
    weight = rng.normal(size=n_terms)
    expected = [project(feature, weight, x) for x in X]
    assert project_rows(feature, weight, X).tolist() == expected


@pytest.mark.parametrize("n_terms", [1, 15, 16, 40])
def test_missing_value_makes_the_sum_missing(n_terms):
    X = np.ones((2, n_terms), dtype=np.float32)
    X[1, n_terms // 2] = np.nan
    found = project_rows(np.arange(n_terms), np.ones(n_terms), X)
    assert found[0] == n_terms
    assert np.isnan(found[1])


def test_axis_split_reads_the_value_itself():
    X = np.array([[1e-45, -0.1], [3e38, 0.3]], dtype=np.float32)
    assert project_rows([1], [1.0], X).tolist() == X[:, 1].astype(float).tolist()
