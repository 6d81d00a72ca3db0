# SampleIndex: the permuted row numbers of one tree; a node is a range of it.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport swap_items
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane, goes_left


cdef class SampleIndex:
    cdef const DataView* view
    cdef row_t* rows          # every node's rows ascend
    cdef w_t* weight          # by row of X: 0 for a row that is not in the tree
    cdef idx_t n_rows
    cdef w_t total_weight
    # Projections of the rows to be split next on their plane, NULL when they are not known.
    cdef const double* projection
    cdef row_t* _buffer
    cdef uint32_t* _codes

    cdef int bind(self, const DataView* view, Workspace workspace) except -1
    cdef void fill(self) noexcept nogil
    cdef idx_t split(self, const Hyperplane* plane, int64_t rank_cut, idx_t start,
                     idx_t end) noexcept nogil
    cdef bint lacks_value(self, const Hyperplane* plane, idx_t start, idx_t end) noexcept nogil
    cdef bint _column_lacks_value(self, idx_t j, idx_t start, idx_t end) noexcept nogil
    cdef idx_t _split_by_code(self, uint32_t cut, uint32_t missing, bint missing_left,
                              row_t* rows, idx_t n) noexcept nogil
    cdef idx_t _split_by_plane(self, const Hyperplane* plane, row_t* rows,
                               idx_t n) noexcept nogil


cdef inline idx_t swap_left(const Hyperplane* plane, double* projection, row_t* rows,
                            int32_t* place, idx_t n) noexcept nogil:
    """Put the rows that go left in front, for those who need no order; returns how many.

    Parameters
    ----------
    projection : IN (n,), left as garbage
    rows, place : IN OUT (n,), moved together
    """
    cdef idx_t low = 0, high = n
    # rows[:low] go left, rows[high:] go right
    while low < high:
        if goes_left(plane, projection[low]):
            low += 1
            continue
        high -= 1
        swap_items(rows, low, high)
        swap_items(place, low, high)
        projection[low] = projection[high]
    return low


# ---- block.pxi ---------------------------------------------------------------------------------
# RankBlock: the ranks of one subtree's rows, side by side.


cdef class RankBlock:
    cdef DataView view        # of the data, or of the block while a small node is open
    cdef const DataView* _data
    cdef idx_t _max_rows      # of a block; 0 when none are made
    cdef idx_t _start         # the range of the tree's rows that stands in the block
    cdef idx_t _end
    cdef uint8_t* _codes      # (max_rows * row_bytes)
    cdef uint8_t* _bits       # (row_bytes) of all rows in the block
    cdef row_t* _place        # (n_samples) where a row stands in the block
    cdef row_t* _places       # (max_rows) the same for the rows of the current node
    cdef bint _is_sparse
    cdef uint32_t* _touched   # (n_features) sparse data only

    cdef int bind(self, const DataView* data, bint allowed, Workspace workspace) except -1
    cdef void begin_tree(self) noexcept nogil
    cdef void _copy_rows(self, const row_t* rows, idx_t start, idx_t end) noexcept nogil
    cdef void _find_rows(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void _collect_columns(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void load_node(self, const row_t* rows, idx_t start, idx_t end) noexcept nogil
