"""Where rows with missing values go."""

import numpy as np
import pytest

from obtree.testing.growth import grow_tree
from obtree.testing.reference import find_members, route_rows

SPLITTERS = ["axis", "axis_random"]


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("max_leaf_nodes", [-1, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_unseen_missing_values_follow_the_heavier_child(splitter, max_leaf_nodes, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).astype(np.float32)
    X[:3, 2] = np.nan  # seen in some nodes only
    y = (X[:, 0] > 0.8).astype(int) ^ (X[:, 1] < -1)
    weight = rng.random(150) + 0.1 if weighted else np.ones(150)
    tree = grow_tree(X, y, splitter=splitter, sample_weight=weight, max_leaf_nodes=max_leaf_nodes)
    members = find_members(tree, route_rows(tree, X))
    inner = np.flatnonzero(tree.children_left >= 0)
    n_left = 0
    for node in inner:
        left, right = tree.children_left[node], tree.children_right[node]
        if np.isnan(X[members[node], tree.feature[node]]).any():
            continue
        heavier = tree.weighted_n_node_samples[left] > tree.weighted_n_node_samples[right]
        assert tree.missing_go_left[node] == heavier
        n_left += heavier
    assert 0 < n_left < len(inner)
    assert np.all(tree.missing_go_left[tree.children_left < 0] == 0)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_columns_without_any_value_are_never_used(splitter):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    X[:, [0, 2]] = np.nan
    tree = grow_tree(X, rng.integers(0, 2, 60), splitter=splitter, max_features=1)
    assert set(tree.feature[tree.children_left >= 0]) == {1, 3}


def test_missing_values_alone_tell_the_classes_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)).astype(np.float32)
    y = rng.integers(0, 2, 80)
    X[y == 1, 1] = np.nan
    tree = grow_tree(X, y)
    assert tree.node_count == 3
    assert tree.feature[0] == 1
