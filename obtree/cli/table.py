"""Tables in files: reading, checking that cells are numbers, writing.

pandas does the reading and is an optional dependency; Parquet needs pyarrow as well.
"""

import difflib
import os

import numpy as np

INSTALL_HINT = "install it with: pip install 'obtree[cli]'"


class CommandError(Exception):
    """A mistake of the user, to be reported in one line."""


def read_table(path):
    """Read a CSV or Parquet file.

    Parameters
    ----------
    path : str
        The suffix tells the format: .csv, .tsv (both maybe compressed, as .csv.gz),
        .parquet or .pq.

    Returns
    -------
    frame : pandas.DataFrame
    """
    pandas = _import_pandas()
    if not os.path.isfile(path):
        raise CommandError(f"no such file: {path}")
    kind = _find_format(path)
    try:
        if kind == "parquet":
            frame = pandas.read_parquet(path)
        else:
            separator = "\t" if kind == "tsv" else ","
            frame = pandas.read_csv(path, sep=separator, low_memory=False)
    except ImportError:
        raise CommandError(f"reading {path} needs pyarrow; {INSTALL_HINT}") from None
    except (ValueError, OSError) as error:  # pandas' parsing errors are ValueErrors
        raise CommandError(f"cannot read {path}: {error}") from None
    if frame.empty:
        raise CommandError(f"{path} has no rows or no columns")
    frame.columns = frame.columns.map(str)
    return frame


def write_table(frame, path):
    """Write a table to a file, or as CSV to standard output.

    Parameters
    ----------
    frame : pandas.DataFrame
        What to write; the index is left out.
    path : str or None
        File whose suffix tells the format; None for standard output.
    """
    if path is None:
        print(frame.to_csv(index=False), end="")
    elif _find_format(path) == "parquet":
        try:
            frame.to_parquet(path, index=False)
        except ImportError:
            raise CommandError(f"writing {path} needs pyarrow; {INSTALL_HINT}") from None
    else:
        frame.to_csv(path, index=False, sep="\t" if _find_format(path) == "tsv" else ",")


def make_frame(columns):
    """Make a table of columns.

    Parameters
    ----------
    columns : dict of str to ndarray
        Columns of the same length.

    Returns
    -------
    frame : pandas.DataFrame
    """
    return _import_pandas().DataFrame(columns)


def pick_column(frame, name, path):
    """Return one column.

    Parameters
    ----------
    frame : pandas.DataFrame
        Table read from `path`.
    name : str
        Name of the column.
    path : str
        File the table came from, for the message.

    Returns
    -------
    column : pandas.Series
    """
    if name not in frame.columns:
        near = difflib.get_close_matches(name, list(frame.columns), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {_list_some(frame.columns)}"
        raise CommandError(f"{path} has no column {name!r}; {hint}")
    return frame[name]


def to_numbers(frame, path):
    """Return a table as numbers, or name the first cell that is not one.

    Parameters
    ----------
    frame : pandas.DataFrame
        Table of features; empty cells are missing values.
    path : str
        File the table came from, for the message.

    Returns
    -------
    frame : pandas.DataFrame
        Numeric columns only.
    """
    pandas = _import_pandas()
    columns = {}
    for name, column in frame.items():
        if column.dtype.kind in "biuf":
            columns[name] = column
            continue
        text = column.astype(object)  # a date would count as a number otherwise
        numbers = pandas.to_numeric(text, errors="coerce")
        bad = np.flatnonzero((numbers.isna() & column.notna()).to_numpy(dtype=bool))
        if bad.size:
            row = int(bad[0])
            raise CommandError(
                f"{path}: column {name!r}, data row {row + 1}: {column.iloc[row]!r} is not a "
                "number; encode text as numbers, or drop the column"
            )
        columns[name] = numbers
    return pandas.DataFrame(columns)


def _list_some(names, limit=8):
    """Put the first few names into words."""
    text = ", ".join(map(repr, names[:limit]))
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def _find_format(path):
    """Tell the format of a file by its name."""
    name = os.path.basename(path).lower()
    for suffix in (".gz", ".bz2", ".xz", ".zip"):
        name = name.removesuffix(suffix)
    suffix = os.path.splitext(name)[1]
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix in (".csv", ".txt", ".tsv"):
        return "tsv" if suffix == ".tsv" else "csv"
    raise CommandError(f"{path}: unknown format {suffix!r}; expected .csv, .tsv or .parquet")


def _import_pandas():
    """Import pandas, which only the commands on files need."""
    try:
        import pandas
    except ImportError:
        raise CommandError(f"reading tables needs pandas; {INSTALL_HINT}") from None
    return pandas
