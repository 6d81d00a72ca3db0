# Rows whose class the trees still to come cannot change leave the block.
#
# A tree moves two classes apart by `Task.spread` at most. When the leading class is further
# ahead than all remaining trees together can make good, it is the answer: the rows of an easy
# problem see little more than half of the trees.

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport OBTREE_KEY_GROUPS
from obtree.core.types cimport idx_t
from obtree.tree.pack cimport PackedView
from obtree.tree.reduce cimport Task, find_largest
from obtree.tree.rows cimport LANES

cdef enum:
    N_CHECKS = 16             # of the rows of a block, half of them after half the trees
    # Values of a row that are moved in the time of one tree, more or less.
    MOVED_PER_TREE = 48


cdef inline bint checks_now(const PackedView* view, idx_t n_done) noexcept nogil:
    """Whether to look for decided rows after so many trees; not before any can be decided."""
    cdef idx_t step = (view.n_trees + N_CHECKS - 1) // N_CHECKS
    return 2 * n_done > view.n_trees and n_done < view.n_trees and n_done % step == 0


cdef inline bint is_decided(const double* sums, idx_t n, double margin) noexcept nogil:
    """Whether one sum is ahead of all others by more than the margin."""
    cdef double best = -INFINITY, second = -INFINITY
    cdef idx_t c
    for c in range(n):
        if sums[c] > best:
            second = best
            best = sums[c]
        elif sums[c] > second:
            second = sums[c]
    return best - second > margin


cdef inline void move_row(const PackedView* view, int32_t layout, uint32_t* x, idx_t source,
                          idx_t target) noexcept nogil:
    """Copy the values of one row of a block to the place of another."""
    cdef const uint32_t* a
    cdef uint32_t* b
    cdef idx_t j
    if layout != OBTREE_KEY_GROUPS:
        memcpy(x + target * view.n_features, x + source * view.n_features,
               view.n_features * sizeof(uint32_t))
        return
    a = x + source // LANES * LANES * view.n_features + source % LANES
    b = x + target // LANES * LANES * view.n_features + target % LANES
    for j in range(view.n_features):
        b[j * LANES] = a[j * LANES]


cdef inline idx_t drop_decided(const PackedView* view, const Task* task, idx_t n, idx_t n_done,
                               int32_t layout, uint32_t* x, uint32_t* number) noexcept nogil:
    """Move rows that are not decided together, unless they are too many to be worth it.

    Parameters
    ----------
    n : rows of the block
    n_done : trees that these have been through
    x, number : IN/OUT (n rows), (n,)
        Values of the rows, and their places before any was dropped.

    Returns
    -------
    How many rows are left; the classes of the others are written.
    """
    cdef idx_t n_values = view.n_values
    cdef idx_t n_left = view.n_trees - n_done
    cdef double margin = n_left * task.spread + task.slack
    cdef idx_t r, kept = 0, n_decided = 0
    cdef double* sums
    for r in range(n):
        n_decided += is_decided(task.out + r * n_values, n_values, margin)
    if n_decided * n_left * MOVED_PER_TREE <= (n - n_decided) * view.n_features:
        return n
    for r in range(n):
        sums = task.out + r * n_values
        if is_decided(sums, n_values, margin):
            task.classes[task.first_row + number[r]] = find_largest(sums, n_values)
            continue
        if kept < r:
            move_row(view, layout, x, r, kept)
            memcpy(task.out + kept * n_values, sums, n_values * sizeof(double))
            number[kept] = number[r]
        kept += 1
    return kept
