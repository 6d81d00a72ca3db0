# Steps down the surrogate objective of a tree (Norouzi et al., 2015, algorithm 1).
#
# For each row of a batch, loss-augmented inference finds the code g that says most against the
# tree. The bound of the row's loss is linear in the planes around there, with the gradient
# (g - h) x for a node whose sides under g and under the row's own code h differ; so a row moves
# no node, or those that would have to be flipped for it to reach the bad leaf.
#
# Departures from the paper: a plane's momentum waits while no row of a batch moves it
# (a step costs what it touches, and not the size of the tree), and gradients are means over
# the batch.

from libc.math cimport expf
from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, node_t
from obtree.linear.adam cimport project_ball
from obtree.linear.gradients cimport add_gradient, begin_gradients, read_gradient, take_gradients
from obtree.linear.loss cimport find_log_probabilities
from obtree.linear.scaled_rows cimport ScaledRows
from obtree.optim.dense_tree cimport Case, DenseTree, find_leaf, loss_at, renew_leaf
from obtree.optim.inference cimport Answer, compare_path, infer_fast, infer_full

cdef enum:
    BLOCK = 64                # rows scaled together when none is moved


cdef class JointDescent:
    """Scratch of a descent and what it works on."""

    cdef int bind(self, DenseTree* tree, ScaledRows rows, const StepTargets* targets,
                  idx_t batch_size, Workspace workspace) except -1:
        cdef idx_t n_cells = tree.n_splits * tree.stride
        cdef idx_t n_values = tree.n_leaves * tree.n_slots, k
        self.tree = tree
        self.rows = rows
        self.targets = targets[0]
        self.batch_size = batch_size
        self.assigned = NULL
        self._x = <float*>workspace.take(max(batch_size, <idx_t>BLOCK) * tree.stride,
                                         sizeof(float))
        self._velocity = <float*>workspace.take(n_cells, sizeof(float))
        self._leaf_velocity = <float*>workspace.take(n_values, sizeof(float))
        self._gradient = <float*>workspace.take(tree.stride, sizeof(float))
        self._leaf_gradient = <float*>workspace.take(n_values, sizeof(float))
        self._batch_weight = <float*>workspace.take(tree.n_leaves, sizeof(float))
        # A row moves planes towards one leaf, and away from another.
        take_gradients(&self._gradients, tree.n_splits, 2 * batch_size * max(tree.max_depth, 1),
                       2 * batch_size, workspace)
        self._touched_leaf = <node_t*>workspace.take(tree.n_leaves, sizeof(node_t))
        self._answer.flipped = <node_t*>workspace.take(tree.max_depth, sizeof(node_t))
        self._answer.score = <float*>workspace.take(tree.max_depth, sizeof(float))
        self._answer.path = <node_t*>workspace.take(tree.max_depth + 1, sizeof(node_t))
        self._answer.path_score = <float*>workspace.take(tree.max_depth + 1, sizeof(float))
        self._answer.path_cost = <float*>workspace.take(tree.max_depth + 1, sizeof(float))
        self.counts = <double*>workspace.take(tree.n_leaves * (tree.n_slots + 1), sizeof(double))
        memset(self._velocity, 0, n_cells * sizeof(float))
        memset(self._leaf_velocity, 0, n_values * sizeof(float))
        memset(self._leaf_gradient, 0, n_values * sizeof(float))
        for k in range(tree.n_leaves):
            self._batch_weight[k] = -1.0
        return 0

    cdef void _load_case(self, Case* case, idx_t row, const float* x) noexcept nogil:
        case.x = x
        case.raw = self.rows.X + row * self.rows.n_features
        case.code = self.targets.code[row] if self.targets.code != NULL else 0
        case.y = self.targets.y
        if case.y != NULL:
            case.y += row * self.tree.n_slots

    cdef node_t _find_leaf(self, Case* case, idx_t row, const float* x) noexcept nogil:
        """The leaf of a row; OUT case."""
        self._load_case(case, row, x)
        return find_leaf(self.tree, 0 if self.tree.n_splits > 0 else -1, case)

    cdef double step(self, const int32_t* rows, idx_t n, const StepRule* rule) noexcept nogil:
        cdef Answer* answer = &self._answer
        cdef Case case
        cdef double total = 0.0
        cdef float weight, cost
        cdef idx_t p
        begin_gradients(&self._gradients)
        self._n_touched_leaves = 0
        self.rows.fetch(rows, 0, n, self._x)
        for p in range(n):
            self._load_case(&case, rows[p], self._x + p * self.tree.stride)
            weight = self.targets.weight[rows[p]]
            if rule.full:
                infer_full(self.tree, &case, answer)
            else:
                infer_fast(self.tree, &case, answer)
            self._add_gradients(p, -2 * weight / n)
            self._add_leaf_gradient(answer.leaf, &case, weight / n)
            total += weight * answer.bound
            if self.assigned != NULL and self.assigned[rows[p]] != answer.own_leaf:
                # Equation 14: h is the best code that leads to the leaf the row is held to.
                cost = compare_path(self.tree, &case, self.assigned[rows[p]], answer)
                self._add_gradients(p, 2 * weight / n)
                total += weight * cost
        self._move_planes(rule)
        self._move_leaves(rule)
        return total

    cdef void _add_gradients(self, idx_t p, float factor) noexcept nogil:
        """Note the gradient of row p at the nodes that the answer flips."""
        cdef idx_t k
        for k in range(self._answer.n_flipped):
            add_gradient(&self._gradients, self._answer.flipped[k], p,
                         factor if self._answer.score[k] > 0 else -factor)

    cdef void _add_leaf_gradient(self, node_t leaf, const Case* case, float weight) noexcept nogil:
        cdef idx_t k, n = self.tree.n_slots
        cdef float* leaf_gradient = self._leaf_gradient + leaf * n
        # Weights may be too small for single precision, so a sum of zero says nothing.
        if self._batch_weight[leaf] < 0:
            self._batch_weight[leaf] = 0.0
            self._touched_leaf[self._n_touched_leaves] = leaf
            self._n_touched_leaves += 1
        self._batch_weight[leaf] += weight
        if self.tree.is_class:
            leaf_gradient[case.code] -= weight
        else:
            for k in range(n):
                leaf_gradient[k] -= 2 * weight * case.y[k]

    cdef void _move_planes(self, const StepRule* rule) noexcept nogil:
        cdef DenseTree* tree = self.tree
        cdef idx_t i, k
        cdef node_t node
        cdef float* w
        cdef float* velocity
        for i in range(self._gradients.n_touched):
            node = self._gradients.touched[i]
            read_gradient(&self._gradients, node, self._x, tree.stride, self._gradient)
            w = tree.w + node * tree.stride
            velocity = self._velocity + node * tree.stride
            for k in range(tree.stride):
                velocity[k] = rule.momentum * velocity[k] + self._gradient[k]
                w[k] -= rule.rate * velocity[k]
            project_ball(w, tree.stride, rule.nu)

    cdef void _move_leaves(self, const StepRule* rule) noexcept nogil:
        """Line 10 of the algorithm; the gradient of log loss is p - [class]."""
        cdef DenseTree* tree = self.tree
        cdef idx_t i, k, n = tree.n_slots
        cdef node_t leaf
        cdef float* theta
        cdef float* leaf_gradient
        cdef float* velocity
        cdef float prediction
        for i in range(self._n_touched_leaves):
            leaf = self._touched_leaf[i]
            theta = tree.theta + leaf * n
            leaf_gradient = self._leaf_gradient + leaf * n
            velocity = self._leaf_velocity + leaf * n
            for k in range(n):
                if tree.is_class:
                    prediction = expf(-tree.table[leaf * n + k])
                else:
                    prediction = 2 * theta[k]
                velocity[k] = (rule.momentum * velocity[k] + leaf_gradient[k]
                               + self._batch_weight[leaf] * prediction)
                leaf_gradient[k] = 0.0
            for k in range(n):
                theta[k] -= rule.leaf_rate * velocity[k]
            self._batch_weight[leaf] = -1.0
            renew_leaf(tree, leaf)

    cdef void count(self, idx_t start, idx_t end, node_t* leaf) noexcept nogil:
        cdef Case case
        cdef idx_t p, k, n_here, n = self.tree.n_slots
        cdef double* counts
        cdef double weight
        cdef node_t own_leaf
        while start < end:
            n_here = min(<idx_t>BLOCK, end - start)
            self.rows.fetch(NULL, start, n_here, self._x)
            for p in range(n_here):
                own_leaf = self._find_leaf(&case, start + p, self._x + p * self.tree.stride)
                if leaf != NULL:
                    leaf[p] = own_leaf
                counts = self.counts + own_leaf * (n + 1)
                weight = self.targets.weight[start + p]
                counts[n] += weight
                if self.tree.is_class:
                    counts[case.code] += weight
                else:
                    for k in range(n):
                        counts[k] += weight * case.y[k]
            if leaf != NULL:
                leaf += n_here
            start += n_here

    cdef double judge(self, idx_t start, idx_t end) noexcept nogil:
        cdef Case case
        cdef idx_t p, n_here
        cdef node_t own_leaf
        cdef double total = 0.0
        while start < end:
            n_here = min(<idx_t>BLOCK, end - start)
            self.rows.fetch(NULL, start, n_here, self._x)
            for p in range(n_here):
                own_leaf = self._find_leaf(&case, start + p, self._x + p * self.tree.stride)
                total += self.targets.weight[start + p] * loss_at(self.tree, own_leaf, &case)
            start += n_here
        return total

    cdef double judge_counted(self) noexcept nogil:
        cdef idx_t leaf, k, n = self.tree.n_slots
        cdef double total = 0.0
        for leaf in range(self.tree.n_leaves):
            for k in range(n):
                total += self.counts[leaf * (n + 1) + k] * self.tree.table[leaf * n + k]
        return total

    cdef void fit_from_counts(self, double pseudo_count) noexcept nogil:
        cdef idx_t leaf, k, n = self.tree.n_slots
        cdef const double* counts
        cdef float* theta
        for leaf in range(self.tree.n_leaves):
            counts = self.counts + leaf * (n + 1)
            theta = self.tree.theta + leaf * n
            if counts[n] <= 0.0:
                continue
            if self.tree.is_class:
                find_log_probabilities(counts, n, counts[n], pseudo_count, theta)
            else:
                for k in range(n):
                    theta[k] = <float>(counts[k] / counts[n])
            renew_leaf(self.tree, leaf)
