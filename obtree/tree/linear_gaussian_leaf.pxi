# Leaves that predict a distribution: a line and how sure it is; a part of tree/leaf_models.pyx.
#
# At x a leaf predicts a Gaussian for each output,
#
#     mean      mean + sum(weight[k] * z[k])          z[k] = x[feature[k]] - centre[k]
#     variance  noise * (1 + share + |inverse z|^2)
#
# (Criminisi, Shotton and Konukoglu 2011, section 4.2): `share` is one over the weight of the
# leaf's rows, in rows, and inverse' inverse the inverse of the regressors' Gram matrix. A row that
# lacks a regressor gets z = 0, the mean of the leaf's rows, and what the regressor varies by there
# times its weight is added to the variance. The mean stays between `low` and `high`: far from the
# leaf's rows a line says little.

import numpy as np

from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, idx_t

from obtree.tree.parts import WeightedSum

cdef enum:
    # Regressors of a leaf, at most: it keeps half a square of numbers for them.
    MAX_REGRESSORS = 24

# Variances stay finite.
cdef double MOST_VARIANCE = 1e300


def count_regressors(n_features, n_values):
    """How many regressors a leaf has at most."""
    return min(n_features, MAX_REGRESSORS)


cdef class LinearGaussianLeaf(LeafModel):
    """Lines with Gaussian noise."""

    name = "linear_gaussian"

    has_variance = True

    fields = {
        "leaf_line_ptr": LeafArray(np.int64, "pointer"),
        "leaf_line_feature": LeafArray(np.int32, "term", is_feature=True),
        "leaf_line_centre": LeafArray(np.float64, "term"),
        "leaf_line_spread": LeafArray(np.float64, "term"),
        "leaf_line_weight": LeafArray(np.float64, "term", wide=True),
        "leaf_line_inverse": LeafArray(np.float64, "term", columns=count_regressors),
        "leaf_line_mean": LeafArray(np.float64, "node", wide=True),
        "leaf_line_low": LeafArray(np.float64, "node", wide=True),
        "leaf_line_high": LeafArray(np.float64, "node", wide=True),
        "leaf_line_noise": LeafArray(np.float64, "node", wide=True),
        "leaf_line_share": LeafArray(np.float64, "node"),
    }

    cdef const int64_t* _ptr
    cdef const int32_t* _feature
    cdef const double* _centre
    cdef const double* _spread
    cdef const double* _weight
    cdef const double* _inverse
    cdef const double* _mean
    cdef const double* _low
    cdef const double* _high
    cdef const double* _noise
    cdef const double* _share
    cdef idx_t _width                 # of a row of _inverse

    @staticmethod
    def is_needed(tree):
        """A leaf without a line still has a variance."""
        return True

    @staticmethod
    def move(tree, offset):
        """The centres for features that are larger by `offset`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return {"leaf_line_centre": tree.leaf_line_centre + offset[tree.leaf_line_feature]}

    @staticmethod
    def check_values(arrays, is_leaf):
        """Refuse variances that are not positive, and more regressors than a leaf may have."""
        ptr, inverse = arrays["leaf_line_ptr"], arrays["leaf_line_inverse"]
        if np.diff(ptr).max(initial=0) > inverse.shape[1]:
            raise ValueError(
                f"leaf_line_ptr gives a leaf {np.diff(ptr).max()} terms; expected at most "
                f"{inverse.shape[1]}"
            )
        if not (arrays["leaf_line_noise"][is_leaf] > 0.0).all():
            raise ValueError("leaf_line_noise must be positive at leaves")
        if (arrays["leaf_line_low"] > arrays["leaf_line_high"]).any():
            raise ValueError("leaf_line_low must not be above leaf_line_high")
        for name in ("leaf_line_share", "leaf_line_spread"):
            if (arrays[name] < 0.0).any():
                raise ValueError(f"{name} must not be negative")

    @staticmethod
    def list_parts(tree, node, feature_names):
        """The line of each output and the deviation of its noise."""
        terms = slice(tree.leaf_line_ptr[node], tree.leaf_line_ptr[node + 1])
        names = [str(feature_names[j]) for j in tree.leaf_line_feature[terms]]
        weight, centre = tree.leaf_line_weight[terms], tree.leaf_line_centre[terms]
        return [
            WeightedSum(
                names,
                weight[:, output],
                float(tree.leaf_line_mean[node, output] - weight[:, output] @ centre),
                float(tree.leaf_line_noise[node, output] ** 0.5),
            )
            for output in range(tree.n_outputs)
        ]

    @staticmethod
    def estimate_work(tree):
        """Nanoseconds, roughly, that a row takes at a leaf once it is there."""
        return 2.0 * tree.leaf_line_weight.size / (tree.node_count + 1.0)

    cdef int bind(self, object tree) except -1:
        cdef const int64_t[::1] ptr = tree.leaf_line_ptr
        cdef const int32_t[::1] feature = tree.leaf_line_feature
        cdef const double[::1] centre = tree.leaf_line_centre
        cdef const double[::1] spread = tree.leaf_line_spread
        cdef const double[:, ::1] weight = tree.leaf_line_weight
        cdef const double[:, ::1] inverse = tree.leaf_line_inverse
        cdef const double[:, ::1] mean = tree.leaf_line_mean
        cdef const double[:, ::1] low = tree.leaf_line_low
        cdef const double[:, ::1] high = tree.leaf_line_high
        cdef const double[:, ::1] noise = tree.leaf_line_noise
        cdef const double[::1] share = tree.leaf_line_share
        self._ptr = &ptr[0]
        self._mean = &mean[0, 0]
        self._low = &low[0, 0]
        self._high = &high[0, 0]
        self._noise = &noise[0, 0]
        self._share = &share[0]
        self._width = inverse.shape[1]
        if feature.shape[0] > 0:
            self._feature = &feature[0]
            self._centre = &centre[0]
            self._spread = &spread[0]
            self._weight = &weight[0, 0]
            self._inverse = &inverse[0, 0]
        return 0

    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil:
        cdef idx_t r
        for r in range(n):
            self._predict_row(node[r], x + r * self.n_features, values + r * self.n_values, NULL)
            is_known[r] = 1

    cdef void predict_variance(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                               double* variance) noexcept nogil:
        cdef idx_t r
        for r in range(n):
            self._predict_row(node[r], x + r * self.n_features, values + r * self.n_values,
                              variance + r * self.n_values)

    cdef void _predict_row(self, idx_t node, const X_t* row, double* mean,
                           double* variance) noexcept nogil:
        """OUT mean, variance (n_values); the latter unless NULL."""
        cdef double z[MAX_REGRESSORS]
        cdef const double* inverse
        cdef int64_t first = self._ptr[node]
        cdef idx_t q = self._ptr[node + 1] - first
        cdef idx_t m = self.n_values, k, a, v
        cdef double leverage = self._share[node], total
        for v in range(m):
            mean[v] = self._mean[node * m + v]
        for k in range(q):
            z[k] = <double>row[self._feature[first + k]] - self._centre[first + k]
            if z[k] != z[k]:
                z[k] = 0.0
            for v in range(m):
                mean[v] += self._weight[(first + k) * m + v] * z[k]
        for v in range(m):
            # Whatever is no number is the mean.
            if not isfinite(mean[v]):
                mean[v] = self._mean[node * m + v]
            mean[v] = min(max(mean[v], self._low[node * m + v]), self._high[node * m + v])
        if variance == NULL:
            return
        for k in range(q):
            inverse = self._inverse + (first + k) * self._width
            total = 0.0
            for a in range(k + 1):
                total += inverse[a] * z[a]
            leverage += total * total
        for v in range(m):
            variance[v] = self._noise[node * m + v] * (1.0 + leverage)
        for k in range(q):
            if row[self._feature[first + k]] != row[self._feature[first + k]]:
                for v in range(m):
                    total = (self._weight[(first + k) * m + v] * self._spread[first + k])
                    variance[v] += total * total
        for v in range(m):
            variance[v] = min(variance[v], MOST_VARIANCE)
