"""What a forest for regression remembers of the rows it was fitted to.

The leaf of each row in each tree is all it takes to find the training rows that share leaves with
another row, and what trees that left a row out have missed there says how far off predictions are.
A leaf is four bytes for a row and a tree, a few percent of what a fully grown tree takes.
"""

from dataclasses import dataclass

import numpy as np

from obtree.core.names import show
from obtree.estimators.leaf_rows import find_leaves
from obtree.estimators.mixture import Residuals
from obtree.estimators.oob import to_predict_layout
from obtree.estimators.sampling import Bags, RowSample
from obtree.tree.predict import Predictor

#: Least factor that `shrink` may be: judged by few rows, what is left might be nothing.
MIN_SHRINK = 0.2


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows of a forest.

    Attributes
    ----------
    y : float64 ndarray of shape (n_rows, n_outputs)
        Targets.
    leaves : int32 ndarray of shape (n_rows, n_trees)
        Leaf of each row in each tree.
    misses : float64 ndarray of shape (n_rows, n_outputs)
        Targets less what trees that left the row out predict; NaN where fewer than two did.
    shrink : float
        How large the misses of the whole forest are, as a fraction of `misses`: more trees predict
        a new row than have left a training row out.
    bags : Bags
        Which rows each tree grew on.
    """

    y: np.ndarray
    leaves: np.ndarray
    misses: np.ndarray
    shrink: float
    bags: Bags

    def __reduce__(self):
        # What comes back from a pickle is checked like what comes back from a file.
        return restore_rows, describe_rows(self)

    # skops asks for the state of an object.
    def __getstate__(self):
        return dict(zip(("header", "arrays"), describe_rows(self), strict=True))

    def __setstate__(self, state):
        vars(self).update(vars(restore_rows(state["header"], state["arrays"])))


def remember_rows(plan, trees, predictor, seeds, bags, n_threads, gain=1.0):
    """Find out what there is to remember of the rows of a fit.

    Parameters
    ----------
    plan : GrowthPlan
        Of the fit.
    trees : list of Tree
        Of the whole forest.
    predictor : Predictor
        Of these trees.
    seeds : sequence of int
        Of the trees.
    bags : Bags
        Which rows each tree grew on.
    n_threads : int
        Number of threads.
    gain : float, default=1.0
        Squared error of the forest with its chains, as a fraction of that without.

    Returns
    -------
    rows : TrainingRows
    """
    X = to_predict_layout(plan.X)
    y = np.ascontiguousarray(plan.target.y)
    leaves = find_leaves(predictor, X, n_threads)
    weight = bags.spread_weight()
    unit = plan.take_rows().measure_spread()
    residuals = Residuals(y / unit)
    for t, (tree, seed, leaf) in enumerate(zip(trees, seeds, list_columns(leaves), strict=True)):
        out = np.flatnonzero(bags.count(t, seed) == 0)
        if not len(out):
            continue
        if tree.leaf_kind.fields:
            values = Predictor([tree]).predict(X[out], n_threads=n_threads)[:, :, 0]
        else:
            values = tree.value[leaf[out], :, 0]
        residuals.add(out, values / unit)
    judged = residuals.n_judges > 1
    misses = np.where(judged[:, None], -unit * residuals.mean, np.nan)
    shrink = _measure_shrink(residuals, weight, len(trees), gain)
    return TrainingRows(y, leaves, misses, shrink, bags)


def list_columns(leaves):
    """Yield the columns of a matrix, of which several are copied at a time: a line of the cache.

    Parameters
    ----------
    leaves : int32 ndarray of shape (n_rows, n_trees)

    Yields
    ------
    leaf : int32 ndarray of shape (n_rows,)
    """
    for first in range(0, leaves.shape[1], 16):
        yield from leaves[:, first : first + 16].T.copy()


def _measure_shrink(residuals, weight, n_trees, gain):
    """Return the misses of the whole forest as a fraction of those of some trees."""
    weight = weight * (residuals.n_judges > 1)
    if not weight.any():
        return 1.0
    few = np.average((residuals.mean**2).sum(axis=1), weights=weight)
    each = np.average(residuals.mean_square, weights=weight)
    # Without end, the forest would miss as much as two of its trees have in common.
    common = residuals.multiply(residuals, weight)
    whole = gain * (common + (each - common) / n_trees)
    if not few > 0.0:
        return 1.0
    return float(np.sqrt(np.clip(whole / few, MIN_SHRINK**2, 1.0)))


def describe_rows(rows):
    """Return training rows as plain data.

    Parameters
    ----------
    rows : TrainingRows

    Returns
    -------
    header : dict
        For JSON.
    arrays : dict of str to ndarray
    """
    bags = rows.bags
    arrays = {
        "y": rows.y,
        "leaves": rows.leaves,
        "misses": rows.misses,
        "n_draws": np.array([sample.n_draws for sample in bags.samples], dtype=np.int64),
        "replace": np.array([sample.replace for sample in bags.samples], dtype=np.bool_),
    }
    if bags.rows is not None:
        arrays["rows"] = bags.rows.astype(np.int64)
    if bags.weight is not None:
        arrays["weight"] = bags.weight
    return {"shrink": float(rows.shrink)}, arrays


def restore_rows(header, arrays):
    """Undo `describe_rows`, trusting nothing.

    Parameters
    ----------
    header : dict
    arrays : dict of str to ndarray

    Returns
    -------
    rows : TrainingRows

    Raises
    ------
    ValueError
        When these are no training rows.
    """
    header, arrays = dict(header), dict(arrays)
    shrink = header.pop("shrink", None)
    if type(shrink) is not float or not MIN_SHRINK <= shrink <= 1.0:
        raise ValueError(f"shrink is {show(shrink)}, expected a number from {MIN_SHRINK} to 1")
    y = _take(arrays, "y", np.float64, 2)
    n_rows = len(y)
    leaves = _take(arrays, "leaves", np.int32, 2, n_rows)
    misses = _take(arrays, "misses", np.float64, 2, n_rows)
    n_trees = leaves.shape[1]
    n_draws = _take(arrays, "n_draws", np.int64, 1, n_trees)
    replace = _take(arrays, "replace", np.bool_, 1, n_trees)
    rows = _take(arrays, "rows", np.int64, 1) if "rows" in arrays else None
    n_taken = n_rows if rows is None else len(rows)
    weight = _take(arrays, "weight", np.float64, 1, n_taken) if "weight" in arrays else None
    for name in [*header, *arrays]:
        raise ValueError(f"it holds {show(name)}, which training rows do not have")
    if min(*y.shape, n_trees, n_taken) < 1 or misses.shape != y.shape or leaves.min() < 0:
        raise ValueError("its training rows are empty, of different shapes, or in no leaf")
    if not np.isfinite(y).all() or np.isinf(misses).any():
        raise ValueError("its training rows hold infinite values")
    if rows is not None and (rows.min() < 0 or rows.max() >= n_rows or (np.diff(rows) <= 0).any()):
        raise ValueError("the training rows that take part are not in order")
    if weight is not None and not (np.isfinite(weight).all() and weight.min() > 0.0):
        raise ValueError("its training rows have weights that are not positive numbers")
    # No forest draws more rows than there are.
    if n_draws.min() < 0 or n_draws.max() > n_taken:
        raise ValueError("the samples of its trees are larger than the training rows")
    samples = [RowSample(int(n), bool(r)) for n, r in zip(n_draws, replace, strict=True)]
    return TrainingRows(y, leaves, misses, shrink, Bags(samples, n_rows, rows, weight))


def _take(arrays, name, dtype, n_axes, length=None):
    """Take an array of that type and shape out of those of a file."""
    found = arrays.pop(name, None)
    if not isinstance(found, np.ndarray) or found.dtype != dtype or found.ndim != n_axes:
        raise ValueError(f"its {name} are not an array of {np.dtype(dtype)} with {n_axes} axes")
    if length is not None and len(found) != length:
        raise ValueError(f"{len(found)} {name}, expected {length}")
    return np.ascontiguousarray(found)
