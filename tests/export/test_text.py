"""Text of forests, and of trees where names are unusual."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import obtree
from obtree import DensityForest, ObliqueForestClassifier, ObliqueTreeClassifier, export_text


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def forest(iris):
    return ObliqueForestClassifier(12, random_state=0).fit(*iris)


def test_one_function_three_doors():
    assert obtree.export_text is obtree.export.export_text is obtree.tree.export_text


def test_a_member(forest):
    text = export_text(forest, member=3)
    assert text == export_text(forest.estimators_[3])
    assert text == export_text(forest, member=3 - 12)


def test_a_forest_is_summed_up(forest):
    text = export_text(forest)
    assert text.startswith("ObliqueForestClassifier: 12 trees, 4 features, constant leaves\n")
    leaves = [tree.get_n_leaves() for tree in forest.estimators_]
    line = next(line for line in text.splitlines() if line.startswith("leaves"))
    numbers = [float(word) for word in line.split()[1:]]
    np.testing.assert_allclose(numbers, [np.mean(leaves), min(leaves), max(leaves)], atol=0.005)
    best = forest.feature_names_in_[forest.feature_importances_.argmax()]
    lines = text.splitlines()
    assert lines[lines.index("feature            importance") + 1].startswith(best)
    for name, fraction in zip(forest.race_["setting"], forest.race_["fraction"], strict=True):
        assert any(line.startswith(f"{name}  ") for line in lines) == (fraction > 0)


def test_names_of_a_summary(forest, iris):
    assert "\nb b  " in export_text(forest, feature_names=["a", "b\nb", "c", "d"])
    with pytest.raises(ValueError, match="feature_names has 2 names; expected 4"):
        export_text(forest, feature_names=["a", "b"])
    wide = ObliqueForestClassifier(2, splitter="axis", random_state=0)
    wide.fit(np.tile(iris[0], (1, 3)), iris[1])
    assert export_text(wide).endswith("(2 more features)\n")


def test_names_of_densities_come_from_the_forest(iris):
    forest = DensityForest(2, random_state=0).fit(iris[0])
    assert "DensityForest: 2 trees" in export_text(forest)
    assert "mean sepal length (cm) " in export_text(forest, member=0)


def test_names_are_single_lines(iris):
    X, y = iris
    names = ["a\nb", "c\td", "e\x1bf", "g"]
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=1, random_state=0)
    tree.fit(X.to_numpy(), np.array(["x\ny", "z", "w"])[y])
    text = export_text(tree, feature_names=names)
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text


def test_classes_of_several_outputs(iris):
    X, y = iris
    both = np.column_stack([np.array(["a", "b", "c"])[y], np.array(["x", "y"])[(y > 0) * 1]])
    tree = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(X, both)
    assert "class a, x (n=50, 1.00, 1.00)" in export_text(tree)
    renamed = export_text(tree, class_names=[["A", "B", "C"], ["X", "Y"]])
    assert "class A, X (n=50, 1.00, 1.00)" in renamed
    with pytest.raises(ValueError, match="class_names has 2 names; expected 3"):
        export_text(tree, class_names=[["A", "B"], ["X", "Y"]])
    with pytest.raises(ValueError, match="unless it is a list of 2 sequences of names"):
        export_text(tree, class_names=["AB", "XY"])
