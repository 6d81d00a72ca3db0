# Shannon entropy of a node's classes, in bits.
#
# x log x is needed twice for every row that crosses a cut. With whole-number weights
# x is a small integer, so the values are looked up; other weights take the logarithm.
# One output with small whole weights, the usual case, has sweeps of its own, over integers.

from libc.math cimport frexp, ldexp, log
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits, count_rows
from obtree.criterion.class_sums cimport EntropySums
from obtree.criterion.sweep cimport sweep_bins, sweep_flips, sweep_words
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView

cdef enum:
    MAX_TABLE = 65536                 # beyond, the logarithm is no slower than memory


cdef class Entropy(ClassCriterion):
    """Entropy, averaged over the outputs."""

    cdef double* _table               # x log x of 0, 1, ..., _n_filled - 1
    cdef idx_t _n_table
    cdef EntropySums _sums
    cdef double _inside               # sum of x log x of the node's weights, from the table

    def __cinit__(self, *args):
        self.slots_per_row = 0.5
        self.relative_margin = 1e-12

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        cdef idx_t x
        ClassCriterion.bind(self, data, targets, workspace, max_rows)
        self._n_table = min(MAX_TABLE, 2 * max_rows + 2)
        self._table = <double*>workspace.take(self._n_table, sizeof(double))
        self._table[0] = 0.0
        for x in range(1, self._n_table):
            self._table[x] = x * log(x)
        self._sums.xlogx = self._table
        self._sums.n_table = 0
        self._sums.scale = 1.0
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        """Use the table when every weight is a whole number."""
        cdef double total = 0.0
        cdef int exponent = 0
        cdef idx_t p
        ClassCriterion.begin_tree(self, rows, n, weight)
        self._sums.n_table = self._n_table if self.whole_weights else 0
        if not self.whole_weights:
            for p in range(n):
                total += weight[rows[p]]
            frexp(total / n, &exponent)
        self._sums.scale = ldexp(1.0, -exponent)
        # Counts are swept faster than weights, and empty ones cost next to nothing.
        self.slots_per_row = 3.0 if self.packs else 0.5
        return 0

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        cdef double entropy = 0.0, fraction
        cdef double lane[4]
        cdef idx_t s
        if weight < self._sums.n_table:
            # In four sums, so that an addition need not wait for the one before; those
            # of a pure node are exact.
            for s in range(4):
                lane[s] = 0.0
            for s in range(0, self.node.n_padded, 4):
                lane[0] += self._table[<idx_t>counts[s]]
                lane[1] += self._table[<idx_t>counts[s + 1]]
                lane[2] += self._table[<idx_t>counts[s + 2]]
                lane[3] += self._table[<idx_t>counts[s + 3]]
            self._inside = (lane[0] + lane[2]) + (lane[1] + lane[3])
            entropy = self.n_outputs * self._table[<idx_t>weight] - self._inside
            return max(entropy, 0.0) / (weight * log(2.0) * self.n_outputs)
        for s in range(self.node.n_slots):
            if counts[s] > 0.0:
                fraction = counts[s] / weight
                entropy -= fraction * log(fraction)
        return entropy / (log(2.0) * self.n_outputs)

    cdef double perfect_score(self) noexcept nogil:
        return 0.0

    cdef bint _counts_rows(self, const ScanLimits* limits) noexcept nogil:
        """Whether the sweeps over integers serve."""
        return self.packs and limits.monotone == 0 and self.node.weight < self._n_table

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef EntropySums sums = self._sums
        if self._counts_rows(limits):
            kernels().sweep_entropy_words(
                words, n, self.packed, self.counts, self.counts + self.node.n_padded,
                self.node.n_padded, self._table, self._inside, <uint32_t>self.node.weight,
                limits.min_samples_leaf, limits.min_weight_leaf, self.node.margin, &best.score,
                &best.low_key, &best.high_key,
            )
            return 0
        sweep_words(&sums, &self.node, words, n, n, 0, 0, limits, best)
        return 0

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        cdef EntropySums sums = self._sums
        sweep_words(&sums, &self.node, words, n_words, n, n_below, rest_key,
                    limits, best)
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef EntropySums sums = self._sums
        sweep_flips(&sums, &self.node, &self.flips, words, n, n_down, limits, best)
        return 0

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef EntropySums sums = self._sums
        cdef idx_t n_found
        cdef uint32_t* counts = <uint32_t*>self.bins
        if self._counts_rows(limits) and limits.min_samples_leaf <= 1:
            kernels().fill_counts(column.codes, column.width, column.stride, column.rows, n,
                                  column.low, self.packed, self.node.n_padded, counts)
            return kernels().sweep_entropy_counts(
                counts, n_bins, self.node.n_padded, self.counts,
                self.counts + self.node.n_padded, self._table, self._inside,
                <uint32_t>self.node.weight, limits.min_weight_leaf, self.node.margin,
                &best.score, &best.low_key, &best.high_key,
            )
        self.fill_bins(column, n)
        n_found = sweep_bins(&sums, &self.node, self.bins,
                             count_rows(column, n, limits, self.bin_rows), n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return n_found
