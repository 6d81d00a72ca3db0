# Half Poisson deviance, for counts and frequencies.
#
# Targets are not negative; a cut must leave a positive sum on both sides.

from libc.math cimport log
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t, rounding_share
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits
from obtree.criterion.moments_sweep cimport (
    PoissonScore, scan_moment_bins, scan_moment_flips, scan_moment_words,
)


cdef class Poisson(MomentCriterion):
    """Mean half Poisson deviance from the node's mean."""

    def __cinit__(self, *args):
        self.centred = False

    cdef double sum_impurity(self, idx_t n) noexcept nogil:
        """Sum over rows and outputs of w y log(y / mean)."""
        cdef const double* record = self.node.records
        cdef double total = 0.0
        cdef idx_t _p, k
        for _p in range(n):
            for k in range(self.n_outputs):
                if record[1 + k] > 0.0:
                    total += record[1 + k] * log(record[1 + k] / (record[0] * self.node.mean[k]))
            record += 1 + self.n_outputs
        return total

    cdef double find_negligible(self, double largest) noexcept nogil:
        # Each logarithm is off by a few digits of the last place.
        return rounding_share() * largest

    cdef double perfect_score(self, double impurity) noexcept nogil:
        return impurity

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef PoissonScore kind
        scan_moment_words(&kind, &self.node, words, n, n, 0, 0, limits, best)
        return 0

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        cdef PoissonScore kind
        scan_moment_words(&kind, &self.node, words, n_words, n, n_below, rest_key,
                          limits, best)
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef PoissonScore kind
        scan_moment_flips(&kind, &self.node, &self.flips, words, n, n_down, limits, best)
        return 0

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef PoissonScore kind
        cdef idx_t n_found
        self.fill_bins(column, n)
        n_found = scan_moment_bins(&kind, &self.node, self.bins,
                                   self.count_rows(column, n, limits), n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return n_found
