"""leaf="linear" on trees and forests."""

import json
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.utils.estimator_checks import parametrize_with_checks

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)
from obtree.builder.prune import prune_tree
from obtree.data.scale import find_weight_unit
from obtree.forest.grow import bootstrap_counts
from obtree.forest.leaf_fitter import LinearFitter
from obtree.linear.leaf_solver import fit_leaf
from obtree.testing.growth import find_differences, hash_trees

BOTH = {"leaf": "linear", "random_state": 0}


@pytest.fixture(scope="module")
def real():
    return make_friedman1(300, n_features=6, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def classes():
    return make_classification(
        300, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.1, random_state=0
    )


def check_models(tree, X, y, w, n_classes=None, l2=1.0):
    """Every leaf holds what `fit_leaf` finds for its rows, or is constant for a reason."""
    X = X.astype(np.float32)
    leaves = tree.apply(X)
    n_linear = 0
    for leaf in np.flatnonzero(tree.children_left < 0):
        rows = (leaves == leaf) & (w > 0)
        terms = slice(tree.leaf_ptr[leaf], tree.leaf_ptr[leaf + 1])
        if w[rows].sum() < 10 or (n_classes and len(np.unique(y[rows])) == 1):
            assert terms.start == terms.stop
            continue
        weight, intercept = fit_leaf(X[rows], y[rows], w[rows], n_classes=n_classes, l2=l2)
        used = weight.any(axis=1)
        np.testing.assert_array_equal(tree.leaf_feature[terms], np.flatnonzero(used))
        np.testing.assert_array_equal(tree.leaf_weight[terms], weight[used])
        np.testing.assert_array_equal(tree.leaf_intercept[leaf], intercept)
        n_linear += 1
    assert n_linear > 2


def test_leaves_of_a_tree_are_fitted_to_its_rows(real, classes):
    X, y = real
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    tree = ObliqueTreeRegressor(max_leaf_nodes=9, leaf_l2=3.0, **BOTH).fit(X, y, w)
    # The penalty is three rows, and a row weighs what it does on average.
    check_models(tree.tree_, X, y, w / find_weight_unit(w), l2=3.0)
    X, y = classes
    tree = ObliqueTreeClassifier(max_leaf_nodes=9, **BOTH).fit(X, y)
    check_models(tree.tree_, X, y, np.ones(len(y)), [3])


def test_leaves_of_a_forest_are_fitted_to_its_bags(real, classes):
    for (X, y), kind, n_classes in (
        (real, ObliqueForestRegressor, None),
        (classes, ObliqueForestClassifier, [3]),
    ):
        forest = kind(4, splitter="axis", max_depth=3, bootstrap=True, **BOTH).fit(X, y)
        for tree in forest.estimators_:
            counts = bootstrap_counts(tree.random_state, len(y), len(y)).astype(float)
            check_models(tree.tree_, X, y, counts, n_classes)


def test_growth_is_that_of_constant_leaves(real):
    X, y = real
    linear = ObliqueForestRegressor(5, splitter="axis", min_samples_leaf=15, **BOTH).fit(X, y)
    constant = clone(linear).set_params(leaf="constant").fit(X, y)
    for one, other in zip(linear.estimators_, constant.estimators_, strict=True):
        names = ["leaf_ptr", "leaf_feature", "leaf_weight", "leaf_intercept"]
        assert find_differences(one.tree_, other.tree_) == names
    assert linear.score(X, y) > constant.score(X, y)


def test_models_are_fitted_after_pruning(real):
    X, y = real
    pruned = ObliqueTreeRegressor(min_samples_leaf=15, ccp_alpha=0.5, **BOTH).fit(X, y)
    full = clone(pruned).set_params(ccp_alpha=0.0).fit(X, y)
    assert 2 < pruned.get_n_leaves() < full.get_n_leaves()
    check_models(pruned.tree_, X, y, np.ones(len(y)))
    by_hand = prune_tree(full.tree_, 0.5)
    assert by_hand.node_count == pruned.tree_.node_count
    path = pruned.cost_complexity_pruning_path(X, y)
    assert len(path.ccp_alphas) > 2


@pytest.mark.parametrize("combine", ["average", "vote", "product"])
def test_forests_of_any_size_and_threads_are_the_same(classes, combine):
    X, y = classes
    options = {"max_depth": 3, "combine": combine, "bootstrap": True, "oob_score": True, **BOTH}
    one = ObliqueForestClassifier(6, n_jobs=1, **options).fit(X, y)
    many = ObliqueForestClassifier(6, n_jobs=3, **options).fit(X, y)
    grown = ObliqueForestClassifier(2, warm_start=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown.fit(X, y).set_params(n_estimators=6).fit(X, y)
    for other in (many, grown):
        assert hash_trees(other._list_trees()) == hash_trees(one._list_trees())
        np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))
        np.testing.assert_array_equal(other.oob_decision_function_, one.oob_decision_function_)
        assert other.oob_score_ == one.oob_score_
    assert all(tree.tree_.has_linear_leaves for tree in one.estimators_)
    assert one.oob_score_ > 0.7
    np.testing.assert_allclose(one.predict_proba(X).sum(axis=1), 1.0)


def test_out_of_bag_predictions_use_the_models(real):
    X, y = real
    params = {"splitter": "axis", "max_depth": 3, "oob_score": True}
    forest = ObliqueForestRegressor(30, **params, **BOTH).fit(X, y)
    row = 17
    trees = [
        tree
        for tree in forest.estimators_
        if bootstrap_counts(tree.random_state, len(y), len(y))[row] == 0
    ]
    mean = np.mean([tree.predict(X[row : row + 1]) for tree in trees])
    np.testing.assert_allclose(forest.oob_prediction_[row], mean)


def test_several_outputs(real, classes):
    X, y = real
    Y = np.stack([y, -2 * y + 1], axis=1)
    tree = ObliqueTreeRegressor(max_depth=3, **BOTH).fit(X, Y)
    found = tree.predict(X)
    assert found.shape == Y.shape
    np.testing.assert_allclose(found[:, 1], -2 * found[:, 0] + 1, rtol=1e-8)
    X, y = classes
    Y = np.stack([y, y == 0], axis=1)
    forest = ObliqueForestClassifier(5, max_depth=3, **BOTH).fit(X, Y)
    three, two = forest.predict_proba(X)
    assert three.shape == (300, 3)
    assert two.shape == (300, 2)
    np.testing.assert_allclose(two.sum(axis=1), 1.0)


def test_models_survive_pickles_and_files(tmp_path, classes, real):
    for (X, y), kind in ((classes, ObliqueForestClassifier), (real, ObliqueForestRegressor)):
        # A bag of which no leaf is linear stands beside others.
        forest = kind(8, min_samples_leaf=8, leaf_l2=0.5, max_samples=25, **BOTH).fit(X, y)
        kinds = {tree.tree_.has_linear_leaves for tree in forest.estimators_}
        assert True in kinds
        path = tmp_path / "model.obtree"
        save_model(forest, path)
        for again in (load_model(path), pickle.loads(pickle.dumps(forest))):
            assert hash_trees(again._list_trees()) == hash_trees(forest._list_trees())
            np.testing.assert_array_equal(again.predict(X), forest.predict(X))
            assert again.leaf == "linear"
            assert again.leaf_l2 == 0.5


def test_missing_values_fall_back_to_the_constant(real):
    X, y = real
    rng = np.random.default_rng(0)
    X = X.astype(np.float32)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.03] = np.nan
    holes[rng.random(len(X)) < 0.5, 5] = np.nan
    tree = ObliqueTreeRegressor(max_depth=3, **BOTH).fit(holes, y)
    # The feature that half of the rows lack is in no model.
    assert set(tree.tree_.leaf_feature) == {0, 1, 2, 3, 4}
    leaves = tree.apply(holes)
    used = np.zeros((tree.tree_.node_count, 6), dtype=bool)
    owner = np.repeat(np.arange(tree.tree_.node_count), np.diff(tree.tree_.leaf_ptr))
    used[owner, tree.tree_.leaf_feature] = True
    lacks = (np.isnan(holes) & used[leaves]).any(axis=1)
    assert 0.05 < lacks.mean() < 0.3
    np.testing.assert_array_equal(tree.predict(holes)[lacks], tree.tree_.value[leaves[lacks], 0, 0])
    whole = used[leaves].any(axis=1) & ~lacks
    assert whole.mean() > 0.5
    assert (tree.predict(holes)[whole] != tree.tree_.value[leaves[whole], 0, 0]).all()
    # Rows that lack a value take no part in the fit.
    leaf = leaves[whole][0]
    rows = (leaves == leaf) & whole
    weight, _ = fit_leaf(holes[rows][:, used[leaf]], y[rows])
    terms = slice(tree.tree_.leaf_ptr[leaf], tree.tree_.leaf_ptr[leaf + 1])
    np.testing.assert_array_equal(tree.tree_.leaf_weight[terms], weight)


def test_sparse_and_named_features_give_the_same_models(classes):
    X, y = classes
    X = np.where(np.abs(X) < 0.4, 0.0, X).astype(np.float32)
    options = {"max_depth": 3, **BOTH}
    dense = ObliqueForestClassifier(3, **options).fit(X, y)
    for other in (sp.csr_matrix(X), sp.csc_matrix(X)):
        forest = ObliqueForestClassifier(3, **options).fit(other, y)
        assert hash_trees(forest._list_trees()) == hash_trees(dense._list_trees())
        np.testing.assert_array_equal(forest.predict_proba(other), dense.predict_proba(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    forest = ObliqueForestClassifier(3, **options).fit(frame, y)
    assert list(forest.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(forest.predict_proba(frame), dense.predict_proba(X))


def test_zero_weights_and_repeated_rows(real):
    X, y = real
    times = np.random.default_rng(1).integers(0, 3, len(y))
    options = {"max_leaf_nodes": 6, **BOTH}
    weighted = ObliqueTreeRegressor(**options).fit(X, y, times)
    repeated = ObliqueTreeRegressor(**options).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_array_equal(weighted.apply(X), repeated.apply(X))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)


def test_wide_data_use_the_features_of_the_path():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 150))
    y = 3 * X[:, 7] + X[:, 90] * (X[:, 7] > 0)
    tree = ObliqueTreeRegressor(max_depth=2, **BOTH).fit(X, y).tree_
    parents = {
        child: node
        for node in range(tree.node_count)
        for child in (tree.children_left[node], tree.children_right[node])
    }
    n_checked = 0
    for leaf in np.flatnonzero(tree.children_left < 0):
        terms = tree.leaf_feature[tree.leaf_ptr[leaf] : tree.leaf_ptr[leaf + 1]]
        path = set()
        node = leaf
        while node != 0:
            node = parents[node]
            path.add(tree.feature[node])
        if terms.size:
            assert terms.tolist() == sorted(path)
            n_checked += 1
    assert n_checked > 1


def test_classes_may_be_balanced_in_each_bag(classes):
    X, y = classes
    keep = (y != 0) | (np.arange(len(y)) % 6 == 0)
    options = {"max_depth": 2, "bootstrap": True, **BOTH}
    plain = ObliqueForestClassifier(5, **options).fit(X[keep], y[keep])
    balanced = clone(plain).set_params(class_weight="balanced_subsample").fit(X[keep], y[keep])
    assert balanced.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.05


def test_a_forest_without_linear_leaves_says_so():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="leaf='linear' changed nothing"):
        ObliqueTreeClassifier(**BOTH).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ObliqueTreeClassifier(max_depth=1, **BOTH).fit(X, y)
        ObliqueTreeClassifier(**BOTH).fit(X, np.zeros(len(X)))


@pytest.mark.parametrize(
    ("kind", "options", "match"),
    [
        (ObliqueTreeRegressor, {"leaf": "quadratic"}, "unknown leaf 'quadratic'"),
        (
            ObliqueTreeRegressor,
            {"leaf": None},
            "leaf=None is not valid; expected one of 'constant', 'linear'",
        ),
        (ObliqueForestRegressor, {"leaf_l2": 0.0}, "leaf_l2=0.0"),
        (ObliqueForestRegressor, {"leaf_l2": -1}, "leaf_l2=-1"),
        (ObliqueTreeRegressor, {"leaf_l2": np.nan}, "leaf_l2=nan"),
        (ObliqueTreeRegressor, {"leaf_l2": np.inf}, "leaf_l2=inf"),
        (ObliqueTreeRegressor, {"leaf_l2": "1"}, "leaf_l2='1'"),
        (ObliqueTreeRegressor, {"criterion": "absolute_error"}, "squared errors"),
        (ObliqueForestRegressor, {"criterion": "poisson"}, "squared errors"),
        (
            ObliqueForestRegressor,
            {"leaf": LinearFitter(l2=2.0), "criterion": "poisson"},
            "squared errors",
        ),
        (ObliqueTreeRegressor, {"monotonic_cst": [1, 0]}, "monotonic_cst cannot be honoured"),
        (ObliqueForestClassifier, {"monotonic_cst": [0, -1]}, "monotonic_cst cannot"),
    ],
)
def test_what_makes_no_sense_is_refused(kind, options, match):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(ValueError, match=match):
        kind(**{**BOTH, **options}).fit(X, y)


def list_expected_failures(estimator):
    if not hasattr(estimator, "n_estimators"):
        return {}
    reason = "a bootstrap draws rows, not weights"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in KINDS}


KINDS = ("dense", "sparse")


@pytest.mark.filterwarnings("ignore:leaf='linear' changed nothing")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks(
    [
        ObliqueTreeClassifier(leaf="linear", max_depth=2),
        ObliqueTreeRegressor(leaf="linear", max_depth=2),
        ObliqueForestClassifier(3, leaf="linear", max_depth=2),
        ObliqueForestRegressor(3, leaf="linear", max_depth=2),
    ],
    expected_failed_checks=list_expected_failures,
)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [ObliqueTreeRegressor, ObliqueForestRegressor])
def test_files_keep_the_parameters_of_an_object(real, tmp_path, kind):
    X, y = real
    model = kind(leaf=LinearFitter(l2=0.125), max_depth=2, random_state=0).fit(X, y)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert again.leaf.l2 == 0.125
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.fit(X, y).predict(X), model.predict(X))


def test_an_object_with_impossible_parameters_is_not_read(real, tmp_path):
    X, y = real
    path = tmp_path / "model"
    model = ObliqueTreeRegressor(leaf=LinearFitter(), max_depth=2, random_state=0).fit(X, y)
    for leaf, message in (
        ({"name": "linear", "params": {"l2": -1.0}}, "leaf 'linear' cannot be made: l2=-1"),
        ({"name": "linear", "params": {"rate": 1.0}}, "leaf 'linear' cannot be made"),
        ({"name": "constant", "params": {}}, "leaf 'constant' cannot be made"),
        ({"name": "linear", "params": 3}, "the parameters of leaf 'linear' are 3"),
        ({"name": None, "params": {}}, "the name of the leaf is None"),
        ({"name": "linear"}, "lacks 'params'"),
        (3, "leaf is 3, expected a name"),
    ):
        save_model(model, path)
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(contents["header.json"])
        header["params"]["leaf"] = leaf
        contents["header.json"] = json.dumps(header)
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        with pytest.raises(ValueError, match=message):
            load_model(path)
