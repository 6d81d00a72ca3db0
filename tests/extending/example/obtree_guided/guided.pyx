"""Directions that the targets suggest.

Two classes of the node are drawn at random, and a few features. The direction is the
difference of the two classes' means, each feature divided by its variance in the node: the
discriminant of two classes whose features are independent. In regression the difference of
means gives way to the covariance with the target. Where to cut along it, the criterion says.
"""

import numbers

from libc.math cimport isfinite
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.random cimport bounded
from obtree.core.types cimport FOUND, LEAF, X_t, feature_t, idx_t, w_t, y_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.read cimport read_columns
from obtree.data.project cimport project_rows
from obtree.data.targets cimport NO_TARGETS, REAL_TARGETS, TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter, SplitSettings, TreeTask
from obtree.splitter.sweep cimport BETTER, ScoreCut, ScoreSweep, reset_cut
from obtree.splitter.varying cimport (
    VaryingFeatures,
    begin_features,
    bind_features,
    draw_features,
    reset_features,
)


cdef class GuidedSplitter(Splitter):
    """Best cut along the line between the means of two classes.

    Parameters
    ----------
    n_terms : int, default=4
        Features of a direction, drawn among those that vary in the node.
    """

    parameter_names = ("n_terms",)    # Python cannot see the arguments of a compiled __init__
    needs_rows = True                 # have obtree keep X, and not only its ranks

    cdef readonly idx_t n_terms
    cdef VaryingFeatures features
    cdef ScoreSweep sweep
    cdef Hyperplane plane             # the candidate at hand
    cdef double* guide                # (n_samples) what each row adds to the direction
    cdef double* score                # (n_samples) projections
    cdef X_t* column                  # (n_samples)

    def __init__(self, *, n_terms=4):
        if not isinstance(n_terms, numbers.Integral) or n_terms < 1:
            raise ValueError(f"n_terms={n_terms!r} is not valid; expected an integer >= 1")
        self.n_terms = n_terms

    # Once for each thread, with the GIL: keep what is lent, take all memory.
    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        if targets.kind == NO_TARGETS:
            raise ValueError("splitter 'guided' is guided by y; expected targets")
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        bind_features(&self.features, view, settings.relevance, workspace)
        self.sweep = ScoreSweep()
        self.sweep.bind(criterion, workspace, view.n_samples)
        self.plane.partner = NULL     # no products of features
        self.plane.feature = <feature_t*>workspace.take(view.n_features, sizeof(feature_t))
        self.plane.weight = <w_t*>workspace.take(view.n_features, sizeof(w_t))
        self.guide = <double*>workspace.take(view.n_samples, sizeof(double))
        self.score = <double*>workspace.take(view.n_samples, sizeof(double))
        self.column = <X_t*>workspace.take(view.n_samples, sizeof(X_t))
        return 0

    # Once for each tree: all random numbers come from here.
    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        reset_features(&self.features)
        return 0

    # Once for each node, without the GIL: write a plane, or say LEAF.
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef ScoreCut best
        cdef idx_t _candidate
        cdef bint found = False
        reset_cut(&best)
        begin_features(&self.features, task.rows, task.n, <idx_t>task.inherited)
        for _candidate in range(self.settings.max_features):
            if self.settings.stop[0]:
                return LEAF
            if self.draw_direction(task):
                found |= self.rate_candidate(task, &best, out)
        # Classes with equal means: single features, rather than no split at all.
        for _candidate in range(self.settings.max_features):
            if found or draw_features(&self.features, self.rng, 1, self.plane.feature) == 0:
                break
            self.plane.n_terms = 1
            self.plane.weight[0] = 1.0
            found |= self.rate_candidate(task, &best, out)
        out.inherited = self.features.n_constant
        if not found:
            return LEAF
        out.plane.threshold = best.threshold
        out.plane.missing_left = best.missing_left
        return FOUND

    cdef bint rate_candidate(self, const NodeTask* task, ScoreCut* best,
                             SplitResult* out) except -1 nogil:
        """Make the candidate the proposal if its best cut beats all before."""
        project_rows(self.view, &self.plane, task.rows, task.n, self.score)
        if self.sweep.sweep(self.score, task.n, &task.limits, best) != BETTER:
            return False
        out.plane.n_terms = self.plane.n_terms
        memcpy(out.plane.feature, self.plane.feature, self.plane.n_terms * sizeof(feature_t))
        memcpy(out.plane.weight, self.plane.weight, self.plane.n_terms * sizeof(w_t))
        return True

    cdef bint draw_direction(self, const NodeTask* task) noexcept nogil:
        """Fill `plane` with a random direction; False when the draw has none."""
        cdef idx_t k, n_drawn, wanted = min(self.n_terms, self.view.n_features)
        cdef double weight
        cdef feature_t j
        if not self.draw_guide(task):
            return False
        n_drawn = draw_features(&self.features, self.rng, wanted, self.plane.feature)
        self.plane.n_terms = 0
        for k in range(n_drawn):
            j = self.plane.feature[k]
            weight = self.weigh_feature(task, j)
            if weight != 0.0 and isfinite(weight):
                self.plane.feature[self.plane.n_terms] = j
                self.plane.weight[self.plane.n_terms] = weight
                self.plane.n_terms += 1
        return self.plane.n_terms > 0

    cdef bint draw_guide(self, const NodeTask* task) noexcept nogil:
        """Fill `guide`: 1 / weight of one class, -1 / weight of another; or y minus its mean."""
        cdef idx_t n_outputs = self.targets.n_outputs
        cdef idx_t output = bounded(self.rng, n_outputs)
        cdef const int32_t* label = self.targets.codes + output
        cdef const y_t* target = self.targets.values + output
        cdef idx_t p, n_others = 0
        cdef int32_t one, other = -1, here
        cdef w_t w, weight_one = 0.0, weight_other = 0.0
        cdef double mean = 0.0
        if self.targets.kind == REAL_TARGETS:
            for p in range(task.n):
                w = task.weight[task.rows[p]]
                weight_one += w
                mean += w * target[task.rows[p] * n_outputs]
            mean /= weight_one
            for p in range(task.n):
                w = task.weight[task.rows[p]]
                self.guide[p] = w * (target[task.rows[p] * n_outputs] - mean) / weight_one
            return True
        one = label[task.rows[bounded(self.rng, task.n)] * n_outputs]
        for p in range(task.n):
            here = label[task.rows[p] * n_outputs]
            if here != one:
                n_others += 1
                if bounded(self.rng, n_others) == 0:
                    other = here
        if n_others == 0:
            return False
        for p in range(task.n):
            here = label[task.rows[p] * n_outputs]
            w = task.weight[task.rows[p]]
            self.guide[p] = w if here == one else (-w if here == other else 0.0)
            weight_one += w if here == one else 0.0
            weight_other += w if here == other else 0.0
        for p in range(task.n):
            self.guide[p] /= weight_one if self.guide[p] > 0.0 else weight_other
        return True

    cdef double weigh_feature(self, const NodeTask* task, feature_t j) noexcept nogil:
        """Sum of guide * x over the variance of x; missing values count as the mean."""
        cdef double weight = 0.0, mean = 0.0, square = 0.0, along = 0.0, d
        cdef idx_t p
        cdef w_t w
        read_columns(self.view, task.rows, task.n, &j, 1, self.column)
        for p in range(task.n):
            if self.column[p] == self.column[p]:
                w = task.weight[task.rows[p]]
                weight += w
                mean += w * self.column[p]
        if weight == 0.0:
            return 0.0
        mean /= weight
        for p in range(task.n):
            if self.column[p] == self.column[p]:
                d = self.column[p] - mean
                square += task.weight[task.rows[p]] * d * d
                along += self.guide[p] * d
        return along * weight / square if square > 0.0 else 0.0
