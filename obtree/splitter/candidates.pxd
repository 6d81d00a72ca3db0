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

from obtree.core.random cimport RandState, bounded
from obtree.core.types cimport feature_t, idx_t


cdef struct Candidates:
    feature_t* feature        # (n_features)
    idx_t n_features
    idx_t n_constant          # known and found
    idx_t n_drawn             # end of what was drawn


cdef inline void reset_candidates(Candidates* pool) noexcept nogil:
    """The order a tree starts from."""
    cdef idx_t j
    for j in range(pool.n_features):
        pool.feature[j] = <feature_t>j


cdef inline void begin_draws(Candidates* pool, idx_t n_known) noexcept nogil:
    pool.n_constant = n_known
    pool.n_drawn = n_known


cdef inline idx_t draw_candidate(Candidates* pool, RandState* rng) noexcept nogil:
    """The next feature at random, or -1 when all have been drawn."""
    cdef idx_t k
    cdef feature_t j
    if pool.n_drawn == pool.n_features:
        return -1
    k = pool.n_drawn + bounded(rng, pool.n_features - pool.n_drawn)
    j = pool.feature[k]
    pool.feature[k] = pool.feature[pool.n_drawn]
    pool.feature[pool.n_drawn] = j
    pool.n_drawn += 1
    return j


cdef inline void mark_constant(Candidates* pool, idx_t n_later) noexcept nogil:
    """The feature drawn before the last n_later turned out to be constant in this node."""
    cdef idx_t last = pool.n_drawn - 1 - n_later
    cdef feature_t j = pool.feature[last]
    pool.feature[last] = pool.feature[pool.n_constant]
    pool.feature[pool.n_constant] = j
    pool.n_constant += 1
