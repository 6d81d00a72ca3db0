"""The best of several random directions in a node.

Directions that do not tell any two rows of the node apart do not count towards
``max_features``. A node that none of the directions can divide is given single features
instead, so that rows that differ are never left together for want of a lucky draw.
"""

from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, w_t
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport EXTRA_TERMS, copy_terms
from obtree.data.project cimport project_rows
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.sweep cimport BETTER, CONSTANT, IntervalSweep, ScoreCut, ScoreSweep, reset_cut
from obtree.splitter.varying cimport begin_features, bind_features, draw_features, reset_features


cdef class DirectionSplitter(Splitter):
    """Base class of splitters that try random directions."""

    needs_rows = True

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        cdef idx_t max_terms = view.n_features + EXTRA_TERMS
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        bind_features(&self.features, view, settings.relevance, workspace)
        self.sweeper = IntervalSweep() if self.two_sided else ScoreSweep()
        self.sweeper.bind(criterion, workspace, view.n_samples)
        self.candidate.feature = <feature_t*>workspace.take(max_terms, sizeof(feature_t))
        self.candidate.weight = <w_t*>workspace.take(max_terms, sizeof(w_t))
        self.partner = <feature_t*>workspace.take(max_terms, sizeof(feature_t))
        self.score = <double*>workspace.take(view.n_samples, sizeof(double))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        reset_features(&self.features)
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef idx_t n_left = self.settings.max_features
        cdef idx_t n_useless = MAX_CONSTANT * n_left
        cdef bint found_any = False
        cdef int status
        cdef ScoreCut best
        reset_cut(&best)
        begin_features(&self.features, task.rows, task.n, <idx_t>task.inherited)
        self.begin_node(task)
        while n_left > 0 and n_useless > 0 and not self.settings.stop[0]:
            self.candidate.partner = NULL
            if not self.draw_direction(task):
                break
            status = self.rate_candidate(task, &best, out)
            if status == CONSTANT:
                n_useless -= 1
                continue
            n_left -= 1
            found_any |= status == BETTER
        n_left = self.settings.max_features
        while not found_any and n_left > 0 and not self.settings.stop[0] and self.draw_axis():
            found_any |= self.rate_candidate(task, &best, out) == BETTER
            n_left -= 1
        out.inherited = self.features.n_constant
        if not found_any or self.settings.stop[0]:
            return LEAF
        out.plane.threshold = best.threshold
        out.plane.lower = best.lower
        out.plane.missing_left = best.missing_left
        return FOUND

    cdef int begin_node(self, const NodeTask* task) except -1 nogil:
        return 0

    cdef bint draw_direction(self, const NodeTask* task) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement draw_direction")

    cdef bint draw_axis(self) noexcept nogil:
        """Make the candidate a single feature that varies in the node."""
        self.candidate.n_terms = 1
        self.candidate.weight[0] = 1.0
        self.candidate.partner = NULL
        return draw_features(&self.features, self.rng, 1, self.candidate.feature) == 1

    cdef int rate_candidate(self, const NodeTask* task, ScoreCut* best,
                            SplitResult* out) except -1 nogil:
        """Write the candidate to `out` if it beats `best`; a SweepStatus."""
        cdef const feature_t* partner = self.candidate.partner
        cdef int status
        project_rows(self.view, &self.candidate, task.rows, task.n, self.score)
        status = self.sweeper.sweep(self.score, task.n, &task.limits, best)
        if status != BETTER:
            return status
        copy_terms(&self.candidate, &out.plane)
        out.plane.partner = NULL
        if partner != NULL:
            memcpy(out.partner, partner, out.plane.n_terms * sizeof(feature_t))
            out.plane.partner = out.partner
        return BETTER


include "two_probe.pxi"
include "conic.pxi"
