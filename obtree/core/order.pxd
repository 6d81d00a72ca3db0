# Sorting float64 scores as (key, position) words.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t


# OUT words (n), sorted by score: equal scores have equal keys and stand in the order of
# their positions, different ones have different keys; NaN has the largest key and stands
# last. OUT n_missing, the number of NaN. SCRATCH keys, spare (n). Returns False, with
# nothing in `words`, when all scores are equal or all are NaN, or when the scores span more
# than float64 can hold.
cdef bint sort_scores(const double* score, idx_t n, uint32_t* keys, uint64_t* words,
                      uint64_t* spare, idx_t* n_missing) noexcept nogil

# The smallest and the largest score that is not NaN; returns how many are NaN.
cdef idx_t find_range(const double* score, idx_t n, double* low, double* high) noexcept nogil
