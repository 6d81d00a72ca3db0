"""Base class of the criteria.

Subclasses implement every method below; see ``base.pxd`` for the contract. The
methods here raise, so that one that was forgotten is noticed at once.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, impurity_epsilon, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.targets cimport TargetView

from obtree.data.targets import KINDS


cdef class Criterion:
    """Measure of a node's impurity and of the quality of a cut.

    A criterion holds parameters only, and every worker thread works on a clone of it.
    """

    #: What it measures: "classes", "real" targets, "none", the rows of X themselves, or "partial",
    #: those and the classes that some of them have.
    target_kind = None

    #: Whether it reads X beside its targets.
    reads_rows = False

    #: Whether it may find no cut where all of them lose.
    may_decline = False

    def __cinit__(self, *args, **kwargs):
        self.goal = INFINITY
        self.negligible = impurity_epsilon()

    cdef object prepare(self, const FitView* fit):
        return None

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        given = KINDS[<int>targets.kind]
        if type(self).target_kind != given:
            raise ValueError(
                f"{type(self).__name__} takes targets of the kind {type(self).target_kind!r}, its "
                f"target_kind, and these are {given!r}"
            )
        self.data = data
        self.targets = targets
        self.n_outputs = max(<idx_t>1, targets.n_outputs)
        self.value_size = self.n_outputs * max(<idx_t>1, targets.max_n_classes)
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement load_node")

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement scan")

    cdef int scan_above(self, const uint64_t* words, idx_t n_words, idx_t n, idx_t n_below,
                        uint32_t rest_key, const ScanLimits* limits,
                        Cut* best) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement scan_above")

    cdef bint prefers_bins(self, idx_t n, idx_t n_bins) noexcept nogil:
        return False

    cdef idx_t scan_bins(self, const RankColumn* column, idx_t n, idx_t n_bins,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement scan_bins")

    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement begin_flips")

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__} must implement scan_flips")

    cdef bint count_pair(self, RankColumn* first, idx_t n_first, RankColumn* second,
                         idx_t n_second, idx_t n) noexcept nogil:
        return False

    cdef void node_value(self, double* value) noexcept nogil:
        pass

    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil:
        pass

    cpdef Criterion clone(self):
        """An unbound copy with the same parameters; each worker has its own."""
        return type(self)()
