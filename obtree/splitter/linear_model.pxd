# Linear models of a target, fitted to a few features of a node.

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t
from obtree.data.dataset cimport DataView
from obtree.data.scatter cimport Scatter
from obtree.splitter.base cimport NodeTask
from obtree.splitter.node_target cimport NodeTarget


cdef class LinearModel:
    cdef const DataView* view
    cdef NodeTarget target
    cdef int model                    # position in METHODS
    cdef double alpha
    cdef const feature_t* feature     # of the current fit
    cdef Scatter scatter
    cdef double* scale                # (max_terms) standard deviations in the node
    cdef double* coefficient          # (max_terms) of the standardised features
    cdef double* step                 # (max_terms) change of the coefficients
    cdef double* slope                # (max_terms) coefficients of the features as they are
    cdef double* group_mean           # (n_groups * max_terms) sums of w z in each group
    cdef double* group_weight         # (n_groups)
    cdef X_t* block                   # (BLOCK * max_terms) rows being added up

    # Once per worker, GIL held, may raise.
    cdef int bind(self, const DataView* view, NodeTarget target, str method, double alpha,
                  idx_t max_terms, Workspace workspace) except -1

    # Fit the target's values or groups to features (IN, n_terms) that vary in the node and
    # are complete. Leaves coefficient and scale; False when there is no solution.
    cdef bint fit(self, const NodeTask* task, const feature_t* feature,
                  idx_t n_terms) noexcept nogil

    cdef idx_t _read_rows(self, const NodeTask* task, idx_t start) noexcept nogil
    cdef void _measure_scatter(self, const NodeTask* task) noexcept nogil
    cdef void _subtract_groups(self, const NodeTask* task) noexcept nogil
    cdef bint _solve(self, double ridge, double weight) noexcept nogil
    cdef bint _fit_logistic(self, const NodeTask* task) noexcept nogil
    cdef double _measure_logistic(self, const NodeTask* task, double bias) noexcept nogil
