"""Absolute error: the mean distance of a node's targets from their weighted median.

The loss of every prefix of the sorted rows is needed. Two Fenwick trees over the
ranks of y, one for weights and one for weighted targets, take a row in O(log n) and
give the median and both sums below it in O(log n); one pass from each end yields the
losses left and right of every cut.
"""

from libc.math cimport fabs
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, rounding_tolerance, row_t, w_t, y_t
from obtree.criterion.base cimport (
    Criterion,
    Cut,
    FlipBase,
    NodeStats,
    ScanLimits,
    find_largest,
    is_allowed,
    keeps_order,
)
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView


cdef class AbsoluteError(Criterion):
    """Mean absolute distance from the node's median, averaged over the outputs."""

    target_kind = "real"

    cdef const y_t* _y                # values of the targets
    cdef idx_t _n                     # rows of the node
    cdef w_t _node_weight
    cdef double _margin               # less than this between two cuts is rounding
    cdef w_t* _w                      # (n) weights of the node's rows
    cdef idx_t* _rank                 # (n_outputs * n) rank of each row's target in the node
    cdef y_t* _sorted                 # (n_outputs * n) targets in ascending order
    cdef idx_t* _order                # (n) scratch of the sort
    cdef double* _median              # (n_outputs)
    cdef double* _centre              # (n_outputs) sums are taken about it: offsets lose nothing
    cdef double _cut_median           # of the rows that _total_loss saw last
    cdef double* _loss                # (n) loss of both sides of each cut
    cdef double* _level_left          # (n) median left of each cut, first output
    cdef double* _level_right
    cdef FlipBase _flips
    cdef uint8_t* _is_left            # (n) sides at step zero
    cdef w_t* _weights_below          # Fenwick trees, one-based
    cdef double* _sums_below
    cdef idx_t _top                   # the largest power of two <= n

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        Criterion.bind(self, data, targets, workspace, max_rows)
        self._y = targets.values
        self._w = <w_t*>workspace.take(max_rows, sizeof(w_t))
        self._rank = <idx_t*>workspace.take(max_rows * self.n_outputs, sizeof(idx_t))
        self._sorted = <y_t*>workspace.take(max_rows * self.n_outputs, sizeof(y_t))
        self._order = <idx_t*>workspace.take(2 * max_rows, sizeof(idx_t))
        self._median = <double*>workspace.take(self.n_outputs, sizeof(double))
        self._centre = <double*>workspace.take(self.n_outputs, sizeof(double))
        self._loss = <double*>workspace.take(max_rows, sizeof(double))
        self._level_left = <double*>workspace.take(max_rows, sizeof(double))
        self._level_right = <double*>workspace.take(max_rows, sizeof(double))
        self._is_left = <uint8_t*>workspace.take(max_rows, sizeof(uint8_t))
        self._weights_below = <w_t*>workspace.take(max_rows + 1, sizeof(w_t))
        self._sums_below = <double*>workspace.take(max_rows + 1, sizeof(double))
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        cdef double largest
        cdef idx_t k
        self.negligible = 0.0
        for k in range(self.n_outputs):
            largest = find_largest(self._y, self.n_outputs, k, rows, n)
            self.negligible += rounding_tolerance() * largest / self.n_outputs
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef idx_t p, k
        cdef double loss = 0.0
        self._n = n
        self._top = 1
        while 2 * self._top <= n:
            self._top *= 2
        self._node_weight = 0.0
        for p in range(n):
            self._w[p] = weight[rows[p]]
            self._node_weight += self._w[p]
        for k in range(self.n_outputs):
            self._rank_targets(rows, k)
            self._clear()
            for p in range(n):
                self._add(k, p, 1.0)
            self._median[k] = self._descend(k, self._node_weight, NULL, NULL, NULL)
            for p in range(n):
                loss += self._w[p] * fabs(self._y[rows[p] * self.n_outputs + k]
                                          - self._median[k])
        stats.weight = self._node_weight
        stats.impurity = loss / (self._node_weight * self.n_outputs)
        self._margin = 1e-12 * loss
        self.goal = -self._margin
        stats.level = self._median[0]
        return 0

    cdef void node_value(self, double* value) noexcept nogil:
        cdef idx_t k
        for k in range(self.n_outputs):
            value[k] = self._median[k]

    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil:
        value[0] = min(max(value[0], lower), upper)

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef w_t weight_left = 0.0
        cdef idx_t i, k
        for i in range(n):
            self._loss[i] = 0.0
        for k in range(self.n_outputs):
            self._add_losses(words, n, k, True)
            self._add_losses(words, n, k, False)
        for i in range(1, n):
            weight_left += self._w[word_position(words[i - 1])]
            if word_key(words[i - 1]) == word_key(words[i]):
                continue
            if not is_allowed(limits, i, n - i, weight_left, self._node_weight - weight_left):
                continue
            if -self._loss[i] > best.score + self._margin:
                if limits.monotone != 0 and not keeps_order(
                    limits, self._level_left[i], self._level_right[i]
                ):
                    continue
                best.score = -self._loss[i]
                best.low_key = word_key(words[i - 1])
                best.high_key = word_key(words[i])
        return 0

    cdef void _add_losses(self, const uint64_t* words, idx_t n, idx_t output,
                          bint from_left) noexcept nogil:
        """Add to loss[i] the absolute error of words[:i] (or of words[i:])."""
        cdef w_t weight = 0.0
        cdef idx_t step, i, cut
        self._clear()
        for step in range(n - 1):
            i = step if from_left else n - 1 - step
            cut = i + 1 if from_left else i
            self._add(output, word_position(words[i]), 1.0)
            weight += self._w[word_position(words[i])]
            if word_key(words[cut - 1]) == word_key(words[cut]):
                continue
            self._loss[cut] += self._total_loss(output, weight)
            if output == 0:
                if from_left:
                    self._level_left[cut] = self._cut_median
                else:
                    self._level_right[cut] = self._cut_median

    # ---- rows that change sides ---------------------------------------------------

    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil:
        cdef idx_t p
        self._flips.n = n
        self._flips.n_left = 0
        self._flips.weight_left = 0.0
        for p in range(n):
            token[p] = <uint32_t>p
            self._is_left[p] = score[p] < 0.0
            if self._is_left[p]:
                self._flips.n_left += 1
                self._flips.weight_left += self._w[p]
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        self._walk_flips(words, n, n_down, True, limits, best)
        self._walk_flips(words, n, n_down, False, limits, best)
        return 0

    cdef void _walk_flips(self, const uint64_t* words, idx_t n, idx_t n_down, bint up,
                          const ScanLimits* limits, Cut* best) noexcept nogil:
        """Judge the planes on one side of step zero, going away from it.

        Plane `cut` lies between words cut - 1 and cut; the present one is cut n_down.
        """
        cdef idx_t n_left = self._flips.n_left, k, cut = n_down, sign = 1 if up else -1, p
        cdef w_t weight_left = self._flips.weight_left
        cdef uint64_t word
        for k in range(n):
            self._loss[k] = 0.0
        for k in range(self.n_outputs):
            self._add_flip_losses(words, n, n_down, k, True, up)
            self._add_flip_losses(words, n, n_down, k, False, up)
        while True:
            if (0 < cut < n and word_key(words[cut - 1]) != word_key(words[cut])
                    and is_allowed(limits, n_left, self._n - n_left, weight_left,
                                   self._node_weight - weight_left)
                    and -self._loss[cut] > best.score + self._margin):
                best.score = -self._loss[cut]
                best.low_key = word_key(words[cut - 1])
                best.high_key = word_key(words[cut])
            if cut == (n if up else 0):
                return
            word = words[cut if up else cut - 1]
            p = word_position(word) >> 1
            n_left += 1 - 2 * <idx_t>(word & 1)
            weight_left += -self._w[p] if word & 1 else self._w[p]
            cut += sign

    cdef void _add_flip_losses(self, const uint64_t* words, idx_t n, idx_t n_down, idx_t output,
                               bint of_left, bint up) noexcept nogil:
        """Add to loss[cut] the absolute error of one side of each plane."""
        cdef w_t weight = 0.0
        cdef idx_t p, cut = n_down
        cdef uint64_t word
        cdef double sign
        self._clear()
        for p in range(self._n):
            if self._is_left[p] == of_left:
                self._add(output, p, 1.0)
                weight += self._w[p]
        while True:
            if 0 < cut < n and word_key(words[cut - 1]) != word_key(words[cut]):
                self._loss[cut] += self._total_loss(output, weight)
            if cut == (n if up else 0):
                return
            word = words[cut if up else cut - 1]
            p = word_position(word) >> 1
            # A row that is left at step zero leaves the left side and joins the right one.
            sign = -1.0 if (word & 1) == of_left else 1.0
            self._add(output, p, sign)
            weight += sign * self._w[p]
            cut += 1 if up else -1

    # ---- targets by rank --------------------------------------------------------

    cdef void _rank_targets(self, const row_t* rows, idx_t output) noexcept nogil:
        """Rank of every row's target, ties by position: a bottom-up merge sort."""
        cdef idx_t n = self._n
        cdef idx_t* order = self._order
        cdef idx_t* other = self._order + n
        cdef idx_t* swap
        cdef idx_t p, width = 1, start, middle, end, i, j, k
        for p in range(n):
            order[p] = p
        while width < n:
            start = 0
            while start < n:
                middle = min(start + width, n)
                end = min(start + 2 * width, n)
                i = start
                j = middle
                for k in range(start, end):
                    if j >= end or (i < middle and self._target(rows, order[i], output)
                                    <= self._target(rows, order[j], output)):
                        other[k] = order[i]
                        i += 1
                    else:
                        other[k] = order[j]
                        j += 1
                start = end
            swap = order
            order = other
            other = swap
            width *= 2
        for k in range(n):
            self._rank[output * n + order[k]] = k
            self._sorted[output * n + k] = self._target(rows, order[k], output)
        self._centre[output] = self._sorted[output * n + n // 2]

    cdef inline y_t _target(self, const row_t* rows, idx_t p, idx_t output) noexcept nogil:
        return self._y[rows[p] * self.n_outputs + output]

    # ---- Fenwick trees ------------------------------------------------------------

    cdef void _clear(self) noexcept nogil:
        memset(self._weights_below, 0, (self._n + 1) * sizeof(w_t))
        memset(self._sums_below, 0, (self._n + 1) * sizeof(double))

    cdef inline void _add(self, idx_t output, idx_t p, double sign) noexcept nogil:
        """Add row p, or take it out again (sign -1)."""
        cdef idx_t rank = self._rank[output * self._n + p]
        cdef w_t w = sign * self._w[p]
        cdef double wy = w * (self._sorted[output * self._n + rank] - self._centre[output])
        cdef idx_t k = rank + 1
        while k <= self._n:
            self._weights_below[k] += w
            self._sums_below[k] += wy
            k += k & -k

    cdef double _descend(self, idx_t output, w_t weight, w_t* weight_below,
                         double* sum_below, double* lower) noexcept nogil:
        """The weighted median of the rows added, the mean of two when it falls between.

        OUT (unless NULL): weight and weighted sum of the targets ranked below the lower
        of the two, and that target, which has the same loss as their mean.
        """
        cdef const y_t* targets = self._sorted + output * self._n
        cdef idx_t at = 0, step = self._top, next_rank
        # Weights that are no whole numbers are half of the sum but for rounding.
        cdef w_t below = 0.0, half = 0.5 * weight, slack = 1e-12 * weight, through
        cdef double sums = 0.0, median
        # Invariant: ranks [0, at) weigh `below` < half together.
        while step > 0:
            if at + step <= self._n and below + self._weights_below[at + step] < half - slack:
                at += step
                below += self._weights_below[at]
                sums += self._sums_below[at]
            step //= 2
        median = targets[min(at, self._n - 1)]
        if weight_below != NULL:
            weight_below[0] = below
            sum_below[0] = sums
            lower[0] = median
        through = below + self._weight_at(at)
        if through <= half + slack:
            # Half the weight lies at or below: average with the next row present.
            next_rank = self._next_present(through + slack)
            if next_rank < self._n:
                median = 0.5 * median + 0.5 * targets[next_rank]
        return median

    cdef w_t _weight_at(self, idx_t rank) noexcept nogil:
        """Weight added at one rank."""
        cdef idx_t k = rank + 1, stop
        cdef w_t total
        if k > self._n:
            return 0.0
        total = self._weights_below[k]
        stop = k - (k & -k)
        k -= 1
        while k > stop:
            total -= self._weights_below[k]
            k -= k & -k
        return total

    cdef idx_t _next_present(self, w_t through) noexcept nogil:
        """The smallest rank whose cumulated weight exceeds `through`."""
        cdef idx_t at = 0, step = self._top
        cdef w_t below = 0.0
        while step > 0:
            if at + step <= self._n and below + self._weights_below[at + step] <= through:
                at += step
                below += self._weights_below[at]
            step //= 2
        return at

    cdef double _total_loss(self, idx_t output, w_t weight) noexcept nogil:
        """Absolute error of the rows added, about their median (left in `_cut_median`)."""
        cdef w_t below = 0.0
        cdef double sum_below = 0.0, total = 0.0, lower = 0.0
        cdef idx_t k = self._n
        self._cut_median = self._descend(output, weight, &below, &sum_below, &lower)
        while k > 0:
            total += self._sums_below[k]
            k -= k & -k
        lower -= self._centre[output]
        return (lower * below - sum_below) + ((total - sum_below) - lower * (weight - below))
