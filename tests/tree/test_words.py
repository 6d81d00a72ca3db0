"""Paths in words: the tests, the numbers and the prediction of a row."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris

from obtree import (
    DensityForest,
    DisjunctiveTreeClassifier,
    NonGreedyTreeClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
    export_text,
)
from obtree.tree.words import explain_path

NUMBER = r"-?\d+\.\d+(?:e[-+]\d+)?"


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def read_limits(line):
    """The value and the limits of a sentence, and whether these hold."""
    value, verdict = re.search(rf"(?:is|together) ({NUMBER}), (.*?)\.$", line).groups()
    value = float(value)
    for word, limit in re.findall(rf"(at most|more than) ({NUMBER})", verdict):
        assert value <= float(limit) if word == "at most" else value > float(limit), line
    return value


@pytest.mark.parametrize("splitter", ["axis", "oc1", "random_oblique", "conic", "co2"])
def test_every_row_is_told_its_own_path(iris, splitter):
    X, y = iris
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(X, labels)
    path = tree.decision_path(X)
    leaves, predicted, proba = tree.apply(X), tree.predict(X), tree.predict_proba(X).max(axis=1)
    for i in range(0, 150, 7):
        lines = tree.explain_row(X.iloc[i]).splitlines()
        assert len(lines) == path[i].nnz
        for line in lines[:-1]:
            value = read_limits(line)
            gives = [float(g) for g in re.findall(rf"gives? ({NUMBER})", line)]
            if gives:
                digits = len(re.search(rf"together {NUMBER}", line)[0].split(".")[1])
                assert sum(gives) == pytest.approx(value, abs=len(gives) * 10.0**-digits)
        where = f"which has {proba[i]:.2f} in leaf {leaves[i]} "
        assert lines[-1].startswith(f"The class is {predicted[i]}, {where}")


def test_a_known_path():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 1.0, 0.0, 0.0]})
    tree = ObliqueTreeRegressor().fit(X, [1.0, 1.0, 5.0, 7.0])
    assert (
        tree.explain_row([2.0, 0.0], decimals=1).splitlines()[-1].startswith("The value is 5.0 in")
    )
    tree = ObliqueTreeRegressor(max_depth=1).fit(X[["a"]], [1.0, 1.0, 5.0, 5.0])
    text = tree.explain_row(X[["a"]].iloc[2], feature_names=["height"])
    assert text == "height is 2.00, more than 1.50.\nThe value is 5.00 in leaf 2 (n=2).\n"


def test_neighbours_are_told_apart():
    X = np.array([[1.0], [1.0 + 2.0**-20]])
    tree = ObliqueTreeRegressor().fit(X, [0.0, 1.0])
    for row in X:
        read_limits(tree.explain_row(row).splitlines()[0])
    # The numbers are those of the user, however far from zero.
    far = np.array([[1.7e9], [1.7e9 + 1]])
    tree = ObliqueTreeRegressor().fit(far, [0.0, 1.0])
    assert tree.explain_row(far[1]).startswith("x[0] is 1700000001.00, more than 1700000000.50")


@pytest.mark.parametrize("splitter", ["axis", "oc1", "two_probe", "co2"])
@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-3, 1e7, 1e20])
def test_units_of_features_do_not_matter(splitter, unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * unit
    tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(X, X.sum(axis=1) > 0)
    zero = r"(?<![\d.])-?0\.0+(?![\de.])"
    assert not re.search(zero, export_text(tree).replace("class", ""))
    for row in X[::5]:
        for line in tree.explain_row(row).splitlines()[:-1]:
            read_limits(line)
            assert not re.search(zero, line), line


def test_sums_count_from_the_offset():
    rng = np.random.default_rng(0)
    X = np.c_[1.7e9 + rng.integers(0, 100, 200), rng.normal(size=200)]
    y = (X[:, 0] - 1.7e9) / 100 + X[:, 1] > 0.5
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=2, random_state=0).fit(X, y)
    assert tree.tree_.feature_offset is not None
    for row in X[:20]:
        for line in tree.explain_row(row, decimals=4).splitlines()[:-1]:
            value = read_limits(line)
            gives = [float(g) for g in re.findall(rf"gives? ({NUMBER})", line)]
            if gives:
                assert sum(gives) == pytest.approx(value, abs=1e-3)


def test_missing_features(iris):
    X, y = iris
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(X, y)
    row = X.iloc[[130]].copy()
    row.iloc[0, 2] = np.nan
    lines = tree.explain_row(row).splitlines()
    node, arrays = 0, tree.tree_
    for line in lines[:-1]:
        is_yes = bool(arrays.missing_go_left[node])
        assert line.startswith("petal length (cm) is missing, which counts as ")
        assert (" yes to " in line) == is_yes
        node = (arrays.children_left if is_yes else arrays.children_right)[node]
    both = X.iloc[[130]] * np.nan
    assert " are missing, which counts as " in tree.explain_row(both)
    assert "and 2 more features are missing" in tree.explain_row(both, max_terms=2)


def test_models_of_leaves():
    X, y = load_diabetes(return_X_y=True)
    for params in ({"leaf": "linear"}, {"criterion": "linear_gaussian"}):
        tree = ObliqueTreeRegressor(max_depth=1, random_state=0, **params).fit(X, y)
        text = tree.explain_row(X[5])
        assert f"The value is {tree.predict(X[5:6])[0]:.2f} in leaf" in text
        assert "The model of the leaf is " in text
    tree = ObliqueTreeRegressor(max_depth=1, leaf="linear", random_state=0).fit(X, y)
    assert "The model of the leaf" not in tree.explain_row(np.full(10, np.nan))
    iris, classes = load_iris(return_X_y=True)
    soft = ObliqueTreeClassifier(max_depth=1, leaf="linear", random_state=0).fit(iris, classes)
    best = soft.predict_proba(iris[99:100]).max()
    text = soft.explain_row(iris[99])
    assert f"which has {best:.2f} in leaf" in text
    assert "The model of the leaf is softmax of " in text


def test_several_outputs(iris):
    X, y = iris
    tree = ObliqueTreeClassifier(max_depth=1, random_state=0)
    tree.fit(X, np.column_stack([np.array(["a", "b", "c"])[y], np.array(["x", "z"])[(y > 0) * 1]]))
    lines = tree.explain_row(X.iloc[0]).splitlines()
    assert lines[1].startswith("The class of output 0 is a, which has 1.00")
    assert lines[2].startswith("The class of output 1 is x, which has 1.00")


def test_wide_planes_name_what_contributes_most():
    X, y = load_digits(return_X_y=True)
    tree = TAOTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    line = tree.explain_row(X[0], max_terms=3).splitlines()[0]
    terms = slice(tree.tree_.term_ptr[0], tree.tree_.term_ptr[1])
    gives = np.sort(np.abs(tree.tree_.term_weight[terms] * X[0][tree.tree_.term_feature[terms]]))
    assert [abs(float(g)) for g in re.findall(rf" gives ({NUMBER})", line)] == pytest.approx(
        gives[:-4:-1], abs=0.006
    )
    assert f", {len(gives) - 3} others give " in line


def test_other_trees(iris):
    X, y = iris
    tree = NonGreedyTreeClassifier(random_state=0).fit(X, y)
    assert "The class is 0" in tree.explain_row(X.iloc[0])
    member = DensityForest(1, random_state=0).fit(X).estimators_[0]
    text = explain_path(member.tree_, X.iloc[[0]].to_numpy(np.float32))
    expected = member.tree_.shifted.predict(X.iloc[[0]].to_numpy(np.float32))[0, 0, 0]
    assert f"The logarithm of the density is {expected:.2f} in leaf" in text
    soft = DisjunctiveTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="no single leaf or path in a soft tree"):
        soft.explain_row(X.iloc[0])


def test_refusals(iris):
    X, y = iris
    tree = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="x has 3 rows; expected one"):
        tree.explain_row(X.to_numpy()[:3])
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 4 features"):
        tree.explain_row([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="decimals=-1 is not valid"):
        tree.explain_row(X.to_numpy()[0], decimals=-1)
    with pytest.raises(ValueError, match="feature_names has 1 names; expected 4"):
        tree.explain_row(X.to_numpy()[0], feature_names=["a"])
