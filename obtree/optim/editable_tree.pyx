"""A tree of planes that can be changed, and rows on their way down.

What improves a whole tree, or makes another model of it, works on this copy of a `Tree`: it sets
planes, routes rows and looks at the rows of nodes. ``finish.pxi`` makes a `Tree` of it again.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace, free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, copy_terms, init_plane
from obtree.data.partition cimport SampleIndex, swap_left
from obtree.data.project cimport project_rows
from obtree.optim.base cimport Problem


def order_depth_first(left, right):
    """Nodes as met when every left branch is walked before the right one.

    Parameters
    ----------
    left, right : ndarray of int of shape (n_nodes,)
        Children; -1 at leaves.

    Returns
    -------
    order : ndarray of int64 of shape (n_reached,)
        Nodes that are reached from node 0.
    """
    order = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if left[node] >= 0:
            stack += [right[node], left[node]]
    return np.array(order, dtype=np.int64)


cdef class EditableTree:
    """Planes and children of a tree; nodes are numbered anew, depth first.

    Parameters
    ----------
    problem : Problem
        The rows to be led down the tree.
    tree : Tree
        Without products of features and without intervals.
    """

    def __init__(self, Problem problem, tree):
        cdef idx_t i, n, old
        cdef Hyperplane plane
        cdef const node_t[::1] left = tree.children_left
        cdef const node_t[::1] right = tree.children_right
        cdef const double[::1] threshold = tree.threshold
        cdef const int64_t[::1] ptr = tree.term_ptr
        # Copies: a plane's pointers are not const. One place more, so that there is a first.
        cdef feature_t[::1] feature = np.append(tree.term_feature, np.int32(0))
        cdef w_t[::1] weight = np.append(tree.term_weight, 0.0)
        if not tree.has_planes_only:
            raise ValueError(
                "the start tree has nodes that are not planes (products of features, intervals "
                "or sets of categories); expected a tree of plain hyperplanes"
            )
        if tree.n_features != problem.n_features:
            raise ValueError(
                f"the start tree has {tree.n_features} features; expected {problem.n_features}"
            )
        self.problem = problem
        self.memory = Workspace()
        self.origin = order_depth_first(tree.children_left, tree.children_right)
        self.n_nodes = n = len(self.origin)
        number = np.full(tree.node_count, -1, dtype=np.int64)
        number[self.origin] = np.arange(n)
        self.left = <node_t*>self.memory.take(n, sizeof(node_t))
        self.right = <node_t*>self.memory.take(n, sizeof(node_t))
        self.room = <idx_t*>self.memory.take(n, sizeof(idx_t))
        memset(self.room, 0, n * sizeof(idx_t))
        self.plane = <Hyperplane*>self.memory.take(n, sizeof(Hyperplane))
        memset(self.plane, 0, n * sizeof(Hyperplane))
        for i in range(n):
            old = self.origin[i]
            init_plane(&self.plane[i], NULL, NULL)
            self.left[i] = self.right[i] = -1
            if left[old] < 0:
                continue
            self.left[i] = number[left[old]]
            self.right[i] = number[right[old]]
            init_plane(&plane, &feature[ptr[old]], &weight[ptr[old]])
            plane.n_terms = ptr[old + 1] - ptr[old]
            plane.threshold = threshold[old]
            plane.missing_left = tree.missing_go_left[old]
            EditableTree.set_plane(self, i, &plane)

    def __dealloc__(self):
        cdef idx_t i
        if self.plane != NULL:
            for i in range(self.n_nodes):
                free_block(self.plane[i].feature)
                free_block(self.plane[i].weight)

    def to_arrays(self):
        """Children and planes as arrays, under the names that a Tree has."""
        cdef idx_t i, n = self.n_nodes
        cdef Hyperplane* plane
        term_ptr = np.zeros(n + 1, dtype=np.int64)
        cdef feature_t[::1] feature
        cdef w_t[::1] weight
        for i in range(n):
            term_ptr[i + 1] = term_ptr[i] + self.plane[i].n_terms
        features = np.zeros(term_ptr[n], dtype=np.int32)
        weights = np.zeros(term_ptr[n])
        for i in range(n):
            plane = &self.plane[i]
            if plane.n_terms > 0:
                feature = features[term_ptr[i]:term_ptr[i + 1]]
                weight = weights[term_ptr[i]:term_ptr[i + 1]]
                memcpy(&feature[0], plane.feature, plane.n_terms * sizeof(feature_t))
                memcpy(&weight[0], plane.weight, plane.n_terms * sizeof(w_t))
        return {
            "children_left": np.array([self.left[i] for i in range(n)], dtype=np.int32),
            "children_right": np.array([self.right[i] for i in range(n)], dtype=np.int32),
            "threshold": np.array([self.plane[i].threshold for i in range(n)]),
            "term_ptr": term_ptr,
            "term_feature": features,
            "term_weight": weights,
            "missing_go_left": np.array([self.plane[i].missing_left for i in range(n)],
                                        dtype=np.uint8),
        }

    cdef int set_plane(self, node_t node, const Hyperplane* plane) except -1 nogil:
        """Copy the plane into the node."""
        cdef Hyperplane* own = &self.plane[node]
        if plane.n_terms > self.room[node]:
            own.feature = <feature_t*>grow_block(own.feature, plane.n_terms, sizeof(feature_t))
            own.weight = <w_t*>grow_block(own.weight, plane.n_terms, sizeof(w_t))
            self.room[node] = plane.n_terms
        copy_terms(plane, own)
        own.threshold = plane.threshold
        own.missing_left = plane.missing_left
        return 0

    cdef void project(self, node_t node, const row_t* rows, idx_t n, double* out) noexcept nogil:
        """Projections of n rows (OUT n); subclasses may give others on the same sides."""
        project_rows(&self.problem.view, &self.plane[node], rows, n, out)

    cdef void route(self, node_t node, row_t* rows, int32_t* place, idx_t n, double* projection,
                    const uint8_t* labels, int32_t* leaf) noexcept nogil:
        """leaf[place[p]] = the leaf below `node` that rows[p] reaches.

        With `labels` (n_nodes * n_classes: whether a leaf below the node has the label), rows
        whose class no leaf below has are given up, and their leaf stays as it is.
        IN OUT rows, place (n); SCRATCH projection (n).
        """
        cdef idx_t p, n_left, n_classes = self.problem.n_classes
        while n > 0:
            if labels != NULL:
                p = 0
                while p < n:
                    if labels[node * n_classes + self.problem.codes[rows[p]]]:
                        p += 1
                        continue
                    n -= 1
                    rows[p] = rows[n]
                    place[p] = place[n]
            if self.left[node] < 0:
                for p in range(n):
                    leaf[place[p]] = node
                return
            self.project(node, rows, n, projection)
            n_left = swap_left(&self.plane[node], projection, rows, place, n)
            # The smaller part calls, the larger one goes on: a chain of nodes is no danger.
            if n_left < n - n_left:
                self.route(self.left[node], rows, place, n_left, projection, labels, leaf)
                rows += n_left
                place += n_left
                n -= n_left
                node = self.right[node]
            else:
                self.route(self.right[node], rows + n_left, place + n_left, n - n_left,
                           projection, labels, leaf)
                n = n_left
                node = self.left[node]


cdef class TreePartition:
    """The training rows of a tree, at its root.

    Parameters
    ----------
    tree : EditableTree
    leaf : ndarray of int32 of shape (n_train,), optional
        The leaf that each row reaches, if that is known already and no value is missing.
    """

    def __init__(self, EditableTree tree, leaf=None):
        cdef Problem problem = tree.problem
        cdef idx_t p
        if leaf is not None and len(leaf) != problem.n_train:
            raise ValueError(f"leaf has {len(leaf)} rows; expected {problem.n_train}")
        self.tree = tree
        self.leaf = leaf
        self.memory = Workspace()
        self.index = SampleIndex()
        self.index.bind(&problem.view, self.memory)
        memset(self.index.weight, 0, problem.n_rows * sizeof(w_t))
        memcpy(self.index.weight, problem.weight, problem.n_train * sizeof(w_t))
        for p in range(problem.n_train):
            self.index.rows[p] = <row_t>p
        self.start = <idx_t*>self.memory.take(tree.n_nodes, sizeof(idx_t))
        self.end = <idx_t*>self.memory.take(tree.n_nodes, sizeof(idx_t))
        self.projection = <double*>self.memory.take(problem.n_train, sizeof(double))
        self.start[0] = 0
        self.end[0] = problem.n_train

    cdef bint split(self, node_t node) noexcept nogil:
        """Hand the rows of a node to its children; whether one lacks a value."""
        cdef idx_t start = self.start[node], end = self.end[node], p
        cdef node_t right = self.tree.right[node]
        cdef const Hyperplane* plane = &self.tree.plane[node]
        cdef row_t* rows = self.index.rows + start
        cdef double* projection = self.projection
        cdef bint saw_missing = False
        if self.leaf is None:
            project_rows(&self.tree.problem.view, plane, rows, end - start, projection)
        else:
            for p in range(end - start):
                projection[p] = plane.threshold if self.leaf[rows[p]] < right else INFINITY
        for p in range(end - start):
            saw_missing = saw_missing or projection[p] != projection[p]
        self.start[self.tree.left[node]] = start
        self.end[right] = end
        self.index.projection = projection
        end = self.index.split(plane, -1, start, end)
        self.end[self.tree.left[node]] = self.start[right] = end
        return saw_missing


include "finish.pxi"
