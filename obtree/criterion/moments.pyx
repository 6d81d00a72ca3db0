"""Weighted sums of the targets: the part that squared error and its relatives share.

Sums are taken about the node's mean, so that targets with a large offset lose no
digits, and a node of equal targets has an impurity of exactly zero.
"""

from libc.math cimport fabs
from libc.stdint cimport uint32_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, rounding_share, row_t, w_t, y_t
from obtree.criterion.base cimport (
    Criterion, FlipBase, NodeStats, RankColumn, ScanLimits, find_largest,
)
from obtree.data.dataset cimport DataView
from obtree.data.read cimport rank_key
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
        return (rounding_share() * largest) * (rounding_share() * largest)

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

    cdef const uint32_t* count_rows(self, const RankColumn* column, idx_t n,
                                    const ScanLimits* limits) noexcept nogil:
        """Rows in each bin; NULL when leaves of one row are allowed."""
        cdef idx_t p
        if limits.min_samples_leaf <= 1:
            return NULL
        for p in range(n):
            self.bin_rows[rank_key(column, p)] += 1
        return self.bin_rows

    cdef void clear_bins(self, idx_t n_bins) noexcept nogil:
        memset(self.bins, 0, n_bins * (1 + self.n_outputs) * sizeof(double))
        memset(self.bin_rows, 0, n_bins * sizeof(uint32_t))


include "squared_error.pxi"
include "friedman.pxi"
include "poisson.pxi"
