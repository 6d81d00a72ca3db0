"""The best threshold on a vector of scores.

Rows whose score is missing (NaN) are tried on both sides, and against all others. The
threshold is the middle of the two scores it separates.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.order cimport sort_scores
from obtree.core.sort cimport rotate_last, word_position
from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Criterion, Cut, ScanLimits


cdef class ScoreSweep:

    cdef int bind(self, Criterion criterion, Workspace workspace, idx_t max_rows) except -1:
        self.criterion = criterion
        self.keys = <uint32_t*>workspace.take(max_rows, sizeof(uint32_t))
        self.words = <uint64_t*>workspace.take(max_rows, sizeof(uint64_t))
        self.spare = <uint64_t*>workspace.take(max_rows, sizeof(uint64_t))
        return 0

    cdef int sweep(self, const double* score, idx_t n, const ScanLimits* limits,
                   ScoreCut* best) except -1 nogil:
        cdef idx_t n_missing
        cdef int status
        if not sort_scores(score, n, self.keys, self.words, self.spare, &n_missing):
            return CONSTANT
        status = self._scan(score, n, limits, False, best)
        if n_missing > 0:
            # Missing ones stand last, so that the cut may be the one before them all.
            rotate_last(self.words, n, self.spare)
            if self._scan(score, n, limits, True, best) == BETTER:
                return BETTER
        return status

    cdef int _scan(self, const double* score, idx_t n, const ScanLimits* limits,
                   bint missing_left, ScoreCut* best) except -1 nogil:
        cdef Cut cut
        cdef idx_t start
        cdef double high
        cut.score = best.score
        self.criterion.scan(self.words, n, limits, &cut)
        if not cut.score > best.score:
            return WORSE
        start = find_cut(self.words, n, cut.low_key)
        best.score = cut.score
        best.missing_left = missing_left
        best.lower = -INFINITY
        high = score[word_position(self.words[start])]
        if high == high:
            best.threshold = place_threshold(score[word_position(self.words[start - 1])], high)
        else:
            best.threshold = DBL_MAX       # every number goes left
        return BETTER
