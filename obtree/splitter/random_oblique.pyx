"""Random oblique splits: the best threshold on a few random directions.

Each candidate is a random combination of a few features (Forest-RC of Breiman, 2001; sparse
projections of Tomita et al., 2020), divided by the features' scales. Its projections are
sorted and swept like a single feature's values. With ``threshold="random"`` one threshold is
drawn between the smallest and the largest projection instead: extremely randomised trees
(Geurts et al., 2006) with oblique splits. With ``two_sided=True`` a node may ask whether the
projection lies between two thresholds (Criminisi et al., 2011, equation 2.2).

A direction that is constant in the node does not count towards ``max_features``, nor does one
that the node has met already.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.params import FLAG, Number, check_params
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane, copy_terms, init_plane
from obtree.data.project cimport FixedPoint, KeyRange, project_entries, project_rows
from obtree.data.scale cimport measure_scales
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.candidates cimport pack_known
from obtree.splitter.sweep cimport BETTER, CONSTANT, IntervalSweep, ScoreCut, ScoreSweep, reset_cut

include "random_directions.pxi"

WEIGHTS = ("sign", "uniform", "gaussian", "power_of_two")
RULES = {
    "feature_combinations": (Number(1),),
    "weights": WEIGHTS,
    "dense": (FLAG,),
    "threshold": ("best", "random"),
    "two_sided": (FLAG,),
}


cdef class ObliqueScales:
    """Scales of the features and, for whole-number weights, their integer tables; once per fit."""

    cdef double* scale        # (n_features)
    cdef FixedPoint fixed_point
    cdef Workspace memory


cdef class RandomObliqueSplitter(Splitter):
    """Best threshold on a few sparse random directions.

    Of ``max_features`` directions drawn at random, the one whose best cut improves the
    criterion most. Rows that lack one of its features go to the side that is better for
    the criterion. ``max_features`` may be larger than the number of features.

    Parameters
    ----------
    feature_combinations : float, default=2.0
        Number of features in a direction, on average; at most the number of features.
    weights : {"sign", "uniform", "gaussian", "power_of_two"}, default="sign"
        How weights are drawn before they are divided by the scale of their feature: -1 or 1;
        between -1 and 1; from a normal distribution; a power of two from 1/8 to 8 with
        either sign.
    dense : bool, default=False
        Whether directions have all features; `feature_combinations` then says nothing.
    threshold : {"best", "random"}, default="best"
        Whether the best threshold of a direction is taken, or one drawn at random.
    two_sided : bool, default=False
        Whether a node may ask for an interval, ``lower < projection <= threshold``; for
        ``threshold="best"`` only.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.splitter import RandomObliqueSplitter
    >>> X, y = load_wine(return_X_y=True)
    >>> splitter = RandomObliqueSplitter(feature_combinations=3)
    >>> forest = ObliqueForestClassifier(20, splitter=splitter, random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.95
    True
    """

    parameter_names = ("feature_combinations", "weights", "dense", "threshold", "two_sided")
    relative_cost = 3.0
    max_features_unbounded = True
    prefers_bootstrap = False

    cdef readonly double feature_combinations
    cdef readonly str weights
    cdef readonly bint dense
    cdef readonly str threshold
    cdef readonly bint two_sided
    cdef RandomDirections directions
    cdef ObliqueScales scales
    cdef ScoreSweep scores
    cdef bint best_threshold
    cdef bint whole_numbers   # weights are powers of two, and projections may be keys
    cdef Hyperplane plane
    cdef double* projection
    # Sparse data only, else NULL: projections that are not zero, and where they stand.
    cdef double* sums         # (n_samples) zeros between uses
    cdef row_t* met_at        # (n_samples + 1)
    cdef uint8_t* met         # (n_samples) zeros between uses

    def __init__(self, *, feature_combinations=2.0, weights="sign", dense=False,
                 threshold="best", two_sided=False):
        check_params(RULES, feature_combinations=feature_combinations, weights=weights,
                     dense=dense, threshold=threshold, two_sided=two_sided)
        self.two_sided = two_sided
        if self.two_sided and threshold == "random":
            raise ValueError(
                "two_sided=True is not valid with threshold='random'; expected threshold='best'"
            )
        self.feature_combinations = feature_combinations
        self.weights = weights
        self.dense = dense
        self.threshold = threshold
        self.best_threshold = threshold == "best"
        # Intervals are searched on sorted projections only.
        self.whole_numbers = (weights in ("sign", "power_of_two") and not dense
                              and not self.two_sided)

    @property
    def needs_rows(self):
        """Dense directions read rows; others read bytes where the data are bytes."""
        return True if self.dense else "wide"

    cdef object prepare(self, const FitView* fit):
        cdef ObliqueScales scales = ObliqueScales()
        scales.memory = Workspace()
        scales.scale = <double*>scales.memory.take(fit.data.n_features, sizeof(double))
        measure_scales(fit, scales.scale, Workspace())
        if self.whole_numbers:
            scales.fixed_point = FixedPoint()
            scales.fixed_point.bind(fit.data, scales.memory)
        return scales

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self.directions = RandomDirections()
        self.scales = <ObliqueScales?>self.prepared
        self.directions.bind(view, self.scales.scale, settings.relevance,
                             self.feature_combinations, self.dense,
                             <WeightKind><int>WEIGHTS.index(self.weights),
                             3 * settings.max_features + 16, workspace)
        self.scores = IntervalSweep() if self.two_sided else ScoreSweep()
        self.scores.bind(criterion, workspace, view.n_samples)
        init_plane(&self.plane, <feature_t*>workspace.take(view.n_features, sizeof(feature_t)),
                   <w_t*>workspace.take(view.n_features, sizeof(w_t)))
        self.projection = <double*>workspace.take(view.n_samples, sizeof(double))
        self.sums = NULL
        if (view.columns[0].rows != NULL and self.best_threshold and not self.two_sided
                and not self.dense and criterion.scans_above):
            self.sums = <double*>workspace.take(view.n_samples, sizeof(double))
            # One more, for a place is written before it is known to be new.
            self.met_at = <row_t*>workspace.take(view.n_samples + 1, sizeof(row_t))
            self.met = <uint8_t*>workspace.take(view.n_samples, 1)
            memset(self.sums, 0, view.n_samples * sizeof(double))
            memset(self.met, 0, view.n_samples)
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        self.directions.begin_tree()
        return 0

    cdef int judge(self, const NodeTask* task, ScoreCut* best) except -1 nogil:
        """Improve `best` by the direction at hand; a SweepStatus."""
        cdef KeyRange found
        cdef idx_t n_met
        if (self.best_threshold and self.whole_numbers
                and self.scales.fixed_point.project(self.view, &self.plane, task.rows, task.n,
                                                    self.scores.keys, &found)):
            return self.scores.sweep_keys(self.scores.keys, task.n, &found, &task.limits, best)
        if self.sums != NULL:
            n_met = project_entries(self.view, &self.plane, task.rows, task.n, self.sums,
                                    self.met_at, self.met, self.directions.words)
            if n_met >= 0:
                return self.scores.sweep_entries(self.sums, self.met_at, n_met, task.n,
                                                 self.projection, &task.limits, best)
        project_rows(self.view, &self.plane, task.rows, task.n, self.projection)
        if self.best_threshold:
            return self.scores.sweep(self.projection, task.n, &task.limits, best)
        return self.scores.try_random(self.projection, task.n, self.rng, &task.limits, best)

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef ScoreCut best
        cdef idx_t n_left = self.settings.max_features
        cdef idx_t n_failures = 2 * self.settings.max_features + 16
        cdef int status
        cdef bint found = False
        reset_cut(&best)
        self.directions.begin_node(task.inherited)
        while n_left > 0 and n_failures > 0 and not self.settings.stop[0]:
            if not self.directions.draw(self.rng, &self.plane):
                n_failures -= 1
                continue
            status = self.judge(task, &best)
            if status == CONSTANT:
                n_failures -= self.directions.mark_constants(&self.plane, task.rows, task.n) == 0
                continue
            n_left -= 1
            if status == BETTER:
                found = True
                copy_terms(&self.plane, &out.plane)
                if best.score >= self.criterion.goal:
                    break
        out.inherited = pack_known(&self.directions.pool)
        if not found or self.settings.stop[0]:
            return LEAF
        out.plane.threshold = best.threshold
        out.plane.lower = best.lower
        out.plane.missing_left = best.missing_left
        return FOUND


include "fern.pxi"
