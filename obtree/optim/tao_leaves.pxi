# What the leaves of a tree under TAO predict, and what that costs.
#
# A leaf has a class, or a number for each output; it may also have a linear model of the
# features, whose largest score names the class. The cost of a row is its weight when the class is
# wrong, or its weight times the squared error, in units of the targets' variance. A row that
# lacks a feature of a linear model is given the constant.

import math

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace, free_block
from obtree.core.types cimport idx_t, node_t, row_t, y_t
from obtree.data.scatter cimport take_scatter
from obtree.linear.adagrad cimport take_adagrad
from obtree.optim.base cimport Problem

cdef enum:
    RIDGE_FEATURES = 128      # up to so many features, normal equations are solved


cdef class LeafScratch:
    """Scratch of one worker.

    Parameters
    ----------
    leaves : TAOLeaves
    """

    def __init__(self, TAOLeaves leaves):
        cdef idx_t stride = leaves.scaler.complete.stride
        cdef idx_t n = leaves.scaler.complete.n
        cdef idx_t n_values = leaves.n_values
        cdef idx_t n_weights = n_values * stride
        cdef Workspace memory = Workspace()
        self.memory = memory
        self.sums = <double*>memory.take(n_values, sizeof(double))
        if not leaves.linear:
            return
        self.z = <float*>memory.take(LEAF_BATCH * stride, sizeof(float))
        self.score = <float*>memory.take(n_values * LEAF_BATCH, sizeof(float))
        self.model = <float*>memory.take(n_weights + n_values, sizeof(float))
        self.present = <int32_t*>memory.take(n_values, sizeof(int32_t))
        if leaves.by_ridge:
            take_scatter(&self.scatter, n, n_values, memory)
            self.scatter.n_terms = n
            memset(self.scatter.origin, 0, n * sizeof(double))
            self.target = <double*>memory.take(n_values, sizeof(double))
        else:
            take_adagrad(&self.steps, n_values, stride, memory)
            self.gradient = <float*>memory.take(stride, sizeof(float))
            self.factor = <float*>memory.take(n_values * LEAF_BATCH, sizeof(float))


cdef class TAOLeaves:
    """Models of the leaves of one tree.

    Parameters
    ----------
    problem : Problem
    scaler : Scaler
    n_nodes : int
        Nodes of the tree.
    linear : bool
        Whether leaves have linear models.
    l1 : float
        Penalty on the size of the weights in classification.
    ridge : float
        Penalty on the squared weights in regression.
    rate : float
        Step of the weights where they are moved in small steps.
    n_epochs : int
        Passes over a leaf's rows in small steps.
    """

    def __init__(self, Problem problem, Scaler scaler, idx_t n_nodes, bint linear, double l1,
                 double ridge, double rate, idx_t n_epochs):
        cdef idx_t k
        cdef Workspace memory = Workspace()
        self.problem = problem
        self.scaler = scaler
        self.memory = memory
        self.n_nodes = n_nodes
        self.linear = linear
        self.l1 = l1
        self.ridge = ridge
        self.rate = rate
        self.n_epochs = n_epochs
        self.by_ridge = problem.n_classes == 0 and scaler.complete.n <= RIDGE_FEATURES
        self.n_values = problem.n_classes if problem.n_classes > 0 else problem.n_outputs
        self.label = <int32_t*>memory.take(n_nodes, sizeof(int32_t))
        self.value = <double*>memory.take(n_nodes * problem.n_outputs, sizeof(double))
        self.centre = <double*>memory.take(problem.n_outputs, sizeof(double))
        self.penalty = <double*>memory.take(n_nodes, sizeof(double))
        self.model = <float**>memory.take(n_nodes, sizeof(float*))
        memset(self.label, 0, n_nodes * sizeof(int32_t))
        memset(self.value, 0, n_nodes * problem.n_outputs * sizeof(double))
        memset(self.penalty, 0, n_nodes * sizeof(double))
        memset(self.model, 0, n_nodes * sizeof(float*))
        self.size = 1.0
        if problem.n_classes == 0:
            y = problem.y[:problem.n_train]
            weight = problem.sample_weight[:problem.n_train]
            centre = np.average(y, axis=0, weights=weight)
            variance = float(np.average((y - centre) ** 2, axis=0, weights=weight).mean())
            if variance > 0.0 and np.isfinite(variance):
                # Unlike a power, rounded in the same way in every unit.
                self.size = math.sqrt(variance)
            for k in range(problem.n_outputs):
                self.centre[k] = centre[k]

    def __dealloc__(self):
        cdef idx_t i
        if self.model != NULL:
            for i in range(self.n_nodes):
                free_block(self.model[i])

    def to_arrays(self):
        """Linear models under the names that a Tree has; an empty dict without any."""
        cdef idx_t i, j, k, stride = self.scaler.complete.stride, n = self.scaler.complete.n
        if not self.linear:
            return {}
        pointer = np.zeros(self.n_nodes + 1, dtype=np.int64)
        intercept = np.zeros((self.n_nodes, self.n_values))
        features, weights = [], []
        for i in range(self.n_nodes):
            pointer[i + 1] = pointer[i]
            if self.model[i] == NULL:
                continue
            for k in range(self.n_values):
                intercept[i, k] = self.model[i][self.n_values * stride + k]
                if self.problem.n_classes == 0:
                    intercept[i, k] = intercept[i, k] * self.size + self.centre[k]
            for j in range(n):
                line = np.array([self.model[i][k * stride + j] for k in range(self.n_values)],
                                dtype=np.float64)
                if not line.any():
                    continue
                line *= self.scaler.complete.scale[j]
                if self.problem.n_classes == 0:
                    line *= self.size
                intercept[i] -= line * self.scaler.complete.origin[j]
                features.append(self.scaler.complete.feature[j])
                weights.append(line)
                pointer[i + 1] += 1
        return {
            "leaf_ptr": pointer,
            "leaf_feature": np.array(features, dtype=np.int32),
            "leaf_weight": np.array(weights, dtype=np.float64).reshape(-1, self.n_values),
            "leaf_intercept": intercept,
        }

    cdef double _cost(self, row_t row, node_t leaf, const float* score,
                      idx_t step) noexcept nogil:
        """Cost of a row whose scores are score[k * step]; of the constant when NULL or NaN."""
        cdef idx_t k, best = 0
        cdef double error, total = 0.0
        cdef const y_t* y
        if score != NULL and score[0] != score[0]:
            score = NULL
        if self.problem.n_classes > 0:
            if score == NULL:
                best = self.label[leaf]
            else:
                for k in range(1, self.n_values):
                    if score[k * step] > score[best * step]:
                        best = k
            return 0.0 if best == self.problem.codes[row] else self.problem.weight[row]
        y = self.problem.targets + row * self.n_values
        for k in range(self.n_values):
            if score == NULL:
                error = (y[k] - self.value[leaf * self.n_values + k]) / self.size
            else:
                error = (y[k] - self.centre[k]) / self.size - <double>score[k * step]
            total += error * error
        return self.problem.weight[row] * total

    cdef double measure_cost(self, row_t row, node_t leaf, LeafScratch scratch) noexcept nogil:
        """Cost of a row in a leaf."""
        cdef double cost
        if self.model[leaf] == NULL:
            return self._cost(row, leaf, NULL, 0)
        self.measure_costs(&row, 1, leaf, self.model[leaf], scratch, &cost)
        return cost

    cdef void measure_costs(self, const row_t* rows, idx_t n, node_t leaf, const float* model,
                            LeafScratch scratch, double* out) noexcept nogil:
        """Costs of rows in a leaf with this linear model, or NULL (OUT n)."""
        cdef idx_t start = 0, here, p, k, stride = self.scaler.complete.stride
        cdef idx_t n_values = self.n_values
        cdef const float* bias
        if model == NULL:
            for p in range(n):
                out[p] = self._cost(rows[p], leaf, NULL, 0)
            return
        bias = model + n_values * stride
        while start < n:
            here = min(<idx_t>LEAF_BATCH, n - start)
            self.scaler.transform(&self.scaler.complete, rows + start, here, scratch.z)
            for k in range(n_values):
                kernels().dot_rows(scratch.z, stride, here, model + k * stride,
                                   scratch.score + k * LEAF_BATCH)
                for p in range(here):
                    scratch.score[k * LEAF_BATCH + p] += bias[k]
            for p in range(here):
                out[start + p] = self._cost(rows[start + p], leaf, scratch.score + p, LEAF_BATCH)
            start += here

    cdef void inherit(self, node_t child, node_t parent) noexcept nogil:
        """Let a child predict what its parent would, until rows reach it."""
        cdef idx_t k, n_outputs = self.problem.n_outputs
        self.label[child] = self.label[parent]
        for k in range(n_outputs):
            self.value[child * n_outputs + k] = self.value[parent * n_outputs + k]

    cdef void fit_constant(self, node_t leaf, const row_t* rows, idx_t n,
                           LeafScratch scratch) noexcept nogil:
        """The heaviest class, the present one if it is as heavy; or the means."""
        cdef idx_t p, k
        cdef double weight = 0.0, w
        cdef int32_t best
        for k in range(self.n_values):
            scratch.sums[k] = 0.0
        for p in range(n):
            w = self.problem.weight[rows[p]]
            weight += w
            if self.problem.n_classes > 0:
                scratch.sums[self.problem.codes[rows[p]]] += w
            else:
                for k in range(self.n_values):
                    scratch.sums[k] += w * (self.problem.targets[rows[p] * self.n_values + k]
                                            - self.centre[k])
        if self.problem.n_classes > 0:
            best = self.label[leaf]
            for k in range(self.n_values):
                if scratch.sums[k] > scratch.sums[best]:
                    best = <int32_t>k
            self.label[leaf] = best
        else:
            for k in range(self.n_values):
                self.value[leaf * self.n_values + k] = (self.centre[k]
                                                        + scratch.sums[k] / weight)
