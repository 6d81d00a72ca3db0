# Friedman's improvement (Friedman 2001, equation 35).
#
# With one output it ranks cuts as squared error does; with several it adds the
# outputs' differences before squaring.

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits
from obtree.criterion.moments_sweep cimport (
    FriedmanScore, scan_moment_bins, scan_moment_flips, scan_moment_words,
)


cdef class FriedmanError(MomentCriterion):
    """Squared error as impurity, Friedman's score for cuts."""

    cdef double perfect_score(self, double impurity) noexcept nogil:
        # Differences of several outputs may cancel.
        return impurity / self.node.weight if self.n_outputs == 1 else INFINITY

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef FriedmanScore kind
        scan_moment_words(&kind, &self.node, words, n, n, 0, 0, limits, best)
        return 0

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        cdef FriedmanScore kind
        scan_moment_words(&kind, &self.node, words, n_words, n, n_below, rest_key,
                          limits, best)
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef FriedmanScore kind
        scan_moment_flips(&kind, &self.node, &self.flips, words, n, n_down, limits, best)
        return 0

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef FriedmanScore kind
        cdef idx_t n_found
        self.fill_bins(column, n)
        n_found = scan_moment_bins(&kind, &self.node, self.bins,
                                   self.count_rows(column, n, limits), n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return n_found
