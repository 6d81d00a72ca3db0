"""Splitters that break the contract, each in one way."""

from libc.math cimport NAN
from libc.stdlib cimport rand

from obtree.core.memory cimport Workspace
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, row_t, w_t
from obtree.core.random cimport bounded
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.targets cimport TargetView
from obtree.splitter.axis cimport AxisSplitter
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter, SplitSettings, TreeTask


cdef class Sound(AxisSplitter):
    """Keeps the contract."""

    def __init__(self):
        pass


cdef class Mover(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        cdef row_t* rows = <row_t*>task.rows
        if task.n > 1:
            rows[0], rows[1] = rows[1], rows[0]
        return status


cdef class Weigher(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        (<w_t*>task.weight)[0] = 5.0
        return AxisSplitter.node_split(self, task, out)


cdef class NotFinite(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        out.plane.weight[0] = NAN
        out.rank_cut = -1
        return status


cdef class NoThreshold(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        out.plane.threshold = NAN
        return status


cdef class OutOfRange(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        out.plane.feature[0] = <feature_t>self.view.n_features
        return status


cdef class TooManyTerms(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        out.plane.n_terms = self.view.n_features + 1000
        return FOUND


cdef class Overrun(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        out.plane.weight[self.view.n_features + 64] = 1.0
        return AxisSplitter.node_split(self, task, out)


cdef class OwnArrays(Sound):
    cdef feature_t mine[4]

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        self.mine[0] = 0
        out.plane.feature = self.mine
        return FOUND


cdef class EmptySide(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        out.plane.threshold = 1e30
        out.plane.missing_left = True
        out.rank_cut = -1
        return status


cdef class TooSmallLeaves(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef NodeTask mine = task[0]
        mine.limits.min_samples_leaf = 1
        return AxisSplitter.node_split(self, &mine, out)


cdef class WrongRank(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        if status == FOUND:
            out.rank_cut += 1
        return status


cdef class OwnChance(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef int status = AxisSplitter.node_split(self, task, out)
        if status == FOUND and rand() % 2:
            out.plane.weight[0] = 2.0
            out.plane.threshold *= 2.0
            out.rank_cut = -1
        return status


cdef class Scribbler(Sound):
    cdef object prepare(self, const FitView* fit):
        return [0]

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        with gil:
            self.prepared[0] += 1
            if self.prepared[0] > 4:
                return LEAF
        return AxisSplitter.node_split(self, task, out)


cdef class Rememberer(Sound):
    cdef idx_t n_trees

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.n_trees += 1
        return AxisSplitter.begin_tree(self, task)

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        return AxisSplitter.node_split(self, task, out) if self.n_trees < 2 else LEAF


cdef class WrongStatus(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        return 7


cdef class AlwaysLeaf(Sound):
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        bounded(self.rng, 2)
        return LEAF


cdef class Empty(Splitter):
    pass


cdef class Unprepared(Splitter):
    """Wraps a splitter without preparing it."""

    cdef readonly Splitter inner
    parameter_names = ("inner",)

    def __init__(self, *, Splitter inner):
        self.inner = inner

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        return self.inner.bind(view, targets, criterion, settings, workspace)

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        return self.inner.node_split(task, out)


cdef class Forgotten(Sound):
    """A parameter that is not listed."""

    cdef readonly int width

    def __init__(self, *, width=1):
        self.width = width


cdef class Changed(Sound):
    """A parameter that does not stay what it was."""

    parameter_names = ("width",)
    cdef readonly int width

    def __init__(self, *, width=1):
        self.width = width + 1
