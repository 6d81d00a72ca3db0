"""Text of forests, and of trees where names are unusual."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

import obtree
from obtree import (
    DensityForest,
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    export_text,
)
from obtree.export import export_graphviz
from obtree.splitter import RandomObliqueSplitter
from obtree.tree.cards import CardMaker, make_cards
from obtree.tree.colours import fade, list_colours
from obtree.tree.describe import TreeDescription
from obtree.tree.leaf_models import ConstantLeaf
from obtree.tree.tree import Tree
from obtree.tree.words import explain_path


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
    text = export_text(forest, member=0)
    assert ": mean sepal length (cm) " in text
    assert "value" not in text


def test_trees_without_targets_have_no_values(iris):
    embedding = ForestEmbedding(2, random_state=0).fit(iris[0].to_numpy())
    text = export_text(embedding, member=0)
    assert "leaf (n=" in text
    assert "value" not in text
    row = iris[0].to_numpy(np.float32)[:1]
    tree = embedding.trees_[0]
    last = explain_path(tree, row).splitlines()[-1]
    assert last.startswith(f"The row is in leaf {tree.apply(row)[0]} (n=")
    zeros = ObliqueTreeRegressor().fit(iris[0], np.zeros(150))
    assert export_text(zeros) == "value 0.00 (n=150)\n"


def test_leaves_that_only_write_text(iris):
    class Odd(ConstantLeaf):
        @staticmethod
        def describe(tree, node, feature_names, decimals, max_terms):
            return f"something odd about {feature_names[0]} that takes more than a line of its box"

    tree = ObliqueTreeRegressor(max_depth=1).fit(*iris).tree_
    tree.leaf_kind = Odd
    assert ": something odd about x[0] that" in export_text(tree)
    dot = export_graphviz(tree)
    assert '<TD COLSPAN="2" ALIGN="LEFT">something odd about x[0] that takes more' in dot
    assert ">box</TD>" in dot or "its box</TD>" in dot


@pytest.mark.parametrize("n", [1, 10, 11, 47, 300])
def test_colours_are_many_and_different(n):
    colours = list_colours(n)
    assert len(colours) == n
    assert len(set(colours)) == n
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    assert fade(colours[0], 0.0) == fade(colours[0], -1.0) == "#ffffff"
    assert fade(colours[0], 1.0) == fade(colours[0], 7.0) == colours[0]


def test_legends_have_an_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    for n_classes, n_shown in ((2, 2), (20, 20), (21, 0)):
        tree = ObliqueTreeClassifier(max_depth=2).fit(X, np.arange(400) % n_classes)
        style = {"filled": True, "impurity": False, "node_ids": False, "proportion": False}
        maker = CardMaker(TreeDescription(tree.tree_), **style)
        assert len(maker.list_legend()) == n_shown


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


def list_lines(tree):
    """What boxes say, all lines of all boxes."""
    _, cards, _ = make_cards(
        tree, member=None, max_depth=None, feature_names=None, class_names=None, precision=2
    )
    return [line.text for card in cards for line in card.lines]


def test_questions_about_missing_values():
    # The largest number there is, which stands in such nodes, says nothing.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[rng.random(200) < 0.4, 0] = np.nan
    y = np.isnan(X[:, 0])
    for offset in (0.0, 1.7e9):
        tree = ObliqueTreeClassifier(splitter="axis", random_state=0).fit(X + offset, y)
        assert (tree.tree_.feature_offset is None) == (offset == 0.0)
        assert export_text(tree).splitlines()[0] == "x[0] is not missing"
        assert list_lines(tree)[0] == "x[0] is not missing"
        assert "x[0] is not missing" in export_graphviz(tree)
        row = X[~y][0] + offset
        assert tree.explain_row(row).startswith(f"x[0] is {row[0]:.2f}, not missing.\n")
        assert tree.explain_row(X[y][0] + offset).startswith("x[0] is missing.\n")
    splitter = RandomObliqueSplitter(feature_combinations=2)
    tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(X, y)
    question = export_text(tree).splitlines()[0]
    assert re.fullmatch(r"-?1\.00\*x\[0\] [-+] 1\.00\*x\[1\] is not missing", question)
    assert list_lines(tree)[2] == "sum is not missing"
    assert tree.explain_row(X[y][0]).startswith("x[0] is missing.\n")
    assert re.match(r".*: together -?\d+\.\d\d, not missing\.\n", tree.explain_row(X[~y][0]))


def test_intervals_without_an_end():
    tree = Tree.from_arrays(
        n_features=1,
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        term_ptr=[0, 1, 1, 1],
        term_feature=[0],
        term_weight=[1.0],
        lower_threshold=[2.0, 0.0, 0.0],
        threshold=[np.finfo(np.float64).max, 0.0, 0.0],
        missing_go_left=[1, 0, 0],
        impurity=[0.0] * 3,
        n_node_samples=[2, 1, 1],
        weighted_n_node_samples=[2.0, 1.0, 1.0],
        n_classes=[1],
        value=np.array([0.5, 1.0, 0.0]).reshape(3, 1, 1),
    )
    assert export_text(tree).splitlines()[0] == "x[0] > 2.00 or missing"
    words = ("is 3.00, more than 2.00", "is 1.00, at most 2.00", "is missing, which counts as yes")
    for cell, text in zip((3.0, 1.0, np.nan), words, strict=True):
        row = np.array([[cell]], dtype=np.float32)
        assert explain_path(tree, row).startswith(f"x[0] {text}")


@pytest.mark.parametrize("labels", [[0, 1], [1, 0]])
def test_questions_about_unknown_categories(labels):
    pd = pytest.importorskip("pandas")
    cells = np.array([*"abc" * 20, *[None] * 30], dtype=object)
    frame = pd.DataFrame({"c": cells})
    tree = ObliqueTreeClassifier(random_state=0).fit(frame, np.take(labels, frame["c"].isna()))
    assert export_text(tree).splitlines()[0] in ("c is known", "c is not known")
    assert list_lines(tree)[0] in ("c is known", "c is not known")
    assert tree.explain_row(frame.iloc[0]).startswith("c is a, which is known.\n")
    text = "c is missing or a category that was not known.\n"
    assert tree.explain_row(frame.iloc[-1]).startswith(text)
    assert "{}" not in export_text(tree)
