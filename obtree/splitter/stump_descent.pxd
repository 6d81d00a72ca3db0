# Moving a stump down its bound, epoch after epoch, and keeping the lowest point met.

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.splitter.stump cimport Batch, Stump
from obtree.splitter.stump_node cimport StumpNode

cdef enum:
    JUDGED_ROWS = 2048        # most rows of a node that its bound is measured on


cdef struct StumpStart:
    # An axis split.
    idx_t column              # of the node's used ones
    double threshold          # in the unit of the feature
    double nu                 # radius of the weights
    double length             # of the weights
    bint shorten              # whether they may be as short as makes rows pull


cdef struct DescentPlan:
    double rate               # length of a step in each weight
    idx_t n_epochs            # most passes over the rows
    idx_t min_steps           # least steps, where epochs are shorter
    idx_t batch_size


cdef class StumpDescent:
    # What was accepted last.
    cdef double bound         # mean over the rows that are judged
    cdef float bias
    cdef float* w             # (stride)
    cdef float* theta         # (2 * n_slots)
    # The bounds that were accepted, for those who watch; NULL, or room for max_trace.
    cdef double* trace
    cdef idx_t n_trace
    cdef idx_t max_trace

    cdef double* _counts

    # Once per worker. Batches of `node` and `stump` have room for JUDGED_ROWS rows, or all.
    cdef int bind(self, Workspace workspace, idx_t max_stride, idx_t max_slots) except -1

    # Set a stump to an axis split of the node, whose rows are loaded, and its leaves to what
    # they hold then.
    cdef void start(self, Stump* stump, StumpNode node, const StumpStart* at) noexcept nogil

    # Move a stump that stands at its start, with the node's rows loaded. It is left at what was
    # accepted last or, when `stop` is set, where it was.
    cdef void run(self, Stump* stump, StumpNode node, const DescentPlan* plan,
                  const volatile int* stop) noexcept nogil
    cdef bint _look(self, Stump* stump, StumpNode node) noexcept nogil
    cdef void _restore(self, Stump* stump) noexcept nogil
