"""Criteria of weighted sums of the targets: squared error and its relatives.

Sums are taken about the node's mean, so that targets with a large offset lose no
digits, and a node of equal targets has an impurity of exactly zero.
"""

from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, rounding_tolerance, row_t, w_t, y_t
from obtree.criterion.base cimport (
    Criterion, Cut, FlipBase, NodeStats, RankColumn, ScanLimits, count_rows, find_largest,
)
from obtree.criterion.moments_sweep cimport (
    FriedmanScore, PoissonScore, SquaredScore, scan_moment_bins, scan_moment_flips,
    scan_moment_words,
)
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView

cdef enum:
    MAX_BINS = 65536


cdef class MomentCriterion(Criterion):
    """Base of the regression criteria made of weighted sums."""

    target_kind = "real"

    def __cinit__(self, *args):
        self.centred = True
        self.scans_above = True

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        cdef idx_t width = 1 + targets.n_outputs
        Criterion.bind(self, data, targets, workspace, max_rows)
        self._y = targets.values
        self.node.n_outputs = self.n_outputs
        self.node.centre = <double*>workspace.take(self.n_outputs, sizeof(double))
        self.node.total = <double*>workspace.take(self.n_outputs, sizeof(double))
        self.node.left = <double*>workspace.take(self.n_outputs, sizeof(double))
        self.flips.left = <double*>workspace.take(self.n_outputs, sizeof(double))
        self.node.records = <double*>workspace.take(max_rows * width, sizeof(double))
        self.node.mean = <double*>workspace.take(self.n_outputs, sizeof(double))
        self.max_bins = min(<idx_t>MAX_BINS, max_rows + 1)
        self.bins = <double*>workspace.take(self.max_bins * width, sizeof(double))
        self.bin_rows = <uint32_t*>workspace.take(self.max_bins, sizeof(uint32_t))
        self.clear_bins(self.max_bins)
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        cdef idx_t k
        cdef double largest = 0.0
        self.negligible = 0.0
        for k in range(self.n_outputs):
            largest = find_largest(self._y, self.n_outputs, k, rows, n)
            self.negligible += self.find_negligible(largest) / self.n_outputs
        return 0

    cdef double find_negligible(self, double largest) noexcept nogil:
        """The impurity that rounding leaves of one output, whose largest target is given."""
        return (rounding_tolerance() * largest) * (rounding_tolerance() * largest)

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef MomentNode* node = &self.node
        cdef idx_t n_outputs = node.n_outputs
        cdef idx_t p, k
        cdef double impurity
        cdef double* record = node.records
        node.weight = 0.0
        for p in range(n):
            record[0] = weight[rows[p]]
            node.weight += record[0]
            for k in range(n_outputs):
                record[1 + k] = self._y[rows[p] * n_outputs + k]
            record += 1 + n_outputs
        for k in range(n_outputs):
            self._centre_output(k, n)
        stats.weight = node.weight
        impurity = self.sum_impurity(n)
        # The score of a cut is at most the node's impurity (over its weight, where the
        # sums are about the mean); equal cuts differ by rounding alone.
        node.margin = 1e-12 * (impurity / node.weight if self.centred else fabs(impurity))
        self.goal = self.perfect_score(impurity) - node.margin
        stats.impurity = impurity / (node.weight * n_outputs)
        stats.level = self.node.mean[0]
        return 0

    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil:
        cdef FlipBase* base = &self.flips
        cdef const double* record = self.node.records
        cdef idx_t p, k
        base.n = n
        base.n_left = 0
        base.weight_left = 0.0
        memset(base.left, 0, self.n_outputs * sizeof(double))
        for p in range(n):
            token[p] = <uint32_t>p
            if score[p] < 0.0:
                base.n_left += 1
                base.weight_left += record[0]
                for k in range(self.n_outputs):
                    base.left[k] += record[1 + k]
            record += 1 + self.n_outputs
        return 0

    cdef void _centre_output(self, idx_t k, idx_t n) noexcept nogil:
        """Find the mean of output k, then turn its targets into w (y - centre)."""
        cdef MomentNode* node = &self.node
        cdef idx_t width = 1 + node.n_outputs
        cdef double* record = node.records
        # Differences from the first target: a node of equal targets gets exactly that
        # target as its mean.
        cdef y_t first = record[1 + k]
        cdef double mean = 0.0, total = 0.0, centre
        cdef idx_t _p
        for _p in range(n):
            mean += record[0] * (record[1 + k] - first)
            record += width
        mean = first + mean / node.weight
        centre = mean if self.centred else 0.0
        record = node.records
        for _p in range(n):
            record[1 + k] = record[0] * (record[1 + k] - centre)
            total += record[1 + k]
            record += width
        self.node.mean[k] = mean
        node.centre[k] = centre
        node.total[k] = total

    cdef double sum_impurity(self, idx_t n) noexcept nogil:
        """Sum over rows and outputs of w (y - mean)^2."""
        cdef const double* record = self.node.records
        cdef double total = 0.0
        cdef idx_t _p, k
        for _p in range(n):
            for k in range(1, 1 + self.n_outputs):
                total += record[k] * record[k] / record[0]
            record += 1 + self.n_outputs
        return total

    cdef double perfect_score(self, double impurity) noexcept nogil:
        """The score of a cut of the current node between two sides of equal targets.

        `impurity` is what `sum_impurity` gave.
        """
        return impurity / self.node.weight

    cdef void node_value(self, double* value) noexcept nogil:
        cdef idx_t k
        for k in range(self.n_outputs):
            value[k] = self.node.mean[k]

    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil:
        value[0] = min(max(value[0], lower), upper)

    cdef bint prefers_bins(self, idx_t n, idx_t n_bins) noexcept nogil:
        return n_bins <= self.max_bins and n_bins <= 2 * n

    cdef void fill_bins(self, const RankColumn* column, idx_t n) noexcept nogil:
        """Add the node's records to `bins`, which are zero before."""
        kernels().fill_moments(column.codes, column.width, column.stride, column.rows, n,
                               column.low, self.node.records, 1 + self.n_outputs, self.bins)

    cdef void clear_bins(self, idx_t n_bins) noexcept nogil:
        memset(self.bins, 0, n_bins * (1 + self.n_outputs) * sizeof(double))
        memset(self.bin_rows, 0, n_bins * sizeof(uint32_t))

    # ---- cuts: all three criteria go through them alike, and differ in what a cut is worth ----

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        return self.scan_above(words, n, n, 0, 0, limits, best)

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        if self.score == SQUARED:
            scan_moment_words(<SquaredScore*>NULL, &self.node, words, n_words, n, n_below,
                              rest_key, limits, best)
        elif self.score == FRIEDMAN:
            scan_moment_words(<FriedmanScore*>NULL, &self.node, words, n_words, n, n_below,
                              rest_key, limits, best)
        else:
            scan_moment_words(<PoissonScore*>NULL, &self.node, words, n_words, n, n_below,
                              rest_key, limits, best)
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        if self.score == SQUARED:
            scan_moment_flips(<SquaredScore*>NULL, &self.node, &self.flips, words, n, n_down,
                              limits, best)
        elif self.score == FRIEDMAN:
            scan_moment_flips(<FriedmanScore*>NULL, &self.node, &self.flips, words, n, n_down,
                              limits, best)
        else:
            scan_moment_flips(<PoissonScore*>NULL, &self.node, &self.flips, words, n, n_down,
                              limits, best)
        return 0

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef const uint32_t* bin_rows = count_rows(column, n, limits, self.bin_rows)
        cdef idx_t n_found
        self.fill_bins(column, n)
        if self.score == SQUARED:
            n_found = scan_moment_bins(<SquaredScore*>NULL, &self.node, self.bins, bin_rows, n,
                                       n_bins, limits, best)
        elif self.score == FRIEDMAN:
            n_found = scan_moment_bins(<FriedmanScore*>NULL, &self.node, self.bins, bin_rows, n,
                                       n_bins, limits, best)
        else:
            n_found = scan_moment_bins(<PoissonScore*>NULL, &self.node, self.bins, bin_rows, n,
                                       n_bins, limits, best)
        self.clear_bins(n_bins)
        return n_found


cdef class SquaredError(MomentCriterion):
    """Mean squared distance from the node's mean, averaged over the outputs."""


cdef class FriedmanError(MomentCriterion):
    """Squared error as impurity, the improvement of Friedman (2001, equation 35) for cuts.

    With one output it ranks cuts as squared error does; with several it adds the outputs'
    differences before squaring.
    """

    def __cinit__(self, *args):
        self.score = FRIEDMAN

    cdef double perfect_score(self, double impurity) noexcept nogil:
        # Differences of several outputs may cancel.
        return impurity / self.node.weight if self.n_outputs == 1 else INFINITY


cdef class Poisson(MomentCriterion):
    """Mean half Poisson deviance from the node's mean, for counts and frequencies.

    Targets are not negative; a cut must leave a positive sum on both sides.
    """

    def __cinit__(self, *args):
        self.centred = False
        self.score = POISSON

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
        return rounding_tolerance() * largest

    cdef double perfect_score(self, double impurity) noexcept nogil:
        return impurity
