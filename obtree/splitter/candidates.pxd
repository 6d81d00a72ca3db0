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
# other, each shorter than the one before.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, draw_next
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView

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
    # Wide data only.
    const DataView* view
    uint64_t* varies          # (n_features / 64) bits; zeros between uses
    uint32_t* count           # (n_features) rows of the node with an entry; zeros between uses
    uint32_t* first           # (n_features) rank of the first of them


# Take scratch; once per worker.
cdef int bind_candidates(Candidates* pool, const DataView* view, Workspace workspace) except -1

# Go on with the columns that vary in the node, those that were drawn here in front, as drawn.
# Nothing happens when they are most of the list.
cdef void narrow_candidates(Candidates* pool, const row_t* rows, idx_t n) noexcept nogil


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
    return draw_next(pool.feature, pool.n_drawn - 1, pool.n_features, rng)


cdef inline void mark_constant(Candidates* pool, idx_t n_later) noexcept nogil:
    """The feature drawn before the last n_later turned out to be constant in this node."""
    cdef idx_t last = pool.n_drawn - 1 - n_later
    cdef feature_t j = pool.feature[last]
    pool.feature[last] = pool.feature[pool.n_constant]
    pool.feature[pool.n_constant] = j
    pool.n_constant += 1
