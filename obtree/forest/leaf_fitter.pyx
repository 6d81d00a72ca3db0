"""Models for the leaves of grown trees.

A tree is grown, and pruned, with constant leaves; then each leaf gets a model of its own,
fitted to the rows of the tree's bag that reach it by a `LeafFitter`. Each thread has one
worker with a fitter of its own. The bag follows from the tree's seed, so nothing but the seeds
has to be kept from growing.

The fitters of this package, a file each, are included below.
"""

import numpy as np
from scipy.sparse import issparse

from libc.stdint cimport int32_t, int64_t, uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.team cimport REGION_WORK, choose_threads
from obtree.core.threads import call_detached
from obtree.core.types cimport idx_t, w_t
from obtree.data.scale import find_weight_unit
from obtree.forest.grow cimport Bag
from obtree.forest.job cimport Job, Worker
from obtree.forest.progress import Watch
from obtree.tree.leaf_models import ConstantLeaf, LinearLeaf, is_registered
from obtree.tree.rows cimport open_rows
from obtree.tree.tree import Tree, list_arrays

cdef enum:
    ROUTED_ROWS = 1 << 18         # rows sent down a tree between two looks at the stop flag


cdef class LeafProblem:
    """What leaves are fitted to.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
    y : ndarray of shape (n_rows, n_outputs) or None
        float64 values, or int32 class codes; None where the leaves are to describe X.
    n_classes : int64 ndarray of shape (n_outputs,) or None
    sample_weight : float64 ndarray of shape (n_rows,) or None
        In units of one row.
    weight_unit : float
        What a row weighed before.
    categorical : bool ndarray of shape (n_features,), optional
        Which features are categories, of which models know nothing.
    """

    def __init__(self, X, y, n_classes, sample_weight, double weight_unit, categorical=None):
        cdef const double[:, ::1] target
        cdef const int32_t[:, ::1] codes
        cdef const double[::1] weight
        self.X = X.tocsr() if issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
        self.n_rows, self.n_features = X.shape
        self.rows = open_rows(hide_columns(self.X, categorical), self.n_features)
        self.n_classes = n_classes
        self.n_outputs = 1
        if y is not None:
            y = np.ascontiguousarray(y)
            self.n_outputs = y.shape[1]
            if n_classes is None:
                target = y
                self.target = &target[0, 0]
            else:
                codes = y
                self.codes = &codes[0, 0]
        if sample_weight is not None:
            weight = sample_weight
            self.sample_weight = &weight[0]
        self.weight_unit = weight_unit
        self._kept = (y, sample_weight)


def hide_columns(X, hidden):
    """X with zeros in some columns."""
    if hidden is None or not hidden.any():
        return X
    X = X.copy()
    X[:, hidden] = 0.0
    return X


cdef class LeafFitter(Parametrised):
    """Fits the leaves of grown trees; base class.

    A fitter holds parameters only, and every worker thread works on a clone of it. Subclass it in
    Cython and write `fit` and `collect` (and `bind` and `begin` when scratch is needed);
    ``leaf_fitter.pxd`` has the contract. The parameters are the keyword arguments of ``__init__``,
    listed in ``parameter_names``; each is readable as an attribute of the same name.
    """

    #: The `obtree.tree.leaf_models.LeafModel` that predicts with what is fitted.
    kind = None

    def check_criterion(self, criterion):
        """Raise ValueError when trees of that criterion cannot have such leaves."""

    def estimate_work(self, n_features):
        """Nanoseconds, roughly and at least, that a row takes: to choose how many threads."""
        return 100.0

    cdef int bind(self, LeafProblem problem) except -1:
        """Remember what is to be fitted; subclasses call this and take their scratch."""
        self.problem = problem
        return 0

    cdef int begin(self, object tree) except -1:
        """Forget the last tree."""
        return 0

    cdef int fit(self, idx_t node, const int64_t* rows, idx_t n) except -1 nogil:
        """Fit one leaf."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement fit")

    cdef object collect(self):
        """The arrays of the tree's leaves by name; None when all stay constant."""
        raise NotImplementedError(f"{type(self).__name__} must implement collect")


include "linear_leaves.pxi"
include "linear_gaussian_leaves.pxi"

#: What fits leaves, by the name of their kind; grown trees have constant ones.
FITTERS = {
    ConstantLeaf.name: None,
    LinearLeaf.name: LinearFitter,
    LinearGaussianLeaf.name: LinearGaussianFitter,
}
_OWN = tuple(FITTERS)


def register_fitter(fitter):
    """Let estimators and model files name what another package fits leaves with.

    Parameters
    ----------
    fitter : type
        A subclass of `LeafFitter` whose kind of leaf has been registered.

    Returns
    -------
    type
        The same.

    Raises
    ------
    ValueError
        When another fitter has the name.
    """
    if not isinstance(fitter, type) or not issubclass(fitter, LeafFitter):
        raise TypeError(f"expected a subclass of LeafFitter, got {fitter!r}")
    if not isinstance(fitter.kind, type) or not is_registered(fitter.kind):
        raise ValueError(
            f"{fitter.__name__}.kind is {fitter.kind!r}; expected a kind of leaf that is registered"
        )
    name = fitter.kind.name
    if name in _OWN or FITTERS.get(name, fitter).__name__ != fitter.__name__:
        raise ValueError(f"there is something that fits {name!r} leaves already")
    FITTERS[name] = fitter
    return fitter


def name_fitter(fitter):
    """The name of a subclass of `LeafFitter`, None when it has none."""
    return next((name for name, known in FITTERS.items() if known is fitter), None)


def is_plugin(name):
    """Whether what fits leaves of that name is of another package."""
    return name in FITTERS and name not in _OWN


cdef class LeafJob(Job):
    """The trees whose leaves are to be fitted, and what all workers share."""

    cdef readonly list trees
    cdef LeafProblem _problem
    cdef object _seeds
    cdef object _bag_options

    def __init__(self, trees, LeafProblem problem, seeds, *bag_options):
        self.trees = list(trees)
        self._problem = problem
        self._seeds = np.ascontiguousarray(seeds, dtype=np.uint32)
        self._bag_options = bag_options

    def run(self, LeafFitter fitter, int n_threads):
        """Fit all trees on `n_threads` threads."""
        self.distribute([LeafWorker(self, fitter.clone()) for _ in range(n_threads)],
                        len(self.trees))


cdef class LeafWorker(Worker):
    """One thread's bag and fitter."""

    cdef LeafJob _job
    cdef Bag _bag
    cdef LeafFitter _fitter
    cdef Workspace _workspace
    cdef w_t* _weight                 # (n_rows)

    def __init__(self, LeafJob job, LeafFitter fitter):
        self._job = job
        self._workspace = Workspace()
        self._bag = Bag(job._problem.n_rows, *job._bag_options)
        self._weight = <w_t*>self._workspace.take(job._problem.n_rows, sizeof(w_t))
        self._fitter = fitter
        fitter.weight = self._weight
        fitter.stop = &job.stopped
        fitter.bind(job._problem)

    cdef object work(self, idx_t t):
        """Give tree t of the job its models."""
        tree = self._fit(self._job.trees[t], self._job._seeds[t])
        if not self._job.stopped:
            self._job.trees[t] = tree

    cdef object _fit(self, tree, uint32_t seed):
        """The tree with a model at every leaf that can have one."""
        cdef idx_t n_nodes = tree.node_count, n_rows = self._job._problem.n_rows
        cdef const int64_t[::1] leaf_of = self._route(tree)
        cdef const int32_t[::1] left = tree.children_left
        cdef int64_t[::1] start = np.zeros(n_nodes + 1, dtype=np.int64)
        cdef int64_t[::1] order = np.empty(n_rows, dtype=np.int64)
        cdef idx_t node, i
        if self._job.stopped:
            return tree
        self._fitter.begin(tree)
        with nogil:
            self._bag.weigh(seed, self._weight)
            # Rows of the bag by leaf, in their order.
            for i in range(n_rows):
                if self._weight[i] > 0.0:
                    start[leaf_of[i] + 1] += 1
            for node in range(n_nodes):
                start[node + 1] += start[node]
            for i in range(n_rows):
                if self._weight[i] > 0.0:
                    order[start[leaf_of[i]]] = i
                    start[leaf_of[i]] += 1
            # Each start has moved to the next one.
            i = 0
            for node in range(n_nodes):
                if left[node] < 0 and start[node] > i and not self._job.stopped:
                    self._fitter.fit(node, &order[i], start[node] - i)
                i = start[node]
        arrays = self._fitter.collect()
        if arrays is None:
            return tree
        return Tree.from_arrays(n_features=tree.n_features, **(list_arrays(tree) | arrays))

    cdef object _route(self, tree):
        """The leaf of every row; some rows at a time, so that it can be stopped."""
        # Without the GIL, most of the time.
        cdef LeafProblem problem = self._job._problem
        leaf_of = np.zeros(problem.n_rows, dtype=np.int64)
        for start in range(0, problem.n_rows, ROUTED_ROWS):
            if self._job.stopped:
                break
            end = start + ROUTED_ROWS
            leaf_of[start:end] = tree.apply(problem.X[start:end])
        return leaf_of


def fit_leaf_models(trees, X, y, n_classes=None, *, fitter, seeds, sample_weight=None,
                    n_bootstrap=0, replace=True, balance_subsample=False, n_threads=1, verbose=0,
                    categorical=None):
    """Give the leaves of grown trees models.

    Parameters
    ----------
    trees : list of Tree
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        What the trees were grown on.
    y : ndarray of shape (n_samples, n_outputs) or None
        float64 values, or int32 class codes; None where the leaves are to describe X.
    n_classes : int64 ndarray of shape (n_outputs,), optional
        None for regression.
    fitter : LeafFitter
        What fits them.
    seeds, sample_weight, n_bootstrap, replace, balance_subsample
        As they were for `grow_trees`: they make up the rows of each tree.
    n_threads : int, default=1
    verbose : int, default=0
        1 shows a progress bar.
    categorical : bool ndarray of shape (n_features,), optional
        Which features are categories; models leave these out.

    Returns
    -------
    list of Tree
        A tree of which no leaf can have a model is the one given.
    """
    if not trees:
        return []
    # Penalties are meant in rows.
    unit = find_weight_unit(sample_weight)
    if sample_weight is not None:
        sample_weight = np.ascontiguousarray(sample_weight, dtype=np.float64) / unit
    balance = (y, int(n_classes.max())) if balance_subsample else None
    work = fitter.estimate_work(X.shape[1]) * len(trees) * X.shape[0]
    n_threads = min(choose_threads(work, n_threads, REGION_WORK), len(trees))
    problem = LeafProblem(X, y, n_classes, sample_weight, unit, categorical)
    job = LeafJob(trees, problem, seeds, n_bootstrap, replace, sample_weight, balance)
    watch = Watch(job, len(trees), "fitting leaves", verbose)
    try:
        call_detached(job.run, fitter, n_threads, watch=watch)
    finally:
        watch.close()
    return job.trees
