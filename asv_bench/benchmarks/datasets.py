"""Data of the benchmarks, each made once per process."""

import functools
import os

import numpy as np
from sklearn.datasets import (
    load_digits,
    make_classification,
    make_regression,
)
from sklearn.model_selection import train_test_split

CLASSIFICATION = ("digits", "synthetic", "small")
REGRESSION = ("synthetic_regression", "small_regression")
LARGE = ("letter", "covertype")


@functools.cache
def load_split(name):
    """Return a data set split in two.

    Parameters
    ----------
    name : str
        One of `CLASSIFICATION`, `REGRESSION` or `LARGE`.

    Returns
    -------
    split : tuple of ndarray
        ``X_train, X_test, y_train, y_test``; features are float32.
    """
    if name in LARGE:
        split = _load_large(name)
        return split.X_train, split.X_test, split.y_train, split.y_test
    X, y = _make_table(name)
    return train_test_split(X.astype(np.float32), y, test_size=0.25, random_state=0)


def _make_table(name):
    """Return X and y of a data set that needs no download."""
    if name == "digits":
        return load_digits(return_X_y=True)
    if name in ("synthetic", "small"):
        n_rows = 10_000 if name == "synthetic" else 2_000
        return make_classification(
            n_rows, 30, n_informative=12, n_classes=5, flip_y=0.05, random_state=0
        )
    if name in ("synthetic_regression", "small_regression"):
        n_rows = 10_000 if name == "synthetic_regression" else 2_000
        return make_regression(n_rows, 20, n_informative=10, noise=5.0, random_state=0)
    raise ValueError(f"unknown data set {name!r}")


def _load_large(name):
    """Load through the package's loader, or skip the benchmark."""
    if not os.environ.get("OBTREE_DATA"):
        raise NotImplementedError("OBTREE_DATA is not set")  # asv's way to skip
    try:
        from obtree.bench.data import load
    except ImportError:  # a commit from before the loader was in the package
        raise NotImplementedError("this version has no loader") from None
    return load(name)
