"""Splitters draw features as often as their relevance says."""

import numpy as np
import pytest

from obtree import ObliqueForestClassifier
from obtree.estimators.relevance import LEAST
from obtree.splitter.registry import resolve_splitter
from obtree.testing.growth import grow_forest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 8)).astype(np.float32)
# All features are equally good, so that how often one is used tells how often it is drawn.
Y = (X.sum(axis=1) + RNG.normal(size=200) > 0).astype(int)
NAMES = [
    "axis",
    "axis_random",
    "random_oblique",
    "discriminant",
    "oc1",
    "co2",
    "two_probe",
    "conic",
]


def count_use(name, relevance, **params):
    splitter = resolve_splitter(name).set_params(**params)
    rule = {"max_features": 2, "relevance": relevance}
    trees = grow_forest(X, Y, splitter=splitter, seeds=range(30), keep_rows=True, **rule)
    used = np.concatenate([tree.term_feature for tree in trees])
    return np.bincount(used, minlength=8) / len(used)


@pytest.mark.parametrize("name", NAMES)
def test_irrelevant_features_are_seldom_used(name):
    relevance = np.ones(8, dtype=np.float32)
    relevance[4:] = 0.05
    plain, weighed = count_use(name, None), count_use(name, relevance)
    assert plain[4:].sum() > 0.35
    assert weighed[4:].sum() < 0.35 * plain[4:].sum()
    assert weighed.min() > 0.0


def test_dense_directions_leave_features_out():
    relevance = np.full(8, 0.05, dtype=np.float32)
    relevance[2] = 1.0
    used = count_use("random_oblique", relevance, dense=True)
    assert used[2] > 0.4 > 0.2 > used[3:].max()
    assert used.min() > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_features_that_are_all_relevant_are_drawn_as_ever(name):
    # The same features are drawn, if by other random numbers.
    same = count_use(name, np.ones(8, dtype=np.float32))
    assert np.abs(same - count_use(name, None)).max() < 0.06


def test_rotated_features_have_no_relevance():
    forest = ObliqueForestClassifier(5, splitter="axis", rotation="pca", random_state=0)
    plain = forest.fit(X, Y).predict_proba(X)
    forest.set_params(relevance=True).fit(X, Y)
    assert (forest.relevance_ >= LEAST).all()
    assert np.array_equal(forest.predict_proba(X), plain)
