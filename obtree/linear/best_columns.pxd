# Choosing the few columns of wide data that a linear model is to use.

from libc.stdint cimport int32_t

from obtree.core.types cimport idx_t


cdef inline void insert_best(int32_t* feature, double* rating, idx_t* n, idx_t room, int32_t j,
                             double rate) noexcept nogil:
    """Keep the features of the best ratings, best first, the first of equals; none below zero."""
    cdef idx_t at = n[0]
    if rate < 0.0:
        return
    while at > 0 and rating[at - 1] < rate:
        if at < room:
            feature[at] = feature[at - 1]
            rating[at] = rating[at - 1]
        at -= 1
    if at == room:
        return
    feature[at] = j
    rating[at] = rate
    n[0] = min(n[0] + 1, room)


cdef inline void sort_features(int32_t* feature, idx_t n) noexcept nogil:
    """Insertion sort: there are few."""
    cdef idx_t k, at
    cdef int32_t moving
    for k in range(1, n):
        moving = feature[k]
        at = k
        while at > 0 and feature[at - 1] > moving:
            feature[at] = feature[at - 1]
            at -= 1
        feature[at] = moving
