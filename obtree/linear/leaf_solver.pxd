# Fitting the model of one leaf: ridge regression or multinomial logistic regression.

from libc.stdint cimport int32_t, int64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, w_t


cdef class LeafSolver:
    cdef readonly idx_t n_outputs
    cdef readonly idx_t max_n_classes     # 1 in regression
    cdef readonly double l2
    cdef readonly idx_t max_iter          # Newton steps of a logistic regression
    cdef bint is_regression
    cdef const volatile int* stop         # end early when this becomes non-zero; may be NULL
    cdef Workspace _workspace
    cdef int64_t* n_classes               # (n_outputs)
    cdef int32_t* _slot                   # (max_n_classes) place of a class among those present
    cdef w_t* _class_weight               # (max_n_classes) weight of each class
    cdef double* _scratch                 # grows
    cdef idx_t _n_scratch

    # Fit `block` (IN/SCRATCH: n rows of q features and one free place; standardised in place)
    # to `target` (IN, n x n_outputs, regression) or `codes` (IN, n x n_outputs,
    # classification) with weights w (IN, n, positive). No value may be missing.
    # OUT: weight (q x n_outputs * max_n_classes) and intercept of the features as they were.
    # Returns 1, or 0 when there is no such model: nothing varies, or numbers overflow.
    cdef int fit(self, double* block, idx_t n, idx_t q, const double* target,
                 const int32_t* codes, const w_t* w, double* weight,
                 double* intercept) except -1 nogil

    cdef double* _reserve(self, idx_t n_items) except NULL nogil
    cdef bint _fit_ridge(self, const double* block, idx_t n, idx_t q, const double* target,
                         const w_t* w, double* scratch, double* weight,
                         double* intercept) noexcept nogil
    cdef idx_t _find_present(self, const int32_t* codes, idx_t n, const w_t* w,
                             idx_t output) noexcept nogil
