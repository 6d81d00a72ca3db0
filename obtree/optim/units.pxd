# Units in which weights of different features compare.

from libc.stdint cimport uint8_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.linear.columns cimport Columns
from obtree.optim.base cimport Problem


cdef class Units:
    cdef const DataView* view         # of the problem, for exact projections
    cdef const X_t* x                 # NULL when the problem has bytes
    # The rows as bytes, where weights are moved in small steps and values allow it; or NULL.
    cdef const uint8_t* bytes         # (n_rows * n_features)
    cdef object _bytes                # the array behind it
    cdef double largest_sum           # of a row of bytes; at least 1
    cdef idx_t n_features
    cdef bint has_missing
    cdef double* origin               # (n_features)
    cdef double* scale                # (n_features); 0 for constant columns
    cdef double* reach                # (n_features) largest size of a value in any row
    cdef Columns complete             # those that no training row lacks
    cdef Workspace memory

    cdef void _list(self, Columns* columns, const char* lacking) noexcept nogil
    cdef void choose_columns(self, Columns* columns, const row_t* rows, idx_t n,
                             char* lacking) noexcept nogil
    cdef void guess(self, const row_t* rows, idx_t n, const float* w,
                    double* out) noexcept nogil
    cdef void lift(self, const Columns* columns, const row_t* rows, idx_t n,
                   float* out) noexcept nogil
