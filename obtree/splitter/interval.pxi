# The best interval on a vector of scores: lower < s <= threshold goes left.
#
# A plain cut comes first. Then one end of the interval is held and the best other end is
# found by an ordinary scan: bent to a ring, the sorted scores are read from the end that is
# held, and a cut of that sequence divides the ring into an interval and the rest. The ends
# take turns until neither moves.
#
#     sorted   0 ....... start ======= end ....... n
#     ring          start ======= end ....... n|0 .......
#
# Missing scores stand outside the ring and are tried on both sides.

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.order cimport sort_scores
from obtree.core.sort cimport make_word, word_key, word_position
from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Criterion, Cut, ScanLimits

cdef enum:
    MAX_TURNS = 8

cdef enum MissingPlace:
    FIRST                     # in front of the ring, with its first score
    LAST                      # behind it, with its last one
    APART                     # behind it, on their own


cdef class IntervalSweep(ScoreSweep):

    cdef int bind(self, Criterion criterion, Workspace workspace, idx_t max_rows) except -1:
        ScoreSweep.bind(self, criterion, workspace, max_rows)
        self.ring = <uint64_t*>workspace.take(max_rows, sizeof(uint64_t))
        return 0

    cdef int sweep(self, const double* score, idx_t n, const ScanLimits* limits,
                   ScoreCut* best) except -1 nogil:
        cdef Interval found
        cdef idx_t n_missing, n_numbers, turn, held, idle = 0
        if not sort_scores(score, n, self.keys, self.words, self.buffer, &n_missing):
            return CONSTANT
        n_numbers = n - n_missing
        found.score = -INFINITY
        if self._turn(0, n, n_missing, limits, &found):
            for turn in range(MAX_TURNS):
                if turn % 2 == 0:
                    held = found.end
                else:
                    held = found.start
                idle += 1
                if held > 0 and self._turn(held, n, n_missing, limits, &found):
                    idle = 0
                if idle == 2:
                    break
        if n_missing > 0:
            # All numbers against the missing ones.
            self._scan_ring(0, n, n_missing, APART, limits, &found)
        if not found.score > best.score or not self._confirm(n, n_missing, limits, &found, best):
            return WORSE
        best.missing_left = found.missing_left and n_missing > 0
        best.lower = -INFINITY
        best.threshold = DBL_MAX
        if found.start > 0:
            best.lower = self._place(score, found.start)
        if found.end < n_numbers:
            best.threshold = self._place(score, found.end)
        return BETTER

    cdef bint _confirm(self, idx_t n, idx_t n_missing, const ScanLimits* limits,
                       const Interval* found, ScoreCut* best) except -1 nogil:
        """Judge the interval as a plain cut between inside and outside.

        The criterion then decides by its own rules whether it beats what other directions
        offer, and the score does not depend on where the ring was opened.
        """
        cdef idx_t n_numbers = n - n_missing
        cdef idx_t p, side, at = 0
        cdef Cut cut
        for p in range(n):
            self.keys[word_position(self.words[p])] = not (
                found.start <= p < found.end or (p >= n_numbers and found.missing_left)
            )
        for side in range(2):
            for p in range(n):
                if self.keys[p] == <uint32_t>side:
                    self.ring[at] = make_word(<uint32_t>side, p)
                    at += 1
        cut.score = best.score
        self.criterion.scan(self.ring, n, limits, &cut)
        if not cut.score > best.score:
            return False
        best.score = cut.score
        return True

    cdef double _place(self, const double* score, idx_t at) noexcept nogil:
        """A threshold between the sorted scores at - 1 and at."""
        return place_threshold(score[word_position(self.words[at - 1])],
                               score[word_position(self.words[at])])

    cdef bint _turn(self, idx_t first, idx_t n, idx_t n_missing, const ScanLimits* limits,
                    Interval* found) except -1 nogil:
        """Improve the interval, one end of which is `first`; whether that was possible."""
        cdef bint better = self._scan_ring(first, n, n_missing, LAST, limits, found)
        if n_missing > 0:
            better |= self._scan_ring(first, n, n_missing, FIRST, limits, found)
        return better

    cdef bint _scan_ring(self, idx_t first, idx_t n, idx_t n_missing, int place,
                         const ScanLimits* limits, Interval* found) except -1 nogil:
        cdef bint missing_first = place == FIRST
        cdef idx_t n_numbers = n - n_missing
        cdef idx_t lead = n_missing if missing_first else 0
        cdef idx_t tail = n - n_missing + lead
        cdef uint64_t* numbers = self.ring + lead
        cdef uint32_t top = word_key(self.words[n_numbers - 1])
        cdef uint32_t key
        cdef idx_t p, size
        cdef Cut cut
        for p in range(n_numbers - first):
            numbers[p] = self.words[first + p]
        for p in range(first):
            # Keys go on rising where the ring closes; they leave room for twice their range.
            numbers[n_numbers - first + p] = self.words[p] + (<uint64_t>(top + 1) << 32)
        # Missing ones share the key of the number they stand at, unless they stand apart.
        key = word_key(numbers[0 if missing_first else n_numbers - 1]) + (place == APART)
        for p in range(n_missing):
            self.ring[p if missing_first else tail + p] = make_word(
                key, word_position(self.words[n_numbers + p])
            )
        cut.score = found.score
        self.criterion.scan(self.ring, n, limits, &cut)
        if not cut.score > found.score:
            return False
        size = find_cut(self.ring, n, cut.low_key) - lead
        found.score = cut.score
        found.missing_left = missing_first
        found.start = first
        found.end = first + size
        if found.end > n_numbers:
            # The cut part runs over the joint, so the rest is the interval.
            found.start = found.end - n_numbers
            found.end = first
            found.missing_left = not missing_first
        if found.end == n_numbers and found.start > 0:
            # Everything above one threshold: name the other side.
            found.end = found.start
            found.start = 0
            found.missing_left = not found.missing_left
        return True
