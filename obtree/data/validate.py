"""Checks of features: the one place where X becomes a typed array.

Every estimator passes what the user gave through the functions below before a
compiled routine sees it; `validate_target` does the same for y and weights. What comes
out is safe to index without checks: a 2-D array in C or F order, or a canonical CSR/CSC
matrix of float32; finite, except that NaN means "missing".

Features are float32 throughout obtree: float64 and wide integer columns are
rounded once, here, after a constant has been subtracted from those that would
lose by it (see `precision`). Narrow integers are exact in float32 and stay as
they are, so that a table of bytes does not grow fourfold.

Only scikit-learn's public validation functions are used.
"""

import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from obtree.core.names import name_column, show
from obtree.data.categories import CategoryEncoder, find_categorical
from obtree.data.cells import REMEDY, describe_bad_cell, list_names, read_cells
from obtree.data.offset import shift_features
from obtree.data.precision import (
    find_frame_losses,
    find_offset,
    find_precision_losses,
    may_round,
    warn_of_losses,
)

# Row and column numbers are stored as signed 32-bit integers, and one more
# than the largest must be representable as well.
MAX_SIZE = 2**31 - 2

# Kept as they are at fit.
FIT_DTYPES = (np.float32, np.uint8, np.int8, np.uint16, np.int16, np.bool_)

# Checked as they are, and then rounded; the first one is what everything else becomes.
WIDE_DTYPES = (
    *(np.float64, np.longdouble, np.int64, np.uint64, np.int32, np.uint32),
    *(np.float16, *FIT_DTYPES),
)
#: Converted to float32 at a time when rows are to be predicted.
CONVERTED_CELLS = 2**24

#: Types that prediction reads as they are: whole numbers that float32 holds exactly.
READ_IN_PLACE = (np.dtype(np.uint8), np.dtype(np.int16))


def validate_fit_features(estimator, X, rounds=True, encoder=None):
    """Check the training features and record their number and names.

    Parameters
    ----------
    estimator : estimator object
        Receives ``n_features_in_`` and, for data frames, ``feature_names_in_``; also what
        is known of categories if it has ``categorical_features``.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        What the user passed to ``fit``.
    rounds : bool, default=True
        Whether sparse features become float32 at once.
    encoder : CategoryEncoder, optional
        What is known of categories already, by an earlier fit.

    Returns
    -------
    X : ndarray, csr_matrix or csc_matrix
        Features; shares memory with the input where no change was needed. Numbers may still
        be wide, and dense ones infinite: `round_features` is next.
    """
    if hasattr(estimator, "categorical_features"):
        X = _encode_categories(estimator, X, encoder)
    checked = _validate_features(
        estimator,
        X,
        rounds=rounds,
        reset=True,
        dtype=list(WIDE_DTYPES),
        accept_sparse=["csr", "csc"],
    )
    if checked.dtype.kind == "f" and hasattr(X, "columns"):
        names = getattr(estimator, "feature_names_in_", None)
        warn_of_losses(find_frame_losses(X), names)
    return checked


def round_features(estimator, X, rows=None, known=()):
    """Make features of a type that obtree computes with, and say from where they count.

    Parameters
    ----------
    estimator : estimator object
        Has the names of the features, if they have any.
    X : ndarray, csr_matrix or csc_matrix
        From `validate_fit_features`.
    rows : ndarray of int, optional
        The rows that matter; all by default.
    known : sequence of one offset, optional
        The offset of an earlier fit, which is kept.

    Returns
    -------
    X : ndarray, csr_matrix or csc_matrix
        float32, or another type of `FIT_DTYPES`.
    offset : float64 ndarray of shape (n_features,), or None
        What has been subtracted from each column; None when nothing was.
    """
    names = getattr(estimator, "feature_names_in_", None)
    offset = known[0] if known else None
    if offset is not None and len(offset) != X.shape[1]:
        known, offset = (), None  # the caller refuses other columns than before
    # Zeros of sparse features are not stored: from these, nothing new is subtracted.
    if may_round(X.dtype) and not sp.issparse(X):
        used = X if rows is None else X[rows]
        if known:
            losses = find_precision_losses(used, offset)
        else:
            offset, losses = find_offset(used)
        warn_of_losses(losses, names)
    if offset is not None:
        offset.flags.writeable = False
        X = shift_features(X, offset)
    elif X.dtype not in FIT_DTYPES:
        # Overflow becomes infinity here and is reported with its column below.
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
    _refuse_infinity(X, names)
    return (X if sp.issparse(X) else _make_contiguous(X)), offset


def validate_predict_features(estimator, X, offset=None):
    """Check features against those seen at fit, for prediction.

    Parameters
    ----------
    estimator : estimator object
        A fitted estimator; names and number of columns must agree with it.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        What the user passed to ``predict``.
    offset : float64 ndarray of shape (n_features,), optional
        What to subtract from each column before it is rounded.

    Returns
    -------
    X : ndarray of float32 in C order, or csr_matrix of float32
        An array of a type in `READ_IN_PLACE` comes back as it is if there is no offset.
    """
    _check_names(estimator, X)
    encoder = getattr(estimator, "_encoder", None)
    if encoder is not None:
        X = encoder.transform(X)
    if offset is not None:
        return _validate_shifted(estimator, X, offset)
    if _is_plain_array(estimator, X):
        # The general checks would take most of the time of predicting one row: 162 us
        # with them and 34 us without, for digits and 100 trees.
        if X.dtype in READ_IN_PLACE:
            return X
        _refuse_infinity(X := _convert_rows(X), None)
    else:
        X = _validate_features(
            estimator, X, reset=False, dtype=np.float32, order="C", accept_sparse="csr"
        )
    return X if sp.issparse(X) else np.require(X, requirements=["C", "A"])


def _check_names(estimator, X):
    """Refuse a data frame with other columns than at the fit, before its cells are read.

    Of a column that stands in the place of another, the cells would be found fault with.
    """
    names = list_names(X)
    if names is None or not hasattr(estimator, "feature_names_in_"):
        return
    if all(isinstance(name, str) for name in names):
        validate_data(estimator, X, reset=False, skip_check_array=True)


def _encode_categories(estimator, X, encoder):
    """Return features with numbers for categories, and let the estimator know these."""
    if encoder is None:
        encoder = CategoryEncoder.learn(X, estimator.categorical_features)
    set_categories(estimator, encoder)
    return X if encoder is None else encoder.transform(X)


def check_same_categories(estimator, X):
    """Refuse to go on from a fit to which other columns were categories.

    Trees that are there already would read the numbers of categories as if they were
    values, or the other way round.

    Parameters
    ----------
    estimator : estimator object
        A fitted one.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        What the user passed to the next ``fit``.
    """
    if not hasattr(estimator, "categorical_features"):
        return
    given = estimator.categorical_features
    n_features = estimator.n_features_in_
    encoder = getattr(estimator, "_encoder", None)
    known = np.zeros(n_features, bool) if encoder is None else encoder.is_categorical
    chosen = find_categorical(X, given)
    if not chosen.any():
        chosen = np.zeros(n_features, bool)
    if len(chosen) != n_features:
        return  # refused later on
    # Types may say less than at the first fit: of an array, or of cells that are all missing.
    other = chosen & ~known if isinstance(given, str) else chosen != known
    if other.any():
        j = int(other.argmax())
        place = name_column(j, getattr(estimator, "feature_names_in_", None))
        kinds = ("categories", "numbers") if chosen[j] else ("numbers", "categories")
        raise ValueError(
            f"{place} holds {kinds[0]} by categorical_features={show(given)}, and held {kinds[1]} "
            "at the fit before; expected the same with warm_start"
        )


def set_categories(estimator, encoder):
    """Set the fitted attributes that describe categories.

    Parameters
    ----------
    estimator : estimator object
    encoder : CategoryEncoder or None
        None when all features are numbers.
    """
    estimator._encoder = encoder
    estimator.is_categorical_ = None if encoder is None else encoder.is_categorical
    estimator.categories_ = None if encoder is None else encoder.categories


def _validate_shifted(estimator, X, offset):
    """Check features for prediction, and subtract the offset before they are rounded."""
    if not _is_plain_array(estimator, X):
        X = _validate_features(
            estimator, X, reset=False, dtype=list(WIDE_DTYPES), accept_sparse="csr", rounds=False
        )
    X = shift_features(X, offset)
    _refuse_infinity(X, getattr(estimator, "feature_names_in_", None))
    return X if sp.issparse(X) else np.require(X, requirements=["C", "A"])


def _validate_features(estimator, X, rounds=True, **params):
    """Run scikit-learn's check of X, adding the column to what it complains about."""
    _refuse_oversized(X)
    X = _keep_integers(read_cells(X))
    if sp.issparse(X) and X.ndim == 2 and X.format not in params.get("accept_sparse", ()):
        _check_indices(X)
    try:
        # Overflow becomes infinity here and is reported with its column below.
        with np.errstate(over="ignore"):
            checked = validate_data(estimator, X, ensure_all_finite=False, **params)
    except (TypeError, ValueError) as error:
        place, is_date = describe_bad_cell(X)
        if place is None:
            raise
        if is_date:
            raise ValueError(f"X must hold numbers only, got a date ({place}); {REMEDY}") from None
        kind = TypeError if isinstance(error, TypeError) else ValueError
        remedy = "ObliqueTree and ObliqueForest estimators take categories by categorical_features"
        if getattr(estimator, "categorical_features", None) is not None:
            remedy = "name columns of categories in categorical_features"
        raise kind(f"X must hold numbers only: {error} ({place}); {remedy}") from None
    # A converted list or frame is known by its shape only now.
    _refuse_oversized(checked)
    names = getattr(estimator, "feature_names_in_", None)
    if sp.issparse(checked):
        return _validate_sparse(checked, names, rounds, params["reset"])
    if rounds and not params["reset"]:
        _refuse_infinity(checked, names)
    return checked


def _keep_integers(X):
    """Return lists of integers as such, which scikit-learn would make float64."""
    if not isinstance(X, (list, tuple)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths, reported later on
        return X
    return array if array.dtype.kind in "iu" else X


def _is_plain_array(estimator, X):
    """Tell whether X is a numeric array of the right shape for an estimator without names."""
    return (
        type(X) is np.ndarray
        and X.dtype.kind in "fiub"
        and X.ndim == 2
        and 0 < X.shape[0] <= MAX_SIZE
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def _convert_rows(X):
    """Return X as float32 in C order, a part at a time, between which Ctrl-C is noticed."""
    with np.errstate(over="ignore"):
        if X.size <= CONVERTED_CELLS or (X.dtype == np.float32 and X.flags.c_contiguous):
            return np.asarray(X, dtype=np.float32, order="C")
        converted = np.empty(X.shape, dtype=np.float32)
        step = max(1, CONVERTED_CELLS // X.shape[1])
        for start in range(0, X.shape[0], step):
            converted[start : start + step] = X[start : start + step]
    return converted


def _refuse_oversized(X):
    """Refuse sizes that 32-bit row or column numbers cannot hold."""
    for size, noun in zip(getattr(X, "shape", ())[:2], ("rows", "columns"), strict=False):
        if isinstance(size, numbers.Integral) and size > MAX_SIZE:
            raise ValueError(f"X has {size} {noun}, more than the supported {MAX_SIZE}")


def _refuse_infinity(X, names):
    """Refuse infinity, naming the column; NaN passes, it means missing."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f" or values.size == 0:
        return
    # One pass without temporaries settles nearly every call: the sum is finite
    # unless a value is not, or the sum itself overflows.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    place = _locate_infinity(X)
    if place is not None:
        row, j = place
        raise ValueError(
            f"X contains infinity or a value too large for float32 in {name_column(j, names)}, "
            f"first at row {row}; features must be finite, NaN means missing"
        )


def _locate_infinity(X):
    """Return (row, column) of the first infinity, or None."""
    if sp.issparse(X):
        at = np.flatnonzero(np.isinf(X.data))
        if at.size == 0:
            return None
        minor = int(X.indices[at[0]])
        major = int(np.searchsorted(X.indptr, at[0], side="right")) - 1
        return (major, minor) if X.format == "csr" else (minor, major)
    step = max(1, 2**20 // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        found = np.argwhere(np.isinf(X[start : start + step]))
        if len(found):
            return start + int(found[0, 0]), int(found[0, 1])
    return None


def _make_contiguous(X):
    """Return X in C or F order and aligned, copying only when it is neither."""
    flags = X.flags
    if (flags.c_contiguous or flags.f_contiguous) and flags.aligned:
        return X
    return np.require(X, requirements=["C", "A"])


def _check_indices(X):
    """Refuse indices out of range, which compiled code would follow outside the arrays.

    SciPy's own as well, where it converts one format to another.
    """
    if X.format == "coo":
        X = X.__class__((X.data, (X.row, X.col)), shape=X.shape, copy=False)
    elif X.format in ("csr", "csc", "bsr"):
        # A new object around the same arrays: SciPy's checks tidy up in place.
        kind = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "bsr": sp.bsr_matrix}[X.format]
        X = kind((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
        X.check_format(full_check=True)
    return X


def _validate_sparse(X, names, rounds, warns):
    """Return sparse X in canonical form, leaving the user's matrix as it is."""
    X = _check_indices(X)
    if warns and rounds and may_round(X.dtype):
        warn_of_losses(find_precision_losses(X), names)
    if rounds and X.dtype != np.float32:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
    _refuse_infinity(X, names)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        _refuse_infinity(X, names)
    return X
