"""Columns of categories: which they are, and the numbers that stand for their values.

Estimators that divide categories by sets know them as the numbers 0, 1, ... of a column, in the
order of the values. What they are given may be text, truth values, numbers or categories of
pandas and Polars; a value that was not there at the fit, and one that is missing, becomes NaN.
Everything behind this file sees numbers only.
"""

import math

import numpy as np
import scipy.sparse as sp

from obtree.core.advice import advise
from obtree.core.names import ask_if_meant, name_column, show
from obtree.core.params import refuse_param
from obtree.data.cells import MISSING_TYPES, is_time, is_time_dtype, list_dtypes, list_names

#: Most categories of a column: their bits are part of the nodes that test them.
MAX_CATEGORIES = 10_000

FROM_DTYPE = "from_dtype"

#: How the names of types of columns begin that are categories, in pandas, Polars and Arrow.
CATEGORY_DTYPES = (
    *("category", "categorical", "enum", "dictionary"),
    *("string", "large_string", "utf8", "bool"),
)

_EXPECTED = "'from_dtype', None, or a mask, indices or names of columns"


class CategoryEncoder:
    """The categories of the columns of a table, and their numbers.

    Parameters
    ----------
    categories : list of (list or None), one for each column
        What stands for 0, 1, ... in a column; None where the column holds numbers.

    Attributes
    ----------
    is_categorical : bool ndarray of shape (n_features,)
    categories : list of (ndarray or None)
    """

    def __init__(self, categories):
        self.is_categorical = np.array([known is not None for known in categories])
        self.categories = [None if known is None else _make_array(known) for known in categories]
        self._numbers = {}

    def __getstate__(self):
        return {"is_categorical": self.is_categorical, "categories": self.categories}

    def __setstate__(self, state):
        vars(self).update(state, _numbers={})

    def to_lists(self):
        """Return the categories as JSON can hold them.

        Returns
        -------
        categories : list of (list or None)
        """
        found = [None if known is None else known.tolist() for known in self.categories]
        for known in found:
            bad = next((value for value in known or () if not _is_plain(value)), None)
            if bad is not None:
                raise ValueError(
                    f"category {show(bad)} of type {type(bad).__name__} cannot be saved; expected "
                    "text, truth values or numbers"
                )
        return found

    @classmethod
    def from_lists(cls, categories):
        """Undo `to_lists`, trusting nothing.

        Parameters
        ----------
        categories : object
            From a file.

        Returns
        -------
        CategoryEncoder
        """
        if not isinstance(categories, list) or not any(map(_is_list, categories)):
            raise ValueError(f"categories are {show(categories)}, expected a list of lists")
        for known in categories:
            if known is None:
                continue
            if not isinstance(known, list) or not all(map(_is_plain, known)):
                raise ValueError(f"the categories of a feature are {show(known)}")
            if len(known) > MAX_CATEGORIES or len(set(known)) != len(known):
                raise ValueError(
                    f"the {len(known)} categories of a feature are not at most {MAX_CATEGORIES} "
                    "different ones"
                )
        return cls(categories)

    @classmethod
    def learn(cls, X, categorical_features):
        """Find the columns of categories of a table, and their categories.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        categorical_features : "from_dtype", None or array-like
            What the user gave.

        Returns
        -------
        CategoryEncoder or None
            None when there are no such columns.
        """
        chosen = find_categorical(X, categorical_features)
        if not chosen.any():
            return None
        categories = [None] * len(chosen)
        names = list_names(X)
        X = _open_table(X)
        for j in np.flatnonzero(chosen):
            place = name_column(j, names)
            _, found = _number_values(_take_column(X, j), place)
            if len(found) > MAX_CATEGORIES:
                raise ValueError(
                    f"{place} has {len(found)} categories; expected at most "
                    f"{MAX_CATEGORIES}: put rare ones together, or leave it out of "
                    "categorical_features and make it numbers"
                )
            categories[j] = _sort_values(found, place)
        return cls(categories)

    def transform(self, X):
        """Put numbers in the place of categories.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        X : ndarray or data frame
            A copy, with float32 numbers in these columns; NaN for what is missing or not known.
        """
        if sp.issparse(X):
            raise ValueError("X is sparse; expected dense X, since some features are categories")
        names = list_names(X)
        X = _open_table(X)
        if len(getattr(X, "shape", ())) != 2:
            return X  # refused later on, as for other estimators
        if X.shape[1] != len(self.categories):
            raise ValueError(
                f"X has {X.shape[1]} features; expected {len(self.categories)}, as at the fit"
            )
        replaced = {}
        for j in np.flatnonzero(self.is_categorical):
            codes, found = _number_values(_take_column(X, j), name_column(j, names))
            number = self._list_numbers(j)
            table = np.array([number.get(value, np.nan) for value in found] + [np.nan], np.float32)
            if np.isnan(table).all():
                _warn_of_other_kind(found, list(number), name_column(j, names))
            replaced[j] = table[codes]
        return _replace_columns(X, replaced)

    def _list_numbers(self, j):
        """The number of each category of a column, kept for the next rows."""
        if j not in self._numbers:
            known = self.categories[j].tolist()
            self._numbers[j] = {value: k for k, value in enumerate(known)}
        return self._numbers[j]


def find_categorical(X, categorical_features):
    """Return which columns of a table are categories.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
    categorical_features : "from_dtype", None or array-like
        What the user gave.

    Returns
    -------
    chosen : bool ndarray of shape (n_features,)
    """
    given = categorical_features
    X = _open_table(X)
    if given is None or len(getattr(X, "shape", ())) != 2:
        return np.zeros(0, dtype=bool)
    names = list_names(X)
    if isinstance(given, str):
        if given != FROM_DTYPE:
            refuse_param("categorical_features", given, expected=_EXPECTED, wrong_type=False)
        if names is None:
            return np.zeros(0, dtype=bool)
        dtypes = list_dtypes(X)
        return np.array([_holds_categories(X, j, dtype) for j, dtype in enumerate(dtypes)], bool)
    try:
        wanted = np.asarray(given)
    except ValueError:  # lists of different lengths
        wanted = np.empty((0, 0))
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "biuUSO"):
        refuse_param("categorical_features", given, expected=_EXPECTED)
    n_features = X.shape[1]
    chosen = np.zeros(n_features, dtype=bool)
    if wanted.dtype.kind == "b":
        if wanted.shape != (n_features,):
            raise ValueError(
                f"categorical_features is a mask of {len(wanted)} columns; X has {n_features}"
            )
        return wanted
    for item in wanted.tolist():
        chosen[_find_column(item, names, n_features, given)] = True
    if chosen.any() and sp.issparse(X):
        raise ValueError(
            f"categorical_features={show(given)} names columns of sparse X, which holds numbers; "
            "expected dense X, or categorical_features=None"
        )
    return chosen


def _find_column(item, names, n_features, given):
    """Return the number of the column that is meant."""
    if isinstance(item, str):
        known = [] if names is None else list(names)
        if item not in known:
            reason = "; X has no column names" if names is None else ", which is no column of X"
            raise ValueError(
                f"categorical_features names {show(item)}{reason}{ask_if_meant(item, known)}"
            )
        return known.index(item)
    if isinstance(item, bool) or not isinstance(item, int):
        refuse_param("categorical_features", given, expected=_EXPECTED)
    if not 0 <= item < n_features:
        raise ValueError(
            f"categorical_features names column {item}; expected numbers from 0 to {n_features - 1}"
        )
    return item


def _holds_categories(X, j, dtype):
    """Tell whether a column of a data frame is one of categories by its type."""
    if is_time_dtype(dtype):
        return False
    kind = str(dtype).lower()
    if kind == "str" or kind.startswith(CATEGORY_DTYPES) or hasattr(dtype, "categories"):
        return True
    if kind != "object":
        return False
    # Numbers may stand among objects, with other marks of missing values.
    cells = np.asarray(_take_column(X, j), dtype=object)
    kinds = {type(cell) for cell in cells if not _is_missing(cell)}
    if any(issubclass(kind, str) for kind in kinds):  # NumPy has text of its own
        return True
    return bool(kinds) and kinds <= {bool, np.bool_}


def _open_table(X):
    """Return what has columns: a data frame, or an array."""
    if hasattr(X, "columns") or isinstance(X, np.ndarray) or sp.issparse(X):
        return X
    try:
        return np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths, refused later on
        return X


def _take_column(X, j):
    """Return one column of a table."""
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    if hasattr(X, "column_names"):  # Arrow
        return X.column(int(j)).to_pylist()
    return X[:, int(j)]


def _number_values(column, place):
    """Return a number for each cell, -1 where it is missing, and what the numbers stand for."""
    if hasattr(column, "factorize"):  # pandas
        try:
            codes, found = column.factorize()
        except (TypeError, NotImplementedError):  # of lists, of structures
            _refuse_cells(column, place)
        found = found.tolist()
    elif getattr(getattr(column, "dtype", None), "kind", "") in tuple("biuf"):
        found, codes = np.unique(column, return_inverse=True)
        found = found.tolist()
    else:
        codes, found = _number_objects(list(column), place)
    missing = [_is_missing(value) for value in found]
    if any(missing):
        codes = np.where(np.append(missing, False)[codes], -1, codes)
    if any(map(is_time, found)):
        _refuse_cells(found, place)
    kept = [
        value.item() if isinstance(value, np.generic) else value
        for value, lost in zip(found, missing, strict=True)
        if not lost
    ]
    number = np.cumsum(~np.array([*missing, True])) - 1
    return np.where(codes < 0, -1, number[codes]), kept


def _number_objects(cells, place):
    """Do the same for any objects."""
    number = {}
    try:
        codes = [number.setdefault(cell, len(number)) for cell in cells]
    except TypeError:
        _refuse_cells(cells, place)
    return np.array(codes, dtype=np.int64), list(number)


def _is_list(value):
    return isinstance(value, list)


def _is_plain(value):
    """Tell whether a category is one that a file can hold."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, bool, int)) and (
        not isinstance(value, int) or abs(value) < 2**63
    )


def _warn_of_other_kind(found, known, place):
    """Tell the user of a column in which no value is known, since text is no number."""
    is_text = [any(isinstance(value, str) for value in values) for values in (found, known)]
    if found and known and is_text[0] != is_text[1]:
        kinds = ("text", "numbers or truth values")
        before, now = kinds[::-1] if is_text[0] else kinds
        advise(
            f"{place} holds {now}, such as {show(found[0])}, and held {before} at the fit, such as "
            f"{show(known[0])}: none is known, and all count as missing; give the column the type "
            "that it had at the fit"
        )


def _refuse_cells(cells, place):
    """Name the first of some cells that is no category."""
    plain = (str, bool, int, float, np.generic)
    bad = next((cell for cell in cells if type(cell).__hash__ is None or is_time(cell)), None)
    if bad is None:
        bad = next((cell for cell in cells if not isinstance(cell, plain)), "others")
    raise TypeError(
        f"categories must be text, truth values or numbers, got {show(bad)} ({place})"
    ) from None


def _is_missing(value):
    """Tell whether a value says that there is none."""
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, float) and value != value


def _sort_values(values, place):
    """Return values in an order that does not depend on the rows."""
    try:
        return sorted(values)
    except TypeError:  # text and numbers
        pass
    try:
        return sorted(values, key=lambda value: (type(value).__name__, value))
    except TypeError:  # objects without an order
        _refuse_cells(values, place)


def _make_array(values):
    """Return categories as an array, whose items are those of the list."""
    array = None
    if all(isinstance(value, (bool, int, float)) for value in values):
        array = np.array(values)
    # An array of text would give each the room of the longest.
    if array is None or array.dtype.kind not in "biuf" or array.tolist() != values:
        array = np.empty(len(values), dtype=object)
        array[:] = values
    array.flags.writeable = False
    return array


def _replace_columns(X, replaced):
    """Return a table with other columns in the place of some."""
    if hasattr(X, "isetitem"):  # pandas
        X = X.copy(deep=False)
        for j, codes in replaced.items():
            X.isetitem(int(j), codes)
        return X
    if hasattr(X, "with_columns"):  # Polars
        names = list(X.columns)
        series = type(_take_column(X, 0))
        return X.with_columns([series(names[j], codes) for j, codes in replaced.items()])
    if hasattr(X, "column_names"):  # Arrow, whose tables consist of chunks
        in_chunks = hasattr(X, "combine_chunks")
        for j, codes in replaced.items():
            X = X.set_column(int(j), X.column_names[j], [codes] if in_chunks else codes)
        return X
    X = X.astype(_choose_dtype(X))  # a copy
    for j, codes in replaced.items():
        X[:, j] = codes
    return X


def _choose_dtype(X):
    """Return the type of an array that holds its numbers and those of categories, and NaN."""
    kind, size = X.dtype.kind, X.dtype.itemsize
    if kind == "f":
        return np.promote_types(X.dtype, np.float32)  # halves are exact up to 2,048 only
    if kind not in "biu":
        return object
    if kind != "b" and size == 8 and X.size and max(-int(X.min()), int(X.max())) > 2**53:
        return np.longdouble
    return np.float64
