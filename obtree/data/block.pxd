# RankBlock: the ranks of one subtree's rows, side by side.

from libc.stdint cimport uint8_t, uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t
from obtree.data.dataset cimport DataView


cdef class RankBlock:
    cdef DataView view        # of the data, or of the block while a small node is open
    cdef const DataView* _data
    cdef idx_t _max_rows      # of a block; 0 when none are made
    cdef idx_t _start         # the range of the tree's rows that stands in the block
    cdef idx_t _end
    cdef uint8_t* _codes      # (max_rows * row_bytes)
    cdef uint8_t* _bits       # (row_bytes) of all rows in the block
    cdef row_t* _place        # (n_samples) where a row stands in the block
    cdef row_t* _places       # (max_rows) the same for the rows of the open node
    cdef bint _is_sparse
    cdef uint32_t* _touched   # (n_features) sparse data only

    cdef int bind(self, const DataView* data, bint allowed, Workspace workspace) except -1
    cdef void begin_tree(self) noexcept nogil
    cdef void _copy_rows(self, const row_t* rows, idx_t start, idx_t end) noexcept nogil
    cdef void _find_rows(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void _collect_columns(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void open_node(self, const row_t* rows, idx_t start, idx_t end) noexcept nogil
