"""Optimising many trees at once.

Trees are items of a job (``job.pyx``). A result depends on the tree and its seed alone;
which worker made it, and when, changes nothing.
"""

from libc.stdint cimport uint32_t

from obtree.core.team cimport REGION_WORK, choose_threads
from obtree.core.types cimport idx_t
from obtree.forest.job cimport Job, Worker
from obtree.optim.base cimport Optimiser, Problem

from obtree.core.threads import call_detached
from obtree.forest.progress import Watch

# Nanoseconds that an optimiser spends on a cell of X, in all its passes; roughly and at least,
# to choose how many threads.
cdef double CELL_WORK = 200.0


cdef class RefineJob(Job):
    """The trees to optimise, and what all workers share."""

    cdef readonly list results
    cdef Problem _problem
    cdef list _trees
    cdef list _seeds
    cdef object _pose                 # makes the problem of a tree, or None: one for all

    def __init__(self, Problem problem, trees, seeds, pose):
        self._problem = problem
        self._pose = pose
        self._trees = list(trees)
        self._seeds = [int(seed) for seed in seeds]
        self.results = [None] * len(self._trees)

    def run(self, Optimiser optimiser, int n_threads):
        """Optimise all trees; threads that find no tree help within one."""
        cdef idx_t n_trees = len(self._trees)
        cdef double work = CELL_WORK * n_trees * self._problem.n_rows * self._problem.n_features
        cdef int n_workers = max(1, min(choose_threads(work, n_threads, REGION_WORK), n_trees))
        prepared = optimiser.prepare(self._problem) if self._pose is None else None
        workers = [RefineWorker(self, optimiser.clone(), prepared, max(1, n_threads // n_workers))
                   for _ in range(n_workers)]
        self.distribute(workers, len(self._trees))


cdef class RefineWorker(Worker):
    """One thread's optimiser with its scratch."""

    cdef RefineJob _job
    cdef Optimiser _optimiser
    cdef int _n_threads

    def __init__(self, RefineJob job, Optimiser optimiser, prepared, n_threads):
        self._job = job
        self._n_threads = n_threads
        self._optimiser = optimiser
        if job._pose is None:
            self._bind(job._problem, prepared)

    cdef object _bind(self, Problem problem, prepared):
        """Lend the optimiser what it learns from."""
        self._optimiser.prepared = prepared
        self._optimiser.bind(problem, &self._job.stopped)

    cdef object work(self, idx_t t):
        cdef uint32_t seed = self._job._seeds[t]
        if self._job._pose is not None:
            # Only as many copies of the rows exist at a time as there are workers.
            problem = self._job._pose(t)
            self._bind(problem, self._optimiser.prepare(problem))
        result = self._optimiser.optimise(self._job._trees[t], seed, self._n_threads)
        if not self._job.stopped:
            self._job.results[t] = result


def refine_trees(Problem problem, Optimiser optimiser, trees, seeds, *, pose=None, n_threads=1,
                 verbose=0, desc="optimising"):
    """Optimise each of several trees.

    Parameters
    ----------
    problem : Problem
    optimiser : Optimiser
        Cloned for each thread.
    trees : sequence of Tree or None
        What each optimisation starts from; None leaves the start to the optimiser.
    seeds : sequence of int
        One for each tree, below 2**32.
    pose : callable, optional
        Returns the `Problem` of a tree, whose number it is called with, where each has one of its
        own; `problem` is then only asked how large it is.
    n_threads : int, default=1
    verbose : int, default=0
        1 shows a progress bar.
    desc : str
        Label of the progress bar.

    Returns
    -------
    list of (model, report)
        The optimised tree, or whatever the optimiser makes of it, and a dict of what there is to
        say about it: its "objective" after each iteration, and what else the optimiser reports.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, within about a second; nothing keeps running.
    """
    job = RefineJob(problem, trees, seeds, pose)
    watch = Watch(job, len(job.results), desc, verbose)
    try:
        call_detached(job.run, optimiser, n_threads, watch=watch)
    finally:
        watch.close()
    return job.results
