"""Non-greedy optimisation of a whole tree (Norouzi, Collins, Johnson, Fleet and Kohli, 2015).

Starting from a grown tree, stochastic gradient steps on a bound of the loss (equations 7-9,
13 and 14) move the planes of all nodes and the leaves together.

Departures from the paper: rows are centred and scaled (``linear/scaled_rows.pyx``), so that one
radius and one step serve all data, in whatever units; the step falls linearly to a
twentieth; after each epoch the leaves become what their rows are, and the planes of the epoch
with the lowest loss are kept, which counts the start only where rows were set aside to judge by.
"""


import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.params import FLAG, Integer, Number, check_params
from obtree.core.random cimport RandState, seed_state, shuffle
from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.data.hyperplane cimport Hyperplane, init_plane
from obtree.data.scale import have_different_units
from obtree.linear.columns cimport write_terms
from obtree.linear.scaled_rows cimport ScaledRows, constant_cell
from obtree.optim.base cimport Optimiser, Problem
from obtree.optim.dense_tree cimport DenseTree, link_parents, renew_leaves, take_tree
from obtree.optim.editable_tree cimport EditableTree
from obtree.optim.editable_tree import finish_nodes
from obtree.tree.tree import Tree

include "joint_descent.pxi"

cdef enum:
    SHUFFLE_STREAM = 11       # of the tree's random numbers

cdef double PSEUDO_COUNT = 0.5
cdef double LAST_RATE = 0.05  # fraction of the step that the last one has
cdef double NEGLIGIBLE = 1e-3     # fraction of the bound
cdef double LEAF_RATE = 3.0   # of the steps of the leaves

INFERENCE = ("fast", "full")
RULES = {
    "inference": INFERENCE,
    "stable": (FLAG,),
    "nu": (Number(0, 1e12, open_low=True),),    # larger ones would leave the range of float32
    "learning_rate": (Number(0, 1e6, open_low=True),),
    "momentum": (Number(0, 1, open_high=True),),
    "n_epochs": (Integer(0),),
    "batch_size": (Integer(1),),
    "prune_inactive": (FLAG,),
    "n_iter_no_change": (Integer(1),),
}


cdef class NonGreedyOptimiser(Optimiser):
    """Moves all planes of a tree down a bound on its loss.

    Parameters
    ----------
    inference : {"fast", "full"}, default="fast"
        Codes among which the one that says most against the tree is sought: those that
        differ from the row's own in one node at most, or all.
    stable : bool, default=False
        Whether rows are held to their leaves until the bound no longer falls.
    nu : float, default=2000
        Bound of the squared length of a plane's weights, for rows of mean squared length 1.
    learning_rate : float, default=0.3
        Length of the first steps, as a fraction of the square root of `nu`.
    momentum : float, default=0.9
        What part of a step goes on into the next.
    n_epochs : int, default=15
        Most passes over the rows.
    batch_size : int, default=100
        Rows a step.
    prune_inactive : bool, default=True
        Whether leaves that no row reaches any more are removed.
    n_iter_no_change : int, default=5
        Epochs without a lower loss of the validation rows before stopping.

    Notes
    -----
    It reports ``n_inactive_leaves`` besides: leaves that no training row reaches in the end.
    """

    parameter_names = ("batch_size", "inference", "learning_rate", "momentum", "n_epochs",
                       "n_iter_no_change", "nu", "prune_inactive", "stable")

    cdef readonly object inference, stable, nu, learning_rate, momentum, n_epochs
    cdef readonly object batch_size, prune_inactive, n_iter_no_change
    cdef ScaledRows _rows
    cdef StepTargets _targets
    cdef double _mean_weight
    cdef DenseTree _tree
    cdef JointDescent _descent
    cdef int32_t* _order
    cdef float* _best             # (n_splits * stride)

    def __init__(self, *, inference="fast", stable=False, nu=2000.0, learning_rate=0.3,
                 momentum=0.9, n_epochs=15, batch_size=100, prune_inactive=True,
                 n_iter_no_change=5):
        check_params(RULES, inference=inference, stable=stable, nu=nu,
                     learning_rate=learning_rate, momentum=momentum, n_epochs=n_epochs,
                     batch_size=batch_size, prune_inactive=prune_inactive,
                     n_iter_no_change=n_iter_no_change)
        self.inference = inference
        self.stable = stable
        self.nu = nu
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.prune_inactive = prune_inactive
        self.n_iter_no_change = n_iter_no_change

    cdef object prepare(self, Problem problem):
        """Scaled rows, the mean weight, weights in units of it, and standardised numbers."""
        cdef ScaledRows rows = ScaledRows()
        n = problem.n_train
        rows.measure(problem.X, problem.sample_weight, n, _have_common_units(problem))
        mean_weight = np.mean(problem.sample_weight[:n])
        weight = np.ascontiguousarray(problem.sample_weight / mean_weight, dtype=np.float32)
        y = None if problem.n_classes else _standardise(problem.y, problem.sample_weight, n)
        return rows, mean_weight, weight, y

    cdef int bind(self, Problem problem, const volatile int* stop) except -1:
        cdef const float[::1] weights
        cdef const float[:, ::1] numbers_
        Optimiser.bind(self, problem, stop)
        self._rows, self._mean_weight, weights, y = self.prepared
        self._targets.weight = &weights[0]
        self._targets.code = problem.codes
        self._targets.y = NULL
        if y is not None:
            numbers_ = y
            self._targets.y = &numbers_[0, 0]
        return 0

    cdef object optimise(self, object tree, uint32_t seed, int n_threads):
        cdef Workspace workspace = Workspace()
        cdef double[::1] objective = np.full(self.n_epochs + 1, np.nan)
        cdef EditableTree editable
        cdef idx_t n_done
        editable = EditableTree(self.problem, tree)
        number = self._load_tree(tree, editable, workspace)
        self._descent = JointDescent()
        self._descent.bind(&self._tree, self._rows, &self._targets,
                           min(self.batch_size, self.problem.n_train), workspace)
        if self.stable:
            self._descent.assigned = <node_t*>workspace.take(self.problem.n_train,
                                                             sizeof(node_t))
        self._order = <int32_t*>workspace.take(self.problem.n_train, sizeof(int32_t))
        self._best = <float*>workspace.take(self._tree.n_splits * self._tree.stride,
                                            sizeof(float))
        n_done = self._run(seed, objective)
        if self.stop[0]:
            return None
        self._write_planes(editable, number)
        nodes, _ = finish_nodes(editable, bool(self.prune_inactive))
        return Tree.from_arrays(n_features=self.problem.n_features, **nodes), {
            "objective": np.asarray(objective)[:n_done + 1],
            "n_inactive_leaves": self._count_unreached(nodes),
        }

    cdef object _count_unreached(self, nodes):
        """Leaves of the start that no row reaches now, whether they were dropped or not."""
        active = (nodes["children_left"] < 0) & (nodes["n_node_samples"] > 0)
        return int(self._tree.n_leaves - np.count_nonzero(active))

    cdef idx_t _run(self, uint32_t seed, double[::1] objective) except -1:
        """Epoch after epoch; OUT the loss before and after each. Returns how many there were."""
        cdef idx_t n = self.problem.n_train, batch = self._descent.batch_size
        cdef idx_t n_batches = (n + batch - 1) // batch
        cdef idx_t n_epochs = self.n_epochs, patience = self.n_iter_no_change
        cdef idx_t epoch, b, n_bad = 0, n_cells = self._tree.n_splits * self._tree.stride
        cdef double bound, last_bound = INFINITY, loss, best, judged, decay
        cdef double rate = self.learning_rate * sqrt(self.nu), leaf_rate
        cdef bint has_validation = n < self.problem.n_rows
        cdef RandState rng
        cdef StepRule rule
        # The squared loss curves more than the log loss: long steps would not settle.
        leaf_rate = LEAF_RATE if self._tree.is_class else 0.1 * LEAF_RATE
        rule.momentum = self.momentum
        rule.nu = self.nu
        rule.full = self.inference == "full"
        seed_state(&rng, seed, SHUFFLE_STREAM)
        for b in range(n):
            self._order[b] = <int32_t>b
        loss = self._refit_leaves(True)
        objective[0] = loss
        # On the rows it was grown on a deep start looks better than it is: there it does
        # not compete with the epochs.
        best = self._judge_validation() if has_validation else INFINITY
        memcpy(self._best, self._tree.w, n_cells * sizeof(float))
        if n_cells == 0 or self._rows.columns.n == 0:
            return 0
        for epoch in range(n_epochs):
            with nogil:
                shuffle(self._order, n, &rng)
                bound = 0.0
                for b in range(n_batches):
                    if self.stop[0]:
                        break
                    decay = 1.0 - (1.0 - LAST_RATE) * (epoch + b / <double>n_batches) / n_epochs
                    rule.rate = <float>(rate * decay)
                    rule.leaf_rate = <float>(leaf_rate * decay)
                    bound += self._descent.step(
                        self._order + b * n // n_batches,
                        (b + 1) * n // n_batches - b * n // n_batches, &rule)
            if self.stop[0]:
                break
            bound /= n
            # Rows held to their leaves are let go when there is nothing more to gain.
            loss = self._refit_leaves(last_bound - bound < NEGLIGIBLE * fabs(bound))
            last_bound = bound
            objective[epoch + 1] = loss
            judged = self._judge_validation() if has_validation else loss
            if judged < best:
                best = judged
                n_bad = 0
                memcpy(self._best, self._tree.w, n_cells * sizeof(float))
            else:
                n_bad += 1
                if has_validation and n_bad >= patience:
                    return epoch + 1
        return n_epochs

    cdef double _refit_leaves(self, bint renew) noexcept:
        """Set the leaves to what their rows are; the mean loss of the training rows."""
        cdef JointDescent descent = self._descent
        cdef idx_t n = self.problem.n_train, n_slots = self._tree.n_slots
        cdef node_t* assigned = descent.assigned if renew else NULL
        cdef double loss
        with nogil:
            memset(descent.counts, 0, self._tree.n_leaves * (n_slots + 1) * sizeof(double))
            descent.count(0, n, assigned)
            descent.fit_from_counts(PSEUDO_COUNT / self._mean_weight)
            renew_leaves(&self._tree)
            loss = descent.judge_counted() if self._tree.is_class else descent.judge(0, n)
        return loss / n

    cdef double _judge_validation(self) noexcept:
        cdef double loss
        with nogil:
            loss = self._descent.judge(self.problem.n_train, self.problem.n_rows)
        return loss

    cdef object _load_tree(self, object tree, EditableTree editable, Workspace workspace):
        """Fill the dense tree; returns the number that each editable node has there."""
        cdef const node_t[::1] left = tree.children_left
        cdef const node_t[::1] right = tree.children_right
        cdef const double[::1] threshold = tree.threshold
        cdef const int64_t[::1] ptr = tree.term_ptr
        cdef const feature_t[::1] feature = tree.term_feature
        cdef const w_t[::1] weight = tree.term_weight
        cdef const int64_t[::1] editable_id = np.argsort(editable.origin)
        cdef node_t[::1] number = np.empty(len(left), dtype=np.int32)
        cdef ScaledRows rows = self._rows
        cdef DenseTree* dense = &self._tree
        cdef node_t n_splits = 0, n_leaves = 0
        cdef idx_t node, k, place, n_nodes = left.shape[0]
        cdef double offset, norm
        cdef float* w
        cdef bint fixed
        for node in range(n_nodes):
            if left[node] >= 0:
                number[node] = n_splits
                n_splits += 1
            else:
                number[node] = ~n_leaves
                n_leaves += 1
        take_tree(dense, workspace, n_leaves, rows.columns.stride,
                  self.problem.n_classes or self.problem.n_outputs, self.problem.n_classes > 0)
        for node in range(n_nodes):
            if left[node] < 0:
                continue
            w = dense.w + number[node] * rows.columns.stride
            dense.child[2 * number[node]] = number[left[node]]
            dense.child[2 * number[node] + 1] = number[right[node]]
            offset = -threshold[node]
            norm = 0.0
            fixed = False
            for k in range(ptr[node], ptr[node + 1]):
                place = rows.place[feature[k]]
                offset += weight[k] * (<double>rows.origin[feature[k]] + rows.mean[feature[k]])
                if place >= 0:
                    w[place] += <float>(weight[k] / rows.columns.scale[place])
                fixed = fixed or place == -2
            w[rows.columns.n] = <float>(offset / constant_cell())
            for k in range(rows.columns.stride):
                norm += <double>w[k] * w[k]
            if fixed or not 0.0 < norm < INFINITY:
                dense.fixed[number[node]] = &editable.plane[editable_id[node]]
                memset(w, 0, rows.columns.stride * sizeof(float))
                continue
            norm = sqrt(self.nu / norm)
            for k in range(rows.columns.stride):
                w[k] *= <float>norm
        link_parents(dense)
        return np.asarray(number)[editable.origin]

    cdef int _write_planes(self, EditableTree editable, const node_t[::1] number) except -1:
        """Give the nodes the best planes, in the features' own units."""
        cdef ScaledRows rows = self._rows
        cdef idx_t n_used = rows.columns.n
        cdef feature_t[::1] feature = np.empty(n_used + 1, dtype=np.int32)
        cdef w_t[::1] weight = np.empty(n_used + 1)
        cdef Hyperplane plane
        cdef const float* w
        cdef node_t node
        init_plane(&plane, &feature[0], &weight[0])
        for node in range(<node_t>editable.n_nodes):
            if number[node] < 0 or self._tree.fixed[number[node]] != NULL:
                continue
            w = self._best + number[node] * rows.columns.stride
            plane.threshold = -<double>w[n_used] * constant_cell()
            plane.missing_left = editable.plane[node].missing_left
            plane.n_terms = write_terms(&rows.columns, w, &plane.threshold, plane.feature,
                                        plane.weight)
            if plane.n_terms == 0 and n_used > 0:
                # A plane has a term, be it zero.
                feature[0] = rows.columns.feature[n_used - 1]
                weight[0] = 0.0
                plane.n_terms = 1
            editable.set_plane(node, &plane)
        return 0


def _have_common_units(Problem problem):
    """Whether columns of classes can be taken as they are, by the rows that are learnt from."""
    if problem.n_classes == 0:
        return False
    return not have_different_units(problem.X[:problem.n_train],
                                    problem.sample_weight[:problem.n_train])


def _standardise(y, weight, n_train):
    """Targets with mean 0 and the same variance in each output, 1 in all; float32."""
    mean = np.average(y[:n_train], axis=0, weights=weight[:n_train])
    spread = np.sqrt(np.average((y[:n_train] - mean) ** 2, axis=0, weights=weight[:n_train]))
    spread[spread == 0] = 1.0
    spread *= np.sqrt(y.shape[1])
    return np.ascontiguousarray((y - mean) / spread, dtype=np.float32)
