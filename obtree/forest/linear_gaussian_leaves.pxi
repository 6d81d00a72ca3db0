# Lines with Gaussian noise for the leaves of grown trees; a part of forest/leaf_fitter.pyx.
#
# Every leaf gets a ridge regression (linear/gaussian_line.pxd), what the coefficients' posterior
# covariance is made of, and a variance of the noise. Leaves have few rows: the noise of each is
# drawn towards that of all leaves of its tree, as if so many rows more had shown that. A row that
# a bootstrap has drawn several times is no more than one, so what a fit uses up, and how unsure it
# is, grows by the mean number of times that the leaf's rows were drawn.

import numpy as np

from libc.float cimport DBL_MAX
from libc.math cimport fabs, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t

from obtree.core.dispatch cimport OBTREE_FLOAT_ROWS
from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport idx_t, rounding_tolerance, w_t
from obtree.linear.gaussian_line cimport (
    add_line_row, clear_sums, count_free, count_sums, find_coefficients, fit_output, invert_gram,
)
from obtree.linear.best_columns cimport insert_best, sort_features
from obtree.tree.leaf_models import LinearGaussianLeaf, count_regressors
from obtree.tree.rows cimport clear_block, load_block

# Rows that the noise of the whole tree counts for in a leaf.
cdef double NOISE_ROWS = 5.0

# How far a prediction may lie from the targets of its leaf, as a fraction of their range.
cdef double MARGIN = 0.25

# Smallest and largest variance of a noise; densities stay finite where there is none.
cdef double LEAST_NOISE = 1e-200
cdef double MOST_NOISE = 1e300

# A feature that varies by less than float32 can tell is constant.
cdef double LEAST_SPREAD = 1e-6


cdef class LinearGaussianFitter(LinearFitter):
    """Fits lines with Gaussian noise.

    Parameters
    ----------
    l2 : float, default=1.0
        Penalty of the coefficients, in rows.
    """

    kind = LinearGaussianLeaf

    cdef idx_t _max_regressors
    cdef idx_t _n_candidates          # columns of the block of a leaf
    cdef double* _moments             # (2, max_terms) mean and deviation of each candidate
    cdef double* _rating              # (max_regressors) squared correlations
    cdef int32_t* _chosen             # (max_regressors) places among the candidates
    cdef double* _row                 # 1, regressors, outputs
    cdef double* _sums
    cdef double* _inverse
    cdef double* _turned
    cdef double* _squares             # (n_outputs) what the lines of a leaf leave
    cdef double* _centre_y            # (n_outputs)
    cdef double* _least               # (n_outputs) smallest variance
    # What has been fitted so far; terms grow. Each has a feature, centre and spread, n_outputs
    # weights, and a row of `inverse`.
    cdef double* _terms
    cdef idx_t _term_size
    cdef double[:, :, ::1] _range     # (n_nodes, 2, n_outputs)
    cdef double[:, ::1] _left_over    # (n_nodes, n_outputs) sums of squares
    cdef double[::1] _free            # (n_nodes) degrees of freedom behind them
    cdef double[::1] _shares          # (n_nodes)

    def __cinit__(self):
        self._terms = NULL

    def __dealloc__(self):
        free_block(self._terms)

    def check_criterion(self, criterion):
        """Refuse a criterion of trees whose leaves are not means."""
        if criterion in ("absolute_error", "poisson"):
            raise ValueError(
                f"criterion={show(criterion)} cannot be used with leaf='linear_gaussian', whose "
                "models minimise squared errors; expected 'linear_gaussian', 'squared_error' or "
                "'friedman_mse'"
            )

    cdef int bind(self, LeafProblem problem) except -1:
        cdef idx_t m = problem.n_outputs, max_terms = min(problem.n_features, <idx_t>MAX_TERMS)
        cdef idx_t q, i, k
        cdef double largest
        if problem.target == NULL:
            raise ValueError("leaf='linear_gaussian' predicts numbers; expected a regressor")
        LinearFitter.bind(self, problem)
        self._max_regressors = q = count_regressors(problem.n_features, m)
        self._term_size = 3 + m + q
        self._moments = <double*>self._workspace.take(2 * max_terms, sizeof(double))
        self._rating = <double*>self._workspace.take(q, sizeof(double))
        self._chosen = <int32_t*>self._workspace.take(q, sizeof(int32_t))
        self._row = <double*>self._workspace.take(1 + q + m, sizeof(double))
        self._sums = <double*>self._workspace.take(count_sums(q, m), sizeof(double))
        self._inverse = <double*>self._workspace.take(q * q + q, sizeof(double))
        self._turned = <double*>self._workspace.take(2 * q, sizeof(double))
        self._squares = <double*>self._workspace.take(m, sizeof(double))
        self._centre_y = <double*>self._workspace.take(m, sizeof(double))
        self._least = <double*>self._workspace.take(m, sizeof(double))
        for k in range(m):
            largest = 0.0
            for i in range(problem.n_rows):
                largest = max(largest, fabs(problem.target[i * m + k]))
            largest *= rounding_tolerance()
            self._least[k] = min(max(largest * largest, LEAST_NOISE), MOST_NOISE)
        return 0

    cdef int begin(self, object tree) except -1:
        LinearFitter.begin(self, tree)
        self._range = np.zeros((tree.node_count, 2, tree.n_outputs))
        self._left_over = np.zeros((tree.node_count, tree.n_outputs))
        self._free = np.zeros(tree.node_count)
        self._shares = np.zeros(tree.node_count)
        return 0

    cdef int fit(self, idx_t node, const int64_t* rows, idx_t n) except -1 nogil:
        cdef idx_t m = self.problem.n_outputs, q = self._list_features(node), k, p
        cdef double total = 0.0, repeats = 0.0, used
        self._n_candidates = q
        self._reserve_rows(n, q)
        for p in range(n):
            self._w[p] = self.weight[rows[p]]
            total += self._w[p]
            used = 1.0 if self.problem.sample_weight == NULL else (
                self.problem.sample_weight[rows[p]]
            )
            repeats += self._w[p] * self._w[p] / used
        repeats /= total
        self._load_rows(rows, n, q)
        q = self._choose_regressors(n, q) if total >= self._min_weight else 0
        self._sum_rows(n, q)
        used = invert_gram(self._sums, q, self.l2, self._inverse)
        if used < 0.0:
            q = 0
            used = 0.0
            self._sum_rows(n, q)
        self._reserve_lines(q)
        for k in range(m):
            self._squares[k] = fit_output(self._sums, q, k, self._inverse, self._turned)
            find_coefficients(self._inverse, self._turned, q, self._model + k, m)
            if not isfinite(self._squares[k]):
                self._squares[k] = MOST_NOISE
            self._left_over[node, k] = self._squares[k]
            self._find_range(n, k, &self._range[node, 0, k], &self._range[node, 1, k])
            self._intercepts[node, k] = self._centre_y[k]
        self._free[node] = count_free(total, repeats * (1.0 + used) - 1.0)
        self._shares[node] = repeats / total
        self._lengths[node] = q
        self._store_terms(q, sqrt(repeats))
        return 0

    cdef object collect(self):
        cdef idx_t m = self.problem.n_outputs, q = self._max_regressors
        cdef const double[:, ::1] terms = np.zeros((1, self._term_size))
        if self._n_terms > 0:
            terms = <double[:self._n_terms, :self._term_size]>self._terms
        all_terms = np.array(terms)[:self._n_terms]
        free, left_over = np.asarray(self._free)[:, np.newaxis], np.asarray(self._left_over)
        prior = left_over.sum(axis=0) / free.sum()
        least = np.array(<double[:m]>self._least)
        noise = (left_over + NOISE_ROWS * prior) / (free + NOISE_ROWS)
        noise = np.minimum(np.maximum(noise, least), MOST_NOISE)
        noise[free[:, 0] == 0.0] = 0.0
        return {
            "leaf_line_ptr": np.concatenate([[0], np.cumsum(self._lengths)]),
            "leaf_line_feature": all_terms[:, 0].astype(np.int32),
            "leaf_line_centre": all_terms[:, 1],
            "leaf_line_spread": all_terms[:, 2],
            "leaf_line_weight": all_terms[:, 3:3 + m],
            "leaf_line_inverse": all_terms[:, 3 + m:3 + m + q],
            "leaf_line_mean": np.asarray(self._intercepts),
            "leaf_line_low": np.asarray(self._range)[:, 0],
            "leaf_line_high": np.asarray(self._range)[:, 1],
            "leaf_line_noise": noise,
            "leaf_line_share": np.asarray(self._shares),
        }

    cdef void _load_rows(self, const int64_t* rows, idx_t n, idx_t q) noexcept nogil:
        """Copy the candidates and targets of a leaf, the latter about their mean."""
        cdef idx_t m = self.problem.n_outputs, p, j, k
        cdef double total = 0.0, first
        for p in range(n):
            load_block(&self._rows.view, rows[p], rows[p] + 1, OBTREE_FLOAT_ROWS, self._x)
            for j in range(q):
                self._block[p * q + j] = self._x[self._feature[j]]
            clear_block(&self._rows.view, rows[p], rows[p] + 1, OBTREE_FLOAT_ROWS, self._x)
            total += self._w[p]
        for k in range(m):
            # From the first target: equal ones have it for their mean, exactly.
            first = self.problem.target[rows[0] * m + k]
            self._centre_y[k] = 0.0
            for p in range(n):
                self._y[p * m + k] = self.problem.target[rows[p] * m + k] - first
                self._centre_y[k] += self._w[p] / total * self._y[p * m + k]
            for p in range(n):
                self._y[p * m + k] -= self._centre_y[k]
            self._centre_y[k] += first

    cdef void _find_range(self, idx_t n, idx_t k, double* low, double* high) noexcept nogil:
        """What an output may be predicted as."""
        cdef idx_t m = self.problem.n_outputs, p
        cdef double margin
        low[0] = high[0] = 0.0
        for p in range(n):
            low[0] = min(low[0], self._y[p * m + k])
            high[0] = max(high[0], self._y[p * m + k])
        margin = MARGIN * (high[0] - low[0])
        low[0] = max(self._centre_y[k] + (low[0] - margin), -DBL_MAX)
        high[0] = min(self._centre_y[k] + (high[0] + margin), DBL_MAX)

    cdef idx_t _choose_regressors(self, idx_t n, idx_t n_candidates) noexcept nogil:
        """Take the candidates that correlate best with the targets; how many."""
        cdef idx_t j, q = 0
        cdef double rating
        for j in range(n_candidates):
            if self._measure_candidate(j, n, n_candidates):
                rating = 0.0
                if n_candidates > self._max_regressors:
                    rating = self._rate_candidate(j, n, n_candidates)
                insert_best(self._chosen, self._rating, &q, self._max_regressors, <int32_t>j,
                            rating)
        sort_features(self._chosen, q)
        return q

    cdef bint _measure_candidate(self, idx_t j, idx_t n, idx_t width) noexcept nogil:
        """Find the mean and deviation of the rows that have the feature; whether it varies."""
        cdef double mean = 0.0, variance = 0.0, total = 0.0, largest = 0.0, first = 0.0, x
        cdef idx_t p
        for p in range(n):
            x = self._block[p * width + j]
            if x == x:
                if total == 0.0:
                    first = x
                total += self._w[p]
                mean += self._w[p] * (x - first)
                largest = max(largest, fabs(x))
        if total == 0.0:
            return False
        mean = first + mean / total
        for p in range(n):
            x = self._block[p * width + j] - mean
            if x == x:
                variance += self._w[p] * x * x
        self._moments[2 * j] = mean
        self._moments[2 * j + 1] = sqrt(variance / total)
        return self._moments[2 * j + 1] > LEAST_SPREAD * largest

    cdef double _rate_candidate(self, idx_t j, idx_t n, idx_t width) noexcept nogil:
        """Squared correlation with the targets, times the rows' weight, summed over outputs."""
        cdef idx_t m = self.problem.n_outputs, p, k
        cdef double rating = 0.0, cross, spread, z
        for k in range(m):
            cross = spread = 0.0
            for p in range(n):
                z = self._standardise(j, self._block[p * width + j])
                cross += self._w[p] * z * self._y[p * m + k]
                spread += self._w[p] * self._y[p * m + k] * self._y[p * m + k]
            if spread > 0.0:
                rating += cross * cross / spread
        return rating

    cdef inline double _standardise(self, idx_t j, double x) noexcept nogil:
        """A candidate about its mean; the mean where it is missing."""
        cdef double z = (x - self._moments[2 * j]) / self._moments[2 * j + 1]
        return z if z == z else 0.0

    cdef void _sum_rows(self, idx_t n, idx_t q) noexcept nogil:
        """Sums of the leaf's rows."""
        cdef idx_t m = self.problem.n_outputs, width = self._n_candidates, p, a, k
        clear_sums(self._sums, q, m)
        self._row[0] = 1.0
        for p in range(n):
            for a in range(q):
                self._row[1 + a] = self._standardise(
                    self._chosen[a], self._block[p * width + self._chosen[a]]
                )
            for k in range(m):
                self._row[1 + q + k] = self._y[p * m + k]
            add_line_row(self._sums, self._row, q, m, self._w[p])

    cdef void _store_terms(self, idx_t q, double stretch) noexcept nogil:
        """Add a leaf's terms to those of the tree, for features as they are."""
        cdef idx_t m = self.problem.n_outputs, a, b, k
        cdef double* term = self._terms + self._n_terms * self._term_size
        cdef double spread
        for a in range(q):
            spread = self._moments[2 * self._chosen[a] + 1]
            term[0] = self._feature[self._chosen[a]]
            term[1] = self._moments[2 * self._chosen[a]]
            term[2] = spread
            for k in range(m):
                term[3 + k] = self._model[a * m + k] / spread
            for b in range(self._max_regressors):
                term[3 + m + b] = 0.0
                if b <= a:
                    term[3 + m + b] = (stretch * self._inverse[a * q + b]
                                       / self._moments[2 * self._chosen[b] + 1])
            term += self._term_size
        self._n_terms += q

    cdef int _reserve_lines(self, idx_t n_more) except -1 nogil:
        """Room for so many terms more."""
        cdef idx_t capacity = self._n_terms + n_more
        if capacity > self._capacity:
            capacity += self._capacity
            self._terms = <double*>grow_block(self._terms, capacity * self._term_size,
                                              sizeof(double))
            self._capacity = capacity
        return 0
