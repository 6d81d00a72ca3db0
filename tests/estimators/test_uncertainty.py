"""The entropies of forests: against plain NumPy, and what holds for all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from obtree import (
    DisjunctiveForestClassifier,
    NonGreedyForestClassifier,
    ObliqueForestClassifier,
    TAOForestClassifier,
)
from obtree.estimators.uncertainty import KINDS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = (X[:, 0] + 0.7 * RNG.normal(size=150) > 0).astype(int) + (X[:, 1] > 1)
NEW = RNG.normal(size=(60, 4))

FORESTS = {
    "axis": ObliqueForestClassifier(7, splitter="axis", min_samples_leaf=3),
    "pure leaves": ObliqueForestClassifier(7, splitter="random_oblique"),
    "auto": ObliqueForestClassifier(12),
    "product": ObliqueForestClassifier(5, splitter="axis", max_depth=3, combine="product"),
    "linear leaves": ObliqueForestClassifier(5, splitter="axis", max_depth=2, leaf="linear"),
    "TAO": TAOForestClassifier(4, max_depth=3),
    "TAO, linear leaves": TAOForestClassifier(3, max_depth=2, leaf="linear"),
    "non-greedy": NonGreedyForestClassifier(3, max_depth=3, n_epochs=3),
    "disjunctive": DisjunctiveForestClassifier(3, n_epochs=2),
}


def measure_slowly(members, weights):
    """Return the three uncertainties of probabilities (n_members, n_rows, n_classes)."""
    mean = sum(weight * proba for weight, proba in zip(weights, members, strict=True))

    def entropy(proba):
        return -np.sum(proba * np.log(np.where(proba > 0, proba, 1.0)), axis=1)

    expected = sum(weight * entropy(p) for weight, p in zip(weights, members, strict=True))
    return entropy(mean), expected, entropy(mean) - expected


def list_members(forest, X):
    """Return what each tree or chain of a forest says, and its weight."""
    chains = getattr(forest, "chains_", ())
    chain_weights = list(getattr(forest, "chain_weights_", ()))
    members = [tree.predict_proba(X) for tree in forest.estimators_]
    weights = [(1.0 - sum(chain_weights)) / len(members)] * len(members)
    for chain in chains:
        logs = sum(np.log(np.maximum(tree.predict_proba(X), 1e-6)) for tree in chain)
        proba = np.exp(logs - logs.max(axis=1, keepdims=True))
        members.append(proba / proba.sum(axis=1, keepdims=True))
    return members, weights + chain_weights


@pytest.mark.parametrize("name", FORESTS)
def test_agrees_with_a_plain_reference(name):
    forest = FORESTS[name].set_params(random_state=0).fit(X, Y)
    found = forest.uncertainty(NEW)
    for part, slow in zip(found, measure_slowly(*list_members(forest, NEW)), strict=True):
        np.testing.assert_allclose(part, slow, atol=1e-6)
    for kind in KINDS:
        np.testing.assert_array_equal(forest.uncertainty(NEW, kind=kind), getattr(found, kind))
    np.testing.assert_array_equal(forest.uncertainty(NEW[:2]).total, found.total[:2])


def test_chains_count_by_their_weight():
    new = np.random.default_rng(4).integers(0, 2, size=(450, 9)).astype(float)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8)]
    y = np.any([new[:, line].all(axis=1) for line in lines], axis=0)
    forest = ObliqueForestClassifier(20, random_state=0).fit(new[:400], y[:400])
    assert len(forest.chains_) > 0
    new = new[400:]
    found = forest.uncertainty(new)
    for part, slow in zip(found, measure_slowly(*list_members(forest, new)), strict=True):
        np.testing.assert_allclose(part, slow, atol=1e-9)
    proba = forest.predict_proba(new)
    entropy = -np.sum(proba * np.log(np.where(proba > 0, proba, 1)), axis=1)
    np.testing.assert_allclose(found.total, entropy, atol=1e-9)


def test_several_outputs_with_different_numbers_of_classes():
    y = np.stack([Y, (X[:, 2] > 0).astype(int)], axis=1)
    forest = ObliqueForestClassifier(5, splitter="axis", max_depth=3, random_state=0).fit(X, y)
    found = forest.uncertainty(NEW)
    assert found.total.shape == (60, 2)
    for k in range(2):
        members = [tree.predict_proba(NEW)[k] for tree in forest.estimators_]
        slow = measure_slowly(members, [0.2] * 5)
        for part, own in zip(found, slow, strict=True):
            np.testing.assert_allclose(part[:, k], own, atol=1e-12)


@given(seed=st.integers(0, 1000), leaf=st.integers(1, 10), n_trees=st.integers(1, 8))
def test_total_is_the_sum_of_its_parts(seed, leaf, n_trees):
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(40, 2)), rng.integers(0, 3, size=40)
    forest = ObliqueForestClassifier(
        n_trees, splitter="random_oblique", min_samples_leaf=leaf, random_state=seed
    ).fit(rows, y)
    total, expected, knowledge = forest.uncertainty(rng.normal(size=(20, 2)))
    np.testing.assert_allclose(total, expected + knowledge, atol=1e-12)
    assert expected.min() >= 0.0
    assert knowledge.min() >= 0.0
    assert total.max() <= np.log(3) + 1e-12
    if n_trees == 1:
        assert knowledge.max() < 1e-12


def test_threads_sparse_rows_and_missing_values_change_nothing():
    forest = ObliqueForestClassifier(20, splitter="axis", max_depth=4, random_state=0)
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    forest.fit(gaps, Y)
    rows = np.tile(gaps, (20, 1))
    one = forest.uncertainty(rows)
    two = forest.set_params(n_jobs=2).uncertainty(rows)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, forest.uncertainty(sp.csr_matrix(rows)))
    np.testing.assert_array_equal(
        one.total[:150], [forest.uncertainty(row[None]).total[0] for row in gaps]
    )


def test_one_class_is_certain():
    forest = ObliqueForestClassifier(3, splitter="axis").fit(X, np.zeros(150))
    assert not np.any(forest.uncertainty(NEW))


def test_bad_input():
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0)
    with pytest.raises(ValueError, match="not fitted"):
        forest.uncertainty(NEW)
    forest.fit(X, Y)
    with pytest.raises(ValueError, match=r"unknown kind 'totel'.*Did you mean 'total'"):
        forest.uncertainty(NEW, kind="totel")
    with pytest.raises(ValueError, match="infinity"):
        forest.uncertainty(np.full((2, 4), np.inf))
