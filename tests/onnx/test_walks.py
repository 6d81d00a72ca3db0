"""Each way to walk down trees finds the leaves that the package finds."""

import numpy as np
import pytest

import obtree.onnx.columns as columns
import obtree.onnx.walks as walks
from obtree import FernClassifier, ObliqueForestClassifier, ObliqueTreeRegressor
from obtree.tree.tree import Tree, list_arrays

from .conftest import Session, compare, hide


@pytest.fixture(params=["columns", "levels", "blocks"])
def way(request, monkeypatch):
    """How planes are walked."""
    if request.param != "columns":
        monkeypatch.setattr(columns, "MAX_COLUMNS", 0)
    if request.param == "levels":
        monkeypatch.setattr(walks, "MAX_MATRIX", 0)
    return request.param


@pytest.mark.parametrize("splitter", ["random_oblique", "conic", "co2", "discriminant"])
def test_ways(way, splitter, classes):
    X, y = classes
    X = hide(X, 0.05)
    model = ObliqueForestClassifier(4, splitter=splitter, random_state=0).fit(X, y)
    compare(model, X)
    compare(model, hide(X, 0.3, seed=1))


def test_ferns(way, classes):
    X, y = classes
    compare(FernClassifier(5, depth=5, random_state=0).fit(X, y), X)


def test_trees_of_both_kinds(way, classes):
    """The walks of axis trees and of others are put in the order of the trees."""
    X, y = classes
    model = ObliqueForestClassifier(6, splitter="co2", random_state=0).fit(X, y)
    axis = ObliqueForestClassifier(6, splitter="axis", random_state=0).fit(X, y)
    model.estimators_[1::2] = axis.estimators_[1::2]
    compare(model, X)


@pytest.mark.parametrize("most", [1, 9, 1000])
def test_groups_of_trees(most, monkeypatch, classes):
    """Trees that are looked up one by one, some together, and all together."""
    monkeypatch.setattr(columns, "MAX_COLUMNS", 0)
    monkeypatch.setattr(walks, "MAX_MATRIX", 0)
    monkeypatch.setattr(walks, "MAX_LOOKED_UP", most)
    X, y = classes
    for splitter in ("co2", "conic"):
        compare(ObliqueForestClassifier(5, splitter=splitter, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("n_rows", [0, 1, 2, 33])
def test_any_number_of_rows(way, n_rows, classes):
    X, y = classes
    model = ObliqueForestClassifier(4, splitter="co2", random_state=0).fit(X, y)
    session = Session(model, X)
    label, proba = session.run(X[:n_rows])
    assert label.shape == (n_rows,)
    assert proba.shape == (n_rows, 3)
    if n_rows:
        compare(model, X[:n_rows], session)


def test_blocks_of_all_sizes(monkeypatch, classes):
    import obtree.onnx.cuts as cuts

    monkeypatch.setattr(columns, "MAX_COLUMNS", 0)
    X, y = classes
    model = ObliqueForestClassifier(3, splitter="co2", random_state=0).fit(X, y)
    for first, most in ((1, 1), (2, 3), (100, 1)):
        monkeypatch.setattr(cuts, "MAX_FIRST", first)
        monkeypatch.setattr(cuts, "MAX_PLANES", most)
        compare(model, X)


@pytest.mark.parametrize("safety", [1e-9, 1.05, 1e3, 1e12])
def test_rows_that_float32_cannot_tell(safety, monkeypatch, classes):
    """None, few, many, and all rows walk in float64."""
    import obtree.onnx.blocks as blocks

    monkeypatch.setattr(columns, "MAX_COLUMNS", 0)
    monkeypatch.setattr(blocks, "SAFETY", safety)
    monkeypatch.setattr(blocks, "N_TOGETHER", 50)
    X, y = classes
    X = hide(X, 0.02)
    model = ObliqueForestClassifier(3, splitter="co2", random_state=0).fit(X, y)
    compare(model, X)


@pytest.mark.parametrize(("shift", "scale"), [(1e5, 1.0), (0.0, 1e34), (0.0, 1e-34), (-3e7, 1e3)])
def test_sizes_of_numbers(way, shift, scale, classes):
    """float32 loses most of what tells rows apart, and their squares overflow."""
    X, y = classes
    X = (X * np.float32(scale) + np.float32(shift)).astype(np.float32)
    X[:, 0] /= 16.0
    model = ObliqueForestClassifier(3, splitter="co2", random_state=0).fit(X, y)
    compare(model, X)


def test_planes_that_lie_on_rows(way, classes):
    """Sums of whole numbers that meet thresholds exactly go to the left."""
    X = np.random.default_rng(0).integers(-4, 5, size=(300, 6)).astype(np.float32)
    model = ObliqueForestClassifier(2, splitter="random_oblique", random_state=0)
    model.fit(X, classes[1])
    for k, member in enumerate(model.estimators_):
        arrays = {
            "threshold": np.rint(member.tree_.threshold),
            "term_weight": np.sign(member.tree_.term_weight),
        }
        model.estimators_[k] = change(member, **arrays)
    compare(model, X)


def change(model, **arrays):
    """Give the tree of a model other arrays."""
    own = list_arrays(model.tree_) | arrays
    model.tree_ = Tree.from_arrays(n_features=model.tree_.n_features, **own)
    return model


def test_terms_of_weight_zero_are_missing_with_their_features(way, numbers):
    X, y = numbers
    model = ObliqueTreeRegressor(splitter="co2", max_depth=4, random_state=0).fit(X, y)
    weight = model.tree_.term_weight.copy()
    weight[::3] = 0.0
    compare(change(model, term_weight=weight), hide(X, 0.2))


def test_intervals(way, numbers):
    X, y = numbers
    model = ObliqueTreeRegressor(splitter="co2", max_depth=4, random_state=0).fit(X, y)
    splits = model.tree_.children_left >= 0
    lower = np.where(splits, model.tree_.threshold - 0.5, -np.inf)
    lower[0] = -np.inf
    for given in (X, hide(X, 0.2)):
        compare(change(model, lower_threshold=lower), given)
