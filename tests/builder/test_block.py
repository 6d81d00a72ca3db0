"""Small nodes of wide data are read from a copy of their ranks: it must not show."""

import numpy as np
import pytest

from obtree import ObliqueTreeClassifier, ObliqueTreeRegressor


def draw_wide(rng, n=20_000):
    """Columns of few and many values, most of them zero outside one group of rows."""
    group = rng.integers(0, 40, n)
    dense = rng.integers(0, 200, (n, 20))
    pixels = rng.integers(0, 256, (n, 40)) * (group[:, None] == np.arange(40))
    long = rng.integers(1, 3000, (n, 20)) * (rng.random((n, 20)) < 0.3)
    X = np.hstack([dense, pixels, long]).astype(np.float32)
    signal = X[:, 0] + 3.0 * group + pixels.sum(axis=1) * 0.5 + long[:, 0] * 0.1
    return X, signal + rng.normal(size=n)


def describe_leaves(tree):
    leaf = tree.children_left < 0
    rows = np.column_stack([tree.n_node_samples, tree.impurity, tree.value[:, 0]])[leaf]
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_same_leaves_as_in_best_first_order(task):
    """Best-first growth has no such copies, and without ties and limits ends in one tree."""
    rng = np.random.default_rng(0)
    X, y = draw_wide(rng)
    make = ObliqueTreeRegressor
    if task == "classification":
        make, y = ObliqueTreeClassifier, np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    # Whole numbers, of which no two sums of many are the same.
    weight = rng.integers(1, 60_000, len(y)).astype(float)
    params = {"min_samples_split": 100, "random_state": 0}
    whole = make(**params).fit(X, y, weight).tree_
    other = make(max_leaf_nodes=len(X), **params).fit(X, y, weight).tree_
    assert whole.n_leaves > 300
    np.testing.assert_allclose(describe_leaves(whole), describe_leaves(other), rtol=1e-9)
    # The rows really go where the tree says.
    np.testing.assert_array_equal(
        np.bincount(whole.apply(X), minlength=whole.node_count)[whole.children_left < 0],
        whole.n_node_samples[whole.children_left < 0],
    )
