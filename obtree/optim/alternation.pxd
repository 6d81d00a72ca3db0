# One tree under alternating optimisation.

from libc.stdint cimport int32_t, uint8_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport idx_t, node_t, row_t
from obtree.optim.base cimport Problem
from obtree.optim.leaves cimport Leaves, LeafScratch
from obtree.optim.moving_tree cimport MovingTree
from obtree.optim.node_fit cimport NodeFit
from obtree.optim.units cimport Units


cdef class Worker:
    # What one thread needs for itself.
    cdef NodeFit node_fit
    cdef LeafScratch scratch


cdef class Alternation:
    cdef Problem problem
    cdef Units units
    cdef readonly MovingTree tree
    cdef readonly Leaves leaves
    cdef Workspace memory
    cdef double l1
    cdef const volatile int* stop
    cdef list _workers
    cdef void** worker                # the same, borrowed
    cdef int n_threads
    cdef uint64_t seed
    cdef int sureness
    cdef bint upwards
    cdef idx_t block                  # rows that walk down together
    # The rows of a node stand at rows[start[node]:end[node]].
    cdef idx_t* start                 # (n_nodes)
    cdef idx_t* end                   # (n_nodes)
    cdef row_t* rows                  # (n_train)
    # By row.
    cdef int32_t* leaf                # leaf that it reaches
    cdef double* cost                 # what it costs there
    # By position: a node's part belongs to whoever works at it.
    cdef int32_t* other               # leaf on the other side; -1: not asked for
    cdef double* other_cost
    cdef row_t* list_rows
    cdef int32_t* list_place
    cdef double* projection
    cdef row_t* care
    cdef double* gain
    # Whether a leaf below a node has the label (n_nodes * n_classes); NULL if not asked for.
    cdef uint8_t* labels

    cdef int enter(self, const volatile int* stop) except -1
    cdef void divide_rows(self, node_t node) noexcept nogil
    cdef void collect_labels(self) noexcept nogil
    cdef void _route(self, node_t node, idx_t first, idx_t last, const uint8_t* labels,
                     int32_t* leaf) noexcept nogil
    cdef idx_t reduce_node(self, node_t node, LeafScratch scratch) noexcept nogil
    cdef int try_plane(self, node_t node, NodeFit fit) except -1 nogil
    cdef void _move_rows(self, node_t node) noexcept nogil
    cdef double measure(self) noexcept nogil
    cdef double validate(self) noexcept nogil
