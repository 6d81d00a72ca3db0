"""Columns of X, whatever its type and layout, as float32.

No type costs a copy of X as a whole: columns are converted as they are lifted out.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, uint16_t

from obtree.core.types cimport X_t, idx_t

ctypedef fused cell_t:
    int8_t
    uint16_t
    int16_t
    float
    double

cdef enum:
    ROW_BLOCK = 256           # rows that one thread lifts out of X at a time


cdef int lift_columns(object X, idx_t first, idx_t n_columns, X_t* out,
                      int n_threads) except -1:
    cdef const int8_t[:, :] i1
    cdef const uint16_t[:, :] u2
    cdef const int16_t[:, :] i2
    cdef const float[:, :] f4
    cdef const double[:, :] f8
    kind = X.dtype.str[1:]
    if kind == "i1":
        i1 = X
        copy_columns(i1, first, n_columns, out, n_threads)
    elif kind == "u2":
        u2 = X
        copy_columns(u2, first, n_columns, out, n_threads)
    elif kind == "i2":
        i2 = X
        copy_columns(i2, first, n_columns, out, n_threads)
    elif kind == "f4":
        f4 = X
        copy_columns(f4, first, n_columns, out, n_threads)
    else:
        # Wide integers and unusual floats go through float64, a few columns at a time.
        f8 = X[:, first:first + n_columns].astype(np.float64)
        copy_columns(f8, 0, n_columns, out, n_threads)
    return 0


cdef void copy_columns(const cell_t[:, :] X, idx_t first, idx_t n_columns, X_t* out,
                       int n_threads) noexcept:
    cdef idx_t n = X.shape[0]
    cdef idx_t n_blocks = (n + ROW_BLOCK - 1) // ROW_BLOCK
    cdef idx_t b
    for b in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
        copy_block(X, first, n_columns, b * ROW_BLOCK, min((b + 1) * ROW_BLOCK, n), n, out)


cdef void copy_block(const cell_t[:, :] X, idx_t first, idx_t n_columns, idx_t start,
                     idx_t end, idx_t n, X_t* out) noexcept nogil:
    """Row by row inside a block, so that each line of a C-ordered X is read once."""
    cdef idx_t i, c
    for i in range(start, end):
        for c in range(n_columns):
            out[c * n + i] = <X_t>X[i, first + c]
