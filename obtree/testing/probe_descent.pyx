"""A wrapper of trees of planes: loss-augmented inference, and steps that move them."""

import numpy as np

from libc.stdint cimport int32_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t, node_t
from obtree.linear.scaled_rows cimport ScaledRows
from obtree.optim.dense_tree cimport Case, DenseTree, link_parents, renew_leaves, take_tree
from obtree.optim.inference cimport infer_fast, infer_full
from obtree.optim.nongreedy cimport JointDescent, StepRule, StepTargets


cdef class DescentProbe:
    """A tree of planes on given rows.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    y : ndarray
        Integers of shape (n,): classes. Floats of shape (n, n_outputs): numbers.
    weight : ndarray of shape (n,)
    child : ndarray of shape (n_splits, 2)
        Split nodes, or ~leaf; children stand behind their parents.
    """

    cdef DenseTree _tree
    cdef ScaledRows _rows
    cdef StepTargets _targets
    cdef JointDescent _descent
    cdef Workspace _workspace
    cdef object _kept

    def __init__(self, X, y, weight, child, n_slots):
        cdef const X_t[:, ::1] x = np.ascontiguousarray(X, dtype=np.float32)
        cdef const float[::1] weights = np.ascontiguousarray(weight, dtype=np.float32)
        cdef const int32_t[::1] codes
        cdef const float[:, ::1] values
        cdef const int32_t[:, ::1] links = np.ascontiguousarray(child, dtype=np.int32)
        cdef idx_t k
        is_class = np.asarray(y).dtype.kind == "i"
        self._workspace = Workspace()
        self._rows = ScaledRows()
        self._rows.measure(x, np.ascontiguousarray(weight, dtype=np.float64), len(X), is_class)
        take_tree(&self._tree, self._workspace, len(child) + 1, self._rows.columns.stride, n_slots,
                  is_class)
        for k in range(len(child)):
            self._tree.child[2 * k] = links[k, 0]
            self._tree.child[2 * k + 1] = links[k, 1]
        link_parents(&self._tree)
        self._targets.weight = &weights[0]
        self._targets.code = NULL
        self._targets.y = NULL
        self._kept = [x, weights]
        if is_class:
            codes = np.ascontiguousarray(y, dtype=np.int32)
            self._targets.code = &codes[0]
            self._kept.append(codes)
        else:
            values = np.ascontiguousarray(y, dtype=np.float32)
            self._targets.y = &values[0, 0]
            self._kept.append(values)
        self._descent = JointDescent()
        self._descent.bind(&self._tree, self._rows, &self._targets, len(X), self._workspace)

    @property
    def scaled(self):
        """The rows as the planes see them, without padding."""
        shape = len(self._kept[0]), self._rows.columns.stride
        cdef float[:, ::1] out = np.empty(shape, np.float32)
        self._rows.fetch(NULL, 0, out.shape[0], &out[0, 0])
        return np.asarray(out)[:, :self._rows.columns.n + 1]

    @property
    def planes(self):
        """Weights of the nodes, the offset last."""
        n = self._rows.columns.n + 1
        return np.array([[self._tree.w[i * self._tree.stride + k] for k in range(n)]
                         for i in range(self._tree.n_splits)], dtype=np.float32).reshape(-1, n)

    @planes.setter
    def planes(self, W):
        cdef idx_t i, k
        for i in range(self._tree.n_splits):
            for k in range(self._rows.columns.n + 1):
                self._tree.w[i * self._tree.stride + k] = W[i, k]

    @property
    def leaves(self):
        """Parameters of the leaves."""
        n = self._tree.n_slots
        return np.array([[self._tree.theta[i * n + k] for k in range(n)]
                         for i in range(self._tree.n_leaves)], dtype=np.float32)

    @leaves.setter
    def leaves(self, theta):
        cdef idx_t i, k
        for i in range(self._tree.n_leaves):
            for k in range(self._tree.n_slots):
                self._tree.theta[i * self._tree.n_slots + k] = theta[i, k]
        renew_leaves(&self._tree)

    def infer(self, idx_t row, bint full):
        """(leaf, loss) of the row, (leaf, bound) of the code found, and the nodes it turns."""
        cdef JointDescent descent = self._descent
        cdef float[::1] x = np.empty(self._rows.columns.stride, dtype=np.float32)
        cdef Case case
        self._rows.fetch(NULL, row, 1, &x[0])
        descent._load_case(&case, row, &x[0])
        if full:
            infer_full(&self._tree, &case, &descent._answer)
        else:
            infer_fast(&self._tree, &case, &descent._answer)
        answer = descent._answer
        flipped = sorted(answer.flipped[k] for k in range(answer.n_flipped))
        return (answer.own_leaf, answer.own_loss), (answer.leaf, answer.bound), flipped

    def step(self, rows, float rate, float leaf_rate, bint full=False, float momentum=0.0,
             float nu=1e30, assigned=None):
        """One step; returns the sum of the bounds before it."""
        cdef const int32_t[::1] order = np.ascontiguousarray(rows, dtype=np.int32)
        cdef node_t[::1] held
        cdef StepRule rule
        rule.rate = rate
        rule.leaf_rate = leaf_rate
        rule.momentum = momentum
        rule.nu = nu
        rule.full = full
        self._descent.assigned = NULL
        if assigned is not None:
            held = np.ascontiguousarray(assigned, dtype=np.int32)
            self._descent.assigned = &held[0]
        total = self._descent.step(&order[0], len(order), &rule)
        self._descent.assigned = NULL
        return total
