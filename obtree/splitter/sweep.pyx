"""The best threshold on a vector of scores.

Rows whose score is missing (NaN) are tried on both sides, and against all others. The
threshold is the middle of the two scores it separates.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.order cimport find_range, sort_scores
from obtree.core.random cimport RandState, bounded, uniform
from obtree.core.sort cimport make_word, rotate_last, sort_codes, word_key, word_position
from obtree.core.types cimport idx_t, row_t
from obtree.criterion.base cimport Criterion, Cut, RankColumn, ScanLimits
from obtree.data.missing cimport goes_to_left
from obtree.data.project cimport KeyRange, key_value


cdef class ScoreSweep:

    cdef int bind(self, Criterion criterion, Workspace workspace, idx_t max_rows) except -1:
        self.criterion = criterion
        self.keys = <uint32_t*>workspace.take(max_rows, sizeof(uint32_t))
        self.words = <uint64_t*>workspace.take(max_rows, sizeof(uint64_t))
        self.buffer = <uint64_t*>workspace.take_shared(max_rows, sizeof(uint64_t))
        return 0

    cdef int sweep(self, const double* score, idx_t n, const ScanLimits* limits,
                   ScoreCut* best) except -1 nogil:
        cdef idx_t n_missing
        cdef int status
        if not sort_scores(score, n, self.keys, self.words, self.buffer, &n_missing):
            return CONSTANT
        status = self._scan(score, n, limits, False, best)
        if n_missing > 0:
            # Missing ones stand last, so that the cut may be the one before them all.
            rotate_last(self.words, n, self.buffer)
            if self._scan(score, n, limits, True, best) == BETTER:
                return BETTER
        return status

    cdef int sweep_keys(self, const uint32_t* keys, idx_t n, const KeyRange* found,
                        const ScanLimits* limits, ScoreCut* best) except -1 nogil:
        cdef RankColumn column
        cdef Cut cut
        if found.low == found.high:
            return CONSTANT
        cut.score = best.score
        if self.criterion.prefers_bins(n, found.high - found.low + 1):
            column.codes = keys
            column.rows = NULL
            column.low = found.low
            column.first_bin = -1
            self.criterion.scan_bins(&column, n, found.high - found.low + 1, limits, &cut)
        else:
            sort_codes(keys, n, found.low, found.high, self.words, self.buffer)
            self.criterion.scan(self.words, n, limits, &cut)
        if not cut.score > best.score:
            return WORSE
        best.score = cut.score
        best.missing_left = False
        best.threshold = place_threshold(key_value(found, found.low + cut.low_key),
                                         key_value(found, found.low + cut.high_key))
        return BETTER

    cdef int sweep_entries(self, double* score, const row_t* at, idx_t n_met, idx_t n,
                           double* compact, const ScanLimits* limits,
                           ScoreCut* best) except -1 nogil:
        cdef idx_t n_scores = n_met + (n_met < n), n_missing, i, k, n_words = 0, n_below = 0
        cdef uint32_t zero_key = 0
        cdef double low, high
        cdef Cut cut
        for i in range(n_met):
            compact[i] = score[at[i]]
            score[at[i]] = 0.0
        if n_met < n:
            # One zero stands for all.
            compact[n_met] = 0.0
        if not sort_scores(compact, n_scores, self.keys, self.words, self.buffer, &n_missing):
            return CONSTANT
        for i in range(n_scores):
            k = word_position(self.words[i])
            if k == n_met:
                n_below = n_words
                zero_key = word_key(self.words[i])
                continue
            self.buffer[n_words] = make_word(word_key(self.words[i]), at[k])
            # What was read makes room for the order of the scores.
            self.words[n_words] = make_word(0, k)
            n_words += 1
        cut.score = best.score
        if n_met < n:
            self.criterion.scan_above(self.buffer, n_words, n, n_below, zero_key, limits, &cut)
        else:
            self.criterion.scan(self.buffer, n_words, limits, &cut)
        if not cut.score > best.score:
            return WORSE
        k = find_cut(self.buffer, n_words, cut.low_key)
        low = high = 0.0
        if n_met == n or cut.low_key != zero_key:
            low = compact[word_position(self.words[k - 1])]
        if n_met == n or cut.high_key != zero_key:
            high = compact[word_position(self.words[k])]
        best.score = cut.score
        best.missing_left = False
        best.lower = -INFINITY
        best.threshold = place_threshold(low, high)
        return BETTER

    cdef int try_random(self, const double* score, idx_t n, RandState* rng,
                        const ScanLimits* limits, ScoreCut* best) except -1 nogil:
        cdef double low, high, threshold = DBL_MAX
        cdef bint missing_left = False
        cdef idx_t p, n_left = 0, n_right = 0
        cdef idx_t n_missing = find_range(score, n, &low, &high)
        cdef Cut cut
        if n_missing == n or (low == high and n_missing == 0) or high - low == INFINITY:
            return CONSTANT
        if low < high:
            threshold = low + uniform(rng) * (high - low)
            if threshold >= high:
                threshold = low
            missing_left = n_missing > 0 and bounded(rng, 2) == 1
        for p in range(n):
            if goes_to_left(score[p], threshold, missing_left):
                self.words[n_left] = make_word(0, p)
                n_left += 1
            else:
                self.buffer[n_right] = make_word(1, p)
                n_right += 1
        memcpy(self.words + n_left, self.buffer, n_right * sizeof(uint64_t))
        cut.score = best.score
        self.criterion.scan(self.words, n, limits, &cut)
        if not cut.score > best.score:
            return WORSE
        best.score = cut.score
        best.threshold = threshold
        best.missing_left = missing_left
        return BETTER

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


include "interval.pxi"
