"""Errors by number of trees, and races, as pictures."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from obtree import (
    NonGreedyForestClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOTreeClassifier,
)
from obtree.plot import plot_convergence, plot_race


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["m", "b"])[y]
    return X[:300], labels[:300], X[300:], labels[300:]


def read(ax, number=-1):
    return (np.asarray(values, dtype=float) for values in ax.lines[number].get_data())


@pytest.mark.parametrize("combine", ["average", "product", "vote"])
def test_errors_are_those_of_smaller_forests(cancer, combine):
    X, y, new, truth = cancer
    params = {"splitter": "axis", "combine": combine, "random_state": 0}
    forest = ObliqueForestClassifier(20, **params).fit(X, y)
    at, errors = read(plot_convergence(forest, new, truth, n_points=6))
    assert at[0] == 1
    assert at[-1] == 20
    for n_trees, error in zip(at.astype(int), errors, strict=True):
        small = ObliqueForestClassifier(n_trees, **params).fit(X, y)
        assert error == pytest.approx(1 - small.score(new, truth), abs=1e-12)
    assert forest.predict(new).shape == truth.shape  # as it was


@pytest.mark.parametrize("combine", ["average", "product", "vote"])
def test_out_of_bag_errors_of_classes(cancer, combine):
    X, y, _, _ = cancer
    forest = ObliqueForestClassifier(
        60, splitter="axis", combine=combine, oob_score=True, random_state=0
    ).fit(X, y)
    ax = plot_convergence(forest, X, y, out_of_bag=True, label="axis")
    at, errors = read(ax)
    assert at[-1] == 60
    assert errors[-1] == pytest.approx(1 - forest.oob_score_, abs=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("trees", "error rate")
    assert ax.lines[-1].get_label() == "axis"
    again = plot_convergence(forest, *cancer[2:], ax=ax)
    assert again is ax
    assert len(ax.lines) == 2


def test_out_of_bag_errors_of_numbers():
    X, y = load_diabetes(return_X_y=True)
    forest = ObliqueForestRegressor(
        60, splitter="axis", bootstrap=True, oob_score=True, random_state=0
    ).fit(X, y)
    ax = plot_convergence(forest, X, y, out_of_bag=True)
    _, errors = read(ax)
    expected = np.sqrt(np.mean((forest.oob_prediction_ - y) ** 2))
    assert errors[-1] == pytest.approx(expected)
    assert ax.get_ylabel() == "root mean squared error"


def test_a_race_with_chains_and_a_metric_of_the_user(cancer):
    X, y, new, truth = cancer
    forest = ObliqueForestClassifier(12, random_state=0).fit(X, y)

    def share_of_m(truth, predicted):
        return np.mean(predicted == "m")

    ax = plot_convergence(forest, new, truth, metric=share_of_m)
    _, errors = read(ax)
    assert errors[-1] == np.mean(forest.predict(new) == "m")
    assert ax.get_ylabel() == "share of m"


def test_objectives():
    X, y = load_iris(return_X_y=True)
    tree = TAOTreeClassifier(random_state=0).fit(X, y)
    at, curve = read(plot_convergence(tree))
    np.testing.assert_array_equal(curve, tree.objective_)
    assert at[0] == 0
    forest = NonGreedyForestClassifier(3, random_state=0).fit(X, y)
    assert len(plot_convergence(forest, label="trees").lines) == 3


def test_refusals(cancer):
    X, y, new, truth = cancer
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X and y must be given together"):
        plot_convergence(forest, X)
    with pytest.raises(ValueError, match="out_of_bag=True needs the training rows; expected X"):
        plot_convergence(forest, out_of_bag=True)
    with pytest.raises(ValueError, match="out_of_bag=True needs the 300 rows that the forest"):
        plot_convergence(forest, new, truth, out_of_bag=True)
    with pytest.raises(ValueError, match="out_of_bag=True needs the rows that the forest was"):
        plot_convergence(forest, X[::-1], y[::-1], out_of_bag=True)
    taos = TAOForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="out_of_bag=True is not available for this TAOForest"):
        plot_convergence(taos, X, y, out_of_bag=True)
    with pytest.raises(TypeError, match="expected a fitted optimised tree with objective_"):
        plot_convergence(forest)
    with pytest.raises(TypeError, match="expected a fitted forest that predicts"):
        plot_convergence(forest.estimators_[0], X, y)
    with pytest.raises(TypeError, match="metric=3 is not valid"):
        plot_convergence(forest, X, y, metric=3)
    with pytest.raises(ValueError, match="y has 2 rows; expected 269, as X has"):
        plot_convergence(forest, new, truth[:2])
    whole = ObliqueForestClassifier(3, splitter="axis", bootstrap=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="every tree has seen every row"):
        plot_convergence(whole, X, y, out_of_bag=True)


def test_a_race_is_a_picture_of_its_table(cancer):
    forest = ObliqueForestClassifier(30, random_state=0).fit(*cancer[:2])
    ax = plot_race(forest)
    table = forest.race_
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert sorted(names) == sorted(table["setting"])
    rest, won = (collection.get_offsets() for collection in ax.collections[1:])
    points = {names[int(y)]: x for x, y in [*rest, *won]}
    for name, error in zip(table["setting"], table["error"], strict=True):
        assert points[name] == pytest.approx(error)
    shown = [text.get_text() for text in ax.texts]
    parts = [fraction for fraction in table["fraction"] if fraction > 0]
    assert sorted(shown) == sorted(f"{100 * part:.0f} %" for part in parts)
    assert len(won) == len(parts)
    assert [points[name] for name in names] == sorted(table["error"])


def test_a_short_race_keeps_the_winners(cancer):
    forest = ObliqueForestClassifier(30, random_state=0).fit(*cancer[:2])
    n_won = sum(fraction > 0 for fraction in forest.race_["fraction"])
    ax = plot_race(forest, max_settings=n_won)
    assert len(ax.texts) == n_won
    with pytest.raises(ValueError, match="max_settings=0 is not valid"):
        plot_race(forest, max_settings=0)
    with pytest.raises(TypeError, match="expected a fitted estimator with race_"):
        plot_race(forest.estimators_[0])


def test_races_of_trees_and_of_one_setting(cancer):
    X, y = cancer[:2]
    tree = ObliqueTreeClassifier(splitter="auto", random_state=0).fit(X, y)
    ax = plot_race(tree)
    assert [text.get_text() for text in ax.texts] == ["100 %"]
    assert ax.get_xlabel() == "error on rows left out"
    forest = ObliqueForestClassifier(3, splitter=["axis"], random_state=0).fit(X, y)
    assert len(plot_race(forest).get_yticklabels()) == len(forest.race_["setting"])
