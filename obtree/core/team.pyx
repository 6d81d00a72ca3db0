"""Items of work for several threads; ``team.h`` says how they share it.

For phases of milliseconds. The trees of a forest, which take longer, are shared out by ``prange``
(``forest/job.pyx``). At the end of its region OpenMP's threads wait for each other, also for one
that has not begun, and spin; when other processes have the cores, that takes about 10 ms, a
hundred times what a short phase does.
"""

from cpython.exc cimport PyErr_CheckSignals

from obtree.core.types cimport idx_t


cdef extern from "team.h" nogil:
    ctypedef struct obtree_team:
        pass
    double obtree_look_seconds
    void (*obtree_item_begins)() noexcept
    Py_ssize_t obtree_max_helpers
    int obtree_run_items(work_t work, void* context, Py_ssize_t n_items, Py_ssize_t n_threads,
                         const volatile int* stop) except -1
    int obtree_should_stop(obtree_team* team, Py_ssize_t member) noexcept


cdef int run_items(work_t work, void* context, idx_t n_items, idx_t n_threads,
                   const volatile int* stop) except -1 nogil:
    return obtree_run_items(work, context, n_items, n_threads, stop)


cdef bint should_stop(void* team, idx_t member) noexcept nogil:
    return obtree_should_stop(<obtree_team*>team, member)


cdef void note_item() noexcept nogil:
    if obtree_item_begins != NULL:
        obtree_item_begins()


cdef int check_signals() except -1:
    return PyErr_CheckSignals()


cdef void observe_items(void (*begins)() noexcept nogil, double look_seconds,
                        idx_t max_helpers) noexcept:
    global obtree_look_seconds, obtree_item_begins, obtree_max_helpers
    obtree_look_seconds = look_seconds
    obtree_item_begins = begins
    obtree_max_helpers = max_helpers
