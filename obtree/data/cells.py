"""Cells of a table that are no numbers: missing ones, dates and times, text.

NumPy turns a date into a number without a word: days, seconds or microseconds since 1970,
as the table's library happens to store them. Such columns are refused here, whatever
library they come from. The marks that libraries have for "no value" become NaN.
"""

import datetime

import numpy as np
import scipy.sparse as sp

from obtree.core.names import name_column, show

REMEDY = (
    "turn dates and times into numbers first: seconds since a day of your choice, or year, "
    "month, weekday and hour as columns of their own"
)

#: How the names of types of dates and times begin, in NumPy, pandas, Polars and Arrow.
TIME_DTYPES = ("date", "time", "duration", "period", "month_day_nano")
TIME_TYPES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
)
MISSING_TYPES = ("NAType", "NaTType")


def read_cells(X):
    """Refuse dates and times in features, and make other marks of missing cells NaN.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
        What the user gave.

    Returns
    -------
    X : object
        The same, or a copy when it held ``pandas.NA`` or ``NaT`` among objects.
    """
    if sp.issparse(X) or getattr(getattr(X, "dtype", None), "kind", "") in tuple("biufc"):
        return X
    if isinstance(X, (list, tuple)):
        try:
            cells = np.asarray(X)
        except ValueError:  # rows of different lengths, which scikit-learn refuses
            return X
        filled = read_cells(cells)
        return X if filled is cells else filled
    names = list_names(X)
    dtypes = list_dtypes(X)
    times = set(filter(is_time_dtype, set(dtypes)))  # a wide table has few types
    for j, dtype in enumerate(dtypes if times else ()):
        if dtype in times:
            raise ValueError(_describe_times(dtype, name_column(j, names)))
    if isinstance(X, np.ndarray):
        return _fill_array(X)
    if hasattr(X, "isetitem"):
        return _fill_frame(X, dtypes, names)
    return X


def read_values(values, complaint):
    """Do the same for what is not a table: a target or weights.

    Parameters
    ----------
    values : array-like
        What the user gave.
    complaint : str
        How the message about dates and times begins.

    Returns
    -------
    values : object
        The same, or an array with NaN where there were other marks.
    """
    if not hasattr(values, "dtype"):
        values = np.asarray(values)
    if is_time_dtype(values.dtype):
        raise ValueError(f"{complaint}: got {values.dtype}; {REMEDY}")
    if getattr(values.dtype, "kind", "") != "O" or hasattr(values.dtype, "categories"):
        return values
    cells = np.asarray(values, dtype=object)
    for value in cells.flat:
        if is_time(value):
            raise ValueError(f"{complaint}: got {show(value)}; {REMEDY}")
    return _fill_array(cells)


def describe_bad_cell(X):
    """Find the first cell that is not a number.

    Parameters
    ----------
    X : array-like or data frame
        Features that could not be converted.

    Returns
    -------
    where : str or None
        Column, row and value; None when there is no such cell.
    is_date : bool
        Whether it holds a date or a time.
    """
    if sp.issparse(X):
        return None, False
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths
        return None, False
    if cells.ndim != 2:
        return None, False
    for j in range(cells.shape[1]):
        if _is_numeric(cells[:, j]):
            continue
        # Cells that are lists may be numeric one by one, and not together.
        bad = (i for i in range(cells.shape[0]) if not _is_numeric(cells[i, j]))
        i = next(bad, 0)
        name = name_column(j, list_names(X))
        return f"{name}, row {i}, value {show(cells[i, j])}", is_time(cells[i, j])
    return None, False


def list_names(X):
    """Return the names of the columns of a data frame, None for other tables."""
    # Arrow's `columns` are the columns themselves.
    names = getattr(X, "column_names", None)
    return getattr(X, "columns", None) if names is None else names


def is_time(value):
    """Tell whether one object is a date, a time or a duration."""
    return _is_time_type(type(value))


def _is_time_type(kind):
    """Tell whether objects of a class are dates, times or durations."""
    if kind.__name__ in MISSING_TYPES:
        return False
    return issubclass(kind, TIME_TYPES) or kind.__name__ == "Period"


def list_dtypes(X):
    """Return the types of the columns, as the library of the table describes them."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # not a series
        return list(X.dtypes)
    if hasattr(X, "schema") and hasattr(X.schema, "types"):
        return list(X.schema.types)
    return [getattr(X, "dtype", None)]


def is_time_dtype(dtype):
    """Tell whether a column type is one of dates, times or durations."""
    # Categories and dictionaries of dates become dates when they are read.
    categories = getattr(getattr(dtype, "categories", None), "dtype", None)
    inner = getattr(dtype, "value_type", None) if categories is None else categories
    return str(dtype if inner is None else inner).lower().startswith(TIME_DTYPES)


def _describe_times(kind, place):
    """Return the text of the refusal."""
    return f"X must hold numbers only, got {kind} ({place}); {REMEDY}"


def _fill_array(X, column=None):
    """Return an array of objects with NaN where there is no value; `column` says what it is."""
    if X.dtype.kind != "O":
        return X
    kinds = set(map(type, X.flat))
    if any(map(_is_time_type, kinds)):
        at = next(index for index, cell in np.ndenumerate(X) if is_time(cell))
        column = f"column {at[1]}" if len(at) > 1 else column
        place = f"row {at[0]}" if column is None else f"{column}, row {at[0]}"
        raise ValueError(_describe_times(show(X[at]), place))
    if any(kind.__name__ in MISSING_TYPES for kind in kinds):
        X = X.copy()
        X[np.frompyfunc(_is_mark, 1, 1)(X).astype(bool)] = np.nan
    return X


def _fill_frame(X, dtypes, names):
    """Return a frame of pandas with NaN where columns of objects or text have no value."""
    filled = X
    for j, dtype in enumerate(dtypes):
        if getattr(dtype, "kind", "") != "O" or hasattr(dtype, "categories"):
            continue
        cells = X.iloc[:, j].to_numpy(dtype=object)
        values = _fill_array(cells, name_column(j, names))
        if values is not cells:
            if filled is X:
                filled = X.copy(deep=False)
            filled.isetitem(j, values)
    return filled


def _is_mark(cell):
    """Tell whether a cell is pandas' mark for "no value"."""
    return type(cell).__name__ in MISSING_TYPES


def _is_numeric(cells):
    """Tell whether NumPy turns all the cells into numbers."""
    try:
        with np.errstate(over="ignore"):
            np.asarray(cells, dtype=np.float32)
    except (TypeError, ValueError):
        return False
    return True
