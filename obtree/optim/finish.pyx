"""From planes to a tree: counts, values and impurities of the nodes, dead branches dropped.

An optimiser moves planes; afterwards other rows reach a node than before, and some nodes are
reached by none. The training rows are sent down once more, by the routine that the builders
and predictors use, and what they leave behind is what the tree records.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport feature_t, idx_t, node_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, goes_left
from obtree.data.project cimport project_rows
from obtree.data.share cimport share_terms
from obtree.optim.base cimport Problem


cdef struct OpenNode:
    node_t old                # node of the given arrays
    node_t parent             # node of the new ones; -1 at the root
    bint is_left
    idx_t start               # its rows stand at start:end
    idx_t end


cdef class Finisher:
    """The rows on their way down a tree."""

    cdef Problem problem
    cdef row_t[::1] rows
    cdef row_t[::1] spare
    cdef double[::1] projection
    cdef const node_t[::1] left
    cdef const node_t[::1] right
    cdef const double[::1] threshold
    cdef const int64_t[::1] term_ptr
    cdef feature_t[::1] term_feature
    cdef w_t[::1] term_weight
    cdef const uint8_t[::1] missing_left
    cdef const node_t[::1] leaf       # by row, if known
    cdef bint is_known
    # The tree under construction, room for as many nodes as there were.
    cdef idx_t n_nodes
    cdef node_t[::1] old_id
    cdef node_t[::1] new_left
    cdef node_t[::1] new_right
    cdef uint8_t[::1] new_missing
    cdef int64_t[::1] count
    cdef double[::1] weight
    cdef double[::1] impurity
    cdef double[:, ::1] value
    cdef double[::1] share            # by term of the given arrays

    def __init__(self, Problem problem, arrays, leaf):
        n = problem.n_train
        n_nodes = len(arrays["children_left"])
        self.problem = problem
        self.rows = np.arange(n, dtype=np.int32)
        self.spare = np.empty(n, dtype=np.int32)
        self.projection = np.empty(n)
        self.left = np.ascontiguousarray(arrays["children_left"], dtype=np.int32)
        self.right = np.ascontiguousarray(arrays["children_right"], dtype=np.int32)
        self.threshold = np.ascontiguousarray(arrays["threshold"], dtype=np.float64)
        self.term_ptr = np.ascontiguousarray(arrays["term_ptr"], dtype=np.int64)
        # Copies: the plane's pointers are not const.
        self.term_feature = np.array(arrays["term_feature"], dtype=np.int32)
        self.term_weight = np.array(arrays["term_weight"], dtype=np.float64)
        self.missing_left = np.ascontiguousarray(arrays["missing_go_left"], dtype=np.uint8)
        self.is_known = leaf is not None
        if self.is_known:
            if len(leaf) != n:
                raise ValueError(f"leaf has {len(leaf)} rows; expected {n}")
            self.leaf = leaf
        self.old_id = np.empty(n_nodes, dtype=np.int32)
        self.new_left = np.full(n_nodes, -1, dtype=np.int32)
        self.new_right = np.full(n_nodes, -1, dtype=np.int32)
        self.new_missing = np.zeros(n_nodes, dtype=np.uint8)
        self.count = np.zeros(n_nodes, dtype=np.int64)
        self.weight = np.zeros(n_nodes)
        self.impurity = np.zeros(n_nodes)
        self.value = np.zeros((n_nodes, max(problem.n_classes, problem.n_outputs)))
        self.share = np.zeros(max(len(self.term_feature), 1))

    def run(self, bint drop_dead):
        """Send the rows down and fill the arrays."""
        cdef Workspace workspace = Workspace()
        cdef OpenNode* stack = <OpenNode*>workspace.take(len(self.left) + 1, sizeof(OpenNode))
        with nogil:
            self._descend(stack, drop_dead)

    cdef void _descend(self, OpenNode* stack, bint drop_dead) noexcept nogil:
        """Visit the nodes, parents first and left subtrees before right ones."""
        cdef idx_t n_open = 1, n_left = 0, n
        cdef node_t node, old
        cdef OpenNode open
        cdef bint saw_missing = False
        stack[0].old = 0
        stack[0].parent = -1
        stack[0].start = 0
        stack[0].end = self.problem.n_train
        while n_open > 0:
            n_open -= 1
            open = stack[n_open]
            old = open.old
            n = open.end - open.start
            while self.left[old] >= 0:
                n_left = self._split(old, open.start, open.end, &saw_missing)
                if not drop_dead or 0 < n_left < n:
                    break
                # Nobody went one way: the other child takes the place of the node.
                old = self.left[old] if n_left == n else self.right[old]
            node = <node_t>self.n_nodes
            self.n_nodes += 1
            self.old_id[node] = old
            if open.parent >= 0:
                if open.is_left:
                    self.new_left[open.parent] = node
                else:
                    self.new_right[open.parent] = node
            self._measure(node, open.parent, open.start, open.end)
            if self.left[old] < 0:
                continue
            self.new_missing[node] = self._send_missing(old, open.start, n_left, n, saw_missing)
            open.parent = node
            stack[n_open] = open
            stack[n_open].old = self.right[old]
            stack[n_open].is_left = False
            stack[n_open].start = open.start + n_left
            stack[n_open + 1] = open
            stack[n_open + 1].old = self.left[old]
            stack[n_open + 1].is_left = True
            stack[n_open + 1].end = open.start + n_left
            n_open += 2

    cdef idx_t _split(self, node_t old, idx_t start, idx_t end, bint* saw_missing) noexcept nogil:
        """Put the rows that go left first, both sides in order; returns how many do."""
        cdef Hyperplane plane
        cdef row_t* rows = &self.rows[0] + start
        cdef row_t* spare = &self.spare[0]
        cdef double* projection = &self.projection[0]
        cdef idx_t n = end - start, n_left = 0, n_right = 0, p
        cdef row_t row
        self._read_plane(old, &plane)
        if self.is_known:
            for p in range(n):
                projection[p] = plane.threshold
                if self.leaf[rows[p]] >= self.right[old]:
                    projection[p] = INFINITY
        else:
            project_rows(&self.problem.view, &plane, rows, n, projection)
        share_terms(&self.problem.view, &plane, rows, n, self.problem.weight,
                    &self.share[self.term_ptr[old]])
        saw_missing[0] = False
        for p in range(n):
            row = rows[p]
            saw_missing[0] = saw_missing[0] or projection[p] != projection[p]
            if goes_left(&plane, projection[p]):
                rows[n_left] = row
                n_left += 1
            else:
                spare[n_right] = row
                n_right += 1
        for p in range(n_right):
            rows[n_left + p] = spare[p]
        return n_left

    cdef void _read_plane(self, node_t old, Hyperplane* plane) noexcept nogil:
        cdef int64_t first = self.term_ptr[old]
        plane.n_terms = self.term_ptr[old + 1] - first
        plane.feature = &self.term_feature[first]
        plane.weight = &self.term_weight[first]
        plane.partner = NULL
        plane.share = NULL
        plane.threshold = self.threshold[old]
        plane.lower = -INFINITY
        plane.missing_left = self.missing_left[old]
        plane.missing_seen = False

    cdef bint _send_missing(self, node_t old, idx_t start, idx_t n_left, idx_t n,
                            bint saw_missing) noexcept nogil:
        """Where rows go that lack a value: as chosen, or to the heavier side if none did."""
        cdef w_t left = 0.0, right = 0.0
        cdef idx_t p
        if saw_missing:
            return self.missing_left[old]
        for p in range(n_left):
            left += self.problem.weight[self.rows[start + p]]
        for p in range(n_left, n):
            right += self.problem.weight[self.rows[start + p]]
        return left > right

    cdef void _measure(self, node_t node, node_t parent, idx_t start, idx_t end) noexcept nogil:
        """Count and value of a node; one without rows has its parent's value."""
        cdef idx_t n_values = self.value.shape[1]
        cdef w_t total = 0.0
        cdef idx_t p, k
        self.count[node] = end - start
        for p in range(start, end):
            total += self.problem.weight[self.rows[p]]
        self.weight[node] = total
        if start == end:
            for k in range(n_values):
                self.value[node, k] = self.value[parent, k]
        elif self.problem.n_classes > 0:
            self._measure_classes(node, start, end)
        else:
            self._measure_numbers(node, start, end)

    cdef void _measure_classes(self, node_t node, idx_t start, idx_t end) noexcept nogil:
        """Class fractions and their Gini impurity."""
        cdef double squares = 0.0
        cdef idx_t p, k
        for p in range(start, end):
            self.value[node, self.problem.codes[self.rows[p]]] += (
                self.problem.weight[self.rows[p]]
            )
        for k in range(self.value.shape[1]):
            self.value[node, k] /= self.weight[node]
            squares += self.value[node, k] * self.value[node, k]
        self.impurity[node] = max(1.0 - squares, 0.0)

    cdef void _measure_numbers(self, node_t node, idx_t start, idx_t end) noexcept nogil:
        """Means and the mean of their variances."""
        cdef idx_t n_outputs = self.problem.n_outputs
        cdef idx_t p, k
        cdef double difference, squares = 0.0, shift
        cdef row_t row
        for k in range(n_outputs):
            # Around a value that occurs, so that a constant target has variance zero.
            shift = self.problem.targets[self.rows[start] * n_outputs + k]
            for p in range(start, end):
                row = self.rows[p]
                difference = self.problem.targets[row * n_outputs + k] - shift
                self.value[node, k] += self.problem.weight[row] * difference
            self.value[node, k] = shift + self.value[node, k] / self.weight[node]
            for p in range(start, end):
                row = self.rows[p]
                difference = self.problem.targets[row * n_outputs + k] - self.value[node, k]
                squares += self.problem.weight[row] * difference * difference
        self.impurity[node] = squares / (self.weight[node] * n_outputs)

    def collect(self):
        """The finished nodes, as `Tree.from_arrays` wants them."""
        n = self.n_nodes
        old = np.asarray(self.old_id)[:n].astype(np.int64)
        term_ptr = np.asarray(self.term_ptr)
        left = np.array(self.new_left[:n])
        lengths = np.where(left < 0, 0, np.diff(term_ptr)[old])
        new_ptr = np.zeros(n + 1, dtype=np.int64)
        new_ptr[1:] = np.cumsum(lengths)
        terms = np.repeat(term_ptr[old] - new_ptr[:n], lengths) + np.arange(lengths.sum())
        shape = (n, 1, -1) if self.problem.n_classes > 0 else (n, -1, 1)
        n_classes = self.problem.n_classes or 1
        return {
            "children_left": left,
            "children_right": np.array(self.new_right[:n]),
            "threshold": np.where(left < 0, 0.0, np.asarray(self.threshold)[old]),
            "term_ptr": new_ptr,
            "term_feature": np.asarray(self.term_feature)[terms],
            "term_weight": np.asarray(self.term_weight)[terms],
            "term_share": np.asarray(self.share)[terms].astype(np.float32),
            "missing_go_left": np.array(self.new_missing[:n]),
            "impurity": np.array(self.impurity[:n]),
            "n_node_samples": np.array(self.count[:n]),
            "weighted_n_node_samples": np.array(self.weight[:n]) * self.problem.weight_unit,
            "value": np.array(self.value[:n]).reshape(shape),
            "n_classes": np.full(shape[1] if shape[1] > 0 else self.problem.n_outputs, n_classes),
        }, old


def finish_nodes(Problem problem, arrays, drop_dead=True, leaf=None):
    """Measure the nodes of a tree of planes on the rows of a problem.

    Parameters
    ----------
    problem : Problem
        Its first ``n_train`` rows are sent down the tree.
    arrays : mapping of str to ndarray
        ``children_left``, ``children_right``, ``threshold``, ``term_ptr``, ``term_feature``,
        ``term_weight`` and ``missing_go_left``, as in `obtree.tree.tree.Tree`.
    drop_dead : bool, default=True
        Whether a node of which one side is empty is replaced by its other child. A node
        without rows that stays has its parent's value.
    leaf : ndarray of int32 of shape (n_train,), optional
        The leaf that each row reaches, if that is known already, no value is missing and nodes
        are in depth-first order.

    Returns
    -------
    nodes : dict of str to ndarray
        All arrays that `Tree.from_arrays` needs, nodes in depth-first order.
    origin : ndarray of int64
        The given node that each new node was.
    """
    cdef Finisher finisher = Finisher(problem, arrays, leaf)
    finisher.run(drop_dead)
    return finisher.collect()
