"""Routing rows through trees, and combining what the leaves hold.

Rows are cut into blocks. A block is converted once, goes through every tree, and adds up
in its own rows of the result: trees always add in index order, so the number of threads
changes nothing. Blocks are shared by threads; a block allocates nothing. One row, or
a few, take a path of their own that keeps several trees in flight instead of several rows.
"""

import numpy as np
from scipy.special import entr

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint32_t

cimport numpy as cnp

from obtree.core.params import Integer, check_param, refuse_param
from obtree.core.team cimport choose_threads, run_items
from obtree.core.types cimport idx_t
from obtree.data.offset import have_same_offset
from obtree.linear.loss cimport find_probabilities
from obtree.tree.pack cimport PackedView
from obtree.tree.path import trace_paths
from obtree.tree.reduce cimport (
    ADD_VALUES, ADD_VOTES, LIST_MOMENTS, MODEL_ROWS, NAME_LEAVES, Task,
)
from obtree.tree.rows cimport LANES, Rows, open_rows, prepare_block
from obtree.tree.walk cimport choose_block_rows, get_layout

cnp.import_array()

include "pack.pxi"

# The smallest probability that a product of trees sees: one tree that has never seen a
# class at a leaf must not rule it out for the whole forest.
PROBABILITY_FLOOR = 1e-6

COMBINE = ("average", "vote", "product")

# What the sums of trees may be wrong by, for each tree and unit; far more than they ever are.
SLACK = 1e-9


cdef class Predictor:
    """Prediction with a list of trees.

    Parameters
    ----------
    trees : sequence of Tree
        At least one; all with the same features, outputs and classes. Their nodes are
        copied into a compact private form. If they have a `feature_offset`, it has to be the
        same for all, and X is what remains after it has been subtracted.
    """

    def __init__(self, trees):
        trees = tuple(trees)
        if not trees:
            raise ValueError("a predictor needs at least one tree, got none")
        for tree in trees:
            if not have_same_offset(tree.feature_offset, trees[0].feature_offset):
                raise ValueError(
                    "the trees have different feature_offset, as trees of different fits may; "
                    "expected trees of one fit, or of fits with features as float32"
                )
        self._trees = trees
        self._forest = PackedForest(tuple(tree.shifted for tree in trees))
        self._row_work = sum(estimate_work(tree) for tree in trees)

    @property
    def layout(self):
        """``"narrow"``, ``"wide"`` or ``"oblique"``: how the nodes are packed."""
        if self._forest.view.has_oblique:
            return "oblique"
        return "narrow" if self._forest.view.narrow else "wide"

    def predict(self, X, n_threads=1, combine="average"):
        """Combine the values of the leaves that each row reaches.

        Parameters
        ----------
        X : ndarray or scipy sparse matrix of shape (n_rows, n_features)
            Read as float32, block by block; uint8, int16, float32 and float64 in any
            memory order are read in place.
        n_threads : int, default=1
            Threads to share the rows. The result does not depend on it.
        combine : {"average", "vote", "product"}, default="average"
            ``"average"``: mean over the trees. ``"vote"``: fraction of the trees whose leaf
            has most of a class (the first of equals). ``"product"``: normalised product
            of the trees' probabilities, none of which counts as less than 1e-6.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, max_n_classes)
        """
        cdef PackedForest forest = self._forest
        cdef Task task
        cdef cnp.npy_intp shape[3]
        cdef Rows rows = open_rows(X, forest.view.n_features)
        tables = self._prepare(check_param("combine", combine, *COMBINE), &task)
        shape[0] = rows.view.n_rows
        shape[1] = forest.n_outputs
        shape[2] = forest.max_n_classes
        cdef cnp.ndarray out = cnp.PyArray_ZEROS(3, shape, cnp.NPY_FLOAT64, 0)
        task.out = <double*>cnp.PyArray_DATA(out)
        self._run(rows, n_threads, &task)
        del tables
        if combine == "product":
            normalise_logarithms(out, self._trees[0].n_classes)
        return out

    def classify(self, X, n_threads=1, combine="average"):
        """The class that `predict` rates highest, the first of equals.

        Parameters are those of `predict`, which takes more memory and time: here a row need
        not see the last trees when they cannot change its class any more.

        Returns
        -------
        int64 ndarray of shape (n_rows, n_outputs)
        """
        cdef PackedForest forest = self._forest
        cdef Task task
        if combine == "product":
            # Normalising may make equal what was not.
            return self.predict(X, n_threads, combine).argmax(axis=2)
        cdef Rows rows = open_rows(X, forest.view.n_features)
        tables = self._prepare(check_param("combine", combine, *COMBINE), &task)
        self._find_spread(&task)
        cdef cnp.ndarray classes = np.empty((rows.view.n_rows, forest.n_outputs), dtype=np.int64)
        task.classes = <int64_t*>cnp.PyArray_DATA(classes)
        self._run(rows, n_threads, &task)
        del tables
        return classes

    def average_entropy(self, X, n_threads=1):
        """Mean over the trees of the entropy of what they predict, in nats.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            For trees of classes; those of an output alone tell its entropy.
        """
        cdef PackedForest forest = self._forest
        cdef Task task
        cdef Rows rows = open_rows(X, forest.view.n_features)
        self._prepare("average", &task)
        task.pure_own = 0.0
        task.entropies = True
        # What leaves hold is known before any row comes: one number for each output.
        entropies = np.zeros((len(forest.vectors), forest.n_outputs, forest.max_n_classes))
        entropies[:, :, 0] = entr(forest.vectors.reshape(entropies.shape)).sum(axis=2)
        task.vectors = <const double*>cnp.PyArray_DATA(<cnp.ndarray>entropies)
        cdef cnp.ndarray out = np.zeros((rows.view.n_rows, forest.n_outputs, forest.max_n_classes))
        task.out = <double*>cnp.PyArray_DATA(out)
        self._run(rows, n_threads, &task)
        return out[:, :, 0]

    def apply(self, X, n_threads=1):
        """Number of the leaf that each row reaches in each tree, int64 (n_rows, n_trees)."""
        cdef PackedForest forest = self._forest
        cdef Task task
        cdef Rows rows = open_rows(X, forest.view.n_features)
        cdef cnp.ndarray leaves = np.empty((rows.view.n_rows, forest.view.n_trees), dtype=np.int64)
        task.reduction = NAME_LEAVES
        task.classes = NULL
        task.leaves = <int64_t*>cnp.PyArray_DATA(leaves)
        self._run(rows, n_threads, &task)
        return leaves

    def list_moments(self, X, n_threads=1):
        """Mean and variance of what each tree predicts, where leaves say how sure they are.

        Parameters
        ----------
        X : ndarray or scipy sparse matrix of shape (n_rows, n_features)
        n_threads : int, default=1

        Returns
        -------
        means, variances : ndarray of shape (n_rows, n_trees, n_outputs)
            Of Gaussians.
        """
        cdef PackedForest forest = self._forest
        cdef Task task
        for t, tree in enumerate(self._trees):
            if not tree.leaf_kind.has_variance:
                raise ValueError(
                    f"tree {t} has {tree.leaf_kind.name} leaves; expected such as predict a "
                    "variance"
                )
        cdef Rows rows = open_rows(X, forest.view.n_features)
        shape = rows.view.n_rows, forest.view.n_trees, forest.n_outputs
        cdef cnp.ndarray means = np.empty(shape), variances = np.empty(shape)
        task.reduction = LIST_MOMENTS
        task.classes = NULL
        task.means = <double*>cnp.PyArray_DATA(means)
        task.variances = <double*>cnp.PyArray_DATA(variances)
        self._run(rows, n_threads, &task)
        return means, variances

    def decision_path(self, X, n_threads=1):
        """Nodes that each row passes.

        Returns
        -------
        indicator : csr_matrix of shape (n_rows, n_nodes)
            1 where a row passes a node; the nodes of tree t are the columns
            ``n_nodes_ptr[t]:n_nodes_ptr[t + 1]``.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
        """
        return trace_paths(self._trees, self.apply(X, n_threads))

    cdef object _prepare(self, str combine, Task* task):
        """Fill the task for a way of combining; returns what must outlive it."""
        cdef PackedForest forest = self._forest
        cdef cnp.ndarray vectors
        task.reduction = ADD_VALUES
        task.first_row = 0
        task.classes = NULL
        task.pure_own = 1.0
        task.pure_other = 0.0
        task.divisor = <double>forest.view.n_trees
        task.n_outputs = forest.n_outputs
        task.n_classes = forest.max_n_classes
        task.votes = NULL
        task.floor = 0.0
        task.entropies = False
        task.spread = INFINITY
        task.slack = 0.0
        vectors = forest.vectors
        if combine == "product":
            if self._logarithms is None:
                self._logarithms = np.log(np.maximum(forest.vectors, PROBABILITY_FLOOR))
            vectors = self._logarithms
            task.pure_own = 0.0
            task.pure_other = np.log(PROBABILITY_FLOOR)
            task.divisor = 1.0
            task.floor = PROBABILITY_FLOOR
        elif combine == "vote":
            if self._votes is None:
                shape = (-1, forest.n_outputs, forest.max_n_classes)
                self._votes = forest.vectors.reshape(shape).argmax(axis=2).astype(np.int32)
            task.reduction = ADD_VOTES
            task.votes = <const int32_t*>cnp.PyArray_DATA(<cnp.ndarray>self._votes)
        task.vectors = <const double*>cnp.PyArray_DATA(vectors)
        return vectors

    cdef int _find_spread(self, Task* task) except -1:
        """Tell the task how far one tree can move two classes apart, for one output."""
        cdef PackedForest forest = self._forest
        if task.n_outputs != 1:
            return 0
        # Pure leaves and votes are one class against none; so is what leaf models make.
        task.spread = 1.0
        task.slack = SLACK * forest.view.n_trees
        if task.reduction == ADD_VOTES or len(forest.vectors) == 0:
            return 0
        if self._spread is None:
            vectors = forest.vectors
            self._spread = np.ptp(vectors, axis=1).max(), np.abs(vectors).max()
        spread, largest = self._spread
        task.spread = max(1.0, spread)
        task.slack *= max(1.0, largest)
        return 0

    cdef int _run(self, Rows rows, idx_t n_threads, Task* task) except -1:
        """Route the rows, in this thread or in several."""
        cdef PackedView* view = &self._forest.view
        cdef idx_t n_rows = rows.view.n_rows
        cdef idx_t block_rows, n_blocks, x_size, lists_size, scores_size, n_workers
        cdef idx_t sums_size = 0
        if n_threads < 1:
            refuse_param("n_threads", n_threads, Integer(1), wrong_type=False)
        if n_rows == 0:
            return 0
        cdef double row_work = self._row_work + view.n_features
        n_threads = choose_threads(row_work * n_rows, n_threads)
        block_rows = choose_block_rows(view, n_rows, n_threads, row_work)
        n_blocks = (n_rows + block_rows - 1) // block_rows
        n_workers = min(n_threads, n_blocks)
        # One buffer of 32-bit items, a slice per worker, slices on separate cache lines.
        x_size = (block_rows * view.n_features + 15) // 16 * 16
        lists_size = (5 * block_rows + 3 * LANES + 15) // 16 * 16
        scores_size = 0
        if view.models != NULL:
            scores_size = (4 * MODEL_ROWS * view.n_values + 15) // 16 * 16
        if task.classes != NULL:
            sums_size = (2 * block_rows * view.n_values + 15) // 16 * 16
        cdef cnp.npy_intp size = n_workers * (x_size + lists_size + scores_size + sums_size)
        cdef cnp.ndarray buffer = cnp.PyArray_EMPTY(1, &size, cnp.NPY_UINT32, 0)
        cdef uint32_t* base = <uint32_t*>cnp.PyArray_DATA(buffer)
        cdef idx_t k
        for k in range(n_workers):
            prepare_block(
                &rows.view, get_layout(view), x_size,
                base + k * (x_size + lists_size + scores_size + sums_size),
            )
        cdef PredictContext shared
        shared.view = view
        shared.rows = &rows.view
        shared.task = task
        shared.base = base
        shared.x_size = x_size
        shared.lists_size = lists_size
        shared.scores_size = scores_size
        shared.worker_size = x_size + lists_size + scores_size + sums_size
        shared.block_rows = block_rows
        with nogil:
            run_items(run_block, &shared, n_blocks, n_workers, NULL)
        return 0


def normalise_logarithms(double[:, :, ::1] sums, const int64_t[::1] n_classes):
    """Make sums of logarithms probabilities, output by output; IN OUT sums."""
    cdef idx_t row, k
    with nogil:
        for row in range(sums.shape[0]):
            for k in range(sums.shape[1]):
                find_probabilities(&sums[row, k, 0], n_classes[k], sums.shape[2])


cdef double estimate_work(tree):
    """Nanoseconds, roughly, that a row takes in a tree: to choose the number of threads."""
    cdef double n_nodes = tree.node_count
    cdef double n_terms = tree.term_weight.size
    cdef double work = log2(n_nodes + 1.0) * (1.0 + n_terms / (n_nodes + 1.0))
    return work + tree.leaf_kind.estimate_work(tree)


include "route.pxi"
