"""Friedman's improvement (Friedman 2001, equation 35).

With one output it ranks cuts as squared error does; with several it adds the
outputs' differences before squaring."""

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Cut, ScanLimits
from obtree.criterion.moments cimport MomentCriterion
from obtree.criterion.moments_sweep cimport FriedmanScore, scan_moment_bins, scan_moment_words


cdef class FriedmanError(MomentCriterion):
    """Squared error as impurity, Friedman's score for cuts."""

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef FriedmanScore kind
        scan_moment_words(&kind, &self.node, words, n, limits, best)
        return 0

    cdef int scan_bins(self, const uint32_t* codes, idx_t n, uint32_t low, idx_t n_bins,
                       const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef FriedmanScore kind
        cdef const uint32_t* bin_rows = self.fill_bins(codes, n, low, limits)
        scan_moment_bins(&kind, &self.node, self.bins, bin_rows, n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return 0
