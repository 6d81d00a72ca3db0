# How rows walk through packed trees: blocks of them, and the walk of each layout.

from libc.stdint cimport int32_t, uint32_t

from obtree.core.dispatch cimport OBTREE_FLOAT_ROWS, OBTREE_KEY_GROUPS, kernels
from obtree.core.team cimport THREAD_WORK
from obtree.core.types cimport X_t, idx_t
from obtree.tree.pack cimport PackedView
from obtree.tree.rows cimport LANES

cdef enum:
    NARROW_ROW = 64               # features: a walk touches most of such a row
    LARGE_BLOCK_BYTES = 1 << 22
    BLOCK_BYTES = 1 << 19
    MAX_BLOCK_ROWS = 16384
    WALK_BYTES = 1 << 16          # rows that one walk takes through a tree together
    BLOCKS_PER_THREAD = 4         # blocks for each thread: one that is late leaves them to others


cdef inline idx_t choose_block_rows(const PackedView* view, idx_t n_rows, idx_t n_threads,
                                    double row_work) noexcept nogil:
    """Rows of a block, so that threads have equal work and memory is visited seldom.

    A block shares the second-level cache with one tree. Rows of few features are read from
    end to end, tree after tree, which the hardware foresees: there the cache is
    better left to the tree, and a larger block uses it for longer (Covertype, 16,000 rows
    against 4,000: 20 % faster).
    """
    cdef idx_t n_bytes = LARGE_BLOCK_BYTES if view.n_features <= NARROW_ROW else BLOCK_BYTES
    cdef idx_t row_bytes = 4 * view.n_features + 8 * view.n_values + 16
    cdef idx_t most = max(min(n_bytes // row_bytes, <idx_t>MAX_BLOCK_ROWS), 1)
    cdef idx_t n_blocks = (n_rows + most - 1) // most
    cdef idx_t least = LANES if view.narrow else 1
    if n_threads > 1:
        # Smaller ones, as long as each is worth the while.
        n_blocks = max(n_blocks, min(BLOCKS_PER_THREAD * n_threads,
                                     <idx_t>(8.0 * row_work * n_rows / THREAD_WORK)))
    n_blocks = (n_blocks + n_threads - 1) // n_threads * n_threads
    return ((n_rows + n_blocks - 1) // n_blocks + least - 1) // least * least


cdef inline int32_t get_layout(const PackedView* view) noexcept nogil:
    return OBTREE_KEY_GROUPS if view.narrow else OBTREE_FLOAT_ROWS


cdef inline void walk_narrow(const PackedView* view, idx_t t, const uint32_t* x, idx_t n,
                             bint missing, uint32_t* found, uint32_t* lists) noexcept nogil:
    """found[r] = slot of the leaf row r reaches in a tree of the narrow layout.

    Some rows at a time, as many as stay in the cache until all have arrived.
    """
    cdef idx_t most = max(WALK_BYTES // (4 * view.n_features), <idx_t>256) // LANES * LANES
    cdef idx_t start = 0
    while start < n:
        kernels().traverse_narrow(
            view.narrow_nodes + view.start[t], x + start * view.n_features,
            min(most, n - start), view.n_features, view.shift, view.mask, view.n_unchecked[t],
            missing, found + start, lists,
        )
        start += most


cdef inline void walk_planes(const PackedView* view, idx_t t, const X_t* x, idx_t n,
                             uint32_t* found) noexcept nogil:
    """found[r] = slot of the leaf row r reaches in a tree of a forest with oblique nodes."""
    cdef const double* lower = NULL
    if not view.general:
        kernels().traverse_planes(view.plane_nodes + view.start[t], view.terms + t,
                                  view.start[t + 1] - view.start[t], x, n, view.n_features, found)
        return
    if view.lower != NULL:
        lower = view.lower + view.start[t]
    kernels().traverse_forms(view.plane_nodes + view.start[t], view.terms + t, lower, x, n,
                             view.n_features, found)
