"""Cells of trees of two features: every point lies in the cell of its leaf."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from matplotlib.colors import to_hex
from matplotlib.path import Path
from sklearn.datasets import load_iris
from sklearn.inspection import DecisionBoundaryDisplay

from obtree import (
    DensityForest,
    DisjunctiveForestClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
)
from obtree.plot import plot_cells
from obtree.tree.cards import CardMaker
from obtree.tree.describe import TreeDescription


@pytest.fixture(scope="module")
def rows():
    X, y = load_iris(return_X_y=True)
    return X[:, 2:], y


def find_artist(ax, gid):
    return next(artist for artist in ax.get_children() if artist.get_gid() == gid)


def find_fills(tree, points):
    """Colours of the leaves that points reach."""
    maker = CardMaker(TreeDescription(tree.tree_))
    return [maker.choose_fill(leaf) for leaf in tree.tree_.apply(points)]


def measure_area(corners):
    x, y = corners.T
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


@pytest.mark.parametrize(
    "tree",
    [
        ObliqueTreeClassifier(random_state=0),
        ObliqueTreeClassifier(splitter="oc1", random_state=0),
        ObliqueTreeClassifier(splitter="random_oblique", random_state=0),
        ObliqueTreeRegressor(splitter="oc1", max_depth=5, random_state=0),
        TAOTreeClassifier(random_state=0),
    ],
)
@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_every_point_is_in_the_cell_of_its_leaf(rows, tree, offset):
    X, y = rows
    X = X + np.array([offset, 0.0])
    tree.fit(X, y)
    ax = plot_cells(tree, X)
    cells = find_artist(ax, "cells")
    polygons = [path.vertices[:-1] for path in cells.get_paths()]
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    whole = (right - left) * (top - bottom)
    assert sum(map(measure_area, polygons)) == pytest.approx(whole, rel=1e-6)
    rng = np.random.default_rng(0)
    points = rng.uniform((left, bottom), (right, top), (300, 2))
    colours = [to_hex(colour) for colour in cells.get_facecolors()]
    wrong = 0
    for point, expected in zip(points, find_fills(tree, points), strict=True):
        inside = [
            colour
            for polygon, colour in zip(polygons, colours, strict=True)
            if Path(polygon - [offset, 0]).contains_point(point - [offset, 0])
        ]
        wrong += inside != [expected]
    # float32 and thresholds round.
    assert wrong <= (0 if offset == 0 else 3)


@pytest.mark.parametrize("offset", [0.0, 1.7e9])
def test_curves_are_drawn_on_a_grid(rows, offset):
    X, y = rows
    X = X + np.array([offset, 0.0])
    tree = ObliqueTreeClassifier(splitter="conic", max_depth=4, random_state=0).fit(X, y)
    assert tree.tree_.term_partner is not None
    ax = plot_cells(tree, X, grid_resolution=60)
    image = ax.images[0]
    x, y = (np.linspace(*span, 60) for span in (ax.get_xlim(), ax.get_ylim()))
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    found = [to_hex(pixel) for pixel in np.asarray(image.get_array())[:, :, :3].reshape(-1, 3)]
    assert found == find_fills(tree, points)
    assert len(ax.collections) >= 3  # a contour for each test


def test_lines_are_the_planes(rows):
    X, y = rows
    tree = ObliqueTreeClassifier(splitter="oc1", max_depth=2, random_state=0).fit(X, y)
    lines = find_artist(plot_cells(tree, X, linewidth=3), "tests")
    arrays = tree.tree_
    nodes = [node for node in range(arrays.node_count) if arrays.children_left[node] >= 0]
    segments = lines.get_segments()
    assert len(segments) == len(nodes)
    np.testing.assert_allclose(lines.get_linewidths(), [3.0] + [2.4] * (len(nodes) - 1))
    for node, segment in zip(nodes, segments, strict=True):
        terms = slice(arrays.term_ptr[node], arrays.term_ptr[node + 1])
        total = segment[:, arrays.term_feature[terms]] @ arrays.term_weight[terms]
        np.testing.assert_allclose(total, arrays.threshold[node], rtol=1e-9)


def test_depth_fill_and_lines_can_be_left_out(rows):
    X, y = rows
    tree = ObliqueTreeClassifier(random_state=0).fit(X, y)
    ax = plot_cells(tree, X, max_depth=1, linewidth=0)
    assert len(find_artist(ax, "cells").get_paths()) == 2
    assert "tests" not in [artist.get_gid() for artist in ax.get_children()]
    bare = plot_cells(tree, X, filled=False)
    assert "cells" not in [artist.get_gid() for artist in bare.get_children()]


def test_on_top_of_a_display(rows):
    X, y = rows
    forest = ObliqueForestClassifier(3, splitter="oc1", random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(forest, X, grid_resolution=20)
    limits = display.ax_.get_xlim()
    assert plot_cells(forest, member=1, ax=display.ax_, filled=False) is display.ax_
    assert display.ax_.get_xlim() == limits


@pytest.mark.parametrize(
    "model",
    [
        ObliqueForestClassifier(3, random_state=0),
        ObliqueForestRegressor(3, random_state=0),
        TAOTreeClassifier(random_state=0),
        DisjunctiveForestClassifier(2, random_state=0),
    ],
)
def test_displays_of_scikit_learn_take_our_models(rows, model):
    X, y = rows
    for response in ("auto", "predict"):
        display = DecisionBoundaryDisplay.from_estimator(
            model.fit(X, y), X, grid_resolution=10, response_method=response
        )
        assert np.isfinite(display.response).all()


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9),
    reason="displays of earlier versions take classifiers and regressors only",
)
def test_displays_of_scikit_learn_take_densities(rows):
    forest = DensityForest(3, random_state=0).fit(rows[0])
    display = DecisionBoundaryDisplay.from_estimator(
        forest, rows[0], grid_resolution=10, response_method="score_samples"
    )
    assert np.isfinite(display.response).all()


def test_refusals(rows):
    X, y = rows
    wide = ObliqueTreeClassifier(random_state=0).fit(np.c_[X, X], y)
    with pytest.raises(ValueError, match="of two features, and this one has 4"):
        plot_cells(wide, X)
    tree = ObliqueTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs rows X, or ax"):
        plot_cells(tree)
    with pytest.raises(ValueError, match=r"X has shape \(150, 1\); expected rows of two columns"):
        plot_cells(tree, X[:, :1])
    with pytest.raises(ValueError, match=r"alpha=2 is not valid; expected a number in \[0, 1\]"):
        plot_cells(tree, X, alpha=2)
    with pytest.raises(ValueError, match="X holds infinity"):
        plot_cells(tree, np.array([[np.inf, 0.0]]))
    assert plt.get_fignums() == []
