# Axis splits at random thresholds (extremely randomised trees; Geurts et al., 2006).
#
# For each candidate feature one threshold is drawn between the smallest and the largest
# value in the node, and the best of these few cuts is taken. Missing values of a
# candidate go to a side drawn at random; when a feature has a single value besides
# missing ones, the cut is between the two.

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
        cdef uint32_t code, highest = low, last_left = low, first_right = high
        cdef bint missing_left = False, goes_left
        cdef double lowest_value, highest_value, threshold, previous
        cdef idx_t p, n_left = 0, n_right = 0
        if column.has_missing and high == missing:
            for p in range(task.n):
                code = self.codes[p]
                if code != missing and code > highest:
                    highest = code
            missing_left = bounded(self.rng, 2) == 1 and highest > low
        else:
            highest = high
        lowest_value = find_value(self.view, j, low, task.rows, task.n)
        highest_value = find_value(self.view, j, highest, task.rows, task.n)
        threshold = lowest_value + uniform(self.rng) * (highest_value - lowest_value)
        if threshold >= highest_value:
            threshold = lowest_value
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
            if goes_left:
                self.words[n_left] = make_word(0, p)
                n_left += 1
            else:
                self.buffer[n_right] = make_word(1, p)
                n_right += 1
        for p in range(n_right):
            self.words[n_left + p] = self.buffer[p]
        previous = best.score
        self.criterion.scan(self.words, task.n, limits, best)
        if best.score > previous:
            best.low_key = last_left - low
            best.high_key = first_right - low
            self.best_threshold = threshold
        return missing_left

    cdef void write_plane(self, const NodeTask* task, idx_t j, uint32_t base, const Cut* best,
                          bint missing_left, SplitResult* out) noexcept nogil:
        AxisSplitter.write_plane(self, task, j, base, best, missing_left, out)
        if base + best.high_key != self.view.columns[j].n_values:
            out.plane.threshold = self.best_threshold
