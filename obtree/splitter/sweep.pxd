# The best threshold on a vector of scores, one for each row of a node.

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.sort cimport word_key
from obtree.core.types cimport idx_t, row_t
from obtree.criterion.base cimport Criterion, Cut, ScanLimits
from obtree.data.project cimport KeyRange


cdef struct ScoreCut:
    double score              # the criterion's; larger is better, comparable within a node
    double threshold          # rows with lower < s <= threshold go left
    double lower
    bint missing_left         # where rows go whose score is NaN


cdef enum SweepStatus:
    WORSE = 0                 # no cut beats the best one so far
    BETTER = 1                # `best` was replaced
    CONSTANT = 2              # all scores are equal: no cut at all


cdef class ScoreSweep:
    cdef Criterion criterion
    cdef uint32_t* keys       # (max_rows)
    cdef uint64_t* words      # (max_rows) sorted (key, position)
    cdef uint64_t* buffer     # (max_rows)

    # Once per worker, GIL held, may raise.
    cdef int bind(self, Criterion criterion, Workspace workspace, idx_t max_rows) except -1

    # Improve `best` by the best cut of the scores of the n rows that the criterion is
    # loaded with. Returns a SweepStatus.
    cdef int sweep(self, const double* score, idx_t n, const ScanLimits* limits,
                   ScoreCut* best) except -1 nogil

    # The same for the integer keys that `found` describes; `keys` may be self.keys.
    cdef int sweep_keys(self, const uint32_t* keys, idx_t n, const KeyRange* found,
                        const ScanLimits* limits, ScoreCut* best) except -1 nogil

    # The same for scores of which only the n_met at positions at[i] are not zero; they are zero
    # afterwards. SCRATCH compact (n).
    cdef int sweep_entries(self, double* score, const row_t* at, idx_t n_met, idx_t n,
                           double* compact, const ScanLimits* limits,
                           ScoreCut* best) except -1 nogil

    # One threshold drawn between the smallest and the largest score; missing scores go to a
    # side drawn as well, or are cut off when all others are equal.
    cdef int try_random(self, const double* score, idx_t n, RandState* rng,
                        const ScanLimits* limits, ScoreCut* best) except -1 nogil
    cdef int _scan(self, const double* score, idx_t n, const ScanLimits* limits,
                   bint missing_left, ScoreCut* best) except -1 nogil


cdef inline void reset_cut(ScoreCut* best) noexcept nogil:
    """Worse than any cut."""
    best.score = -INFINITY
    best.threshold = INFINITY
    best.lower = -INFINITY
    best.missing_left = False


cdef inline idx_t find_cut(const uint64_t* words, idx_t n, uint32_t low_key) noexcept nogil:
    """Where the sorted words right of a cut begin: the first with a key above low_key."""
    cdef idx_t start = 0, end = n, middle
    while start < end:
        middle = (start + end) // 2
        if word_key(words[middle]) <= low_key:
            start = middle + 1
        else:
            end = middle
    return start


cdef inline double place_threshold(double low, double high) noexcept nogil:
    """The middle of two different scores; never `high`, also when they are neighbours."""
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


# ---- interval.pxi ------------------------------------------------------------------------------
# The best interval on a vector of scores.


cdef struct Interval:
    # Sorted scores [start, end) go left, and so do missing ones if missing_left.
    double score
    idx_t start
    idx_t end
    bint missing_left


cdef class IntervalSweep(ScoreSweep):
    cdef uint64_t* ring       # (max_rows) the sorted words from another start
    cdef bint _confirm(self, idx_t n, idx_t n_missing, const ScanLimits* limits,
                       const Interval* found, ScoreCut* best) except -1 nogil
    cdef double _place(self, const double* score, idx_t at) noexcept nogil
    cdef bint _turn(self, idx_t first, idx_t n, idx_t n_missing, const ScanLimits* limits,
                    Interval* found) except -1 nogil
    cdef bint _scan_ring(self, idx_t first, idx_t n, idx_t n_missing, int place,
                         const ScanLimits* limits, Interval* found) except -1 nogil
