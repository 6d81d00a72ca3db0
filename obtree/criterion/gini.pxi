# Gini impurity: the chance that two rows drawn from a node differ in class.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits, count_rows
from obtree.criterion.class_sums cimport GiniSums
from obtree.criterion.sweep cimport sweep_bins, sweep_flips, sweep_words


cdef class Gini(ClassCriterion):
    """Gini impurity, averaged over the outputs."""

    cdef double _squares              # sum of the node's squared weights

    def __cinit__(self, *args):
        self.slots_per_row = 8.0
        self.compacts = True

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        """Allow for rounding, unless all weights are whole numbers, whose sums are exact."""
        ClassCriterion.begin_tree(self, rows, n, weight)
        self.relative_margin = 0.0 if self.whole_weights else 1e-12
        return 0

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        cdef double squares = 0.0
        cdef idx_t s
        for s in range(self.node.n_slots):
            squares += counts[s] * counts[s]
        self._squares = squares
        return 1.0 - squares / (weight * weight * self.n_outputs)

    cdef double perfect_score(self) noexcept nogil:
        # A little less: the quotients of which the score is made are rounded.
        return self.node.weight * self.n_outputs * (1.0 - 1e-15)

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef GiniSums sums
        sweep_words(&sums, &self.node, words, n, n, 0, 0, limits, best)
        return 0

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        cdef GiniSums sums
        sweep_words(&sums, &self.node, words, n_words, n, n_below, rest_key,
                    limits, best)
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef GiniSums sums
        sweep_flips(&sums, &self.node, &self.flips, words, n, n_down, limits, best)
        return 0

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef GiniSums sums
        cdef idx_t n_found
        if self.n_outputs == 1 and limits.min_samples_leaf <= 1 and limits.monotone == 0:
            return self._scan_quickly(column, n, n_bins, limits, best)
        self.fill_bins(column, n)
        n_found = sweep_bins(&sums, &self.node, self.bins,
                             count_rows(column, n, limits, self.bin_rows), n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return n_found

    cdef idx_t _scan_quickly(self, const RankColumn* column, idx_t n, idx_t n_bins,
                             const ScanLimits* limits, Cut* best) noexcept nogil:
        """The usual case, by vectors; counts when the weights allow it."""
        cdef uint32_t* counts = <uint32_t*>self.bins
        if self.packs:
            if column.first_bin >= 0:
                counts += column.first_bin * self.node.n_padded
            else:
                kernels().fill_counts(column.codes, column.width, column.stride, column.rows,
                                      n, column.low, self.packed, self.node.n_padded, counts)
            return kernels().sweep_gini_counts(
                counts, n_bins, self.node.n_padded, self.node.total,
                self.node.left, self.node.weight, self._squares, limits.min_weight_leaf,
                self.node.margin, &best.score, &best.low_key, &best.high_key,
            )
        self.fill_bins(column, n)
        return kernels().sweep_gini(
            self.bins, n_bins, self.node.n_padded, self.node.total, self.node.left,
            self.node.weight, self._squares, limits.min_weight_leaf, self.node.margin,
            &best.score, &best.low_key, &best.high_key,
        )

    cdef bint count_pair(self, RankColumn* first, idx_t n_first, RankColumn* second,
                         idx_t n_second, idx_t n) noexcept nogil:
        # Counts take half the room of weights.
        if (not self.packs or first.width != second.width
                or n_first + n_second > 2 * self.max_bins):
            return False
        first.first_bin = 0
        second.first_bin = n_first
        kernels().fill_two_counts(first.codes, second.codes, first.width, first.stride,
                                  first.rows, n, self.packed, self.node.n_padded,
                                  <uint32_t*>self.bins,
                                  <uint32_t*>self.bins + n_first * self.node.n_padded)
        return True
