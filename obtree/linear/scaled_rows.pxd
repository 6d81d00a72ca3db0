# Rows as planes are moved on: centred, scaled, with a constant at the end.

from libc.stdint cimport int32_t

from obtree.core.types cimport X_t, idx_t
from obtree.linear.columns cimport Columns


cdef class ScaledRows:
    cdef const X_t* X         # (n_rows * n_features), owned by `_kept`
    cdef idx_t n_features
    # Those that vary and are never missing; their stride has room for one cell more.
    cdef Columns columns
    cdef int32_t* place       # (n_features) where a column is; -1 constant, -2 missing values
    cdef float* origin        # (n_features) what is taken off each column: first origin, then
    cdef float* mean          # mean; by column of X
    cdef object _kept
    cdef object _workspace

    # common_units: one number divides all columns; else each is brought to the same variance.
    cdef int measure(self, const X_t[:, ::1] X, const double[::1] weight, idx_t n_train,
                     bint common_units) except -1

    # OUT x (n * stride): rows[0..n) scaled; rows NULL: start, start + 1, ...
    cdef void fetch(self, const int32_t* rows, idx_t start, idx_t n, float* x) noexcept nogil


cdef inline float constant_cell() noexcept nogil:
    """The last cell of every row, which the offset of a plane multiplies."""
    return <float>0.15
