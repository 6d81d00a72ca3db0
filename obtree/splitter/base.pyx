"""Base class of all splitters.

Subclass it in Cython, write `node_split` (`bind` when scratch is needed, `prepare` when something
is to be found out about the whole data), and pass an object of the new class as ``splitter=``.
``base.pxd`` has the contract.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport ABI_VERSION as _ABI_VERSION
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView, view_numbers
from obtree.data.fit cimport FitView
from obtree.data.targets cimport TargetView

ABI_VERSION = _ABI_VERSION


cdef class Splitter(Parametrised):
    """Proposes a hyperplane for each node of a tree.

    A splitter object holds parameters only. Every worker thread works on a clone of
    it, so an object may be shared between estimators and used from several threads.

    The parameters are the arguments of the subclass's ``__init__``; each must be
    readable as an attribute of the same name. A compiled class also lists them in
    ``parameter_names``, since Python cannot see the arguments of its ``__init__``.

    Examples
    --------
    >>> from obtree.splitter import OC1Splitter, Splitter
    >>> splitter = OC1Splitter(n_jumps=2)
    >>> isinstance(splitter, Splitter)
    True
    >>> splitter.get_params()["n_jumps"]
    2
    >>> splitter.set_params(n_jumps=3).n_jumps
    3
    """

    #: Whether the splitter can honour ``monotonic_cst``.
    supports_monotonic = False
    #: Whether ranks are read for all rows of a node in order, and for no others. They are
    #: then copied together in small nodes, which makes reading them faster.
    reads_whole_nodes = False
    #: Whether the splitter divides categories by sets: the last ``view.n_categorical`` features.
    #: Others are shown the features before them only, and compete with splits by sets.
    splits_categories = False
    #: Whether the splitter reads feature values and not only ranks; "wide": unless X
    #: consists of bytes.
    needs_rows = False
    #: Whether ``max_features`` may exceed the number of features.
    max_features_unbounded = False
    #: Whether ``bootstrap="auto"`` draws a bootstrap for each tree of a forest: True, False,
    #: or "regression" for True in regression only.
    prefers_bootstrap = True
    #: Time for a node, roughly, as a multiple of that of axis splits: to tell whether trees are
    #: worth several threads.
    relative_cost = 1.0
    #: Names of what the splitter counts while a tree grows, in `counters`; the estimator
    #: shows the sums over its trees as ``splitter_stats_``.
    counter_names = ()

    cdef object prepare(self, const FitView* fit):
        """What is to be computed once for all workers; None when there is nothing."""
        return None

    cdef object prepare_own(self, const FitView* fit):
        """What `prepare` returns for the features that the splitter is shown."""
        cdef FitView own = fit[0]
        if not type(self).splits_categories:
            own.data = view_numbers(fit.data)
        return self.prepare(&own)

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        """Remember what the worker lends; subclasses call this and take their scratch."""
        self.view = view
        self.targets = targets
        self.criterion = criterion
        self.settings = settings
        self.counters = <int64_t*>workspace.take(len(self.counter_names), sizeof(int64_t))
        memset(self.counters, 0, len(self.counter_names) * sizeof(int64_t))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        self.rng = task.rng
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement node_split")
