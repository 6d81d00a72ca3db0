"""A tree whose planes move while its shape stays."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace, free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane, goes_left
from obtree.data.project cimport project_rows
from obtree.optim.base cimport Problem
from obtree.optim.sides cimport Layout, find_sides, is_dense, lay_out
from obtree.optim.units cimport Units


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


cdef class MovingTree:
    """Planes and children of a tree; nodes are numbered anew, depth first.

    Parameters
    ----------
    problem : Problem
    units : Units
    tree : Tree
        Without products of features and without intervals.
    """

    def __init__(self, Problem problem, Units units, tree):
        cdef idx_t i, n, old
        cdef node_t[::1] old_left = np.array(tree.children_left, dtype=np.int32)
        cdef node_t[::1] old_right = np.array(tree.children_right, dtype=np.int32)
        if tree.term_partner is not None or tree.lower_threshold is not None:
            raise ValueError(
                "the start tree has nodes that are not planes (products of features or "
                "intervals); expected a tree of plain hyperplanes"
            )
        if tree.n_features != problem.n_features:
            raise ValueError(
                f"the start tree has {tree.n_features} features; expected {problem.n_features}"
            )
        self.problem = problem
        self.units = units
        self.memory = Workspace()
        ids = order_depth_first(tree.children_left, tree.children_right)
        self.n_nodes = n = len(ids)
        new_id = np.full(tree.node_count, -1, dtype=np.int64)
        new_id[ids] = np.arange(n)
        self.left = <node_t*>self.memory.take(n, sizeof(node_t))
        self.right = <node_t*>self.memory.take(n, sizeof(node_t))
        self.room = <idx_t*>self.memory.take(n, sizeof(idx_t))
        self.penalty = <double*>self.memory.take(n, sizeof(double))
        self.plane = <Hyperplane*>self.memory.take(n, sizeof(Hyperplane))
        memset(self.plane, 0, n * sizeof(Hyperplane))
        memset(self.room, 0, n * sizeof(idx_t))
        self.layout = <Layout*>self.memory.take(n, sizeof(Layout))
        memset(self.layout, 0, n * sizeof(Layout))
        depth = np.zeros(n, dtype=np.int64)
        for i in range(n):
            self.penalty[i] = 0.0
            self.plane[i].lower = -INFINITY
            old = ids[i]
            self.left[i] = self.right[i] = -1
            if old_left[old] < 0:
                continue
            self.left[i] = new_id[old_left[old]]
            self.right[i] = new_id[old_right[old]]
            depth[self.left[i]] = depth[self.right[i]] = depth[i] + 1
            terms = slice(tree.term_ptr[old], tree.term_ptr[old + 1])
            self._set_terms(i, tree.term_feature[terms], tree.term_weight[terms],
                            tree.threshold[old], tree.missing_go_left[old])
        levels = np.argsort(depth, kind="stable")
        self.n_levels = depth.max() + 1
        self.order = <node_t*>self.memory.take(n, sizeof(node_t))
        self.level_start = <idx_t*>self.memory.take(self.n_levels + 1, sizeof(idx_t))
        for i in range(n):
            self.order[i] = levels[i]
        starts = np.searchsorted(depth[levels], np.arange(self.n_levels + 1))
        for i in range(self.n_levels + 1):
            self.level_start[i] = starts[i]

    def _set_terms(self, node_t node, feature, weight, double threshold, bint missing_left):
        """Copy a plane, terms in ascending order of features."""
        cdef Hyperplane plane
        order = np.argsort(feature, kind="stable")
        cdef feature_t[::1] features = np.array(feature[order], dtype=np.int32)
        cdef w_t[::1] weights = np.array(weight[order], dtype=np.float64)
        if features.shape[0] > 1 and (np.diff(features) == 0).any():
            raise ValueError("the start tree names a feature twice in one node")
        plane.n_terms = features.shape[0]
        plane.feature = &features[0] if features.shape[0] else NULL
        plane.weight = &weights[0] if features.shape[0] else NULL
        plane.threshold = threshold
        plane.missing_left = missing_left
        self.set_plane(node, &plane, 0.0)

    def __dealloc__(self):
        cdef idx_t i
        if self.layout != NULL:
            for i in range(self.n_nodes):
                free_block(self.plane[i].feature)
                free_block(self.plane[i].weight)
                free_block(self.layout[i].weight)

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

    cdef int set_plane(self, node_t node, const Hyperplane* plane,
                       double penalty) except -1 nogil:
        """Copy the plane into the node."""
        cdef Hyperplane* own = &self.plane[node]
        cdef Layout* layout = &self.layout[node]
        if plane.n_terms > self.room[node]:
            own.feature = <feature_t*>grow_block(own.feature, plane.n_terms, sizeof(feature_t))
            own.weight = <w_t*>grow_block(own.weight, plane.n_terms, sizeof(w_t))
            self.room[node] = plane.n_terms
        if plane.n_terms > 0:
            memcpy(own.feature, plane.feature, plane.n_terms * sizeof(feature_t))
            memcpy(own.weight, plane.weight, plane.n_terms * sizeof(w_t))
        own.n_terms = plane.n_terms
        own.threshold = plane.threshold
        own.missing_left = plane.missing_left
        self.penalty[node] = penalty
        if is_dense(self.units, own):
            layout.weight = <float*>grow_block(layout.weight, self.units.n_features,
                                               sizeof(float))
            lay_out(self.units, own, layout)
        else:
            free_block(layout.weight)
            layout.weight = NULL
        return 0

    cdef void project(self, node_t node, const row_t* rows, idx_t n, double* out) noexcept nogil:
        """Numbers on the sides of n rows: their projections, or nearly so (OUT n)."""
        if self.layout[node].weight != NULL:
            find_sides(self.units, &self.plane[node], &self.layout[node], rows, n, out)
            return
        if self.plane[node].n_terms == 0:
            memset(out, 0, n * sizeof(double))
            return
        project_rows(&self.problem.view, &self.plane[node], rows, n, out)

    cdef idx_t divide(self, node_t node, row_t* rows, int32_t* place, idx_t n,
                      double* projection) noexcept nogil:
        """Put the rows that go left in front; returns how many.

        IN OUT rows, place (n), moved together; SCRATCH projection (n).
        """
        cdef Hyperplane* plane = &self.plane[node]
        cdef idx_t low = 0, high = n
        cdef row_t row
        cdef int32_t at
        self.project(node, rows, n, projection)
        # rows[:low] go left, rows[high:] go right
        while low < high:
            if goes_left(plane, projection[low]):
                low += 1
                continue
            high -= 1
            row = rows[low]
            rows[low] = rows[high]
            rows[high] = row
            at = place[low]
            place[low] = place[high]
            place[high] = at
            projection[low] = projection[high]
        return low

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
            n_left = self.divide(node, rows, place, n, projection)
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
