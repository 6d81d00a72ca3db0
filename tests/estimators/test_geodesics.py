"""Links and shortest paths against slow and obvious ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.estimators.geodesics import BLOCK_ROWS, link_leaf_mates, measure_paths


def link_slowly(X, leaves, n_neighbors):
    """Lengths of the links, infinite where there is none."""
    n_rows, n_features = X.shape
    met = [[[] for _ in range(n_rows)] for _ in range(n_rows)]
    for leaf in leaves.T:
        centred = np.array([x - X[leaf == k].mean(axis=0) for x, k in zip(X, leaf, strict=True)])
        covariance = centred.T @ centred / max(n_rows - len(np.unique(leaf)), 1)
        diagonal = np.diag(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
        if n_features > 32:
            covariance = diagonal
        inverse = np.linalg.inv((covariance + diagonal) / 2)
        for i in range(n_rows):
            mates = [j for j in range(n_rows) if j != i and leaf[j] == leaf[i]]
            squared = {j: (X[i] - X[j]) @ inverse @ (X[i] - X[j]) / n_features for j in mates}
            for j in sorted(mates, key=squared.get)[:n_neighbors]:
                met[i][j].append((tuple(leaf), squared[j]))
    mean = np.full((n_rows, n_rows), np.inf)
    for i in range(n_rows):
        for j in range(n_rows):
            # From either end, once a tree.
            found = dict(met[i][j] + met[j][i])
            if found:
                mean[i, j] = np.mean(list(found.values())) ** 2
    nearest = np.argsort(mean, axis=1)[:, :n_neighbors]
    kept = np.zeros((n_rows, n_rows), dtype=bool)
    np.put_along_axis(kept, nearest, True, axis=1)
    return np.where(kept | kept.T, mean, np.inf)


def spread_slowly(length, codes, n_classes):
    """Lengths of shortest paths by relaxing until nothing changes."""
    distance = np.where(codes[:, None] == np.arange(n_classes), 0.0, np.inf)
    while True:
        shorter = np.minimum(distance, (length[:, :, None] + distance[None]).min(axis=1))
        if np.array_equal(shorter, distance):
            return distance
        distance = shorter


@given(seed=st.integers(0, 10_000), n_features=st.sampled_from([1, 3, 33]))
def test_links_and_paths_are_the_slow_ones(seed, n_features):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, n_features))
    leaves = np.stack([rng.permutation(30) % 4 for _ in range(3)], axis=1)
    links = link_leaf_mates(X, leaves, 3)
    expected = link_slowly(X, leaves, 3)
    dense = links.toarray()
    np.testing.assert_array_equal(dense > 0, np.isfinite(expected))
    np.testing.assert_allclose(dense[dense > 0], expected[np.isfinite(expected)], rtol=1e-6)
    codes = np.full(30, -1)
    codes[:4] = [0, 1, 2, 1]
    np.testing.assert_allclose(
        measure_paths(links, codes, 3), spread_slowly(expected, codes, 3), rtol=1e-6
    )


def test_paths_follow_rows_that_lie_close():
    # Two parallel lines; the other line's label is nearer as the crow flies.
    along = np.linspace(0, 10, 60)
    X = np.concatenate([np.stack([along, np.zeros(60)], 1), np.stack([along, np.ones(60)], 1)])
    codes = np.full(120, -1)
    codes[0], codes[119] = 0, 1
    links = link_leaf_mates(X, np.zeros((120, 1), dtype=int), 4)
    distance = measure_paths(links, codes, 2)
    np.testing.assert_array_equal(distance.argmin(axis=1), np.repeat([0, 1], 60))


def test_a_class_that_no_path_leads_to():
    X = np.concatenate([np.arange(5.0), np.arange(100.0, 105)])[:, None]
    leaves = np.repeat([0, 1], 5)[:, None]
    codes = np.array([0, 0, -1, -1, -1, 1, -1, -1, -1, -1])
    distance = measure_paths(link_leaf_mates(X, leaves, 2), codes, 3)
    assert np.isinf(distance[:, 2]).all()
    assert np.isinf(distance[:5, 1]).all()
    assert np.isfinite(distance[:5, 0]).all()


def test_features_of_any_unit_and_without_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    leaves = rng.integers(0, 3, (50, 2))
    links = link_leaf_mates(X, leaves, 4)
    other = X * [1e-6, 1.0, 1e9] + [5.0, -3.0, 1e9]
    same = link_leaf_mates(other, leaves, 4)
    np.testing.assert_allclose(same.toarray(), links.toarray(), rtol=1e-4)
    # A constant feature says nothing: it changes the mean over features.
    constant = link_leaf_mates(np.column_stack([X, np.full(50, 7.0)]), leaves, 4)
    np.testing.assert_allclose(constant.toarray(), links.toarray() * (3 / 4) ** 2, rtol=1e-6)
    twice = link_leaf_mates(np.column_stack([X, X[:, 0]]), leaves, 4)
    assert np.isfinite(twice.data).all()


def test_missing_values_count_as_the_mean_of_the_leaf():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    leaves = np.repeat([0, 1], 20)[:, None]
    X[3, 1] = X[25, 0] = np.nan
    filled = X.copy()
    filled[3, 1] = np.nanmean(X[:20, 1])
    filled[25, 0] = np.nanmean(X[20:, 0])
    np.testing.assert_allclose(
        link_leaf_mates(X, leaves, 3).toarray(), link_leaf_mates(filled, leaves, 3).toarray()
    )
    X[:, 2] = np.nan
    assert np.isfinite(link_leaf_mates(X, leaves, 3).data).all()


@pytest.mark.parametrize("n_rows", [1, 2, BLOCK_ROWS + 1, 2 * BLOCK_ROWS + 7])
def test_equal_rows_in_leaves_of_any_size(n_rows):
    links = link_leaf_mates(np.ones((n_rows, 2)), np.zeros((n_rows, 1), dtype=int), 5)
    assert links.shape == (n_rows, n_rows)
    assert (links != links.T).nnz == 0
    codes = np.full(n_rows, -1)
    codes[0] = 0
    distance = measure_paths(links, codes, 1)
    assert (distance[: min(n_rows, BLOCK_ROWS), 0] < 1e-6).all()
