"""A leaf model that obtree does not have: the weighted median of each output."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, idx_t
from obtree.forest.leaf_fitter cimport LeafFitter
from obtree.tree.leaf_models cimport LeafModel

from obtree.forest.leaf_fitter import register_fitter
from obtree.tree.leaf_models import LeafArray, register_leaf


cdef class MedianLeaf(LeafModel):
    """Predicts the median of a leaf's rows."""

    name = "median"
    fields = {"leaf_median": LeafArray(np.float64, "node", wide=True)}

    cdef const double* _median

    @staticmethod
    def describe(tree, node, feature_names, decimals, max_terms):
        """The medians of a leaf."""
        return "median " + ", ".join(f"{v:.{decimals}f}" for v in tree.leaf_median[node])

    cdef int bind(self, object tree) except -1:
        cdef const double[:, ::1] median = tree.leaf_median
        self._median = &median[0, 0]
        return 0

    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil:
        cdef idx_t r, k
        for r in range(n):
            is_known[r] = 1
            for k in range(self.n_values):
                values[r * self.n_values + k] = self._median[node[r] * self.n_values + k]


cdef class MedianFitter(LeafFitter):
    """Fits the quantile of each output that `level` says, the median by default.

    Parameters
    ----------
    level : float, default=0.5
    """

    kind = MedianLeaf
    parameter_names = ("level",)

    cdef readonly double level
    cdef double[:, ::1] _medians

    def __init__(self, *, level=0.5):
        self.level = level

    cdef int begin(self, object tree) except -1:
        if self.problem.n_classes is not None:
            raise ValueError("medians are for regression")
        self._medians = np.array(tree.value[:, :, 0])
        return 0

    cdef int fit(self, idx_t node, const int64_t* rows, idx_t n) except -1 nogil:
        cdef idx_t k, i, m = self.problem.n_outputs
        with gil:
            weight = np.array([self.weight[rows[i]] for i in range(n)])
            for k in range(m):
                y = np.array([self.problem.target[rows[i] * m + k] for i in range(n)])
                order = np.argsort(y, kind="stable")
                reached = np.cumsum(weight[order])
                at = np.searchsorted(reached, self.level * reached[n - 1])
                self._medians[node, k] = y[order[at]]
        return 0

    cdef object collect(self):
        return {"leaf_median": np.asarray(self._medians)}


register_leaf(MedianLeaf)
register_fitter(MedianFitter)
