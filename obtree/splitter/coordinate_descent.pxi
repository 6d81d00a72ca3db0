# Searching for a good plane by moving its coefficients.
#
# `CoordinateDescent.run` is the search of OC1 (Murthy, Kasif and Salzberg, 1994, section 3) and
# `CoordinateDescent.run_cart` the one of CART (Breiman et al., 1984, section 5.2); `PlaneSearch`
# finds the best step along a line for both.

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, bounded, normal, shuffle
from obtree.core.types cimport X_t, idx_t
from obtree.criterion.base cimport Cut

cdef enum CoefficientOrder:
    SEQUENTIAL
    BEST
    RANDOM


cdef enum:
    MAX_MIXTURE = 64                  # columns of a random direction

# CART deletes the least important feature while it matters less than this fraction of what
# the most important one does.
cdef double DELETE_FRACTION = 0.2
# CART turns the plane about three points of a column, in units of its scale.
cdef double TURNING_POINT = 0.25


cdef class CoordinateDescent:
    cdef PlaneSearch search
    cdef CoefficientOrder order
    cdef idx_t n_jumps
    cdef idx_t n_starts
    cdef idx_t max_passes
    cdef const volatile int* stop     # becomes non-zero when the user interrupts
    cdef idx_t* _lines        # (max_columns + 1) order of the coefficients
    cdef double* _vector      # (max_columns + 1) a random direction
    cdef double* _kept        # (max_columns + 1) coefficients of the best plane so far

    cdef int bind(self, PlaneSearch search, const volatile int* stop, Workspace workspace,
                  idx_t max_columns) except -1:
        """Once per worker, GIL held, may raise."""
        self.search = search
        self.stop = stop
        self._lines = <idx_t*>workspace.take(max_columns + 1, sizeof(idx_t))
        self._vector = <double*>workspace.take(max_columns + 1, sizeof(double))
        self._kept = <double*>workspace.take(max_columns + 1, sizeof(double))
        return 0

    cdef bint run(self, idx_t start, RandState* rng) except -1 nogil:
        """Find a plane, from column `start` (and random planes); False when there is none. The
        columns have been loaded; the plane is left in `search`.
        """
        cdef size_t size = (self.search.n_columns + 1) * sizeof(double)
        cdef double score = -INFINITY
        cdef idx_t attempt
        for attempt in range(self.n_starts):
            if attempt == 0:
                memset(self.search.coefficient, 0, size)
                self.search.coefficient[start] = 1.0
            else:
                self._draw_vector(rng)
                memcpy(self.search.coefficient, self._vector, size)
            if self.search.place():
                self._descend(rng)
            if self.search.score > score:
                score = self.search.score
                memcpy(self._kept, self.search.coefficient, size)
        memcpy(self.search.coefficient, self._kept, size)
        return score > -INFINITY

    cdef int _descend(self, RandState* rng) except -1 nogil:
        """Move coefficients until none helps and no random direction does."""
        cdef idx_t n_lines = self.search.n_columns + 1
        cdef idx_t k, n_idle = 0, n_passes = 0, n_tried = 0
        for k in range(n_lines):
            self._lines[k] = k
        while not self.stop[0] and not self._is_perfect():
            # Every round of BEST makes one move.
            if n_passes < self.max_passes * (n_lines if self.order == BEST else 1):
                n_passes += 1
                if self.order == RANDOM:
                    shuffle(self._lines, n_lines, rng)
                if self.order == BEST:
                    if self._move_best():
                        continue
                elif self._go_round(&n_idle):
                    continue
            while n_tried < self.n_jumps:
                n_tried += 1
                if self._jump(rng):
                    break
            else:
                return 0
            n_idle = 0
        return 0

    cdef bint _go_round(self, idx_t* n_idle) except -1 nogil:
        """Move each coefficient to where it is best; False once all have been in vain.

        `n_idle` counts the coefficients that did not help since one did.
        """
        cdef idx_t n_lines = self.search.n_columns + 1
        cdef Cut cut
        cdef idx_t i
        for i in range(n_lines):
            cut.score = self.search.score
            n_idle[0] += 1
            if self.search.search_line(self._lines[i], &cut):
                self.search.move_line(self._lines[i], find_step(&cut), cut.score)
                n_idle[0] = 0
            if self._is_perfect():
                return True
            if n_idle[0] == n_lines or self.stop[0]:
                return False
        return True

    cdef bint _is_perfect(self) noexcept nogil:
        return self.search.score >= self.search.criterion.goal

    cdef bint _move_best(self) except -1 nogil:
        """Move the coefficient that gains most; False when none gains."""
        cdef idx_t k, best = -1
        cdef Cut cut
        cut.score = self.search.score
        for k in range(self.search.n_columns + 1):
            if self.stop[0]:
                return False
            if self.search.search_line(k, &cut):
                best = k
        if best < 0:
            return False
        self.search.move_line(best, find_step(&cut), cut.score)
        return True

    cdef bint _jump(self, RandState* rng) except -1 nogil:
        """Move along a random direction, if that helps."""
        cdef idx_t n_lines = self.search.n_columns + 1
        cdef idx_t _k
        if n_lines <= MAX_MIXTURE:
            self._draw_vector(rng)
        else:
            # Adding up all columns of wide data would cost more than it gains.
            memset(self._vector, 0, n_lines * sizeof(double))
            for _k in range(MAX_MIXTURE):
                self._vector[bounded(rng, n_lines)] = normal(rng)
        return self.search.move_along(self._vector)

    cdef void _draw_vector(self, RandState* rng) noexcept nogil:
        cdef idx_t k
        for k in range(self.search.n_columns + 1):
            self._vector[k] = normal(rng)

    # ---- CART ---------------------------------------------------------------------

    cdef bint run_cart(self, idx_t start) except -1 nogil:
        """The same as CART does it; nothing in it is random."""
        cdef idx_t k, _n
        cdef bint gained
        memset(self.search.coefficient, 0, (self.search.n_columns + 1) * sizeof(double))
        self.search.coefficient[start] = 1.0
        if not self.search.place():
            return False
        for _n in range(self.max_passes):
            gained = False
            for k in range(self.search.n_columns + 1):
                if self._turn(k):
                    gained = True
                if self.stop[0]:
                    return True
            if not gained or self._is_perfect():
                break
        self._delete_features()
        return True

    cdef bint _turn(self, idx_t k) except -1 nogil:
        """Turn the plane about the best of three points of column k, if that helps."""
        cdef const X_t* x = self.search.column(k)
        cdef double best_point = 0.0, point
        cdef double* constant
        cdef bint gained = False
        cdef Cut cut
        cdef idx_t i, n_points = 1 if k == self.search.n_columns else 3
        cut.score = self.search.score
        for i in range(n_points):
            point = TURNING_POINT * <double>(i - n_points // 2)
            if self.search.search(self.search.shift(x, point), &cut):
                best_point = point
                gained = True
        if gained:
            self.search.move(k, self.search.shift(x, best_point), find_step(&cut), cut.score)
            constant = &self.search.coefficient[self.search.n_columns]
            constant[0] += find_step(&cut) * best_point
        return gained

    cdef int _delete_features(self) except -1 nogil:
        """Drop features, least important first, until what is left matters.

        A feature's importance is what the best parallel plane without it loses.
        """
        cdef size_t size = (self.search.n_columns + 1) * sizeof(double)
        cdef double score, least, most, loss
        cdef idx_t k, weakest, n_active
        cdef bint may_delete
        while not self.stop[0]:
            score = self.search.score
            memcpy(self._kept, self.search.coefficient, size)
            least = INFINITY
            most = -INFINITY
            weakest = -1
            n_active = 0
            for k in range(self.search.n_columns):
                if self._kept[k] == 0.0:
                    continue
                n_active += 1
                self.search.coefficient[k] = 0.0
                self.search.place()
                loss = score - self.search.score
                memcpy(self.search.coefficient, self._kept, size)
                most = max(most, loss)
                if loss < least:
                    least = loss
                    weakest = k
            # None is the weakest when all are zero, and the last one stays.
            may_delete = n_active > 1 and weakest >= 0 and least < DELETE_FRACTION * most
            if may_delete:
                self.search.coefficient[weakest] = 0.0
            self.search.place()
            if not may_delete:
                return 0
        return 0
