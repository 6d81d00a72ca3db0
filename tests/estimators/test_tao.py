"""TAO trees and forests behind scikit-learn's interface."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from obtree import (
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    tao_path,
)

CLASSIFIERS = [
    TAOTreeClassifier(max_depth=3, random_state=0),
    TAOTreeClassifier(init="random", max_depth=3, random_state=0),
    TAOTreeClassifier(init="random", leaf="linear", max_depth=2, random_state=0),
    TAOForestClassifier(3, random_state=0),
]
REGRESSORS = [
    TAOTreeRegressor(min_samples_leaf=1, max_depth=5, random_state=0),
    TAOTreeRegressor(leaf="linear", min_samples_leaf=1, max_depth=3, random_state=0),
    TAOForestRegressor(3, random_state=0),
]


def list_expected_failures(estimator):
    """Checks that random draws of rows, which weights do not change, cannot pass."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if hasattr(estimator, "n_estimators"):
        return dict.fromkeys(checks, "a bootstrap draws rows, not weights")
    failures = {}
    if estimator.init == "random":
        failures["check_class_weight_classifiers"] = "random planes have no least weight of leaves"
    if hasattr(estimator, "class_weight") and estimator.leaf == "linear":
        failures |= dict.fromkeys(checks, "small batches hold rows, not weights")
    return failures


@parametrize_with_checks(CLASSIFIERS + REGRESSORS, expected_failed_checks=list_expected_failures)
def test_conformance(estimator, check):
    check(estimator)


def load(estimator):
    """Data of the estimator's task."""
    return (load_iris if hasattr(estimator, "class_weight") else load_diabetes)(return_X_y=True)


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=repr)
def test_threads_pickles_and_absent_rows(estimator):
    X, y = load(estimator)
    model = clone(estimator).fit(X, y)
    expected = model.predict(X)
    assert model.score(X, y) > (0.9 if hasattr(estimator, "class_weight") else 0.4)
    np.testing.assert_array_equal(
        clone(estimator).set_params(n_jobs=3).fit(X, y).predict(X), expected
    )
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    doubled = np.concatenate([X, X[::-1] + 7.0])
    weight = np.concatenate([np.ones(len(X)), np.zeros(len(X))])
    absent = clone(estimator).fit(doubled, np.concatenate([y, y]), weight)
    np.testing.assert_array_equal(absent.predict(X), expected)


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS, ids=repr)
def test_missing_values(estimator):
    X, y = load(estimator)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    model = clone(estimator).fit(X, y)
    assert model.score(X, y) > (0.8 if hasattr(estimator, "class_weight") else 0.3)
    trees = [model] if hasattr(model, "tree_") else model.estimators_
    for tree in trees:
        counts = np.bincount(tree.tree_.apply(X), minlength=tree.tree_.node_count)
        leaves = tree.tree_.children_left < 0
        np.testing.assert_array_equal(counts[leaves], tree.tree_.n_node_samples[leaves])


def test_starts():
    X, y = load_iris(return_X_y=True)
    start = ObliqueTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for init in ("random", "oc1", start, start.tree_):
        model = TAOTreeClassifier(init=init, max_depth=3, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="needs max_depth"):
        TAOTreeClassifier(init="random", max_depth=None).fit(X, y)
    with pytest.raises(ValueError, match="unknown init"):
        TAOTreeClassifier(init="nonsense").fit(X, y)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_many_features(leaf, shift):
    """Whether or not rows can be kept as bytes, training and prediction agree."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (600, 140)).astype(np.uint8)
    X[:, 5] = 3
    latent = X[:, :70].mean(axis=1) - X[:, 70:].mean(axis=1)
    y = np.digitize(latent, np.quantile(latent, [0.3, 0.7]))
    model = TAOTreeClassifier(init="random", max_depth=4, leaf=leaf, random_state=0)
    model.fit(X + shift, y)
    assert (np.diff(model.objective_) <= 0).all()
    assert model.objective_[-1] < 0.8 * model.objective_[0]
    tree = model.tree_
    counts = np.bincount(tree.apply((X + shift).astype(np.float32)), minlength=tree.node_count)
    leaves = tree.children_left < 0
    np.testing.assert_array_equal(counts[leaves], tree.n_node_samples[leaves])
    if shift == 0.0:
        # The type that the values come in changes nothing: bytes are read as they are.
        assert X.dtype == np.uint8
        whole = clone(model).fit(X, y)
        np.testing.assert_array_equal(whole.objective_, model.objective_)
        np.testing.assert_array_equal(whole.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(whole.feature_importances_, model.feature_importances_)


def test_leaf_size_by_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 225))
    y = rng.integers(0, 3, 900)
    small = TAOForestClassifier(2, n_iter=1, init="axis", random_state=0)
    chosen = clone(small).fit(X, y)
    given = clone(small).set_params(min_samples_leaf=5).fit(X, y)
    fewer = clone(small).set_params(min_samples_leaf=1).fit(X, y)
    np.testing.assert_array_equal(chosen.predict_proba(X), given.predict_proba(X))
    assert (chosen.predict_proba(X) != fewer.predict_proba(X)).any()
    # Too few rows for leaves of five.
    few = clone(small).fit(X[:150], y[:150])
    same = clone(small).set_params(min_samples_leaf=1).fit(X[:150], y[:150])
    np.testing.assert_array_equal(few.predict_proba(X), same.predict_proba(X))
    with pytest.raises(ValueError, match="min_samples_leaf"):
        clone(small).set_params(min_samples_leaf="some").fit(X, y)
    # Linear leaves have a model of all features, and a quarter as many rows.
    small.set_params(leaf="linear")
    chosen = clone(small).fit(X[:, :32], y)
    given = clone(small).set_params(min_samples_leaf=8).fit(X[:, :32], y)
    fewer = clone(small).set_params(min_samples_leaf=2).fit(X[:, :32], y)
    np.testing.assert_array_equal(chosen.predict_proba(X[:, :32]), given.predict_proba(X[:, :32]))
    assert (chosen.predict_proba(X[:, :32]) != fewer.predict_proba(X[:, :32])).any()


def test_start_by_features():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    for n_features, init in ((128, "random_oblique"), (129, "axis")):
        X = rng.normal(size=(300, n_features))
        chosen = TAOForestClassifier(2, n_iter=1, random_state=0).fit(X, y)
        given = TAOForestClassifier(2, n_iter=1, init=init, random_state=0).fit(X, y)
        np.testing.assert_array_equal(chosen.predict_proba(X), given.predict_proba(X))


def make_classes(n_features, n_rows=300):
    """Three classes that linear leaves tell apart, not without errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (X[:, :3] + rng.normal(size=(n_rows, 3))).argmax(axis=1)


@pytest.mark.parametrize(
    ("leaf", "n_features", "combine"),
    [
        ("linear", 129, "average"),
        ("linear", 128, "product"),
        ("constant", 129, "product"),
    ],
)
def test_trees_are_combined_by_leaves_and_features(leaf, n_features, combine):
    X, y = make_classes(n_features)
    model = TAOForestClassifier(3, leaf=leaf, n_iter=1, random_state=0).fit(X[:200], y[:200])
    chosen, classes = model.predict_proba(X), model.predict(X)
    assert model.combine == "auto"
    shared = clone(model).set_params(n_jobs=2).fit(X[:200], y[:200])
    np.testing.assert_array_equal(shared.predict_proba(X), chosen)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), chosen)
    for rule in ("average", "product", "vote"):
        model.set_params(combine=rule)
        assert np.array_equal(model.predict_proba(X), chosen) == (rule == combine)
        if rule == combine:
            np.testing.assert_array_equal(model.predict(X), classes)


@pytest.mark.parametrize(("n_features", "same"), [(128, True), (129, False)])
def test_leaves_of_many_features_are_fitted_closely_in_forests(n_features, same):
    X, y = make_classes(n_features)
    params = {"leaf": "linear", "init": "axis", "max_depth": 1, "l1": 0.0, "n_iter": 1}
    params |= {"min_samples_leaf": 100, "max_features": None}
    forest = TAOForestClassifier(1, bootstrap=False, random_state=0, **params).fit(X, y)
    seed = forest.estimators_[0].random_state
    ours, alone = forest.estimators_[0].tree_, TAOTreeClassifier(random_state=seed, **params)
    alone = alone.fit(X, y).tree_
    assert np.array_equal(ours.leaf_weight, alone.leaf_weight) == same
    if not same:
        assert np.abs(ours.leaf_weight).sum() > 1.5 * np.abs(alone.leaf_weight).sum()


@pytest.mark.parametrize(
    ("n_features", "n_rows", "max_depth", "init"),
    [
        (128, 2600, 2, "axis"),
        (129, 2579, 2, "axis"),
        (129, 2580, 2, "random"),
        (129, 2580, 25, "axis"),
        (129, 2580, None, "axis"),
    ],
)
def test_start_of_a_tree_by_rows_and_features(n_features, n_rows, max_depth, init):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    small = TAOTreeClassifier(n_iter=1, max_depth=max_depth, random_state=0)
    chosen = clone(small).fit(X, y)
    given = clone(small).set_params(init=init).fit(X, y)
    np.testing.assert_array_equal(chosen.predict_proba(X), given.predict_proba(X))
    assert chosen.init == "auto"
    if init == "random":
        # Rows that are set aside are not learnt from; random planes have no least weight.
        for change in ({"n_iter_no_change": 1}, {"min_weight_fraction_leaf": 0.01}):
            chosen = clone(small).set_params(**change).fit(X, y)
            given = clone(small).set_params(init="axis", **change).fit(X, y)
            np.testing.assert_array_equal(chosen.predict_proba(X), given.predict_proba(X))


@pytest.mark.parametrize(("load", "least"), [(load_wine, 0.87), (load_iris, 0.93)])
def test_a_tree_learns_small_tables(load, least):
    X, y = load(return_X_y=True)
    scores = []
    for seed in range(3):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        scores.extend(cross_val_score(TAOTreeClassifier(random_state=seed), X, y, cv=folds))
    assert np.mean(scores) > least


def test_early_stopping():
    X, y = load_iris(return_X_y=True)
    model = TAOTreeClassifier(
        max_depth=4, n_iter=30, n_iter_no_change=1, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    assert len(model.objective_) < 30
    assert model.tree_.n_node_samples[0] == 105


def test_several_outputs():
    X, y = load_diabetes(return_X_y=True)
    Y = np.stack([y, -2 * y + X[:, 0]], axis=1)
    for leaf in ("constant", "linear"):
        model = TAOForestRegressor(3, leaf=leaf, random_state=0).fit(X, Y)
        assert model.predict(X).shape == Y.shape
        assert model.score(X, Y) > 0.4
    with pytest.raises(ValueError, match="expects one"):
        TAOTreeClassifier().fit(X, np.stack([y > 100, y > 200], axis=1))


def test_a_path_of_penalties():
    X, y = load_iris(return_X_y=True)
    models = tao_path(TAOTreeClassifier(max_depth=3, random_state=0), X, y, [10.0, 0.01])
    assert [model.l1 for model in models] == [0.01, 10.0]
    assert len(models[1].tree_.term_weight) < len(models[0].tree_.term_weight)
    with pytest.raises(TypeError, match="TAO"):
        tao_path(ObliqueTreeClassifier(), X, y, [1.0])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_samples": 0.5, "bootstrap": False}, "cannot be set if bootstrap=False"),
        ({"combine": "best"}, "combine"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"l1": -1}, "l1=-1 is not valid; expected a number >= 0"),
    ],
)
def test_wrong_parameters_of_forests(params, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        TAOForestClassifier(**({"n_estimators": 2} | params)).fit(X, y)
