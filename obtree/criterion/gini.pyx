"""Gini impurity: the chance that two rows drawn from a node differ in class."""

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Cut, ScanLimits
from obtree.criterion.classes cimport ClassCriterion
from obtree.criterion.sweep cimport GiniSums, sweep_bins, sweep_words


cdef class Gini(ClassCriterion):
    """Gini impurity, averaged over the outputs."""

    def __cinit__(self, *args):
        self.slots_per_row = 4.0

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        cdef double squares = 0.0
        cdef idx_t s
        for s in range(self.node.n_slots):
            squares += counts[s] * counts[s]
        return 1.0 - squares / (weight * weight * self.n_outputs)

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef GiniSums sums
        sweep_words(&sums, &self.node, words, n, limits, best)
        return 0

    cdef int scan_bins(self, const uint32_t* codes, idx_t n, uint32_t low, idx_t n_bins,
                       const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef GiniSums sums
        cdef const uint32_t* bin_rows = self.fill_bins(codes, n, low, limits)
        sweep_bins(&sums, &self.node, self.bins, bin_rows, n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return 0
