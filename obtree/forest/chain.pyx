"""Growing chains of trees at once, each tree of a chain on what those before it have left to do.

Chains are items of a job (``job.pyx``). What a tree is to learn, and what its leaves are worth
once it has grown, is asked of a `Course`, an object of Python with one object of its own for
each chain; the job knows nothing of losses. A chain depends on its seeds alone; which worker grew
it, and when, changes nothing.
"""

import numpy as np

from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from obtree.builder.base cimport TreeBuilder
from obtree.builder.order import BestFirstBuilder, DepthFirstBuilder
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, seed_state
from obtree.core.team cimport SYNCHRONISED_WORK, choose_threads
from obtree.core.threads import call_detached
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Criterion
from obtree.criterion.registry import make_criterion
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.targets cimport Targets
from obtree.forest.grow cimport estimate_work
from obtree.forest.job cimport Job, Worker
from obtree.forest.progress import Watch
from obtree.splitter.base cimport Splitter
from obtree.tree.predict import Predictor
from obtree.tree.tree import Tree

cdef enum:
    GROWTH_STREAM = 0

# Nanoseconds, roughly, between two trees of a chain.
cdef double STEP_WORK = 400000.0


cdef class ChainJob(Job):
    """The chains to grow, and what all workers share.

    Parameters are those of `grow_chains`.
    """

    cdef readonly list chains
    cdef Dataset _dataset
    cdef object _X
    cdef object _seeds
    cdef object _begin
    cdef list _kind                   # of each chain: the number of its splitter
    cdef idx_t _n_values

    def __init__(self, Dataset dataset, X, seeds, kind, begin, n_values):
        self.chains = [None] * len(seeds)
        self._kind = [int(number) for number in kind]
        self._dataset = dataset
        self._X = X
        self._seeds = np.ascontiguousarray(seeds, dtype=np.uint32)
        self._begin = begin
        self._n_values = n_values

    def run(self, splitters, rule, int n_threads):
        """Grow all chains on `n_threads` threads."""
        workers = [ChainWorker(self, splitters, rule) for _ in range(n_threads)]
        self.distribute(workers, len(self.chains))


cdef class ChainWorker(Worker):
    """One thread's targets, weights, criterion, and a builder for each splitter."""

    cdef ChainJob _job
    cdef list _builders
    cdef Workspace _workspace
    cdef Targets _targets
    cdef FitView _fit
    cdef RandState _rng
    cdef object _weight

    def __init__(self, ChainJob job, splitters, rule):
        cdef w_t[::1] weight
        n_rows = job._dataset.n_samples
        self._job = job
        self._workspace = Workspace()
        self._weight = np.ones(n_rows)
        weight = self._weight
        self._targets = Targets(np.zeros((n_rows, job._n_values)))
        self._fit = lend_fit(&job._dataset.view, &self._targets.view, &weight[0], &job.stopped, 1)
        self._builders = [self._make_builder(splitter.clone(), rule) for splitter in splitters]

    cdef TreeBuilder _make_builder(self, Splitter splitter, rule):
        """A builder that grows by a splitter, bound to the worker's targets and weights."""
        cdef TreeBuilder builder
        cdef Criterion criterion = make_criterion("squared_error", self._targets)
        criterion.prepared = criterion.prepare(&self._fit)
        splitter.prepared = splitter.prepare_own(&self._fit)
        builder = (DepthFirstBuilder if rule.max_leaf_nodes < 0 else BestFirstBuilder)()
        builder.bind(&self._fit, criterion, splitter, rule, self._workspace)
        return builder

    cdef object work(self, idx_t t):
        """Grow chain t into the job's list.

        The GIL is held between two trees only.
        """
        cdef const uint32_t[::1] seeds = self._job._seeds[t]
        cdef w_t[::1] weight = self._weight
        cdef idx_t n_rows = weight.shape[0]
        cdef idx_t k
        cdef TreeBuilder builder = self._builders[self._job._kind[t]]
        course = self._job._begin(t, self._targets.y, self._weight)
        chain = []
        for k in range(seeds.shape[0]):
            with nogil:
                memcpy(builder.index.weight, &weight[0], n_rows * sizeof(w_t))
                seed_state(&self._rng, seeds[k], GROWTH_STREAM)
                builder.begin_tree(&self._rng)
                builder.grow()
            if self._job.stopped:
                return
            tree = Tree.from_arrays(
                n_features=self._job._dataset.n_features,
                n_classes=np.ones(self._job._n_values, dtype=np.int64),
                **builder.store.to_arrays(self._job._n_values),
            )
            leaf = Predictor([tree]).apply(self._job._X)[:, 0]
            chain.append(course.go_on(tree, leaf))
        self._job.chains[t] = chain


def grow_chains(Dataset dataset, X, splitters, rule, *, seeds, kind, begin, n_values,
                n_threads=1, verbose=0, desc="boosting"):
    """Grow one chain of trees for each row of seeds.

    Parameters
    ----------
    dataset : Dataset
    X : float32 ndarray in C order, or csr_matrix
        The same rows, in the layout that prediction reads.
    splitters : list of Splitter
        Cloned for each thread.
    rule : GrowthRule
    seeds : uint32 ndarray of shape (n_chains, n_trees)
        A chain depends on its seeds and on nothing else that is random.
    kind : sequence of int, one for each chain
        The number of its splitter.
    begin : callable
        Called with the number of a chain, the targets (n_rows, n_values) and the weights (n_rows,)
        of its next tree, both to be written; returns a `Course`. Its
        ``go_on(tree, leaf)`` is told the tree of squared error that has grown on them and the
        leaf that each row reaches; it writes the targets and weights of the next tree and returns
        the tree that is to be kept. Rows of weight zero do not take part.
    n_values : int
        Columns of the targets.
    n_threads : int, default=1
    verbose : int, default=0
        1 shows a progress bar.
    desc : str
        Label of the progress bar.

    Returns
    -------
    list of list of Tree
        What ``go_on`` returned, for each chain.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, within about a second; nothing keeps running.
    """
    n_chains, n_trees = np.shape(seeds)
    work = n_trees * sum(estimate_work(dataset, splitters[number], rule, 1) for number in kind)
    work += n_chains * n_trees * STEP_WORK
    # Chains are few and long: a thread that begins late has work left all the same.
    n_threads = min(choose_threads(work, n_threads, SYNCHRONISED_WORK), n_chains)
    job = ChainJob(dataset, X, seeds, kind, begin, n_values)
    watch = Watch(job, n_chains, desc, verbose)
    try:
        call_detached(job.run, splitters, rule, n_threads, watch=watch)
    finally:
        watch.close()
    return job.chains
