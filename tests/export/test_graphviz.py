"""Trees for Graphviz: what the text holds, and that Graphviz takes it, whatever names there are."""

import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_digits, load_iris

from obtree import (
    DensityForest,
    DisjunctiveTreeClassifier,
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
)
from obtree.export import export_graphviz

BAD_NAMES = ['a"b', "{x}|<y>", "日本 &amp; \\N", "new\nline\x00\ud800"]
NODE = re.compile(r'^(\d+) \[label=<(.*)>, fillcolor="(#[0-9a-f]{6})", tooltip="(.*)"\];$')
EDGE = re.compile(r'^(\d+) -> (\d+)(?: \[label="(yes|no)"\])?;$')


def read(text):
    """Nodes as lists of lines (text, colours of the bar), and edges, of what was written."""
    nodes, edges = {}, []
    for line in text.splitlines()[4:-1]:
        if match := EDGE.match(line):
            edges.append((int(match[1]), int(match[2]), match[3]))
            continue
        match = NODE.match(line)
        assert match, line
        assert not re.search(r'(?<!\\)"', match[4]), "a quote ends the tooltip"
        rows = []
        # The labels are XML: a stricter parser than Graphviz.
        for row in ET.fromstring(match[2]):
            words = [cell.text.replace("\\\\", "\\") for cell in row if cell.text]
            bars = [bar.get("BGCOLOR") for bar in row.iterfind("TD/TABLE/TR/TD")]
            rows.append((" ".join(words), bars))
        nodes[int(match[1])] = rows
    return nodes, edges


def draw(text):
    """Let Graphviz draw, where there is one, and return the text of its picture."""
    if shutil.which("dot") is None:
        return None
    result = subprocess.run(
        ["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert not [line for line in result.stderr.decode().splitlines() if "rror" in line]
    return "".join(ET.fromstring(result.stdout).itertext())


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def tree(iris):
    return ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(*iris)


def test_every_node_and_edge_is_there(tree):
    nodes, edges = read(export_graphviz(tree))
    arrays = tree.tree_
    assert sorted(nodes) == list(range(arrays.node_count))
    pairs = {(parent, child) for parent, child, _ in edges}
    for node in range(arrays.node_count):
        if arrays.children_left[node] >= 0:
            assert (node, arrays.children_left[node]) in pairs
            assert (node, arrays.children_right[node]) in pairs
    assert [label for *_, label in edges if label] == ["yes", "no"]
    # Graphviz keeps the order of edges: yes on the left.
    assert edges[0][:2] == (0, arrays.children_left[0])


def test_lines_of_a_plane_are_its_terms(tree):
    nodes, _ = read(export_graphviz(tree, precision=3))
    arrays = tree.tree_
    node = int(np.flatnonzero(np.diff(arrays.term_ptr) == 4)[0])
    terms = slice(arrays.term_ptr[node], arrays.term_ptr[node + 1])
    weights = dict(zip(arrays.term_feature[terms], arrays.term_weight[terms], strict=True))
    lines = nodes[node]
    by_size = sorted(weights.items(), key=lambda item: -abs(item[1]))
    for (text, bar), (j, weight) in zip(lines, by_size, strict=False):
        sign = "-" if weight < 0 else "+"
        assert text == f"{sign} {abs(weight):.3f} {tree.feature_names_in_[j]}"
        assert "#555555" in bar
    assert lines[4][0].startswith(f"sum <= {arrays.threshold[node]:.3f}")
    assert lines[5][0] == f"n = {arrays.n_node_samples[node]}"


def test_wide_planes_are_shortened():
    X, y = load_digits(return_X_y=True)
    tree = TAOTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    nodes, _ = read(export_graphviz(tree, max_terms=3))
    n_terms = len(tree.tree_.term_weight[tree.tree_.term_ptr[0] : tree.tree_.term_ptr[1]])
    assert nodes[0][3][0] == f"+ {n_terms - 3} smaller terms"
    largest = np.abs(tree.tree_.term_weight[tree.tree_.term_ptr[0] : tree.tree_.term_ptr[1]]).max()
    assert f"{largest:.2f}" in nodes[0][0][0]


def test_options(tree):
    nodes, _ = read(export_graphviz(tree, node_ids=True, impurity=True, proportion=True))
    texts = [text for text, _ in nodes[0]]
    assert texts[0] == "node 0"
    assert f"impurity {tree.tree_.impurity[0]:.2f}" in texts
    assert "100.0 % of rows" in texts
    text = export_graphviz(
        tree,
        rotate=True,
        rounded=False,
        leaves_parallel=True,
        filled=False,
        fontname="Times, serif",
    )
    assert "rankdir=LR" in text
    assert "rounded" not in text
    assert "{rank=same; " in text
    assert 'fontname="Times, serif"' in text
    assert set(re.findall(r'fillcolor="([^"]*)"', text)) == {"#ffffff"}
    draw(text)


def test_max_depth_cuts(tree):
    nodes, edges = read(export_graphviz(tree, max_depth=1))
    assert len(nodes) == 3
    assert len(edges) == 2
    cut = [rows for rows in nodes.values() if rows[0][0] == "..."]
    assert len(cut) == 1
    assert cut[0][1][0] == "n = 100"
    assert len(read(export_graphviz(tree, max_depth=0))[0]) == 1


def test_a_file_or_a_stream(tree, tmp_path):
    text = export_graphviz(tree)
    assert export_graphviz(tree, tmp_path / "tree.dot") is None
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8") == text
    stream = io.StringIO()
    export_graphviz(tree, stream)
    assert stream.getvalue() == text


def test_names_of_all_kinds(iris):
    X, y = iris
    labels = np.array(["a<b", '"q"\n{x|y}', "ünï & \\N $\\frac$"])
    tree = ObliqueTreeClassifier(splitter="co2", max_depth=2, random_state=0)
    tree.fit(X.to_numpy(), labels[y])
    text = export_graphviz(tree, feature_names=BAD_NAMES)
    nodes, _ = read(text)
    texts = " ".join(line for rows in nodes.values() for line, _ in rows)
    for name in ('a"b', "{x}|<y>", "日本 &amp; \\N", "new line��", "a<b", "ünï & \\N $\\frac$"):
        assert name in texts, name
    picture = draw(text)
    if picture is not None:
        for name in ('a"b', "{x}|<y>", "日本 &amp; \\N", "a<b", "ünï & \\N $\\frac$"):
            assert name in picture.replace("\xa0", " "), name


@settings(max_examples=15)
@given(st.lists(st.text(max_size=12), min_size=2, max_size=2))
def test_any_names(names):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    tree = ObliqueTreeClassifier(splitter="oc1", random_state=0).fit(X, [0, 1, 1, 0])
    text = export_graphviz(tree, feature_names=names, class_names=names)
    read(text)
    draw(text)


def test_long_names_lose_their_middle(iris):
    X, y = iris
    names = [f"a very long name of column {j} that goes on until its end {j}" for j in "abcd"]
    tree = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(X.to_numpy(), y)
    lines, _ = read(export_graphviz(tree, feature_names=names, max_name=12))
    name = lines[0][0][0].split(" <=")[0]
    assert len(name) == 12
    assert name.startswith("a very")
    assert "…" in name
    whole, _ = read(export_graphviz(tree, feature_names=names, max_name=None))
    assert whole[0][0][0].split(" <=")[0] in names


@pytest.mark.parametrize("leaf", ["linear", "linear_gaussian"])
def test_lines_of_linear_leaves(leaf):
    X, y = load_diabetes(return_X_y=True)
    params = {"criterion": leaf} if leaf == "linear_gaussian" else {"leaf": leaf}
    tree = ObliqueTreeRegressor(max_depth=1, random_state=0, **params).fit(X, y)
    leaves = [rows for node, rows in read(export_graphviz(tree))[0].items() if node > 0]
    for rows in leaves:
        texts = [text for text, _ in rows]
        assert any(re.fullmatch(r"[+-] \d+\.\d\d x\[\d\]", text) for text in texts)
        assert any(re.fullmatch(r"[+-] \d+\.\d\d", text) for text in texts), "an intercept"
        assert any(text.startswith("noise ") for text in texts) == (leaf == "linear_gaussian")


def test_softmax_leaves(iris):
    tree = ObliqueTreeClassifier(max_depth=1, leaf="linear", random_state=0).fit(*iris)
    texts = [text for rows in read(export_graphviz(tree))[0].values() for text, _ in rows]
    assert "softmax of" in texts


def test_densities(iris):
    forest = DensityForest(2, random_state=0).fit(iris[0])
    nodes, _ = read(export_graphviz(forest, member=0))
    arrays = forest.estimators_[0].tree_
    leaf = int(np.flatnonzero(arrays.children_left < 0)[0])
    mean, factor = arrays.leaf_mean[leaf], arrays.leaf_factor[leaf]
    assert f"sepal length (cm) {mean[0]:.2f} ± {abs(factor[0]):.2f}" in [t for t, _ in nodes[leaf]]
    assert not [t for rows in nodes.values() for t, _ in rows if t.startswith("value")]


def test_several_outputs(iris):
    X, y = iris
    labels = np.array(["a", "b", "c"])[y]
    tree = ObliqueTreeClassifier(max_depth=1, random_state=0)
    tree.fit(X, np.column_stack([labels, np.array(["x", "y"])[(y > 0).astype(int)]]))
    nodes, _ = read(export_graphviz(tree))
    texts = [text for text, _ in nodes[1]]
    assert "class a 1.00" in texts
    assert "class x 1.00" in texts
    many = ObliqueTreeRegressor(max_depth=1).fit(X, np.tile(y.to_numpy()[:, None], (1, 7)))
    assert "(3 more outputs)" in [text for text, _ in read(export_graphviz(many))[0][0]]


def test_members(iris):
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(*iris)
    last = export_graphviz(forest.estimators_[2])
    assert export_graphviz(forest, member=2) == export_graphviz(forest, member=-1) == last
    with pytest.raises(ValueError, match="is a forest of 3 trees; expected one of them, such as"):
        export_graphviz(forest)
    with pytest.raises(ValueError, match="member=3 is not valid; expected an integer from -3 to 2"):
        export_graphviz(forest, member=3)
    with pytest.raises(ValueError, match="member=0 needs a forest; model is a single tree"):
        export_graphviz(forest.estimators_[0], member=0)
    embedding = ForestEmbedding(2, random_state=0).fit(iris[0])
    assert export_graphviz(embedding, member=1).startswith("digraph")


def test_what_cannot_be_drawn(iris, tree):
    with pytest.raises(TypeError, match="expected a Tree, a fitted tree or a fitted forest"):
        export_graphviz(3)
    with pytest.raises(TypeError, match="call fit first"):
        export_graphviz(ObliqueTreeClassifier())
    with pytest.raises(TypeError, match="disjunctive normal forms have soft decisions"):
        export_graphviz(DisjunctiveTreeClassifier(random_state=0).fit(*iris))
    with pytest.raises(TypeError, match=r"max_depth=1\.5 is not valid"):
        export_graphviz(tree, max_depth=1.5)
    with pytest.raises(TypeError, match="filled='yes' is not valid; expected True or False"):
        export_graphviz(tree, filled="yes")
    with pytest.raises(ValueError, match="feature_names has 2 names; expected 4"):
        export_graphviz(tree, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="expected a name of letters, digits"):
        export_graphviz(tree, fontname='a"b')
    with pytest.raises(ValueError, match="max_name=2 is not valid"):
        export_graphviz(tree, max_name=2)
