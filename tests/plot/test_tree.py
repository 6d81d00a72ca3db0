"""Pictures of trees: what they say, and that nothing lies over anything else."""

import itertools
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris

from obtree import (
    DensityForest,
    FernClassifier,
    NonGreedyTreeClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    export_text,
)
from obtree.plot import plot_tree
from obtree.plot.scaled_text import ScaledText
from obtree.tree.cards import make_cards

STYLE = {
    "filled": True,
    "impurity": False,
    "node_ids": False,
    "proportion": False,
    "max_terms": 5,
    "max_name": 32,
}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def tree(iris):
    return ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(*iris)


def fit_some():
    """Trees of all kinds."""
    X, y = load_iris(return_X_y=True)
    D, c = load_digits(return_X_y=True)
    B, v = load_diabetes(return_X_y=True)
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    labels = np.array(['a "$x^2$" <b>', "日本\n{}", "$\\frac$ & a class whose name never ends"])[y]
    yield "axis", ObliqueTreeClassifier(random_state=0).fit(gaps, y)
    yield "oc1", ObliqueTreeClassifier(splitter="oc1", random_state=0).fit(X, labels)
    yield "conic", ObliqueTreeClassifier(splitter="conic", random_state=0).fit(X, y)
    yield "digits", ObliqueTreeClassifier(splitter="co2", max_depth=4, random_state=0).fit(D, c)
    yield "tao", TAOTreeClassifier(max_depth=4, random_state=0).fit(D, c)
    yield "tao linear", TAOTreeRegressor(max_depth=3, leaf="linear", random_state=0).fit(B, v)
    yield "nongreedy", NonGreedyTreeClassifier(random_state=0).fit(X, y)
    yield "regression", ObliqueTreeRegressor(max_depth=6, random_state=0).fit(B, v)
    yield "linear", ObliqueTreeRegressor(max_depth=3, leaf="linear", random_state=0).fit(B, v)
    yield (
        "lines with noise",
        ObliqueTreeRegressor(max_depth=3, criterion="linear_gaussian", random_state=0).fit(B, v),
    )
    yield "softmax", ObliqueTreeClassifier(max_depth=2, leaf="linear", random_state=0).fit(X, y)
    both = np.column_stack([v, -v, v**2])
    yield "outputs", ObliqueTreeRegressor(max_depth=2, random_state=0).fit(B, both)
    densities = DensityForest(1, splitter="random_oblique", random_state=0).fit(X)
    yield "density", densities.estimators_[0]
    yield "fern", FernClassifier(1, depth=4, random_state=0).fit(X, y).estimators_[0]
    yield "one leaf", ObliqueTreeClassifier(random_state=0).fit(X[:20], y[:20])
    yield "one value", ObliqueTreeRegressor(random_state=0).fit(X, np.ones(150))


TREES = dict(fit_some())


def list_frames(ax):
    """Box of each node in pixels, by number."""
    ax.get_figure().canvas.draw()
    frames = {}
    for patch in ax.patches:
        if patch.get_gid().startswith("node-"):
            frames[int(patch.get_gid()[5:])] = patch.get_path().get_extents(
                patch.get_patch_transform() + ax.transData
            )
    return frames


def list_texts(ax):
    """Text artists by the number of their node."""
    found = {}
    for artist in ax.get_children():
        gid = artist.get_gid() or ""
        if isinstance(artist, ScaledText) and gid.endswith("-text") and gid != "legend-text":
            found.setdefault(int(gid[5:-5]), []).append(artist)
    return found


def overlap(a, b):
    """Whether two boxes share more than an edge."""
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return wide > 0.01 and high > 0.01


@pytest.mark.filterwarnings("ignore:Glyph .* missing from")
@pytest.mark.parametrize("name", list(TREES))
def test_nothing_lies_over_anything_else(name):
    ax = plot_tree(TREES[name])
    frames = list_frames(ax)
    assert len(frames) == TREES[name].tree_.node_count
    for a, b in itertools.combinations(frames.values(), 2):
        assert not overlap(a, b)
    whole = ax.get_window_extent()
    for node, texts in list_texts(ax).items():
        frame, boxes = frames[node], [text.get_window_extent() for text in texts]
        assert whole.x0 <= frame.x0 < frame.x1 <= whole.x1
        assert whole.y0 <= frame.y0 < frame.y1 <= whole.y1
        for box in boxes:
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1
            assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        for a, b in itertools.pairwise(boxes):
            assert a.y0 >= b.y0  # in order
    others = [artist for artist in ax.get_children() if isinstance(artist, ScaledText)]
    for text in others:
        if text.get_gid() in ("legend-text", "answer"):
            box = text.get_window_extent()
            assert not any(overlap(box, frame) for frame in frames.values())
            assert whole.x0 <= box.x0
            assert box.x1 <= whole.x1


@pytest.mark.filterwarnings("ignore:Glyph .* missing from")
@pytest.mark.parametrize("name", list(TREES))
def test_children_are_below_and_yes_is_left(name):
    tree = TREES[name].tree_
    frames = list_frames(plot_tree(TREES[name]))
    for node in np.flatnonzero(tree.children_left >= 0):
        left, right = frames[tree.children_left[node]], frames[tree.children_right[node]]
        assert left.x1 < right.x0
        assert max(left.y1, right.y1) < frames[node].y0
        middle = 0.25 * (left.x0 + left.x1 + right.x0 + right.x1)
        assert middle == pytest.approx(0.5 * (frames[node].x0 + frames[node].x1), abs=0.5)


def test_texts_are_those_of_the_cards(tree):
    ax = plot_tree(tree, class_names=["a", "b", "c"])
    options = {"member": None, "max_depth": None, "feature_names": None, "precision": 2}
    _, cards, legend = make_cards(tree, class_names=["a", "b", "c"], **options, **STYLE)
    texts = list_texts(ax)
    for card in cards:
        shown = [text.get_text() for text in texts[card.place.node]]
        assert shown == [line.text for line in card.lines if line.text]
    assert [name for name, _ in legend] == ["a", "b", "c"]
    shown = [c.get_text() for c in ax.get_children() if c.get_gid() == "legend-text"]
    assert shown == ["a", "b", "c"]
    answers = [c.get_text() for c in ax.get_children() if c.get_gid() == "answer"]
    assert answers == ["yes", "no"]


def test_bars_are_fractions_and_weights(tree):
    """The root of the tree: three classes, a third each; a plane below."""
    names = {"feature_names": None, "class_names": None}
    _, cards, _ = make_cards(tree, member=None, max_depth=None, precision=2, **names, **STYLE)
    stacked = cards[0].lines[-1].bar
    ends = [segment[:2] for segment in stacked.segments]
    np.testing.assert_allclose(ends, [[0, 1 / 3], [1 / 3, 2 / 3], [2 / 3, 1]])
    node = next(card for card in cards if len(card.lines) > 5)
    arrays = tree.tree_
    terms = slice(arrays.term_ptr[node.place.node], arrays.term_ptr[node.place.node + 1])
    weight = arrays.term_weight[terms]
    weight = weight[np.argsort(-np.abs(weight))]
    for line, w in zip(node.lines, weight, strict=False):
        ((start, end, _),) = line.bar.segments
        assert line.bar.mark == 0.5
        reach = end - 0.5 if w > 0 else start - 0.5
        assert 2 * reach == pytest.approx(w / abs(weight[0]))


def test_fills_say_how_pure_a_node_is(iris):
    tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(*iris)
    frames = {p.get_gid(): p.get_facecolor() for p in plot_tree(tree).patches}
    assert frames["node-0"] == (1.0, 1.0, 1.0, 1.0)
    assert min(frames["node-1"][:3]) < 0.7
    plain = plot_tree(tree, filled=False)
    nodes = [p for p in plain.patches if p.get_gid().startswith("node-")]
    assert {p.get_facecolor() for p in nodes} == {(1.0, 1.0, 1.0, 1.0)}


def test_text_grows_and_shrinks_with_its_box(tree):
    ax = plot_tree(tree)
    figure = ax.get_figure()
    text = list_texts(ax)[0][0]
    list_frames(ax)
    assert text.get_fontsize() == pytest.approx(9)
    figure.set_size_inches(0.5 * figure.get_size_inches())
    frames = list_frames(ax)
    assert text.get_fontsize() == pytest.approx(4.5)
    box = text.get_window_extent()
    assert frames[0].x0 <= box.x0 < box.x1 <= frames[0].x1
    assert "petal length" in text.get_text()


def test_axes_of_the_user(tree):
    figure, (first, second) = plt.subplots(1, 2, figsize=(12, 5))
    assert plot_tree(tree, ax=first, max_depth=1) is first
    plot_tree(tree, ax=second, fontsize=4, max_depth=1)
    figure.canvas.draw()
    assert len(list_frames(first)) == 3
    assert list_texts(second)[0][0].get_fontsize() == pytest.approx(4, rel=0.01)
    assert list_texts(first)[0][0].get_fontsize() <= 14.01
    assert plt.get_fignums() == [figure.number]


def test_the_current_figure_is_used_while_it_is_empty(tree):
    figure = plt.figure(figsize=(4, 3))
    assert plot_tree(tree).get_figure() is figure
    other = plot_tree(tree).get_figure()
    assert other is not figure
    large = plot_tree(tree, fontsize=18).get_figure()
    np.testing.assert_allclose(large.get_size_inches(), 2 * other.get_size_inches(), rtol=0.02)


def test_a_wide_tree_is_kept_in_bounds():
    X, y = load_digits(return_X_y=True)
    tree = ObliqueTreeClassifier(splitter="axis_random", random_state=0).fit(X, y)
    ax = plot_tree(tree, fontsize=20)
    assert ax.get_figure().get_size_inches().max() <= 100.001


def test_members_and_refusals(iris, tree):
    forest = ObliqueForestClassifier(2, splitter="axis", random_state=0).fit(*iris)
    shown = [text.get_text() for text in list_texts(plot_tree(forest, member=1))[0]]
    alone = [text.get_text() for text in list_texts(plot_tree(forest.estimators_[1]))[0]]
    assert shown == alone
    with pytest.raises(ValueError, match="is a forest of 2 trees; expected one of them"):
        plot_tree(forest)
    with pytest.raises(ValueError, match="fontsize=0 is not valid; expected None or a number > 0"):
        plot_tree(tree, fontsize=0)
    with pytest.raises(TypeError, match="legend='no' is not valid"):
        plot_tree(tree, legend="no")
    with pytest.raises(ValueError, match="precision=-1 is not valid"):
        plot_tree(tree, precision=-1)
    assert plt.get_fignums() == [1, 2]  # nothing is left of what was refused


@pytest.mark.filterwarnings("ignore:Glyph .* missing from")
def test_saved_as_vectors(tree, tmp_path):
    ax = plot_tree(tree, feature_names=["$a$", "b<c", "日", 'd"'])
    for name in ("tree.svg", "tree.pdf"):
        ax.get_figure().savefig(tmp_path / name, bbox_inches="tight")
        assert (tmp_path / name).stat().st_size > 1000


def test_without_matplotlib():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import obtree\n"
        "try:\n"
        "    import obtree.plot\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert "obtree.plot needs matplotlib, which is not installed" in result.stdout
    assert "pip install 'obtree[figures]'" in result.stdout


def test_matplotlib_is_not_imported_with_obtree():
    code = "import obtree, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


def test_sets_are_no_wider_than_sums():
    """A set of long names has several lines, and a tree of sets fits on a page."""
    names = np.array([f"{a}{b}" for a in ("Burg", "Nord", "Tal") for b in ("hausen", "heim", "au")])
    town = np.random.default_rng(0).integers(0, 9, 200)
    tree = ObliqueTreeRegressor(max_depth=1, categorical_features=[0], random_state=0)
    tree.fit(names[town].reshape(-1, 1), town % 4)
    what = {"member": None, "max_depth": None, "feature_names": None, "class_names": None}
    _, cards, _ = make_cards(tree, **what, precision=2, **STYLE)
    lines = [line.text for line in cards[0].lines]
    assert max(map(len, lines)) <= 44
    test = " ".join(lines[: lines.index("n = 200")])
    assert test.startswith("x[0] ")
    assert test.count(",") > 2
    assert test in export_text(tree)


@pytest.mark.parametrize("box", [None, "tight"])
def test_pictures_that_are_too_small_for_letters(tmp_path, box):
    X, y = load_digits(return_X_y=True)
    tree = ObliqueTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    ax = plt.figure(figsize=(1, 1)).add_subplot()
    plot_tree(tree, ax=ax)
    ax.figure.savefig(tmp_path / "small.png", dpi=10, bbox_inches=box)
    assert (tmp_path / "small.png").stat().st_size > 0
