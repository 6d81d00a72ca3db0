"""Monotonic constraints: predictions never move against the sign."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.growth import grow_tree
from obtree.testing.reference import route_rows

CASES = ["gini", "entropy", "squared_error", "absolute_error", "poisson", "friedman_mse"]


def predict_level(tree, X):
    value = tree.value[route_rows(tree, X)]
    return value[:, 0, 1] if value.shape[2] == 2 else value[:, 0, 0]


@pytest.mark.parametrize("splitter", ["axis", "axis_random"])
@pytest.mark.parametrize("criterion", CASES)
@given(
    seed=st.integers(0, 2**32 - 1),
    signs=st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3),
    best_first=st.booleans(),
    min_samples_leaf=st.sampled_from([1, 3]),
    missing=st.booleans(),
)
def test_predictions_are_monotone(
    criterion, splitter, seed, signs, best_first, min_samples_leaf, missing
):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 3)), 1).astype(np.float32)
    latent = X[:, 0] - X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(size=60)
    y = (latent > 0).astype(int) if criterion in ("gini", "entropy") else np.exp(latent / 2)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    tree = grow_tree(
        X,
        y,
        criterion,
        n_classes=[2],
        splitter=splitter,
        seeds=[seed],
        min_samples_leaf=min_samples_leaf,
        max_leaf_nodes=15 if best_first else -1,
        monotonic_cst=np.array(signs, dtype=np.int8),
    )
    base = rng.normal(size=(12, 3)).astype(np.float32)
    if missing:
        base[rng.random(base.shape) < 0.1] = np.nan
    for j, sign in enumerate(signs):
        if sign == 0:
            continue
        rows = np.repeat(base, 40, axis=0)
        rows[:, j] = np.tile(np.linspace(-3, 3, 40), len(base))
        steps = np.diff(predict_level(tree, rows).reshape(len(base), 40), axis=1)
        assert np.all(sign * steps >= 0)


@pytest.mark.parametrize("criterion", CASES)
def test_constraints_still_leave_something_to_learn(criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) if criterion in ("gini", "entropy") else np.exp(X[:, 0])
    for sign, found in ((1, True), (-1, False)):
        tree = grow_tree(X, y, criterion, max_depth=1, monotonic_cst=np.array([sign, 0]))
        assert (tree.feature[0] == 0) == found


def test_no_constraints_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = rng.integers(0, 2, 200)
    free = grow_tree(X, y)
    zero = grow_tree(X, y, monotonic_cst=np.zeros(3, dtype=np.int8))
    np.testing.assert_array_equal(free.threshold, zero.threshold)
    np.testing.assert_array_equal(free.value, zero.value)


@pytest.mark.parametrize("n_classes", [1, 2])
def test_one_class(n_classes):
    X = np.eye(3, dtype=np.float32)
    for _ in range(20):  # a value written outside its node would differ from run to run
        tree = grow_tree(X, [0, 0, 0], n_classes=[n_classes], monotonic_cst=np.ones(3))
        assert tree.value.tolist() == [[[1.0, 0.0][:n_classes]]]
