"""Classes found before all trees were asked are those that all trees together give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_classification

from obtree import ObliqueForestClassifier
from obtree.tree.predict import Predictor
from obtree.tree.tree import Tree

X, Y = load_digits(return_X_y=True)

FORESTS = {
    "pure leaves": {},
    "other leaves": {"min_samples_leaf": 5},
    "shallow": {"max_depth": 3},
    "oblique": {"splitter": "random_oblique"},
    "linear leaves": {"leaf": "linear", "max_depth": 3},
}


def check_classes(trees, rows, combine):
    predictor = Predictor(trees)
    expected = predictor.predict(rows, combine=combine).argmax(axis=2)
    for n_threads in (1, 2):
        np.testing.assert_array_equal(predictor.classify(rows, n_threads, combine), expected)


@pytest.mark.parametrize("combine", ["average", "vote"])
@pytest.mark.parametrize("name", FORESTS)
def test_same_as_with_all_trees(name, combine):
    forest = ObliqueForestClassifier(n_estimators=33, random_state=0, **FORESTS[name])
    forest.fit(X[:300], Y[:300])
    trees = [tree.tree_ for tree in forest.estimators_]
    for n_rows in (5, 16, 333, len(X)):
        check_classes(trees, X[:n_rows].astype(np.float32), combine)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float64])
def test_rows_in_place(dtype):
    forest = ObliqueForestClassifier(n_estimators=20, random_state=0).fit(X[:300], Y[:300])
    trees = [tree.tree_ for tree in forest.estimators_]
    for rows in (X, np.asfortranarray(X), np.where(X == 7, np.nan, X)):
        if dtype is np.float64 or not np.isnan(rows).any():
            check_classes(trees, rows.astype(dtype), "average")


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(2, 5), st.floats(0.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_values_of_any_size(seed, n_trees, n_classes, size):
    """Close races, ties, and trees whose values are no shares at all."""
    rng = np.random.default_rng(seed)
    trees = [draw_stump(rng, n_classes, size) for _ in range(n_trees)]
    check_classes(trees, rng.random((50, 2), dtype=np.float32), "average")


def draw_stump(rng, n_classes, size):
    """A split of one feature whose leaves hold few different numbers, or a pure class."""
    value = np.round(rng.normal(size=(3, 1, n_classes)) * 10.0**size, 1)
    if rng.random() < 0.5:
        value = np.eye(n_classes)[rng.integers(0, n_classes, 3)][:, None]
    return Tree.from_arrays(
        n_features=2,
        n_classes=np.array([n_classes]),
        children_left=np.array([1, -1, -1]),
        children_right=np.array([2, -1, -1]),
        threshold=np.array([rng.random(), 0.0, 0.0]),
        term_ptr=np.array([0, 1, 1, 1]),
        term_feature=rng.integers(0, 2, 1),
        term_weight=np.ones(1),
        missing_go_left=np.zeros(3),
        impurity=np.zeros(3),
        n_node_samples=np.array([2, 1, 1]),
        weighted_n_node_samples=np.array([2.0, 1.0, 1.0]),
        value=value,
    )


def test_several_outputs_see_every_tree():
    rows, y = make_classification(300, n_informative=5, random_state=0)
    y = np.column_stack([y, y[::-1]])
    forest = ObliqueForestClassifier(n_estimators=20, random_state=0).fit(rows[:200], y[:200])
    check_classes([tree.tree_ for tree in forest.estimators_], rows, "average")
