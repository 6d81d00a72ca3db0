"""Continuously optimised oblique splits: CO2 (Norouzi, Collins, Fleet and Kohli, 2015).

A node starts from the best of a few axis splits and follows the gradient of a continuous
bound on the loss of the split (``stump.pxd``). Trees differ without being shown different
rows, since the random start decides which optimum is found and the planes of wide data use a
random half of the columns.

Departures from the paper, whose numbers stand in ``co2_policy.pxd``. Each node is centred and
scaled by itself (``stump_node.pxi``), so that one setting of radius and step serves all data,
and columns count as much as they tell the classes apart (``separation.pxi``). The weights start as
long as leaves the rows on their worse side near enough to have a gradient. The plane that the bound
leads to is kept as it is in classification: its margin is what generalises, and neither choosing
the threshold anew nor preferring an axis split of larger gain on the training rows makes better
forests. What does is to prefer one that predicts rows better that neither of them was fitted to
(``held_out.pxi``). In regression the plane must gain at least what the axis split does. When
one side is empty, the axis split is taken.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.params import Integer, Number, check_params
from obtree.core.sort cimport make_word
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, w_t
from obtree.criterion.base cimport Criterion, Cut, is_allowed
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.project cimport project_rows
from obtree.data.targets cimport CLASS_TARGETS, TargetView
from obtree.linear.columns cimport write_terms
from obtree.splitter.axis cimport AxisSplitter
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.co2_policy cimport (
    HALF, CO2Policy, DescentPlan, compares_splits, count_held, count_least_rows, init_policy,
    plan_descent,
)
from obtree.splitter.stump cimport Stump, take_stump

include "sparse_node.pxi"
include "stump_node.pxi"
include "separation.pxi"
include "stump_descent.pxi"
include "held_out.pxi"

PRESETS = {
    "fast": {"learning_rate": 0.1, "n_epochs": 5, "min_steps": 40, "max_rows": 4000},
    "full": {"learning_rate": 0.1, "n_epochs": 5, "min_steps": 80, "max_rows": None},
}

RULES = {
    "preset": tuple(PRESETS),
    "nu": ("auto", Number(0, open_low=True)),
    "learning_rate": (None, Number(0, open_low=True)),
    "n_epochs": (None, Integer(1)),
    "min_steps": (None, Integer(1)),
    "batch_size": (Integer(1),),
    "n_candidates": (None, Integer(1)),
    "min_rows": ("auto", Integer(2)),
    "max_rows": (None, Integer(2)),
    "max_columns": ("auto", Integer(1)),
    "held_out": (Number(0, 1, open_high=True),),
}


cdef class CO2Splitter(Splitter):
    """Hyperplane found by descending a continuous bound on the loss.

    Parameters
    ----------
    preset : {"full", "fast"}, default="full"
        Values of `learning_rate` (0.1 for both), `n_epochs` (5 for both), `min_steps` (80 or
        40) and `max_rows` (all, or 4000), where they are None.
    nu : float or "auto", default="auto"
        Bound of the squared length of the weights, for rows of mean squared length 1. The
        larger, the closer the bound is to the loss and the harder it is to descend. "auto"
        is 100; in classification, where a plane has more than 16 columns, and most of the
        spread is not in columns of two values, it falls with their number to 20, and beyond 128
        columns, which are scaled in another way, with its square root from 35.
    learning_rate : float, default=None
        Length of a step in each weight, as a fraction of the square root of `nu`. The preset's
        is halved where most of the node's spread is in columns of two values.
    n_epochs : int, default=None
        Most passes over the rows of a node; fewer when the bound no longer falls. The
        preset's is four times as large where most of the spread is in columns of two values.
    min_steps : int, default=None
        Least number of steps in a node, where epochs are shorter.
    batch_size : int, default=100
        Rows a step.
    n_candidates : int, default=None
        Features that the axis split to start from is the best of; None takes the
        ``max_features`` of the tree or forest.
    min_rows : int or "auto", default="auto"
        Smaller nodes are split along an axis. "auto" is 200 where most of the node's
        spread is in columns of two values, else 2.
    max_rows : int, default=None
        Larger nodes are optimised on so many of their rows, drawn at random; None takes the
        preset's.
    max_columns : int or "auto", default="auto"
        Columns that a node's plane may use, drawn at random; that of the axis split is
        always one of them, beyond the limit if need be. "auto" is half of the columns, but
        at least 16; all, where most have two values, and in regression.
    held_out : float, default=0.3
        Forests of classifiers, where features are in different units or fewer than 16, and nodes
        do not look at all of them: fraction of the rows of a node of ten or more, set aside to
        be predicted by a plane and by an axis split that were fitted to the others. The node takes
        the kind of split that did better, fitted to all rows. 0 takes planes.

    Notes
    -----
    ``splitter_stats_`` of the estimator tells how many nodes were "optimised", and in how
    many of them the axis split was taken since the plane had all rows on one side
    ("collapsed", some percent is normal) or since it did better ("rejected"): on rows set aside in
    classification, by its gain in regression.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.splitter import CO2Splitter
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, splitter=CO2Splitter(preset="fast"), random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.95
    True
    """

    relative_cost = 20.0
    needs_rows = True
    # Regression starts from the best split of all features, the same in every tree that sees
    # the same rows.
    prefers_bootstrap = "regression"
    parameter_names = ("batch_size", "held_out", "learning_rate", "max_columns", "max_rows",
                       "min_rows", "min_steps", "n_candidates", "n_epochs", "nu", "preset")
    counter_names = ("optimised", "collapsed", "rejected")

    def __init__(self, *, preset="full", nu="auto", learning_rate=None, n_epochs=None,
                 min_steps=None, batch_size=100, n_candidates=None, min_rows="auto",
                 max_rows=None, max_columns="auto", held_out=0.3):
        check_params(RULES, preset=preset, nu=nu, learning_rate=learning_rate, n_epochs=n_epochs,
                     min_steps=min_steps, batch_size=batch_size, n_candidates=n_candidates,
                     min_rows=min_rows, max_rows=max_rows, max_columns=max_columns,
                     held_out=held_out)
        self.preset = preset
        self.nu = nu
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.min_steps = min_steps
        self.batch_size = batch_size
        self.n_candidates = n_candidates
        self.min_rows = min_rows
        self.max_rows = max_rows
        self.max_columns = max_columns
        self.held_out = held_out
        chosen = self.settings_in_use()
        init_policy(&self._policy)
        self._policy.held_fraction = held_out
        self._policy.nu = 0.0 if isinstance(nu, str) else nu
        self._policy.rate = chosen["learning_rate"]
        self._policy.max_rows = min(chosen["max_rows"] or 2**31, 2**31)
        self._policy.n_epochs = min(chosen["n_epochs"], 2**31)
        if learning_rate is not None:
            self._policy.binary_rate = 1.0
        if n_epochs is not None:
            self._policy.binary_epochs = 1
        self._policy.min_steps = min(chosen["min_steps"], 2**31)
        self._policy.batch_size = min(batch_size, 2**31)
        self._policy.min_rows = 0 if isinstance(min_rows, str) else min(min_rows, 2**31)

    def settings_in_use(self):
        """The preset's numbers, with those given to the splitter in their place."""
        given = {name: getattr(self, name) for name in PRESETS[self.preset]}
        return {name: PRESETS[self.preset][name] if value is None else value
                for name, value in given.items()}

    cdef object prepare(self, const FitView* fit):
        return measure_column_scales(fit)

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef CO2Policy* policy = &self._policy
        cdef ColumnScales scales = <ColumnScales?>self.prepared
        cdef idx_t max_batch = min(view.n_samples, max(policy.judged_rows, policy.batch_size))
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self._axis_settings = settings[0]
        if self.n_candidates is not None:
            self._axis_settings.max_features = min(view.n_features, self.n_candidates)
        self._axis = AxisSplitter()
        self._axis.bind(view, targets, criterion, &self._axis_settings, workspace)
        self._node = StumpNode()
        policy.max_columns = self._find_max_columns(view.n_features, targets)
        policy.units_differ = scales.differ
        policy.is_table = targets.kind == CLASS_TARGETS and (
            scales.differ or view.n_features < policy.table_columns
        )
        policy.single_tree = settings.max_features >= view.n_features
        self._node.bind(view, targets, scales, workspace, max_batch, policy, settings.relevance)
        take_stump(&self._stump, workspace, self._node.max_stride, self._node.max_slots,
                   max_batch)
        self._descent = StumpDescent()
        self._descent.bind(policy, workspace, self._node.max_stride, self._node.max_slots)
        if policy.is_table:
            self._held_out = HeldOut()
            self._held_out.bind(view, targets, scales.weight_unit, workspace)
        self._projection = <double*>workspace.take(view.n_samples, sizeof(double))
        return 0

    cdef idx_t _find_max_columns(self, idx_t n_features, const TargetView* targets) except -2:
        if self.max_columns != "auto":
            return min(self.max_columns, n_features)
        return HALF if targets.kind == CLASS_TARGETS else n_features

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        self._axis.begin_tree(task)
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef feature_t feature
        cdef double threshold
        if self._axis.node_split(task, out) != FOUND:
            return LEAF
        feature = out.plane.feature[0]
        threshold = out.plane.threshold
        if not self._node.measure(task, task.rows, task.n, feature, self.rng):
            return FOUND
        if (task.n < count_least_rows(&self._policy, &self._node.kind)
                or self._find_column(feature) < 0):
            return FOUND
        self.counters[0] += 1
        if compares_splits(&self._policy, task.n):
            if not self._prefers_plane(task, out):
                self.counters[2] += 1
                return FOUND
            self._node.measure(task, task.rows, task.n, feature, self.rng)
        self._descend(feature, threshold, False)
        if self.settings.stop[0]:
            return LEAF
        self._write_plane(&out.plane)
        if self._accepts(task, out):
            out.rank_cut = -1
            out.projection = self._projection
            out.plane.missing_left = False
            return FOUND
        out.plane.n_terms = 1
        out.plane.feature[0] = feature
        out.plane.weight[0] = 1.0
        out.plane.threshold = threshold
        return FOUND

    cdef bint _prefers_plane(self, const NodeTask* task, const SplitResult* out) noexcept nogil:
        """Whether rows set aside are predicted as well by a plane, fitted to the others, as by the
        axis split."""
        cdef feature_t feature = out.plane.feature[0]
        cdef double axis_loss
        self._held_out.draw(task, count_held(&self._policy, task.n), self.rng)
        axis_loss = self._held_out.judge(task, &out.plane, self._policy.pseudo_count)
        if (not self._node.measure(task, self._held_out.fitted, self._held_out.n_fitted, feature,
                                   self.rng)
                or self._find_column(feature) < 0):
            return True
        self._descend(feature, out.plane.threshold, True)
        self._write_plane(&self._held_out.plane)
        return (self._held_out.judge(task, &self._held_out.plane, self._policy.pseudo_count)
                <= axis_loss)

    cdef idx_t _find_column(self, feature_t feature) noexcept nogil:
        """Where the stump has a feature; -1 when it lacks it, values being missing."""
        cdef idx_t k
        for k in range(self._node.columns.n):
            if self._node.columns.feature[k] == feature:
                return k
        return -1

    cdef void _descend(self, feature_t feature, double threshold, bint is_trial) noexcept nogil:
        """Move the stump from an axis split of the measured node to where its bound is lower."""
        cdef DescentPlan plan
        self._node.load(self.rng, self._policy.batch_size)
        plan_descent(&self._policy, &self._node.kind, is_trial, &plan)
        plan.column = self._find_column(feature)
        plan.threshold = threshold
        self._descent.start(&self._stump, self._node, &plan)
        self._descent.run(&self._stump, self._node, &plan, self.settings.stop)

    cdef void _write_plane(self, Hyperplane* plane) noexcept nogil:
        """The stump's plane in the features' own units."""
        plane.threshold = self._stump.bias
        plane.n_terms = write_terms(&self._node.columns, self._stump.w, &plane.threshold,
                                    plane.feature, plane.weight)

    cdef bint _accepts(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        """Whether both sides are large enough and, in regression, better than the start."""
        cdef idx_t p, n_left = 0, n_right
        cdef w_t left = 0.0, right = 0.0
        cdef Cut cut
        project_rows(self.view, &out.plane, task.rows, task.n, self._projection)
        for p in range(task.n):
            if self._projection[p] <= out.plane.threshold:
                n_left += 1
                left += task.weight[task.rows[p]]
            else:
                right += task.weight[task.rows[p]]
        if (n_left == 0 or n_left == task.n
                or not is_allowed(&task.limits, n_left, task.n - n_left, left, right)):
            self.counters[1] += 1
            return False
        if self._node.is_class:
            return True
        n_right = n_left
        n_left = 0
        for p in range(task.n):
            if self._projection[p] <= out.plane.threshold:
                self._axis.words[n_left] = make_word(0, <uint32_t>p)
                n_left += 1
            else:
                self._axis.words[n_right] = make_word(1, <uint32_t>p)
                n_right += 1
        cut.score = -INFINITY
        self.criterion.scan(self._axis.words, task.n, &task.limits, &cut)
        # Both may part the rows in the same way: that is no reason to decide by rounding.
        if cut.score < self._axis.best_score - 1e-9 * fabs(self._axis.best_score):
            self.counters[2] += 1
            return False
        return True
