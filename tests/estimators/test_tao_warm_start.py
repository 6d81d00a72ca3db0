"""A forest of TAO trees goes on from those it has."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from obtree import TAOForestClassifier, TAOForestRegressor, load_model, save_model


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 5, n_informative=3, random_state=0)


def assert_same(left, right, X):
    assert len(left.estimators_) == len(right.estimators_)
    for a, b in zip(left.estimators_, right.estimators_, strict=True):
        assert a.random_state == b.random_state
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
        np.testing.assert_array_equal(a.tree_.value, b.tree_.value)
    np.testing.assert_array_equal(left.predict(X), right.predict(X))


@pytest.mark.parametrize(
    "params",
    [{}, {"n_iter_no_change": 1}, {"leaf": "linear"}, {"init": "random", "max_depth": 3}],
    ids=str,
)
@pytest.mark.parametrize("kind", [TAOForestClassifier, TAOForestRegressor])
def test_two_steps_are_one(data, kind, params):
    X, y = data
    once = kind(5, n_iter=2, random_state=3, **params).fit(X, y)
    twice = clone(once).set_params(n_estimators=2, warm_start=True).fit(X, y)
    first = list(twice.estimators_)
    twice.set_params(n_estimators=5).fit(X, y)
    assert all(a is b for a, b in zip(first, twice.estimators_, strict=False))
    assert_same(twice, once, X)
    for a, b in zip(twice.objective_, once.objective_, strict=True):
        np.testing.assert_array_equal(a, b)
    if kind is TAOForestRegressor:
        np.testing.assert_array_equal(
            twice.predict(X, quantiles=[0.1, 0.9]), once.predict(X, quantiles=[0.1, 0.9])
        )


def test_no_warm_start_begins_anew(data):
    X, y = data
    model = TAOForestClassifier(2, n_iter=1, random_state=0).fit(X, y)
    first = model.estimators_[0]
    assert model.fit(X, y).estimators_[0] is not first


def test_without_a_seed(data):
    X, y = data
    model = TAOForestClassifier(2, n_iter=1, warm_start=True).fit(X, y)
    model.set_params(n_estimators=4).fit(X, y)
    assert len({tree.random_state for tree in model.estimators_}) == 4


def test_fitted_starts_go_on_in_order(data):
    X, y = data
    starts = TAOForestClassifier(4, n_iter=1, random_state=1).fit(X, y)
    once = TAOForestClassifier(4, init=starts, n_iter=1, random_state=0).fit(X, y)
    twice = clone(once, safe=False).set_params(init=starts.estimators_[0], n_estimators=1)
    twice.set_params(warm_start=True).fit(X, y)
    twice.set_params(init=starts, n_estimators=4).fit(X, y)
    assert_same(twice, once, X)


def test_from_files(data, tmp_path):
    X, y = data
    model = TAOForestClassifier(2, n_iter=1, warm_start=True, random_state=0).fit(X, y)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model").set_params(n_estimators=4).fit(X, y)
    model.set_params(n_estimators=4).fit(X, y)
    assert_same(same, model, X)
    assert same.objective_[:2] == [None, None]
    assert len(same.objective_[3]) > 0


def test_offsets_stay(data):
    X, y = data
    X = X + 1e9
    once = TAOForestClassifier(4, n_iter=1, random_state=0).fit(X, y)
    twice = clone(once).set_params(n_estimators=2, warm_start=True).fit(X, y)
    assert_same(twice.set_params(n_estimators=4).fit(X, y), once, X)


def test_what_cannot_go_on(data):
    X, y = data
    model = TAOForestClassifier(3, n_iter=1, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"n_estimators=2 must be larger or equal to len"):
        model.set_params(n_estimators=2).fit(X, y)
    model.set_params(n_estimators=4)
    with pytest.raises(ValueError, match="the same classes, as in the first fit"):
        model.fit(X, y + 1)
    with pytest.raises(ValueError, match="as many columns"):
        model.fit(X[:, :3], y)
    model.set_params(n_estimators=3)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_estimators=4).fit(X, y)
    assert len(model.estimators_) == 4
    with pytest.raises(ValueError, match=r"warm_start='yes' is not valid|unknown warm_start"):
        model.set_params(warm_start="yes").fit(X, y)
