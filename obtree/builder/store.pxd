# The nodes of a tree while it grows: arrays that lengthen, reused from tree to tree.

from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.data.hyperplane cimport Hyperplane


cdef class NodeStore:
    cdef idx_t n_nodes
    cdef idx_t n_terms
    cdef idx_t value_size
    cdef idx_t _node_capacity
    cdef idx_t _term_capacity
    cdef idx_t _kept_capacity         # nodes
    cdef idx_t _n_expected            # nodes for which the next tree makes room
    cdef dict _kept                   # ndarrays, owners of the next six
    cdef node_t* left                 # -1 at leaves; the right child is left + 1
    cdef double* threshold
    cdef double* impurity
    cdef int64_t* n_rows
    cdef w_t* weight
    cdef double* value                # (n_nodes * value_size)
    cdef int64_t* first_term          # where the node's terms begin
    cdef int32_t* term_count
    cdef uint8_t* missing_left        # 2: with the heavier child, known when both are stored
    cdef feature_t* term_feature
    cdef w_t* term_weight
    # What few trees need; `uses` says whether this one does and they are written.
    cdef double* lower                # minus infinity, or the lower end of an interval
    cdef feature_t* term_partner      # -1, or the second factor
    cdef double* term_share           # of the split
    cdef bint uses_lower
    cdef bint uses_partner
    cdef bint uses_share

    cdef void clear(self) noexcept nogil
    cdef int reserve(self, idx_t n_rows) except -1
    cdef int _lengthen_nodes(self, idx_t n) except -1 nogil
    cdef int _lengthen_kept(self, idx_t n) except -1
    cdef dict _take_kept(self)
    cdef node_t add_node(self) except -1 nogil
    cdef int set_split(self, node_t node, node_t left, const Hyperplane* plane) except -1 nogil
    cdef int _lengthen_terms(self, idx_t n_more) except -1 nogil
    cdef void _set_rarities(self, node_t node, const Hyperplane* plane) noexcept nogil
    cdef dict to_arrays(self, idx_t n_outputs)
