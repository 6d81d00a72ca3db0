"""A team of threads over independent items of work: trees to grow, trees to optimise.

Every thread has one worker with scratch of its own, so that memory follows the number of
threads and not of items. Which worker takes an item, and when, must change nothing.
"""

cimport cython
from libc.stdlib cimport free, malloc

from obtree.core.team cimport run_items
from obtree.core.types cimport idx_t


cdef struct Shares:
    void* job
    void** workers                    # (number of threads)


cdef void run_item(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """One item by one member of the team. Who called holds the references."""
    cdef Shares* shares = <Shares*>context
    (<Worker>shares.workers[member]).run(<Job>shares.job, item)


cdef class Job:
    """Items of work under way: how many are done, what went wrong, and a way to stop."""

    def stop(self):
        """End as soon as possible; items not finished are lost."""
        self.stopped = 1

    cdef int distribute(self, list workers, idx_t n_items) except -1:
        """Run items 0..n_items-1, and raise what a worker raised."""
        cdef Shares shares
        cdef idx_t t, n_threads = len(workers)
        shares.job = <void*>self
        shares.workers = <void**>malloc(n_threads * sizeof(void*))
        if shares.workers == NULL:
            raise MemoryError()
        try:
            for t in range(n_threads):
                shares.workers[t] = <void*>workers[t]
            with nogil:
                run_items(run_item, &shares, n_items, n_threads, &self.stopped)
        finally:
            free(shares.workers)
        if self.error is not None:
            raise self.error
        return 0


cdef class Worker:
    """One thread's part of a job; a subclass writes `work`."""

    cdef void run(self, Job job, idx_t t) noexcept with gil:
        """Do one item, or record what went wrong: it is raised once, after the loop."""
        if job.stopped:
            return
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
