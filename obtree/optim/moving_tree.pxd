# A tree whose planes move while its shape stays.

from libc.stdint cimport int32_t, uint8_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, node_t, row_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.optim.base cimport Problem
from obtree.optim.sides cimport Layout
from obtree.optim.units cimport Units


cdef class MovingTree:
    cdef Problem problem
    cdef Units units
    cdef Workspace memory
    cdef readonly idx_t n_nodes
    cdef readonly idx_t n_levels
    # Nodes are in depth-first order: the left child of i is i + 1, so that a leaf l below i
    # is on the left when l < right[i].
    cdef node_t* left
    cdef node_t* right
    cdef Hyperplane* plane            # (n_nodes) terms in ascending order of features
    cdef idx_t* room                  # (n_nodes) terms that a plane's blocks can hold
    cdef Layout* layout               # (n_nodes) of planes of many terms; else the weight is NULL
    cdef double* penalty              # (n_nodes) l1 norm of a plane, in units
    cdef node_t* order                # (n_nodes) level after level
    cdef idx_t* level_start           # (n_levels + 1)

    cdef int set_plane(self, node_t node, const Hyperplane* plane,
                       double penalty) except -1 nogil
    cdef void project(self, node_t node, const row_t* rows, idx_t n, double* out) noexcept nogil
    cdef idx_t divide(self, node_t node, row_t* rows, int32_t* place, idx_t n,
                      double* projection) noexcept nogil
    cdef void route(self, node_t node, row_t* rows, int32_t* place, idx_t n, double* projection,
                    const uint8_t* labels, int32_t* leaf) noexcept nogil
