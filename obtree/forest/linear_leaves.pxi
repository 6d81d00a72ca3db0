# Linear models for the leaves of grown trees; a part of forest/leaf_fitter.pyx.
#
# Of each leaf that is worth it: ridge regression, or logistic regression, on the features of its
# rows (linear/leaf_solver.pyx).

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport OBTREE_FLOAT_ROWS
from obtree.core.memory cimport Workspace, free_block, grow_block
from obtree.core.names import show
from obtree.core.params import Number, check_param
from obtree.core.types cimport X_t, idx_t, w_t
from obtree.linear.best_columns cimport sort_features
from obtree.linear.leaf_solver cimport LeafSolver
from obtree.tree.leaf_models import LinearLeaf
from obtree.tree.path import find_parents
from obtree.tree.rows cimport RowView, Rows, clear_block, load_block, prepare_block

cdef enum:
    # Models of wider data use the features that the splits above the leaf test, those next to
    # the leaf first.
    MAX_TERMS = 128

# Nanoseconds that a product of two cells of a row takes, of all pairs of features; roughly and at
# least, to choose how many threads.
cdef double PRODUCT_WORK = 2.0

# Larger penalties leave nothing of a model.
MAX_L2 = 1e100

# Total weight below which a leaf stays constant.
MIN_WEIGHT = 10.0

# So does a leaf of which less than this, half a row, is not of its main class: next to nothing
# says what a model should tell apart.
cdef double MIN_OTHERS = 0.5

# A feature that a larger fraction of the leaf's rows lacks is left out; rows that lack one of the
# others take no part.
cdef double MAX_MISSING_FRACTION = 0.1


cdef class LinearFitter(LeafFitter):
    """Fits linear leaves.

    Parameters
    ----------
    l2 : float, default=1.0
        Penalty, see `obtree.linear.leaf_solver`.
    """

    kind = LinearLeaf
    parameter_names = ("l2",)

    cdef readonly double l2
    cdef LeafSolver _solver
    cdef Workspace _workspace
    cdef Rows _rows
    cdef double _min_weight
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
    # Of one tree.
    cdef const int64_t[::1] _parent
    cdef const int64_t[::1] _term_ptr
    cdef const int32_t[::1] _term_feature
    cdef const double[:, :, ::1] _value
    cdef const double[::1] _total
    # What has been fitted so far; the terms grow.
    cdef int64_t[::1] _lengths        # (n_nodes)
    cdef double[:, ::1] _intercepts   # (n_nodes, n_values)
    cdef int32_t* _all_features
    cdef double* _all_weights
    cdef idx_t _n_terms
    cdef idx_t _capacity

    def __cinit__(self):
        self._block = self._y = self._w = NULL
        self._labels = NULL
        self._all_features = NULL
        self._all_weights = NULL
        self._n_block = self._n_leaf = self._n_terms = self._capacity = 0

    def __init__(self, *, l2=1.0):
        self.l2 = check_param("l2", l2, Number(0.0, MAX_L2, open_low=True))

    def __dealloc__(self):
        free_block(self._block)
        free_block(self._y)
        free_block(self._labels)
        free_block(self._w)
        free_block(self._all_features)
        free_block(self._all_weights)

    def check_criterion(self, criterion):
        """Refuse a criterion of trees whose leaves are not means."""
        if criterion in ("absolute_error", "poisson"):
            raise ValueError(
                f"criterion={show(criterion)} cannot be used with leaf='linear', whose models "
                "minimise squared errors; expected 'squared_error' or 'friedman_mse'"
            )

    def estimate_work(self, n_features):
        """Nanoseconds, roughly and at least, that a row takes: to choose how many threads."""
        n_terms = min(n_features, MAX_TERMS)
        return PRODUCT_WORK * n_terms * n_terms

    cdef int bind(self, LeafProblem problem) except -1:
        cdef idx_t n_features = problem.n_features
        cdef idx_t max_terms = min(n_features, <idx_t>MAX_TERMS), n_values
        LeafFitter.bind(self, problem)
        self._workspace = Workspace()
        self._rows = problem.rows
        self._min_weight = MIN_WEIGHT
        self._solver = LeafSolver(problem.n_outputs, problem.n_classes, self.l2)
        self._solver.stop = self.stop
        n_values = problem.n_outputs * self._solver.max_n_classes
        self._x = <X_t*>self._workspace.take(n_features, sizeof(X_t))
        self._seen = <uint8_t*>self._workspace.take(n_features, 1)
        self._feature = <int32_t*>self._workspace.take(max_terms, sizeof(int32_t))
        self._missing = <w_t*>self._workspace.take(max_terms, sizeof(w_t))
        self._model = <double*>self._workspace.take(max_terms * n_values, sizeof(double))
        self._intercept = <double*>self._workspace.take(n_values, sizeof(double))
        memset(self._seen, 0, n_features)
        prepare_block(&self._rows.view, OBTREE_FLOAT_ROWS, n_features, self._x)
        return 0

    cdef int begin(self, object tree) except -1:
        n_values = tree.n_outputs * tree.max_n_classes
        self._parent = find_parents(tree.children_left, tree.children_right)
        self._term_ptr = tree.term_ptr
        self._term_feature = tree.term_feature
        self._value = tree.value
        self._total = tree.weighted_n_node_samples
        self._lengths = np.zeros(tree.node_count, dtype=np.int64)
        self._intercepts = np.zeros((tree.node_count, n_values))
        self._n_terms = 0
        return 0

    cdef int fit(self, idx_t node, const int64_t* rows, idx_t n) except -1 nogil:
        cdef idx_t n_terms
        if self._is_pure(&self._value[node, 0, 0],
                         self._total[node] / self.problem.weight_unit):
            return 0
        n_terms = self._fit_terms(rows, n, self._list_features(node))
        if n_terms > 0:
            self._lengths[node] = n_terms
            memcpy(&self._intercepts[node, 0], self._intercept,
                   self._intercepts.shape[1] * sizeof(double))
        return 0

    cdef object collect(self):
        cdef idx_t n_values = self._intercepts.shape[1]
        cdef int32_t[::1] feature
        cdef double[:, ::1] weight
        if self._n_terms == 0:
            return None
        feature = np.empty(self._n_terms, dtype=np.int32)
        weight = np.empty((self._n_terms, n_values))
        memcpy(&feature[0], self._all_features, self._n_terms * sizeof(int32_t))
        memcpy(&weight[0, 0], self._all_weights, self._n_terms * n_values * sizeof(double))
        return {
            "leaf_ptr": np.concatenate([[0], np.cumsum(self._lengths)]),
            "leaf_feature": np.asarray(feature),
            "leaf_weight": np.asarray(weight),
            "leaf_intercept": np.asarray(self._intercepts),
        }

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

    cdef idx_t _list_features(self, idx_t node) noexcept nogil:
        """Candidates for the model of a leaf, in ascending order. Returns how many."""
        cdef idx_t n = 0
        cdef idx_t k, j
        if self.problem.n_features <= MAX_TERMS:
            for j in range(self.problem.n_features):
                self._feature[j] = <int32_t>j
            return self.problem.n_features
        while node > 0 and n < MAX_TERMS:
            node = self._parent[node]
            for k in range(self._term_ptr[node], self._term_ptr[node + 1]):
                if n < MAX_TERMS and not self._seen[self._term_feature[k]]:
                    self._seen[self._term_feature[k]] = 1
                    self._feature[n] = self._term_feature[k]
                    n += 1
        for k in range(n):
            self._seen[self._feature[k]] = 0
        sort_features(self._feature, n)
        return n

    cdef idx_t _fit_terms(self, const int64_t* rows, idx_t n, idx_t q) except -1 nogil:
        """Fit the rows of one leaf and add its terms to the tree's. Returns how many."""
        cdef idx_t n_values = self._solver.n_outputs * self._solver.max_n_classes
        cdef idx_t k, j, v, n_used
        cdef w_t total = 0.0
        cdef bint is_needed
        if q == 0:
            return 0
        for k in range(n):
            total += self.weight[rows[k]]
        if total < self._min_weight:
            return 0
        self._reserve_rows(n, q)
        n = self._gather(rows, n, &q)
        total = 0.0
        for k in range(n):
            total += self._w[k]
        if q == 0 or total < self._min_weight or not self._solver.fit(
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
        cdef const w_t* given = self.problem.sample_weight
        cdef w_t total = 0.0, here
        cdef const RowView* view = &self._rows.view
        for j in range(q):
            self._missing[j] = 0.0
        for k in range(n):
            row = rows[k]
            here = 1.0 if given == NULL else given[row]
            total += here
            load_block(view, row, row + 1, OBTREE_FLOAT_ROWS, self._x)
            for j in range(q):
                x = self._x[self._feature[j]]
                self._block[k * width + j] = x
                if x != x:
                    self._missing[j] += here
            clear_block(view, row, row + 1, OBTREE_FLOAT_ROWS, self._x)
        n_kept = 0
        for j in range(q):
            if self._missing[j] <= MAX_MISSING_FRACTION * total:
                n_kept += 1
        # Both only move towards the front, so nothing is overwritten before it is read.
        for k in range(n):
            is_complete = True
            row = 0
            for j in range(q):
                if self._missing[j] <= MAX_MISSING_FRACTION * total:
                    x = self._block[k * width + j]
                    is_complete = is_complete and x == x
                    self._block[n_complete * (n_kept + 1) + row] = x
                    row += 1
            if not is_complete:
                continue
            self._w[n_complete] = self.weight[rows[k]]
            for j in range(m):
                if self.problem.codes != NULL:
                    self._labels[n_complete * m + j] = self.problem.codes[rows[k] * m + j]
                else:
                    self._y[n_complete * m + j] = self.problem.target[rows[k] * m + j]
            n_complete += 1
        row = 0
        for j in range(q):
            if self._missing[j] <= MAX_MISSING_FRACTION * total:
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
