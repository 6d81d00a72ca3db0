"""Which rows share leaves, in how many trees: the rows of a sparse matrix, one by one.

A row of X is joined with the rows of Y through the leaves it ends in. What they have in common adds
up in an array as long as Y, one for each thread, and only what was touched is read: the work is
the number of pairs in leaves, and memory is that of the leaves and of the result. Rows are
counted first, so that the result is allocated once, and its size known before.

Sums run over trees in index order, whatever the number of threads.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport float_key, make_word, sort_words, word_key, word_position
from obtree.core.team cimport choose_threads, run_items, should_stop
from obtree.core.types cimport idx_t

cdef enum:
    BLOCK_ROWS = 64
    PAIR_WORK = 4                     # nanoseconds for two rows in a leaf


cdef struct Join:
    idx_t n_rows, n_members, n_trees, n_words, n_neighbors
    const int32_t* leaves             # (n_rows, n_trees) -1 where the tree has no say
    const int64_t* offset             # (n_trees) of the tree's first leaf in `start`
    const int64_t* start              # members of leaf k: start[k]:start[k + 1]
    const int32_t* member             # rows of Y, ascending within a leaf
    const double* weight              # of the members; NULL when all are 1
    const double* divisor             # (n_rows)
    const uint64_t* row_bits          # (n_rows, n_words) trees with a say in a row of X, or NULL
    const uint64_t* member_bits       # (n_members, n_words) and in one of Y
    int64_t* counts                   # (n_rows) OUT of the first pass
    const int64_t* row_ptr            # (n_rows + 1) of the second pass; NULL in the first
    int32_t* indices
    double* values                    # one of these is NULL
    float* singles
    double** total                    # SCRATCH of each thread: (n_members) zeros
    int32_t** touched                 # (n_members)
    uint64_t** words                  # (2 * n_members), where neighbours are chosen


cdef inline idx_t count_bits(uint64_t word) noexcept nogil:
    """Number of ones."""
    cdef idx_t n = 0
    while word:
        word &= word - 1
        n += 1
    return n


cdef inline idx_t gather_row(const Join* join, idx_t i, double* total,
                             int32_t* touched) noexcept nogil:
    """Add up what row i has in common with others; returns how many these are."""
    cdef idx_t t, n = 0
    cdef int64_t k, leaf
    cdef int32_t j
    for t in range(join.n_trees):
        if join.leaves[i * join.n_trees + t] < 0:
            continue
        leaf = join.offset[t] + join.leaves[i * join.n_trees + t]
        for k in range(join.start[leaf], join.start[leaf + 1]):
            j = join.member[k]
            if total[j] == 0.0:
                touched[n] = j
                n += 1
            total[j] += 1.0 if join.weight == NULL else join.weight[k]
    return n


cdef inline idx_t keep_nearest(const Join* join, const double* total, int32_t* touched, idx_t n,
                               uint64_t* words) noexcept nogil:
    """Move those with the largest totals to the front, earlier rows first among equals."""
    cdef idx_t k, n_kept = min(n, join.n_neighbors)
    cdef idx_t j
    for k in range(n):
        words[k] = make_word(<uint32_t>touched[k], k)
    sort_words(words, n, words + n)
    for k in range(n):
        # Rows ascend now, which the next sort leaves so among equals.
        j = word_key(words[k])
        # Negative: the words ascend.
        words[k] = make_word(float_key(<float>-total[j]), j)
    sort_words(words, n, words + n)
    for k in range(n_kept):
        touched[k] = <int32_t>word_position(words[k])
    return n_kept


cdef void join_row(const Join* join, idx_t i, idx_t member) noexcept nogil:
    """Count or write the entries of row i."""
    cdef double* total = join.total[member]
    cdef int32_t* touched = join.touched[member]
    cdef idx_t k, word, n_both, n_all = gather_row(join, i, total, touched), n = n_all
    cdef int64_t first
    cdef int32_t j
    cdef double divisor
    if join.row_ptr == NULL:
        join.counts[i] = min(n, join.n_neighbors)
        for k in range(n):
            total[touched[k]] = 0.0
        return
    if join.row_bits != NULL:
        for k in range(n):
            j = touched[k]
            n_both = 0
            for word in range(join.n_words):
                n_both += count_bits(join.row_bits[i * join.n_words + word]
                                     & join.member_bits[j * join.n_words + word])
            total[j] /= <double>n_both
    divisor = join.divisor[i]
    if n > join.n_neighbors:
        # Those beyond must be cleared as well, and are not among `touched` afterwards.
        n = clear_far(join, total, touched, n_all, join.words[member])
    first = join.row_ptr[i]
    for k in range(n):
        j = touched[k]
        join.indices[first + k] = j
        if join.values != NULL:
            join.values[first + k] = total[j] / divisor
        else:
            join.singles[first + k] = <float>(total[j] / divisor)
        total[j] = 0.0


cdef inline idx_t clear_far(const Join* join, double* total, int32_t* touched, idx_t n,
                            uint64_t* words) noexcept nogil:
    """Keep the nearest in `touched`, and clear the totals of all others."""
    cdef idx_t k, n_kept = keep_nearest(join, total, touched, n, words)
    for k in range(n_kept, n):
        total[word_position(words[k])] = 0.0
    return n_kept


cdef void join_block(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """Rows of one block."""
    cdef const Join* join = <const Join*>context
    cdef idx_t i
    for i in range(item * BLOCK_ROWS, min((item + 1) * BLOCK_ROWS, join.n_rows)):
        if should_stop(team, member):
            return
        join_row(join, i, member)


def check_join(leaves, offset, start, member, weight, divisor, n_members, bits):
    """Raise ValueError unless what `LeafJoin` is given belongs together: pickles may be damaged."""
    leaves, offset, start, member = map(np.asarray, (leaves, offset, start, member))
    n_rows, n_trees = leaves.shape
    fits = n_rows > 0 and n_trees > 0 and len(offset) == n_trees and len(divisor) == n_rows
    fits = fits and len(start) > 1 and start[0] == 0 and start[len(start) - 1] == len(member)
    fits = fits and (np.diff(start) >= 0).all() and offset.min() >= 0
    fits = fits and leaves.min() >= -1
    fits = fits and (leaves.max(axis=0) < len(start) - 1 - offset).all()
    if fits and len(member):
        fits = 0 <= member.min() and member.max() < n_members
    if fits and weight is not None:
        fits = len(weight) == len(member)
    if fits and bits is not None:
        shapes = [part.shape for part in bits]
        n_words = (n_trees + 63) // 64
        fits = shapes == [(n_rows, n_words), (n_members, n_words)]
    if not fits:
        raise ValueError("the leaves of rows and the rows of leaves do not belong together")


cdef class LeafJoin:
    """Rows of X and rows of Y that share leaves.

    Parameters
    ----------
    leaves : int32 ndarray of shape (n_rows, n_trees)
        Leaf of each row of X; -1 where the tree has no say.
    offset, start, member, weight : ndarrays
        Rows of Y in each leaf, as `obtree.estimators.leaf_rows.LeafRows` has them; `weight` may
        be None.
    divisor : float64 ndarray of shape (n_rows,)
        What the sums of a row are divided by.
    n_members : int
        Rows of Y.
    bits : tuple of two uint64 ndarrays, or None
        Trees that have a say in each row of X and of Y: a sum is divided by how many the two
        have in common, too.
    n_neighbors : int or None
        Entries to keep in a row, the largest; None keeps all.
    n_threads : int
        Number of threads.
    """

    cdef Join _join
    cdef Workspace _workspace
    cdef object _kept
    cdef idx_t _n_threads
    cdef idx_t _n_allocated

    def __init__(self, const int32_t[:, ::1] leaves, const int64_t[::1] offset,
                 const int64_t[::1] start, const int32_t[::1] member, weight,
                 const double[::1] divisor, idx_t n_members, bits, n_neighbors, idx_t n_threads):
        cdef const double[::1] weights
        cdef const uint64_t[:, ::1] row_bits, member_bits
        cdef Join* join = &self._join
        cdef double mean_size
        check_join(leaves, offset, start, member, weight, divisor, n_members, bits)
        join.n_rows = leaves.shape[0]
        join.n_trees = leaves.shape[1]
        join.n_members = n_members
        join.n_neighbors = n_members if n_neighbors is None else min(n_neighbors, n_members)
        join.leaves = &leaves[0, 0]
        join.offset = &offset[0]
        join.start = &start[0]
        join.member = &member[0] if member.shape[0] else NULL
        join.divisor = &divisor[0]
        join.weight = join.row_bits = join.member_bits = NULL
        if weight is not None and len(weight):
            weights = weight
            join.weight = &weights[0]
        if bits is not None:
            row_bits, member_bits = bits
            join.n_words = row_bits.shape[1]
            join.row_bits = &row_bits[0, 0]
            join.member_bits = &member_bits[0, 0]
        self._kept = (leaves, offset, start, member, weight, divisor, bits)
        mean_size = <double>member.shape[0] / max(1, start.shape[0] - 1)
        self._n_threads = choose_threads(
            PAIR_WORK * max(1.0, mean_size) * join.n_rows * join.n_trees, n_threads
        )
        self._workspace = Workspace()
        self._take_scratch()

    cdef int _take_scratch(self) except -1:
        """Scratch for each thread."""
        cdef Join* join = &self._join
        cdef Workspace space = self._workspace
        cdef idx_t k, j
        join.total = <double**>space.take(self._n_threads, sizeof(double*))
        join.touched = <int32_t**>space.take(self._n_threads, sizeof(int32_t*))
        join.words = <uint64_t**>space.take(self._n_threads, sizeof(uint64_t*))
        for k in range(self._n_threads):
            join.total[k] = <double*>space.take(join.n_members, sizeof(double))
            for j in range(join.n_members):
                join.total[k][j] = 0.0
            join.touched[k] = <int32_t*>space.take(join.n_members, sizeof(int32_t))
            if join.n_neighbors < join.n_members:
                join.words[k] = <uint64_t*>space.take(2 * join.n_members, sizeof(uint64_t))
        return 0

    cdef int _run(self) except -1:
        """One pass over the rows."""
        cdef idx_t n_blocks = (self._join.n_rows + BLOCK_ROWS - 1) // BLOCK_ROWS
        cdef Join* join = &self._join
        cdef idx_t n_threads = self._n_threads
        with nogil:
            run_items(join_block, join, n_blocks, n_threads, NULL)
        return 0

    def count(self):
        """Return how many entries each row of the result has.

        Returns
        -------
        counts : int64 ndarray of shape (n_rows,)
        """
        counts = np.zeros(self._join.n_rows, dtype=np.int64)
        cdef int64_t[::1] view = counts
        self._join.counts = &view[0]
        self._join.row_ptr = NULL
        self._run()
        return counts

    def fill(self, const int64_t[::1] row_ptr, bint single=False):
        """Return the entries.

        Parameters
        ----------
        row_ptr : int64 ndarray of shape (n_rows + 1,)
            Where each row begins, by what `count` returned.
        single : bool, default=False
            Whether values are float32, and not float64.

        Returns
        -------
        indices : int32 ndarray
            Not in order within a row.
        values : float32 or float64 ndarray
        """
        cdef int64_t n = row_ptr[self._join.n_rows]
        indices = np.empty(n, dtype=np.int32)
        values = np.empty(n, dtype=np.float32 if single else np.float64)
        cdef int32_t[::1] index_view = indices
        cdef double[::1] value_view
        cdef float[::1] single_view
        if n == 0:
            return indices, values
        self._join.row_ptr = &row_ptr[0]
        self._join.indices = &index_view[0]
        self._join.values = NULL
        if single:
            single_view = values
            self._join.singles = &single_view[0]
        else:
            value_view = values
            self._join.values = &value_view[0]
        self._run()
        return indices, values
