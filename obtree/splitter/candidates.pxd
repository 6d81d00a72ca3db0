# Drawing candidate features without replacement, known constants left out.
#
# `feature` is a permutation of all columns, kept for the whole tree:
#
#     [ known constants | constants found here | drawn here | not drawn yet ]
#       0                 n_known                n_constant   n_drawn      n_features
#
# A column that is constant in a node is constant in everything below it. Growth is
# depth-first, and a subtree only re-orders what stands behind its own known constants,
# so the prefix [0, n_constant) is still in place when the second child's turn comes.
#
# Among very many columns few vary in a small node, and drawing would go through all others. A
# node that has met many constants therefore makes a list of the columns that vary in it, from
# which it and all nodes below draw; the lists of a node and its ancestors lie one behind the
# other, each shorter than the one before. Sparse data are read row by row for it: the cost
# follows the non-zeros of the node. Dense columns are looked at one by one, each until two rows
# differ. Both give the same list.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport RowEntries, column_varies, view_entries
from obtree.splitter.relevance cimport draw_relevant


cdef enum:
    WIDE_POOL = 4096          # columns up to which lists are not worth their trouble
    MANY_CONSTANTS = 256      # that a node meets before it makes a list
    MAX_LISTS = 64            # three quarters of three quarters ... of any number of columns
    KNOWN_BITS = 40           # of SplitResult.inherited; the list's number stands above them


cdef struct Candidates:
    feature_t* feature        # (n_features) the list in use
    idx_t n_features
    idx_t n_constant          # known and found
    idx_t n_drawn             # end of what was drawn
    idx_t n_known             # constants when the node began
    idx_t n_lists
    feature_t* list_[MAX_LISTS]
    idx_t size[MAX_LISTS]
    bint looked               # whether the node has looked for columns that vary
    const float* relevance    # of all columns, or NULL
    # Wide data only.
    const DataView* view
    uint64_t* varies          # (n_features / 64) bits; zeros between uses
    uint32_t* count           # (n_features) rows of the node with an entry; zeros between uses
    uint32_t* first           # (n_features) rank of the first of them


cdef inline void reset_candidates(Candidates* pool) noexcept nogil:
    """The order a tree starts from."""
    cdef idx_t j
    for j in range(pool.size[0]):
        pool.list_[0][j] = <feature_t>j
    pool.n_lists = 1
    pool.feature = pool.list_[0]
    pool.n_features = pool.size[0]


cdef inline void begin_draws(Candidates* pool, int64_t inherited) noexcept nogil:
    """Begin a node; `inherited` is what `pack_known` gave in its parent, or zero."""
    cdef idx_t last = <idx_t>(inherited >> KNOWN_BITS)
    pool.n_lists = last + 1
    pool.feature = pool.list_[last]
    pool.n_features = pool.size[last]
    pool.n_constant = <idx_t>(inherited & ((<int64_t>1 << KNOWN_BITS) - 1))
    pool.n_known = pool.n_constant
    pool.n_drawn = pool.n_constant
    pool.looked = pool.size[0] <= WIDE_POOL


cdef inline int64_t pack_known(const Candidates* pool) noexcept nogil:
    """The constants known now, for nodes below."""
    return (<int64_t>(pool.n_lists - 1) << KNOWN_BITS) | <int64_t>pool.n_constant


cdef inline bint meets_constants(const Candidates* pool) noexcept nogil:
    """Whether a node meets so many constants that it should look for what varies."""
    return not pool.looked and pool.n_constant - pool.n_known >= MANY_CONSTANTS


cdef inline idx_t draw_candidate(Candidates* pool, RandState* rng) noexcept nogil:
    """The next feature at random, or -1 when all have been drawn."""
    if pool.n_drawn == pool.n_features:
        return -1
    pool.n_drawn += 1
    return draw_relevant(pool.feature, pool.n_drawn - 1, pool.n_features, pool.relevance, rng)


cdef inline void mark_constant(Candidates* pool, idx_t n_later) noexcept nogil:
    """The feature drawn before the last n_later turned out to be constant in this node."""
    cdef idx_t last = pool.n_drawn - 1 - n_later
    cdef feature_t j = pool.feature[last]
    pool.feature[last] = pool.feature[pool.n_constant]
    pool.feature[pool.n_constant] = j
    pool.n_constant += 1


cdef enum:
    MIXED = 1 << 30           # in `count`: two entries of the column differ


# Take scratch; once per worker.
cdef inline int bind_candidates(Candidates* pool, const DataView* view, const float* relevance,
                                Workspace workspace) except -1:
    cdef idx_t n_features = view.n_features, room = n_features
    pool.view = view
    pool.relevance = relevance
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


cdef inline void mark_entries(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil:
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


cdef inline void mark_columns(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil:
    """Mark the dense columns of the list that vary in the node."""
    cdef idx_t k, j
    for k in range(pool.n_constant, pool.n_features):
        j = pool.feature[k]
        if column_varies(pool.view, j, rows, n, NULL):
            mark_bit(pool.varies, j)


cdef inline idx_t collect(Candidates* pool, idx_t n, feature_t* out, idx_t room) noexcept nogil:
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


# Go on with the columns that vary in the node, those that were drawn here in front, as drawn.
# Nothing happens when they are most of the list.
cdef inline void narrow_candidates(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil:
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
