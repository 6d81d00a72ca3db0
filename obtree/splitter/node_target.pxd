# One number for each row of a node that a linear model can be fitted to.

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport idx_t
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask


cdef class NodeTarget:
    cdef const TargetView* targets
    cdef idx_t n_outputs
    cdef idx_t n_groups               # group numbers are smaller
    cdef bint is_fixed                # the next draw would be the same again
    cdef double* score                # (n_outputs * max_n_classes) random number of each class
    cdef bint* present                # (max_n_classes) whether the node has the class
    cdef double* value                # (n) target of the node's rows
    cdef int32_t* group               # (n) group of the node's rows, see find_groups

    # Once per worker, GIL held, may raise.
    cdef int bind(self, const TargetView* targets, Workspace workspace, idx_t max_rows) except -1

    # Fill `value`; False when all rows have the same.
    cdef bint draw(self, const NodeTask* task, RandState* rng) noexcept nogil

    # Make `group` the classes, if y is one class, else what `find_halves` says.
    cdef void find_groups(self, const NodeTask* task) noexcept nogil

    # Make `group` 1 for rows whose value is above the mean, else 0.
    cdef void find_halves(self, const NodeTask* task) noexcept nogil

    cdef void _score_classes(self, const NodeTask* task, RandState* rng) noexcept nogil
    cdef void _mix_outputs(self, const NodeTask* task, RandState* rng) noexcept nogil
