"""What somebody who comes from scikit-learn's random forests expects to find."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression

import obtree
from obtree import (
    DisjunctiveForestClassifier,
    ForestEmbedding,
    NonGreedyForestRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOForestClassifier,
    load_model,
    save_model,
)


@pytest.fixture(scope="module")
def data():
    return make_classification(120, 5, random_state=0)


# Rows of each tree


@pytest.mark.parametrize(
    "params",
    [
        {"splitter": "axis"},
        {"splitter": "axis", "max_samples": 0.5},
        {"splitter": "axis", "bootstrap": False},
        {"splitter": "co2", "oob_score": True},
        {"n_estimators": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_samples_are_those_of_the_roots(data, kind, params):
    X, y = data
    forest = kind(**{"n_estimators": 3, "random_state": 0, **params}).fit(X, y)
    samples = forest.estimators_samples_
    assert len(samples) == len(forest.estimators_)
    for rows, tree in zip(samples, forest.estimators_, strict=True):
        if hasattr(tree, "splitter"):  # TAO trees of a race move rows after the start
            assert tree.tree_.n_node_samples[0] == len(np.unique(rows))
            assert tree.tree_.weighted_n_node_samples[0] == len(rows)
            if kind is ObliqueForestRegressor:
                assert np.isclose(tree.tree_.value[0, 0, 0], y[rows].mean())
            else:
                np.testing.assert_allclose(
                    tree.tree_.value[0, 0], np.bincount(y[rows], minlength=2) / len(rows)
                )


def test_samples_know_rows_of_zero_weight(data):
    X, y = data
    weight = np.arange(120) % 2
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(X, y, weight)
    assert all((rows % 2 == 1).all() and len(rows) == 60 for rows in forest.estimators_samples_)


def test_samples_are_not_in_model_files(data, tmp_path):
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0)
    assert not hasattr(forest, "estimators_samples_")
    save_model(forest.fit(*data), tmp_path / "model")
    with pytest.raises(AttributeError, match="comes from a model file"):
        load_model(tmp_path / "model").estimators_samples_  # noqa: B018


# The template of trees


@pytest.mark.parametrize(
    "forest",
    [
        ObliqueForestClassifier(2, splitter="axis", max_depth=3, random_state=0),
        ObliqueForestRegressor(2, splitter="co2", random_state=0),
        TAOForestClassifier(2, max_depth=3, random_state=0),
        NonGreedyForestRegressor(2, n_epochs=2, random_state=0),
        DisjunctiveForestClassifier(2, n_epochs=2, random_state=0),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_template(data, forest):
    forest = clone(forest)
    assert not hasattr(forest, "estimator_")
    template = forest.fit(*data).estimator_
    assert type(template) is type(forest.estimators_[0])
    seed = forest.estimators_[0].random_state
    params = forest.estimators_[0].get_params()
    assert template.set_params(random_state=seed).get_params() == params


def test_a_race_has_no_template(data):
    forest = ObliqueForestClassifier(4, random_state=0).fit(*data)
    with pytest.raises(AttributeError, match="parameters of several settings"):
        forest.estimator_  # noqa: B018


# Out of bag without bootstraps


def test_out_of_bag_needs_no_second_parameter():
    X, y = make_regression(150, 5, noise=5.0, random_state=0)
    forest = ObliqueForestRegressor(20, splitter="oc1", oob_score=True, random_state=0).fit(X, y)
    assert all(len(rows) == 120 == len(set(rows)) for rows in forest.estimators_samples_)
    expected = np.zeros(150)
    judges = np.zeros(150)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(150), rows)
        expected[out] += tree.predict(X[out])
        judges[out] += 1
    np.testing.assert_allclose(forest.oob_prediction_, expected / judges)
    assert 0.0 < forest.oob_score_ < 1.0
    plain = clone(forest).set_params(oob_score=False).fit(X, y)
    assert plain.estimators_[0].tree_.n_node_samples[0] == 150
    with pytest.raises(ValueError, match="only available if bootstrap=True or 'auto'"):
        forest.set_params(bootstrap=False).fit(X, y)


def test_out_of_bag_of_classes_and_warm_starts(data):
    X, y = data
    forest = ObliqueForestClassifier(20, splitter="co2", oob_score=True, random_state=0).fit(X, y)
    assert 0.5 < forest.oob_score_ <= 1.0
    assert {len(rows) for rows in forest.estimators_samples_} == {96}
    begun = clone(forest).set_params(n_estimators=10, warm_start=True).fit(X, y)
    begun.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(begun.oob_decision_function_, forest.oob_decision_function_)


# Messages


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ObliqueTreeRegressor(criterion="mse"), "it is called 'squared_error' now"),
        (ObliqueForestRegressor(criterion="mae"), "it is called 'absolute_error' now"),
        (
            ObliqueTreeRegressor(criterion="gini"),
            "'gini' here, it is for class.*'squared_error'",
        ),
        (ObliqueTreeClassifier(criterion="squared_error"), "it is for regression.*'gini'"),
        (ObliqueTreeClassifier(criterion="mse"), "unknown criterion 'mse'"),
        (ObliqueTreeClassifier(criterion="ginni"), "Did you mean 'gini'"),
        (ObliqueTreeClassifier(splitter="axes"), "Did you mean 'axis'"),
        (ObliqueForestClassifier(max_features="auto"), "it meant 'sqrt' for classifiers"),
        (ObliqueTreeClassifier(max_features="sqr"), "Did you mean 'sqrt'"),
    ],
)
def test_messages_say_what_to_do(data, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


def test_numbers_are_no_classes(data):
    X, _ = data
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.*ObliqueForestRegressor"):
        ObliqueForestClassifier().fit(X, X[:, 0])


def test_misspelt_parameters():
    with pytest.raises(ValueError, match="Did you mean 'max_depth'"):
        ObliqueForestClassifier().set_params(max_dept=3)
    with pytest.raises(ValueError, match="Valid parameters"):
        ObliqueForestClassifier().set_params(nonsense_of_mine__a=3)


def test_warnings_point_at_the_line_of_the_user(data):
    X, y = data
    forest = ObliqueForestClassifier(2, splitter="axis", oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="do not have OOB scores") as seen:
        forest.fit(X, y)
    assert [warning.filename for warning in seen] == [__file__]
    with pytest.warns(UserWarning, match="column-vector") as seen:
        ObliqueForestClassifier(20, random_state=0).fit(X, y[:, None])
    assert [warning.filename for warning in seen] == [__file__]
    with pytest.warns(UserWarning, match="leaf='linear' changed nothing") as seen:
        ObliqueForestClassifier(3, splitter="axis", leaf="linear").fit(X[:9], y[:9])
    assert [warning.filename for warning in seen] == [__file__]


# Notebooks


def test_pictures_link_to_the_documentation(monkeypatch):
    monkeypatch.setenv("OBTREE_DOCS", "https://docs.local/obtree/")
    page = "https://docs.local/obtree/api/generated/obtree.ObliqueForestClassifier.html"
    assert page in ObliqueForestClassifier()._repr_html_()

    class Own(ObliqueForestClassifier):
        """Of another package, which has pages of its own."""

    assert "docs.local" not in Own()._repr_html_()


def test_every_estimator_has_a_page(monkeypatch):
    monkeypatch.setenv("OBTREE_DOCS", "https://docs.local")
    for name in obtree.__all__:
        kind = getattr(obtree, name)
        if hasattr(kind, "fit"):
            assert f"https://docs.local/api/generated/obtree.{name}.html" in kind()._repr_html_()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_embeddings_are_tables(data, kind):
    package = pytest.importorskip(kind)
    X = pd.DataFrame(data[0], columns=list("abcde"))
    model = ForestEmbedding(2, random_state=0).set_output(transform=kind)
    table = model.fit_transform(X)
    assert isinstance(table, package.DataFrame)
    assert list(table.columns) == list(model.get_feature_names_out())
    assert len(table.columns) == 2
