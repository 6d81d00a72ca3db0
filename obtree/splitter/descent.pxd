# Searching for a good plane by moving its coefficients.

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport idx_t
from obtree.splitter.plane_search cimport PlaneSearch


cdef enum CoefficientOrder:
    SEQUENTIAL
    BEST
    RANDOM


cdef class Descent:
    cdef PlaneSearch search
    cdef CoefficientOrder order
    cdef idx_t n_jumps
    cdef idx_t n_starts
    cdef idx_t max_passes
    cdef const volatile int* stop     # becomes non-zero when the user interrupts
    cdef idx_t* _lines        # (max_columns + 1) order of the coefficients
    cdef double* _vector      # (max_columns + 1) a random direction
    cdef double* _kept        # (max_columns + 1) coefficients of the best plane so far

    # Once per worker, GIL held, may raise.
    cdef int bind(self, PlaneSearch search, const volatile int* stop, Workspace workspace,
                  idx_t max_columns) except -1

    # Find a plane, from column `start` (and random planes); False when there is none. The
    # columns have been loaded; the plane is left in `search`.
    cdef bint run(self, idx_t start, RandState* rng) except -1 nogil

    # The same as CART does it; nothing in it is random.
    cdef bint run_cart(self, idx_t start) except -1 nogil

    cdef int _descend(self, RandState* rng) except -1 nogil
    cdef bint _go_round(self, idx_t* n_idle) except -1 nogil
    cdef bint _is_perfect(self) noexcept nogil
    cdef bint _move_best(self) except -1 nogil
    cdef bint _jump(self, RandState* rng) except -1 nogil
    cdef void _draw_vector(self, RandState* rng) noexcept nogil
    cdef bint _turn(self, idx_t k) except -1 nogil
    cdef int _delete_features(self) except -1 nogil
