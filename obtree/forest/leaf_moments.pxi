# Moments of numbers that leaves keep; a part of forest/shared_leaves.pyx.
#
# Sums run over trees, and over the rows of a leaf, in index order, whatever the number of threads.

import numpy as np

from libc.stdint cimport int32_t, int64_t

from obtree.core.team cimport choose_threads, run_items
from obtree.core.types cimport idx_t

cdef enum:
    MOMENT_ROWS = 256
    MOMENT_WORK = 5                   # nanoseconds for a row and a leaf


cdef struct Moments:
    idx_t n_rows, n_trees, n_outputs
    const int32_t* leaves             # (n_rows, n_trees) -1 where the tree has no say
    const int64_t* offset             # (n_trees)
    const double* kept                # (n_nodes, n_outputs, 2)
    double* out                       # (n_rows, n_outputs, 3)


cdef void measure_block(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """Moments of the rows of one block."""
    cdef const Moments* task = <const Moments*>context
    cdef const double* kept
    cdef const int32_t* leaf
    cdef double* out
    cdef double first, second, squares
    cdef idx_t i, t, k, n
    cdef idx_t width = 2 * task.n_outputs
    for i in range(item * MOMENT_ROWS, min((item + 1) * MOMENT_ROWS, task.n_rows)):
        leaf = task.leaves + i * task.n_trees
        for k in range(task.n_outputs):
            kept = task.kept + 2 * k
            out = task.out + 3 * (i * task.n_outputs + k)
            first = second = squares = 0.0
            n = 0
            for t in range(task.n_trees):
                if leaf[t] >= 0:
                    first += kept[(task.offset[t] + leaf[t]) * width]
                    second += kept[(task.offset[t] + leaf[t]) * width + 1]
                    n += 1
            n = max(n, 1)
            first /= n
            for t in range(task.n_trees):
                if leaf[t] >= 0:
                    squares += (kept[(task.offset[t] + leaf[t]) * width] - first) ** 2
            out[0], out[1], out[2] = first, squares / max(n - 1, 1), second / n


def measure_leaves(const int32_t[:, ::1] leaves, const int64_t[::1] offset,
                   const double[:, :, ::1] kept, idx_t n_threads=1):
    """Measure what the leaves of each row have in common.

    Parameters
    ----------
    leaves : int32 ndarray of shape (n_rows, n_trees)
        Leaf of each row; -1 where the tree has no say.
    offset : int64 ndarray of shape (n_trees,)
        Number of the first node of each tree.
    kept : float64 ndarray of shape (n_nodes of all trees, n_outputs, 2)
        Two numbers of each node.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    moments : float64 ndarray of shape (n_rows, n_outputs, 3)
        Mean and variance of the first number over trees, and mean of the second.
    """
    cdef Moments task
    cdef double[:, :, ::1] found
    cdef idx_t n_blocks
    task.n_rows, task.n_trees, task.n_outputs = leaves.shape[0], leaves.shape[1], kept.shape[1]
    out = np.empty((task.n_rows, task.n_outputs, 3))
    if task.n_rows == 0:
        return out
    found = out
    task.leaves, task.offset, task.kept = &leaves[0, 0], &offset[0], &kept[0, 0, 0]
    task.out = &found[0, 0, 0]
    n_threads = choose_threads(
        MOMENT_WORK * task.n_rows * task.n_trees * task.n_outputs, n_threads
    )
    n_blocks = (task.n_rows + MOMENT_ROWS - 1) // MOMENT_ROWS
    with nogil:
        run_items(measure_block, &task, n_blocks, n_threads, NULL)
    return out


def keep_averages(const int32_t[::1] leaf, const int32_t[::1] counts, const double[::1] weight,
                  const double[:, ::1] values, const double[::1] otherwise,
                  const double[:, :] first, double[:, :, ::1] kept):
    """Keep two numbers of each node of a tree, and the average of the rows of its leaves.

    Parameters
    ----------
    leaf : int32 ndarray of shape (n_rows,)
        Leaf of each row.
    counts : int32 ndarray of shape (n_rows,)
        How often the tree drew each row.
    weight : float64 ndarray of shape (n_rows,)
        What a draw weighs.
    values : float64 ndarray of shape (n_rows, n_outputs)
        What is averaged.
    otherwise : float64 ndarray of shape (n_outputs,)
        The average of no rows.
    first : float64 ndarray of shape (n_nodes, n_outputs)
        The first of the two numbers; None leaves it as it is.
    kept : float64 ndarray of shape (n_nodes, n_outputs, 2)
        OUT the two; the second one is the average.
    """
    cdef idx_t n_nodes = kept.shape[0], n_outputs = kept.shape[1], i, k, node
    cdef bint has_first = first is not None
    cdef double own
    cdef double[::1] total = np.zeros(n_nodes)
    with nogil:
        for node in range(n_nodes):
            for k in range(n_outputs):
                kept[node, k, 1] = 0.0
                if has_first:
                    kept[node, k, 0] = first[node, k]
        for i in range(leaf.shape[0]):
            own = counts[i] * weight[i]
            if own == 0.0:
                continue
            node = leaf[i]
            total[node] += own
            for k in range(n_outputs):
                kept[node, k, 1] += own * values[i, k]
        for node in range(n_nodes):
            for k in range(n_outputs):
                if total[node] > 0.0:
                    kept[node, k, 1] /= total[node]
                else:
                    kept[node, k, 1] = otherwise[k]


def mask_drawn(const int32_t[::1] leaf, const int32_t[::1] counts, int32_t[:] out):
    """Copy the leaf of each row that a tree left out; -1 for those that it drew."""
    cdef idx_t i
    with nogil:
        for i in range(leaf.shape[0]):
            out[i] = leaf[i] if counts[i] == 0 else -1
