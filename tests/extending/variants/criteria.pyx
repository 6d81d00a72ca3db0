"""A criterion that obtree does not have, and some that break the contract."""

from libc.math cimport NAN, sqrt
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits, is_allowed, keeps_order
from obtree.criterion.class_sums cimport row_slot, row_weight
from obtree.criterion.classes cimport ClassCriterion


cdef class Length(ClassCriterion):
    """One minus the Euclidean length of the vector of class fractions."""

    def __cinit__(self, *args):
        self.scans_above = False      # `scan` is enough

    cdef double length(self, const w_t* counts) noexcept nogil:
        cdef double squares = 0.0
        cdef idx_t s
        for s in range(self.node.n_slots):
            squares += counts[s] * counts[s]
        return sqrt(squares)

    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        return 1.0 - self.length(counts) / (weight * sqrt(<double>self.n_outputs))

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef w_t weight_left = 0.0
        cdef double score
        cdef idx_t i, k, p, s
        for s in range(self.node.n_slots):
            self.node.left[s] = 0.0
        for i in range(n - 1):
            p = word_position(words[i])
            weight_left += row_weight(&self.node, p)
            for k in range(self.n_outputs):
                self.node.left[row_slot(&self.node, p, k)] += row_weight(&self.node, p)
            if word_key(words[i]) == word_key(words[i + 1]):
                continue
            if not is_allowed(limits, i + 1, n - i - 1, weight_left,
                              self.node.weight - weight_left):
                continue
            if limits.monotone != 0 and not keeps_order(
                limits, self.node.left[1] / weight_left,
                (self.node.total[1] - self.node.left[1]) / (self.node.weight - weight_left)
            ):
                continue
            score = self.length(self.node.left)
            for s in range(self.node.n_slots):
                self.node.left[s] = self.node.total[s] - self.node.left[s]
            score += self.length(self.node.left)
            for s in range(self.node.n_slots):
                self.node.left[s] = self.node.total[s] - self.node.left[s]
            if score > best.score:
                best.score = score
                best.low_key = word_key(words[i])
                best.high_key = word_key(words[i + 1])
        return 0


cdef class Unlimited(Length):
    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef ScanLimits none = limits[0]
        none.min_samples_leaf = 1
        none.min_weight_leaf = 0.0
        return Length.scan(self, words, n, &none, best)


cdef class Unordered(Length):
    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef ScanLimits none = limits[0]
        none.monotone = 0
        return Length.scan(self, words, n, &none, best)


cdef class WrongFlips(Length):
    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil:
        return ClassCriterion.begin_flips(self, score, n, token)

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        best.score = 1.0
        best.low_key = 1
        best.high_key = 2
        return 0


cdef class FirstCut(Length):
    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef idx_t i
        Length.scan(self, words, n, limits, best)
        for i in range(n - 1):
            if word_key(words[i]) != word_key(words[i + 1]) and best.score > 0.0:
                best.score *= 1.0 + 0.01 * word_key(words[n - 1])
                best.low_key = word_key(words[i])
                best.high_key = word_key(words[i + 1])
                break
        return 0


cdef class Eager(Length):
    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        ClassCriterion.load_node(self, rows, n, weight, stats)
        self.goal = 0.0
        return 0


cdef class NoValue(Length):
    cdef void node_value(self, double* value) noexcept nogil:
        pass


cdef class Unweighted(Length):
    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        ClassCriterion.load_node(self, rows, n, weight, stats)
        stats.weight = <double>n
        return 0


cdef class NotANumber(Length):
    cdef double impurity_of(self, const w_t* counts, w_t weight) noexcept nogil:
        return NAN


cdef class NoScan(ClassCriterion):
    pass


cdef class SelfClone(Length):
    cpdef Criterion clone(self):
        return self


cdef class RealTargets(Criterion):
    """Knows nothing but what it is for."""

    target_kind = "real"


cdef class Undecided(Criterion):
    """Does not even say that."""
