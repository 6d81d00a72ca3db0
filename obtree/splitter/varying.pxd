# Drawing sets of different features that vary in a node.
#
# `feature` is a permutation of all columns, kept for the whole tree:
#
#     [ known constants | constants found here | drawn | all others ]
#       0                                      n_constant          n_features
#
# A column that is constant in a node is constant in everything below it, and the prefix
# survives depth-first growth (see candidates.pxd). Whether a column varies is looked up
# when it is drawn for the first time in a node; two different rows suffice.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport column_varies
from obtree.splitter.relevance cimport draw_relevant


cdef struct VaryingFeatures:
    const DataView* view
    feature_t* feature        # (n_features)
    idx_t n_constant          # known and found
    const row_t* rows         # of the node
    idx_t n
    uint32_t node             # number of the node
    uint32_t* seen_in         # (n_features) last node in which a column was found to vary
    uint64_t* words           # (n_samples)
    const float* relevance    # of all columns, or NULL


cdef inline int bind_features(VaryingFeatures* pool, const DataView* view,
                              const float* relevance, Workspace workspace) except -1:
    pool.view = view
    pool.relevance = relevance
    pool.feature = <feature_t*>workspace.take(view.n_features, sizeof(feature_t))
    pool.seen_in = <uint32_t*>workspace.take(view.n_features, sizeof(uint32_t))
    pool.words = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
    return 0


cdef inline void reset_features(VaryingFeatures* pool) noexcept nogil:
    """The order a tree starts from."""
    cdef idx_t j
    for j in range(pool.view.n_features):
        pool.feature[j] = <feature_t>j
    memset(pool.seen_in, 0, pool.view.n_features * sizeof(uint32_t))
    pool.node = 0


# Begin a node whose parent knew `n_known` constants.
cdef inline void begin_features(VaryingFeatures* pool, const row_t* rows, idx_t n,
                                idx_t n_known) noexcept nogil:
    pool.rows = rows
    pool.n = n
    pool.n_constant = n_known
    pool.node += 1


cdef inline bint varies(VaryingFeatures* pool, idx_t j) noexcept nogil:
    """Whether column j has two different values, or a missing one, in the node."""
    if pool.seen_in[j] != pool.node:
        if not column_varies(pool.view, j, pool.rows, pool.n, pool.words):
            return False
        pool.seen_in[j] = pool.node
    return True


# OUT drawn: up to `wanted` different features at random that vary in the node. Returns how
# many there are: fewer than wanted when the node has no more.
cdef inline idx_t draw_features(VaryingFeatures* pool, RandState* rng, idx_t wanted,
                                feature_t* drawn) noexcept nogil:
    cdef feature_t* feature = pool.feature
    cdef idx_t n_features = pool.view.n_features
    cdef idx_t n_drawn = 0, i, at
    cdef feature_t j
    while n_drawn < wanted and pool.n_constant + n_drawn < n_features:
        at = pool.n_constant + n_drawn
        j = draw_relevant(feature, at, n_features, pool.relevance, rng)
        if varies(pool, j):
            drawn[n_drawn] = j
            n_drawn += 1
        else:
            # It joins the constants; what was drawn before moves up by one.
            for i in range(n_drawn):
                feature[at - i] = feature[at - i - 1]
            feature[pool.n_constant] = j
            pool.n_constant += 1
    return n_drawn
