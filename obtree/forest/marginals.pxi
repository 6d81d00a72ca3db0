# Densities of some columns, the others being integrated out; a part of forest/gaussians.pyx.
#
# A Gaussian of some columns given others is a Gaussian again, but a leaf counts in its cell only.
# What of the conditional Gaussian lies inside is counted by draws that go down the path to the
# leaf. Nodes that ask for given columns alone are asked first: most leaves are out of reach of a
# row, and need no draws.

import numpy as np

from libc.math cimport INFINITY, M_PI, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, feature_t, idx_t
from obtree.data.hyperplane cimport LANES, sum_terms
from obtree.data.missing cimport goes_to_left
from obtree.tree.gaussian cimport MAX_FEATURES


cdef struct Paths:
    const int64_t* start          # (n_leaves + 1) where the path to a leaf begins
    const int64_t* node           # what it passes, the root last
    const uint8_t* is_left        # whether it turns left there
    const uint8_t* is_open        # (n_nodes) whether a node asks for a column that rows lack
    const double* threshold
    const double* lower           # NULL when no node has an interval
    const uint8_t* missing_left
    const int64_t* term_ptr
    const feature_t* feature
    const feature_t* partner      # NULL when there are no products
    const double* weight


def list_paths(const int32_t[::1] left, const int32_t[::1] right):
    """The nodes above each leaf of a tree, nearest first.

    Returns
    -------
    leaf : int64 ndarray of shape (n_leaves,)
    start : int64 ndarray of shape (n_leaves + 1,)
        Leaf k has node[start[k]:start[k + 1]] above it.
    node : int64 ndarray
    is_left : uint8 ndarray
        Whether the path to the leaf turns left at each of these.
    """
    cdef idx_t n_nodes = left.shape[0], k, at = 0
    cdef int64_t below, above
    leaves = np.flatnonzero(np.asarray(left) < 0).astype(np.int64)
    cdef int64_t[::1] leaf = leaves
    cdef int64_t[::1] parent = np.zeros(n_nodes, dtype=np.int64)
    cdef int64_t[::1] depth = np.zeros(n_nodes, dtype=np.int64)
    for above in range(n_nodes):
        if left[above] >= 0:
            for below in (left[above], right[above]):
                parent[below] = above
                depth[below] = depth[above] + 1
    starts = np.concatenate([[0], np.cumsum(np.asarray(depth)[leaves], dtype=np.int64)])
    cdef int64_t[::1] node = np.empty(starts[-1], dtype=np.int64)
    cdef uint8_t[::1] is_left = np.empty(starts[-1], dtype=np.uint8)
    for k in range(leaf.shape[0]):
        below = leaf[k]
        while below > 0:
            above = parent[below]
            node[at] = above
            is_left[at] = left[above] == below
            below = above
            at += 1
    return leaves, starts, np.asarray(node), np.asarray(is_left)


cdef inline bint turns_right_way(const Paths* paths, idx_t at, double total) noexcept nogil:
    """Whether a row with this sum goes on to the leaf at one node of the path."""
    cdef int64_t node = paths.node[at]
    cdef bint is_left = goes_to_left(total, paths.threshold[node], paths.missing_left[node])
    if paths.lower != NULL:
        is_left &= not total <= paths.lower[node]
    return is_left == paths.is_left[at]


cdef inline double sum_node(const Paths* paths, int64_t node, const X_t* x,
                            idx_t stride) noexcept nogil:
    """What a node compares."""
    cdef int64_t first = paths.term_ptr[node]
    cdef const feature_t* partner = NULL
    if paths.partner != NULL:
        partner = paths.partner + first
    return sum_terms(paths.feature + first, partner, paths.weight + first,
                     paths.term_ptr[node + 1] - first, x, stride)


cdef bint may_reach(const Paths* paths, idx_t leaf, const X_t* x) noexcept nogil:
    """Whether what is given of a row lets it go to a leaf."""
    cdef idx_t at
    for at in range(paths.start[leaf], paths.start[leaf + 1]):
        if paths.is_open[paths.node[at]]:
            continue
        if not turns_right_way(paths, at, sum_node(paths, paths.node[at], x, 1)):
            return False
    return True


cdef idx_t find_hits(const Paths* paths, idx_t leaf, const X_t* draws, idx_t n_draws, double* total,
                     int32_t* hit) noexcept nogil:
    """Number of the draws (n_features x n_draws) that go to a leaf, and OUT hit which these are.

    SCRATCH total (n_draws).
    """
    cdef idx_t at, k, n_terms, n_hits = n_draws, n_kept
    cdef int64_t node, first
    cdef int32_t m
    for k in range(n_draws):
        hit[k] = <int32_t>k
    for at in range(paths.start[leaf], paths.start[leaf + 1]):
        node = paths.node[at]
        if not paths.is_open[node]:
            continue
        first = paths.term_ptr[node]
        n_terms = paths.term_ptr[node + 1] - first
        if paths.partner == NULL and n_terms < LANES and n_hits > n_draws // 4:
            # The same sums, of all draws together.
            for k in range(n_draws):
                total[k] = 0.0
            for k in range(first, first + n_terms):
                add_multiple(paths.weight[k], draws + paths.feature[k] * n_draws, n_draws, total)
        else:
            for k in range(n_hits):
                total[hit[k]] = sum_node(paths, node, draws + hit[k], n_draws)
        n_kept = 0
        for k in range(n_hits):
            m = hit[k]
            hit[n_kept] = m
            n_kept += turns_right_way(paths, at, total[m])
        n_hits = n_kept
        if n_hits == 0:
            break
    return n_hits


cdef inline void add_multiple(double weight, const X_t* x, idx_t n, double* total) noexcept nogil:
    """IN OUT total (n): add so many times x."""
    cdef idx_t k
    for k in range(n):
        total[k] += weight * <double>x[k]


cdef void turn_factor(const double* factor, const int64_t* order, idx_t d,
                      double* out) noexcept nogil:
    """A covariance's lower triangle for its columns in another order, OUT out (d x d).

    Rows of the triangle in that order are no triangle: reflections make it one again.
    """
    cdef idx_t i, r, k
    cdef int64_t j
    cdef double norm, tail, scale, dot
    cdef double v[MAX_FEATURES]
    cdef double* row
    for i in range(d):
        j = order[i]
        for k in range(d):
            out[i * d + k] = factor[j * (j + 1) // 2 + k] if k <= j else 0.0
    for i in range(d):
        row = out + i * d
        tail = 0.0
        for k in range(i + 1, d):
            tail += row[k] * row[k]
        if tail > 0.0:
            norm = sqrt(row[i] * row[i] + tail)
            for k in range(i, d):
                v[k] = row[k]
            v[i] += norm if row[i] >= 0.0 else -norm
            scale = 2.0 / (v[i] * v[i] + tail)
            for r in range(i, d):
                dot = 0.0
                for k in range(i, d):
                    dot += v[k] * out[r * d + k]
                dot *= scale
                for k in range(i, d):
                    out[r * d + k] -= dot * v[k]
            for k in range(i + 1, d):
                row[k] = 0.0
        if row[i] < 0.0:
            for r in range(i, d):
                out[r * d + i] = -out[r * d + i]


cdef inline double whiten_given(const X_t* x, const double* mean, const double* factor,
                                const int64_t* order, idx_t n_given, idx_t d,
                                double* y) noexcept nogil:
    """OUT y (n_given) the given columns in the coordinates of a leaf; returns their square."""
    cdef idx_t a, b
    cdef double total, square = 0.0
    for a in range(n_given):
        total = <double>x[order[a]] - mean[order[a]]
        for b in range(a):
            total -= factor[a * d + b] * y[b]
        y[a] = total / factor[a * d + a]
        square += y[a] * y[a]
    return square


cdef inline void find_centre(const double* y, const double* mean, const double* factor,
                             const int64_t* order, idx_t n_given, idx_t d,
                             double* centre) noexcept nogil:
    """OUT centre (d - n_given): the mean of what a row lacks, in one leaf."""
    cdef idx_t a, b
    for a in range(n_given, d):
        centre[a - n_given] = mean[order[a]]
        for b in range(n_given):
            centre[a - n_given] += factor[a * d + b] * y[b]


cdef void draw_lacking(const double* centre, const double* factor, const int64_t* order,
                       idx_t n_given, idx_t d, const double* z, idx_t n_draws, double* line,
                       X_t* draws) noexcept nogil:
    """Draws of what a row lacks, z (d - n_given x n_draws) turned; into its columns of `draws`."""
    cdef idx_t a, b, m
    cdef double weight
    cdef X_t* out
    for a in range(n_given, d):
        for m in range(n_draws):
            line[m] = centre[a - n_given]
        for b in range(n_given, a + 1):
            weight = factor[a * d + b]
            for m in range(n_draws):
                line[m] += weight * z[(b - n_given) * n_draws + m]
        out = draws + order[a] * n_draws
        for m in range(n_draws):
            out[m] = <X_t>max(-3e38, min(3e38, line[m]))


def integrate_out(const float[:, ::1] X, lacks, tree, paths, const double[:, ::1] z,
                  bint truncate, double negligible, wanted=None):
    """The log density in one tree of rows that all lack the same columns, and their means.

    Parameters
    ----------
    X : float32 ndarray of shape (n_rows, d)
    lacks : bool ndarray of shape (d,)
    tree : Tree
        Of d features, with Gaussian leaves.
    paths : tuple
        What `list_paths` returned.
    z : ndarray of shape (n_lacks, n_draws)
        Standard normal numbers.
    truncate : bool
        Whether leaves count in their cells only.
    negligible : float
        Leaves whose logarithm is by more than this below that of a row's best count for nothing.
    wanted : int64 ndarray, optional
        Columns whose means are wanted, as positions among those that rows lack.

    Returns
    -------
    log_density : ndarray of shape (n_rows,)
    mean : ndarray of shape (n_rows, n_wanted) or None
        Zeros where no leaf counts.
    """
    cdef idx_t n = X.shape[0], d = X.shape[1], n_lacks = z.shape[0], n_given = d - n_lacks
    cdef idx_t n_draws = z.shape[1], n_wanted = 0, n_hits = n_draws, r, k, a, b, m
    cdef const int64_t[::1] ends = paths[0]
    cdef const int64_t[::1] start = paths[1]
    cdef const int64_t[::1] node = paths[2]
    cdef const uint8_t[::1] is_left = paths[3]
    cdef idx_t n_leaves = ends.shape[0]
    cdef const double[:, ::1] means = tree.leaf_mean
    cdef const double[:, ::1] factors = tree.leaf_factor
    cdef const double[::1] log_weight = tree.leaf_log_weight
    cdef const double[::1] threshold = tree.threshold
    cdef const double[::1] lower
    cdef const uint8_t[::1] missing_left = tree.missing_go_left
    cdef const int64_t[::1] term_ptr = tree.term_ptr
    cdef const int32_t[::1] feature = tree.term_feature
    cdef const int32_t[::1] partner
    cdef const double[::1] weight = tree.term_weight
    if means.shape[1] != d or d > MAX_FEATURES or n_lacks != np.count_nonzero(lacks):
        raise ValueError("rows, draws and tree do not belong together")
    cdef const int64_t[::1] order = np.argsort(lacks, kind="stable").astype(np.int64)
    cdef uint8_t[::1] is_open = _find_open(lacks, tree)
    cdef const int64_t[::1] position = np.zeros(1, dtype=np.int64)
    if wanted is not None:
        position, n_wanted = wanted, len(wanted)
    cdef double[:, :, ::1] turned = np.empty((n_leaves, d, d))
    cdef double[::1] constant = np.empty(n_leaves)
    cdef double[:, ::1] values = np.empty((n, n_leaves))
    cdef double[:, ::1] inside = np.zeros((n_leaves, max(n_wanted, 1)))
    cdef X_t[:, ::1] draws = np.empty((d, n_draws), dtype=np.float32)
    cdef double[::1] line = np.empty(max(n_draws, d))
    cdef int32_t[::1] hit = np.empty(n_draws, dtype=np.int32)
    cdef double[::1] log_density = np.empty(n)
    cdef double[:, ::1] mean = np.zeros((n, max(n_wanted, 1)))
    cdef double y[MAX_FEATURES]
    cdef double centre[MAX_FEATURES]
    cdef const double* own
    cdef double best, total, part
    # Arrays of a single leaf, the root, may be empty.
    cdef Paths view
    view.start, view.is_open = &start[0], &is_open[0]
    view.node = &node[0] if node.shape[0] else NULL
    view.is_left = &is_left[0] if node.shape[0] else NULL
    view.threshold, view.missing_left = &threshold[0], &missing_left[0]
    view.term_ptr = &term_ptr[0]
    view.feature = &feature[0] if feature.shape[0] else NULL
    view.weight = &weight[0] if feature.shape[0] else NULL
    view.lower = NULL
    view.partner = NULL
    if tree.lower_threshold is not None:
        lower = tree.lower_threshold
        view.lower = &lower[0]
    if tree.term_partner is not None:
        partner = tree.term_partner
        view.partner = &partner[0]
    with nogil:
        for k in range(n_leaves):
            turn_factor(&factors[ends[k], 0], &order[0], d, &turned[k, 0, 0])
            constant[k] = log_weight[ends[k]] - 0.5 * n_given * log(2.0 * M_PI)
            for a in range(n_given):
                constant[k] -= log(turned[k, a, a])
        for r in range(n):
            best = -INFINITY
            for k in range(n_leaves):
                values[r, k] = constant[k] - 0.5 * whiten_given(
                    &X[r, 0], &means[ends[k], 0], &turned[k, 0, 0], &order[0], n_given, d, y)
                best = max(best, values[r, k])
            if truncate:
                for a in range(n_given):
                    for m in range(n_draws):
                        draws[order[a], m] = X[r, order[a]]
            for k in range(n_leaves):
                own = &turned[k, 0, 0]
                if truncate:
                    if not values[r, k] >= best - negligible or not may_reach(&view, k, &X[r, 0]):
                        values[r, k] = -INFINITY
                        continue
                if truncate or n_wanted > 0:
                    whiten_given(&X[r, 0], &means[ends[k], 0], own, &order[0], n_given, d, y)
                    find_centre(y, &means[ends[k], 0], own, &order[0], n_given, d, centre)
                if truncate:
                    draw_lacking(centre, own, &order[0], n_given, d, &z[0, 0], n_draws, &line[0],
                                 &draws[0, 0])
                    n_hits = find_hits(&view, k, &draws[0, 0], n_draws, &line[0], &hit[0])
                    if n_hits == 0:
                        values[r, k] = -INFINITY
                        continue
                    values[r, k] += log(<double>n_hits / n_draws)
                for b in range(n_lacks if truncate and n_wanted > 0 else 0):
                    line[b] = 0.0
                    for m in range(n_hits):
                        line[b] += z[b, hit[m]]
                    line[b] /= n_hits
                for a in range(n_wanted):
                    inside[k, a] = centre[position[a]]
                    for b in range(position[a] + 1 if truncate else 0):
                        inside[k, a] += own[(n_given + position[a]) * d + n_given + b] * line[b]
            best = -INFINITY
            for k in range(n_leaves):
                best = max(best, values[r, k])
            total = 0.0
            for k in range(n_leaves if best > -INFINITY else 0):
                part = exp(values[r, k] - best)
                total += part
                for a in range(n_wanted if part > 0.0 else 0):
                    mean[r, a] += part * inside[k, a]
            log_density[r] = best
            if best > -INFINITY:
                log_density[r] += log(total)
                for a in range(n_wanted):
                    mean[r, a] /= total
    return np.asarray(log_density), None if wanted is None else np.asarray(mean)


def _find_open(lacks, tree):
    """Whether each node asks for a column that rows lack, uint8 (n_nodes,)."""
    is_open = lacks[tree.term_feature]
    if tree.term_partner is not None:
        is_open = is_open | (lacks[tree.term_partner] & (tree.term_partner >= 0))
    found = np.zeros(tree.node_count, dtype=np.uint8)
    found[np.repeat(np.arange(tree.node_count), np.diff(tree.term_ptr))[is_open]] = 1
    return found
