# A tree of planes that can be changed: its shape stays, its planes and rows move.

from libc.stdint cimport int32_t, uint8_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, node_t, row_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.partition cimport SampleIndex
from obtree.optim.base cimport Problem


cdef class EditableTree:
    cdef Problem problem
    cdef Workspace memory
    cdef readonly idx_t n_nodes
    cdef readonly object origin       # int64 (n_nodes) nodes of the tree that was given
    # Nodes are in depth-first order: the left child of i is i + 1, so that a leaf l below i
    # is on the left when l < right[i].
    cdef node_t* left                 # (n_nodes) -1 at leaves
    cdef node_t* right
    cdef Hyperplane* plane            # (n_nodes) terms in blocks of the node's own
    cdef idx_t* room                  # (n_nodes) terms that these blocks can hold

    cdef int set_plane(self, node_t node, const Hyperplane* plane) except -1 nogil
    cdef void project(self, node_t node, const row_t* rows, idx_t n, double* out) noexcept nogil
    cdef void route(self, node_t node, row_t* rows, int32_t* place, idx_t n, double* projection,
                    const uint8_t* labels, int32_t* leaf) noexcept nogil


# The training rows of a tree on their way down: a node's rows ascend, and stand at
# index.rows[start[node]:end[node]] once its parent has been split.
cdef class TreePartition:
    cdef EditableTree tree
    cdef SampleIndex index
    cdef Workspace memory
    cdef const node_t[::1] leaf       # by row, if it is known; else None
    cdef idx_t* start                 # (n_nodes)
    cdef idx_t* end                   # (n_nodes)
    cdef double* projection           # (n_train) of the rows of the node split last

    cdef bint split(self, node_t node) noexcept nogil
