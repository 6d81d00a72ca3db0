# What depth-first and best-first growth share: opening, splitting and closing a node.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport feature_t, idx_t, node_t, w_t
from obtree.criterion.base cimport Criterion, NodeStats
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.partition cimport RankBlock, SampleIndex
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter


# ---- store.pxi ---------------------------------------------------------------------------------
# The nodes of a tree while it grows: arrays that lengthen, reused from tree to tree.


cdef class NodeStore:
    cdef idx_t n_nodes
    cdef idx_t n_terms
    cdef idx_t value_size
    cdef const feature_t* source      # the user's column of each feature; NULL: the same
    cdef idx_t _node_capacity
    cdef idx_t _term_capacity
    cdef idx_t _kept_capacity         # nodes
    cdef idx_t _n_expected            # nodes for which the next tree makes room
    cdef dict _kept                   # ndarrays, owners of the next six
    cdef node_t* left                 # -1 at leaves; the right child is left + 1
    cdef double* threshold
    cdef double* impurity
    cdef int64_t* n_rows
    cdef w_t* weight
    cdef double* value                # (n_nodes * value_size)
    cdef int64_t* first_term          # where the node's terms begin
    cdef int32_t* term_count
    cdef uint8_t* missing_left        # 2: with the heavier child, known when both are stored
    cdef feature_t* term_feature
    cdef w_t* term_weight
    # What few trees need; `uses` says whether this one does and they are written.
    cdef double* lower                # minus infinity, or the lower end of an interval
    cdef feature_t* term_partner      # -1, or the second factor
    cdef double* term_share           # of the split
    cdef int64_t* first_category      # of those that rows of the node have
    cdef int32_t* category_count      # 0 where the node tests none
    cdef uint32_t* category           # twice its number, and one more if it goes left
    cdef idx_t n_categories
    cdef idx_t _category_capacity
    cdef bint uses_sets
    cdef bint uses_lower
    cdef bint uses_partner
    cdef bint uses_term_share

    cdef void clear(self) noexcept nogil
    cdef int reserve(self, idx_t n_rows) except -1
    cdef int _lengthen_nodes(self, idx_t n) except -1 nogil
    cdef int _lengthen_kept(self, idx_t n) except -1
    cdef dict _take_kept(self)
    cdef node_t add_node(self) except -1 nogil
    cdef int set_split(self, node_t node, node_t left, const Hyperplane* plane) except -1 nogil
    cdef int _lengthen_terms(self, idx_t n_more) except -1 nogil
    cdef void _set_optional_fields(self, node_t node, const Hyperplane* plane) noexcept nogil
    cdef int _keep_set(self, node_t node, const Hyperplane* plane) except -1 nogil
    cdef dict to_arrays(self, idx_t n_outputs)
    cdef dict _list_sets(self, const uint8_t[::1] missing_left)


cdef struct StopRule:
    idx_t max_depth
    idx_t min_samples_split
    idx_t min_samples_leaf
    double min_weight_fraction_leaf
    double min_impurity_decrease
    idx_t max_leaf_nodes


cdef struct FrontierRecord:
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
    cdef double* term_share           # of the proposal's terms
    cdef object _monotonic            # keeps settings.monotonic alive
    cdef object _relevance            # keeps settings.relevance alive

    cdef int bind(self, const FitView* fit, Criterion criterion, Splitter splitter, rule,
                  Workspace workspace) except -1
    cdef int begin_tree(self, RandState* rng) except -1 nogil
    cdef int open_root(self, FrontierRecord* record) except -1 nogil
    cdef bint open_node(self, const FrontierRecord* record, NodeStats* stats) except -1 nogil
    cdef idx_t split_node(self, const FrontierRecord* record, const NodeStats* stats,
                          double* improvement, FrontierRecord* left,
                          FrontierRecord* right) except -2 nogil
    cdef int grow(self) except -1 nogil
