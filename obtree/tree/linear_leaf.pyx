"""Linear leaves: numbers, or scores of which a softmax makes probabilities."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, idx_t
from obtree.tree.leaf_base cimport LeafModel
from obtree.tree.leaf_model cimport LeafModels, predict_leaf

from obtree.data.offset import sum_offsets
from obtree.tree.leaf_base import LeafArray


cdef class LinearLeaf(LeafModel):
    """Linear models of leaves; `obtree.tree.tree.Tree` says what their arrays mean."""

    cdef LeafModels _models

    name = "linear"

    fields = {
        "leaf_ptr": LeafArray(np.int64, "pointer"),
        "leaf_feature": LeafArray(np.int32, "term", is_feature=True),
        "leaf_weight": LeafArray(np.float64, "term", wide=True),
        "leaf_intercept": LeafArray(np.float64, "node", wide=True),
    }

    @staticmethod
    def move(tree, offset):
        """The intercepts for features that are larger by `offset`."""
        added = sum_offsets(offset, tree.leaf_ptr, tree.leaf_feature, tree.leaf_weight)
        with np.errstate(over="ignore", invalid="ignore"):
            return {"leaf_intercept": tree.leaf_intercept + -added}

    @staticmethod
    def describe(tree, node, feature_names, decimals, max_terms):
        """The sum of each output, intercept last, or the features that tell classes apart."""
        # Here, since what shows trees knows them, and they know their leaves.
        from obtree.tree.export import describe_sum

        terms = slice(tree.leaf_ptr[node], tree.leaf_ptr[node + 1])
        names = [str(feature_names[j]) for j in tree.leaf_feature[terms]]
        weight, intercept = tree.leaf_weight[terms], tree.leaf_intercept[node]
        if not names:
            return ""
        if tree.max_n_classes == 1:
            sums = []
            for output in range(tree.n_outputs):
                text = describe_sum(names, weight[:, output], decimals, max_terms)
                sign = "-" if intercept[output] < 0 else "+"
                sums.append(f"{text} {sign} {abs(intercept[output]):.{decimals}f}")
            return ", ".join(sums)
        # Only differences between classes matter.
        spread = np.ptp(weight, axis=1)
        shown = np.sort(np.argsort(-spread, kind="stable")[:max_terms])
        listed = [names[k] for k in shown]
        if len(shown) < len(names):
            listed.append(f"({len(names) - len(shown)} smaller terms)")
        return f"softmax of {', '.join(listed)}"

    @staticmethod
    def estimate_work(tree):
        """Nanoseconds, roughly, that a row takes at a leaf."""
        return 2.0 * tree.leaf_weight.size / (tree.node_count + 1.0)

    cdef int bind(self, object tree) except -1:
        cdef const int64_t[::1] ptr = tree.leaf_ptr
        cdef const int32_t[::1] feature = tree.leaf_feature
        cdef const double[:, ::1] weight = tree.leaf_weight
        cdef const double[:, ::1] intercept = tree.leaf_intercept
        self._models.ptr = &ptr[0]
        self._models.feature = &feature[0]
        self._models.weight = &weight[0, 0]
        self._models.intercept = &intercept[0, 0]
        return 0

    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil:
        cdef idx_t r
        for r in range(n):
            is_known[r] = predict_leaf(&self._models, node[r], self.n_classes, self.n_outputs,
                                       self.max_n_classes, x + r * self.n_features,
                                       values + r * self.n_values)
