"""Columns from which a constant is subtracted before they become float32.

float32 tells numbers apart by their leading 24 bits. Seconds since 1970 are some 1.7e9: in
float32, neighbours are 128 seconds apart. Counted from a moment among them they are small
numbers, and all different. The constants, one for each column and zero for most, are part of the
model: training and prediction subtract them here, as exactly as the type of the column
allows, and round once.
"""

from typing import Self

import numpy as np
import scipy.sparse as sp

from obtree.core.hints import Floats


def shift_features(X, offset):
    """Subtract a constant from every column, and round to float32.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Real numbers of any type; NaN stays NaN. What float32 cannot hold becomes infinite.
    offset : float64 ndarray of shape (n_features,)

    Returns
    -------
    ndarray of float32 in the memory order of X, or csr_matrix of float32
        In a sparse matrix the columns with a constant are stored in full.
    """
    if sp.issparse(X):
        return _shift_compressed(X, offset)
    if X.dtype.kind not in "biufO":
        raise ValueError(f"X has dtype {X.dtype}; expected real numbers")
    if X.dtype.kind == "O":
        X = X.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if X.dtype.kind in "iu" and X.dtype.itemsize == 8:
            return _shift_integers(X, offset)
        shifted = np.empty_like(X, dtype=np.float32, subok=False)
        wide = np.result_type(X.dtype, np.float64)
        # Computed in the wider type and rounded on the way out, without a copy of X between.
        return np.subtract(X, offset, out=shifted, dtype=wide, casting="same_kind")


class OffsetModel:
    """A model that may subtract a constant from every feature before it looks at them.

    Its arrays show numbers for the features as they are given. A subclass has `_move`, which
    rewrites them.
    """

    #: What is subtracted from each feature, float64; None when nothing is.
    feature_offset: Floats | None = None
    _shifted: Self | None = None

    @property
    def shifted(self) -> Self:
        """The model for features from which `feature_offset` has been subtracted."""
        return self if self._shifted is None else self._shifted

    def with_offset(self, offset: Floats | None) -> Self:
        """Let the model subtract numbers from the features before it looks at them.

        Parameters
        ----------
        offset : float64 ndarray of shape (n_features,) or None
            Takes the place of `feature_offset`; the numbers for shifted features stay.

        Returns
        -------
        Tree or NormalForm
            The model for shifted features itself when nothing is to be subtracted.
        """
        plain = self.shifted
        if offset is None or not offset.any():
            return plain
        model = type(self).__new__(type(self))
        vars(model).update(vars(plain))
        model._shifted = plain
        model.feature_offset = offset
        model._move(offset)
        return model

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        # Nothing of a model can change, so one serves everybody.
        return self

    def _move(self, offset):
        """Rewrite the constants for features that are larger by `offset`."""
        raise NotImplementedError(f"{type(self).__name__} must implement _move")


def have_same_offset(first, second):
    """Tell whether two offsets, each an array or None, are the same."""
    if first is None or second is None:
        return first is second
    return first is second or np.array_equal(first, second)


def sum_offsets(offset, ptr, feature, weight):
    """What the offsets contribute to sums of terms.

    Parameters
    ----------
    offset : float64 ndarray of shape (n_features,)
    ptr : int64 ndarray of shape (n_sums + 1,)
        Where the terms of each sum begin.
    feature : int32 ndarray of shape (n_terms,)
    weight : float64 ndarray of shape (n_terms,) or (n_terms, n_values)

    Returns
    -------
    float64 ndarray of shape (n_sums,) or (n_sums, n_values)
        The sum of ``weight * offset[feature]`` over the terms of each.
    """
    owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    total = np.zeros((len(ptr) - 1, *weight.shape[1:]))
    # A damaged file may hold any finite numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(total, owner, (weight.T * offset[feature]).T)
    return total


def _shift_integers(X, offset):
    """Subtract in integers: above 2**53 float64 would merge neighbours."""
    shifted = X.astype(np.float32)
    limits = np.iinfo(X.dtype)
    for j in np.flatnonzero(offset):
        column, origin = X[:, j], float(offset[j])
        if not origin.is_integer() or not limits.min <= int(origin) <= limits.max:
            shifted[:, j] = column.astype(np.float64) - origin
            continue
        origin = X.dtype.type(int(origin))
        above = column >= origin
        # Integers wrap around: as an unsigned number the distance is right, however far.
        distance = np.where(above, column - origin, origin - column).view(np.uint64)
        distance = distance.astype(np.float32)
        shifted[:, j] = np.where(above, distance, -distance)
    return shifted


def _shift_compressed(X, offset):
    """Store the columns with an offset in full, and leave the others as they are."""
    X = X.tocsr()
    X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    X.check_format(full_check=True)
    moved = offset != 0.0
    columns = np.flatnonzero(moved)
    block = sp.csr_matrix(shift_features(X[:, columns].toarray(), offset[columns]))
    block = sp.csr_matrix((block.data, columns[block.indices], block.indptr), shape=X.shape)
    stays = ~moved[X.indices]
    n_before = np.concatenate([[0], np.cumsum(stays)])
    with np.errstate(over="ignore"):
        values = X.data[stays].astype(np.float32)
    rest = sp.csr_matrix((values, X.indices[stays], n_before[X.indptr]), shape=X.shape)
    rest.sum_duplicates()
    return rest + block
