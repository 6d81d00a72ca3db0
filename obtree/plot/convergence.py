"""How the error of a forest falls with the number of its trees, and objectives with iterations."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.base import is_classifier

from obtree.core.hints import Array, ArrayLike
from obtree.core.params import FLAG, Integer, check_param, refuse_param
from obtree.estimators.staged import stage_out_of_bag, stage_predictions


def plot_convergence(
    model: object,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    out_of_bag: bool = False,
    metric: Callable[[Array, Array], float] | None = None,
    n_points: int = 30,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of a forest by its number of trees, or the objective of an optimised tree.

    With rows, the curve shows how far off the first trees of the forest are, from one to all of
    them: where it has become flat, more trees bring nothing. Without rows it shows the objective
    of an optimiser step by step, which TAO, non-greedy and disjunctive trees have.

    Parameters
    ----------
    model : fitted estimator
        A forest, or an optimised tree if there are no rows.
    X : array-like of shape (n_samples, n_features), optional
        Rows that the forest has not seen; the training rows for `out_of_bag`.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Their targets.
    out_of_bag : bool, default=False
        Whether X are the training rows, each of which is predicted by the trees that left it out.
        With few trees some rows have none and do not count. Boosted chains of a race take no part.
    metric : callable, optional
        ``metric(y, predicted)`` is drawn. By default the fraction of wrong rows, or the root of
        the mean squared error.
    n_points : int, default=30
        Numbers of trees that are tried, at most; they grow by a factor.
    label : str, optional
        Name of the curve in a legend (``ax.legend()``).
    ax : matplotlib axes, optional
        Where to draw; in a new figure by default.

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.plot import plot_convergence
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = ObliqueForestClassifier(50, splitter="axis", random_state=0).fit(X, y)
    >>> ax = plot_convergence(forest, X, y, out_of_bag=True)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('trees', 'error rate')
    """
    check_param("out_of_bag", out_of_bag, FLAG)
    check_param("n_points", n_points, Integer(2))
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together, or neither of them")
    if X is None:
        if out_of_bag:
            raise ValueError("out_of_bag=True needs the training rows; expected X and y")
        curves, at, names = _read_objective(model), None, ("iteration", "objective")
    else:
        errors, at, name = _trace_errors(model, X, y, out_of_bag, metric, n_points)
        curves, names = [errors], ("trees", name)
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    colour = None
    for k, curve in enumerate(curves):
        x = np.arange(len(curve)) if at is None else at
        marker = "o" if len(x) <= 40 and len(curves) == 1 else None
        (line,) = ax.plot(
            x, curve, marker=marker, ms=3, lw=1.3, color=colour, label=None if k else label
        )
        colour = line.get_color()
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(alpha=0.3)
    return ax


def _read_objective(model):
    """Objectives of an optimised tree, or of the trees of a forest."""
    found = getattr(model, "objective_", None)
    if found is None:
        refuse_param(
            "model", model, expected="a fitted optimised tree with objective_, or rows X and y"
        )
    curves = found if isinstance(found, list) else np.atleast_2d(found)
    return [np.asarray(curve, dtype=float) for curve in curves]


def _trace_errors(forest, X, y, out_of_bag, metric, n_points):
    """Errors by number of trees, these numbers, and what the errors are called."""
    if not isinstance(getattr(forest, "estimators_", None), list) or not hasattr(forest, "predict"):
        refuse_param("model", forest, expected="a fitted forest that predicts")
    if metric is None:
        is_class = is_classifier(forest)
        metric = _count_wrong if is_class else _measure_miss
        name = "error rate" if is_class else "root mean squared error"
    elif callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__).replace("_", " ")
    else:
        refuse_param("metric", metric, expected="None or a function of y and predictions")
    y = np.atleast_1d(y)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if y.ndim == 0 or len(y) != n_rows:
        raise ValueError(
            f"y has {y.size if y.ndim == 0 else len(y)} rows; expected {n_rows}, as X has"
        )
    n_trees = len(forest.estimators_)
    counts = np.unique(np.geomspace(1, n_trees, n_points).round().astype(int)).tolist()
    errors, at = [], []
    if not out_of_bag:
        for count, predicted in zip(counts, stage_predictions(forest, X, counts), strict=True):
            errors.append(metric(y, predicted))
            at.append(count)
        return errors, at, name
    stages = stage_out_of_bag(forest, X, counts)
    for count, (predicted, judged) in zip(counts, stages, strict=True):
        if judged.any():
            errors.append(metric(y[judged], predicted))
            at.append(count)
    if not at:
        raise ValueError(
            "out_of_bag=True needs rows that trees have left out, and every tree has seen every "
            "row; expected a forest fitted with bootstrap=True"
        )
    return errors, at, name


def _count_wrong(y, predicted):
    """Fraction of rows of which some output is wrong."""
    wrong = np.asarray(y) != predicted
    return float(np.mean(wrong if wrong.ndim == 1 else wrong.any(axis=1)))


def _measure_miss(y, predicted):
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((np.asarray(y, dtype=float) - predicted) ** 2)))
