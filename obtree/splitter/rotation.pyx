"""Rotated features for any splitter (rotation forests; Rodriguez et al., 2006).

For each tree the features are divided at random into small groups, and each group is turned
to its principal components. The splitter inside sees the components. What it proposes is
expressed in the features themselves, so that a tree knows nothing of rotations: a cut of one
component becomes a hyperplane of as many terms as the group has features.

Departures from the paper. Components are those of the correlations, not of the covariances.
They are computed from the rows the tree grows on (a forest may draw bootstraps already), for
classes from those of a random half of the classes, another half for each group. The last
group is not filled up with features of others; instead sizes are as even as possible.
"""


import numpy as np

from libc.math cimport INFINITY, nextafter

from obtree.core.memory cimport Workspace
from obtree.core.types cimport FOUND, LEAF, X_t, idx_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView, Dataset
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.project cimport project_rows
from obtree.data.rotation cimport GroupRotation, RotationRows
from obtree.data.targets cimport CLASS_TARGETS, TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter, SplitSettings, TreeTask
from obtree.splitter.sweep cimport place_threshold

from obtree.core.params import Integer, check_param, refuse_param


cdef class LentFit:
    """What the fit works on, for the splitter inside: each tree shows it data of its own."""

    cdef FitView fit


cdef class RotationSplitter(Splitter):
    """Another splitter on principal components of random groups of features.

    Forests make it when asked for ``rotation="pca"``.

    Parameters
    ----------
    splitter : Splitter
        Proposes the splits.
    group_size : int, default=3
        Features that are rotated together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.splitter import AxisSplitter, RotationSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> splitter = RotationSplitter(AxisSplitter(), group_size=2)
    >>> tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(X, y)
    >>> int(tree.tree_.term_ptr[1])  # features in the test of the root
    2
    """

    parameter_names = ("splitter", "group_size")
    needs_rows = True

    cdef readonly Splitter splitter   # works on the rotated features
    cdef readonly Py_ssize_t group_size

    cdef GroupRotation rotation
    cdef SplitSettings inner_settings
    cdef bint by_class                # whether y is one class
    cdef object _rotated              # float32 (n_samples, n_features)
    cdef X_t* rotated
    cdef Dataset dataset              # the same, encoded; of the current tree
    cdef Workspace tree_memory        # scratch of the inner splitter
    cdef double* projection           # (n_samples)

    def __init__(self, splitter, *, group_size=3):
        if not isinstance(splitter, Splitter):
            refuse_param("splitter", splitter, expected="a Splitter")
        check_param("group_size", group_size, Integer(2, 64))
        self.splitter = splitter.clone()      # it will be bound to one worker's data
        self.group_size = group_size

    @property
    def prefers_bootstrap(self):
        return self.splitter.prefers_bootstrap

    @property
    def relative_cost(self):
        return 2.0 * self.splitter.relative_cost      # features are encoded for each tree

    cdef object prepare(self, const FitView* fit):
        cdef LentFit lent = LentFit()
        lent.fit = fit[0]
        return lent

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef X_t[:, ::1] cells
        cdef idx_t n_classes = 0
        if view.X == NULL:
            raise ValueError("sparse X cannot be rotated; expected dense X, or rotation=None")
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self.by_class = targets.kind == CLASS_TARGETS and targets.n_outputs == 1
        if self.by_class:
            n_classes = targets.max_n_classes
        # Components of several features are not those that a relevance was found for.
        self.inner_settings = settings[0]
        self.inner_settings.relevance = NULL
        self.rotation = GroupRotation()
        self.rotation.bind(view, self.group_size, n_classes, settings.stop, workspace)
        self._rotated = cells = np.empty((view.n_samples, view.n_features), dtype=np.float32)
        self.rotated = &cells[0, 0]
        self.projection = <double*>workspace.take(view.n_samples, sizeof(double))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        """Draw the rotation of the tree's rows, apply it, and prepare the splitter inside."""
        cdef RotationRows given
        cdef FitView fit
        self.rng = task.rng
        given.rows = task.rows
        given.n = task.n
        given.weight = task.weight
        given.classes = self.targets.codes if self.by_class else NULL
        given.n_classes = self.targets.max_n_classes if self.by_class else 0
        self.rotation.draw(&given, self.rng)
        self.rotation.apply(self.rotated)
        if self.settings.stop[0]:
            return 0
        with gil:
            self.dataset = Dataset.__new__(Dataset)
            self.dataset._stop = self.settings.stop
            self.dataset.__init__(self._rotated, keep_rows=True)
            if self.settings.stop[0]:
                return 0
            fit = (<LentFit?>self.prepared).fit
            fit.data = &self.dataset.view
            fit.n_threads = 1
            self.splitter.prepared = self.splitter.prepare(&fit)
            self.tree_memory = Workspace()
            self.splitter.bind(&self.dataset.view, self.targets, self.criterion,
                               &self.inner_settings, self.tree_memory)
        return self.splitter.begin_tree(task)

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef idx_t j
        if self.settings.stop[0]:
            return LEAF
        if self.splitter.node_split(task, out) != FOUND:
            return LEAF
        if out.plane.partner != NULL:
            with gil:
                raise ValueError(
                    "rotation='pca' cannot express products of features, as "
                    f"{type(self.splitter).__name__} makes them; expected a splitter whose "
                    "nodes are hyperplanes"
                )
        j = out.plane.feature[0]
        if out.plane.n_terms == 1 and self.rotation.length[j] == 1:
            return FOUND      # a column of X as it is: ranks and missing values too
        out.rank_cut = -1
        self.rotation.compose(&out.plane)
        return FOUND if self.snap(task, out) else LEAF

    cdef bint snap(self, const NodeTask* task, SplitResult* out) noexcept nogil:
        """Move the bounds to the middle between the two projections they separate.

        The splitter saw components rounded to float32. That matters only for rows next to
        a bound, but it may put them all on one side: the outermost rows are then cut off.
        False when all projections are equal.
        """
        cdef Hyperplane* plane = &out.plane
        cdef double low, high
        project_rows(self.view, plane, task.rows, task.n, self.projection)
        if plane.lower > -INFINITY:
            if find_neighbours(self.projection, task.n, plane.lower, &low, &high):
                plane.lower = place_threshold(low, high)
            if find_neighbours(self.projection, task.n, plane.threshold, &low, &high):
                plane.threshold = place_threshold(low, high)
            return True
        if not find_neighbours(self.projection, task.n, plane.threshold, &low, &high):
            if self.lacks_score(task.n):
                return True   # rows with missing values are cut off
            # Past the outermost row, whichever side all rows are on.
            find_neighbours(self.projection, task.n,
                            high if low == -INFINITY else nextafter(low, -INFINITY), &low, &high)
        if low == -INFINITY or high == INFINITY:
            return False
        plane.threshold = place_threshold(low, high)
        return True

    cdef bint lacks_score(self, idx_t n) noexcept nogil:
        """Whether a projection is missing."""
        cdef idx_t p
        for p in range(n):
            if self.projection[p] != self.projection[p]:
                return True
        return False


cdef bint find_neighbours(const double* score, idx_t n, double bound, double* low,
                          double* high) noexcept nogil:
    """The largest score up to a bound and the smallest above it; False, and infinite, when
    there is none."""
    cdef idx_t p
    low[0] = -INFINITY
    high[0] = INFINITY
    for p in range(n):
        if score[p] <= bound:
            low[0] = max(low[0], score[p])
        elif score[p] > bound:
            high[0] = min(high[0], score[p])
    return low[0] > -INFINITY and high[0] < INFINITY
