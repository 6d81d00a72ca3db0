# From planes to a tree: counts, values and impurities of the nodes, unreached branches dropped.
#
# An optimiser moves planes; afterwards other rows reach a node than before, and some nodes are
# reached by none. The training rows are sent down once more, by the routine that the builders
# and predictors use, and what they leave behind is what the tree records.

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, node_t
from obtree.criterion.base cimport Criterion, NodeStats
from obtree.criterion.registry import make_criterion
from obtree.data.missing cimport heavier_is_left
from obtree.data.term_share cimport measure_term_shares
from obtree.optim.base cimport Problem
from obtree.tree.select import select_nodes

cdef enum:
    UNDECIDED = 2             # in `missing_left`: no row of the node lacks a value


cdef class Measure:
    """What the rows of a problem say of the nodes of a tree."""

    cdef Problem problem
    cdef EditableTree tree
    cdef TreePartition partition
    cdef Criterion criterion          # Gini impurity, or squared error
    cdef Workspace memory
    cdef const int64_t[::1] term_ptr
    cdef uint8_t[::1] missing_left
    cdef int64_t[::1] count
    cdef double[::1] weight
    cdef double[::1] impurity
    cdef double[:, ::1] value
    cdef double[::1] term_share       # by term

    def __init__(self, EditableTree tree, leaf, term_ptr):
        cdef Problem problem = tree.problem
        n_nodes = tree.n_nodes
        self.problem = problem
        self.tree = tree
        self.partition = TreePartition(tree, leaf)
        self.memory = Workspace()
        self.criterion = make_criterion("gini" if problem.n_classes > 0 else "squared_error",
                                        problem._targets)
        self.criterion.bind(&problem.view, &problem._targets.view, self.memory, problem.n_train)
        self.term_ptr = term_ptr
        self.missing_left = np.zeros(n_nodes, dtype=np.uint8)
        self.count = np.zeros(n_nodes, dtype=np.int64)
        self.weight = np.zeros(n_nodes)
        self.impurity = np.zeros(n_nodes)
        self.value = np.zeros((n_nodes, self.criterion.value_size))
        # One place more, so that there is a first.
        self.term_share = np.zeros(term_ptr[n_nodes] + 1)

    cdef int run(self) except -1 nogil:
        """Visit the nodes, parents first; a node's rows are summed side after side."""
        cdef const idx_t* start = self.partition.start
        cdef const idx_t* end = self.partition.end
        cdef idx_t n_values = self.value.shape[1]
        cdef node_t node, left, right
        cdef bint saw_missing = False
        self.criterion.begin_tree(self.partition.index.rows, end[0], self.problem.weight)
        for node in range(<node_t>self.tree.n_nodes):
            left, right = self.tree.left[node], self.tree.right[node]
            if left >= 0:
                measure_term_shares(&self.problem.view, &self.tree.plane[node],
                                    self.partition.index.rows + start[node],
                                    end[node] - start[node],
                                    self.problem.weight, &self.term_share[self.term_ptr[node]])
                saw_missing = self.partition.split(node)
            self._measure(node, start[node], end[node])
            if left < 0:
                continue
            self.missing_left[node] = (self.tree.plane[node].missing_left if saw_missing
                                       else UNDECIDED)
            # Until they are measured, and if no row comes, children have their parent's value.
            memcpy(&self.value[left, 0], &self.value[node, 0], n_values * sizeof(double))
            memcpy(&self.value[right, 0], &self.value[node, 0], n_values * sizeof(double))
        # Rows that lack a value go as chosen, or to the heavier side if none did.
        for node in range(<node_t>self.tree.n_nodes):
            if self.missing_left[node] == UNDECIDED:
                self.missing_left[node] = heavier_is_left(self.weight[self.tree.left[node]],
                                                          self.weight[self.tree.right[node]])
        return 0

    cdef int _measure(self, node_t node, idx_t start, idx_t end) except -1 nogil:
        """Count, weight, impurity and value of a node; all but the count stay without rows."""
        cdef NodeStats stats
        self.count[node] = end - start
        if start == end:
            return 0
        self.criterion.load_node(self.partition.index.rows + start, end - start,
                                 self.problem.weight, &stats)
        self.weight[node] = stats.weight
        self.impurity[node] = stats.impurity
        self.criterion.node_value(&self.value[node, 0])
        return 0

    def to_arrays(self):
        """What was measured, under the names that a Tree has."""
        cdef Problem problem = self.problem
        n_classes = problem.n_classes
        value = np.asarray(self.value)
        return {
            "term_share": np.asarray(self.term_share)[:-1].astype(np.float32),
            "missing_go_left": np.asarray(self.missing_left),
            "impurity": np.asarray(self.impurity),
            "n_node_samples": np.asarray(self.count),
            "weighted_n_node_samples": np.asarray(self.weight) * problem.weight_unit,
            "value": value[:, np.newaxis] if n_classes > 0 else value[:, :, np.newaxis],
            "n_classes": np.array([n_classes] if n_classes > 0 else [1] * problem.n_outputs),
        }


def finish_nodes(EditableTree tree, drop_unreached=True, leaf=None, models=None):
    """Measure the nodes of a tree of planes on the rows of its problem.

    Parameters
    ----------
    tree : EditableTree
        The first ``n_train`` rows of its problem are sent down.
    drop_unreached : bool, default=True
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
    if drop_unreached:
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
