"""Base class of all splitters.

Subclass it in Cython, write `node_split` (`bind` when scratch is needed, `prepare` when something
is to be found out about the whole data), and pass
an object of the new class as ``splitter=``. ``base.pxd`` has the contract.
"""

import inspect
from types import WrapperDescriptorType

from libc.stdint cimport int64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport ABI_VERSION as _ABI_VERSION
from obtree.criterion.base cimport Criterion
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.targets cimport TargetView

from obtree.core.names import expect_name, show

ABI_VERSION = _ABI_VERSION


cdef class Splitter:
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

    #: Names of the parameters of a compiled class.
    parameter_names = ()

    #: Whether the splitter can honour ``monotonic_cst``.
    supports_monotonic = False
    #: Whether ranks are read for all rows of a node in order, and for no others. They are
    #: then copied together in small nodes, which makes reading them faster.
    reads_whole_nodes = False
    #: Whether the splitter reads feature values and not only ranks; "wide": unless X
    #: consists of bytes.
    needs_rows = False
    #: Whether ``max_features`` may exceed the number of features.
    max_features_unbounded = False
    #: Whether ``bootstrap="auto"`` draws a bootstrap for each tree of a forest: True, False,
    #: or "regression" for True in regression only.
    prefers_bootstrap = True
    #: Names of what the splitter counts while a tree grows, in `counters`; the estimator
    #: shows the sums over its trees as ``splitter_stats_``.
    counter_names = ()

    @classmethod
    def _parameter_names(cls):
        if isinstance(cls.__init__, WrapperDescriptorType):    # compiled
            return sorted(cls.parameter_names)
        signature = inspect.signature(cls.__init__)
        return sorted(
            name for name, parameter in signature.parameters.items()
            if name != "self" and parameter.kind in (parameter.KEYWORD_ONLY,
                                                     parameter.POSITIONAL_OR_KEYWORD)
        )

    def get_params(self, deep=True):
        """Parameters of the splitter, as scikit-learn's estimators give theirs.

        Parameters
        ----------
        deep : bool, default=True
            Ignored; a splitter holds no other estimators.

        Returns
        -------
        dict
        """
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params):
        """Change parameters; all are checked again.

        Returns
        -------
        Splitter
            The object itself.
        """
        unknown = sorted(set(params) - set(self._parameter_names()))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {show(unknown[0])}; "
                f"{expect_name(unknown[0], self._parameter_names())}"
            )
        self.__init__(**{**self.get_params(), **params})
        return self

    def clone(self):
        """A new splitter with the same parameters."""
        return type(self)(**self.get_params())

    def __sklearn_clone__(self):
        return self.clone()

    def __reduce__(self):
        return _rebuild, (type(self), self.get_params())

    def __repr__(self):
        params = ", ".join(
            f"{name}={show(value, limit=None)}" for name, value in self.get_params().items()
        )
        return f"{type(self).__name__}({params})"

    def __eq__(self, other):
        return type(self) is type(other) and self.get_params() == other.get_params()

    def __hash__(self):
        return hash((type(self), repr(self)))

    cdef object prepare(self, const FitView* fit):
        """What is to be computed once for all workers; None when there is nothing."""
        return None

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


def _rebuild(cls, params):
    return cls(**params)
