# The tree of an alternating optimisation: levels, and planes that are quick to project on.

import numpy as np

from libc.math cimport INFINITY, fabs, frexp, ldexp
from libc.string cimport memset

from obtree.core.memory cimport free_block, grow_block
from obtree.core.types cimport feature_t, idx_t, node_t, row_t, w_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.optim.base cimport Problem
from obtree.optim.editable_tree cimport EditableTree


cdef class TAOTree(EditableTree):
    """An editable tree with its levels; terms are in ascending order of features.

    Parameters
    ----------
    problem : Problem
    scaler : Scaler
    tree : Tree
        Without products of features and without intervals.
    """

    def __init__(self, Problem problem, Scaler scaler, tree):
        cdef idx_t i, n
        EditableTree.__init__(self, problem, tree)
        self.scaler = scaler
        n = self.n_nodes
        self.penalty = <double*>self.memory.take(n, sizeof(double))
        memset(self.penalty, 0, n * sizeof(double))
        self.dense = <DensePlane*>self.memory.take(n, sizeof(DensePlane))
        memset(self.dense, 0, n * sizeof(DensePlane))
        depth = np.zeros(n, dtype=np.int64)
        for i in range(n):
            if self.left[i] >= 0:
                depth[self.left[i]] = depth[self.right[i]] = depth[i] + 1
                self._sort_terms(i)
                self._write_dense(i)
        levels = np.argsort(depth, kind="stable")
        self.n_levels = depth.max() + 1
        self.order = <node_t*>self.memory.take(n, sizeof(node_t))
        self.level_start = <idx_t*>self.memory.take(self.n_levels + 1, sizeof(idx_t))
        for i in range(n):
            self.order[i] = levels[i]
        starts = np.searchsorted(depth[levels], np.arange(self.n_levels + 1))
        for i in range(self.n_levels + 1):
            self.level_start[i] = starts[i]

    def __dealloc__(self):
        cdef idx_t i
        if self.dense != NULL:
            for i in range(self.n_nodes):
                free_block(self.dense[i].weight)

    def _sort_terms(self, node_t node):
        """Put the terms in ascending order of features."""
        cdef Hyperplane* plane = &self.plane[node]
        if plane.n_terms < 2:
            return
        feature = np.asarray(<feature_t[:plane.n_terms]>plane.feature)
        weight = np.asarray(<w_t[:plane.n_terms]>plane.weight)
        order = np.argsort(feature, kind="stable")
        feature[:] = feature[order]
        weight[:] = weight[order]
        if (np.diff(feature) == 0).any():
            raise ValueError("the start tree names a feature twice in one node")

    cdef int move_plane(self, node_t node, const Hyperplane* plane,
                        double penalty) except -1 nogil:
        """Copy the plane into the node."""
        self.set_plane(node, plane)
        self.penalty[node] = penalty
        return self._write_dense(node)

    cdef int _write_dense(self, node_t node) except -1 nogil:
        """Write a plane of many terms over all columns."""
        cdef DensePlane* dense = &self.dense[node]
        if is_dense(self.scaler, &self.plane[node]):
            dense.weight = <float*>grow_block(dense.weight, self.scaler.n_features,
                                              sizeof(float))
            write_dense(self.scaler, &self.plane[node], dense)
        else:
            free_block(dense.weight)
            dense.weight = NULL
        return 0

    cdef void project(self, node_t node, const row_t* rows, idx_t n, double* out) noexcept nogil:
        """Numbers on the sides of n rows: their projections, or nearly so (OUT n)."""
        if self.dense[node].weight != NULL:
            find_sides(self.scaler, &self.plane[node], &self.dense[node], rows, n, out)
        elif self.plane[node].n_terms == 0:
            memset(out, 0, n * sizeof(double))
        else:
            EditableTree.project(self, node, rows, n, out)

    cdef void scale_plane(self, node_t node, const row_t* rows, idx_t n, int log2_scale,
                          double* projection) noexcept nogil:
        """Bring rows to a given mean distance from the plane, in units of its weights.

        The size of the weights is the inverse temperature of a logistic regression; that of a tree
        grown in another way says nothing. Powers of two leave every row where it is.
        IN rows (n); SCRATCH projection (n).
        """
        cdef Hyperplane* plane = &self.plane[node]
        cdef idx_t p, k
        cdef double total = 0.0, weight = 0.0, factor, penalty = 0.0
        cdef int exponent = 0
        self.project(node, rows, n, projection)
        for p in range(n):
            if projection[p] == projection[p]:
                total += self.problem.weight[rows[p]] * fabs(projection[p] - plane.threshold)
                weight += self.problem.weight[rows[p]]
        if total > 0.0 and total < INFINITY:
            frexp(weight / total, &exponent)
            exponent = min(max(exponent + log2_scale, -500), 500)
        factor = ldexp(1.0, exponent)
        plane.threshold *= factor
        for k in range(plane.n_terms):
            plane.weight[k] *= factor
            if self.scaler.scale[plane.feature[k]] > 0.0:
                penalty += fabs(plane.weight[k]) / self.scaler.scale[plane.feature[k]]
        self.penalty[node] = penalty
        if self.dense[node].weight != NULL:
            write_dense(self.scaler, plane, &self.dense[node])
