"""Stop rules, the two orders of growth, and the smallest of data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.testing.growth import grow_tree
from obtree.testing.reference import find_members, route_rows

SPLITTERS = ["axis", "axis_random"]


def draw_classes(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1).astype(np.float32)
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 0.7).astype(int) + (X[:, 2] > 1)
    return X, y


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("best_first", [False, True])
@given(
    seed=st.integers(0, 2**32 - 1),
    max_depth=st.integers(0, 6),
    min_samples_split=st.integers(2, 40),
    min_samples_leaf=st.integers(1, 20),
    min_fraction=st.sampled_from([0.0, 0.04]),
    max_leaf_nodes=st.integers(2, 30),
)
def test_rules_are_kept(
    splitter,
    best_first,
    seed,
    max_depth,
    min_samples_split,
    min_samples_leaf,
    min_fraction,
    max_leaf_nodes,
):
    X, y = draw_classes(seed)
    weight = np.random.default_rng(seed).random(len(y)) + 0.1
    rule = {"max_leaf_nodes": max_leaf_nodes} if best_first else {}
    tree = grow_tree(
        X,
        y,
        splitter=splitter,
        sample_weight=weight,
        seeds=[seed],
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_fraction,
        max_features=2,
        **rule,
    )
    leaf = tree.children_left < 0
    assert tree.max_depth <= max_depth
    assert np.all(tree.n_node_samples[~leaf] >= min_samples_split)
    assert np.all(tree.n_node_samples >= min_samples_leaf)
    # A sum in another order may differ in the last bits.
    assert np.all(tree.weighted_n_node_samples >= min_fraction * weight.sum() * (1 - 1e-12))
    if best_first:
        assert tree.n_leaves <= max_leaf_nodes


def test_depth_zero_and_no_limit():
    X, y = draw_classes()
    assert grow_tree(X, y, max_depth=0).node_count == 1
    full = grow_tree(X, y)
    assert np.all(
        (full.impurity[full.children_left < 0] == 0)
        | [
            len(np.unique(X[rows], axis=0)) == 1
            for rows in find_members(full, route_rows(full, X))[full.children_left < 0]
        ]
    )


def test_gain_must_reach_min_impurity_decrease():
    X, y = draw_classes()
    full = grow_tree(X, y, max_depth=8)
    for limit in (0.005, 0.01, 0.05):
        for rule in ({}, {"max_leaf_nodes": 100}):
            tree = grow_tree(X, y, max_depth=8, min_impurity_decrease=limit, **rule)
            inner = np.flatnonzero(tree.children_left >= 0)
            left, right = tree.children_left[inner], tree.children_right[inner]
            loss = tree.impurity * tree.weighted_n_node_samples / len(y)
            gain = loss[inner] - loss[left] - loss[right]
            assert np.all(gain >= limit - 1e-12)
            assert tree.node_count < full.node_count


@pytest.mark.parametrize("rule", [{}, {"max_leaf_nodes": 9}])
@pytest.mark.parametrize("unit", [1.0, 0.1, 3.7e-9, 3.7e9])
def test_a_gain_that_is_asked_for_exactly_is_enough(unit, rule):
    X = np.repeat([[0.0], [1.0]], 3, axis=0).astype(np.float32)
    y = np.repeat([0.1, 0.8], 3) * unit
    gain = np.var(y)
    assert grow_tree(X, y, "squared_error", min_impurity_decrease=gain, **rule).node_count == 3
    more = gain * (1 + 1e-9)
    assert grow_tree(X, y, "squared_error", min_impurity_decrease=more, **rule).node_count == 1


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_both_orders_make_the_same_tree_when_nothing_stops_them(criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).astype(np.float32)
    y = rng.integers(0, 3, 150) if criterion == "gini" else rng.random(150)
    weight = rng.random(150) + 0.1
    options = {"sample_weight": weight, "min_samples_leaf": 8}
    depth_first = grow_tree(X, y, criterion, **options)
    best_first = grow_tree(X, y, criterion, max_leaf_nodes=1000, **options)
    members = [find_members(tree, route_rows(tree, X)) for tree in (depth_first, best_first)]
    assert {rows.tobytes() for rows in members[0]} == {rows.tobytes() for rows in members[1]}


def test_best_first_takes_the_best_split_next():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=300) * 0.1
    losses, before = [], None
    for n_leaves in range(2, 12):
        tree = grow_tree(X, y, "squared_error", max_leaf_nodes=n_leaves)
        assert tree.n_leaves == n_leaves
        leaf = tree.children_left < 0
        losses.append(np.sum((tree.impurity * tree.weighted_n_node_samples)[leaf]))
        if n_leaves > 2:  # the new leaves are children of an old one
            assert len(set(before) - set(route_rows(tree, X))) == 1
        before = route_rows(tree, X)
    assert np.all(np.diff(losses) < 0)


def test_children_stand_side_by_side_after_their_parent():
    X, y = draw_classes()
    for rule in ({}, {"max_leaf_nodes": 20}):
        tree = grow_tree(X, y, **rule)
        inner = np.flatnonzero(tree.children_left >= 0)
        np.testing.assert_array_equal(tree.children_right[inner], tree.children_left[inner] + 1)
        assert np.all(tree.children_left[inner] > inner)
        assert np.all(tree.threshold[tree.children_left < 0] == 0.0)
        assert len(tree.term_feature) == len(inner)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("criterion", [*CLASSIFICATION, *REGRESSION])
@pytest.mark.parametrize("max_leaf_nodes", [-1, 5])
def test_nothing_to_split(splitter, criterion, max_leaf_nodes):
    options = {"splitter": splitter, "max_leaf_nodes": max_leaf_nodes}
    one_row = grow_tree(np.ones((1, 2), dtype="f"), [1], criterion, **options)
    same_rows = grow_tree(np.ones((9, 2), dtype="f"), np.arange(1, 10) % 3, criterion, **options)
    all_missing = grow_tree(np.full((4, 1), np.nan, dtype="f"), [1, 2, 1, 0], criterion, **options)
    one_target = grow_tree(np.eye(4, dtype="f"), [1, 1, 1, 1], criterion, **options)
    one_class = grow_tree(np.eye(4, dtype="f"), [0, 0, 0, 0], criterion, n_classes=[1], **options)
    for tree in (one_row, same_rows, all_missing, one_target, one_class):
        assert tree.node_count == 1
        assert np.all(np.isfinite(tree.value))
        assert np.all(np.isfinite(tree.impurity))
    if criterion in CLASSIFICATION:
        assert one_class.value.tolist() == [[[1.0]]]


def test_one_row_of_positive_weight():
    tree = grow_tree(np.eye(4, dtype="f"), [0, 1, 2, 3], sample_weight=np.eye(4)[2])
    assert tree.node_count == 1
    assert tree.value.tolist() == [[[0.0, 0.0, 1.0, 0.0]]]
