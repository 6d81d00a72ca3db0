"""Chains of trees: each grows on what those before it have left to do."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from obtree.builder.rule import GrowthRule
from obtree.data.dataset import Dataset
from obtree.forest.chain import grow_chains
from obtree.splitter.registry import resolve_splitter
from obtree.testing.growth import find_differences, grow_tree
from obtree.testing.probe_team import Observer
from obtree.tree.predict import Predictor


class Rest:
    """The course of the simplest chain: a tree takes all that its leaves can, and weighs rows."""

    def __init__(self, y, weight, goal, care):
        self.rest, self.weight = y.copy(), weight
        self.goal, self.care = goal, care
        self.write()

    def write(self):
        self.goal[:, 0] = self.rest
        self.care[:] = self.weight

    def go_on(self, tree, leaf):
        self.rest -= tree.value[leaf, 0, 0]
        self.write()
        return tree


def draw_data(n=300):
    rng = np.random.default_rng(0)
    X = rng.random((n, 5)).astype(np.float32)
    return X, X[:, 0] + np.sin(5 * X[:, 1]) + 0.1 * rng.normal(size=n)


def grow(X, y, weights, n_threads=1, splitters=("axis",), n_trees=4, kind=None):
    courses = {}

    def begin(t, goal, care):
        courses[t] = Rest(y, weights[t], goal, care)
        return courses[t]

    seeds = np.arange(len(weights) * n_trees, dtype=np.uint32).reshape(len(weights), -1)
    chains = grow_chains(
        Dataset(X, keep_rows=True),
        X,
        [resolve_splitter(name) for name in splitters],
        GrowthRule(max_features=5, max_leaf_nodes=6, min_samples_leaf=3, min_samples_split=6),
        seeds=seeds,
        kind=kind or [0] * len(weights),
        begin=begin,
        n_values=1,
        n_threads=n_threads,
    )
    return chains, courses


def test_each_tree_is_the_tree_of_what_is_left():
    X, y = draw_data()
    weight = np.where(np.random.default_rng(1).random(len(y)) < 0.7, 2.0, 0.0)
    (chain,), courses = grow(X, y, [weight])
    rest = y.copy()
    for seed, tree in enumerate(chain):
        alone = grow_tree(
            X,
            rest[:, None],
            "squared_error",
            seeds=[seed],
            sample_weight=weight,
            max_features=5,
            max_leaf_nodes=6,
            min_samples_leaf=3,
            min_samples_split=6,
        )
        assert not find_differences(tree, alone)
        rest -= alone.value[Predictor([alone]).apply(X)[:, 0], 0, 0]
    assert courses[0].rest == pytest.approx(rest)
    seen = weight > 0.0
    assert np.var(rest[seen]) < 0.1 * np.var(y[seen])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_threads_change_nothing(make):
    X, y = draw_data(2000)
    X = make(np.where(X > 0.3, X, 0.0).astype(np.float32))
    weights = [np.arange(len(y)) % 5 != k for k in range(5)]
    weights = [weight.astype(np.float64) for weight in weights]
    options = {
        "splitters": ("axis", "random_oblique"),
        "kind": [0, 1, 0, 1, 0],
        "n_trees": 30,
    }
    one, _ = grow(X, y, weights, **options)
    other, _ = grow(X, y, weights, n_threads=3, **options)
    for chain, same in zip(one, other, strict=True):
        assert not any(find_differences(*pair) for pair in zip(chain, same, strict=True))
    n_terms = [max(np.diff(tree.term_ptr).max() for tree in chain) for chain in one]
    assert n_terms[0] == 1 < n_terms[1]


def test_what_a_course_raises_is_raised():
    X, _ = draw_data()

    def begin(t, goal, care):
        raise ZeroDivisionError("not today")

    with pytest.raises(ZeroDivisionError, match="not today"):
        grow_chains(
            Dataset(X),
            X,
            [resolve_splitter("axis")],
            GrowthRule(max_features=5, max_leaf_nodes=6),
            seeds=np.zeros((2, 3), dtype=np.uint32),
            kind=[0, 0],
            begin=begin,
            n_values=1,
        )


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_interrupted():
    X, y = draw_data(3000)
    weights = [np.ones(len(y))] * 8
    with Observer() as observer:
        grow(X, y, weights, n_trees=60)
    n_items = observer.n_items
    assert n_items >= 8
    with pytest.raises(KeyboardInterrupt), Observer(interrupt_at=3) as observer:
        grow(X, y, weights, n_trees=60)
    assert observer.n_items < n_items
