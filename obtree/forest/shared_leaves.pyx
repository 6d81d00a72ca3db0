"""What the leaves of a row say about it: moments of numbers kept there, and quantiles.

Quantiles are those of the training rows that share leaves with a row (Meinshausen, 2006).
In each tree the training rows in the leaf of a row share the weight of the tree. The weights of all
trees add up in an array as long as the training rows, one for each thread; what was touched is put
in the order of y, and the quantiles are read from the sums. The work is the number of training
rows in the leaves, and no more memory is taken than for one row at a time.

Sums run over trees in index order, whatever the number of threads.
"""

import numpy as np

from libc.math cimport NAN, floor
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport make_word, sort_words_below, word_position
from obtree.core.team cimport choose_threads, run_items, should_stop
from obtree.core.types cimport idx_t

cdef enum:
    BLOCK_ROWS = 16
    ENTRY_WORK = 30                   # nanoseconds for a training row in a leaf

# How to read a quantile between two values.
cdef enum:
    INVERTED_CDF, LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_CODES = {
    "inverted_cdf": INVERTED_CDF, "linear": LINEAR, "lower": LOWER, "higher": HIGHER,
    "midpoint": MIDPOINT, "nearest": NEAREST,
}

# Sums of weights that differ by rounding only are the same.
cdef double SLACK = 1e-12


cdef struct Range:
    int64_t start, end                # of a leaf's members
    double weight                     # of the first one
    int32_t member


cdef struct Reading:
    idx_t n_rows, n_members, n_entries, n_trees, n_outputs, n_levels
    const int32_t* leaves             # (n_rows, n_trees) -1 where the tree has no say
    const int64_t* offset             # (n_trees) of the tree's first leaf in `start`
    const int64_t* start              # members of leaf k: start[k]:start[k + 1]
    const int32_t* member             # training rows
    const double* weight              # of the members
    const double* y                   # (n_members, n_outputs)
    const uint32_t* rank              # (n_outputs, n_members) of y; equal values share one
    const double* level               # (n_levels) ascending
    double* out                       # (n_rows, n_outputs, n_levels)
    int interpolation
    bint counts                       # weights are numbers of draws, and rows count that often
    bint by_tree                      # mean of the quantiles of the trees
    double** total                    # SCRATCH of each thread: (n_members) zeros
    int32_t** touched                 # (n_members + 1)
    Range** ranges                    # (n_trees)
    uint64_t** words                  # (2 * n_members)
    double** sums                     # (2 * n_members) values, and weights up to them
    double** part                     # (n_levels)


cdef inline void find_ranges(const Reading* task, idx_t i, Range* ranges) noexcept nogil:
    """OUT where the members of each leaf of row i are, and the first of them.

    Nothing depends on what is read, so that the processor waits for all trees at once.
    """
    cdef const int32_t* leaves = task.leaves + i * task.n_trees
    cdef int64_t leaf
    cdef idx_t t
    for t in range(task.n_trees):
        leaf = task.offset[t] + max(leaves[t], 0)
        ranges[t].start = task.start[leaf]
        ranges[t].end = task.start[leaf + 1] if leaves[t] >= 0 else ranges[t].start
    for t in range(task.n_trees):
        leaf = min(ranges[t].start, task.n_entries - 1)
        ranges[t].member = task.member[leaf]
        ranges[t].weight = task.weight[leaf]


cdef inline idx_t gather_tree(const Reading* task, const Range* part, double* total,
                              int32_t* touched, idx_t n) noexcept nogil:
    """Add the weights of one tree; returns how many rows have been touched so far."""
    cdef int64_t k
    cdef int32_t j = part.member
    cdef double weight = part.weight
    for k in range(part.start, part.end):
        if k > part.start:
            j = task.member[k]
            weight = task.weight[k]
        touched[n] = j
        n += total[j] == 0.0
        total[j] += weight
    return n


cdef inline double blend(double low, double high, double fraction,
                         int interpolation) noexcept nogil:
    """What lies between two neighbours."""
    if interpolation == LOWER:
        return low
    if interpolation == HIGHER:
        return high
    if interpolation == MIDPOINT:
        return 0.5 * low + 0.5 * high
    if interpolation == NEAREST:
        return low if fraction <= 0.5 else high
    return low + fraction * (high - low)


cdef void read_weighted(const Reading* task, const double* value, const double* upto, idx_t n,
                        double* out) noexcept nogil:
    """OUT quantiles (n_levels) of n distinct values, ascending; `upto` has sums of weights."""
    cdef idx_t q, k = 0
    cdef double whole = upto[n - 1], wanted, low, high
    for q in range(task.n_levels):
        wanted = task.level[q] * whole
        if task.interpolation == INVERTED_CDF:
            while k < n - 1 and upto[k] < wanted - SLACK * whole:
                k += 1
            out[q] = value[k]
            continue
        # A value stands in the middle of its weight.
        while k < n and centre_weight(upto, k) < wanted - SLACK * whole:
            k += 1
        if k == 0 or k == n:
            out[q] = value[min(k, n - 1)]
            continue
        low, high = centre_weight(upto, k - 1), centre_weight(upto, k)
        if wanted >= high - SLACK * whole:
            out[q] = value[k]
        else:
            out[q] = blend(value[k - 1], value[k], (wanted - low) / (high - low),
                           task.interpolation)


cdef inline double centre_weight(const double* upto, idx_t k) noexcept nogil:
    """The weight below a value, and half of its own."""
    return 0.5 * (upto[k] + (upto[k - 1] if k > 0 else 0.0))


cdef void read_counted(const Reading* task, const double* value, const double* upto, idx_t n,
                       double* out) noexcept nogil:
    """OUT quantiles (n_levels) of values that stand there as often as they weigh."""
    cdef idx_t q, k = 0
    cdef double whole = upto[n - 1], place, below
    for q in range(task.n_levels):
        place = task.level[q] * (whole - 1.0)
        if task.interpolation == INVERTED_CDF:
            place = task.level[q] * whole - 1.0
            place = max(0.0, -floor(SLACK * whole - place))
        below = floor(place + SLACK * whole)
        while k < n - 1 and upto[k] <= below:
            k += 1
        out[q] = value[k]
        if place - below > SLACK * whole and upto[k] <= below + 1.0 and k < n - 1:
            out[q] = blend(value[k], value[k + 1], place - below, task.interpolation)


cdef void read_output(const Reading* task, idx_t output, const double* total,
                      const int32_t* touched, idx_t n, uint64_t* words, double* sums,
                      double* out) noexcept nogil:
    """OUT quantiles (n_levels) of one output, by the weights that have been added up."""
    cdef const uint32_t* rank = task.rank + output * task.n_members
    cdef double* value = sums
    cdef double* upto = sums + task.n_members
    cdef double whole = 0.0, y
    cdef idx_t k, m = 0
    cdef int32_t j
    if n == 0:
        for k in range(task.n_levels):
            out[k] = NAN
        return
    for k in range(n):
        words[k] = make_word(rank[touched[k]], touched[k])
    sort_words_below(words, n, <uint32_t>task.n_members, words + n)
    for k in range(n):
        j = <int32_t>word_position(words[k])
        y = task.y[j * task.n_outputs + output]
        whole += total[j]
        if m == 0 or value[m - 1] != y:
            value[m] = y
            m += 1
        upto[m - 1] = whole
    if task.counts:
        read_counted(task, value, upto, m, out)
    else:
        read_weighted(task, value, upto, m, out)


cdef void read_row(const Reading* task, idx_t i, idx_t member) noexcept nogil:
    """Quantiles of one row."""
    cdef double* total = task.total[member]
    cdef int32_t* touched = task.touched[member]
    cdef double* part = task.part[member]
    cdef double* out
    cdef idx_t first = 0, end = task.n_trees, t, k, q, output, n, n_parts = 0
    cdef idx_t size = task.n_outputs * task.n_levels
    for k in range(size):
        task.out[i * size + k] = 0.0
    find_ranges(task, i, task.ranges[member])
    while first < task.n_trees:
        end = first + 1 if task.by_tree else task.n_trees
        n = 0
        for t in range(first, end):
            n = gather_tree(task, task.ranges[member] + t, total, touched, n)
        first = end
        if n == 0 and task.by_tree:
            continue
        n_parts += 1
        for output in range(task.n_outputs):
            out = task.out + i * size + output * task.n_levels
            read_output(task, output, total, touched, n, task.words[member], task.sums[member],
                        part)
            for q in range(task.n_levels):
                out[q] += part[q]
        for k in range(n):
            total[touched[k]] = 0.0
    for k in range(size):
        task.out[i * size + k] = task.out[i * size + k] / n_parts if n_parts > 0 else NAN


cdef void read_block(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """Rows of one block."""
    cdef const Reading* task = <const Reading*>context
    cdef idx_t i
    for i in range(item * BLOCK_ROWS, min((item + 1) * BLOCK_ROWS, task.n_rows)):
        if should_stop(team, member):
            return
        read_row(task, i, member)


def read_quantiles(const int32_t[:, ::1] leaves, rows, const double[:, ::1] y,
                   const uint32_t[:, ::1] rank, levels, *, interpolation="linear",
                   bint counts=False, bint by_tree=False, idx_t n_threads=1):
    """Read quantiles of the training rows that share leaves with each row.

    Parameters
    ----------
    leaves : int32 ndarray of shape (n_rows, n_trees)
        Leaf of each row; -1 where the tree has no say.
    rows : LeafRows
        Training rows in each leaf, with weights.
    y : float64 ndarray of shape (n_training_rows, n_outputs)
    rank : uint32 ndarray of shape (n_outputs, n_training_rows)
        Numbers in the order of y; equal values share one.
    levels : float64 ndarray of shape (n_levels,)
        From 0 to 1, ascending.
    interpolation : {"linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"}
        What lies between two values.
    counts : bool, default=False
        Whether weights are whole numbers, and each value is to stand there so often. Otherwise
        a value stands in the middle of its weight.
    by_tree : bool, default=False
        Mean of the quantiles of the trees instead of quantiles of what trees have together.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    quantiles : float64 ndarray of shape (n_rows, n_outputs, n_levels)
        NaN where no tree has a say.
    """
    cdef Reading task
    cdef const int64_t[::1] offset = rows.offset
    cdef const int64_t[::1] start = rows.start
    cdef const int32_t[::1] member = rows.member
    cdef const double[::1] weight = rows.weight
    cdef const double[::1] level = levels
    cdef Workspace space = Workspace()
    cdef double mean_size = <double>member.shape[0] / max(1, start.shape[0])
    cdef idx_t k, j, n_blocks
    task.n_rows, task.n_trees = leaves.shape[0], leaves.shape[1]
    task.n_members, task.n_outputs = y.shape[0], y.shape[1]
    task.n_entries = member.shape[0]
    task.n_levels = level.shape[0]
    out = np.empty((task.n_rows, task.n_outputs, task.n_levels))
    cdef double[:, :, ::1] found = out
    if out.size == 0:
        return out
    task.leaves, task.offset, task.start = &leaves[0, 0], &offset[0], &start[0]
    task.member, task.weight = &member[0], &weight[0]
    task.y, task.rank, task.level = &y[0, 0], &rank[0, 0], &level[0]
    task.out = &found[0, 0, 0]
    task.interpolation = _CODES[interpolation]
    task.counts, task.by_tree = counts, by_tree
    n_threads = choose_threads(
        ENTRY_WORK * max(1.0, 2.0 * mean_size) * task.n_rows * task.n_trees, n_threads
    )
    task.total = <double**>space.take(n_threads, sizeof(double*))
    task.touched = <int32_t**>space.take(n_threads, sizeof(int32_t*))
    task.ranges = <Range**>space.take(n_threads, sizeof(Range*))
    task.words = <uint64_t**>space.take(n_threads, sizeof(uint64_t*))
    task.sums = <double**>space.take(n_threads, sizeof(double*))
    task.part = <double**>space.take(n_threads, sizeof(double*))
    for k in range(n_threads):
        task.total[k] = <double*>space.take(task.n_members, sizeof(double))
        for j in range(task.n_members):
            task.total[k][j] = 0.0
        task.touched[k] = <int32_t*>space.take(task.n_members + 1, sizeof(int32_t))
        task.ranges[k] = <Range*>space.take(task.n_trees, sizeof(Range))
        task.words[k] = <uint64_t*>space.take(2 * task.n_members, sizeof(uint64_t))
        task.sums[k] = <double*>space.take(2 * task.n_members, sizeof(double))
        task.part[k] = <double*>space.take(task.n_levels, sizeof(double))
    n_blocks = (task.n_rows + BLOCK_ROWS - 1) // BLOCK_ROWS
    with nogil:
        run_items(read_block, &task, n_blocks, n_threads, NULL)
    return out


include "leaf_moments.pxi"
