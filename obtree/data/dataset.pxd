# X as the trees see it: every column encoded once as ranks of its distinct values.
#
# Nobody but the functions of read.pxd needs to know what stands where in a view.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t, row_t


cdef struct ColumnView:
    # Ranks 0..n_values-1 of the distinct values; a missing value has rank n_values.
    # Dense: one rank a row. Sparse: one a stored entry, whose rows stand in `rows`;
    # every other row holds zero, rank `zero_code`, if there are others.
    const void* codes
    int32_t width             # bytes of a rank: 1, 2 or 4
    uint32_t n_values
    bint has_missing
    idx_t n_above             # dense only: how many rows have a rank above 0
    const X_t* values         # n_values, ascending; NULL when they are read from X
    const row_t* rows         # sparse only, ascending; NULL when dense
    idx_t n_stored            # ranks: n_samples when dense
    uint32_t zero_code
    idx_t row_offset          # where the column stands in a row of DataView.row_codes


cdef struct DataView:
    idx_t n_samples
    idx_t n_features
    # How many of the features, the last ones, are categories: whole numbers from 0 on without an
    # order, of which all values are kept.
    idx_t n_categorical
    # (n_features) the column of the user's X that each is; NULL: the same.
    const feature_t* source
    const DataView* numbers   # the view of the other features; NULL when there are no categories
    const ColumnView* columns  # n_features
    const X_t* X              # X[i * row_stride + j * col_stride]; NULL when not kept
    idx_t row_stride
    idx_t col_stride
    # Wide data: the ranks once more, row after row, so that a small node finds all its
    # columns in a few cache lines. NULL when not kept; used for up to row_limit rows.
    const uint8_t* row_codes
    idx_t row_bytes
    idx_t row_limit
    # Which byte of row_codes the current node's rows begin at, when that holds but a few rows (see
    # block.pxi): a node is then read as a whole and row_bytes is 0. NULL: every row stands in
    # its place.
    const row_t* row_places
    # By byte of a row: the bits of all rows in row_codes, when it holds but a few. NULL: unknown.
    const uint8_t* row_bits
    # Data with many zeros: what is not zero once more, row after row. The entries of row i stand
    # from entry_start[i] to entry_start[i + 1], features ascending, categories left out. NULL when
    # not kept.
    const int64_t* entry_start
    const feature_t* entry_feature
    const uint32_t* entry_code    # ranks
    const X_t* entry_x        # and values, NaN when missing
    bint is_mostly_zero       # nearly all cells of many columns are zero, see by_row.pxi
    # Scratch of a worker, NULL where there is none. Row r is number place[r] of the current node,
    # if it is one of its rows.
    row_t* place              # (n_samples)
    # Small nodes of sparse data have their entries by column as well: touched[j] is `node` where
    # a row of the current node is not zero, and the words rank << 32 | place of the column then
    # stand from word_start[slot[j]] on to the next start. NULL where they are not collected.
    uint32_t* touched         # (n_features)
    uint32_t* slot            # (n_features)
    uint32_t* word_start
    uint64_t* words
    uint32_t node
    row_t* term_of            # (n_features) one more than a feature's number in a list; zeros


cdef inline const DataView* view_numbers(const DataView* view) noexcept nogil:
    """The features that are no categories."""
    return view if view.numbers == NULL else view.numbers


cdef class Dataset:
    cdef DataView view        # lent to workers; valid while the Dataset lives
    cdef DataView numbers     # the same without the categories
    cdef ColumnView* _columns
    cdef Workspace _memory
    cdef object _X            # keeps view.X alive
    cdef readonly bint is_sparse
    # Of whoever encodes away from the main thread: becomes non-zero to end soon, the encoding
    # being of no use then. NULL: there is none.
    cdef const volatile int* _stop

    cdef int _open(self, idx_t n_samples, idx_t n_features) except -1
    cdef object _put_categories_last(self, object X, object categorical)
    cdef int _keep_categories(self) except -1
    cdef int _check_categories(self, const X_t* values, idx_t n) except -1
    cdef int _keep_rows(self, object X) except -1
    cdef int _keep_bytes(self, object X) except -1
    cdef bint _every_column_has_values(self) noexcept
