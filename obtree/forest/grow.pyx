"""Growing many trees at once.

Trees are items of a job (``job.pyx``), grown without the GIL. A tree depends on its seed
alone; which worker grew it, and when, changes nothing.
"""

import numpy as np

cimport cython
from libc.math cimport log2
from libc.stdint cimport uint32_t

from obtree.builder.base cimport TreeBuilder
from obtree.builder.order import BestFirstBuilder, DepthFirstBuilder, LevelBuilder
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, seed_state
from obtree.core.team cimport REGION_WORK, choose_threads
from obtree.core.threads import call_detached
from obtree.core.types cimport idx_t, w_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport Dataset, view_numbers
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.targets cimport CLASS_TARGETS, Targets
from obtree.forest.job cimport Job, Worker
from obtree.forest.progress import Watch
from obtree.splitter.base cimport Splitter
from obtree.tree.tree import Tree

cdef enum:
    GROWTH_STREAM = 0

# Nanoseconds for a tree, for each node, of which there are about as many as rows, and for each
# cell that a tree looks at; roughly.
cdef double TREE_WORK = 20000.0
cdef double NODE_WORK = 400.0
cdef double CELL_WORK = 2.0

include "bootstrap.pxi"


cdef class GrowthJob(Job):
    """The trees to grow, and what all workers share.

    Parameters are those of `grow_trees`.
    """

    cdef readonly list trees
    cdef readonly list counts         # of the splitter's counters, over all trees
    cdef Dataset _dataset
    cdef object _seeds
    cdef object _sample_weight
    cdef idx_t _n_bootstrap
    cdef bint _replace
    cdef object _balance              # (codes, number above them) or None
    cdef Targets _targets
    cdef FitView _fit                 # lent to whatever works here

    def __init__(self, Dataset dataset, Targets targets, seeds, sample_weight, n_bootstrap,
                 replace, balance_subsample):
        if targets.y is not None and targets.view.n_samples != dataset.view.n_samples:
            raise ValueError(
                f"y has {targets.view.n_samples} rows; expected {dataset.view.n_samples}, as X has"
            )
        self.trees = [None] * len(seeds)
        self.counts = []
        self._dataset = dataset
        self._seeds = np.ascontiguousarray(seeds, dtype=np.uint32)
        if sample_weight is not None:
            sample_weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
        self._sample_weight = sample_weight
        self._n_bootstrap = n_bootstrap
        self._replace = replace
        self._targets = targets
        self._balance = None
        if balance_subsample and targets.view.kind == CLASS_TARGETS:
            self._balance = targets.y, targets.view.max_n_classes

    def run(self, Criterion criterion, Splitter splitter, rule, int n_threads):
        """Grow all trees on `n_threads` threads."""
        cdef const w_t[::1] weights
        cdef const w_t* given = NULL
        cdef FitView numbers
        if self._sample_weight is not None:
            weights = self._sample_weight
            given = &weights[0]
        self._fit = lend_fit(&self._dataset.view, &self._targets.view, given, &self.stopped,
                             n_threads)
        self.counts = [0] * len(splitter.counter_names)
        numbers = self._fit
        numbers.data = view_numbers(&self._dataset.view)
        prepared = criterion.prepare(&numbers), splitter.prepare_own(&self._fit)
        workers = [GrowthWorker(self, criterion.clone(), splitter.clone(), prepared, rule)
                   for _ in range(n_threads)]
        self.distribute(workers, len(self.trees))


cdef class GrowthWorker(Worker):
    """One thread's scratch, criterion, splitter and builder."""

    cdef GrowthJob _job
    cdef TreeBuilder _builder
    cdef Workspace _workspace
    cdef const uint32_t* _seeds
    cdef Bag _bag
    cdef RandState _rng
    cdef object _kept                 # owner of the seeds

    def __init__(self, GrowthJob job, Criterion criterion, Splitter splitter, prepared, rule):
        cdef const uint32_t[::1] seeds = job._seeds
        self._job = job
        self._workspace = Workspace()
        builder_class = DepthFirstBuilder if rule.max_leaf_nodes < 0 else BestFirstBuilder
        if rule.is_complete:
            builder_class = LevelBuilder
        self._builder = builder_class()
        self._seeds = &seeds[0]
        self._bag = Bag(job._dataset.n_samples, job._n_bootstrap, job._replace,
                        job._sample_weight, job._balance)
        criterion.prepared, splitter.prepared = prepared
        self._builder.bind(&job._fit, criterion, splitter, rule, self._workspace)
        self._kept = job._seeds

    cdef object work(self, idx_t t):
        """Grow tree t into the job's list.

        The GIL is held only to begin and to hand over the finished tree.
        """
        with nogil:
            self._bag.weigh(self._seeds[t], self._builder.index.weight)
            seed_state(&self._rng, self._seeds[t], GROWTH_STREAM)
            self._builder.begin_tree(&self._rng)
            self._builder.grow()
        if not self._job.stopped:
            self._job.trees[t] = self._finish()
            self._add_counts()

    cdef void _add_counts(self):
        """Add what the splitter counted to the job's sums: integers, so in any order."""
        cdef Splitter splitter = self._builder.splitter
        cdef idx_t k
        with cython.critical_section(self._job):
            for k in range(len(self._job.counts)):
                self._job.counts[k] += splitter.counters[k]
                splitter.counters[k] = 0

    cdef object _finish(self):
        """The grown nodes as a Tree."""
        n_classes = self._job._targets.n_classes
        if n_classes is None:
            n_classes = np.ones(self._builder.criterion.n_outputs, dtype=np.int64)
        return Tree.from_arrays(
            n_features=self._job._dataset.n_features,
            n_classes=n_classes,
            **self._builder.store.to_arrays(len(n_classes)),
        )


cdef double estimate_work(Dataset dataset, Splitter splitter, rule, idx_t n_trees):
    """Nanoseconds, roughly and at least, that so many trees take: to choose how many threads."""
    cdef double n = dataset.n_samples
    cdef double depth = min(log2(n + 1.0), <double>rule.max_depth)
    cdef double nodes = n if rule.max_leaf_nodes < 0 else min(n, <double>rule.max_leaf_nodes)
    cdef double cells = n * depth * rule.max_features
    if rule.max_depth < 64:
        nodes = min(nodes, 2.0 ** rule.max_depth)
    return n_trees * (TREE_WORK + (NODE_WORK * nodes + CELL_WORK * cells) * splitter.relative_cost)


def grow_trees(Dataset dataset, Targets targets, Criterion criterion, Splitter splitter, rule, *,
               seeds, sample_weight=None, n_bootstrap=0, replace=True, balance_subsample=False,
               n_threads=1, verbose=0, desc="growing", stats=None):
    """Grow one tree for each seed.

    Parameters
    ----------
    dataset : Dataset
    targets : Targets
        Of the same rows; may be absent for a criterion and a splitter that read X alone.
    criterion : Criterion
        Cloned for each thread.
    splitter : Splitter
        Cloned for each thread.
    rule : GrowthRule
    seeds : uint32 ndarray of shape (n_trees,)
        A tree depends on its seed and on nothing else that is random.
    sample_weight : float64 ndarray of shape (n_samples,), optional
        Rows of weight zero do not take part.
    n_bootstrap : int, default=0
        Rows drawn for each tree; 0 to use every row once.
    replace : bool, default=True
        Whether a row may be drawn more than once.
    balance_subsample : bool, default=False
        Whether to weigh classes inversely to their frequency in each tree's sample.
    n_threads : int, default=1
    verbose : int, default=0
        1 shows a progress bar.
    desc : str
        Label of the progress bar.
    stats : dict, optional
        Receives the splitter's counters, summed over the trees.

    Returns
    -------
    list of Tree

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, within about a second; nothing keeps running.
    """
    if len(seeds) == 0:
        return []
    work = estimate_work(dataset, splitter, rule, len(seeds))
    n_threads = min(choose_threads(work, n_threads, REGION_WORK), len(seeds))
    job = GrowthJob(dataset, targets, seeds, sample_weight, n_bootstrap, replace,
                    balance_subsample)
    watch = Watch(job, len(seeds), desc, verbose)
    try:
        call_detached(job.run, criterion, splitter, rule, n_threads, watch=watch)
    finally:
        watch.close()
    if stats is not None:
        stats.update(zip(splitter.counter_names, job.counts))
    return job.trees
