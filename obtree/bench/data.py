"""The one way to data that scikit-learn does not ship.

This file uses NumPy and scikit-learn only: other libraries' processes read it as well.

A data set is looked for in the folder named by the environment variable OBTREE_DATA,
as ``<name>.npz`` holding ``X_train, y_train, X_test, y_test`` or ``X, y``; else it is
fetched from OpenML by name. When neither works the message says what was tried.

Features come in the type of the file (bytes, for images), in C order, as a user would
pass them; classes are int64 and other targets float64.
"""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from obtree.core.names import unknown_name

FOLDER_VARIABLE = "OBTREE_DATA"
TEST_FRACTION = 0.2  # of data without a split of their own


@dataclass(frozen=True)
class Source:
    """What the loader has to know about a data set.

    Parameters
    ----------
    openml : str or None
        Name on OpenML; None when it is not there.
    regression : bool, default=False
        Whether the target is a quantity.
    n_train : int, default=None
        The first so many rows are for training; None means a random split by seed.
    test_start : int, default=None
        First row for testing; None means `n_train`.
    shuffled : bool, default=False
        Whether rows from OpenML, which are sorted in some way, are put in random
        order first. Files in the folder are taken to be shuffled already.
    one_hot : bool, default=False
        Whether each value of each column, all being small codes, becomes a column.
    """

    openml: str | None
    regression: bool = False
    n_train: int | None = None
    test_start: int | None = None
    shuffled: bool = False
    one_hot: bool = False


SOURCES = {
    "letter": Source("letter", n_train=15_000),
    "mnist": Source("mnist_784", n_train=60_000),
    "pendigits": Source("pendigits", n_train=7_494),
    "optdigits": Source("optdigits", n_train=3_823),
    "satimage": Source("satimage"),
    "connect4": Source("connect-4", one_hot=True),
    "covertype": Source("covertype", n_train=100_000, test_start=290_506, shuffled=True),
    "usps": Source("USPS", n_train=7_291),
    "protein": Source("protein", n_train=17_766),
    "sensit": Source("SensIT-Vehicle-Combined", n_train=78_823),
    "ijcnn": Source("ijcnn", n_train=49_990),
    "char74k": Source(None),
    "spambase": Source("spambase"),
    "wdbc": Source("wdbc"),
    "sonar": Source("sonar"),
    "pima": Source("diabetes"),
    "german_numeric": Source("german-credit-numeric"),
    "heart_statlog": Source("heart-statlog"),
    "ionosphere": Source("ionosphere"),
    "australian": Source("Australian"),
    "california_housing": Source("houses", regression=True),
    "kin8nm": Source("kin8nm", regression=True),
    "cpuact": Source("cpu_act", regression=True),
    "elevators": Source("elevators", regression=True),
    "ailerons": Source("ailerons", regression=True, n_train=7_154),
    "abalone": Source("abalone", regression=True),
    "bike_hour": Source("Bike_Sharing_Demand", regression=True),
}


class DataNotFoundError(Exception):
    """A data set is neither in the folder nor on OpenML."""


class Split(NamedTuple):
    """Rows for training and rows for testing."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def regression(self):
        """Whether the target is a quantity."""
        return self.y_train.dtype.kind == "f"


def load(name, seed=0, n_train=None):
    """Load a data set, split into training and test rows.

    Parameters
    ----------
    name : str
        A key of `SOURCES`, or "million" for `make_million`.
    seed : int, default=0
        Seed of the random split (80 % for training); without effect where the data
        come with a split.
    n_train : int, default=None
        Train on the first so many rows and test on all others.

    Returns
    -------
    split : Split
    """
    if name == "million":
        return make_million(seed)
    if name not in SOURCES:
        raise ValueError(unknown_name("data set", name, [*SOURCES, "million"]))
    source = SOURCES[name]
    X, y, n_stored = _read_folder(name, source) or _read_openml(name, source)
    if n_train is None and (n_stored or source.n_train) is None:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
        n_train = len(y) - int(TEST_FRACTION * len(y))
        test_start = n_train
    elif n_train is None:
        n_train = n_stored or source.n_train
        test_start = max(n_train, source.test_start or 0)
    else:
        test_start = n_train
    if test_start >= len(y):
        raise DataNotFoundError(f"{name} has {len(y)} rows, expected more than {test_start}")
    return Split(X[:n_train], y[:n_train], X[test_start:], y[test_start:])


def load_shuffled(name, seed, train_fraction):
    """Load a data set whole and split it at random, whatever split it came with.

    Parameters
    ----------
    name : str
        A key of `SOURCES`.
    seed : int
        Seed of the split.
    train_fraction : float
        Fraction of the rows for training, rounded down.

    Returns
    -------
    split : Split
    """
    X_train, y_train, X_test, y_test = load(name)
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = int(train_fraction * len(y) + 1e-9)
    train, test = order[:n_train], order[n_train:]
    return Split(X[train], y[train], X[test], y[test])


def make_million(seed=0, n_train=1_000_000, n_test=100_000, noise=0.05):
    """Make two classes in a 20-dimensional unit cube.

    The class says whether the first two coordinates sum to more than 1, turned round
    where the product of the next two exceeds a quarter; the other sixteen say nothing.
    Then a fraction of the labels is drawn anew.

    Parameters
    ----------
    seed : int, default=0
        Seed of rows and noise.
    n_train, n_test : int, default=1_000_000 and 100_000
        Numbers of rows.
    noise : float, default=0.05
        Fraction of labels drawn anew; half of them keep their value by chance.

    Returns
    -------
    split : Split
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_train + n_test, 20), dtype=np.float32)
    y = ((X[:, 0] + X[:, 1] > 1) ^ (X[:, 2] * X[:, 3] > 0.25)).astype(np.int64)
    noisy = rng.random(len(y)) < noise
    y[noisy] = rng.integers(0, 2, noisy.sum())
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def _read_folder(name, source):
    """Return X, y and the stored number of training rows, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder or ".") / f"{name}.npz"
    if not folder or not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as archive:
        if "X_train" in archive:
            X = np.concatenate([archive["X_train"], archive["X_test"]])
            y = np.concatenate([archive["y_train"], archive["y_test"]])
            n_train = len(archive["y_train"])
        else:
            X, y, n_train = archive["X"], archive["y"], None
    return (*_convert(X, y, source), n_train)


def _read_openml(name, source):
    """Return X, y and None, or explain why not."""
    from sklearn.datasets import fetch_openml

    try:
        if source.openml is None:
            raise LookupError("it is not there")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the error below says as well
            X, y = fetch_openml(
                source.openml,
                version=1,
                return_X_y=True,
                as_frame=False,
                parser="liac-arff",
                n_retries=1,
            )
    except Exception as error:
        folder = os.environ.get(FOLDER_VARIABLE)
        looked = f"{folder} has no {name}.npz" if folder else f"{FOLDER_VARIABLE} is not set"
        raise DataNotFoundError(
            f"data set {name!r} was not found: {looked}, and OpenML's {source.openml or name!r} "
            f"could not be fetched ({type(error).__name__}: {error}). Set {FOLDER_VARIABLE} to a "
            f"folder with {name}.npz (arrays X and y, or X_train, y_train, X_test, y_test)."
        ) from error
    if not source.regression:
        y = np.unique(y, return_inverse=True)[1]
    if source.shuffled:
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    return (*_convert(X, y, source), None)


def _convert(X, y, source):
    """Return features in the type of the file, targets as every library takes them."""
    if hasattr(X, "toarray"):  # OpenML keeps some tables sparse
        X = X.toarray()
    if source.one_hot:
        X = np.concatenate([np.equal(X, code) for code in np.unique(X)], axis=1).astype(np.uint8)
    return (
        np.ascontiguousarray(X),
        np.ascontiguousarray(y, dtype=np.float64 if source.regression else np.int64),
    )
