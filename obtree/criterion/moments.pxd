# What the regression criteria built on sums of y share.

from libc.stdint cimport uint32_t

from obtree.core.types cimport idx_t, w_t, y_t
from obtree.criterion.base cimport Criterion, FlipBase, RankColumn
from obtree.criterion.moments_sweep cimport MomentNode


cdef enum MomentScore:
    # What a cut is worth, see moments_sweep.pxd.
    SQUARED = 0
    FRIEDMAN = 1
    POISSON = 2


cdef class MomentCriterion(Criterion):
    cdef const y_t* _y                # values of the targets
    cdef MomentNode node
    cdef FlipBase flips
    cdef double* bins                 # (n_bins * (1 + n_outputs)) sums, zero between calls
    cdef uint32_t* bin_rows           # (n_bins) rows, zero between calls
    cdef idx_t max_bins
    cdef MomentScore score
    cdef bint centred                 # whether sums are taken about the node's mean

    cdef void _centre_output(self, idx_t k, idx_t n) noexcept nogil
    cdef double find_negligible(self, double largest) noexcept nogil
    cdef double sum_impurity(self, idx_t n) noexcept nogil
    cdef double perfect_score(self, double impurity) noexcept nogil
    cdef void fill_bins(self, const RankColumn* column, idx_t n) noexcept nogil
    cdef void clear_bins(self, idx_t n_bins) noexcept nogil
