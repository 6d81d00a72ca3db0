"""Disjunctive normal trees and forests as users see them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import NotFittedError

from obtree import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    load_model,
    save_model,
)

KINDS = [
    DisjunctiveTreeClassifier(n_epochs=4, random_state=0),
    DisjunctiveForestClassifier(3, n_epochs=4, random_state=0),
]


@pytest.fixture(params=KINDS, ids=lambda kind: type(kind).__name__)
def model(request):
    """An unfitted estimator: one tree, then a forest."""
    return clone(request.param)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def forms(model):
    """The fitted weights."""
    return [form.weight for form in model._list_trees()]


def test_the_descent_beats_the_forest_it_starts_from():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 1000), slice(1000, None)
    start = ObliqueForestClassifier(5, splitter="axis", random_state=0).fit(X[train], y[train])
    soft = DisjunctiveForestClassifier(5, n_epochs=10, random_state=0).fit(X[train], y[train])
    assert soft.score(X[test], y[test]) > start.score(X[test], y[test]) + 0.03
    for curve in soft.objective_:
        assert curve.shape == (10,)
        assert curve[-1] < 0.5 * curve[0]


def test_the_start_is_the_greedy_forest(iris):
    X, y = iris
    hard = ObliqueForestClassifier(4, splitter="axis", random_state=3).fit(X, y)
    steep = {"steepness": 1e6, "max_steepness": 1e6, "n_epochs": 1, "learning_rate": 1e-9}
    grown = DisjunctiveForestClassifier(4, random_state=3, combine="vote", **steep).fit(X, y)
    given = DisjunctiveForestClassifier(4, init=hard, combine="vote", **steep).fit(X, y)
    expected = clone(hard).set_params(combine="vote").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(grown.predict_proba(X), expected)
    np.testing.assert_allclose(given.predict_proba(X), expected)


def test_probabilities(model, iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    model.fit(X, names[y])
    proba = model.predict_proba(X)
    assert proba.shape == (150, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), names[proba.argmax(axis=1)])
    assert model.score(X, names[y]) > 0.95


def test_two_classes_have_one_function():
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = DisjunctiveTreeClassifier(random_state=0).fit(X, y)
    assert len(model.form_.root) == 1
    assert model.score(X, y) > 0.97
    shared = DisjunctiveTreeClassifier(shared_weights=True, random_state=0).fit(X, y)
    assert shared.form_.n_units > 0
    assert not shared.form_.complement
    assert shared.score(X, y) > 0.97


def test_one_class():
    X = np.arange(12.0).reshape(6, 2)
    model = DisjunctiveForestClassifier(2).fit(X, ["a"] * 6)
    assert model.predict(X).tolist() == ["a"] * 6
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((6, 1)))


def test_threads_change_nothing(iris):
    X, y = iris
    one, two = (
        DisjunctiveForestClassifier(5, n_epochs=3, n_jobs=n, random_state=0).fit(X, y)
        for n in (1, 2)
    )
    for a, b in zip(forms(one), forms(two), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert forms(other)[0].shape != forms(one)[0].shape or (forms(other)[0] != forms(one)[0]).any()


def test_scale_of_features_and_weights_does_not_matter(iris):
    X, y = iris
    model = DisjunctiveTreeClassifier(n_epochs=3, random_state=0).fit(X, y)
    scaled = clone(model).fit(X * 1024.0, y)
    heavy = clone(model).fit(X, y, np.full(150, 4.0))
    for other in (scaled, heavy):
        np.testing.assert_allclose(other.form_.weight, model.form_.weight, atol=1e-4)


def test_zero_weights_are_absent_rows(model, iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    kept = weight > 0
    a = clone(model).fit(X, y, weight)
    b = clone(model).fit(X[kept], y[kept], weight[kept])
    for one, other in zip(forms(a), forms(b), strict=True):
        np.testing.assert_array_equal(one, other)
    unweighted = clone(model).fit(X[kept], y[kept])
    assert (a.predict_proba(X) != unweighted.predict_proba(X)).any()


def test_weights_pull():
    X, y = make_moons(400, noise=0.6, random_state=0)
    model = DisjunctiveTreeClassifier(max_depth=3, n_epochs=10, random_state=0)
    plain = model.fit(X, y).predict(X).mean()
    assert clone(model).fit(X, y, np.where(y == 1, 20.0, 1.0)).predict(X).mean() > plain + 0.1
    assert clone(model).set_params(class_weight={0: 20}).fit(X, y).predict(X).mean() < plain - 0.1


def test_missing_values(model, iris):
    X, y = iris
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert all(np.isfinite(weight).all() for weight in forms(model))
    filled = np.where(np.isnan(X), model._list_trees()[0].mean, X)
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(filled), atol=1e-4)


def test_early_stopping_keeps_the_best_epoch():
    X, y = make_moons(300, noise=0.5, random_state=0)
    long = DisjunctiveTreeClassifier(n_epochs=200, random_state=0, learning_rate=0.05)
    stopped = clone(long).set_params(n_iter_no_change=2).fit(X, y)
    assert 2 <= len(stopped.objective_) < 200
    # Less progress than tol never counts, so the descent ends at once.
    none = clone(long).set_params(n_iter_no_change=1, tol=10.0).fit(X, y)
    assert len(none.objective_) == 1


def test_pickle_and_model_files(model, iris, tmp_path):
    X, y = iris
    model.fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    path = tmp_path / "model.obtree"
    save_model(model, path)
    same = load_model(path)
    assert type(same) is type(model)
    assert same.get_params() == model.get_params()
    np.testing.assert_array_equal(same.predict_proba(X), expected)


def test_a_model_file_with_foreign_forms_is_refused(iris, tmp_path):
    X, y = iris
    model = DisjunctiveTreeClassifier(n_epochs=1, random_state=0).fit(X, y)
    path = tmp_path / "model.obtree"
    model.form_ = DisjunctiveTreeClassifier(n_epochs=1).fit(X[:, :2], y).form_
    save_model(model, path)
    with pytest.raises(ValueError, match="disagree"):
        load_model(path)
    model = DisjunctiveTreeClassifier(n_epochs=1, random_state=0).fit(X, y)
    model.form_ = DisjunctiveTreeClassifier(n_epochs=1).fit(X[:100], y[:100]).form_
    save_model(model, path)
    with pytest.raises(ValueError, match="disagree"):
        load_model(path)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"n_epochs": 0}, "n_epochs=0"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"batch_size": 1.5}, "batch_size=1.5"),
        ({"steepness": -1}, "steepness=-1"),
        ({"max_steepness": np.nan}, "max_steepness=nan"),
        ({"shared_weights": "no"}, "shared_weights='no'"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change=0"),
        ({"n_iter_no_change": 2, "validation_fraction": 1.0}, "validation_fraction=1.0"),
        ({"class_weight": "balanced_subsample"}, "balanced_subsample"),
        ({"init": "conic"}, "planes"),
        ({"init": "nothing"}, "nothing"),
    ],
)
def test_bad_parameters_are_refused(model, iris, params, text):
    with pytest.raises(ValueError, match=text):
        model.set_params(**params).fit(*iris)
    with pytest.raises(NotFittedError):
        model.predict(iris[0])


def test_forests_refuse_what_only_they_have(iris):
    with pytest.raises(ValueError, match="combine 'product'"):
        DisjunctiveForestClassifier(2, combine="product").fit(*iris)
    with pytest.raises(ValueError, match="bootstrap=3"):
        DisjunctiveForestClassifier(2, bootstrap=3).fit(*iris)
    with pytest.raises(ValueError, match="one"):
        DisjunctiveTreeClassifier().fit(iris[0], np.stack([iris[1]] * 2, axis=1))


def test_what_needs_hard_paths_does_not_exist(model, iris):
    model.fit(*iris)
    for name in ("apply", "decision_path", "get_depth", "get_n_leaves", "feature_importances_"):
        assert not hasattr(model, name)


def test_starts_from_any_splitter_and_from_a_fitted_tree(iris):
    X, y = iris
    for splitter in ("random_oblique", "oc1", "co2", "axis_random"):
        model = DisjunctiveTreeClassifier(init=splitter, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.95
    tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    model = DisjunctiveTreeClassifier(init=tree, random_state=0).fit(X, y)
    assert model.form_.n_units <= 3 * 3
    assert model.score(X, y) > 0.9
