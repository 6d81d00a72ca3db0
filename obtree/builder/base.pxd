# What depth-first and best-first growth share: opening, splitting and closing a node.

from libc.stdint cimport int8_t, int64_t

from obtree.builder.store cimport NodeStore
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport idx_t, node_t, w_t
from obtree.criterion.base cimport Criterion, NodeStats
from obtree.data.block cimport RankBlock
from obtree.data.fit cimport FitView
from obtree.data.partition cimport SampleIndex
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter, SplitSettings


cdef struct StopRule:
    idx_t max_depth
    idx_t min_samples_split
    idx_t min_samples_leaf
    double min_weight_fraction_leaf
    double min_impurity_decrease
    idx_t max_leaf_nodes


cdef struct OpenNode:
    # A node whose rows are known and whose fate is not.
    node_t node
    idx_t start
    idx_t end
    idx_t depth
    int64_t inherited         # see NodeTask
    double lower              # bounds of monotonic constraints
    double upper


cdef class TreeBuilder:
    cdef SampleIndex index
    cdef RankBlock block
    cdef Criterion criterion
    cdef Splitter splitter
    cdef NodeStore store
    cdef bint in_order                # whether nodes are split in depth-first order
    cdef StopRule rule
    cdef SplitSettings settings
    cdef w_t min_weight_leaf
    cdef bint constrained             # whether there are monotonic constraints
    cdef SplitResult result           # the latest proposal, in buffers of the workspace
    cdef double* share                # of the proposal's terms
    cdef object _monotonic            # keeps settings.monotonic alive

    cdef int bind(self, const FitView* fit, Criterion criterion, Splitter splitter, rule,
                  Workspace workspace) except -1
    cdef int begin_tree(self, RandState* rng) except -1 nogil
    cdef int open_root(self, OpenNode* open) except -1 nogil
    cdef bint open_node(self, const OpenNode* open, NodeStats* stats) except -1 nogil
    cdef idx_t split_node(self, const OpenNode* open, const NodeStats* stats,
                          double* improvement, OpenNode* left, OpenNode* right) except -2 nogil
    cdef int grow(self) except -1 nogil
