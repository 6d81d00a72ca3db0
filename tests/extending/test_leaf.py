"""A leaf model built outside obtree: trees, files, text and predictors take it as their own."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_linnerud

from obtree import (
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)
from obtree.builder.prune import prune_tree, pruning_path
from obtree.core.saved import SavedPart
from obtree.forest.leaf_fitter import LinearFitter, register_fitter
from obtree.tree import export_text
from obtree.tree.leaf_models import register_leaf
from obtree.tree.state import tree_from_state, tree_to_state


@pytest.fixture
def median(variant):
    """The module with the median leaf."""
    return variant("median_leaf")


def find_medians(leaves, y):
    """Lower median of the rows that end in the same leaf, by row."""
    expected = np.empty(y.shape)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        expected[rows] = np.sort(y[rows], axis=0)[(rows.sum() - 1) // 2]
    return expected


@pytest.mark.parametrize("load", [load_diabetes, load_linnerud])
def test_leaves_predict_the_medians_of_their_rows(median, load):
    X, y = load(return_X_y=True)
    tree = ObliqueTreeRegressor(max_depth=3, leaf=median.MedianFitter(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), find_medians(tree.apply(X), y))
    assert tree.tree_.leaf_kind is median.MedianLeaf
    assert not tree.tree_.has_linear_leaves
    assert "median" in export_text(tree.tree_)
    by_name = clone(tree).set_params(leaf="median").fit(X, y)
    np.testing.assert_array_equal(by_name.predict(X), tree.predict(X))


def test_forests_threads_and_sparse_rows_change_nothing(median):
    X, y = load_diabetes(return_X_y=True)
    forest = ObliqueForestRegressor(
        6, min_samples_leaf=9, leaf=median.MedianFitter(level=0.4), random_state=0
    )
    expected = forest.fit(X, y).predict(X)
    assert np.mean(expected < y) > 0.5
    again = clone(forest).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), expected)
    by_tree = np.mean([tree.predict(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(by_tree, expected)


def test_files_states_and_pickles_keep_them(median, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    tree = ObliqueTreeRegressor(max_depth=3, leaf=median.MedianFitter(), random_state=0).fit(X, y)
    expected = tree.predict(X)
    save_model(tree, tmp_path / "model")
    for other in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(tree))):
        np.testing.assert_array_equal(other.predict(X), expected)
    state = tree_to_state(tree.tree_)
    assert state["format"] == 3
    assert tree_from_state(state).leaf_kind is median.MedianLeaf
    for damage in (np.zeros((3, 1)), np.full_like(state["leaf_median"], np.nan), None):
        with pytest.raises(ValueError, match="leaf_median"):
            tree_from_state({**state, "leaf_median": damage})


def test_files_keep_the_parameters_of_what_fits_leaves(median, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    given = median.MedianFitter(level=0.25)
    forest = ObliqueForestRegressor(2, max_depth=2, leaf=given, random_state=0).fit(X, y)
    save_model(forest, tmp_path / "model")
    model = load_model(tmp_path / "model", allow_plugins=True)
    assert model.get_params() == forest.get_params()
    assert model.estimators_[0].leaf == given
    np.testing.assert_array_equal(model.fit(X, y).predict(X), forest.predict(X))
    # What another package has to say to the parameters is not asked without permission.
    model = load_model(tmp_path / "model")
    assert model.leaf == SavedPart("leaf", "median", {"level": 0.25})
    np.testing.assert_array_equal(model.predict(X), forest.predict(X))
    for other in (model, clone(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match=r"leaf 'median' .* not imported .*allow_plugins=True"):
            other.fit(X, y)
    save_model(model, tmp_path / "again")
    assert load_model(tmp_path / "again", allow_plugins=True).leaf == given
    # A name is a name, once it is allowed.
    save_model(forest.set_params(leaf="median").fit(X, y), tmp_path / "model")
    assert load_model(tmp_path / "model").leaf == SavedPart("leaf", "median", None)
    assert load_model(tmp_path / "model", allow_plugins=True).leaf == "median"


def test_pruning_keeps_the_models_of_leaves(median):
    X, y = load_diabetes(return_X_y=True)
    tree = ObliqueTreeRegressor(max_depth=4, leaf=median.MedianFitter(), random_state=0).fit(X, y)
    alphas, _ = pruning_path(tree.tree_)
    pruned = prune_tree(tree.tree_, alphas[len(alphas) // 2])
    assert 1 < pruned.node_count < tree.tree_.node_count
    assert pruned.leaf_median.shape == (pruned.node_count, 1)


def test_what_does_not_fit_is_refused(median):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="medians are for regression"):
        ObliqueTreeClassifier(leaf=median.MedianFitter()).fit(X, y > y.mean())
    with pytest.raises(ValueError, match="monotonic_cst cannot be honoured by leaf=MedianFitter"):
        ObliqueTreeRegressor(
            splitter="axis", monotonic_cst=[1] + [0] * 9, leaf=median.MedianFitter()
        ).fit(X, y)
    with pytest.raises(TypeError, match="expected a subclass of LeafModel"):
        register_leaf(median.MedianFitter)
    with pytest.raises(TypeError, match="expected a subclass of LeafFitter"):
        register_fitter(median.MedianLeaf)
    with pytest.raises(ValueError, match="fits 'linear' leaves already"):
        register_fitter(LinearFitter)
    homeless = type("Homeless", (median.MedianFitter,), {"kind": None})
    with pytest.raises(ValueError, match=r"Homeless\.kind is None; expected a kind of leaf"):
        register_fitter(homeless)
    for name in (None, "linear", "constant"):
        usurper = type("LinearLeaf", (median.MedianLeaf,), {"name": name})
        with pytest.raises(ValueError, match=r"name is None|there are leaves called"):
            register_leaf(usurper)
