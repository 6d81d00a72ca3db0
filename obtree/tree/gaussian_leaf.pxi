# Gaussian leaves, a part of leaf_models.pyx: the density of the rows that reach a leaf.
#
# A leaf keeps a mean mu, the lower triangle L by rows of Cholesky's factor of its covariance, and
# a weight: in its cell the density of the tree is exp(log_weight) N(x; mu, L L^T). `mass` is what
# the Gaussian has inside the cell, and the sum of weight times mass over the leaves is 1. Where
# leaves of a forest overlap, cells do not count and all masses are 1.

import numpy as np

from libc.math cimport M_PI, log

from obtree.tree.gaussian cimport MAX_FEATURES, measure_gaussian

from obtree.tree.parts import Spread

#: What logarithms of leaf weights may be, so that their exponentials are numbers.
MAX_LOG_WEIGHT = 700.0


cdef class GaussianLeaf(LeafModel):
    """The logarithm of the density of the rows of a leaf."""

    cdef const double* _mean
    cdef const double* _factor
    cdef const double* _log_weight

    name = "gaussian"

    fields = {
        "leaf_mean": LeafArray(np.float64, "node", columns=lambda d, n_values: d),
        "leaf_factor": LeafArray(np.float64, "node", columns=lambda d, n_values: d * (d + 1) // 2),
        "leaf_log_weight": LeafArray(np.float64, "node"),
        "leaf_mass": LeafArray(np.float64, "node"),
    }

    @staticmethod
    def move(tree, offset):
        """The means for features that are larger by `offset`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return {"leaf_mean": tree.leaf_mean + offset}

    @staticmethod
    def check_values(arrays, is_leaf):
        """Refuse what is no covariance, mass or weight."""
        d = arrays["leaf_mean"].shape[1]
        if d > MAX_FEATURES:
            raise ValueError(f"leaf_mean has {d} columns; expected at most {MAX_FEATURES}")
        diagonal = np.cumsum(np.arange(1, d + 1)) - 1
        if (arrays["leaf_factor"][is_leaf][:, diagonal] <= 0.0).any():
            raise ValueError("leaf_factor must have a positive diagonal")
        if (np.abs(arrays["leaf_log_weight"]) > MAX_LOG_WEIGHT).any():
            raise ValueError(f"leaf_log_weight must be within {MAX_LOG_WEIGHT:g} of zero")
        mass = arrays["leaf_mass"]
        if (mass < 0.0).any() or (mass > 1.0).any():
            raise ValueError("leaf_mass must be from 0 to 1")

    @staticmethod
    def list_parts(tree, node, feature_names):
        """The mean and the deviation of each feature."""
        d = tree.n_features
        factor = np.zeros((d, d))
        factor[np.tril_indices(d)] = tree.leaf_factor[node]
        deviation = np.sqrt((factor**2).sum(axis=1))
        return [Spread([str(name) for name in feature_names], tree.leaf_mean[node], deviation)]

    @staticmethod
    def estimate_work(tree):
        """Nanoseconds, roughly, that a row takes at a leaf once it is there."""
        return 1.0 * tree.leaf_factor.shape[1]

    cdef int bind(self, object tree) except -1:
        cdef const double[:, ::1] mean = tree.leaf_mean
        cdef const double[:, ::1] factor = tree.leaf_factor
        cdef const double[::1] log_weight = tree.leaf_log_weight
        self._mean = &mean[0, 0]
        self._factor = &factor[0, 0]
        self._log_weight = &log_weight[0]
        return 0

    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil:
        cdef idx_t d = self.n_features
        cdef idx_t r, a
        cdef double row[MAX_FEATURES]
        cdef double scratch[MAX_FEATURES]
        for r in range(n):
            is_known[r] = 1
            for a in range(d):
                row[a] = x[r * d + a]
                if row[a] != row[a]:
                    is_known[r] = 0
            if is_known[r]:
                values[r] = self._log_weight[node[r]] + measure_gaussian(
                    row, self._mean + node[r] * d, self._factor + node[r] * (d * (d + 1) // 2),
                    d, scratch) - 0.5 * d * log(2.0 * M_PI)
