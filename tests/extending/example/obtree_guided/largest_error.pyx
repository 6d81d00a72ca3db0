"""A criterion of real targets: the largest error that the best constant makes.

The constant is the middle between the smallest and the largest target of a node, and the largest
error half their distance. Of two cuts the better one leaves less error on its sides, each
weighted by its rows.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, row_t, w_t, y_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits, is_allowed, keeps_order
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView


cdef class LargestError(Criterion):
    """Half the range of the targets, averaged over the outputs."""

    target_kind = "real"              # "classes", "real", or "none" for a measure of X alone

    cdef w_t weight                   # of the node
    cdef w_t* w                       # (n) of its rows
    cdef y_t* y                       # (n * n_outputs) their targets
    cdef y_t* low                     # (n_outputs) of the rows met so far
    cdef y_t* high                    # (n_outputs)
    cdef double* error                # (n) of the rows from each position on
    cdef double* middle               # (n) of their first output

    # Once for each thread, with the GIL: X and the targets are lent, all memory is taken here.
    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        Criterion.bind(self, data, targets, workspace, max_rows)
        self.w = <w_t*>workspace.take(max_rows, sizeof(w_t))
        self.y = <y_t*>workspace.take(max_rows * self.n_outputs, sizeof(y_t))
        self.low = <y_t*>workspace.take(self.n_outputs, sizeof(y_t))
        self.high = <y_t*>workspace.take(self.n_outputs, sizeof(y_t))
        self.error = <double*>workspace.take(max_rows, sizeof(double))
        self.middle = <double*>workspace.take(max_rows, sizeof(double))
        return 0

    # Once for each node, before anything is asked about it.
    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef idx_t p, k
        self.weight = 0.0
        self.forget()
        for p in range(n):
            self.w[p] = weight[rows[p]]
            self.weight += self.w[p]
            for k in range(self.n_outputs):
                self.y[p * self.n_outputs + k] = self.targets.values[rows[p] * self.n_outputs + k]
            self.meet(p)
        stats.weight = self.weight
        stats.impurity = self.measure()
        stats.level = self.find_middle(0)
        return 0

    # What a leaf predicts: the node was loaded, and nothing has been asked about it since.
    cdef void node_value(self, double* value) noexcept nogil:
        cdef idx_t k
        for k in range(self.n_outputs):
            value[k] = self.find_middle(k)

    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil:
        value[0] = min(max(value[0], lower), upper)

    # Once for each candidate: from right to left for one side, from left to right for the other.
    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef w_t left = 0.0
        cdef double score
        cdef idx_t i
        self.forget()
        for i in range(n - 1, 0, -1):
            self.meet(word_position(words[i]))
            self.error[i] = self.measure()
            self.middle[i] = self.find_middle(0)
        self.forget()
        for i in range(1, n):
            self.meet(word_position(words[i - 1]))
            left += self.w[word_position(words[i - 1])]
            if word_key(words[i - 1]) == word_key(words[i]):
                continue
            if not is_allowed(limits, i, n - i, left, self.weight - left):
                continue
            if limits.monotone != 0 and not keeps_order(limits, self.find_middle(0),
                                                        self.middle[i]):
                continue
            score = -(left * self.measure() + (self.weight - left) * self.error[i])
            if score > best.score:
                best.score = score
                best.low_key = word_key(words[i - 1])
                best.high_key = word_key(words[i])
        return 0

    cdef void forget(self) noexcept nogil:
        """No row has been met."""
        cdef idx_t k
        for k in range(self.n_outputs):
            self.low[k] = INFINITY
            self.high[k] = -INFINITY

    cdef void meet(self, idx_t p) noexcept nogil:
        """Take in row p of the node."""
        cdef idx_t k
        for k in range(self.n_outputs):
            self.low[k] = min(self.low[k], self.y[p * self.n_outputs + k])
            self.high[k] = max(self.high[k], self.y[p * self.n_outputs + k])

    cdef double measure(self) noexcept nogil:
        """Half the range of the rows met."""
        cdef double total = 0.0
        cdef idx_t k
        for k in range(self.n_outputs):
            total += 0.5 * (self.high[k] - self.low[k])
        return total / self.n_outputs

    cdef double find_middle(self, idx_t output) noexcept nogil:
        return 0.5 * self.low[output] + 0.5 * self.high[output]
