"""Asking a splitter about a node, and watching what it touches.

The node is handed over exactly as the builder does it, except that everything the splitter
may write is surrounded by cells that it must leave alone, and everything it may only read is
compared with a copy afterwards. Nothing it proposes is used before it has been checked.
"""

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint32_t
from libc.string cimport memcmp

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, seed_state
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, NodeStats
from obtree.data.dataset cimport Dataset
from obtree.data.fit cimport FitView, lend_fit
from obtree.data.hyperplane cimport EXTRA_TERMS, Hyperplane, goes_left, init_plane
from obtree.data.project cimport project_rows
from obtree.data.read cimport gather_codes
from obtree.data.targets cimport Targets
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask

cdef enum:
    GUARD = 16                # cells behind each buffer
    UNTOUCHED = -77


class Proposal:
    """What a splitter answered; `split` says whether there is a plane at all."""

    def __init__(self, **facts):
        self.__dict__.update(facts)

    def key(self):
        """Everything that has to be the same when the same question is asked again."""
        if not self.split:
            return None
        return (tuple(self.features), tuple(self.partners), tuple(self.weights),
                self.threshold, self.lower, self.missing_left, self.rank_cut)


cdef class SplitterBench:
    """A worker's criterion and splitter, without a builder.

    Parameters
    ----------
    dataset : Dataset
    bound : BoundCriterion
        A criterion and its targets.
    splitter : Splitter
        It and the criterion are cloned, as for a thread.
    max_features : int
    other : SplitterBench, optional
        Another worker of the same fit, which has what `prepare` returned.
    """

    cdef Dataset _dataset
    cdef Targets _targets
    cdef Criterion _criterion
    cdef Splitter _splitter
    cdef Workspace _workspace
    cdef FitView _fit
    cdef SplitSettings _settings
    cdef RandState _rng
    cdef int _stop
    cdef SplitResult _out
    cdef feature_t[::1] _feature
    cdef feature_t[::1] _partner
    cdef w_t[::1] _weight
    cdef idx_t _room

    def __init__(self, Dataset dataset, bound, Splitter splitter, idx_t max_features,
                 SplitterBench other=None):
        self._dataset = dataset
        self._targets = bound.targets
        self._criterion = (<Criterion>bound.criterion).clone()
        self._splitter = splitter.clone()
        self._workspace = Workspace()
        self._stop = 0
        self._settings.max_features = max_features
        self._settings.monotonic = NULL
        self._settings.relevance = NULL
        self._settings.stop = &self._stop
        self._room = dataset.n_features + EXTRA_TERMS
        self._feature = np.empty(self._room + GUARD, dtype=np.int32)
        self._partner = np.empty(self._room + GUARD, dtype=np.int32)
        self._weight = np.empty(self._room + GUARD)
        if other is None:
            self._fit = lend_fit(&dataset.view, &self._targets.view, NULL, &self._stop, 1)
            self._criterion.prepared = self._criterion.prepare(&self._fit)
            self._splitter.prepared = self._splitter.prepare(&self._fit)
        else:
            self._criterion.prepared = other._criterion.prepared
            self._splitter.prepared = other._splitter.prepared
        self._criterion.bind(&dataset.view, &self._targets.view, self._workspace,
                             dataset.n_samples)
        self._splitter.bind(&dataset.view, &self._targets.view, self._criterion, &self._settings,
                            self._workspace)

    def begin_tree(self, seed, rows, weight):
        """Start a tree that grows on these rows."""
        cdef const row_t[::1] at = rows
        cdef const w_t[::1] by_row = weight
        cdef TreeTask task
        seed_state(&self._rng, <uint32_t>seed, 0)
        self._criterion.begin_tree(&at[0], at.shape[0], &by_row[0])
        task.rows = &at[0]
        task.n = at.shape[0]
        task.weight = &by_row[0]
        task.rng = &self._rng
        self._splitter.begin_tree(&task)

    def ask(self, rows, weight, *, min_samples_leaf=1, min_weight_leaf=0.0, depth=0):
        """Ask about the node of these ascending rows.

        Returns
        -------
        Proposal
            With a list ``problems`` of what the splitter did that it must not do.
        """
        cdef row_t[::1] at = np.array(rows, dtype=np.int32)
        cdef w_t[::1] by_row = np.array(weight, dtype=np.float64)
        cdef NodeStats stats
        cdef NodeTask task, copy
        cdef SplitSettings settings = self._settings
        cdef int status
        self._criterion.load_node(&at[0], at.shape[0], &by_row[0], &stats)
        task.rows = &at[0]
        task.n = at.shape[0]
        task.depth = depth
        task.weight = &by_row[0]
        task.limits.min_samples_leaf = min_samples_leaf
        task.limits.min_weight_leaf = min_weight_leaf
        task.limits.monotone = 0
        task.limits.lower = -INFINITY
        task.limits.upper = INFINITY
        task.inherited = 0
        copy = task
        self._clear()
        status = self._splitter.node_split(&task, &self._out)
        problems = []
        if not np.array_equal(at, rows):
            problems.append("it re-ordered or changed the rows of the node, which it may only "
                            "read: the builder moves rows, by the plane that is returned")
        if not np.array_equal(by_row, weight):
            problems.append("it changed the weights of rows, which it may only read")
        if not same_task(&task, &copy):
            problems.append("it changed the NodeTask, which it may only read")
        if memcmp(&settings, &self._settings, sizeof(settings)) != 0 or self._stop:
            problems.append("it changed the SplitSettings, which it may only read")
        if status != FOUND and status != LEAF:
            problems.append(f"node_split returned {status}; expected FOUND (1) or LEAF (0)")
        problems += self._find_overruns()
        if status != FOUND or problems:
            return Proposal(split=status == FOUND, problems=problems)
        return self._describe()

    cdef void _clear(self):
        """The result as the builder hands it over; numbers that nobody wrote show."""
        cdef idx_t k
        for k in range(self._room + GUARD):
            self._feature[k] = UNTOUCHED
            self._partner[k] = UNTOUCHED
            self._weight[k] = NAN
        self._out.rank_cut = -1
        self._out.inherited = 0
        self._out.partner = &self._partner[0]
        init_plane(&self._out.plane, &self._feature[0], &self._weight[0])
        self._out.plane.threshold = NAN

    def _find_overruns(self):
        """What was written where it must not be."""
        problems = []
        if (self._out.plane.feature != &self._feature[0]
                or self._out.plane.weight != &self._weight[0]
                or self._out.partner != &self._partner[0]):
            problems.append("it replaced the arrays of the SplitResult by its own; fill those "
                            "that are there, since the builder owns them")
        elif (self._out.plane.partner != NULL
                and self._out.plane.partner != &self._partner[0]):
            problems.append("plane.partner is neither NULL nor the array out.partner")
        for name, array in (("feature", self._feature), ("partner", self._partner)):
            if (np.asarray(array)[self._room:] != UNTOUCHED).any():
                problems.append(f"it wrote beyond the end of {name}")
        if not np.isnan(np.asarray(self._weight)[self._room:]).all():
            problems.append("it wrote beyond the end of weight")
        return problems

    cdef object _describe(self):
        cdef const Hyperplane* plane = &self._out.plane
        n = plane.n_terms
        problems = []
        if not 1 <= n <= self._room:
            problems.append(f"the plane has {n} terms; expected 1 to {self._room}, the number of "
                            f"features and {EXTRA_TERMS}")
            return Proposal(split=True, problems=problems)
        partners = () if plane.partner == NULL else np.array(self._partner[:n])
        return Proposal(
            split=True, problems=problems, features=np.array(self._feature[:n]),
            partners=partners, weights=np.array(self._weight[:n]), threshold=plane.threshold,
            lower=plane.lower, missing_left=bool(plane.missing_left),
            rank_cut=self._out.rank_cut, inherited=self._out.inherited,
        )

    def route(self, rows):
        """Which rows the latest proposal, found to be sound, sends left."""
        cdef const row_t[::1] at = rows
        cdef double[::1] sums = np.empty(len(rows))
        cdef idx_t p
        project_rows(&self._dataset.view, &self._out.plane, &at[0], at.shape[0], &sums[0])
        return np.array([goes_left(&self._out.plane, sums[p]) for p in range(at.shape[0])],
                        dtype=bool)

    def route_by_rank(self, rows):
        """The same by rank_cut, as the builder does when there is one."""
        cdef const row_t[::1] at = rows
        cdef uint32_t[::1] codes = np.empty(len(rows), dtype=np.uint32)
        cdef idx_t j = self._out.plane.feature[0]
        cdef uint32_t low, high
        gather_codes(&self._dataset.view, j, &at[0], at.shape[0], &codes[0], &low, &high)
        found = np.asarray(codes)
        missing = found == self._dataset.view.columns[j].n_values
        return np.where(missing, bool(self._out.plane.missing_left),
                        found <= self._out.rank_cut)


cdef bint same_task(const NodeTask* one, const NodeTask* other) noexcept:
    return (one.rows == other.rows and one.n == other.n and one.depth == other.depth
            and one.weight == other.weight and one.inherited == other.inherited
            and one.limits.min_samples_leaf == other.limits.min_samples_leaf
            and one.limits.min_weight_leaf == other.limits.min_weight_leaf
            and one.limits.monotone == other.limits.monotone
            and one.limits.lower == other.limits.lower
            and one.limits.upper == other.limits.upper)
