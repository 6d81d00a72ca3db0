"""Asking a criterion about a node, for `check_criterion` and for tests.

Every function takes and returns NumPy arrays, holds the GIL and checks what it is
given only as far as a careless test could otherwise crash.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.sort cimport sort_words
from obtree.core.types cimport X_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.read cimport RankColumn
from obtree.data.targets cimport Targets


cdef ScanLimits make_limits(min_samples_leaf, min_weight_leaf, monotone, lower, upper):
    cdef ScanLimits limits
    limits.min_samples_leaf = min_samples_leaf
    limits.min_weight_leaf = min_weight_leaf
    limits.monotone = monotone
    limits.lower = lower
    limits.upper = upper
    return limits


cdef enum:
    MAX_BINS = 4096           # that `NodeProbe.scan` can count


cdef class NodeProbe:
    """A criterion bound to scratch of its own, loaded with one node.

    Parameters
    ----------
    bound : BoundCriterion
        A criterion, its targets and, if it reads X, a Dataset.
    rows : int array
        Rows of the node, ascending.
    weight : float64 array
        By row of X.
    """

    cdef Criterion _criterion
    cdef object _kept
    cdef Workspace _workspace
    cdef NodeStats _stats
    cdef idx_t _n
    cdef object _rows
    cdef idx_t _n_samples

    def __init__(self, bound, rows, weight):
        cdef Targets targets = bound.targets
        cdef Dataset dataset = bound.dataset
        self._kept = bound
        self._rows = np.ascontiguousarray(rows, dtype=np.int32)
        self._n_samples = len(weight)
        cdef const row_t[::1] at = self._rows
        cdef const w_t[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
        self._criterion = (<Criterion>bound.criterion).clone()
        self._workspace = Workspace()
        self._n = at.shape[0]
        cdef volatile int stop = 0
        cdef FitView fit
        fit = lend_fit(NULL if dataset is None else &dataset.view, &targets.view, NULL, &stop, 1)
        self._criterion.prepared = self._criterion.prepare(&fit)
        self._criterion.bind(fit.data, fit.targets, self._workspace,
                             max(weights.shape[0], MAX_BINS))
        self._criterion.begin_tree(&at[0], self._n, &weights[0])
        self._criterion.load_node(&at[0], self._n, &weights[0], &self._stats)

    @property
    def n_outputs(self):
        return self._criterion.n_outputs

    @property
    def value_size(self):
        return self._criterion.value_size

    @property
    def impurity(self):
        return self._stats.impurity

    @property
    def weight(self):
        return self._stats.weight

    @property
    def level(self):
        return self._stats.level

    @property
    def goal(self):
        return self._criterion.goal

    @property
    def value(self):
        cdef double[::1] out = np.full(self._criterion.value_size, np.nan)
        self._criterion.node_value(&out[0])
        return np.asarray(out)

    def clip(self, value, double lower, double upper):
        """A value forced into [lower, upper]."""
        cdef double[::1] out = np.array(value, dtype=np.float64)
        self._criterion.clip_value(&out[0], lower, upper)
        return np.asarray(out)

    @property
    def scans_above(self):
        return bool(self._criterion.scans_above)

    def prefers_bins(self, idx_t n_bins):
        return bool(self._criterion.prefers_bins(self._n, n_bins))

    def scan(self, codes, *, layout="sorted", min_samples_leaf=1, min_weight_leaf=0.0,
             monotone=0, lower=-INFINITY, upper=INFINITY, best_score=-INFINITY):
        """(score, last code on the left, first code on the right), or None for no cut.

        `codes` are small integers, one for each row of the node in order. The layout is
        "sorted" for `scan`, "above" and "around" for `scan_above`; for `scan_bins` it is
        "gathered", "column" (ranks by row of X) or "rows" (the same, several bytes apart).
        """
        cdef const uint32_t[::1] keys = np.ascontiguousarray(codes, dtype=np.uint32)
        cdef uint32_t low = np.min(codes)
        cdef uint32_t high = np.max(codes)
        cdef uint64_t[::1] words
        cdef ScanLimits limits = make_limits(min_samples_leaf, min_weight_leaf, monotone, lower,
                                             upper)
        cdef Cut best
        if keys.shape[0] != self._n:
            raise ValueError(f"{keys.shape[0]} codes for {self._n} rows")
        best.score = best_score
        best.low_key = best.high_key = 0
        if layout == "sorted":
            words = sort_codes(codes)
            self._criterion.scan(&words[0], self._n, &limits, &best)
        elif layout == "above":
            words = sort_codes(codes)
            n_low = int(np.count_nonzero(np.asarray(codes) == low))
            if n_low < self._n:
                self._criterion.scan_above(&words[n_low], self._n - n_low, self._n, 0, 0,
                                           &limits, &best)
        elif layout == "around":
            # The rows of the middle key have no words of their own.
            words = sort_codes(codes)
            middle = np.unique(codes)[len(np.unique(codes)) // 2]
            n_below = int(np.count_nonzero(np.asarray(codes) < middle))
            n_rest = int(np.count_nonzero(np.asarray(codes) == middle))
            words = np.delete(np.asarray(words), slice(n_below, n_below + n_rest))
            if n_rest < self._n:
                self._criterion.scan_above(&words[0], self._n - n_rest, self._n, n_below,
                                           middle - low, &limits, &best)
        else:
            n_found = self._scan_bins(codes, layout, low, high, &limits, &best)
            if n_found != len(np.unique(codes)):
                raise AssertionError(f"{n_found} bins found of {len(np.unique(codes))}")
        if best.high_key == 0:
            return None
        return best.score, best.low_key + low, best.high_key + low

    cdef idx_t _scan_bins(self, codes, layout, uint32_t low, uint32_t high,
                          const ScanLimits* limits, Cut* best) except -1:
        """Lay the codes out and have them counted into bins."""
        cdef RankColumn column
        cdef const uint8_t[::1] cells
        cdef const row_t[::1] at = self._rows
        if high - low >= MAX_BINS:
            raise ValueError(f"codes span {high - low + 1} bins, more than {MAX_BINS}")
        width = 4 if layout == "gathered" else (1 if high < 256 else (2 if high < 65536 else 4))
        codes = np.asarray(codes).astype(f"u{width}")
        memset(&column, 0xFF, sizeof(column))    # no hints
        column.width = width
        column.stride = width
        column.rows = &at[0]
        column.low = low
        if layout == "gathered":
            column.rows = NULL
            table = codes
        elif layout == "column":
            table = np.zeros(self._n_samples, dtype=codes.dtype)
            table[self._rows] = codes
        elif layout == "rows" and width < 4:
            column.stride = width + 3
            table = np.zeros((self._n_samples, width + 3), dtype=np.uint8)
            table[self._rows, :width] = codes.view(np.uint8).reshape(-1, width)
        else:
            raise ValueError(layout)
        cells = table.reshape(-1).view(np.uint8)
        column.codes = &cells[0]
        return self._criterion.scan_bins(&column, self._n, <idx_t>high - low + 1, limits, best)


def sort_codes(codes):
    """Words (code - smallest, position), sorted."""
    keys = np.asarray(codes, dtype=np.uint64) - np.uint64(np.min(codes))
    return np.sort(keys << np.uint64(32) | np.arange(len(keys), dtype=np.uint64))


def read_keys(keys):
    """The float32 steps that the keys of words stand for."""
    keys = np.asarray(keys, dtype=np.uint32)
    high = keys >> np.uint32(31) == 1
    return (keys ^ np.where(high, 0x80000000, 0xFFFFFFFF).astype(np.uint32)).view(np.float32)


def find_steps(score, x, token):
    """(steps, lower halves of the words, how many steps are negative), not sorted."""
    cdef const double[::1] distance = np.ascontiguousarray(score, dtype=np.float64)
    cdef const X_t[::1] column = np.ascontiguousarray(x, dtype=np.float32)
    cdef const uint32_t[::1] tokens = np.ascontiguousarray(token, dtype=np.uint32)
    cdef uint64_t[::1] words = np.empty(len(score), dtype=np.uint64)
    cdef idx_t n_down = 0
    cdef idx_t n = kernels().find_steps(&distance[0], &column[0], &tokens[0], len(score),
                                        &words[0], &n_down)
    found = np.asarray(words)[:n]
    return read_keys(found >> np.uint64(32)), found & np.uint64(0xFFFFFFFF), n_down


def add_column(score, x, double step):
    """score + step * x"""
    cdef double[::1] distance = np.array(score, dtype=np.float64)
    cdef const X_t[::1] column = np.ascontiguousarray(x, dtype=np.float32)
    kernels().add_column(&distance[0], &column[0], step, len(score))
    return np.asarray(distance)


def scan_flips(bound, rows, weight, score, x, *, min_samples_leaf=1,
               min_weight_leaf=0.0, best_score=-INFINITY):
    """(score, lower step, upper step) of the best plane on a line, or None.

    Parameters
    ----------
    bound : BoundCriterion
    rows : int array
        Rows of the node, ascending.
    weight : float64 array
        By row of X.
    score, x : array
        By row of the node: left where score + step * x is negative.
    """
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const w_t[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
    cdef const double[::1] distance = np.ascontiguousarray(score, dtype=np.float64)
    cdef const X_t[::1] column = np.ascontiguousarray(x, dtype=np.float32)
    cdef idx_t n_words, n_down, n = at.shape[0]
    cdef uint32_t[::1] token = np.empty(n, dtype=np.uint32)
    cdef uint64_t[::1] words = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] buffer = np.empty(n, dtype=np.uint64)
    cdef Workspace workspace = Workspace()
    cdef Targets targets = bound.targets
    cdef Dataset dataset = bound.dataset
    cdef Criterion criterion
    cdef volatile int stop = 0
    cdef FitView fit
    cdef ScanLimits limits
    cdef NodeStats stats
    cdef Cut best
    limits.min_samples_leaf = min_samples_leaf
    limits.min_weight_leaf = min_weight_leaf
    limits.monotone = 0
    best.score = best_score
    best.low_key = best.high_key = 0
    criterion = bound.criterion.clone()
    fit = lend_fit(NULL if dataset is None else &dataset.view, &targets.view, NULL, &stop, 1)
    criterion.prepared = criterion.prepare(&fit)
    criterion.bind(fit.data, fit.targets, workspace, weights.shape[0])
    criterion.begin_tree(&at[0], n, &weights[0])
    criterion.load_node(&at[0], n, &weights[0], &stats)
    criterion.begin_flips(&distance[0], n, &token[0])
    n_words = kernels().find_steps(&distance[0], &column[0], &token[0], n, &words[0], &n_down)
    if n_words < 2:
        return None
    sort_words(&words[0], n_words, &buffer[0])
    criterion.scan_flips(&words[0], n_words, n_down, &limits, &best)
    if not best.score > best_score:
        return None
    low, high = read_keys([best.low_key, best.high_key])
    return best.score, float(low), float(high)
