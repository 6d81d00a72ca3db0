"""Squared error: the variance of a node's targets."""

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Cut, ScanLimits
from obtree.criterion.moments cimport MomentCriterion
from obtree.criterion.moments_sweep cimport SquaredScore, scan_moment_bins, scan_moment_words


cdef class SquaredError(MomentCriterion):
    """Mean squared distance from the node's mean, averaged over the outputs."""

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef SquaredScore kind
        scan_moment_words(&kind, &self.node, words, n, limits, best)
        return 0

    cdef int scan_bins(self, const uint32_t* codes, idx_t n, uint32_t low, idx_t n_bins,
                       const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef SquaredScore kind
        cdef const uint32_t* bin_rows = self.fill_bins(codes, n, low, limits)
        scan_moment_bins(&kind, &self.node, self.bins, bin_rows, n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return 0
