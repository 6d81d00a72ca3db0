"""Small data sets on which splitters and criteria are checked."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse

Task = Literal["classification", "regression"]
TASKS: tuple[Task, ...] = ("classification", "regression")


@dataclass(frozen=True, eq=False)
class Situation:
    """Data and a name for messages.

    Attributes
    ----------
    name : str
    X : ndarray of float32, or sparse matrix
    y : ndarray of shape (n, n_outputs)
        int32 codes or float64 targets.
    criterion : str
    weight : ndarray of float64
    divisible : bool
        Whether any two rows differ.
    """

    name: str
    X: object
    y: np.ndarray
    criterion: str
    weight: np.ndarray
    divisible: bool = True


def make_situations(tasks=TASKS):
    """The data sets that a splitter must be able to split, and some that it cannot.

    Parameters
    ----------
    tasks : sequence of {"classification", "regression"}

    Returns
    -------
    list of Situation
    """
    rng = np.random.default_rng(0)
    n = 60
    plain = rng.normal(size=(n, 6)).astype(np.float32)
    whole = rng.integers(0, 4, size=(n, 6)).astype(np.float32)
    lacking = plain.copy()
    lacking[rng.random(lacking.shape) < 0.25] = np.nan
    lacking[:, 5] = np.nan
    steady = plain.copy()
    steady[:, [0, 2, 3, 5]] = 7
    scaled = plain * np.float32([1e-20, 1e-6, 1, 1e6, 1e12, 1e20])
    wide = rng.normal(size=(n, 90)).astype(np.float32)
    sparse = scipy.sparse.csc_matrix(np.where(rng.random((n, 6)) < 0.6, 0, plain))
    few = plain[:2]
    equal = np.ones((20, 3), dtype=np.float32)
    found = []
    for task in tasks:
        found += [
            _make("plain data", plain, task, rng),
            _make("whole numbers with weights", whole, task, rng, weighted=True),
            _make("missing values", lacking, task, rng),
            _make("mostly constant columns", steady, task, rng),
            _make("columns of very different scales", scaled, task, rng),
            _make("more features than rows", wide, task, rng),
            _make("sparse data", sparse, task, rng),
            _make("two rows", few, task, rng),
            _make("two outputs", plain, task, rng, n_outputs=2),
            _make("equal rows", equal, task, rng, divisible=False),
        ]
    return found


def _make(name, X, task, rng, n_outputs=1, weighted=False, divisible=True):
    """One data set, whose target follows the first columns and noise."""
    n = X.shape[0]
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    signal = np.nan_to_num(dense[:, :2]).astype(np.float64)
    signal = signal / (np.abs(signal).max(axis=0) + 1e-30)
    y = np.empty((n, n_outputs))
    for k in range(n_outputs):
        y[:, k] = signal[:, k % 2] + 0.3 * rng.normal(size=n)
    weight = rng.integers(1, 4, size=n).astype(np.float64) if weighted else np.ones(n)
    if task == "regression":
        return Situation(f"{name}, regression", X, y, "squared_error", weight, divisible)
    ranks = y.argsort(axis=0).argsort(axis=0)
    codes = np.ascontiguousarray(ranks * min(n, 3) // n, dtype=np.int32)
    return Situation(f"{name}, classification", X, codes, "gini", weight, divisible)
