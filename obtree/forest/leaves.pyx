"""Linear models for the leaves of grown trees.

A tree is grown, and pruned, with constant leaves; then each leaf gets a model of its own,
fitted to the rows of the tree's bag that reach it (linear/leaf_solver.pyx). Each thread has one
worker with scratch of its own. The bag follows from the tree's seed, so nothing but the seeds
has to be kept from growing.
"""

import numpy as np
from scipy.sparse import issparse

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport OBTREE_FLOAT_ROWS
from obtree.core.memory cimport Workspace, free_block, grow_block
from obtree.core.team cimport REGION_WORK, choose_threads
from obtree.core.types cimport X_t, idx_t, w_t
from obtree.forest.bootstrap cimport Bag
from obtree.forest.job cimport Job, Worker
from obtree.linear.leaf_solver cimport LeafSolver
from obtree.tree.rows cimport Rows, clear_block, load_block, open_rows, prepare_block

from obtree.core.threads import call_detached
from obtree.data.weight_unit import find_weight_unit
from obtree.forest.progress import Watch
from obtree.tree.path import find_parents
from obtree.tree.tree import FIELDS, LEAF_FIELDS, OPTIONAL_FIELDS, Tree

cdef enum:
    # Models of wider data use the features that the splits above the leaf test, those next to
    # the leaf first.
    MAX_TERMS = 128
    ROUTED_ROWS = 1 << 18         # rows sent down a tree between two looks at the stop flag

# Nanoseconds that a product of two cells of a row takes, of all pairs of features; roughly and at
# least, to choose how many threads.
cdef double PRODUCT_WORK = 2.0

# Total weight below which a leaf stays constant.
MIN_WEIGHT = 10.0

# So does a leaf of which less than this, half a row, is not of its main class: next to nothing
# says what a model should tell apart.
cdef double MIN_OTHERS = 0.5

# A feature that a larger share of the leaf's rows lacks is left out; rows that lack one of the
# others take no part.
cdef double MAX_MISSING_SHARE = 0.1


cdef class LeafJob(Job):
    """The trees whose leaves are to be fitted, and what all workers share.

    Parameters are those of `fit_leaves`.
    """

    cdef readonly list trees
    cdef Rows _rows
    cdef object _X
    cdef object _y
    cdef object _n_classes
    cdef object _seeds
    cdef double _unit                 # what one row weighs in the trees; here it weighs 1
    cdef object _bag_options

    def __init__(self, trees, X, y, n_classes, seeds, unit, *bag_options):
        self.trees = list(trees)
        self._X = X.tocsr() if issparse(X) else np.ascontiguousarray(X, dtype=np.float32)
        self._rows = open_rows(self._X, X.shape[1])
        self._y = np.ascontiguousarray(y)
        self._n_classes = n_classes
        self._seeds = np.ascontiguousarray(seeds, dtype=np.uint32)
        self._unit = unit
        self._bag_options = bag_options

    def run(self, double l2, int n_threads):
        """Fit all trees on `n_threads` threads."""
        self.share_out([LeafWorker(self, l2) for _ in range(n_threads)], len(self.trees))


cdef class LeafWorker(Worker):
    """One thread's bag, solver and scratch."""

    cdef LeafJob _job
    cdef Bag _bag
    cdef LeafSolver _solver
    cdef Workspace _workspace
    cdef idx_t _n_rows
    cdef idx_t _n_features
    cdef const double* _target        # (n_rows, n_outputs), or NULL
    cdef const int32_t* _codes        # the same for classes
    cdef w_t* _weight                 # (n_rows)
    cdef X_t* _x                      # (n_features) one row
    cdef uint8_t* _seen               # (n_features) zero between leaves
    cdef int32_t* _feature            # (max_terms) candidates
    cdef w_t* _missing                # (max_terms) weight of the rows that lack the feature
    cdef double* _model               # (max_terms, n_values)
    cdef double* _intercept           # (n_values)
    # Of one leaf; grow.
    cdef double* _block
    cdef double* _y
    cdef int32_t* _labels
    cdef w_t* _w
    cdef idx_t _n_block
    cdef idx_t _n_leaf
    # Of one tree: what has been fitted so far; grow.
    cdef int32_t* _all_features
    cdef double* _all_weights
    cdef idx_t _n_terms
    cdef idx_t _capacity
    cdef object _kept

    def __cinit__(self):
        self._block = self._y = self._w = NULL
        self._labels = NULL
        self._all_features = NULL
        self._all_weights = NULL
        self._n_block = self._n_leaf = self._n_terms = self._capacity = 0

    def __init__(self, LeafJob job, double l2):
        cdef const double[:, ::1] target
        cdef const int32_t[:, ::1] codes
        cdef idx_t max_terms, n_values
        self._job = job
        self._workspace = Workspace()
        self._n_rows, self._n_features = job._X.shape
        self._bag = Bag(self._n_rows, *job._bag_options)
        n_outputs = job._y.shape[1]
        is_regression = job._n_classes is None
        self._solver = LeafSolver(n_outputs, job._n_classes, l2)
        self._solver.stop = &job.stopped
        self._target = NULL
        self._codes = NULL
        if is_regression:
            target = job._y
            self._target = &target[0, 0]
        else:
            codes = job._y
            self._codes = &codes[0, 0]
        max_terms = min(self._n_features, <idx_t>MAX_TERMS)
        n_values = n_outputs * self._solver.max_n_classes
        self._weight = <w_t*>self._workspace.take(self._n_rows, sizeof(w_t))
        self._x = <X_t*>self._workspace.take(self._n_features, sizeof(X_t))
        self._seen = <uint8_t*>self._workspace.take(self._n_features, 1)
        self._feature = <int32_t*>self._workspace.take(max_terms, sizeof(int32_t))
        self._missing = <w_t*>self._workspace.take(max_terms, sizeof(w_t))
        self._model = <double*>self._workspace.take(max_terms * n_values, sizeof(double))
        self._intercept = <double*>self._workspace.take(n_values, sizeof(double))
        memset(self._seen, 0, self._n_features)
        prepare_block(&job._rows.view, OBTREE_FLOAT_ROWS, self._n_features, self._x)
        self._kept = job._y

    def __dealloc__(self):
        free_block(self._block)
        free_block(self._y)
        free_block(self._labels)
        free_block(self._w)
        free_block(self._all_features)
        free_block(self._all_weights)

    cdef object work(self, idx_t t):
        """Give tree t of the job its models."""
        tree = self._fit(self._job.trees[t], self._job._seeds[t])
        if not self._job.stopped:
            self._job.trees[t] = tree

    cdef object _fit(self, tree, uint32_t seed):
        """The tree with a model at every leaf that can have one."""
        cdef idx_t n_nodes = tree.node_count
        cdef idx_t n_values = self._solver.n_outputs * self._solver.max_n_classes
        cdef const int64_t[::1] leaf_of = self._route(tree)
        cdef const int32_t[::1] left = tree.children_left
        cdef const int64_t[::1] parent = find_parents(tree.children_left, tree.children_right)
        cdef const int64_t[::1] term_ptr = tree.term_ptr
        cdef const int32_t[::1] term_feature = tree.term_feature
        cdef const double[:, :, ::1] value = tree.value
        cdef const double[::1] total = tree.weighted_n_node_samples
        cdef int64_t[::1] start = np.zeros(n_nodes + 1, dtype=np.int64)
        cdef int64_t[::1] order = np.empty(self._n_rows, dtype=np.int64)
        cdef int64_t[::1] ptr = np.zeros(n_nodes + 1, dtype=np.int64)
        cdef double[:, ::1] intercept = np.zeros((n_nodes, n_values))
        cdef double min_weight = MIN_WEIGHT
        cdef idx_t node, i, n_terms, n_candidates
        self._n_terms = 0
        if self._job.stopped:
            return tree
        with nogil:
            self._bag.weigh(seed, self._weight)
            # Rows of the bag by leaf, in their order.
            for i in range(self._n_rows):
                if self._weight[i] > 0.0:
                    start[leaf_of[i] + 1] += 1
            for node in range(n_nodes):
                start[node + 1] += start[node]
            for i in range(self._n_rows):
                if self._weight[i] > 0.0:
                    order[start[leaf_of[i]]] = i
                    start[leaf_of[i]] += 1
            # Each start has moved to the next one.
            i = 0
            for node in range(n_nodes):
                n_terms = 0
                if left[node] < 0 and start[node] > i and not self._job.stopped:
                    if not self._is_pure(&value[node, 0, 0], total[node] / self._job._unit):
                        n_candidates = self._list_features(
                            node, &parent[0], &term_ptr[0],
                            &term_feature[0] if term_feature.shape[0] > 0 else NULL)
                        n_terms = self._fit_leaf(
                            &order[i], start[node] - i, n_candidates, min_weight)
                    if n_terms > 0:
                        memcpy(&intercept[node, 0], self._intercept, n_values * sizeof(double))
                ptr[node + 1] = ptr[node] + n_terms
                i = start[node]
        if self._n_terms == 0:
            return tree
        names = [name for name in OPTIONAL_FIELDS if name not in LEAF_FIELDS]
        features = np.empty(self._n_terms, dtype=np.int32)
        weights = np.empty((self._n_terms, n_values))
        cdef int32_t[::1] feature_view = features
        cdef double[:, ::1] weight_view = weights
        memcpy(&feature_view[0], self._all_features, self._n_terms * sizeof(int32_t))
        memcpy(&weight_view[0, 0], self._all_weights, self._n_terms * n_values * sizeof(double))
        return Tree.from_arrays(
            n_features=tree.n_features,
            leaf_ptr=np.asarray(ptr),
            leaf_feature=features,
            leaf_weight=weights,
            leaf_intercept=np.asarray(intercept),
            **{name: getattr(tree, name) for name in (*FIELDS, *names)},
        )

    cdef object _route(self, tree):
        """The leaf of every row; some rows at a time, so that it can be stopped."""
        # Without the GIL, most of the time.
        leaf_of = np.zeros(self._n_rows, dtype=np.int64)
        for start in range(0, self._n_rows, ROUTED_ROWS):
            if self._job.stopped:
                break
            end = start + ROUTED_ROWS
            leaf_of[start:end] = tree.apply(self._job._X[start:end])
        return leaf_of

    cdef bint _is_pure(self, const double* value, double total) noexcept nogil:
        """Whether a leaf has next to nothing but one class for each output."""
        cdef idx_t k, c
        cdef double largest
        if self._solver.is_regression:
            return False
        for k in range(self._solver.n_outputs):
            largest = 0.0
            for c in range(self._solver.max_n_classes):
                largest = max(largest, value[k * self._solver.max_n_classes + c])
            if total * (1.0 - largest) >= MIN_OTHERS:
                return False
        return True

    cdef idx_t _list_features(self, idx_t node, const int64_t* parent, const int64_t* term_ptr,
                              const int32_t* term_feature) noexcept nogil:
        """Candidates for the model of a leaf, in ascending order. Returns how many."""
        cdef idx_t n = 0
        cdef idx_t k, j
        if self._n_features <= MAX_TERMS:
            for j in range(self._n_features):
                self._feature[j] = <int32_t>j
            return self._n_features
        while node > 0 and n < MAX_TERMS:
            node = parent[node]
            for k in range(term_ptr[node], term_ptr[node + 1]):
                if n < MAX_TERMS and not self._seen[term_feature[k]]:
                    self._seen[term_feature[k]] = 1
                    self._feature[n] = term_feature[k]
                    n += 1
        for k in range(n):
            self._seen[self._feature[k]] = 0
        sort_features(self._feature, n)
        return n

    cdef idx_t _fit_leaf(self, const int64_t* rows, idx_t n, idx_t q,
                         double min_weight) except -1 nogil:
        """Fit the rows of one leaf and add its terms to the tree's. Returns how many."""
        cdef idx_t n_values = self._solver.n_outputs * self._solver.max_n_classes
        cdef idx_t k, j, v, n_used
        cdef w_t total = 0.0
        cdef bint is_needed
        if q == 0:
            return 0
        for k in range(n):
            total += self._weight[rows[k]]
        if total < min_weight:
            return 0
        self._reserve_rows(n, q)
        n = self._gather(rows, n, &q)
        total = 0.0
        for k in range(n):
            total += self._w[k]
        if q == 0 or total < min_weight or not self._solver.fit(
            self._block, n, q, self._y, self._labels, self._w, self._model, self._intercept
        ):
            return 0
        self._reserve_terms(q)
        n_used = 0
        for j in range(q):
            is_needed = False
            for v in range(n_values):
                is_needed |= self._model[j * n_values + v] != 0.0
            if is_needed:
                self._all_features[self._n_terms] = self._feature[j]
                memcpy(self._all_weights + self._n_terms * n_values,
                       self._model + j * n_values, n_values * sizeof(double))
                self._n_terms += 1
                n_used += 1
        return n_used

    cdef idx_t _gather(self, const int64_t* rows, idx_t n, idx_t* n_candidates) noexcept nogil:
        """Copy rows, targets and weights of a leaf, without missing values.

        Returns the number of rows; leaves the features in use, and their number.
        """
        cdef idx_t q = n_candidates[0]
        cdef idx_t width = q + 1
        cdef idx_t m = self._solver.n_outputs
        cdef idx_t k, j, row, n_kept
        cdef idx_t n_complete = 0
        cdef bint is_complete
        cdef double x
        # A row counts by what the user gave it, however often it was drawn.
        cdef const w_t* given = self._bag.sample_weight
        cdef w_t total = 0.0, here
        for j in range(q):
            self._missing[j] = 0.0
        for k in range(n):
            row = rows[k]
            here = 1.0 if given == NULL else given[row]
            total += here
            load_block(&self._job._rows.view, row, row + 1, OBTREE_FLOAT_ROWS, self._x)
            for j in range(q):
                x = self._x[self._feature[j]]
                self._block[k * width + j] = x
                if x != x:
                    self._missing[j] += here
            clear_block(&self._job._rows.view, row, row + 1, OBTREE_FLOAT_ROWS, self._x)
        n_kept = 0
        for j in range(q):
            if self._missing[j] <= MAX_MISSING_SHARE * total:
                n_kept += 1
        # Both only move towards the front, so nothing is overwritten before it is read.
        for k in range(n):
            is_complete = True
            row = 0
            for j in range(q):
                if self._missing[j] <= MAX_MISSING_SHARE * total:
                    x = self._block[k * width + j]
                    is_complete = is_complete and x == x
                    self._block[n_complete * (n_kept + 1) + row] = x
                    row += 1
            if not is_complete:
                continue
            self._w[n_complete] = self._weight[rows[k]]
            for j in range(m):
                if self._codes != NULL:
                    self._labels[n_complete * m + j] = self._codes[rows[k] * m + j]
                else:
                    self._y[n_complete * m + j] = self._target[rows[k] * m + j]
            n_complete += 1
        row = 0
        for j in range(q):
            if self._missing[j] <= MAX_MISSING_SHARE * total:
                self._feature[row] = self._feature[j]
                row += 1
        n_candidates[0] = n_kept
        return n_complete

    cdef int _reserve_rows(self, idx_t n, idx_t q) except -1 nogil:
        """Room for a leaf of n rows and q features."""
        cdef idx_t m = self._solver.n_outputs
        if n * (q + 1) > self._n_block:
            self._block = <double*>grow_block(self._block, n * (q + 1), sizeof(double))
            self._n_block = n * (q + 1)
        if n > self._n_leaf:
            self._w = <w_t*>grow_block(self._w, n, sizeof(w_t))
            self._y = <double*>grow_block(self._y, n * m, sizeof(double))
            self._labels = <int32_t*>grow_block(self._labels, n * m, sizeof(int32_t))
            self._n_leaf = n
        return 0

    cdef int _reserve_terms(self, idx_t n_more) except -1 nogil:
        """Room for so many terms more."""
        cdef idx_t n_values = self._solver.n_outputs * self._solver.max_n_classes
        cdef idx_t capacity = self._n_terms + n_more
        if capacity > self._capacity:
            capacity += self._capacity
            self._all_features = <int32_t*>grow_block(
                self._all_features, capacity, sizeof(int32_t))
            self._all_weights = <double*>grow_block(
                self._all_weights, capacity * n_values, sizeof(double))
            self._capacity = capacity
        return 0


cdef void sort_features(int32_t* feature, idx_t n) noexcept nogil:
    """Insertion sort: there are few."""
    cdef idx_t k, at
    cdef int32_t moving
    for k in range(1, n):
        moving = feature[k]
        at = k
        while at > 0 and feature[at - 1] > moving:
            feature[at] = feature[at - 1]
            at -= 1
        feature[at] = moving


def fit_leaves(trees, X, y, n_classes=None, *, l2, seeds, sample_weight=None, n_bootstrap=0,
               balance_subsample=False, n_threads=1, verbose=0):
    """Give the leaves of grown trees linear models.

    Parameters
    ----------
    trees : list of Tree
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        What the trees were grown on.
    y : ndarray of shape (n_samples, n_outputs)
        float64 values, or int32 class codes.
    n_classes : int64 ndarray of shape (n_outputs,), optional
        None for regression.
    l2 : float
        Penalty, see `obtree.linear.leaf_solver`.
    seeds, sample_weight, n_bootstrap, balance_subsample
        As they were for `grow_trees`: they make up the rows of each tree.
    n_threads : int, default=1
    verbose : int, default=0
        1 shows a progress bar.

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
    n_terms = min(X.shape[1], MAX_TERMS)
    work = PRODUCT_WORK * len(trees) * X.shape[0] * n_terms * n_terms
    n_threads = min(choose_threads(work, n_threads, REGION_WORK), len(trees))
    job = LeafJob(trees, X, y, n_classes, seeds, unit, n_bootstrap, sample_weight, balance)
    watch = Watch(job, len(trees), "fitting leaves", verbose)
    try:
        call_detached(job.run, l2, n_threads, watch=watch)
    finally:
        watch.close()
    return job.trees
