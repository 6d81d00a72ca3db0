"""Re-ordering rows by a plane: a stable partition, the same by rank and by value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.data.dataset import Dataset
from obtree.testing.probe import split_index
from obtree.testing.reference import project, rank_column

KINDS = ["ranks", "float32", "sparse"]


def make_dataset(X, kind):
    if kind == "sparse":
        return Dataset(sparse.csr_array(X))
    return Dataset(X, keep_rows=kind == "float32")


def draw_table(rng, n, n_features):
    X = np.round(rng.normal(size=(n, n_features)), 1).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def check(before, after, pos, start, end, goes_left):
    node = before[start:end]
    left = goes_left[node]
    assert pos == start + left.sum()
    np.testing.assert_array_equal(after[start:pos], node[left])
    np.testing.assert_array_equal(after[pos:end], node[~left])
    np.testing.assert_array_equal(after[:start], before[:start])
    np.testing.assert_array_equal(after[end:], before[end:])


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    n_terms=st.integers(1, 20),
    missing_left=st.booleans(),
    products=st.booleans(),
    interval=st.booleans(),
)
def test_by_plane(kind, seed, n, n_terms, missing_left, products, interval):
    rng = np.random.default_rng(seed)
    X = draw_table(rng, n, 20)
    weight = rng.integers(0, 3, n).astype(float)
    weight[rng.integers(n)] = 1.0
    rows = np.flatnonzero(weight)
    start, end = np.sort(rng.integers(0, len(rows) + 1, 2))
    feature, terms = rng.permutation(20)[:n_terms], rng.normal(size=n_terms)
    partner = rng.integers(-1, 20, n_terms) if products else None
    projection = np.array([project(feature, terms, x, partner) for x in X])
    threshold = projection[rng.integers(n)]  # a row that lies exactly on the plane
    threshold = 0.0 if np.isnan(threshold) else threshold
    lower = threshold - 1.0 if interval else -np.inf
    before, after, pos = split_index(
        make_dataset(X, kind),
        weight,
        start,
        end,
        feature,
        terms,
        threshold,
        missing_left,
        partner=partner,
        lower=lower,
    )
    np.testing.assert_array_equal(before, rows)
    inside = (projection <= threshold) & (projection > lower)
    goes_left = np.where(np.isnan(projection), missing_left, inside)
    check(before, after, pos, start, end, goes_left)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), missing_left=st.booleans())
def test_by_rank(kind, seed, n, missing_left):
    rng = np.random.default_rng(seed)
    X = draw_table(rng, n, 3)
    if rng.random() < 0.3:
        X = np.nan_to_num(X)
    codes, values = rank_column(X[:, 1])
    if len(values) == 0:
        return
    cut = int(rng.integers(len(values)))
    start, end = np.sort(rng.integers(0, n + 1, 2))
    dataset = make_dataset(X, kind)
    plane = [1], [1.0], float(values[cut]), missing_left
    before, after, pos = split_index(dataset, np.ones(n), start, end, *plane, rank_cut=cut)
    goes_left = np.where(codes == len(values), missing_left, codes <= cut)
    check(before, after, pos, start, end, goes_left)
    # The value says the same as the rank.
    _, by_value, pos_by_value = split_index(dataset, np.ones(n), start, end, *plane)
    assert pos_by_value == pos
    np.testing.assert_array_equal(by_value, after)
