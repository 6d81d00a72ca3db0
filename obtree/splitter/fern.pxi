# Tests for ferns: all nodes of a level share one (Ozuysal et al., 2007).
#
# A test is a random direction, of one feature or of several, and a random threshold with a good
# part of the tree's weight on either side. All tests are drawn at the root, one level after the
# other. Of several candidates for a level the one is taken that tells classes apart best in all
# cells together; with one candidate targets have no say, as in the paper.

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.order cimport find_range
from obtree.core.params import Integer, Number, check_params
from obtree.core.random cimport bounded, uniform
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, w_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane, copy_terms, goes_left, init_plane
from obtree.data.project cimport project_rows
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter

cdef enum:
    FERN_DRAWS = 32               # directions that may be constant before a test is given up
    FERN_THRESHOLDS = 16          # drawn for a direction at most

# Part of the weight that a threshold leaves on either side, if it can.
cdef double FERN_BALANCE = 0.2

FERN_RULES = {"depth": (Integer(1, 20),), "feature_combinations": (Number(1),)}


cdef class FernSplitter(Splitter):
    """The same random test for all nodes of a level.

    ``max_features`` tests are drawn for each level, and the best is taken.

    Parameters
    ----------
    depth : int, default=10
        Number of levels, at most 20; deeper nodes are leaves.
    feature_combinations : float, default=1.0
        Number of features in a test, on average.
    """

    parameter_names = ("depth", "feature_combinations")
    relative_cost = 0.5
    max_features_unbounded = True
    prefers_bootstrap = False

    cdef readonly idx_t depth
    cdef readonly double feature_combinations
    cdef RandomDirections directions
    cdef ObliqueScales scales
    cdef Hyperplane candidate
    cdef Hyperplane* tests        # (depth)
    cdef double* projection       # (n_samples)
    # Positions of the root's rows by cell, and where cells begin, one more than there are.
    cdef idx_t* order             # (n_samples)
    cdef idx_t* start             # (n_samples + 1)
    cdef idx_t* buffer            # (2 * n_samples + 1)
    cdef idx_t n_cells
    cdef w_t* counts              # (2 * max_n_classes) by side and class; zeros between uses

    def __init__(self, *, depth=10, feature_combinations=1.0):
        check_params(FERN_RULES, depth=depth, feature_combinations=feature_combinations)
        self.depth = depth
        self.feature_combinations = feature_combinations

    @property
    def needs_rows(self):
        """Directions of several features read bytes where the data are bytes."""
        return "wide" if self.feature_combinations > 1.0 else False

    cdef object prepare(self, const FitView* fit):
        cdef ObliqueScales scales = ObliqueScales()
        scales.memory = Workspace()
        scales.scale = <double*>scales.memory.take(fit.data.n_features, sizeof(double))
        measure_scales(fit, scales.scale, Workspace())
        return scales

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef idx_t p = view.n_features, n = view.n_samples, level
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        self.scales = self.prepared
        self.directions = RandomDirections()
        self.directions.bind(view, self.scales.scale, NULL, self.feature_combinations, False,
                             SIGN_WEIGHTS, settings.max_features + FERN_DRAWS, workspace)
        init_plane(&self.candidate, <feature_t*>workspace.take(p, sizeof(feature_t)),
                   <w_t*>workspace.take(p, sizeof(w_t)))
        self.tests = <Hyperplane*>workspace.take(self.depth, sizeof(Hyperplane))
        for level in range(self.depth):
            init_plane(&self.tests[level], <feature_t*>workspace.take(p, sizeof(feature_t)),
                       <w_t*>workspace.take(p, sizeof(w_t)))
        self.projection = <double*>workspace.take(n, sizeof(double))
        self.order = <idx_t*>workspace.take(n, sizeof(idx_t))
        self.start = <idx_t*>workspace.take(n + 1, sizeof(idx_t))
        self.buffer = <idx_t*>workspace.take(2 * n + 1, sizeof(idx_t))
        self.counts = <w_t*>workspace.take(2 * targets.max_n_classes, sizeof(w_t))
        memset(self.counts, 0, 2 * targets.max_n_classes * sizeof(w_t))
        return 0

    cdef void draw_tests(self, const NodeTask* task) noexcept nogil:
        """Draw the tests of all levels; `task` is the root."""
        cdef bint compares = self.settings.max_features > 1 and self.targets.codes != NULL
        cdef idx_t level, p
        self.directions.begin_tree()
        self.n_cells = 1
        self.start[0] = 0
        self.start[1] = task.n
        for p in range(task.n):
            self.order[p] = p
        for level in range(self.depth):
            if self.settings.stop[0]:
                return
            self.choose_test(task, compares, &self.tests[level])
            if compares:
                self.split_cells(task, &self.tests[level])

    cdef void choose_test(self, const NodeTask* task, bint compares,
                          Hyperplane* test) noexcept nogil:
        """Draw candidates for a level and take the best."""
        cdef Hyperplane* candidate = &self.candidate
        cdef idx_t n_left = self.settings.max_features, n_failures = FERN_DRAWS
        cdef double score, best = -1.0
        # Where nothing varies every row goes left.
        test.n_terms = 1
        test.feature[0] = 0
        test.weight[0] = 1.0
        test.threshold = DBL_MAX
        test.missing_left = True
        self.directions.begin_node(0)
        while n_left > 0 and n_failures > 0 and not self.settings.stop[0]:
            if not self.directions.draw(self.rng, candidate):
                n_failures -= 1
                continue
            project_rows(self.view, candidate, task.rows, task.n, self.projection)
            if not self.draw_threshold(task, candidate):
                n_failures -= 1
                continue
            n_left -= 1
            score = self.judge(task, candidate) if compares else 0.0
            if score > best:
                best = score
                copy_terms(candidate, test)
                test.threshold = candidate.threshold
                test.missing_left = candidate.missing_left

    cdef bint draw_threshold(self, const NodeTask* task, Hyperplane* plane) noexcept nogil:
        """Draw where a direction is cut, and the side of missing values; False if it is constant.

        Copies of rows and their order change nothing.
        """
        cdef double low, high, threshold, total = 0.0, below
        cdef idx_t p, n_left = FERN_THRESHOLDS
        cdef idx_t n_missing = find_range(self.projection, task.n, &low, &high)
        # Where no row lacks a value, this is the side of those that come later.
        plane.missing_left = bounded(self.rng, 2) == 1
        if n_missing == task.n or (low == high and n_missing == 0) or high - low == INFINITY:
            return False
        if low == high:
            plane.threshold = DBL_MAX
            plane.missing_left = False
            return True
        for p in range(task.n):
            if self.projection[p] == self.projection[p]:
                total += task.weight[task.rows[p]]
        while True:
            threshold = low + uniform(self.rng) * (high - low)
            if threshold >= high:
                threshold = low
            below = 0.0
            for p in range(task.n):
                if self.projection[p] <= threshold:
                    below += task.weight[task.rows[p]]
            n_left -= 1
            if n_left == 0 or low == threshold:
                break
            if below < FERN_BALANCE * total:
                low = threshold
            elif below > (1.0 - FERN_BALANCE) * total:
                high = threshold
            else:
                break
        plane.threshold = threshold
        return True

    cdef double judge(self, const NodeTask* task, const Hyperplane* plane) noexcept nogil:
        """How well a test tells classes apart in all cells, by the Gini impurity.

        Sum over sides of cells and outputs of (sum of squared class weights) / weight; the
        projections are at hand.
        """
        cdef idx_t stride = self.targets.max_n_classes, n_outputs = self.targets.n_outputs
        cdef idx_t cell, i, p, k, slot
        cdef const int32_t* codes = self.targets.codes
        cdef double score = 0.0
        cdef double weight[2]
        cdef double squares[2]
        cdef w_t w
        cdef bint side
        for k in range(n_outputs):
            for cell in range(self.n_cells):
                weight[0] = weight[1] = squares[0] = squares[1] = 0.0
                for i in range(self.start[cell], self.start[cell + 1]):
                    p = self.order[i]
                    w = task.weight[task.rows[p]]
                    side = goes_left(plane, self.projection[p])
                    slot = side * stride + codes[task.rows[p] * n_outputs + k]
                    squares[side] += w * (2.0 * self.counts[slot] + w)
                    weight[side] += w
                    self.counts[slot] += w
                for i in range(self.start[cell], self.start[cell + 1]):
                    slot = codes[task.rows[self.order[i]] * n_outputs + k]
                    self.counts[slot] = self.counts[stride + slot] = 0.0
                for side in range(2):
                    if weight[side] > 0.0:
                        score += squares[side] / weight[side]
        return score

    cdef void split_cells(self, const NodeTask* task, const Hyperplane* test) noexcept nogil:
        """Cut every cell in two by a test; those that stay empty are forgotten."""
        cdef idx_t* start = self.buffer
        cdef idx_t* moved = self.buffer + task.n + 1
        cdef idx_t cell, i, p, n_left, n_right, n_cells = 0
        project_rows(self.view, test, task.rows, task.n, self.projection)
        start[0] = 0
        for cell in range(self.n_cells):
            n_left = self.start[cell]
            n_right = 0
            for i in range(self.start[cell], self.start[cell + 1]):
                p = self.order[i]
                if goes_left(test, self.projection[p]):
                    self.order[n_left] = p
                    n_left += 1
                else:
                    moved[n_right] = p
                    n_right += 1
            memcpy(self.order + n_left, moved, n_right * sizeof(idx_t))
            if n_left > self.start[cell]:
                n_cells += 1
                start[n_cells] = n_left
            if n_right > 0:
                n_cells += 1
                start[n_cells] = n_left + n_right
        memcpy(self.start, start, (n_cells + 1) * sizeof(idx_t))
        self.n_cells = n_cells

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef const Hyperplane* test
        if task.depth == 0:
            self.draw_tests(task)
        if task.depth >= self.depth or self.settings.stop[0]:
            return LEAF
        test = &self.tests[task.depth]
        copy_terms(test, &out.plane)
        out.plane.threshold = test.threshold
        out.plane.missing_left = test.missing_left
        return FOUND
