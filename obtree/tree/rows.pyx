"""X as the caller has it, read block by block as float32.

Prediction never converts the whole of X. The common types and any memory order are
converted a block at a time by the thread that needs it; compressed rows are spread
over a zeroed block, which is swept clean again by visiting the same entries.
"""

import numpy as np
from scipy.sparse import issparse

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t

from obtree.core.dispatch cimport (
    OBTREE_FLOAT32,
    OBTREE_FLOAT64,
    OBTREE_FLOAT_ROWS,
    OBTREE_INT16,
    OBTREE_KEY_GROUPS,
    OBTREE_UINT8,
    kernels,
    obtree_make_key,
)
from obtree.core.types cimport X_t, idx_t

cnp.import_array()

cdef class Rows:
    """Keeps alive what `view` points into."""


cdef Rows open_rows(X, idx_t n_features):
    """Check X and describe its memory. Raises ValueError unless it has n_features columns."""
    if issparse(X):
        return open_compressed(X, n_features)
    cdef Rows rows = Rows.__new__(Rows)
    cdef cnp.ndarray array
    cdef int number
    if not isinstance(X, np.ndarray):
        X = np.asarray(X)
    check_shape(X, n_features)
    array = X
    number = cnp.PyArray_TYPE(array)
    if number == cnp.NPY_FLOAT32:
        rows.view.type = OBTREE_FLOAT32
    elif number == cnp.NPY_FLOAT64:
        rows.view.type = OBTREE_FLOAT64
    elif number == cnp.NPY_UINT8:
        rows.view.type = OBTREE_UINT8
    elif number == cnp.NPY_INT16:
        rows.view.type = OBTREE_INT16
    else:
        array = convert(X)
        rows.view.type = OBTREE_FLOAT32
    if not cnp.PyArray_ISNOTSWAPPED(array):
        array = convert(X)
        rows.view.type = OBTREE_FLOAT32
    rows._owner = array
    rows.view.n_rows = cnp.PyArray_DIM(array, 0)
    rows.view.n_features = n_features
    rows.view.data = <const char*>cnp.PyArray_DATA(array)
    rows.view.row_stride = cnp.PyArray_STRIDE(array, 0)
    rows.view.column_stride = cnp.PyArray_STRIDE(array, 1)
    return rows


cdef Rows open_compressed(X, idx_t n_features):
    """Compressed rows, checked entry by entry: a damaged matrix is refused, not read."""
    check_shape(X, n_features)
    X = X.tocsr()
    cdef idx_t n_entries = min(X.data.shape[0], X.indices.shape[0])
    if (X.indptr.shape[0] != X.shape[0] + 1 or X.indptr[0] != 0
            or (np.diff(X.indptr) < 0).any() or X.indptr[X.shape[0]] > n_entries):
        raise ValueError("X.indptr does not describe the rows of a CSR matrix")
    indices = X.indices[:X.indptr[X.shape[0]]]
    if indices.size and (indices.min() < 0 or indices.max() >= n_features):
        raise ValueError(f"X.indices holds columns outside 0..{n_features - 1}")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    cdef Rows rows = Rows.__new__(Rows)
    cdef cnp.ndarray values = np.ascontiguousarray(X.data, dtype=np.float32)
    cdef cnp.ndarray columns = np.ascontiguousarray(X.indices, dtype=np.int32)
    cdef cnp.ndarray row_ptr = np.ascontiguousarray(X.indptr, dtype=np.int64)
    rows._owner = (values, columns, row_ptr)
    rows.view.n_rows = X.shape[0]
    rows.view.n_features = n_features
    rows.view.data = NULL
    rows.view.values = <const X_t*>cnp.PyArray_DATA(values)
    rows.view.columns = <const int32_t*>cnp.PyArray_DATA(columns)
    rows.view.row_ptr = <const int64_t*>cnp.PyArray_DATA(row_ptr)
    return rows


def check_shape(X, n_features):
    """Raise ValueError unless X is two-dimensional with n_features columns."""
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; expected 2 (rows and features)")
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} columns; expected n_features = {n_features}")


def convert(X):
    """X as float32, or a ValueError that names its type."""
    if X.dtype.kind not in "biufO":
        raise ValueError(f"X has dtype {X.dtype}; expected real numbers")
    return X.astype(np.float32)


cdef void prepare_block(const RowView* rows, int32_t layout, idx_t n_values,
                        void* x) noexcept nogil:
    """Fill a block with zeros when X is compressed; other blocks are written whole."""
    cdef idx_t k
    if rows.data != NULL:
        return
    for k in range(n_values):
        put_value(x, k, layout, 0.0)


cdef bint load_block(const RowView* rows, idx_t start, idx_t end, int32_t layout,
                     void* x) noexcept nogil:
    """Read rows start:end into a block. Returns whether it holds the key of a missing value.

    Parameters
    ----------
    layout
        OBTREE_FLOAT_ROWS, OBTREE_KEY_ROWS or OBTREE_KEY_GROUPS of kernels.h.
    x : OUT
        32-bit items, n_features for each row; rows rounded up to whole groups. Owned by
        the caller, and prepared with `prepare_block`.
    """
    cdef idx_t row, k
    cdef bint missing = False
    if rows.data != NULL:
        return kernels().traverse_load(
            rows.data + start * rows.row_stride, rows.type, rows.row_stride,
            rows.column_stride, end - start, rows.n_features, layout, x,
        )
    for row in range(end - start):
        for k in range(rows.row_ptr[start + row], rows.row_ptr[start + row + 1]):
            put_value(x, locate(rows, row, rows.columns[k], layout), layout, rows.values[k])
            missing |= rows.values[k] != rows.values[k]
    return missing


cdef void clear_block(const RowView* rows, idx_t start, idx_t end, int32_t layout,
                      void* x) noexcept nogil:
    """Zero what `load_block` wrote, when X is compressed."""
    cdef idx_t row, k
    if rows.data != NULL:
        return
    for row in range(end - start):
        for k in range(rows.row_ptr[start + row], rows.row_ptr[start + row + 1]):
            put_value(x, locate(rows, row, rows.columns[k], layout), layout, 0.0)


cdef inline void put_value(void* x, idx_t at, int32_t layout, X_t value) noexcept nogil:
    """Store one value as a block of this layout keeps it."""
    if layout == OBTREE_FLOAT_ROWS:
        (<X_t*>x)[at] = value
    else:
        (<uint32_t*>x)[at] = obtree_make_key(value)


cdef inline idx_t locate(const RowView* rows, idx_t row, idx_t column,
                         int32_t layout) noexcept nogil:
    """Where a block keeps one value."""
    if layout != OBTREE_KEY_GROUPS:
        return row * rows.n_features + column
    return (row // LANES * rows.n_features + column) * LANES + row % LANES
