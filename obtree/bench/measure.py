"""Fitting a model and testing it, in the same way everywhere."""

import time
from typing import NamedTuple

import numpy as np

REPEATS = 3  # predictions, of which the fastest counts


class Seconds(NamedTuple):
    """How long something took: processor time of all threads together, and time that passed."""

    processor: float
    wall: float


def measure_error(predicted, y):
    """Return the fraction of wrong classes, or the root mean squared error.

    Parameters
    ----------
    predicted, y : ndarray
        Predictions and truth; floats mean regression.

    Returns
    -------
    error : float
    """
    if y.dtype.kind == "f":
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    return float(np.mean(predicted != y))


def time_call(call):
    """Run a function and take its time.

    Parameters
    ----------
    call : callable
        Function without arguments.

    Returns
    -------
    seconds : Seconds
    """
    start, wall_start = time.process_time(), time.perf_counter()
    call()
    return Seconds(time.process_time() - start, time.perf_counter() - wall_start)


def measure_model(cell, plan, model, split, *, train=False):
    """Fit a model to the training rows and test it at all sizes of a cell.

    Smaller forests are the first trees of the largest, so that only the largest has a time.

    Parameters
    ----------
    cell : Cell
        What is measured.
    plan : Plan
        The plan, which may limit the training rows.
    model : estimator
        Not fitted. With more than one size it needs ``estimators_``.
    split : Split
        The data.
    train : bool, default=False
        Whether the training error is wanted too.

    Returns
    -------
    results : list of Result
    """
    split = plan.shorten(split)
    fit = time_call(lambda: model.fit(split.X_train, split.y_train))
    trees = getattr(model, "estimators_", None)
    results = []
    for size in cell.sizes:
        largest = size == cell.sizes[-1]
        if not largest:
            model.estimators_ = trees[:size]
        figures = {"error": measure_error(model.predict(split.X_test), split.y_test)}
        if train:
            figures["train_error"] = measure_error(model.predict(split.X_train), split.y_train)
        if largest:
            predictions = [time_call(lambda: model.predict(split.X_test)) for _ in range(REPEATS)]
            predict = Seconds(*map(min, zip(*predictions, strict=True)))
            figures |= {"fit_s": fit.processor, "predict_s": predict.processor}
            figures |= {"fit_wall_s": fit.wall, "predict_wall_s": predict.wall}
        results.append(
            cell.make_result(plan, size, rows=len(split.y_train), **figures, **count_nodes(model))
        )
        if not largest:
            model.estimators_ = trees
    return results


def count_nodes(model):
    """Count the nodes and leaves of a tree or forest, of ours or scikit-learn's.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    counts : dict
        With ``nodes`` and ``leaves``; empty for other models.
    """
    members = getattr(model, "estimators_", [model])
    if not all(hasattr(member, "tree_") for member in members):
        return {}
    nodes = sum(member.tree_.node_count for member in members)
    return {"nodes": nodes, "leaves": (nodes + len(members)) // 2}
