"""`prange` over independent items of work: trees to grow, trees to optimise.

Every thread has one worker with scratch of its own, so that memory follows the number of
threads and not of items. Which worker takes an item, and when, must change nothing.
"""

cimport cython
from cython.parallel cimport prange, threadid
from libc.stdlib cimport free, malloc

from obtree.core.team cimport note_item
from obtree.core.types cimport idx_t


cdef class Job:
    """Items of work under way: how many are done, what went wrong, and a way to stop."""

    def stop(self):
        """End as soon as possible; items not finished are lost."""
        self.stopped = 1

    cdef int distribute(self, list workers, idx_t n_items) except -1:
        """Run items 0..n_items-1, and raise what a worker raised."""
        cdef idx_t n_threads = len(workers)
        cdef idx_t t
        cdef void** borrowed = <void**>malloc(n_threads * sizeof(void*))
        if borrowed == NULL:
            raise MemoryError()
        for t in range(n_threads):
            borrowed[t] = <void*>workers[t]
        # The list keeps the workers alive; the loop needs no reference of its own.
        for t in prange(n_items, nogil=True, schedule="dynamic", chunksize=1,
                        num_threads=n_threads):
            (<Worker>borrowed[threadid()]).run(self, t)
        free(borrowed)
        if self.error is not None:
            raise self.error
        return 0


cdef class Worker:
    """One thread's part of a job; a subclass writes `work`."""

    cdef void run(self, Job job, idx_t t) noexcept with gil:
        """Do one item, or record what went wrong: it is raised once, after the loop."""
        if job.stopped:
            return
        note_item()
        try:
            self.work(t)
            with cython.critical_section(job):
                if not job.stopped:
                    job.n_done += 1
        except BaseException as error:
            # The other threads end soon.
            with cython.critical_section(job):
                job.error = job.error or error
                job.stopped = 1

    cdef object work(self, idx_t t):
        """Do item t. Called with the GIL, and expected to release it."""
        raise NotImplementedError(f"{type(self).__name__} must implement work")
