"""Wrappers of compiled functions, so that tests and benchmarks can call them alone.

Every function takes and returns NumPy arrays, holds the GIL and checks what it is
given only as far as a careless test could otherwise crash.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from obtree.core cimport random
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport FOUND, X_t, feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, NodeStats
from obtree.data cimport dataset as data
from obtree.data cimport encode, hyperplane, read
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.partition cimport SampleIndex
from obtree.data.targets cimport Targets
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.candidates cimport (
    Candidates,
    begin_draws,
    draw_candidate,
    mark_constant,
    reset_candidates,
)


# ---- data ---------------------------------------------------------------------------


def encode_column(column):
    """(ranks, distinct values, whether any is missing)."""
    cdef const X_t[::1] cells = np.ascontiguousarray(column, dtype=np.float32)
    cdef idx_t n = cells.shape[0]
    cdef uint32_t[::1] codes = np.empty(n, dtype=np.uint32)
    cdef X_t[::1] values = np.empty(n, dtype=np.float32)
    cdef uint64_t[::1] words = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] buffer = np.empty(n, dtype=np.uint64)
    cdef encode.Encoding found = encode.encode_column(&cells[0], n, &codes[0], &values[0],
                                                      &words[0], &buffer[0])
    return np.asarray(codes), np.asarray(values)[:found.n_values], bool(found.has_missing)


def describe_column(Dataset dataset, idx_t j):
    """What a ColumnView says, without its arrays."""
    cdef const data.ColumnView* column = &dataset.view.columns[j]
    return {
        "width": column.width,
        "n_values": column.n_values,
        "has_missing": bool(column.has_missing),
        "keeps_values": column.values != NULL,
        "n_stored": column.n_stored,
        "row_limit": dataset.view.row_limit,
        "keeps_X": dataset.view.X != NULL,
    }


def gather_codes(Dataset dataset, idx_t j, rows):
    """(ranks of ascending rows in column j, smallest, largest)."""
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint32_t[::1] out = np.empty(len(rows), dtype=np.uint32)
    cdef uint32_t low, high
    read.gather_codes(&dataset.view, j, &at[0], at.shape[0], &out[0], &low, &high)
    return np.asarray(out), low, high


def read_values(Dataset dataset, idx_t j):
    """Column j as `read_value` gives it, row by row."""
    return np.array([read.read_value(&dataset.view, <row_t>i, j)
                     for i in range(dataset.view.n_samples)], dtype=np.float32)


def find_values(Dataset dataset, idx_t j):
    """Column j as `find_value` gives it for the rank of each row; NaN when missing."""
    codes = dataset.column(j)[0]
    cdef const int32_t[::1] rows = np.arange(dataset.view.n_samples, dtype=np.int32)
    cdef uint32_t missing = dataset.view.columns[j].n_values
    return np.array(
        [np.nan if code == missing
         else read.find_value(&dataset.view, j, code, &rows[0], rows.shape[0])
         for code in codes], dtype=np.float32
    )


def project_rows(feature, weight, X):
    """The projection of each row of X; X may have any strides."""
    cdef const feature_t[::1] features = np.ascontiguousarray(feature, dtype=np.int32)
    cdef const w_t[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
    cdef const X_t[:, :] cells = X
    cdef idx_t i, stride = X.strides[1] // 4
    out = np.empty(len(X))
    cdef double[::1] result = out
    for i in range(cells.shape[0]):
        result[i] = hyperplane.project_row(&features[0], &weights[0], features.shape[0],
                                           &cells[i, 0], stride)
    return out


def split_index(Dataset dataset, sample_weight, idx_t start, idx_t end, feature, weight,
                double threshold, bint missing_left, int64_t rank_cut=-1, partner=None,
                double lower=-INFINITY):
    """Fill a SampleIndex with the weighted rows and split the range [start, end).

    Returns (rows before, rows after, where the right side begins).
    """
    cdef Workspace workspace = Workspace()
    cdef SampleIndex index = SampleIndex()
    cdef const w_t[::1] weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    cdef feature_t[::1] features = np.array(feature, dtype=np.int32)
    cdef w_t[::1] terms = np.array(weight, dtype=np.float64)
    cdef feature_t[::1] partners
    cdef Hyperplane plane
    cdef idx_t i
    index.bind(&dataset.view, workspace)
    for i in range(weights.shape[0]):
        index.weight[i] = weights[i]
    index.fill()
    before = np.array([index.rows[i] for i in range(index.n_rows)])
    if not 0 <= start <= end <= index.n_rows:
        raise IndexError(f"[{start}, {end}) of {index.n_rows} rows")
    hyperplane.init_plane(&plane, &features[0], &terms[0])
    plane.n_terms = features.shape[0]
    plane.threshold = threshold
    plane.missing_left = missing_left
    plane.lower = lower
    if partner is not None:
        partners = np.array(partner, dtype=np.int32)
        plane.partner = &partners[0]
    pos = index.split(&plane, rank_cut, start, end)
    return before, np.array([index.rows[i] for i in range(index.n_rows)]), pos


# ---- splitters ----------------------------------------------------------------------


def draw_candidates(idx_t n_features, constants, seed, plan):
    """Draw features as a splitter does, node after node.

    Parameters
    ----------
    constants : list of sets of int
        Features that turn out to be constant, for each node.
    plan : list of (n_known, n_draws)
        One entry a node: what its parent knew, and how many features to draw.

    Returns
    -------
    list of (drawn features, number of constants known afterwards, order of all features)
    """
    cdef Candidates pool
    cdef feature_t[::1] feature = np.empty(n_features, dtype=np.int32)
    cdef RandState rng
    random.seed_state(&rng, <uint64_t>seed, 0)
    pool.list_[0] = &feature[0]
    pool.size[0] = n_features
    pool.relevance = NULL
    reset_candidates(&pool)
    result = []
    for (n_known, n_draws), constant in zip(plan, constants, strict=True):
        begin_draws(&pool, n_known)
        drawn = []
        for _ in range(n_draws):
            j = draw_candidate(&pool, &rng)
            if j < 0:
                break
            drawn.append(j)
            if j in constant:
                mark_constant(&pool, 0)
        result.append((drawn, pool.n_constant, np.array(feature)))
    return result


def propose_splits(Dataset dataset, bound, Splitter splitter, rows, weight, *,
                   max_features, seed=0, repeats=1, min_samples_leaf=1, min_weight_leaf=0.0,
                   lower=-INFINITY, upper=INFINITY):
    """Ask a splitter about one node, `repeats` times in a row.

    Returns a list of None (leaf) or (features, weights, threshold, missing_left, rank_cut,
    inherited).
    """
    cdef Workspace workspace = Workspace()
    cdef const row_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef const w_t[::1] weights = np.ascontiguousarray(weight, dtype=np.float64)
    cdef idx_t max_terms = dataset.n_features + hyperplane.EXTRA_TERMS
    cdef feature_t[::1] feature = np.empty(max_terms, dtype=np.int32)
    cdef feature_t[::1] partner = np.empty(max_terms, dtype=np.int32)
    cdef w_t[::1] terms = np.empty(max_terms)
    cdef NodeStats stats
    cdef NodeTask task
    cdef SplitResult out
    cdef SplitSettings settings
    cdef TreeTask tree
    cdef FitView fit
    cdef RandState rng
    cdef int stop = 0
    cdef Criterion criterion = bound.criterion.clone()
    cdef Targets targets = bound.targets
    splitter = splitter.clone()
    settings.max_features = max_features
    settings.monotonic = NULL
    settings.relevance = NULL
    settings.stop = &stop
    fit = lend_fit(&dataset.view, &targets.view, NULL, &stop, 1)
    criterion.prepared = criterion.prepare(&fit)
    splitter.prepared = splitter.prepare(&fit)
    criterion.bind(&dataset.view, &targets.view, workspace, dataset.n_samples)
    splitter.bind(&dataset.view, &targets.view, criterion, &settings, workspace)
    random.seed_state(&rng, <uint64_t>seed, 0)
    criterion.begin_tree(&at[0], at.shape[0], &weights[0])
    tree.rows = &at[0]
    tree.n = at.shape[0]
    tree.weight = &weights[0]
    tree.rng = &rng
    splitter.begin_tree(&tree)
    criterion.load_node(&at[0], at.shape[0], &weights[0], &stats)
    task.rows = &at[0]
    task.n = at.shape[0]
    task.depth = 0
    task.weight = &weights[0]
    task.limits.min_samples_leaf = min_samples_leaf
    task.limits.min_weight_leaf = min_weight_leaf
    task.limits.monotone = 0
    task.limits.lower = lower
    task.limits.upper = upper
    task.inherited = 0
    out.partner = &partner[0]
    result = []
    for _ in range(repeats):
        out.rank_cut = -1
        hyperplane.init_plane(&out.plane, &feature[0], &terms[0])
        if splitter.node_split(&task, &out) != FOUND:
            result.append(None)
            continue
        n = out.plane.n_terms
        result.append((np.array(feature[:n]), np.array(terms[:n]), out.plane.threshold,
                       bool(out.plane.missing_left), out.rank_cut, out.inherited))
    return result
