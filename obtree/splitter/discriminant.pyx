"""Linear discriminants as node models (oblique random forests; Menze et al., 2011).

A few features are drawn, as for an axis split, and a linear model of the target is fitted to
all of them at once: ridge regression, Fisher's linear discriminant or logistic regression.
The node is cut along its direction, where the criterion says best.

Departures from the paper. Any number of classes (divided at random into two groups) and real
targets are allowed, see node_target.pxi. The penalty is a fixed fraction of the features'
variance in the node and not tuned in each node on the rows left out of the tree. Several
subsets of features are tried, and the best cut of one feature competes with them: without it
targets that follow one feature in steps are badly served (bike_hour, RMSE 58 against 42).
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.params import FLAG, Integer, Number, check_params
from obtree.core.rounding cimport round_to_single
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, w_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.project cimport project_rows
from obtree.data.read cimport gather_codes
from obtree.data.targets cimport TargetView
from obtree.splitter.axis cimport AxisSplitter
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.candidates cimport (
    Candidates, begin_draws, draw_candidate, mark_constant, meets_constants, narrow_candidates,
    pack_known,
)
from obtree.splitter.sweep cimport BETTER, ScoreCut, ScoreSweep, reset_cut

include "node_target.pxi"
include "linear_model.pxi"

cdef enum:
    MAX_TERMS = 64            # in a direction, unless told otherwise


RULES = {
    "method": tuple(METHODS),
    "n_terms": (None, Integer(1)),
    "n_candidates": (Integer(1),),
    "alpha": (Number(1e-6),),
    "axis": (FLAG,),
}


cdef class DiscriminantSplitter(Splitter):
    """Direction of a linear model of a few random features.

    Parameters
    ----------
    method : {"ridge", "lda", "logistic"}, default="ridge"
        The model: ridge regression on the target, the linear discriminant (means of the
        groups relative to the scatter inside the classes), or logistic regression of the
        groups. With real targets the last two separate rows above the mean from the others.
    n_terms : int, default=None
        Features in a direction: drawn among those that vary in the node and that no row of
        it lacks. None takes twice ``max_features``, but at most half of all features, at
        most 64 and at least 2.
    n_candidates : int, default=3
        Directions tried in each node; the best cut counts.
    alpha : float, default=0.1
        Penalty on the squared coefficients, as a fraction of the features' variance.
    axis : bool, default=True
        Whether the best cut of one among ``max_features`` features competes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.splitter import DiscriminantSplitter
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, splitter=DiscriminantSplitter("lda"), random_state=0)
    >>> forest.fit(X, y).score(X, y) > 0.95
    True
    """

    parameter_names = ("method", "n_terms", "n_candidates", "alpha", "axis")
    relative_cost = 8.0
    needs_rows = True
    prefers_bootstrap = False

    cdef readonly str method
    cdef readonly idx_t n_candidates
    cdef readonly double alpha
    cdef readonly object n_terms
    cdef readonly bint axis

    cdef AxisSplitter axis_splitter   # also keeps the pool of features
    cdef ScoreSweep sweep
    cdef NodeTarget target
    cdef LinearModel linear
    cdef idx_t room                   # features of a direction
    cdef idx_t n_drawn                # fewer when the node has no more
    cdef feature_t* feature           # (room) drawn for the candidate, ascending
    cdef double* projection           # (n_samples)
    cdef Hyperplane plane             # of the candidate

    def __init__(self, method="ridge", *, n_terms=None, n_candidates=3, alpha=0.1, axis=True):
        check_params(RULES, method=method, n_terms=n_terms, n_candidates=n_candidates,
                     alpha=alpha, axis=axis)
        self.method = method
        self.n_terms = n_terms
        self.n_candidates = n_candidates
        self.alpha = alpha
        self.axis = axis

    cdef idx_t count_terms(self, idx_t n_features, idx_t max_features) except -1:
        """Features in a direction."""
        cdef idx_t n_terms
        if self.n_terms is not None:
            return min(<idx_t>self.n_terms, n_features)
        n_terms = min(2 * max_features, (n_features + 1) // 2, <idx_t>MAX_TERMS)
        return min(max(n_terms, 2), n_features)

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef idx_t room = self.count_terms(view.n_features, settings.max_features)
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self.axis_splitter = AxisSplitter()
        self.axis_splitter.bind(view, targets, criterion, settings, workspace)
        self.sweep = ScoreSweep()
        self.sweep.bind(criterion, workspace, view.n_samples)
        self.target = NodeTarget()
        self.target.bind(targets, workspace, view.n_samples)
        self.room = room
        self.linear = LinearModel()
        self.linear.bind(view, self.target, self.method, self.alpha, room, workspace)
        self.feature = <feature_t*>workspace.take(room, sizeof(feature_t))
        self.projection = <double*>workspace.take(view.n_samples, sizeof(double))
        self.plane.feature = <feature_t*>workspace.take(room, sizeof(feature_t))
        self.plane.weight = <w_t*>workspace.take(room, sizeof(w_t))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        return self.axis_splitter.begin_tree(task)

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef NodeTask plain = task[0]
        cdef Candidates* pool = &self.axis_splitter.pool
        cdef ScoreCut best
        cdef idx_t _candidate
        cdef int status = LEAF
        reset_cut(&best)
        begin_draws(pool, task.inherited)
        if self.axis:
            status = self.axis_splitter.node_split(task, out)
            best.score = self.axis_splitter.best_score
        for _candidate in range(self.n_candidates):
            if self.settings.stop[0]:
                return LEAF
            if not self.draw_features(task):
                break
            if not self.target.draw(task, self.rng):
                continue
            if not self.linear.fit(task, self.feature, self.n_drawn) or not self.write_terms():
                continue
            project_rows(self.view, &self.plane, task.rows, task.n, self.projection)
            if self.sweep.sweep(self.projection, task.n, &task.limits, &best) == BETTER:
                status = FOUND
                self.write_plane(&best, out)
            if self.target.is_fixed and pool.n_drawn == pool.n_features:
                break         # every usable feature took part: another try gives the same
        if status == LEAF and not self.axis:
            plain.inherited = pack_known(pool)
            status = self.axis_splitter.node_split(&plain, out)
        out.inherited = pack_known(pool)
        return status

    cdef bint draw_features(self, const NodeTask* task) noexcept nogil:
        """Draw features that vary and are complete in the node; False when there are none."""
        cdef Candidates* pool = &self.axis_splitter.pool
        cdef uint32_t low, high
        cdef idx_t j, n_found = 0
        pool.n_drawn = pool.n_constant
        while n_found < self.room:
            j = draw_candidate(pool, self.rng)
            if j < 0:
                break
            gather_codes(self.view, j, task.rows, task.n, self.axis_splitter.codes, &low, &high)
            if low == high:
                mark_constant(pool, 0)
                if meets_constants(pool):
                    narrow_candidates(pool, task.rows, task.n)
            elif not self.view.columns[j].has_missing or high < self.view.columns[j].n_values:
                self.insert_feature(<feature_t>j, n_found)
                n_found += 1
        self.n_drawn = n_found
        return n_found > 0

    cdef void insert_feature(self, feature_t j, idx_t n) noexcept nogil:
        """Add j to n ascending features: memory is read forwards."""
        while n > 0 and self.feature[n - 1] > j:
            self.feature[n] = self.feature[n - 1]
            n -= 1
        self.feature[n] = j

    cdef bint write_terms(self) noexcept nogil:
        """Turn coefficients of standardised features into terms; drop what is next to zero."""
        cdef const double* coefficient = self.linear.coefficient
        cdef double largest = 0.0
        cdef idx_t a
        for a in range(self.n_drawn):
            largest = max(largest, fabs(coefficient[a]))
        self.plane.n_terms = 0
        if not 0.0 < largest < INFINITY:
            return False
        for a in range(self.n_drawn):
            if fabs(coefficient[a]) > 1e-6 * largest:
                self.plane.feature[self.plane.n_terms] = self.feature[a]
                self.plane.weight[self.plane.n_terms] = round_to_single(
                    coefficient[a] / largest / self.linear.scale[a]
                )
                self.plane.n_terms += 1
        return self.plane.n_terms > 0

    cdef void write_plane(self, const ScoreCut* cut, SplitResult* out) noexcept nogil:
        """Make the candidate the proposal."""
        out.plane.n_terms = self.plane.n_terms
        memcpy(out.plane.feature, self.plane.feature, self.plane.n_terms * sizeof(feature_t))
        memcpy(out.plane.weight, self.plane.weight, self.plane.n_terms * sizeof(w_t))
        out.plane.threshold = cut.threshold
        out.plane.missing_left = cut.missing_left
        out.rank_cut = -1
