# The best interval on a vector of scores.

from libc.stdint cimport uint64_t

from obtree.core.types cimport idx_t
from obtree.criterion.base cimport ScanLimits
from obtree.splitter.sweep cimport ScoreCut, ScoreSweep


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
