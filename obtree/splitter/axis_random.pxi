# Axis splits at random thresholds (extremely randomised trees; Geurts et al., 2006).
#
# For each candidate feature one threshold is drawn between the smallest and the largest
# value in the node, and the best of these few cuts is taken. Missing values of a
# candidate go to a side drawn at random; when a feature has a single value besides
# missing ones, the cut is between the two. Of categories, in the order of their mean target,
# those up to a random one go left.

from libc.stdint cimport uint32_t

from obtree.core.random cimport bounded, uniform
from obtree.core.sort cimport make_word
from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Cut, ScanLimits
from obtree.data.dataset cimport ColumnView
from obtree.data.read cimport find_value, read_value
from obtree.splitter.base cimport NodeTask, SplitResult


cdef class AxisRandomSplitter(AxisSplitter):
    """Best of one random threshold for each of ``max_features`` features.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.splitter import AxisRandomSplitter
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, splitter=AxisRandomSplitter(), random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.95
    True
    """

    supports_monotonic = True

    cdef double best_threshold
    cdef idx_t n_left         # rows put on the sides of a cut so far
    cdef idx_t n_right

    def __init__(self):
        pass

    cdef bint bins_at_once(self, idx_t j, idx_t n) noexcept nogil:
        return False

    cdef bint reads_above(self, idx_t j) noexcept nogil:
        return False

    cdef bint reads_entries(self, idx_t j) noexcept nogil:
        return False

    cdef bint scan_column(self, const NodeTask* task, idx_t j, uint32_t low, uint32_t high,
                          const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef const ColumnView* column = &self.view.columns[j]
        cdef uint32_t missing = column.n_values
        cdef uint32_t code, highest = high, last_left = low, first_right = high
        cdef bint missing_left = False, goes_left
        cdef double lowest_value, highest_value, threshold
        cdef idx_t p
        if column.has_missing and high == missing:
            highest = self.find_highest(task.n, low, missing)
            missing_left = bounded(self.rng, 2) == 1 and highest > low
        lowest_value = find_value(self.view, j, low, task.rows, task.n)
        highest_value = find_value(self.view, j, highest, task.rows, task.n)
        threshold = lowest_value + uniform(self.rng) * (highest_value - lowest_value)
        if threshold >= highest_value:
            threshold = lowest_value
        self.n_left = self.n_right = 0
        for p in range(task.n):
            code = self.codes[p]
            if code == missing and column.has_missing:
                goes_left = missing_left
            else:
                goes_left = code == low or read_value(self.view, task.rows[p], j) <= threshold
                if goes_left:
                    last_left = max(last_left, code)
                else:
                    first_right = min(first_right, code)
            self.put_row(p, goes_left)
        if self.judge_sides(limits, best):
            best.low_key = last_left - low
            best.high_key = first_right - low
            self.best_threshold = threshold
        return missing_left

    cdef bint scan_codes(self, idx_t n, uint32_t low, uint32_t high, bint has_missing,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        cdef uint32_t last = high - has_missing, missing = high
        cdef bint missing_left = False
        cdef idx_t p
        if last > low:
            missing_left = has_missing and bounded(self.rng, 2) == 1
            last = low + <uint32_t>bounded(self.rng, last - low)
        self.n_left = self.n_right = 0
        for p in range(n):
            self.put_row(p, missing_left if has_missing and self.codes[p] == missing
                         else self.codes[p] <= last)
        if self.judge_sides(limits, best):
            best.low_key = last - low
        return missing_left

    cdef uint32_t find_highest(self, idx_t n, uint32_t low, uint32_t missing) noexcept nogil:
        """The largest rank that is not that of missing values."""
        cdef uint32_t highest = low
        cdef idx_t p
        for p in range(n):
            if self.codes[p] != missing and self.codes[p] > highest:
                highest = self.codes[p]
        return highest

    cdef void put_row(self, idx_t p, bint goes_left) noexcept nogil:
        if goes_left:
            self.words[self.n_left] = make_word(0, p)
            self.n_left += 1
        else:
            self.buffer[self.n_right] = make_word(1, p)
            self.n_right += 1

    cdef bint judge_sides(self, const ScanLimits* limits, Cut* best) except -1 nogil:
        """Improve `best` by the sides that the rows were put on; whether that was possible."""
        cdef double previous = best.score
        cdef idx_t p
        for p in range(self.n_right):
            self.words[self.n_left + p] = self.buffer[p]
        self.criterion.scan(self.words, self.n_left + self.n_right, limits, best)
        return best.score > previous

    cdef void write_plane(self, const NodeTask* task, idx_t j, uint32_t base, const Cut* best,
                          bint missing_left, SplitResult* out) noexcept nogil:
        AxisSplitter.write_plane(self, task, j, base, best, missing_left, out)
        if out.plane.members == NULL and base + best.high_key != self.view.columns[j].n_values:
            out.plane.threshold = self.best_threshold
