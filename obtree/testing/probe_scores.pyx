"""Wrappers of what oblique splitters share: projecting, sorting and cutting scores."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t

from obtree.core cimport order
from obtree.core.memory cimport Workspace
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, NodeStats, ScanLimits
from obtree.data cimport project, scale
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.hyperplane cimport Hyperplane, init_plane
from obtree.data.project cimport FixedPoint, KeyRange, key_value
from obtree.data.targets cimport Targets
from obtree.splitter.sweep cimport BETTER, CONSTANT, IntervalSweep, ScoreCut, ScoreSweep, reset_cut


def project_node(Dataset dataset, feature, weight, rows):
    """Projections of some rows of a data set."""
    cdef feature_t[::1] features = np.array(feature, dtype=np.int32)
    cdef w_t[::1] terms = np.array(weight, dtype=np.float64)
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef double[::1] out = np.empty(len(rows))
    cdef Hyperplane plane
    init_plane(&plane, &features[0], &terms[0])
    plane.n_terms = features.shape[0]
    project.project_rows(&dataset.view, &plane, &at[0], at.shape[0], &out[0])
    return np.asarray(out)


def sort_scores(score):
    """(positions in order, keys, number of NaN), or None when there is nothing to sort."""
    cdef const double[::1] scores = np.ascontiguousarray(score, dtype=np.float64)
    cdef idx_t n = scores.shape[0], n_missing
    cdef uint32_t[::1] keys = np.empty(n, dtype=np.uint32)
    cdef uint64_t[::1] words = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] buffer = np.empty(n, dtype=np.uint64)
    if not order.sort_scores(&scores[0], n, &keys[0], &words[0], &buffer[0], &n_missing):
        return None
    result = np.asarray(words)
    return (result & np.uint64(0xFFFFFFFF)).astype(int), result >> np.uint64(32), n_missing


def sweep_scores(bound, weight, scores, *, min_samples_leaf=1,
                 min_weight_leaf=0.0, two_sided=False):
    """The best cut of several directions, as (direction, score, threshold, missing_left).

    `scores` has a row for each direction and a column for each row of X. None when no cut
    is allowed, "constant" when there is nothing to cut. Two-sided ones have `lower` besides.
    """
    cdef const double[:, ::1] directions = np.ascontiguousarray(scores, dtype=np.float64)
    cdef const w_t[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
    cdef idx_t n = directions.shape[1], k, best_direction = -1
    cdef const row_t[::1] rows = np.arange(n, dtype=np.int32)
    cdef Workspace workspace = Workspace()
    cdef Targets targets = bound.targets
    cdef Criterion criterion = bound.criterion.clone()
    cdef volatile int stop = 0
    cdef FitView fit
    cdef ScoreSweep sweep = IntervalSweep() if two_sided else ScoreSweep()
    cdef NodeStats stats
    cdef ScanLimits limits
    cdef ScoreCut best
    cdef bint varies = False
    fit = lend_fit(NULL, &targets.view, NULL, &stop, 1)
    criterion.prepared = criterion.prepare(&fit)
    criterion.bind(NULL, &targets.view, workspace, n)
    sweep.bind(criterion, workspace, n)
    criterion.begin_tree(&rows[0], n, &weights[0])
    criterion.load_node(&rows[0], n, &weights[0], &stats)
    limits.min_samples_leaf = min_samples_leaf
    limits.min_weight_leaf = min_weight_leaf
    limits.monotone = 0
    reset_cut(&best)
    for k in range(directions.shape[0]):
        status = sweep.sweep(&directions[k, 0], n, &limits, &best)
        varies = varies or status != CONSTANT
        if status == BETTER:
            best_direction = k
    if best_direction < 0:
        return None if varies else "constant"
    found = best_direction, best.score, best.threshold, bool(best.missing_left)
    return (*found, best.lower) if two_sided else found


def project_fixed_point(Dataset dataset, feature, weight, rows):
    """(keys, the projections they stand for), or None when the direction is not in fixed point."""
    cdef feature_t[::1] features = np.array(feature, dtype=np.int32)
    cdef w_t[::1] terms = np.array(weight, dtype=np.float64)
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint32_t[::1] keys = np.empty(len(rows), dtype=np.uint32)
    cdef FixedPoint fixed_point = FixedPoint()
    cdef Workspace workspace = Workspace()
    cdef KeyRange found
    cdef Hyperplane plane
    init_plane(&plane, &features[0], &terms[0])
    plane.n_terms = features.shape[0]
    fixed_point.bind(&dataset.view, workspace)
    if not fixed_point.project(&dataset.view, &plane, &at[0], at.shape[0], &keys[0], &found):
        return None
    result = np.asarray(keys)
    if (found.low, found.high) != (result.min(), result.max()):
        raise AssertionError(f"{found.low}, {found.high} are not the range of {result}")
    return result, np.array([key_value(&found, key) for key in keys])


def measure_scales(Dataset dataset, weight=None, kind="scales", stopped=False, n_threads=1):
    """The "scales", "spans" or "variances" of the features, of rows with a weight."""
    cdef double[::1] out = np.empty(dataset.n_features)
    cdef const double[::1] weights
    cdef const double* given = NULL
    cdef volatile int stop = stopped
    cdef FitView fit
    if weight is not None:
        weights = weight
        given = &weights[0]
    fit = lend_fit(&dataset.view, NULL, given, &stop, n_threads)
    if kind == "scales":
        scale.measure_scales(&fit, &out[0], Workspace())
    elif kind == "spans":
        scale.measure_spans(&fit, &out[0], Workspace())
    else:
        scale.measure_variances(&fit, &out[0], Workspace())
    return np.asarray(out)
