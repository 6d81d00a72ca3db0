"""Oblique splits by coordinate descent (OC1; Murthy, Kasif and Salzberg, 1994).

A plane starts as the best axis split. One coefficient after the other is then given the
value that is best for the criterion while the others stay as they are, found exactly:
only the steps at which a row changes sides matter, and all of them are judged in one
sweep. When no single coefficient helps, random directions are tried ("jumps").

In departure from the paper the constant term is a coefficient like any other, features
are centred in the node and of any sign and scale, several starts are an option and not
the rule, and in large nodes the search sees a sample of the rows. The threshold of the
plane found is then placed by all rows of the node, and the axis split is kept unless the
plane is better: no split is worse than the axis split it started from.

``mode="cart-lc"`` is the deterministic search of CART (Breiman et al., 1984, section
5.2): it also moves the point about which a coefficient turns the plane, and at the end
drops the features that matter little.
"""

from libc.math cimport sqrt
from libc.stdint cimport uint32_t
from libc.stdlib cimport qsort

from obtree.core.memory cimport Workspace
from obtree.core.params import Integer, Number, check_params
from obtree.core.random cimport bounded, draw_in_order
from obtree.core.types cimport FOUND, feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, NodeStats, ScanLimits
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane, copy_terms, goes_left, init_plane
from obtree.data.project cimport project_rows
from obtree.data.read cimport column_lacks_value, find_complete
from obtree.data.targets cimport CLASS_TARGETS, TargetView
from obtree.splitter.axis cimport AxisSplitter
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.candidates cimport WIDE_POOL, pack_known
from obtree.splitter.relevance cimport keep_relevant
from obtree.splitter.sweep cimport ScoreCut, ScoreSweep, reset_cut

include "plane_search.pxi"
include "coordinate_descent.pxi"

ORDERS = ("sequential", "best", "random")
RULES = {
    "mode": ("oc1", "cart-lc"),
    "order": ORDERS,
    "n_jumps": (Integer(0),),
    "n_restarts": (Integer(0),),
    "axis_bias": (Number(1),),
    "max_search_rows": ("auto", None, Integer(2)),
    "max_coefficients": ("auto", None, Integer(1)),
    "max_passes": (Integer(1),),
}

cdef enum:
    FEW_FEATURES = 100                # up to so many, "auto" searches all coefficients
    MAX_ROWS = 1 << 30                # of a search: more do not fit a word
    FEWEST_ROWS = 400                 # of an "auto" search
    CLASS_ROWS = 20                   # ... for each class, when that is more


cdef int compare_features(const void* a, const void* b) noexcept nogil:
    cdef feature_t first = (<const feature_t*>a)[0], second = (<const feature_t*>b)[0]
    return (first > second) - (first < second)


cdef idx_t count_columns(idx_t n_features) noexcept nogil:
    """The columns that "auto" lets a search of many features move, with that of the start."""
    return max(<idx_t>64, <idx_t>(4.0 * sqrt(<double>n_features))) + 1


cdef idx_t count_search_rows(const TargetView* targets) noexcept:
    """The rows that "auto" lets a search see."""
    if targets.kind != CLASS_TARGETS:
        return FEWEST_ROWS
    return max(<idx_t>FEWEST_ROWS, CLASS_ROWS * targets.max_n_classes)


cdef class OC1Splitter(Splitter):
    """Oblique plane by coordinate descent from the best axis split.

    Parameters
    ----------
    mode : {"oc1", "cart-lc"}, default="oc1"
        "cart-lc" is the deterministic search of CART, which deletes features at the end;
        it ignores `order`, `n_jumps` and `n_restarts`.
    order : {"sequential", "best", "random"}, default="sequential"
        Which coefficient is moved next: one after the other, always the one that gains
        most, or in a new random order each time round.
    n_jumps : int, default=20
        Random directions tried in each search when no coefficient helps any more.
    n_restarts : int, default=0
        Further searches that start from random planes; the best one counts.
    axis_bias : float, default=1.0
        A plane must gain at least so many times what the axis split gains.
    max_search_rows : int, "auto" or None, default="auto"
        Rows the search looks at; a larger node is sampled. None for all; "auto" for 400 or, in
        classification, ``max(400, 20 * n_classes)``: smaller samples make the trees of a forest
        more different from each other.
    max_coefficients : int, "auto" or None, default="auto"
        Coefficients the search may move, drawn at random for each node, beside that of the
        axis split. None for all; "auto" for all of up to 100 features, else for
        ``max(64, 4 * sqrt(n_features))``. Of more than 4096 features only those count, and are
        drawn, that are not known to be constant in the node.
    max_passes : int, default=20
        Times the search may go through all coefficients before it ends.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.splitter import OC1Splitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(splitter=OC1Splitter(n_restarts=2), random_state=0)
    >>> tree.fit(X, y).get_n_leaves() < ObliqueTreeClassifier().fit(X, y).get_n_leaves()
    True
    """

    parameter_names = ("mode", "order", "n_jumps", "n_restarts", "axis_bias", "max_search_rows",
                       "max_coefficients", "max_passes")
    relative_cost = 20.0
    needs_rows = True
    prefers_bootstrap = False

    cdef readonly str mode
    cdef readonly str order
    cdef readonly object n_jumps
    cdef readonly object n_restarts
    cdef readonly object axis_bias
    cdef readonly object max_search_rows
    cdef readonly object max_coefficients
    cdef readonly object max_passes

    cdef bint _cart
    cdef idx_t _max_rows
    cdef idx_t _max_columns
    cdef bint _few_columns            # "auto": no more than the features that vary ask for
    cdef double _bias
    cdef AxisSplitter _axis
    cdef PlaneSearch _search
    cdef CoordinateDescent _descent
    cdef ScoreSweep _sweep
    cdef Hyperplane _plane
    cdef row_t* _rows                 # (max_rows) of the search
    cdef row_t* _side                 # (n_samples) one side of a split
    cdef uint32_t* _codes             # (n_samples)
    cdef double* _scores              # (n_samples)
    cdef feature_t* _features         # (n_features)

    def __init__(self, *, mode="oc1", order="sequential", n_jumps=20, n_restarts=0, axis_bias=1.0,
                 max_search_rows="auto", max_coefficients="auto", max_passes=20):
        check_params(RULES, mode=mode, order=order, n_jumps=n_jumps, n_restarts=n_restarts,
                     axis_bias=axis_bias, max_search_rows=max_search_rows,
                     max_coefficients=max_coefficients, max_passes=max_passes)
        self.mode = mode
        self.order = order
        self.n_jumps = n_jumps
        self.n_restarts = n_restarts
        self.axis_bias = axis_bias
        self.max_search_rows = max_search_rows
        self.max_coefficients = max_coefficients
        self.max_passes = max_passes

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef idx_t p = view.n_features
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self._cart = self.mode == "cart-lc"
        self._bias = self.axis_bias
        self._max_rows = min(view.n_samples, <idx_t>MAX_ROWS)
        if self.max_search_rows == "auto":
            self._max_rows = min(self._max_rows, count_search_rows(targets))
        elif self.max_search_rows is not None:
            self._max_rows = min(self._max_rows, <idx_t>self.max_search_rows)
        self._max_columns = p
        self._few_columns = self.max_coefficients == "auto"
        if self.max_coefficients == "auto":
            if p > FEW_FEATURES:
                self._max_columns = min(p, count_columns(p))
        elif self.max_coefficients is not None:
            self._max_columns = min(p, <idx_t>self.max_coefficients + 1)
        self._axis = AxisSplitter()
        self._axis.bind(view, targets, criterion, settings, workspace)
        self._search = PlaneSearch()
        self._search.bind(view, criterion, workspace, self._max_rows, self._max_columns)
        self._descent = CoordinateDescent()
        self._descent.bind(self._search, settings.stop, workspace, self._max_columns)
        self._descent.order = <CoefficientOrder><int>ORDERS.index(self.order)
        self._descent.n_jumps = self.n_jumps
        self._descent.n_starts = 1 + self.n_restarts
        self._descent.max_passes = self.max_passes
        self._sweep = ScoreSweep()
        self._sweep.bind(criterion, workspace, view.n_samples)
        self._rows = <row_t*>workspace.take(self._max_rows, sizeof(row_t))
        self._side = <row_t*>workspace.take(view.n_samples, sizeof(row_t))
        self._codes = <uint32_t*>workspace.take(view.n_samples, sizeof(uint32_t))
        self._scores = <double*>workspace.take(view.n_samples, sizeof(double))
        self._features = <feature_t*>workspace.take(p, sizeof(feature_t))
        init_plane(&self._plane,
                   <feature_t*>workspace.take(self._max_columns, sizeof(feature_t)),
                   <w_t*>workspace.take(self._max_columns, sizeof(w_t)))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        return self._axis.begin_tree(task)

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = self._axis.node_split(task, out)
        cdef NodeStats stats
        cdef ScoreCut cut
        cdef idx_t n_columns
        if status != FOUND or self._axis.best_score >= self.criterion.goal:
            return status
        if self.view.n_features > WIDE_POOL:
            n_columns = self._draw_columns(task, out.plane.feature[0])
            out.inherited = pack_known(&self._axis.pool)
        else:
            n_columns = self._choose_columns(task, out.plane.feature[0])
        if n_columns == 0 or not self._find_plane(task, n_columns, out.plane.feature[0]):
            return FOUND
        if task.n > self._max_rows:
            self.criterion.load_node(task.rows, task.n, task.weight, &stats)
        self._search.write_terms(&self._plane)
        project_rows(self.view, &self._plane, task.rows, task.n, self._scores)
        reset_cut(&cut)
        cut.score = self._axis.best_score
        if self._sweep.sweep(self._scores, task.n, &task.limits, &cut) != 1:
            return FOUND
        self._plane.threshold = cut.threshold
        if self._bias > 1.0 and not self._is_worthwhile(task, &out.plane):
            return FOUND
        out.rank_cut = -1
        copy_terms(&self._plane, &out.plane)
        out.plane.threshold = self._plane.threshold
        out.plane.missing_left = False
        return FOUND

    # ---- what the search sees -------------------------------------------------------

    cdef idx_t _choose_columns(self, const NodeTask* task, feature_t start) noexcept nogil:
        """Features that no row lacks, ascending; of too many a sample that has `start`."""
        cdef idx_t n = find_complete(self.view, task.rows, task.n, self._codes, self._features)
        cdef idx_t k, n_chosen = 0, n_wanted = self._max_columns
        n = keep_relevant(self._features, n, start, self.settings.relevance, self.rng)
        if n <= n_wanted:
            return n
        n_wanted -= 1
        for k in range(n):
            if self._features[k] == start or self._draws(n_wanted, n - k):
                n_wanted -= self._features[k] != start
                self._features[n_chosen] = self._features[k]
                n_chosen += 1
        return n_chosen

    cdef idx_t _draw_columns(self, const NodeTask* task, feature_t start) noexcept nogil:
        """The same for very many features: of those only that vary, at no cost for others."""
        cdef const feature_t* drawn
        cdef idx_t k, n_chosen = 0, n = self._max_columns
        cdef bint has_start = False
        if self._few_columns:
            n = self._axis.pool.n_features - self._axis.pool.n_constant
            n = min(self._max_columns, count_columns(n))
        n = self._axis.draw_more(task, n)
        drawn = self._axis.pool.feature + self._axis.pool.n_constant
        for k in range(n):
            if k == n - 1 and not has_start:
                # It was drawn, but maybe behind these.
                self._features[n_chosen] = start
            else:
                self._features[n_chosen] = drawn[k]
            has_start |= drawn[k] == start
            n_chosen += not column_lacks_value(self.view, self._features[n_chosen], task.rows,
                                               task.n, self._codes)
        qsort(self._features, n_chosen, sizeof(feature_t), compare_features)
        return n_chosen

    cdef bint _draws(self, idx_t n_wanted, idx_t n_left) noexcept nogil:
        """Whether the next of n_left is among the n_wanted of a sample."""
        if n_wanted >= n_left:
            return True
        if self._cart:
            return n_wanted > 0
        return draw_in_order(n_wanted, n_left, self.rng)

    cdef idx_t _choose_rows(self, const NodeTask* task) noexcept nogil:
        """The rows of the search: one from each of equally long stretches of the node."""
        cdef idx_t n = min(task.n, self._max_rows)
        cdef idx_t k, start, end = 0
        for k in range(n):
            start = end
            end = task.n * (k + 1) // n
            self._rows[k] = task.rows[
                start if self._cart or n == task.n else start + bounded(self.rng, end - start)
            ]
        return n

    cdef bint _find_plane(self, const NodeTask* task, idx_t n_columns,
                          feature_t feature) except -1 nogil:
        """Search for a plane, starting from the axis split's feature."""
        cdef ScanLimits limits = task.limits
        cdef NodeStats stats
        cdef idx_t n = self._choose_rows(task)
        cdef idx_t k, start = -1
        if n < task.n:
            self.criterion.load_node(self._rows, n, task.weight, &stats)
            # Leaves of the sample may be smaller in proportion; all rows decide in the end.
            limits.min_samples_leaf = max(<idx_t>1, limits.min_samples_leaf * n // task.n)
            limits.min_weight_leaf *= <double>n / <double>task.n
        self._search.load(self._rows, n, task.weight, self._features, n_columns, &limits)
        for k in range(n_columns):
            if self._features[k] == feature:
                start = k
        if self._cart:
            return self._descent.run_cart(max(start, <idx_t>0))
        if start < 0:
            # The axis split is one of a feature that some row lacks.
            start = bounded(self.rng, n_columns)
        return self._descent.run(start, self.rng)

    # ---- axis split or plane -----------------------------------------------------------

    cdef bint _is_worthwhile(self, const NodeTask* task, const Hyperplane* axis) except -1 nogil:
        """Whether the plane gains `axis_bias` times what the axis split gains."""
        cdef NodeStats stats
        cdef double gain_axis, gain_plane
        self.criterion.load_node(task.rows, task.n, task.weight, &stats)
        gain_plane = self._measure_gain(task, &self._plane, &stats)
        gain_axis = self._measure_gain(task, axis, &stats)
        return gain_plane >= self._bias * gain_axis

    cdef double _measure_gain(self, const NodeTask* task, const Hyperplane* plane,
                              const NodeStats* stats) except? -1.0 nogil:
        """Decrease of the weighted impurity."""
        cdef NodeStats side
        cdef double gain = stats.weight * stats.impurity
        cdef bint left
        cdef idx_t p, n
        project_rows(self.view, plane, task.rows, task.n, self._scores)
        for left in range(2):
            n = 0
            for p in range(task.n):
                if goes_left(plane, self._scores[p]) == left:
                    self._side[n] = task.rows[p]
                    n += 1
            self.criterion.load_node(self._side, n, task.weight, &side)
            gain -= side.weight * side.impurity
        return gain
