# Measures of a cut that are read off the class weights of its two sides.
#
# Twoing is of Breiman et al. (1984); the other three are of OC1 (Murthy, Kasif and
# Salzberg, 1994). None of them needs more than the class weights left and right of a cut,
# so that they share one sweep and differ in what `rate_slots` makes of them.

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits, count_rows
from obtree.criterion.class_sums cimport (
    MAX_MINORITY, SUM_MINORITY, SUM_OF_VARIANCES, TWOING, SlotMeasure, SlotSums,
)
from obtree.criterion.sweep cimport sweep_bins, sweep_flips, sweep_words
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView


cdef class SlotCriterion(ClassCriterion):
    """Base of the measures; the impurity of a node is that of its kind of measure."""

    cdef SlotMeasure measure

    def __cinit__(self, *args):
        self.slots_per_row = 0.5
        self.relative_margin = 1e-12

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef SlotSums sums
        sums.measure = self.measure
        sweep_words(&sums, &self.node, words, n, n, 0, 0, limits, best)
        return 0

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        cdef SlotSums sums
        sums.measure = self.measure
        sweep_words(&sums, &self.node, words, n_words, n, n_below, rest_key,
                    limits, best)
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef SlotSums sums
        sums.measure = self.measure
        sweep_flips(&sums, &self.node, &self.flips, words, n, n_down, limits, best)
        return 0

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef SlotSums sums
        cdef idx_t n_found
        sums.measure = self.measure
        self.fill_bins(column, n)
        n_found = sweep_bins(&sums, &self.node, self.bins,
                             count_rows(column, n, limits, self.bin_rows), n, n_bins, limits, best)
        self.clear_bins(n_bins)
        return n_found

    cdef double perfect_score(self) noexcept nogil:
        cdef double worth = 0.0
        cdef idx_t s, c
        if self.measure == TWOING:
            return INFINITY           # depends on the weights of the two sides
        if self.measure == SUM_OF_VARIANCES:
            for s in range(self.node.n_slots):
                c = s % self.node.stride
                worth += c * c * self.node.total[s]
        return worth

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        """Fraction of the rows outside the node's largest class, averaged over the outputs."""
        cdef double minorities = 0.0
        cdef w_t most
        cdef idx_t k, c
        for k in range(self.n_outputs):
            most = 0.0
            for c in range(self.node.stride):
                most = max(most, counts[k * self.node.stride + c])
            minorities += (weight - most) / weight
        return minorities / self.n_outputs


cdef class MaxMinority(SlotCriterion):
    """The larger of the two sides' weights outside their largest class."""

    def __cinit__(self, *args):
        self.measure = MAX_MINORITY


cdef class SumMinority(SlotCriterion):
    """The sum of the two sides' weights outside their largest class."""

    def __cinit__(self, *args):
        self.measure = SUM_MINORITY


cdef class Twoing(SlotCriterion):
    """How far apart the class fractions of the two sides are.

    The measure belongs to a cut and not to a node; nodes report their Gini impurity.
    """

    def __cinit__(self, *args):
        self.measure = TWOING

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        cdef double squares = 0.0
        cdef idx_t s
        for s in range(self.node.n_slots):
            squares += counts[s] * counts[s]
        return 1.0 - squares / (weight * weight * self.n_outputs)


cdef class SumOfVariances(SlotCriterion):
    """Squared distance of the class numbers from their mean, on both sides.

    Sensible where the order of the classes means something.
    """

    def __cinit__(self, *args):
        self.measure = SUM_OF_VARIANCES

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        ClassCriterion.bind(self, data, targets, workspace, max_rows)
        # Scores are sums of squared class numbers.
        self.relative_margin = 1e-12 * max(1, targets.max_n_classes - 1) ** 2
        return 0

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        cdef double variance = 0.0, mean
        cdef const w_t* here = counts
        cdef idx_t _k, c, first
        for _k in range(self.n_outputs):
            # Differences from a class that is present: a pure node has exactly none.
            first = 0
            while here[first] == 0.0:
                first += 1
            mean = 0.0
            for c in range(first, self.node.stride):
                mean += (c - first) * here[c]
            mean = first + mean / weight
            for c in range(self.node.stride):
                variance += here[c] * (c - mean) * (c - mean)
            here += self.node.stride
        return variance / (weight * self.n_outputs)
