# From planes to a tree: counts, values and impurities of the nodes, dead branches dropped.
#
# An optimiser moves planes; afterwards other rows reach a node than before, and some nodes are
# reached by none. The training rows are sent down once more, by the routine that the builders
# and predictors use, and what they leave behind is what the tree records.

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from obtree.core.types cimport idx_t, node_t, row_t, w_t
from obtree.data.missing cimport heavier_is_left
from obtree.data.share cimport share_terms
from obtree.optim.base cimport Problem
from obtree.tree.select import select_nodes


cdef class Measure:
    """What the rows of a problem say of the nodes of a tree."""

    cdef Problem problem
    cdef EditableTree tree
    cdef Descent descent
    cdef const int64_t[::1] term_ptr
    cdef uint8_t[::1] missing_left
    cdef int64_t[::1] count
    cdef double[::1] weight
    cdef double[::1] impurity
    cdef double[:, ::1] value
    cdef double[::1] share            # by term

    def __init__(self, EditableTree tree, leaf, term_ptr):
        cdef Problem problem = tree.problem
        n_nodes = tree.n_nodes
        self.problem = problem
        self.tree = tree
        self.descent = Descent(tree, leaf)
        self.term_ptr = term_ptr
        self.missing_left = np.zeros(n_nodes, dtype=np.uint8)
        self.count = np.zeros(n_nodes, dtype=np.int64)
        self.weight = np.zeros(n_nodes)
        self.impurity = np.zeros(n_nodes)
        self.value = np.zeros((n_nodes, max(problem.n_classes, problem.n_outputs)))
        # One place more, so that there is a first.
        self.share = np.zeros(term_ptr[n_nodes] + 1)

    cdef void run(self) noexcept nogil:
        """Visit the nodes, parents first; a node's rows are summed side after side."""
        cdef const idx_t* start = self.descent.start
        cdef const idx_t* end = self.descent.end
        cdef idx_t n_values = self.value.shape[1]
        cdef node_t node, left, right
        cdef bint saw_missing = False
        for node in range(<node_t>self.tree.n_nodes):
            left, right = self.tree.left[node], self.tree.right[node]
            if left >= 0:
                share_terms(&self.problem.view, &self.tree.plane[node],
                            self.descent.index.rows + start[node], end[node] - start[node],
                            self.problem.weight, &self.share[self.term_ptr[node]])
                saw_missing = self.descent.split(node)
            self._measure(node, start[node], end[node])
            if left < 0:
                continue
            # Rows that lack a value go as chosen, or to the heavier side if none did.
            self.missing_left[node] = (
                self.tree.plane[node].missing_left if saw_missing
                else heavier_is_left(self._weigh(start[left], end[left]),
                                     self._weigh(start[right], end[right])))
            # Until they are measured, and if no row comes, children have their parent's value.
            memcpy(&self.value[left, 0], &self.value[node, 0], n_values * sizeof(double))
            memcpy(&self.value[right, 0], &self.value[node, 0], n_values * sizeof(double))

    cdef w_t _weigh(self, idx_t start, idx_t end) noexcept nogil:
        cdef w_t total = 0.0
        cdef idx_t p
        for p in range(start, end):
            total += self.problem.weight[self.descent.index.rows[p]]
        return total

    cdef void _measure(self, node_t node, idx_t start, idx_t end) noexcept nogil:
        """Count and value of a node."""
        self.count[node] = end - start
        self.weight[node] = self._weigh(start, end)
        if start == end:
            return
        memset(&self.value[node, 0], 0, self.value.shape[1] * sizeof(double))
        if self.problem.n_classes > 0:
            self._measure_classes(node, start, end)
        else:
            self._measure_numbers(node, start, end)

    cdef void _measure_classes(self, node_t node, idx_t start, idx_t end) noexcept nogil:
        """Class fractions and their Gini impurity."""
        cdef const row_t* rows = self.descent.index.rows
        cdef double squares = 0.0
        cdef idx_t p, k
        for p in range(start, end):
            self.value[node, self.problem.codes[rows[p]]] += self.problem.weight[rows[p]]
        for k in range(self.value.shape[1]):
            self.value[node, k] /= self.weight[node]
            squares += self.value[node, k] * self.value[node, k]
        self.impurity[node] = max(1.0 - squares, 0.0)

    cdef void _measure_numbers(self, node_t node, idx_t start, idx_t end) noexcept nogil:
        """Means and the mean of their variances."""
        cdef const row_t* rows = self.descent.index.rows
        cdef idx_t n_outputs = self.problem.n_outputs
        cdef idx_t p, k
        cdef double difference, squares = 0.0, shift
        for k in range(n_outputs):
            # Around a value that occurs, so that a constant target has variance zero.
            shift = self.problem.targets[rows[start] * n_outputs + k]
            for p in range(start, end):
                difference = self.problem.targets[rows[p] * n_outputs + k] - shift
                self.value[node, k] += self.problem.weight[rows[p]] * difference
            self.value[node, k] = shift + self.value[node, k] / self.weight[node]
            for p in range(start, end):
                difference = self.problem.targets[rows[p] * n_outputs + k] - self.value[node, k]
                squares += self.problem.weight[rows[p]] * difference * difference
        self.impurity[node] = squares / (self.weight[node] * n_outputs)

    def to_arrays(self):
        """What was measured, under the names that a Tree has."""
        cdef Problem problem = self.problem
        n_classes = problem.n_classes
        value = np.asarray(self.value)
        return {
            "term_share": np.asarray(self.share)[:-1].astype(np.float32),
            "missing_go_left": np.asarray(self.missing_left),
            "impurity": np.asarray(self.impurity),
            "n_node_samples": np.asarray(self.count),
            "weighted_n_node_samples": np.asarray(self.weight) * problem.weight_unit,
            "value": value[:, np.newaxis] if n_classes > 0 else value[:, :, np.newaxis],
            "n_classes": np.array([n_classes] if n_classes > 0 else [1] * problem.n_outputs),
        }


def finish_nodes(EditableTree tree, drop_dead=True, leaf=None, models=None):
    """Measure the nodes of a tree of planes on the rows of its problem.

    Parameters
    ----------
    tree : EditableTree
        The first ``n_train`` rows of its problem are sent down.
    drop_dead : bool, default=True
        Whether a node of which one side is empty is replaced by its other child. A node
        without rows that stays has its parent's value.
    leaf : ndarray of int32 of shape (n_train,), optional
        The leaf that each row reaches, if that is known already and no value is missing.
    models : mapping of str to ndarray, optional
        Models of the leaves, under the names that a Tree has.

    Returns
    -------
    nodes : dict of str to ndarray
        All arrays that `Tree.from_arrays` needs, nodes in depth-first order.
    origin : ndarray of int64
        The node of `tree` that each new node was.
    """
    arrays = tree.to_arrays()
    cdef Measure measure = Measure(tree, leaf, arrays["term_ptr"])
    cdef idx_t i
    with nogil:
        measure.run()
    arrays |= measure.to_arrays() | (models or {})
    kept = np.arange(tree.n_nodes)
    stand_in = kept.copy()
    cdef int64_t[::1] takes_place = stand_in
    if drop_dead:
        # Nobody went one way: what stands for the other child takes the place of the node.
        for i in range(tree.n_nodes - 1, -1, -1):
            if tree.left[i] < 0:
                continue
            if measure.count[tree.left[i]] == 0:
                takes_place[i] = takes_place[tree.right[i]]
            elif measure.count[tree.right[i]] == 0:
                takes_place[i] = takes_place[tree.left[i]]
        kept = np.flatnonzero((stand_in == kept) & (arrays["n_node_samples"] > 0))
    left, right = (
        np.where(arrays[name][kept] < 0, -1, stand_in[arrays[name][kept]])
        for name in ("children_left", "children_right")
    )
    return select_nodes(arrays, kept, left, right), kept
