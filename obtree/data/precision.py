"""Which columns float32 does not tell apart, and from where to count them instead.

Features are float32 everywhere in obtree. Rounding merges values that differ in late digits,
and for most columns this is harmless: a million numbers drawn between 0 and 1 lose 2 % of
their distinct values, each merged with a neighbour closer than any split could matter. It
is not harmless for time stamps, identifiers and the like, which differ in late digits only.

Two kinds of column are looked at:

* whole numbers beyond 2**24, where float32 begins to leave some out. Every merge counts:
  such numbers are counted or assigned, and the next one is another case. Beyond 2**53 all
  float64 numbers are whole, and what integers count there are nanoseconds and the like:
  these count as others do.
* other numbers of which a sample loses more than one distinct value in a hundred. About 1000
  rows that lose 1 % are spread over less than 50,000 float32 values.

For these, distinct values are counted in full. A column is shifted when the odds of a value to
be merged fall to an eighth or less. As a rule this takes numbers most of which lie within a
quarter of their size. Other columns stay as they are, and so do the models grown on them. The
user is told of what is still lost then: of whole numbers everything, of others if less than
half of the distinct values are left.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from obtree.core.advice import advise
from obtree.core.names import name_column
from obtree.data.offset import shift_features

#: Every whole number up to here is a float32.
WHOLE_LIMIT = 2.0**24

#: Every whole number up to here is a float64.
WIDE_LIMIT = 2.0**53

#: Rows that are looked at to find columns that lose.
N_SAMPLE = 1024

#: Entries of a sparse matrix that are.
N_SPARSE_SAMPLE = 65536

#: Fraction of the distinct values in a sample that may be lost.
SAMPLE_LOSS = 0.01

#: How much smaller the odds to be merged must become for a column to be shifted.
WORTHWHILE = 8.0

#: Columns that a warning names.
N_NAMED = 5

# Cells that are handled at a time.
BLOCK = 2**20


@dataclass(frozen=True)
class PrecisionLoss:
    """A column of which float32 merges values: how many there were, and how many are left."""

    column: int
    n_distinct: int
    n_left: int


def may_round(dtype):
    """Tell whether a type has numbers that float32 rounds."""
    if dtype.kind == "f":
        return dtype.itemsize > 4
    return dtype.kind in "iu" and dtype.itemsize > 2


def find_offset(X):
    """Find what to subtract from each column.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Numbers of a type that `may_round`. Missing and infinite ones are ignored.

    Returns
    -------
    offset : float64 ndarray of shape (n_features,), or None
        None when no column gains. An offset of a column of integers is an integer.
    losses : list of PrecisionLoss
        What is lost all the same.
    """
    offset = np.zeros(X.shape[1])
    losses = []
    for j, whole in _list_suspects(X):
        values = _list_distinct(X[:, j])
        n_left = _count_left(values, 0.0)
        if n_left < len(values):
            n_left, offset[j] = _choose_origin(values, n_left, whole)
        if _is_worth_telling(len(values), n_left, whole):
            losses.append(PrecisionLoss(j, len(values), n_left))
    return (offset if offset.any() else None), losses


def find_precision_losses(X, offset=None):
    """Find the columns of which float32 merges values.

    Parameters
    ----------
    X : ndarray or csr_matrix or csc_matrix of shape (n_rows, n_features)
        Numbers of a type that `may_round`. Of a sparse matrix the stored values count.
    offset : float64 ndarray of shape (n_features,), optional
        What is subtracted before.

    Returns
    -------
    losses : list of PrecisionLoss
    """
    if sp.issparse(X):
        return _find_sparse_losses(X)
    losses = []
    for j, whole in _list_suspects(X):
        values = _list_distinct(X[:, j])
        n_left = _count_left(values, 0.0 if offset is None else offset[j])
        if _is_worth_telling(len(values), n_left, whole):
            losses.append(PrecisionLoss(j, len(values), n_left))
    return losses


def find_frame_losses(frame):
    """Find integers beyond 2**53 that a data frame loses by becoming float64 as a whole.

    Parameters
    ----------
    frame : data frame of pandas or polars
        Of other tables nothing is known.

    Returns
    -------
    losses : list of PrecisionLoss
    """
    if hasattr(frame, "iloc"):
        columns = (frame.iloc[:, j] for j in range(frame.shape[1]))
    elif hasattr(frame, "iter_columns"):
        columns = frame.iter_columns()
    else:
        return []
    losses = []
    for j, column in enumerate(map(np.asarray, columns)):
        if column.dtype.kind not in "iu" or column.dtype.itemsize < 8 or not column.size:
            continue
        if max(-float(column.min()), float(column.max())) <= WIDE_LIMIT:
            continue
        values = np.unique(column)
        n_left = len(np.unique(values.astype(np.float64)))
        if _is_worth_telling(len(values), n_left, False):
            losses.append(PrecisionLoss(j, len(values), n_left))
    return losses


def warn_of_losses(losses, names):
    """Tell the user which columns have lost values.

    Parameters
    ----------
    losses : list of PrecisionLoss
    names : sequence of str or None
        Names of all columns.
    """
    if not losses:
        return
    shown = [
        f"{name_column(loss.column, names)}: {loss.n_left} left of {loss.n_distinct}"
        for loss in losses[:N_NAMED]
    ]
    if len(losses) > len(shown):
        shown.append(f"and {len(losses) - len(shown)} more columns")
    advise(
        "X is rounded to float32, which makes distinct values equal in "
        f"{'; '.join(shown)}. If they should be told apart, subtract a constant, or make "
        "several columns of one, such as the day and the second of the day. If not, "
        "X.astype(np.float32) says so",
        UserWarning,
    )


def _is_worth_telling(n_distinct, n_left, whole):
    return n_left < n_distinct if whole else 2 * n_left < n_distinct


def _list_suspects(X):
    """Columns to look at in full, as pairs of number and whether they hold whole numbers."""
    n_features = X.shape[1]
    if X.dtype.kind == "f":
        coarse, maybe_whole = _look_at_sample(X)
    else:
        coarse = np.zeros(n_features, dtype=bool)
        maybe_whole = ~coarse
    columns = np.flatnonzero(maybe_whole)
    size = np.zeros(n_features)
    # One quick pass over all numbers settles most tables; NaN never compares.
    if len(columns) and not max(-float(X.min()), float(X.max())) <= WHOLE_LIMIT:
        size[columns] = _measure_size(X, columns)
    if X.dtype.kind != "f":
        coarse = size > WHOLE_LIMIT
    whole = (size > WHOLE_LIMIT) & (size <= WIDE_LIMIT)
    for j in np.flatnonzero(whole & (X.dtype.kind == "f")):
        whole[j] = _is_whole(X[:, j])
    return [(int(j), bool(whole[j])) for j in np.flatnonzero(whole | coarse)]


def _look_at_sample(X):
    """Which columns of floats lose too much in some rows, and which are whole numbers there."""
    n_rows, n_features = X.shape
    step = -(-n_rows // N_SAMPLE)
    coarse = np.zeros(n_features, dtype=bool)
    whole = np.zeros(n_features, dtype=bool)
    width = max(1, BLOCK // N_SAMPLE)
    for start in range(0, n_features, width):
        part = np.asfortranarray(X[::step, start : start + width])
        whole[start : start + width] = _is_whole(part)
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.sort(part.astype(np.float32), axis=0)
        # Where nothing is equal after rounding, nothing was merged.
        repeats = np.flatnonzero((rounded[1:] == rounded[:-1]).any(axis=0))
        coarse[start + repeats] = _is_coarse(part[:, repeats])
    return coarse, whole


def _is_coarse(part):
    """Whether the columns of a sample lose more than a few of their distinct values."""
    part = np.sort(part, axis=0)
    is_new = (part[1:] != part[:-1]) & ~np.isnan(part[1:])
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = part.astype(np.float32)
    # What float32 cannot hold is refused later on.
    merges = is_new & (rounded[1:] == rounded[:-1]) & np.isfinite(rounded[1:])
    return merges.sum(axis=0) > SAMPLE_LOSS * (1 + is_new.sum(axis=0))


def _is_whole(values):
    """Whether the columns of some floats hold whole numbers only, or missing ones."""
    return ((values == np.rint(values)) | np.isnan(values)).all(axis=0)


def _measure_size(X, columns):
    """Largest absolute value in some columns; missing values are ignored."""
    every = len(columns) == X.shape[1]
    low = np.full(len(columns), np.inf)
    high = np.full(len(columns), -np.inf)
    step = max(1, BLOCK // X.shape[1])
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        part = part if every else part[:, columns]
        low = np.fmin(low, np.fmin.reduce(part, axis=0))
        high = np.fmax(high, np.fmax.reduce(part, axis=0))
    return np.maximum(-low, high)


def _list_distinct(column):
    """The finite distinct values, ascending."""
    values = np.unique(column)
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def _count_left(values, origin):
    """How many float32 numbers some ascending values become."""
    if len(values) == 0:
        return 0
    shifted = shift_features(values[:, None], np.array([origin]))[:, 0]
    if not np.isfinite(shifted).all():
        # A column that is refused later on has nothing to gain; an origin must not make one.
        return len(values) if origin == 0.0 else 0
    return 1 + int(np.count_nonzero(shifted[1:] != shifted[:-1]))


def _choose_origin(values, n_plain, whole):
    """The origin that keeps most values apart, and how many are left then.

    float32 is finest around zero. The middle of the range serves columns that spread evenly,
    the median those that have some numbers far off, such as a 0 for "never".
    """
    n = len(values)
    best, best_origin = n_plain, 0.0
    ends = ((values[0], values[-1]), (values[n // 4], values[n - 1 - n // 4]))
    for low, high in ends:
        origin = _round_middle(float(low), float(high), whole or values.dtype.kind != "f")
        n_left = _count_left(values, origin)
        # Odds to be merged: (n - n_left) / n_left, before against after.
        gain = (n - n_plain) * n_left >= WORTHWHILE * (n - n_left) * n_plain
        if gain and n_left > best:
            best, best_origin = n_left, origin
    return best, best_origin


def _round_middle(low, high, in_steps):
    """A number near the middle with few digits, so that subtracting it is exact.

    It is a multiple of a power of two that is an eighth to a quarter of the width. Samples of
    one population have the same one more often than not. Where values go `in_steps` of 1, so
    does it.
    """
    middle = low + (high - low) / 2.0
    if not high > low:
        return middle
    grid = math.ldexp(1.0, math.frexp(high - low)[1] - 3)
    if in_steps:
        grid = max(grid, 1.0)
    multiple = middle / grid
    # Beyond 2**53 the middle is a multiple of the grid already.
    return round(multiple) * grid if abs(multiple) < WIDE_LIMIT else middle


def _find_sparse_losses(X):
    """As `find_precision_losses`, for stored values; all columns at once, there may be millions."""
    values = X.data
    step = -(-values.size // N_SPARSE_SAMPLE) or 1
    columns = _name_columns(X)
    suspect = np.zeros(X.shape[1], dtype=bool)
    whole = np.zeros(X.shape[1], dtype=bool)
    found, n_distinct, n_left = _count_groups(columns[::step], values[::step])
    suspect[found] = n_distinct - n_left > SAMPLE_LOSS * n_distinct
    large = np.abs(values.astype(np.float64)) > WHOLE_LIMIT
    if large.any():
        whole[columns[large]] = True
        if values.dtype.kind != "f":
            suspect |= whole
        # A comparison with NaN is false.
        broken = np.abs(values.astype(np.float64)) > WIDE_LIMIT
        if values.dtype.kind == "f":
            broken |= (values != np.rint(values)) & ~np.isnan(values)
        whole[columns[broken]] = False
    chosen = (suspect | whole)[columns]
    found, n_distinct, n_left = _count_groups(columns[chosen], values[chosen])
    return [
        PrecisionLoss(int(j), int(n), int(left))
        for j, n, left in zip(found, n_distinct, n_left, strict=True)
        if _is_worth_telling(n, left, whole[j])
    ]


def _name_columns(X):
    """Column of each stored value."""
    if X.format == "csr":
        return X.indices
    return np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))


def _count_groups(columns, values):
    """Columns that occur, and how many distinct values each has before and after rounding."""
    if values.dtype.kind == "f":
        kept = np.isfinite(values)
        columns, values = columns[kept], values[kept]
    order = np.lexsort((values, columns))
    columns, values = columns[order], values[order]
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    starts = np.ones(len(columns), dtype=bool)
    starts[1:] = columns[1:] != columns[:-1]
    group = np.cumsum(starts) - 1
    counts = []
    for numbers in (values, rounded):
        is_new = starts.copy()
        is_new[1:] |= numbers[1:] != numbers[:-1]
        counts.append(np.bincount(group[is_new]))
    return columns[starts], *counts
