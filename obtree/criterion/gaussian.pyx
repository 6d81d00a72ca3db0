"""Gaussian information gain: growth by the density of the rows themselves.

The impurity of a node is the log determinant of the covariance of its rows (Criminisi, Shotton
and Konukoglu, 2011, section 5.1), twice the entropy of a Gaussian but for a constant, and a cut
is worth what it takes off it, both sides weighted; `gaussian_sums.pxd` says what keeps this
finite and without a unit. Log determinants are taken at no more than MAX_CUTS of a direction's
cuts, spread evenly over its rows, and at fewer in small nodes; where there are not so many, at
all of them.
"""

from libc.math cimport floor
from libc.stdint cimport uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits, is_allowed
from obtree.criterion.gaussian_sums cimport (
    empty_left, load_sums, measure_cut, measure_node, move_left, set_floors, take_gaussian_sums,
)
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView

cdef enum:
    # In large nodes, in small ones, and the rows for each in between: determinants of small nodes
    # are too inexact to tell many cuts apart.
    MAX_CUTS = 32
    MIN_CUTS = 8
    ROWS_A_CUT = 16


cdef class GaussianGain(Criterion):
    """Log determinant of the covariance of the node's rows."""

    target_kind = "none"

    def __cinit__(self, *args, **kwargs):
        self.min_cuts = MIN_CUTS

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        Criterion.bind(self, data, targets, workspace, max_rows)
        take_gaussian_sums(&self._sums, data.n_features, max_rows, workspace)
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        """Floors by the variances of the tree's rows."""
        load_sums(&self._sums, self.data, rows, n, weight)
        set_floors(&self._sums)
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        load_sums(&self._sums, self.data, rows, n, weight)
        stats.weight = self._sums.weight
        stats.impurity = max(measure_node(&self._sums), 0.0)
        self._margin = 1e-12 * stats.impurity
        stats.level = 0.0              # there is nothing that could be monotonic
        return 0

    cdef void node_value(self, double* value) noexcept nogil:
        value[0] = 0.0                 # what leaves keep is fitted to them when the tree is grown

    cdef double rate_cut(self, const uint64_t* words, idx_t n_left) noexcept nogil:
        return -measure_cut(&self._sums)

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef GaussianSums* sums = &self._sums
        cdef idx_t i, last = 0, n_cuts = 0
        cdef w_t left = 0.0, first = 0.0, step, wanted, n_wanted
        cdef double score
        for i in range(1, n):
            left += sums.w[word_position(words[i - 1])]
            if (word_key(words[i - 1]) != word_key(words[i])
                    and is_allowed(limits, i, n - i, left, sums.weight - left)):
                if n_cuts == 0:
                    first = left
                step = left - first
                last = i
                n_cuts += 1
        if n_cuts == 0:
            return 0
        # Rows [0, i) are on the left. Of more cuts than are wanted those are taken that come first
        # at or after so many weights, evenly spread from that of the first cut to the last's.
        n_wanted = min(max(sums.weight / ROWS_A_CUT, self.min_cuts), <double>MAX_CUTS)
        step = step / (n_wanted - 1.0) if n_cuts > n_wanted else 0.0
        wanted = first
        empty_left(sums)
        for i in range(1, last + 1):
            move_left(sums, word_position(words[i - 1]))
            if (word_key(words[i - 1]) == word_key(words[i]) or sums.weight_left < wanted
                    or not is_allowed(limits, i, n - i, sums.weight_left,
                                      sums.weight - sums.weight_left)):
                continue
            if step > 0.0:
                wanted = first + step * (1.0 + floor((sums.weight_left - first) / step))
            score = self.rate_cut(words, i)
            if score > best.score + self._margin:
                best.score = score
                best.low_key = word_key(words[i - 1])
                best.high_key = word_key(words[i])
        return 0
