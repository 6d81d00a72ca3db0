"""A folder of tables, whatever they are: which there are, and how each is split.

A table is a file ``c_<name>.npz``, for classification, or ``r_<name>.npz``, for regression, with
the arrays ``X`` and ``y``. Everything is found by these names and nothing is known about them.
"""

import os
import zipfile
from pathlib import Path

import numpy as np

from obtree.bench.data import FOLDER_VARIABLE, DataNotFoundError, Split

TABLES_VARIABLE = "OBTREE_TABLES"
BESIDE = "suite"  # name of a folder of tables beside the one of other data
CLASSIFICATION, REGRESSION = "c_", "r_"  # how the names of tables begin

FIRST_SEED = 1_000  # of the order of the rows, for the first split
MOST_TRAINING_ROWS = 4_000


def find_folder(chosen=None, required=True):
    """Return the folder of tables.

    Parameters
    ----------
    chosen : path-like, default=None
        What the user asked for; None looks at the environment.
    required : bool, default=True
        Whether it is a mistake when none is named.

    Returns
    -------
    folder : Path or None
    """
    folder = chosen or os.environ.get(TABLES_VARIABLE)
    data = os.environ.get(FOLDER_VARIABLE)
    if not folder and data:
        beside = Path(data).absolute().parent / BESIDE
        folder = beside if beside.is_dir() else None
    expected = (
        f"expected a folder with files {CLASSIFICATION}<name>.npz or {REGRESSION}<name>.npz, "
        "each with arrays X and y"
    )
    if not folder and not required:
        return None
    if not folder:
        raise ValueError(
            f"no folder of tables was given, by --tables or the variable {TABLES_VARIABLE}, and "
            f"there is no folder {BESIDE} beside the one that {FOLDER_VARIABLE} names; {expected}"
        )
    if not list_tables(folder):
        raise ValueError(f"{folder} has no tables; {expected}")
    return Path(folder)


def list_tables(folder):
    """List the tables of a folder, those for classification first.

    Parameters
    ----------
    folder : path-like or None
        May be missing.

    Returns
    -------
    names : tuple of str
    """
    if folder is None:
        return ()
    return tuple(
        path.stem
        for begin in (CLASSIFICATION, REGRESSION)
        for path in sorted(Path(folder).glob(f"{begin}*.npz"))
    )


def is_regression(name):
    """Tell whether the target of a table is a quantity.

    Parameters
    ----------
    name : str
        Of the table.

    Returns
    -------
    regression : bool
    """
    return name.startswith(REGRESSION)


def load_table(folder, name, split):
    """Load a table and split it at random.

    Parameters
    ----------
    folder : Path
        Where tables are.
    name : str
        Of the table.
    split : int
        Number of the split, from 0.

    Returns
    -------
    split : Split
        The last quarter of the rows is for testing, and of the others the first 4,000 for
        training.
    """
    path = folder / f"{name}.npz"
    try:
        with np.load(path, allow_pickle=False) as archive:
            X, y = archive["X"], archive["y"]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataNotFoundError(f"{path} is not a table with arrays X and y: {error}") from error
    y = y.astype(np.float64 if is_regression(name) else np.int64)
    order = np.random.default_rng(FIRST_SEED + split).permutation(len(y))
    n_train = len(y) * 3 // 4
    train, test = order[: min(n_train, MOST_TRAINING_ROWS)], order[n_train:]
    return Split(X[train], y[train], X[test], y[test])
