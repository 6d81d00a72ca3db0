# Many independent items of work, shared out to one worker a thread.

from obtree.core.types cimport idx_t


cdef class Job:
    # What the workers have in common, and what the caller watches.
    cdef volatile int stopped         # non-zero: end as soon as possible
    cdef readonly idx_t n_done
    cdef readonly object error        # the first one that a worker met

    cdef int distribute(self, list workers, idx_t n_items) except -1


cdef class Worker:
    cdef void run(self, Job job, idx_t t) noexcept with gil
    cdef object work(self, idx_t t)
