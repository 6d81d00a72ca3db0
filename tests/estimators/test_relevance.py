"""How relevant features are."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.estimators.relevance import LEAST, rate_features

X, Y = make_friedman1(400, 30, noise=1.0, random_state=0)


def measure(X, y, kind=ObliqueForestRegressor, **params):
    forest = kind(1, splitter="random_oblique", relevance=True, random_state=0, **params)
    return forest.fit(X, y).relevance_


@pytest.mark.parametrize("kind", [ObliqueForestRegressor, ObliqueForestClassifier])
def test_features_that_say_nothing_seldom_take_part(kind):
    y = Y if kind is ObliqueForestRegressor else (Y > 14).astype(int)
    relevance = measure(X, y, kind)
    assert relevance.min() >= np.float32(LEAST)
    assert relevance[[0, 1, 3]].min() > 0.9  # of the two weaker ones, the third is squared
    assert relevance[5:].mean() < 0.15


def test_the_scale_of_features_does_not_matter():
    scale = 2.0 ** np.arange(-15, 15)
    assert np.array_equal(measure(X * scale, Y), measure(X, Y))


def test_sparse_features_have_the_same_relevance():
    rough = np.where(X > 0.6, X, 0.0)
    expected = measure(rough, Y)
    assert np.array_equal(measure(sp.csr_matrix(rough), Y), expected)
    assert np.array_equal(measure(sp.csc_matrix(rough), Y), expected)


def test_threads_and_missing_values():
    lacking = X.copy()
    lacking[::3, 3] = np.nan
    relevance = measure(lacking, Y)
    assert np.array_equal(relevance, measure(lacking, Y, n_jobs=3))
    assert relevance[3] > 0.9


def test_rates():
    importance = np.array([5.0, 3.0, 1.0, 0.5, 0.0])
    chance = np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    assert rate_features(importance, chance) == pytest.approx([1.0, 0.25, LEAST, LEAST, LEAST])
    # One shadow with more than the others counts for its own feature alone.
    assert rate_features(np.array([5.0, 5.0]), np.array([2.0, 0.0])) == pytest.approx(
        [(3.0 / 8.0) ** 2, 1.0], abs=1e-3
    )


def test_where_nothing_is_known_all_take_part():
    assert (rate_features(np.zeros(3), np.zeros(3)) == 1.0).all()
    assert rate_features(np.array([1.0, 0.0]), np.zeros(2)) == pytest.approx([1.0, LEAST])
    assert (measure(X[:4], Y[:4]) == 1.0).all()
