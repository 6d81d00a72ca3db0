# Random groups of features turned to their principal components.

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.scatter cimport Scatter


cdef struct RotationRows:
    # What the components are computed from.
    const row_t* rows         # (n) ascending
    idx_t n
    const w_t* weight         # by row of X
    const int32_t* classes    # by row of X; NULL: there are none
    idx_t n_classes


cdef class GroupRotation:
    cdef const DataView* view
    cdef const volatile int* stop     # non-zero: end soon, the outcome being of no use
    cdef idx_t group_size
    # The m components of features f_0, ..., f_{m-1} stand in the columns f_0, ..., f_{m-1};
    # a feature that is not rotated is a group of its own.
    cdef feature_t* member            # (n_features) group after group
    cdef idx_t* start                 # (n_features) by column: where its group begins
    cdef idx_t* length                # (n_features) by column
    cdef double* axis                 # (n_features * group_size) by column: weights of the members
    cdef double* mean                 # (n_features)
    cdef double* scale                # (n_features) standard deviation, 0: do not rotate
    cdef Scatter scatter
    cdef double* vectors              # (group_size ** 2)
    cdef X_t* block                   # (BLOCK * group_size)
    cdef int32_t* chosen              # (n_classes) whether the class takes part
    cdef double* composed             # (n_features)

    # Once per worker, GIL held, may raise; X must be dense.
    cdef int bind(self, const DataView* view, idx_t group_size, idx_t n_classes,
                  const volatile int* stop, Workspace workspace) except -1

    # Draw groups and compute their components.
    cdef void draw(self, const RotationRows* given, RandState* rng) noexcept nogil

    # OUT out (n_samples * n_features), by rows: the components of all rows of X.
    cdef void apply(self, X_t* out) noexcept nogil

    # Express a plane of components in the features: terms and bounds are replaced.
    cdef void compose(self, Hyperplane* plane) noexcept nogil

    cdef void _measure_features(self, const RotationRows* given) noexcept nogil
    cdef idx_t _draw_groups(self, RandState* rng) noexcept nogil
    cdef void _draw_classes(self, const RotationRows* given, RandState* rng) noexcept nogil
    cdef void _measure_group(self, const RotationRows* given, const feature_t* member,
                             idx_t m) noexcept nogil
    cdef void _turn_group(self, const feature_t* member, idx_t m) noexcept nogil
    cdef void _apply_group(self, const row_t* rows, idx_t n, idx_t first,
                           X_t* out) noexcept nogil
