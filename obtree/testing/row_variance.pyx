"""A criterion without targets: the variance of the rows themselves.

The impurity of a node is the variance of each column of X over its rows, averaged over the
columns, and a leaf's value is the mean row. It is what squared error would be if X were its own
target, and shows that the contract of criteria has room for growth without supervision.
"""

from libc.math cimport fabs
from libc.stdint cimport uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport X_t, feature_t, idx_t, rounding_tolerance, row_t, w_t
from obtree.criterion.base cimport Criterion, Cut, NodeStats, ScanLimits, is_allowed, keeps_order
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.read cimport read_rows, read_value
from obtree.data.targets cimport TargetView


cdef class RowVariance(Criterion):
    """Variance of the node's rows, averaged over the columns of X."""

    target_kind = "none"

    cdef idx_t _n_features
    cdef w_t _weight                  # of the node
    cdef double _margin               # less than this between two cuts is rounding
    cdef feature_t* _every            # (n_features) 0, 1, ...
    cdef X_t* _x                      # (n * n_features)
    cdef w_t* _w                      # (n)
    cdef double* _moment              # (n * n_features) w (x - mean)
    cdef double* _mean                # (n_features)
    cdef double* _total               # (n_features) sums of _moment, zero but for rounding
    cdef double* _left                # (n_features) the same of the rows left of a cut

    cdef object prepare(self, const FitView* fit):
        """The impurity that rounding leaves, in the units of the columns."""
        cdef const DataView* data = fit.data
        cdef double negligible = 0.0, largest
        cdef feature_t j
        cdef row_t i
        for j in range(data.n_features):
            if data.columns[j].has_missing:
                raise ValueError(f"feature {j} of X has missing values; RowVariance expects none")
            largest = 0.0
            for i in range(data.n_samples):
                largest = max(largest, fabs(read_value(data, i, j)))
            negligible += (rounding_tolerance() * largest) ** 2
        return negligible / data.n_features

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        cdef idx_t j, p = data.n_features
        Criterion.bind(self, data, targets, workspace, max_rows)
        self.n_outputs = self.value_size = self._n_features = p
        self._every = <feature_t*>workspace.take(p, sizeof(feature_t))
        for j in range(p):
            self._every[j] = <feature_t>j
        self.negligible = self.prepared
        self._x = <X_t*>workspace.take(max_rows * p, sizeof(X_t))
        self._w = <w_t*>workspace.take(max_rows, sizeof(w_t))
        self._moment = <double*>workspace.take(max_rows * p, sizeof(double))
        self._mean = <double*>workspace.take(p, sizeof(double))
        self._total = <double*>workspace.take(p, sizeof(double))
        self._left = <double*>workspace.take(p, sizeof(double))
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef idx_t p, j, n_features = self._n_features
        cdef double impurity = 0.0, d
        read_rows(self.data, rows, n, self._every, n_features, self._x)
        self._weight = 0.0
        memset(self._mean, 0, n_features * sizeof(double))
        memset(self._total, 0, n_features * sizeof(double))
        for p in range(n):
            self._w[p] = weight[rows[p]]
            self._weight += self._w[p]
            for j in range(n_features):
                # From the first row: equal rows have it for their mean, exactly.
                self._mean[j] += self._w[p] * (<double>self._x[p * n_features + j]
                                               - <double>self._x[j])
        for j in range(n_features):
            self._mean[j] = <double>self._x[j] + self._mean[j] / self._weight
        for p in range(n):
            for j in range(n_features):
                d = <double>self._x[p * n_features + j] - self._mean[j]
                self._moment[p * n_features + j] = self._w[p] * d
                self._total[j] += self._w[p] * d
                impurity += self._w[p] * d * d
        self._margin = 1e-12 * impurity
        self.goal = impurity - self._margin
        stats.weight = self._weight
        stats.impurity = impurity / (self._weight * n_features)
        stats.level = self._mean[0]
        return 0

    cdef void node_value(self, double* value) noexcept nogil:
        cdef idx_t j
        for j in range(self._n_features):
            value[j] = self._mean[j]

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        """The cut after which the sides' means are farthest from the node's."""
        cdef idx_t i, j, n_features = self._n_features
        cdef const double* moment
        cdef w_t left = 0.0, right
        cdef double score, rest
        memset(self._left, 0, n_features * sizeof(double))
        for i in range(1, n):
            moment = self._moment + word_position(words[i - 1]) * n_features
            left += self._w[word_position(words[i - 1])]
            for j in range(n_features):
                self._left[j] += moment[j]
            right = self._weight - left
            if word_key(words[i - 1]) == word_key(words[i]):
                continue
            if not is_allowed(limits, i, n - i, left, right):
                continue
            score = 0.0
            for j in range(n_features):
                rest = self._total[j] - self._left[j]
                score += self._left[j] * self._left[j] / left + rest * rest / right
            if score <= best.score + self._margin:
                continue
            if limits.monotone != 0 and not keeps_order(
                limits, self._mean[0] + self._left[0] / left,
                self._mean[0] + (self._total[0] - self._left[0]) / right
            ):
                continue
            best.score = score
            best.low_key = word_key(words[i - 1])
            best.high_key = word_key(words[i])
        return 0
