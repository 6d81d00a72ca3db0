"""Rotated features: trees of plain features, the same routes in training and prediction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.splitter import AxisSplitter, RotationSplitter, resolve_splitter
from obtree.testing.growth import find_differences, grow_forest, grow_tree, hash_trees
from obtree.testing.reference import find_members, route_rows

SEEDS = st.integers(0, 2**32 - 1)
INNER = ["axis", "axis_random", "discriminant"]


def draw_problem(seed, n=80, n_features=5):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), 2).astype(np.float32)
    X[:, 1] += 3 * X[:, 0]
    X[:, 2] = X[:, 2] * 1e4 + 1e6
    return rng, X, rng.integers(0, 3, n)


def grow_rotated(X, y, criterion="gini", inner="axis", group_size=3, **options):
    splitter = RotationSplitter(resolve_splitter(inner), group_size=group_size)
    return grow_forest(X, y, criterion, splitter=splitter, keep_rows=True, **options)


@pytest.mark.parametrize("inner", INNER)
@given(seed=SEEDS, missing=st.booleans(), best_first=st.booleans())
def test_training_rows_reach_the_leaves_that_counted_them(inner, seed, missing, best_first):
    rng, X, y = draw_problem(seed)
    if missing:
        X[rng.random(len(X)) < 0.3, 3] = np.nan
    weight = rng.integers(0, 3, len(y)).astype(float)
    weight[0] = 1.0
    (tree,) = grow_rotated(
        X,
        y,
        inner=inner,
        group_size=int(rng.integers(2, 6)),
        seeds=[seed],
        sample_weight=weight,
        max_leaf_nodes=12 if best_first else -1,
    )
    members = find_members(tree, route_rows(tree, X)[weight > 0])
    np.testing.assert_array_equal(members.sum(axis=1), tree.n_node_samples)
    np.testing.assert_array_equal(tree.apply(X), route_rows(tree, X))
    assert members.any(axis=1).all()
    if not best_first:
        different = len(np.unique(X[weight > 0], axis=0)) == (weight > 0).sum()
        assert not different or np.all(tree.impurity[tree.children_left < 0] < 1e-12)


def test_cuts_of_components_have_the_terms_of_a_group():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7)).astype(np.float32)
    X[::3, 4] = np.nan
    X[:, 5] = 2.0
    y = rng.integers(0, 4, 300)
    groups = set()
    (tree,) = grow_rotated(X, y)
    for node in np.flatnonzero(tree.children_left >= 0):
        terms = tree.term_feature[tree.term_ptr[node] : tree.term_ptr[node + 1]]
        groups.add(tuple(terms))
    # Five features to rotate, in groups of two and three; one left as it is.
    assert sorted(map(len, groups)) == [1, 2, 3]
    assert (4,) in groups
    assert sorted(sum(groups, ())) == [0, 1, 2, 3, 4, 6]


def test_the_first_component_is_found():
    # The classes differ along the diagonal of two strongly correlated features.
    rng = np.random.default_rng(0)
    diagonal = rng.normal(size=500)
    X = np.c_[diagonal, 1000 * diagonal].astype(np.float32)
    X += (rng.normal(size=(500, 2)) * [0.1, 100]).astype(np.float32)
    tree = grow_rotated(X, (X[:, 0] + X[:, 1] / 1000 > 0).astype(int), group_size=2, max_depth=1)[0]
    weight = tree.term_weight[: tree.term_ptr[1]] * [1, 1000]
    assert weight[0] / weight[1] == pytest.approx(1.0, abs=0.02)
    assert tree.impurity[1:].max() < 0.02


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@given(seed=SEEDS)
def test_scales_by_powers_of_two_change_nothing_else(criterion, seed):
    _, X, y = draw_problem(seed)
    scale = np.exp2([-8.0, 5.0, 0.0, 20.0, 1.0])
    one, other = (
        grow_rotated((X * s).astype(np.float32), y, criterion, seeds=[seed])[0] for s in (1, scale)
    )
    assert find_differences(one, other, ignore=("term_weight", "threshold")) == []
    np.testing.assert_array_equal(other.term_weight * scale[other.term_feature], one.term_weight)


@given(seed=SEEDS)
def test_threads_change_nothing(seed):
    rng, X, y = draw_problem(seed)
    options = {"seeds": rng.integers(0, 2**32, 5), "n_bootstrap": len(y)}
    forests = [grow_rotated(X, y, n_threads=k, **options) for k in (1, 2, 4)]
    assert len({hash_trees(trees) for trees in forests}) == 1


def test_zero_weights_equal_absent_rows():
    rng, X, y = draw_problem(1)
    weight = rng.integers(0, 2, len(y)).astype(float)
    (one,) = grow_rotated(X, y, sample_weight=weight, n_classes=[3])
    (other,) = grow_rotated(X[weight > 0], y[weight > 0], n_classes=[3])
    assert find_differences(one, other) == []


def test_columns_that_cannot_be_rotated_give_the_plain_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, 100)
    (one,) = grow_rotated(X, y)
    assert find_differences(one, grow_tree(X, y)) == []


@pytest.mark.parametrize("make", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_forests(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6))
    y = (X[:, 0] - X[:, 1] > 0).astype(int) if make is ObliqueForestClassifier else X[:, 0] ** 2
    params = {"splitter": "axis", "rotation": "pca", "rotation_size": 3, "random_state": 0}
    forest = make(10, **params).fit(X, y)
    assert forest.score(X, y) > 0.9
    assert forest.feature_importances_.shape == (6,)
    assert max(np.diff(tree.tree_.term_ptr).max() for tree in forest.estimators_) == 3
    again = make(10, n_jobs=2, **params).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), again.predict(X))


def test_messages():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="unknown rotation 'ica'; expected 'pca'"):
        ObliqueForestClassifier(2, rotation="ica").fit(X, y)
    with pytest.raises(ValueError, match="rotation_size=1 is not valid; expected an integer from"):
        ObliqueForestClassifier(2, rotation="pca", rotation_size=1).fit(X, y)
    with pytest.raises(ValueError, match="sparse X cannot be rotated; expected dense X"):
        ObliqueForestClassifier(2, rotation="pca").fit(sparse.csr_array(X), y)
    with pytest.raises(TypeError, match="splitter='axis' is not valid; expected a Splitter"):
        RotationSplitter("axis")
    with pytest.raises(ValueError, match="group_size=1 is not valid; expected an integer from 2"):
        RotationSplitter(AxisSplitter(), group_size=1)


def test_parameters_travel():
    splitter = RotationSplitter(AxisSplitter(), group_size=4)
    assert splitter.clone() == splitter
    assert splitter.get_params() == {"splitter": AxisSplitter(), "group_size": 4}
    assert splitter.prefers_bootstrap
    assert not RotationSplitter(resolve_splitter("discriminant")).prefers_bootstrap
