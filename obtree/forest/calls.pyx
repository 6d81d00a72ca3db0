"""Calls of a Python function shared out to threads.

For work that is written in NumPy and in compiled functions that release the GIL: densities of
trees, and of blocks of rows. Ctrl-C ends it before the next call.
"""

from obtree.core.types cimport idx_t
from obtree.forest.job cimport Job, Worker

from obtree.core.threads import call_detached
from obtree.forest.progress import Watch


cdef class CallJob(Job):
    """Calls of a Python function that spends its time without the GIL."""

    cdef readonly list results
    cdef object _function

    def __init__(self, function, idx_t n_items):
        self.results = [None] * n_items
        self._function = function

    def run(self, int n_threads):
        """Make all calls on `n_threads` threads."""
        self.distribute([CallWorker(self) for _ in range(n_threads)], len(self.results))


cdef class CallWorker(Worker):
    """One thread."""

    cdef CallJob _job

    def __init__(self, CallJob job):
        self._job = job

    cdef object work(self, idx_t t):
        """Call for item t."""
        self._job.results[t] = self._job._function(t)


def run_calls(function, n_items, n_threads=1, *, desc="", verbose=0):
    """Call ``function(t)`` for t from 0 to n_items - 1 on several threads.

    Parameters
    ----------
    function : callable
        Does its work without the GIL, a fraction of a second at most.
    n_items : int
    n_threads : int, default=1
    desc : str, default=""
        What a progress bar counts.
    verbose : int, default=0
        1 shows it.

    Returns
    -------
    list
        What the calls returned.
    """
    job = CallJob(function, n_items)
    watch = Watch(job, n_items, desc, verbose)
    try:
        call_detached(job.run, max(1, min(n_threads, n_items)), watch=watch)
    finally:
        watch.close()
    return job.results
