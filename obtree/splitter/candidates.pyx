"""Lists of the columns that vary in a node, for drawing from very many.

Sparse data are read row by row: the cost follows the non-zeros of the node. Dense columns are
looked at one by one, each until two rows differ. Both give the same list.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport RowEntries, column_varies, view_entries

cdef enum:
    MIXED = 1 << 30           # in `count`: two entries of the column differ


cdef int bind_candidates(Candidates* pool, const DataView* view, Workspace workspace) except -1:
    cdef idx_t n_features = view.n_features, room = n_features
    pool.view = view
    pool.n_lists = 1
    if n_features > WIDE_POOL:
        # Every list is at most three quarters of the one before.
        room = 4 * n_features
        pool.varies = <uint64_t*>workspace.take(n_features // 64 + 1, sizeof(uint64_t))
        pool.count = <uint32_t*>workspace.take(n_features, sizeof(uint32_t))
        pool.first = <uint32_t*>workspace.take(n_features, sizeof(uint32_t))
        memset(pool.varies, 0, (n_features // 64 + 1) * sizeof(uint64_t))
        memset(pool.count, 0, n_features * sizeof(uint32_t))
    pool.list_[0] = <feature_t*>workspace.take(room, sizeof(feature_t))
    pool.size[0] = n_features
    pool.feature = pool.list_[0]
    pool.n_features = n_features
    return 0


cdef inline void mark_bit(uint64_t* bits, idx_t j) noexcept nogil:
    bits[j >> 6] |= <uint64_t>1 << (j & 63)


cdef void mark_entries(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil:
    """Mark the sparse columns in which some row of the node has an entry, and count these."""
    cdef RowEntries entries
    cdef idx_t p, e, j
    for p in range(n):
        entries = view_entries(pool.view, rows[p])
        for e in range(entries.n):
            j = entries.feature[e]
            if pool.count[j] == 0:
                pool.first[j] = entries.code[e]
                mark_bit(pool.varies, j)
            elif entries.code[e] != pool.first[j]:
                pool.count[j] |= MIXED
            pool.count[j] += 1


cdef void mark_columns(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil:
    """Mark the dense columns of the list that vary in the node."""
    cdef idx_t k, j
    for k in range(pool.n_constant, pool.n_features):
        j = pool.feature[k]
        if column_varies(pool.view, j, rows, n, NULL):
            mark_bit(pool.varies, j)


cdef idx_t collect(Candidates* pool, idx_t n, feature_t* out, idx_t room) noexcept nogil:
    """OUT out: the marked columns that vary, ascending, up to `room`; how many there are."""
    cdef idx_t n_words = pool.size[0] // 64 + 1, w, j, n_found = 0
    cdef uint64_t word
    for w in range(n_words):
        word = pool.varies[w]
        pool.varies[w] = 0
        j = w << 6
        while word:
            if word & 1:
                # All rows have the same entry: a constant, if not zero.
                if pool.count[j] != <uint32_t>n or n == 0:
                    if n_found < room:
                        out[n_found] = <feature_t>j
                    n_found += 1
                pool.count[j] = 0
            word >>= 1
            j += 1
    return n_found


cdef void narrow_candidates(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil:
    cdef idx_t n_drawn = pool.n_drawn - pool.n_constant
    cdef idx_t room = pool.n_features - pool.n_features // 4, k, n_found
    cdef feature_t* out = pool.list_[pool.n_lists - 1] + pool.n_features
    cdef feature_t j
    pool.looked = True
    if pool.n_lists == MAX_LISTS:
        return
    if pool.view.columns[0].rows != NULL:
        mark_entries(pool, rows, n)
    else:
        mark_columns(pool, rows, n)
    # Those drawn here come first; that they vary is known.
    for k in range(n_drawn):
        j = pool.feature[pool.n_constant + k]
        out[k] = j
        pool.varies[j >> 6] &= ~(<uint64_t>1 << (j & 63))
        pool.count[j] = 0
    n_found = n_drawn + collect(pool, n, out + n_drawn, room - n_drawn)
    if n_found > room:
        return
    pool.list_[pool.n_lists] = out
    pool.size[pool.n_lists] = n_found
    pool.n_lists += 1
    pool.feature = out
    pool.n_features = n_found
    pool.n_constant = 0
    pool.n_known = 0
    pool.n_drawn = n_drawn
