# The rows of a node as a stump reads them, where nearly all cells are zero.

from libc.stdint cimport int32_t, int64_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.linear.columns cimport Columns


cdef struct ColumnSums:
    # Over the rows that are looked at.
    idx_t count               # rows that are not zero
    double weight             # of them
    X_t origin                # the value of the first of them
    double sum                # of distances from the origin, weighted
    double square


cdef class HollowNode:
    cdef const DataView* view
    cdef ColumnSums* sums             # of the listed columns, not more than there are entries
    cdef uint64_t* _touched           # (n_features / 64) bits; zeros between uses
    cdef uint64_t* _lacking
    cdef idx_t* _frequency            # (n_samples + 1)
    # Rows loaded last, as CSR over the used columns.
    cdef int64_t* start               # (n_samples + 1)
    cdef int32_t* column              # (n_entries)
    cdef float* value                 # (n_entries) of what is not zero, beyond what zero is
    cdef float* base                  # (stride) what zero is

    cdef int bind(self, const DataView* view, Workspace workspace, idx_t max_rows,
                  idx_t max_stride) except -1
    # OUT out: the columns, ascending, in which a row is not zero and none is missing.
    cdef idx_t find_columns(self, const row_t* rows, idx_t n, feature_t* out) noexcept nogil
    # OUT sums: of the listed columns.
    cdef void add_rows(self, const row_t* rows, idx_t n, const w_t* weight,
                       const feature_t* columns, idx_t n_columns) noexcept nogil
    # IN/OUT columns, sums: only the columns that have most entries, `kept` in any case.
    cdef idx_t keep_frequent(self, feature_t* columns, idx_t n_columns, idx_t n, idx_t wanted,
                             feature_t kept, RandState* rng) noexcept nogil
    # The rows, in the order given, as ((x - origin) - mean) * scale.
    cdef void load(self, const row_t* rows, const int32_t* order, idx_t n,
                   const Columns* used) noexcept nogil
