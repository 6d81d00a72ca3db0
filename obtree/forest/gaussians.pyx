"""Gaussians in the nodes of trees: fitting them, drawing from them, and their densities.

All of it works on the nodes of one tree, given by plain arrays. Covariances and their factors are
lower triangles, by rows. Parents have smaller numbers than their children.
"""

import numpy as np

from libc.math cimport INFINITY, M_PI, exp, log, sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from obtree.core.random cimport RandState, normal, seed_state
from obtree.core.types cimport idx_t
from obtree.linear.ridge cimport factor_cholesky
from obtree.tree.gaussian cimport MAX_FEATURES, measure_gaussian

#: Most features that Gaussians may have.
FEATURE_LIMIT = MAX_FEATURES

cdef enum:
    DRAW_STREAM = 16          # of a tree's seed: node k draws from stream DRAW_STREAM + k


# ---- moments and Gaussians of all nodes ---------------------------------------------------------


def sum_moments(const double[:, ::1] X, const int64_t[::1] leaf_of, const double[::1] weight,
                const int64_t[::1] parent, extra=None, const int64_t[::1] extra_of=None):
    """Weighted moments of the rows that pass each node.

    Parameters
    ----------
    X : ndarray of shape (n_rows, d)
    leaf_of : ndarray of shape (n_rows,)
        The leaf that each row reaches.
    weight : ndarray of shape (n_rows,)
    parent : ndarray of shape (n_nodes,)
    extra : ndarray of shape (n_extra, d * (d + 1) / 2), optional
        Covariances that rows have of their own, being uncertain.
    extra_of : ndarray of shape (n_rows,), optional
        Which of them each row has; -1 for none.

    Returns
    -------
    total : ndarray of shape (n_nodes,)
        Weight of the rows.
    first : ndarray of shape (n_nodes, d)
    second : ndarray of shape (n_nodes, d * (d + 1) / 2)
    """
    cdef idx_t n = X.shape[0], d = X.shape[1], n_nodes = parent.shape[0]
    cdef idx_t width = d * (d + 1) // 2
    cdef idx_t i, a, b, k, node
    cdef double w, wx
    cdef double[::1] total = np.zeros(n_nodes)
    cdef double[:, ::1] first = np.zeros((n_nodes, d))
    cdef double[:, ::1] second = np.zeros((n_nodes, width))
    cdef const double[:, ::1] own = np.zeros((1, width)) if extra is None else extra
    cdef bint has_extra = extra is not None
    cdef double* line
    with nogil:
        for i in range(n):
            w = weight[i]
            if w == 0.0:
                continue
            node = leaf_of[i]
            total[node] += w
            line = &second[node, 0]
            for a in range(d):
                wx = w * X[i, a]
                first[node, a] += wx
                for b in range(a + 1):
                    line[b] += wx * X[i, b]
                line += a + 1
            if has_extra and extra_of[i] >= 0:
                for k in range(width):
                    second[node, k] += w * own[extra_of[i], k]
        for node in range(n_nodes - 1, 0, -1):
            i = parent[node]
            total[i] += total[node]
            for a in range(d):
                first[i, a] += first[node, a]
            for k in range(width):
                second[i, k] += second[node, k]
    return np.asarray(total), np.asarray(first), np.asarray(second)


def fit_gaussians(const double[::1] total, const double[:, ::1] first,
                  const double[:, ::1] second, const int64_t[::1] parent, double prior,
                  double floor, double correlation=1.0):
    """A Gaussian for each node; that of the root is fitted to all rows.

    The covariance of a node is that of its rows and of `prior` rows more, plus `floor` times the
    identity. These vary as the rows of the node and of its sibling do, each around their own mean,
    and `prior` rows as those of the parent. A node without rows has the parent's mean. In all
    nodes but the root correlations are multiplied by `correlation`, from 0 to 1.

    Returns
    -------
    mean : ndarray of shape (n_nodes, d)
    factor : ndarray of shape (n_nodes, d * (d + 1) / 2)
    """
    cdef idx_t n_nodes = first.shape[0], d = first.shape[1], width = second.shape[1]
    cdef idx_t node, a, b, k, up
    cdef double scale, weight, borrowed
    cdef double[:, ::1] mean = np.zeros((n_nodes, d))
    cdef double[:, ::1] covariance = np.zeros((n_nodes, width))
    cdef double[:, ::1] scatter = np.zeros((n_nodes, width))
    cdef double[:, ::1] inside = np.zeros((n_nodes, width))
    cdef double[:, ::1] factor = np.zeros((n_nodes, width))
    cdef double[:, ::1] full = np.zeros((d, d))
    with nogil:
        for node in range(n_nodes):
            up = parent[node]
            weight = total[node]
            for a in range(d):
                mean[node, a] = first[node, a] / weight if weight > 0.0 else mean[up, a]
            if weight == 0.0:
                continue
            for a in range(d):
                for b in range(a + 1):
                    k = a * (a + 1) // 2 + b
                    scatter[node, k] = second[node, k] - weight * mean[node, a] * mean[node, b]
                    if a == b and scatter[node, k] < 0.0:
                        scatter[node, k] = 0.0
            if node > 0:
                for k in range(width):
                    inside[up, k] += scatter[node, k]
        for node in range(n_nodes):
            up = parent[node]
            borrowed = prior if node > 0 else 0.0
            scale = 1.0 / (total[node] + borrowed)
            for a in range(d):
                for b in range(a + 1):
                    k = a * (a + 1) // 2 + b
                    full[a, b] = scatter[node, k]
                    if node > 0:
                        full[a, b] += borrowed * (inside[up, k] + prior * covariance[up, k]) / (
                            total[up] + prior)
                    full[a, b] *= scale
                    if a != b and node > 0:
                        full[a, b] *= correlation
                    covariance[node, k] = full[a, b]
                full[a, a] += floor
            if not factor_cholesky(&full[0, 0], d):
                # Rounding has spoilt it: without correlations it is always a covariance.
                for a in range(d):
                    for b in range(a):
                        full[a, b] = 0.0
                        covariance[node, a * (a + 1) // 2 + b] = 0.0
                    full[a, a] = sqrt(covariance[node, a * (a + 1) // 2 + a] + floor)
            for a in range(d):
                memcpy(&factor[node, a * (a + 1) // 2], &full[a, 0], (a + 1) * sizeof(double))
    return np.asarray(mean), np.asarray(factor)


# ---- densities ----------------------------------------------------------------------------------


def trace_densities(const double[:, ::1] X, const int64_t[::1] rows, const int64_t[::1] leaf_of,
                    const int64_t[::1] parent, const double[:, ::1] mean,
                    const double[:, ::1] factor, const double[::1] log_weight):
    """The log density of some rows in each node that they pass, leaf first.

    Parameters
    ----------
    X, leaf_of : as in `sum_moments`
    rows : int64 ndarray of shape (m,)
    mean, factor : as of `fit_gaussians`
    log_weight : ndarray of shape (n_nodes,)
        Added to the densities of a node.

    Returns
    -------
    start : int64 ndarray of shape (m + 1,)
    node : int64 ndarray of shape (start[m],)
        The nodes that row k passes are node[start[k]:start[k + 1]].
    value : ndarray of shape (start[m],)
    """
    cdef idx_t m = rows.shape[0], d = X.shape[1]
    cdef idx_t k, at, i
    cdef int64_t node
    cdef double scratch[MAX_FEATURES]
    cdef int64_t[::1] start = np.zeros(m + 1, dtype=np.int64)
    cdef int64_t[::1] nodes
    cdef double[::1] value
    cdef double constant = 0.5 * d * log(2.0 * M_PI)
    for k in range(m):
        node = leaf_of[rows[k]]
        at = 1
        while node > 0:
            node = parent[node]
            at += 1
        start[k + 1] = start[k] + at
    nodes = np.empty(start[m], dtype=np.int64)
    value = np.empty(start[m])
    with nogil:
        for k in range(m):
            i = rows[k]
            node = leaf_of[i]
            for at in range(start[k], start[k + 1]):
                nodes[at] = node
                value[at] = log_weight[node] - constant + measure_gaussian(
                    &X[i, 0], &mean[node, 0], &factor[node, 0], d, scratch)
                node = parent[node]
    return np.asarray(start), np.asarray(nodes), np.asarray(value)


def choose_leaves(const int64_t[::1] parent, const int64_t[::1] left, const int64_t[::1] right,
                  const double[::1] total, double min_weight, own=None, const double[::1] mass=None,
                  double min_mass=0.0):
    """Where to stop: at nodes that are too small to be split or are better off as they are.

    Parameters
    ----------
    parent, left, right : ndarray of shape (n_nodes,)
    total : ndarray of shape (n_nodes,)
        Weight of the rows of each node.
    min_weight : float
        What each side of a split has to weigh.
    own : ndarray of shape (n_nodes,), optional
        Log likelihood of held-out rows, were the node a leaf. A split has to raise it.
    mass : ndarray of shape (n_nodes,), optional
        What the Gaussian of each node has inside its cell; both sides need `min_mass`.

    Returns
    -------
    leaf : int64 ndarray of shape (n_nodes,)
        The leaf that each node is, or lies below; a node that stays split is its own.
    is_leaf : bool ndarray of shape (n_nodes,)
        Whether a node has become, or stays, a leaf of the smaller tree.
    """
    cdef idx_t n_nodes = parent.shape[0], node
    cdef const double[::1] alone = np.zeros(n_nodes) if own is None else own
    cdef bint is_judged = own is not None
    cdef double[::1] best = np.array(alone)
    keeps = np.zeros(n_nodes, dtype=np.uint8)
    cdef unsigned char[::1] split = keeps
    cdef int64_t[::1] leaf = np.arange(n_nodes)
    is_leaf = np.zeros(n_nodes, dtype=np.uint8)
    cdef unsigned char[::1] ends = is_leaf
    cdef double branch
    with nogil:
        for node in range(n_nodes - 1, -1, -1):
            if left[node] < 0:
                continue
            if min(total[left[node]], total[right[node]]) < min_weight:
                continue
            if mass is not None and min(mass[left[node]], mass[right[node]]) < min_mass:
                continue
            branch = best[left[node]] + best[right[node]]
            if not is_judged or branch > alone[node]:
                split[node] = 1
                best[node] = branch
        for node in range(n_nodes):
            if node > 0 and (ends[leaf[parent[node]]]):
                leaf[node] = leaf[parent[node]]
            elif not split[node]:
                ends[node] = 1
    return np.asarray(leaf), is_leaf.astype(bool)


def add_densities(const float[:, ::1] X, const int64_t[::1] leaf, const double[:, ::1] mean,
                  const double[:, ::1] factor, const double[::1] log_weight, double[::1] top,
                  double[::1] total, bint in_own_leaf=True):
    """Add the density of rows in one tree to sums that are kept as total * exp(top).

    Parameters
    ----------
    X : float32 ndarray of shape (n_rows, d)
    leaf : int64 ndarray of shape (n_rows,)
        The leaf of each row; when not `in_own_leaf`, the nodes whose Gaussians add up.
    mean, factor, log_weight : of the nodes of a tree
    top, total : ndarray of shape (n_rows,)
        Changed in place; at first minus infinity and 0.
    """
    cdef idx_t n = X.shape[0], d = X.shape[1]
    cdef idx_t i, a, k, first, last
    cdef int64_t node
    cdef double row[MAX_FEATURES]
    cdef double scratch[MAX_FEATURES]
    cdef double value, constant = 0.5 * d * log(2.0 * M_PI)
    with nogil:
        for i in range(n):
            for a in range(d):
                row[a] = X[i, a]
            first = i if in_own_leaf else 0
            last = i + 1 if in_own_leaf else leaf.shape[0]
            for k in range(first, last):
                node = leaf[k]
                value = log_weight[node] - constant + measure_gaussian(
                    row, &mean[node, 0], &factor[node, 0], d, scratch)
                if value > top[i]:
                    total[i] = total[i] * exp(top[i] - value) + 1.0
                    top[i] = value
                elif value > -INFINITY:
                    total[i] += exp(value - top[i])


# ---- draws --------------------------------------------------------------------------------------


def draw_rows(uint32_t seed, const int64_t[::1] nodes, const int64_t[::1] counts,
              const double[:, ::1] mean, const double[:, ::1] factor, idx_t stream=0,
              bint shared=False):
    """Draws from the Gaussians of some nodes, in pairs on either side of the mean.

    Parameters
    ----------
    seed : int
        Of the tree; draws of a node depend on it and on `stream` alone.
    nodes, counts : int64 ndarray of shape (k,)
        How many rows each node gives.
    mean, factor : ndarray of shape (k, d) and (k, d * (d + 1) / 2)
        Of these nodes.
    stream : int, default=0
        Another one gives other draws.
    shared : bool, default=False
        Whether all nodes use the same standard normal numbers, which takes less time.

    Returns
    -------
    float32 ndarray of shape (counts.sum(), d)
    """
    cdef idx_t d = mean.shape[1]
    cdef idx_t k, p, a, b, at = 0
    cdef int64_t node
    cdef double value
    cdef RandState rng
    cdef float[:, ::1] out = np.empty((np.sum(counts), d), dtype=np.float32)
    cdef double[:, ::1] table = np.empty((np.max(counts) if shared else 1, d))
    cdef double* z
    cdef const double* line
    with nogil:
        if shared:
            seed_state(&rng, seed, DRAW_STREAM + (<idx_t>stream << 32))
            for p in range(table.shape[0]):
                for a in range(d):
                    table[p, a] = normal(&rng) if p % 2 == 0 else -table[p - 1, a]
        for k in range(nodes.shape[0]):
            node = nodes[k]
            if not shared:
                seed_state(&rng, seed, DRAW_STREAM + (<idx_t>stream << 32) + node)
            for p in range(counts[k]):
                z = &table[p if shared else 0, 0]
                line = &factor[k, 0]
                if not shared:
                    for a in range(d):
                        z[a] = normal(&rng) if p % 2 == 0 else -z[a]
                for a in range(d):
                    value = mean[k, a]
                    for b in range(a + 1):
                        value += line[b] * z[b]
                    out[at, a] = <float>max(-3e38, min(3e38, value))
                    line += a + 1
                at += 1
    return np.asarray(out)


def number_branches(const int64_t[::1] left, const int64_t[::1] right):
    """Numbers of nodes in which each branch is a range.

    Returns
    -------
    first, last : int64 ndarray of shape (n_nodes,)
        Node a lies in the branch of node b when first[b] <= first[a] < last[b].
    """
    cdef idx_t n_nodes = left.shape[0], node
    cdef int64_t[::1] size = np.ones(n_nodes, dtype=np.int64)
    cdef int64_t[::1] first = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes - 1, -1, -1):
        if left[node] >= 0:
            size[node] += size[left[node]] + size[right[node]]
    for node in range(n_nodes):
        if left[node] >= 0:
            first[left[node]] = first[node] + 1
            first[right[node]] = first[node] + 1 + size[left[node]]
    return np.asarray(first), np.asarray(first) + np.asarray(size)


include "marginals.pxi"
