# l1-penalised logistic regression at a decision node.

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.scatter cimport Scatter
from obtree.linear.adagrad cimport AdaGrad
from obtree.linear.columns cimport Columns
from obtree.optim.sides cimport Layout
from obtree.optim.units cimport Units


cdef class NodeFit:
    cdef Units units
    cdef double l1
    cdef double rate
    cdef idx_t n_epochs
    cdef Workspace memory
    cdef Columns own                  # columns that the node's rows have, when values are missing
    cdef Columns* columns
    cdef char* lacking
    cdef bint by_newton
    cdef const volatile int* stop     # non-zero: end soon, with a plane of no use; NULL: none
    cdef float* w                     # (stride) the weights, in units
    cdef double bias
    # Small steps.
    cdef AdaGrad steps
    cdef float* gradient              # (stride)
    cdef float* block                 # (BATCH * stride)
    cdef float* score                 # (BATCH)
    cdef float* factor                # (BATCH)
    cdef double* sums                 # (BATCH)
    cdef int32_t* at                  # (BATCH) 0, 1, 2, ...
    # Newton steps.
    cdef Scatter scatter
    cdef double* step                 # (n)
    cdef double* residual             # (n)
    # What write_plane fills.
    cdef Hyperplane plane
    cdef double penalty
    cdef Layout layout                # scratch

    cdef bint fit(self, const Hyperplane* start, const row_t* rows, idx_t n_rows,
                  row_t* care, double* gain, idx_t n, RandState* rng) noexcept nogil
    cdef void _load(self, const Hyperplane* start) noexcept nogil
    cdef void _write_plane(self) noexcept nogil
    cdef void _score(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void _pull(self, const row_t* rows, idx_t n, double slope) noexcept nogil
    cdef void _descend(self, row_t* care, double* gain, idx_t n, RandState* rng) noexcept nogil
    cdef void _iterate(self, const row_t* care, const double* gain, idx_t n) noexcept nogil
    cdef double _measure(self, const row_t* care, const double* gain, idx_t n) noexcept nogil
