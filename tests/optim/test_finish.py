"""Nodes measured after the planes have moved."""

import numpy as np
import pytest

from obtree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.optim.base import Problem
from obtree.optim.editable_tree import EditableTree, finish_nodes
from obtree.tree.tree import FIELDS, Tree


def make_rows(missing=False):
    """Rows, classes and weights; a few values lacking if asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = (X @ rng.normal(size=6) + rng.normal(size=300) > 0).astype(np.int32) + (X[:, 0] > 1)
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, rng.integers(1, 4, 300).astype(float)


def finish_tree(problem, tree, **options):
    """Measure a tree; its new nodes, and the nodes of the given tree that they were."""
    editable = EditableTree(problem, tree)
    nodes, kept = finish_nodes(editable, **options)
    return nodes, editable.origin[kept]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("splitter", ["axis", "oc1", "random_oblique"])
def test_a_grown_tree_is_measured_as_it_was_grown(splitter, missing):
    X, y, weight = make_rows(missing)
    tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(X, y, weight).tree_
    problem = Problem(X, y[:, None], weight, 3)
    nodes, origin = finish_tree(problem, tree)
    assert len(origin) == tree.node_count
    for name in ("threshold", "missing_go_left", "n_node_samples"):
        np.testing.assert_array_equal(nodes[name], getattr(tree, name)[origin])
    for name in ("impurity", "weighted_n_node_samples", "value"):
        np.testing.assert_allclose(nodes[name], getattr(tree, name)[origin], atol=1e-12)
    finished = Tree.from_arrays(n_features=6, **nodes)
    np.testing.assert_array_equal(origin[finished.apply(X)], tree.apply(X))
    if not missing:
        leaf = finished.apply(X).astype(np.int32)
        again, _ = finish_tree(problem, finished, leaf=leaf)
        for name, found in again.items():
            np.testing.assert_array_equal(found, nodes[name])
    importances = finished.compute_feature_importances()
    np.testing.assert_allclose(importances, tree.compute_feature_importances(), atol=1e-6)


def test_numbers_of_several_outputs():
    X, _, weight = make_rows()
    Y = np.stack([X[:, 0] + 5, X[:, 1] * X[:, 2]], axis=1).astype(np.float64)
    tree = ObliqueTreeRegressor(max_depth=4, random_state=0).fit(X, Y, weight).tree_
    nodes, origin = finish_tree(Problem(X, Y, weight), tree)
    np.testing.assert_allclose(nodes["value"], tree.value[origin], atol=1e-12)
    np.testing.assert_allclose(nodes["impurity"], tree.impurity[origin], atol=1e-12)
    np.testing.assert_array_equal(nodes["n_classes"], [1, 1])


def test_dead_branches_are_dropped():
    X, y, _ = make_rows()
    tree = ObliqueTreeClassifier(max_depth=3, random_state=0).fit(X, y).tree_
    arrays = {name: getattr(tree, name) for name in FIELDS}
    arrays["threshold"] = np.r_[1e6, tree.threshold[1:]]  # everybody goes left
    moved = Tree.from_arrays(n_features=6, **arrays)
    problem = Problem(X, y[:, None], None, 3)
    nodes, origin = finish_tree(problem, moved)
    assert origin[0] == tree.children_left[0]
    assert nodes["n_node_samples"].min() > 0
    kept, kept_origin = finish_tree(problem, moved, drop_unreached=False)
    assert len(kept_origin) == tree.node_count
    empty = kept["n_node_samples"] == 0
    assert empty.any()
    np.testing.assert_allclose(kept["value"].sum(axis=2), 1.0)
    before = Tree.from_arrays(n_features=6, **kept)
    after = Tree.from_arrays(n_features=6, **nodes)
    np.testing.assert_array_equal(origin[after.apply(X)], kept_origin[before.apply(X)])


def test_rows_for_early_stopping_are_not_counted():
    X, y, _ = make_rows()
    tree = ObliqueTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200]).tree_
    problem = Problem(X, y[:, None], None, 3, n_train=200)
    nodes, origin = finish_tree(problem, tree)
    np.testing.assert_array_equal(nodes["n_node_samples"], tree.n_node_samples[origin])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_train": 0}, "do not fit"),
        ({"n_train": 301}, "do not fit"),
        ({"sample_weight": np.ones(5)}, "do not fit"),
        ({"n_classes": 2}, "expected 0 to below n_classes"),
        ({"y": np.zeros((7, 1), dtype=np.int32)}, "expected 300"),
    ],
)
def test_a_problem_that_does_not_fit_together_is_refused(change, message):
    X, y, weight = make_rows()
    given = {"X": X, "y": y[:, None], "sample_weight": weight, "n_classes": 3} | change
    with pytest.raises(ValueError, match=message):
        Problem(**given)
