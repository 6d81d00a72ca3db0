"""Checks of targets and weights: the one place where they become typed arrays.

* class labels become int32 codes, regression targets float64, both C-contiguous
  of shape (n_samples, n_outputs);
* weights are finite, non-negative float64 with a positive sum.

Only scikit-learn's public validation functions are used.
"""

import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array

from obtree.core.advice import advise
from obtree.core.names import show
from obtree.data.cells import read_values

#: Sums of squares of larger targets, or of smaller ones than its inverse, would be lost.
LARGEST_TARGET = 1e140


def validate_class_target(y, n_samples):
    """Encode class labels of any sortable type.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels: numbers, strings, booleans, categories, any comparable objects.
    n_samples : int
        Number of rows of X.

    Returns
    -------
    codes : ndarray of int32, shape (n_samples, n_outputs)
        Position of each label in ``classes``.
    classes : list of ndarray
        Sorted distinct labels, one array per output.
    """
    labels = _validate_target(y, n_samples)
    _refuse_continuous(labels)
    codes = np.empty(labels.shape, dtype=np.int32)
    classes = []
    for k in range(labels.shape[1]):
        try:
            found, codes[:, k] = np.unique(labels[:, k], return_inverse=True)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in labels[:, k]})
            raise ValueError(
                f"y mixes labels of types {', '.join(kinds)}, which cannot be ordered; "
                "expected labels of one type"
            ) from None
        classes.append(found)
    return codes, classes


def validate_partial_target(y, n_samples):
    """Encode class labels of which some are absent.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels as in `validate_class_target`; the number -1 stands for none.
    n_samples : int
        Number of rows of X.

    Returns
    -------
    codes : ndarray of int32, shape (n_samples, 1)
        Position of each label in ``classes``; -1 where there is none.
    classes : list of one ndarray
        Sorted distinct labels.
    """
    labels = _validate_target(y, n_samples)
    if labels.shape[1] > 1:
        raise ValueError(
            f"y has {labels.shape[1]} outputs; expected one column of class labels, with -1 for "
            "rows without a label"
        )
    if labels.dtype.kind in "US" and np.isin(labels.astype(str), "-1").any():
        raise ValueError(
            "y is an array of strings and has the label '-1'; expected dtype object where some "
            "labels are strings and the number -1 stands for none"
        )
    known = np.frompyfunc(_is_label, 1, 1)(labels).astype(bool).ravel()
    if not known.any():
        raise ValueError(
            f"y is -1, no label, in all {n_samples} rows; expected a label in at least one"
        )
    codes = np.full((n_samples, 1), -1, dtype=np.int32)
    codes[known], classes = validate_class_target(labels[known, 0], known.sum())
    return codes, classes


def _is_label(label):
    """Tell whether an entry of y is more than the number -1."""
    return not (isinstance(label, numbers.Real) and label == -1)


def validate_real_target(y, n_samples):
    """Turn a regression target into float64.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Finite numbers.
    n_samples : int
        Number of rows of X.

    Returns
    -------
    y : ndarray of float64, shape (n_samples, n_outputs)
    """
    y = _validate_target(y, n_samples)
    complaint = "y must hold numbers for regression"
    y = read_values(y, complaint)
    try:
        y = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{complaint}: {error}") from None
    _refuse_not_finite(y, "y")
    largest = np.abs(y).max(initial=0.0)
    if largest > LARGEST_TARGET or 0.0 < largest < 1.0 / LARGEST_TARGET:
        raise ValueError(
            f"y holds numbers of up to {largest:.3g} in size, whose squares leave the range of "
            f"float64; expected between {1.0 / LARGEST_TARGET:g} and {LARGEST_TARGET:g}, "
            "multiply y by a constant"
        )
    return y


def check_poisson_target(y):
    """Refuse a validated y for which the Poisson deviance is not defined."""
    if y.min() < 0:
        row = int(np.argmin(y.min(axis=1)))
        raise ValueError(
            f"criterion='poisson' needs y >= 0, got {show(y[row].min())} at row {row} of y"
        )
    if np.any(y.sum(axis=0) <= 0):
        raise ValueError("criterion='poisson' needs a positive sum of y, got 0.0")


def validate_sample_weight(sample_weight, n_samples):
    """Check weights of rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), number or None
        What the user passed to ``fit``.
    n_samples : int
        Number of rows of X.

    Returns
    -------
    sample_weight : ndarray of float64, shape (n_samples,), or None
        None when there is nothing to weigh.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_samples, float(sample_weight))
    complaint = "sample_weight must hold numbers"
    sample_weight = read_values(sample_weight, complaint)
    try:
        weight = check_array(
            sample_weight,
            ensure_2d=False,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name="sample_weight",
        )
    except TypeError as error:
        raise TypeError(f"{complaint}: {error}") from None
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}, expected ({n_samples},): one weight per row"
        )
    _refuse_not_finite(weight[:, None], "sample_weight")
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise ValueError(
            f"Negative values in sample_weight: {show(weight[row])} at row {row}; "
            "expected weights >= 0"
        )
    check_total_weight(weight)
    return weight


def check_total_weight(weight):
    """Refuse non-negative weights that leave nothing to learn from."""
    with np.errstate(over="ignore"):
        total = weight.sum()
    if not 0 < total < np.inf:
        raise ValueError(
            f"The weights of the rows sum to {show(total)}; expected a positive finite sum, "
            "that is, at least one row with a weight above zero"
        )


def _validate_target(y, n_samples):
    """Return y as a 2-D array without missing values, of the length of X."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if sp.issparse(y):
        raise ValueError("sparse multilabel-indicator for y is not supported.")
    y = check_array(
        y,
        ensure_2d=False,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_features=0,
        input_name="y",
    )
    if len(y) != n_samples:
        raise ValueError(
            f"y has {len(y)} entries but X has {n_samples} rows; expected one entry per row"
        )
    if y.ndim == 1:
        y = y.reshape(-1, 1)
    elif y.shape[1] == 1:
        advise(
            "A column-vector y was passed when a 1d array was expected. Please change the "
            "shape of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
        )
    elif y.shape[1] == 0:
        raise ValueError("y has 0 outputs, expected at least one")
    _refuse_not_finite(y, "y")
    return y


def _refuse_continuous(labels):
    """Refuse real numbers as class labels."""
    if labels.dtype.kind == "O":
        try:
            plain = np.array(labels.tolist())
        except ValueError:  # labels that are sequences
            return
        # Text beside numbers would turn the numbers into text.
        labels = plain if plain.shape == labels.shape else labels
    if labels.dtype.kind != "f":
        return
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(
            f"{error} To predict numbers fit a regressor, such as ObliqueForestRegressor; for "
            "classes make labels of them first, such as y > y.mean() or pandas.cut(y, 5)"
        ) from None


def _refuse_not_finite(values, name):
    """Refuse missing and infinite entries of a 2-D array of any dtype."""
    kind = values.dtype.kind
    if kind == "f":
        if np.isfinite(values).all():
            return
        missing, infinite = np.isnan(values), np.isinf(values)
    elif kind in "mM":
        missing, infinite = np.isnat(values), np.zeros(values.shape, dtype=bool)
    elif kind == "O":
        missing = np.frompyfunc(_is_missing, 1, 1)(values).astype(bool)
        infinite = np.zeros(values.shape, dtype=bool)
    else:
        return
    for mask, noun in ((missing, "NaN"), (infinite, "infinity")):
        rows = np.flatnonzero(mask.any(axis=1))
        if rows.size:
            raise ValueError(
                f"Input {name} contains {noun} in {rows.size} row(s), first at row {rows[0]}; "
                "expected finite values"
            )


def _is_missing(label):
    """Tell whether one object stands for 'no value': None, NaN, NaT or NA."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, numbers.Real) and bool(label != label)
