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
from obtree.core.team cimport REGION_WORK, choose_threads
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


cdef class ChainJob(Job):
    """The chains to grow, and what all workers share.

    Parameters are those of `grow_chains`.
    """

    cdef readonly list chains
    cdef Dataset _dataset
    cdef object _X
    cdef object _seeds
    cdef object _begin
    cdef idx_t _n_values

    def __init__(self, Dataset dataset, X, seeds, begin, n_values):
        self.chains = [None] * len(seeds)
        self._dataset = dataset
        self._X = X
        self._seeds = np.ascontiguousarray(seeds, dtype=np.uint32)
        self._begin = begin
        self._n_values = n_values

    def run(self, Splitter splitter, rule, int n_threads):
        """Grow all chains on `n_threads` threads."""
        workers = [ChainWorker(self, splitter.clone(), rule) for _ in range(n_threads)]
        self.distribute(workers, len(self.chains))


cdef class ChainWorker(Worker):
    """One thread's targets, weights, criterion, splitter and builder."""

    cdef ChainJob _job
    cdef TreeBuilder _builder
    cdef Workspace _workspace
    cdef Targets _targets
    cdef FitView _fit
    cdef RandState _rng
    cdef object _weight

    def __init__(self, ChainJob job, Splitter splitter, rule):
        cdef w_t[::1] weight
        cdef Criterion criterion
        n_rows = job._dataset.n_samples
        self._job = job
        self._workspace = Workspace()
        self._weight = np.ones(n_rows)
        weight = self._weight
        self._targets = Targets(np.zeros((n_rows, job._n_values)))
        self._fit = lend_fit(&job._dataset.view, &self._targets.view, &weight[0], &job.stopped, 1)
        criterion = make_criterion("squared_error", self._targets)
        criterion.prepared = criterion.prepare(&self._fit)
        splitter.prepared = splitter.prepare(&self._fit)
        self._builder = (DepthFirstBuilder if rule.max_leaf_nodes < 0 else BestFirstBuilder)()
        self._builder.bind(&self._fit, criterion, splitter, rule, self._workspace)

    cdef object work(self, idx_t t):
        """Grow chain t into the job's list.

        The GIL is held between two trees only.
        """
        cdef const uint32_t[::1] seeds = self._job._seeds[t]
        cdef w_t[::1] weight = self._weight
        cdef idx_t n_rows = weight.shape[0]
        cdef idx_t k
        course = self._job._begin(t, self._targets.y, self._weight)
        chain = []
        for k in range(seeds.shape[0]):
            with nogil:
                memcpy(self._builder.index.weight, &weight[0], n_rows * sizeof(w_t))
                seed_state(&self._rng, seeds[k], GROWTH_STREAM)
                self._builder.begin_tree(&self._rng)
                self._builder.grow()
            if self._job.stopped:
                return
            tree = Tree.from_arrays(
                n_features=self._job._dataset.n_features,
                n_classes=np.ones(self._job._n_values, dtype=np.int64),
                **self._builder.store.to_arrays(self._job._n_values),
            )
            leaf = Predictor([tree]).apply(self._job._X)[:, 0]
            chain.append(course.go_on(tree, leaf))
        self._job.chains[t] = chain


def grow_chains(Dataset dataset, X, Splitter splitter, rule, *, seeds, begin, n_values,
                n_threads=1, verbose=0, desc="boosting"):
    """Grow one chain of trees for each row of seeds.

    Parameters
    ----------
    dataset : Dataset
    X : float32 ndarray in C order, or csr_matrix
        The same rows, in the layout that prediction reads.
    splitter : Splitter
        Cloned for each thread.
    rule : GrowthRule
    seeds : uint32 ndarray of shape (n_chains, n_trees)
        A chain depends on its seeds and on nothing else that is random.
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
    work = estimate_work(dataset, splitter, rule, n_chains * n_trees)
    n_threads = min(choose_threads(work, n_threads, REGION_WORK), n_chains)
    job = ChainJob(dataset, X, seeds, begin, n_values)
    watch = Watch(job, n_chains, desc, verbose)
    try:
        call_detached(job.run, splitter, rule, n_threads, watch=watch)
    finally:
        watch.close()
    return job.chains
