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

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView


cdef struct VaryingFeatures:
    const DataView* view
    feature_t* feature        # (n_features)
    idx_t n_constant          # known and found
    const row_t* rows         # of the node
    idx_t n
    uint32_t node             # number of the node
    uint32_t* seen_in         # (n_features) last node in which a column was found to vary
    uint64_t* words           # (n_samples)


cdef int bind_features(VaryingFeatures* pool, const DataView* view, Workspace workspace) except -1

cdef void reset_features(VaryingFeatures* pool) noexcept nogil

# Begin a node whose parent knew `n_known` constants.
cdef void open_features(VaryingFeatures* pool, const row_t* rows, idx_t n,
                        idx_t n_known) noexcept nogil

# OUT drawn: up to `wanted` different features at random that vary in the node. Returns how
# many there are: fewer than wanted when the node has no more.
cdef idx_t draw_features(VaryingFeatures* pool, RandState* rng, idx_t wanted,
                         feature_t* drawn) noexcept nogil
