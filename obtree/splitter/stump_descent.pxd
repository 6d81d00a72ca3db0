# Moving a stump down its bound, epoch after epoch, and keeping the lowest point met.

from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t
from obtree.splitter.co2_policy cimport CO2Policy, DescentPlan
from obtree.splitter.stump cimport Batch, Stump
from obtree.splitter.stump_node cimport StumpNode

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

    cdef const CO2Policy* _policy
    cdef double* _counts

    # Once per worker. Batches of `node` and `stump` have room for the policy's judged_rows, or
    # all.
    cdef int bind(self, const CO2Policy* policy, Workspace workspace, idx_t max_stride,
                  idx_t max_slots) except -1

    # Set a stump to the plan's axis split of the node, whose rows are loaded, and its leaves to
    # what they hold then.
    cdef void start(self, Stump* stump, StumpNode node, const DescentPlan* plan) noexcept nogil

    # Move a stump that stands at its start, with the node's rows loaded. It is left at what was
    # accepted last or, when `stop` is set, where it was.
    cdef void run(self, Stump* stump, StumpNode node, const DescentPlan* plan,
                  const volatile int* stop) noexcept nogil
    cdef bint _look(self, Stump* stump, StumpNode node) noexcept nogil
    cdef void _restore(self, Stump* stump) noexcept nogil
