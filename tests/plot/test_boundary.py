"""Pictures of what a model predicts at every point: colours are those of its predictions."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb, to_rgba
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from obtree import (
    DensityForest,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    SemiSupervisedForestClassifier,
)
from obtree.plot import plot_boundary
from obtree.tree.colours import PALETTE, TOP


@pytest.fixture(scope="module")
def rows():
    X, y = load_iris(return_X_y=True)
    return X[:, 2:], y


def list_meshes(ax):
    return [artist for artist in ax.collections if hasattr(artist, "get_coordinates")]


def find_points(mesh):
    """Points of the grid of a mesh, and the colours they have."""
    corners = mesh.get_coordinates()
    centres = (corners[1:, 1:] + corners[:-1, :-1]) / 2
    mesh.update_scalarmappable()
    return centres.reshape(-1, 2), mesh.get_facecolors().reshape(-1, 4)


def test_one_class_is_everywhere(rows):
    X = pd.DataFrame(rows[0], columns=["length", "width"])
    forest = ObliqueForestClassifier(2, random_state=0).fit(X, ["a"] * len(X))
    ax = plot_boundary(forest, X, ["a"] * len(X), alpha=0.5)
    (mesh,) = list_meshes(ax)
    _, colours = find_points(mesh)
    np.testing.assert_allclose(colours, [to_rgba(PALETTE[0], 0.5)], atol=1e-6)
    (low, high), corners = zip(ax.get_xlim(), ax.get_ylim(), strict=True), mesh.get_coordinates()
    np.testing.assert_allclose([corners[0, 0], corners[1, 1]], [low, high])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_class_is_as_strong_as_it_is_likely(rows, n_classes):
    X, y = rows
    X, y = X[y < n_classes], y[y < n_classes]
    names = np.array(["b", "a", "c"])[y]
    forest = ObliqueForestClassifier(5, splitter="axis", max_depth=2, random_state=0)
    forest.fit(X, names)
    ax = plot_boundary(forest, X, grid_resolution=20, alpha=0.5)
    meshes = list_meshes(ax)
    assert len(meshes) == n_classes
    for k, mesh in enumerate(meshes):
        points, colours = find_points(mesh)
        proba = forest.predict_proba(points)[:, k]
        # Maps of colours have 256 steps.
        np.testing.assert_allclose(colours[:, 3], 0.5 * proba, atol=0.5 / 250)
        np.testing.assert_allclose(colours[:, :3], [to_rgb(PALETTE[k])] * len(points), atol=1e-6)
    # The grid reaches to the edges, with the same margin for both features.
    for k, (low, high) in enumerate((ax.get_xlim(), ax.get_ylim())):
        span = np.ptp(X[:, k])
        assert low == pytest.approx(X[:, k].min() - 0.05 * span)
        assert high == pytest.approx(X[:, k].max() + 0.05 * span)


def test_rows_have_the_colours_of_their_classes(rows):
    X, y = rows
    tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    ax = plot_boundary(tree, X, y)
    dots = [artist for artist in ax.collections if len(artist.get_offsets()) == 50]
    assert len(dots) == 3
    for k, artist in enumerate(dots):
        np.testing.assert_array_equal(artist.get_offsets(), X[y == k])
        np.testing.assert_allclose(artist.get_facecolor()[0], to_rgba(PALETTE[k]))
        assert artist.get_label() == str(k)


def test_rows_without_a_label_are_grey_and_small(rows):
    X, y = rows
    partial = np.where(np.arange(len(y)) % 10, -1, y)
    model = SemiSupervisedForestClassifier(10, n_structure_trees=5, random_state=0).fit(X, partial)
    ax = plot_boundary(model, X, partial, marker_size=20.0)
    sizes = {len(dots.get_offsets()): dots.get_sizes()[0] for dots in ax.collections[-4:]}
    assert sizes == {135: 6.0, 5: 20.0}


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_names_of_columns_are_kept_without_a_warning(rows, kind, recwarn):
    X, y = rows
    X = kind({"length": X[:, 0], "width": X[:, 1]}) if kind is not np.asarray else X
    ax = plot_boundary(ObliqueTreeClassifier(random_state=0).fit(X, y), X, y)
    named = ("length", "width") if kind is not np.asarray else ("", "")
    assert (ax.get_xlabel(), ax.get_ylabel()) == named
    assert not [w for w in recwarn if "feature names" in str(w.message)]


def test_numbers_run_from_white_to_blue(rows):
    X, _ = rows
    forest = ObliqueForestRegressor(5, splitter="oc1", random_state=0).fit(X, X[:, 0])
    ax = plot_boundary(forest, X, X[:, 0], grid_resolution=20, alpha=1.0)
    (mesh,) = list_meshes(ax)
    points, colours = find_points(mesh)
    predicted = forest.predict(points)
    place = (predicted - predicted.min()) / np.ptp(predicted)
    expected = 1 + place[:, None] * (np.array(to_rgb(TOP)) - 1)
    np.testing.assert_allclose(colours[:, :3], expected, atol=0.006)
    dots = ax.collections[-1]
    assert dots.norm is mesh.norm


def test_densities_are_drawn_as_logarithms(rows):
    X, _ = rows
    forest = DensityForest(5, random_state=0).fit(X)
    ax = plot_boundary(forest, X, grid_resolution=15)
    (mesh,) = list_meshes(ax)
    points, _ = find_points(mesh)
    np.testing.assert_allclose(mesh.get_array().ravel(), forest.score_samples(points))


def test_models_of_scikit_learn_are_drawn_as_well_and_into_axes(rows):
    X, y = rows
    _, ax = plt.subplots()
    assert plot_boundary(LogisticRegression().fit(X, y), X, y, ax=ax) is ax


def test_what_cannot_be_drawn_is_refused(rows):
    X, y = rows
    tree = ObliqueTreeClassifier(random_state=0).fit(X, y)
    wide = ObliqueTreeClassifier(random_state=0).fit(np.hstack([X, X]), y)
    double = ObliqueTreeClassifier(random_state=0).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="has 4; expected a model that was fitted to two columns"):
        plot_boundary(wide, X)
    with pytest.raises(ValueError, match=r"y has shape \(3,\); expected \(150,\)"):
        plot_boundary(tree, X, y[:3])
    with pytest.raises(ValueError, match="expected rows of two columns"):
        plot_boundary(tree, X[:, :1])
    with pytest.raises(ValueError, match="a classifier of one output"):
        plot_boundary(double, X)
    with pytest.raises(ValueError, match="grid_resolution"):
        plot_boundary(tree, X, grid_resolution=1)
    with pytest.raises(ValueError, match="alpha"):
        plot_boundary(tree, X, alpha=1.5)


def test_categories_are_refused():
    X = np.column_stack([np.arange(40.0) % 4, np.arange(40.0)])
    tree = ObliqueTreeRegressor(categorical_features=[0]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="this one has categories"):
        plot_boundary(tree, X)
