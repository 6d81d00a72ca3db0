# The tree of an alternating optimisation.

from obtree.core.types cimport idx_t, node_t, row_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.optim.editable_tree cimport EditableTree
from obtree.optim.sides cimport Layout
from obtree.optim.units cimport Units


cdef class MovingTree(EditableTree):
    cdef Units units
    cdef readonly idx_t n_levels
    cdef Layout* layout               # (n_nodes) of planes of many terms; else the weight is NULL
    cdef double* penalty              # (n_nodes) l1 norm of a plane, in units
    cdef node_t* order                # (n_nodes) level after level
    cdef idx_t* level_start           # (n_levels + 1)

    cdef int move_plane(self, node_t node, const Hyperplane* plane,
                        double penalty) except -1 nogil
    cdef int _lay_out(self, node_t node) except -1 nogil
    cdef void scale_plane(self, node_t node, const row_t* rows, idx_t n, int sureness,
                          double* projection) noexcept nogil
