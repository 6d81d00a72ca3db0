# Projections of a node's rows on a direction, as prediction computes them.

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane


# OUT out (n): the projection of each of the ascending `rows`, bit for bit that of
# hyperplane.project_plane; NaN when a term is missing.
cdef void project_rows(const DataView* view, const Hyperplane* plane, const row_t* rows, idx_t n,
                       double* out) noexcept nogil

# The same for all rows of the current node of sparse data: OUT out[at[i]] for i < m, those that are
# not zero, where `out` (n_samples) is zero before. Returns m, or -1 when there are too many terms
# or missing values. `at` has room for n + 1. SCRATCH words (n), met (n_samples, zero before and
# after).
cdef idx_t project_entries(const DataView* view, const Hyperplane* plane, const row_t* rows,
                           idx_t n, double* out, row_t* at, uint8_t* met,
                           uint64_t* words) noexcept nogil


# ---- fixed_point.pxi ---------------------------------------------------------------------------
# Projections that are whole numbers: keys to count or to sort, without rounding.


cdef struct KeyRange:
    uint32_t low              # smallest key in the node
    uint32_t high             # largest
    double base               # key k stands for the projection base + k * step, exactly
    double step


cdef class FixedPoint:
    # (n_features) what each rank stands for, in units of the column and counted from the
    # smallest; NULL: the column has no such form.
    cdef int32_t** table
    cdef int* exponent        # (n_features) the unit is two to this power

    # Once per fit; what is kept lies in the workspace, and workers only read it.
    cdef int bind(self, const DataView* view, Workspace workspace) except -1

    # OUT keys (n), found. False, with nothing written, when the projections of this
    # direction are not known to be small multiples of one number.
    cdef bint project(self, const DataView* view, const Hyperplane* plane, const row_t* rows,
                      idx_t n, uint32_t* keys, KeyRange* found) noexcept nogil


# The projection that a key stands for.
cdef inline double key_value(const KeyRange* found, uint32_t key) noexcept nogil:
    return found.base + <double>key * found.step
