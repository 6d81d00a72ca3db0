# Drawing features by their relevance.
#
# Planes of many features suffer from those that have nothing to say: each brings noise of its
# own. Where a fit knows how relevant its features are, one of relevance r takes part in a
# fraction r of the draws that it would take part in otherwise. Relevances lie above 0 and reach
# 1, so that nothing is left out for ever. NULL stands for features that are all alike; draws
# then take the same random numbers as if there were no such thing.

from obtree.core.random cimport RandState, bounded, draw_next, swap_items, uniform
from obtree.core.types cimport feature_t, idx_t

cdef enum:
    MAX_REFUSALS = 32         # in a row; the next feature is taken as it comes


# Draw without replacement: features[n_drawn] becomes one of those from there on, n > n_drawn.
cdef inline feature_t draw_relevant(feature_t* features, idx_t n_drawn, idx_t n,
                                    const float* relevance, RandState* rng) noexcept nogil:
    cdef idx_t k, n_refused = 0
    if relevance == NULL:
        return draw_next(features, n_drawn, n, rng)
    k = n_drawn + bounded(rng, n - n_drawn)
    while uniform(rng) >= relevance[features[k]] and n_refused < MAX_REFUSALS:
        k = n_drawn + bounded(rng, n - n_drawn)
        n_refused += 1
    swap_items(features, n_drawn, k)
    return features[n_drawn]


# Leave out some of n features, in place and in their order, but never `kept`; how many stay.
cdef inline idx_t keep_relevant(feature_t* features, idx_t n, feature_t kept,
                                const float* relevance, RandState* rng) noexcept nogil:
    cdef idx_t k, n_kept = 0
    if relevance == NULL:
        return n
    for k in range(n):
        if uniform(rng) < relevance[features[k]] or features[k] == kept:
            features[n_kept] = features[k]
            n_kept += 1
    return n_kept
