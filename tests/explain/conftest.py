"""Shapley values by their definition, one coalition after the other, and data to explain."""

import itertools
import math

import numpy as np
import pytest


@pytest.fixture(scope="session")
def slow_values():
    """A function that finds Shapley values by looking at all coalitions."""
    return compute_slowly


def compute_slowly(predict, X, background, weight=None):
    """Shapley values (n_rows, n_features, n_values) of what `predict` says of mixed rows."""
    n = X.shape[1]
    weight = np.ones(len(background)) if weight is None else np.asarray(weight, dtype=float)
    weight = weight / weight.sum()
    coalitions = np.array(list(itertools.product([False, True], repeat=n)))
    phi = []
    for x in X:
        total = 0.0
        for b, w in zip(background, weight, strict=True):
            values = np.reshape(predict(np.where(coalitions, x, b)), (len(coalitions), -1))
            total = total + w * values
        phi.append(divide_slowly(coalitions, total))
    return np.array(phi)


def divide_slowly(coalitions, total):
    """Shapley values (n_features, n_values) of a game that is worth `total` for coalitions."""
    n = coalitions.shape[1]
    own = np.zeros((n, total.shape[1]))
    for j in range(n):
        for row, members in enumerate(coalitions):
            if members[j]:
                s = members.sum()
                share = math.factorial(s - 1) * math.factorial(n - s) / math.factorial(n)
                own[j] += share * (total[row] - total[row - 2 ** (n - 1 - j)])
    return own


@pytest.fixture(scope="session")
def rows():
    """Features with missing values and ties, classes and numbers, rows and a background."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 6)).astype(np.float32)
    X[:, 4] = np.round(X[:, 4])
    known = X.copy()
    X[rng.random(X.shape) < 0.06] = np.nan
    X[-1] = X[-2]
    numbers = known[:, 0] * known[:, 1] + known[:, 2] - 0.5 * known[:, 4]
    classes = (numbers > 0).astype(int) + (known[:, 3] > 1)
    return X, classes, numbers


@pytest.fixture(scope="session")
def pairs(rows):
    """Rows to explain, a background that shares rows with them, and weights."""
    X = rows[0]
    weight = np.random.default_rng(1).random(7)
    weight[2] = 0.0
    return X[:4], X[[0, *range(100, 105), -1]], weight
