"""A door to the search along a line of planes."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.sort cimport sort_words
from obtree.core.types cimport X_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.targets cimport Targets


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
    cdef uint64_t[::1] spare = np.empty(n, dtype=np.uint64)
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
    sort_words(&words[0], n_words, &spare[0])
    criterion.scan_flips(&words[0], n_words, n_down, &limits, &best)
    if not best.score > best_score:
        return None
    low, high = read_keys([best.low_key, best.high_key])
    return best.score, float(low), float(high)
