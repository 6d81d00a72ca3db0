"""What a model says at every point of the plane, by scikit-learn's ``DecisionBoundaryDisplay``.

The display is asked about one class after the other, and each is laid over those before it in its
own colour, the stronger the likelier it is.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.utils.validation import check_is_fitted

from obtree.core.hints import ArrayLike
from obtree.core.params import Integer, Number, check_param, refuse_param
from obtree.plot.cells import find_limits
from obtree.tree.colours import DARK, TOP, WHITE, list_colours
from obtree.tree.members import find_categories


def plot_boundary(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    grid_resolution: int = 200,
    alpha: float = 0.65,
    marker_size: float = 16.0,
    ax: Axes | None = None,
) -> Axes:
    """Colour the plane by what a model of two features predicts, with rows on top.

    Classes have the colours of `plot_tree`, the stronger the likelier they are; numbers, and the
    logarithms of densities, run from white to blue.

    Parameters
    ----------
    model : fitted estimator
        Of two features: anything with ``predict_proba``, ``predict`` or ``score_samples``.
    X : array-like of shape (n_samples, 2)
        Rows that the picture is to show.
    y : array-like of shape (n_samples,), optional
        Their classes or numbers. Without it no rows are drawn. Rows whose label is none of the
        classes of the model, -1 of rows without a label for one, are small and grey.
    grid_resolution : int, default=200
        Points of a side of the grid at which the model is asked.
    alpha : float, default=0.65
        How strong the colours of the plane are.
    marker_size : float, default=16.0
        Of rows, in square points.
    ax : matplotlib axes, optional
        Where to draw; in a new figure by default.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    plot_cells : The cells of one tree, and the lines of its tests.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.plot import plot_boundary, plot_cells
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> petals = X[["petal length (cm)", "petal width (cm)"]]
    >>> forest = ObliqueForestClassifier(20, splitter="oc1", random_state=0).fit(petals, y)
    >>> ax = plot_boundary(forest, petals, y)
    >>> ax = plot_cells(forest, member=0, ax=ax, filled=False)
    """
    check_param("grid_resolution", grid_resolution, Integer(2))
    alpha = check_param("alpha", alpha, Number(0.0, 1.0))
    marker_size = check_param("marker_size", marker_size, Number(0.0))
    check_is_fitted(model)
    if find_categories(model) is not None:
        raise ValueError("plot_boundary draws models of numbers, and this one has categories")
    limits = find_limits(X, ax)
    n_features = getattr(model, "n_features_in_", 2)
    if n_features != 2:
        raise ValueError(
            f"plot_boundary draws models of two features, and this one has {n_features}; expected "
            "a model that was fitted to two columns"
        )
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    # The display adds the same margin to both features, whatever their units: it is given corners
    # instead of rows, and no margin.
    corners: Any = np.array(limits).T
    frame: Any = X
    if hasattr(frame, "columns"):
        corners = type(frame)(dict(zip(frame.columns, corners.T, strict=True)))
    options = {"grid_resolution": grid_resolution, "eps": 0.0, "plot_method": "pcolormesh"}
    options |= {"ax": ax, "zorder": 0.5, "rasterized": True}
    draw = _draw_classes if is_classifier(model) else _draw_numbers
    draw(model, corners, np.asarray(X), y, alpha, marker_size, options)
    ax.set(xlim=limits[0], ylim=limits[1])
    return ax


def _draw_classes(model, corners, X, y, alpha, marker_size, options):
    """Lay the probabilities of all classes over each other, and the rows of all on top."""
    classes = model.classes_
    if isinstance(classes, list):
        refuse_param("model", model, expected="a classifier of one output")
    colours = list_colours(len(classes))
    for label, colour in zip(classes, colours, strict=True):
        clear, full = to_rgba(colour, 0.0), to_rgba(colour, alpha)
        shades = LinearSegmentedColormap.from_list("class", [clear, full])
        if len(classes) == 1:
            _fill_plane(corners, shades, options)
            continue
        DecisionBoundaryDisplay.from_estimator(
            model,
            corners,
            response_method="predict_proba",
            class_of_interest=label,
            cmap=shades,
            vmin=0.0,
            vmax=1.0,
            **options,
        )
    if y is None:
        return
    y = _check_targets(y, X)
    ax = options["ax"]
    other = ~np.isin(y, classes)
    if other.any():
        ax.scatter(*X[other].T, s=0.3 * marker_size, color=DARK, linewidths=0, zorder=2)
    for label, colour in zip(classes, colours, strict=True):
        style = {"s": marker_size, "color": colour, "edgecolors": WHITE, "linewidths": 0.6}
        ax.scatter(*X[y == label].T, label=str(label), zorder=2.5, **style)


def _fill_plane(corners, shades, options):
    """Draw what is the same everywhere: displays refuse models of one class."""
    ax, kept = options["ax"], {name: options[name] for name in ("zorder", "rasterized")}
    ax.pcolormesh(*np.asarray(corners).T, [[1.0]], cmap=shades, vmin=0.0, vmax=1.0, **kept)
    if hasattr(corners, "columns"):
        ax.set(xlabel=corners.columns[0], ylabel=corners.columns[1])


class _LogDensity(RegressorMixin, BaseEstimator):
    """A density as a prediction: before scikit-learn 1.9 displays take nothing else."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y=None):
        self.model.fit(X)
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return self.model.score_samples(X)


def _draw_numbers(model, corners, X, y, alpha, marker_size, options):
    """Draw predictions or densities, and rows in the colours of their targets."""
    method = next((m for m in ("predict", "score_samples") if hasattr(model, m)), None)
    if method is None:
        refuse_param("model", model, expected="an estimator with predict or score_samples")
    display = DecisionBoundaryDisplay.from_estimator(
        model if method == "predict" else _LogDensity(model),
        corners,
        response_method="predict",
        cmap=LinearSegmentedColormap.from_list("numbers", [WHITE, TOP]),
        alpha=alpha,
        **options,
    )
    if y is None:
        return
    y = _check_targets(y, X)
    ax, surface = options["ax"], display.surface_
    style = {"edgecolors": DARK, "linewidths": 0.5, "cmap": surface.cmap, "norm": surface.norm}
    ax.scatter(*X.T, c=y, s=marker_size, zorder=2.5, **style)


def _check_targets(y, X):
    """One target for each row."""
    y = np.asarray(y)
    if y.shape != (len(X),):
        raise ValueError(f"y has shape {y.shape}; expected ({len(X)},), a target for each row of X")
    return y
