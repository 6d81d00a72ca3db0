"""Growth by all rows, and by the classes of those that have one.

A cut is worth what it takes off the log determinant of the rows' covariance, and alpha times what
it takes off the entropy of the labelled rows' classes (Criminisi, Shotton and Konukoglu, 2011,
section 7.1). Each is a mean by the weight of both sides, of all rows the one and of the labelled
rows the other. Sides without a label have no entropy.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport word_position
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits
from obtree.criterion.gaussian cimport GaussianGain
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView


cdef class SemiSupervisedGain(GaussianGain):
    """Gaussian information gain of all rows and class-entropy gain of the labelled ones.

    Parameters
    ----------
    alpha : float, default=1.0
        What a nat of class entropy counts for, beside one of the log determinant.
    """

    target_kind = "partial"
    reads_rows = True

    cdef readonly double alpha
    cdef int32_t* _class              # (max_rows) of the node's rows; -1: none
    cdef w_t* _total                  # (n_classes) labelled weight in the node
    cdef w_t* _left                   # (n_classes) the same left of the cut rated last
    cdef w_t _labelled                # sum of _total
    cdef idx_t _n_counted             # rows, of the words, that are in _left

    def __cinit__(self, *args, **kwargs):
        # A few labelled rows may decide, so that cuts are to be told apart in small nodes as well.
        self.min_cuts = 32.0

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        GaussianGain.bind(self, data, targets, workspace, max_rows)
        if targets.n_outputs != 1:
            raise ValueError(f"{targets.n_outputs} outputs; expected one column of classes")
        self._class = <int32_t*>workspace.take(max_rows, sizeof(int32_t))
        self._total = <w_t*>workspace.take(self.value_size, sizeof(w_t))
        self._left = <w_t*>workspace.take(self.value_size, sizeof(w_t))
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef idx_t p
        GaussianGain.load_node(self, rows, n, weight, stats)
        memset(self._total, 0, self.value_size * sizeof(w_t))
        self._labelled = 0.0
        for p in range(n):
            self._class[p] = self.targets.codes[rows[p]]
            if self._class[p] >= 0:
                self._total[self._class[p]] += weight[rows[p]]
                self._labelled += weight[rows[p]]
        memset(self._left, 0, self.value_size * sizeof(w_t))
        if self._labelled > 0.0:
            stats.impurity += self.alpha * self._weigh_entropy(False) / self._labelled
        self._margin = 1e-12 * stats.impurity
        return 0

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        self._n_counted = 0
        memset(self._left, 0, self.value_size * sizeof(w_t))
        return GaussianGain.scan(self, words, n, limits, best)

    cdef double rate_cut(self, const uint64_t* words, idx_t n_left) noexcept nogil:
        cdef idx_t i, p
        cdef double entropy = 0.0
        for i in range(self._n_counted, n_left):
            p = word_position(words[i])
            if self._class[p] >= 0:
                self._left[self._class[p]] += self._sums.w[p]
        self._n_counted = n_left
        if self._labelled > 0.0:
            entropy = (self._weigh_entropy(True) + self._weigh_entropy(False)) / self._labelled
        return GaussianGain.rate_cut(self, words, n_left) - self.alpha * entropy

    cdef double _weigh_entropy(self, bint is_left) noexcept nogil:
        """Entropy of one side's classes in nats, times their weight."""
        cdef double whole = 0.0, parts = 0.0
        cdef w_t w
        cdef idx_t c
        for c in range(self.value_size):
            w = self._left[c] if is_left else self._total[c] - self._left[c]
            # What is left of a difference of two sums may be rounding, below zero.
            if w > 1e-12 * self._labelled:
                whole += w
                parts += w * log(w)
        return max(whole * log(whole) - parts, 0.0) if whole > 0.0 else 0.0

    cdef void node_value(self, double* value) noexcept nogil:
        """Class fractions of the labelled rows; alike for all classes where there are none."""
        cdef idx_t c
        for c in range(self.value_size):
            value[c] = 1.0 / self.value_size
            if self._labelled > 0.0:
                value[c] = self._total[c] / self._labelled

    cpdef Criterion clone(self):
        """An unbound copy with the same parameter."""
        return type(self)(self.alpha)
