# One tree under alternating optimisation: its rows, its leaves and the reduced problems.
#
# Every row knows the leaf that it reaches and what it costs there. At a decision node the own
# side of a row is therefore known, and only the other one has to be asked: the *reduced problem*
# has the rows whose costs differ. In classification with constant leaves a row is not even led
# down the other side if no leaf there has its class.

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, seed_state
from obtree.core.types cimport X_t, idx_t, node_t, row_t
from obtree.data.hyperplane cimport Hyperplane, goes_left
from obtree.data.missing cimport heavier_is_left
from obtree.data.partition cimport swap_left
from obtree.data.project cimport project_rows
from obtree.optim.base cimport Problem

cdef enum:
    NODE_EPOCHS = 4           # passes over the rows that care, in small steps
    LEAF_EPOCHS = 2
    BLOCK_BYTES = 1 << 17     # of rows that walk down a tree together: a part of a core's cache

cdef double NODE_RATE = 0.03  # of small steps


cdef class ThreadScratch:
    """What one thread needs for itself."""


cdef class TAOState:
    """A tree, its rows and its leaves.

    Parameters
    ----------
    problem : Problem
    scaler : Scaler
    tree : Tree
        Where to start.
    linear : bool
        Whether leaves have linear models.
    l1, ridge : float
        Penalties on planes and leaves of classification, and on leaves of regression.
    leaf_rate : float
        Step of the weights of leaves, where these are moved in small steps.
    seed : int
    n_threads : int
    log2_scale : int, default=0
        Rows begin at a mean distance of about 2 ** log2_scale from the planes.
    upwards : bool, default=False
        Whether sweeps go from the lowest level to the root.
    """

    def __init__(self, Problem problem, Scaler scaler, tree, bint linear, double l1, double ridge,
                 double leaf_rate, uint64_t seed, int n_threads, int log2_scale=0,
                 bint upwards=False):
        cdef Workspace memory = Workspace()
        cdef idx_t n = problem.n_train
        cdef ThreadScratch thread
        cdef idx_t k, n_nodes
        self.problem = problem
        self.scaler = scaler
        self.memory = memory
        self.l1 = l1
        self.seed = seed
        self.log2_scale = log2_scale
        self.upwards = upwards
        self.n_threads = n_threads
        self.block = max(<idx_t>64, BLOCK_BYTES // (
            scaler.n_features * <idx_t>(1 if scaler.bytes != NULL else sizeof(X_t))))
        self.tree = TAOTree(problem, scaler, tree)
        n_nodes = self.tree.n_nodes
        self.leaves = TAOLeaves(problem, scaler, n_nodes, linear, l1, ridge, leaf_rate, LEAF_EPOCHS)
        self._threads = []
        self.thread = <void**>memory.take(n_threads, sizeof(void*))
        for k in range(n_threads):
            thread = ThreadScratch()
            thread.node_fit = NodeFit(scaler, l1, NODE_RATE, NODE_EPOCHS)
            thread.scratch = LeafScratch(self.leaves)
            self._threads.append(thread)
            self.thread[k] = <void*>thread
        self.start = <idx_t*>memory.take(n_nodes, sizeof(idx_t))
        self.end = <idx_t*>memory.take(n_nodes, sizeof(idx_t))
        self.rows = <row_t*>memory.take(n, sizeof(row_t))
        self.leaf = <int32_t*>memory.take(n, sizeof(int32_t))
        self.cost = <double*>memory.take(n, sizeof(double))
        # Also for the rows that tell when to stop.
        self.other = <int32_t*>memory.take(problem.n_rows, sizeof(int32_t))
        self.list_rows = <row_t*>memory.take(problem.n_rows, sizeof(row_t))
        self.list_place = <int32_t*>memory.take(problem.n_rows, sizeof(int32_t))
        self.projection = <double*>memory.take(problem.n_rows, sizeof(double))
        self.other_cost = <double*>memory.take(n, sizeof(double))
        self.care = <row_t*>memory.take(n, sizeof(row_t))
        self.gain = <double*>memory.take(n, sizeof(double))
        self.labels = NULL
        if problem.n_classes > 0 and not linear:
            self.labels = <uint8_t*>memory.take(n_nodes * problem.n_classes, 1)

    # ---- the start ----------------------------------------------------------------------

    cdef int enter(self, const volatile int* stop) except -1:
        """Send the rows down, give planes a size and leaves a first value.

        Comes first; what it leaves behind when it was stopped is of no use.
        """
        cdef idx_t p, i, start, n, k
        cdef node_t node
        cdef ThreadScratch thread
        cdef RandState rng
        self.stop = stop
        for thread in self._threads:
            thread.node_fit.stop = stop
        thread = self._threads[0]
        for p in range(self.problem.n_train):
            self.rows[p] = <row_t>p
        self.start[0] = 0
        self.end[0] = self.problem.n_train
        with nogil:
            for i in range(self.tree.n_nodes):
                if stop[0]:
                    break
                node = self.tree.order[i]
                start = self.start[node]
                n = self.end[node] - start
                if n > 0:
                    self.leaves.fit_constant(node, self.rows + start, n, thread.scratch)
                if self.tree.left[node] < 0:
                    seed_state(&rng, self.seed, <uint64_t>node)
                    fit_leaf(self.leaves, node, self.rows + start, n, self.other_cost + start,
                             &rng, thread.scratch)
                    for p in range(start, start + n):
                        self.leaf[self.rows[p]] = node
                        self.cost[self.rows[p]] = self.other_cost[p]
                    continue
                for p in range(start, start + n):
                    self.list_place[p] = <int32_t>p
                self.tree.scale_plane(node, self.rows + start, n, self.log2_scale,
                                      self.projection + start)
                self.tree.project(node, self.rows + start, n, self.projection + start)
                k = swap_left(&self.tree.plane[node], self.projection + start,
                              self.rows + start, self.list_place + start, n)
                self.start[self.tree.left[node]] = start
                self.end[self.tree.left[node]] = self.start[self.tree.right[node]] = start + k
                self.end[self.tree.right[node]] = start + n
                self.leaves.inherit(self.tree.left[node], node)
                self.leaves.inherit(self.tree.right[node], node)
        return 0

    def list_leaves(self):
        """The leaf of every row, nodes being numbered as in the tree under TAO."""
        cdef int32_t[::1] leaf = np.empty(self.problem.n_train, dtype=np.int32)
        memcpy(&leaf[0], self.leaf, self.problem.n_train * sizeof(int32_t))
        return np.asarray(leaf)

    # ---- one node -----------------------------------------------------------------------

    cdef void _route(self, node_t node, idx_t first, idx_t last, const uint8_t* labels,
                     int32_t* leaf) noexcept nogil:
        """Lead the listed rows from a node to its leaves, in blocks that stay in the cache."""
        while first < last:
            self.tree.route(node, self.list_rows + first, self.list_place + first,
                            min(self.block, last - first), self.projection + first, labels, leaf)
            first += self.block

    cdef idx_t reduce_node(self, node_t node, LeafScratch scratch) noexcept nogil:
        """Make the reduced problem of a node: care and gain, from its start on.

        Returns how many rows care. A positive gain is what a row saves on the right.
        """
        cdef node_t left = self.tree.left[node], right = self.tree.right[node]
        cdef idx_t start = self.start[node], end = self.end[node]
        cdef idx_t low = start, high = end, p, n_care = 0
        cdef row_t row
        cdef bint on_left
        cdef double gain
        # Rows of the right in front, for the left branch; rows of the left behind.
        for p in range(start, end):
            row = self.rows[p]
            self.other[p] = -1
            if self.leaf[row] >= right:
                self.list_rows[low] = row
                self.list_place[low] = <int32_t>p
                low += 1
            else:
                high -= 1
                self.list_rows[high] = row
                self.list_place[high] = <int32_t>p
        self._route(left, start, low, self.labels, self.other)
        self._route(right, low, end, self.labels, self.other)
        for p in range(start, end):
            row = self.rows[p]
            if self.other[p] < 0:
                self.other_cost[p] = self.problem.weight[row]
            else:
                self.other_cost[p] = self.leaves.measure_cost(row, self.other[p], scratch)
            gain = self.cost[row] - self.other_cost[p]
            if gain == 0.0:
                continue
            on_left = self.leaf[row] < right
            self.care[start + n_care] = row
            self.gain[start + n_care] = gain if on_left else -gain
            n_care += 1
        return n_care

    cdef int try_plane(self, node_t node, NodeFit fit) except -1 nogil:
        """Take the fitted plane if the objective does not rise; rows then change leaves."""
        cdef idx_t start = self.start[node], end = self.end[node], p
        cdef node_t right = self.tree.right[node]
        cdef double balance = 0.0     # weight of the left side, less that of the right one
        cdef double before = self.l1 * self.tree.penalty[node]
        cdef double after = self.l1 * fit.penalty
        cdef row_t row
        if fit.plane.n_terms == 0:
            for p in range(start, end):
                self.projection[p] = 0.0
        elif is_dense(self.scaler, &fit.plane):
            write_dense(self.scaler, &fit.plane, &fit.dense)
            find_sides(self.scaler, &fit.plane, &fit.dense, self.rows + start, end - start,
                       self.projection + start)
        else:
            project_rows(&self.problem.view, &fit.plane, self.rows + start, end - start,
                         self.projection + start)
        for p in range(start, end):
            row = self.rows[p]
            balance += (self.problem.weight[row] if self.projection[p] <= fit.plane.threshold
                        else -self.problem.weight[row])
            before += self.cost[row]
            if (self.projection[p] <= fit.plane.threshold) == (self.leaf[row] < right):
                after += self.cost[row]
            else:
                after += self.other_cost[p]
        if not after <= before:
            return 0
        # No row of the node lacks one of the features; others follow the heavier part.
        fit.plane.missing_left = heavier_is_left(balance, 0.0)
        self.tree.move_plane(node, &fit.plane, fit.penalty)
        self._move_rows(node)
        return 0

    cdef void _move_rows(self, node_t node) noexcept nogil:
        """Move rows to the side that the projections say, and to the leaves there."""
        cdef Hyperplane* plane = &self.tree.plane[node]
        cdef node_t right = self.tree.right[node]
        cdef idx_t start = self.start[node], end = self.end[node]
        cdef idx_t low = start, high = end, p
        cdef row_t row
        cdef bint on_left
        for p in range(start, end):
            row = self.rows[p]
            on_left = goes_left(plane, self.projection[p])
            if on_left == (self.leaf[row] < right):
                continue
            self.cost[row] = self.other_cost[p]
            if self.other[p] >= 0:
                self.leaf[row] = self.other[p]
                continue
            # Not led down before, since no leaf there was right for it.
            if on_left:
                self.list_rows[low] = row
                self.list_place[low] = row
                low += 1
            else:
                high -= 1
                self.list_rows[high] = row
                self.list_place[high] = row
        self._route(self.tree.left[node], start, low, NULL, self.leaf)
        self._route(right, high, end, NULL, self.leaf)

    cdef void partition_rows(self, node_t node) noexcept nogil:
        """Put the rows of the left child in front and hand both parts down."""
        cdef idx_t start = self.start[node], end = self.end[node], p
        cdef node_t left = self.tree.left[node], right = self.tree.right[node]
        cdef double threshold = self.tree.plane[node].threshold
        # The sides are known: no need to project.
        for p in range(start, end):
            self.projection[p] = threshold if self.leaf[self.rows[p]] < right else INFINITY
        p = start + swap_left(&self.tree.plane[node], self.projection + start, self.rows + start,
                              self.list_place + start, end - start)
        self.start[left] = start
        self.end[left] = self.start[right] = p
        self.end[right] = end

    # ---- all nodes ----------------------------------------------------------------------

    cdef void collect_labels(self) noexcept nogil:
        """Which classes the leaves below each node name."""
        cdef idx_t i, k, n_classes = self.problem.n_classes
        cdef uint8_t* line
        if self.labels == NULL:
            return
        for i in range(self.tree.n_nodes - 1, -1, -1):
            line = self.labels + i * n_classes
            if self.tree.left[i] < 0:
                memset(line, 0, n_classes)
                line[self.leaves.label[i]] = 1
                continue
            for k in range(n_classes):
                line[k] = (self.labels[self.tree.left[i] * n_classes + k]
                           | self.labels[self.tree.right[i] * n_classes + k])

    cdef double measure(self) noexcept nogil:
        """The objective: costs of the rows, and the penalties."""
        cdef double total = 0.0
        cdef idx_t i
        for i in range(self.problem.n_train):
            total += self.cost[i]
        for i in range(self.tree.n_nodes):
            if self.tree.left[i] < 0:
                total += self.leaves.penalty[i]
            else:
                total += self.l1 * self.tree.penalty[i]
        return total

    cdef double validate(self) noexcept nogil:
        """Mean cost of the rows that tell when to stop."""
        cdef idx_t first = self.problem.n_train, n = self.problem.n_rows - first, p
        cdef double total = 0.0, weight = 0.0
        for p in range(n):
            self.list_rows[p] = <row_t>(first + p)
            self.list_place[p] = <int32_t>p
        self.tree.route(0, self.list_rows, self.list_place, n, self.projection, NULL, self.other)
        for p in range(n):
            total += self.leaves.measure_cost(<row_t>(first + p), self.other[p],
                                              (<ThreadScratch>self.thread[0]).scratch)
            weight += self.problem.weight[first + p]
        return total / weight
