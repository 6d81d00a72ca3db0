# The contract between a splitter and the rest of obtree.
#
# A splitter *proposes* a hyperplane for a node; the builder *applies* it. The splitter
# never re-orders rows, never decides where a node is stored, and keeps no memory of
# nodes but what it returns in SplitResult.inherited.
#
#     prepare      once per fit              GIL held, before any worker, may raise
#     bind         once per worker thread    GIL held, may raise; take scratch here
#     begin_tree   once per tree             no GIL
#     node_split   once per node             no GIL; returns FOUND, LEAF or -1 (error)
#
# Everything random comes from the generator given to begin_tree, so that a tree
# depends on its seed alone.

from libc.stdint cimport int8_t, int64_t

from obtree.core.memory cimport Workspace
from obtree.core.parametrised cimport Parametrised
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.criterion.base cimport Criterion, ScanLimits
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.targets cimport TargetView


cdef struct SplitSettings:
    # The same for every node of a tree.
    idx_t max_features        # candidate directions a node
    const int8_t* monotonic   # n_features signs, NULL when there are no constraints
    # (n_features) how often each takes part in draws, above 0 and up to 1; NULL: all alike.
    const float* relevance
    const volatile int* stop  # becomes non-zero when the user interrupts: return LEAF soon


cdef struct TreeTask:
    const row_t* rows         # IN, n rows of X, ascending; valid during the call
    idx_t n
    const w_t* weight         # IN, by row of X
    RandState* rng            # of the tree; valid while it grows


cdef struct NodeTask:
    const row_t* rows         # IN, n rows of X, ascending; the criterion is loaded with them
    idx_t n
    idx_t depth
    const w_t* weight         # IN, by row of X
    ScanLimits limits         # leaf sizes, and bounds of monotonic constraints
    # What the parent's SplitResult.inherited said, in depth-first growth: parents come
    # before children, and a left subtree is finished before the right one begins. Zero
    # at the root, and at every node of best-first growth.
    int64_t inherited


cdef struct SplitResult:
    # OUT; its arrays have room for n_features + EXTRA_TERMS terms. On entry it is linear and
    # one-sided: a splitter that makes products of features sets plane.partner = partner, and one
    # that divides categories sets plane.members and plane.present, valid until the next call.
    Hyperplane plane
    feature_t* partner        # room for plane.partner
    # OUT: for an axis split of an encoded column, the last rank that goes left (the
    # builder then need not read X); -1 otherwise.
    int64_t rank_cut
    # OUT: what project_rows gives for the plane and all rows of the node, if the splitter has it
    # at hand; valid until the next call. NULL on entry.
    const double* projection
    int64_t inherited         # OUT: handed to both children as NodeTask.inherited


cdef class Splitter(Parametrised):
    cdef const DataView* view
    cdef const TargetView* targets
    cdef Criterion criterion
    cdef const SplitSettings* settings
    cdef RandState* rng
    cdef object prepared      # what `prepare` returned, shared by all workers
    cdef int64_t* counters    # one for each of counter_names, zero when a tree begins

    # What all workers are to read and nobody to write; the splitter itself is not changed. Who
    # wraps a splitter prepares it as well: what needs `prepared` and has none refuses to be bound.
    cdef object prepare(self, const FitView* fit)
    cdef object prepare_own(self, const FitView* fit)
    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1
    cdef int begin_tree(self, const TreeTask* task) except -1 nogil
    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil
