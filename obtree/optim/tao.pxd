# The parts of tree alternating optimisation, as its tests see them.

from libc.stdint cimport int32_t, uint8_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport X_t, idx_t, node_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.scatter cimport Scatter
from obtree.linear.adagrad cimport BATCH, AdaGrad
from obtree.linear.columns cimport Columns
from obtree.optim.base cimport Problem
from obtree.optim.editable_tree cimport EditableTree


# ---- scaler.pxi --------------------------------------------------------------------------------
# Scales in which weights of different features compare.


cdef class Scaler:
    cdef const DataView* view         # of the problem, for exact projections
    cdef const X_t* x                 # NULL when the problem has bytes
    # The rows as bytes, where weights are moved in small steps and values allow it; or NULL.
    cdef const uint8_t* bytes         # (n_rows * n_features)
    cdef object _bytes                # the array behind it
    cdef double largest_sum           # of a row of bytes; at least 1
    cdef idx_t n_features
    cdef bint has_missing
    cdef double* origin               # (n_features)
    cdef double* scale                # (n_features); 0 for constant columns
    cdef double* max_abs              # (n_features) largest size of a value in any row
    cdef Columns complete             # those that no training row lacks
    cdef Workspace memory

    cdef void _list(self, Columns* columns, const char* lacking) noexcept nogil
    cdef void choose_columns(self, Columns* columns, const row_t* rows, idx_t n,
                             char* lacking) noexcept nogil
    cdef void approximate(self, const row_t* rows, idx_t n, const float* w,
                          double* out) noexcept nogil
    cdef void transform(self, const Columns* columns, const row_t* rows, idx_t n,
                        float* out) noexcept nogil


# ---- dense_plane.pxi ---------------------------------------------------------------------------
# Which side of a plane rows are on.


cdef struct DensePlane:
    # A plane over all columns.
    float* weight             # (n_features); for rows of bytes int16 stand here, times `step`
    double step
    double error              # how far sums may be wrong


cdef bint is_dense(Scaler scaler, const Hyperplane* plane) noexcept nogil


cdef void write_dense(Scaler scaler, const Hyperplane* plane, DensePlane* out) noexcept nogil


cdef void find_sides(Scaler scaler, const Hyperplane* plane, const DensePlane* dense,
                     const row_t* rows, idx_t n, double* out) noexcept nogil


# ---- tao_tree.pxi ------------------------------------------------------------------------------
# The tree of an alternating optimisation.


cdef class TAOTree(EditableTree):
    cdef Scaler scaler
    cdef readonly idx_t n_levels
    cdef DensePlane* dense            # (n_nodes) of planes of many terms; else the weight is NULL
    cdef double* penalty              # (n_nodes) l1 norm of a plane, in units
    cdef node_t* order                # (n_nodes) level after level
    cdef idx_t* level_start           # (n_levels + 1)

    cdef int move_plane(self, node_t node, const Hyperplane* plane,
                        double penalty) except -1 nogil
    cdef int _write_dense(self, node_t node) except -1 nogil
    cdef void scale_plane(self, node_t node, const row_t* rows, idx_t n, int log2_scale,
                          double* projection) noexcept nogil


# ---- tao_leaves.pxi ----------------------------------------------------------------------------
# What the leaves of a tree under TAO predict, and what that costs.


cdef enum:
    LEAF_BATCH = BATCH        # rows transformed at a time


cdef class LeafScratch:
    # Of one worker.
    cdef Workspace memory
    cdef double* sums                 # (n_values)
    cdef float* z                     # (BATCH * stride) rows in units
    cdef float* score                 # (n_values * BATCH)
    # A linear model under way.
    cdef float* model                 # (n_values * stride) weights, then n_values biases
    cdef AdaGrad steps
    cdef float* gradient              # (stride)
    cdef float* factor                # (n_values * BATCH)
    cdef int32_t* present             # (n_values) classes that the leaf holds
    # Normal equations.
    cdef Scatter scatter
    cdef double* target               # (n_outputs) of one row


cdef class TAOLeaves:
    cdef Problem problem
    cdef Scaler scaler
    cdef Workspace memory
    cdef readonly bint linear
    cdef readonly bint by_ridge       # regression with few features: solved exactly
    cdef double l1
    cdef double ridge
    cdef double rate
    cdef idx_t n_epochs
    cdef idx_t n_values               # classes, or outputs
    cdef idx_t n_nodes
    cdef double* centre               # (n_outputs) means of the targets
    cdef double size                  # root of their mean variance
    cdef int32_t* label               # (n_nodes)
    cdef double* value                # (n_nodes * n_outputs)
    cdef float** model                # (n_nodes) NULL, or as in LeafScratch
    cdef double* penalty              # (n_nodes) in the objective

    cdef double measure_cost(self, row_t row, node_t leaf, LeafScratch scratch) noexcept nogil
    cdef void measure_costs(self, const row_t* rows, idx_t n, node_t leaf, const float* model,
                            LeafScratch scratch, double* out) noexcept nogil
    cdef double _cost(self, row_t row, node_t leaf, const float* score,
                      idx_t step) noexcept nogil
    cdef void inherit(self, node_t child, node_t parent) noexcept nogil
    cdef void fit_constant(self, node_t leaf, const row_t* rows, idx_t n,
                           LeafScratch scratch) noexcept nogil


# ---- node_fit.pxi ------------------------------------------------------------------------------
# l1-penalised logistic regression at a decision node.


cdef class NodeFit:
    cdef Scaler scaler
    cdef double l1
    cdef double rate
    cdef idx_t n_epochs
    cdef Workspace memory
    cdef Columns own                  # columns that the node's rows have, when values are missing
    cdef Columns* columns
    cdef char* lacking
    cdef bint by_newton
    cdef const volatile int* stop     # non-zero: end soon, with a plane of no use; NULL: none
    cdef float* w                     # (stride) the weights, in units
    cdef double bias
    # Small steps.
    cdef AdaGrad steps
    cdef float* gradient              # (stride)
    cdef float* block                 # (BATCH * stride)
    cdef float* score                 # (BATCH)
    cdef float* factor                # (BATCH)
    cdef double* sums                 # (BATCH)
    cdef int32_t* at                  # (BATCH) 0, 1, 2, ...
    # Newton steps.
    cdef Scatter scatter
    cdef double* step                 # (n)
    cdef double* residual             # (n)
    # What write_plane fills.
    cdef Hyperplane plane
    cdef double penalty
    cdef DensePlane dense             # scratch

    cdef bint fit(self, const Hyperplane* start, const row_t* rows, idx_t n_rows,
                  row_t* care, double* gain, idx_t n, RandState* rng) noexcept nogil
    cdef void _load(self, const Hyperplane* start) noexcept nogil
    cdef void _write_plane(self) noexcept nogil
    cdef void _score(self, const row_t* rows, idx_t n) noexcept nogil
    cdef void _sum_gradient(self, const row_t* rows, idx_t n, double slope) noexcept nogil
    cdef void _descend(self, row_t* care, double* gain, idx_t n, RandState* rng) noexcept nogil
    cdef void _iterate(self, const row_t* care, const double* gain, idx_t n) noexcept nogil
    cdef double _measure(self, const row_t* care, const double* gain, idx_t n) noexcept nogil


# ---- tao_state.pxi -----------------------------------------------------------------------------
# One tree under alternating optimisation.


cdef class ThreadScratch:
    # What one thread needs for itself.
    cdef NodeFit node_fit
    cdef LeafScratch scratch


cdef class TAOState:
    cdef Problem problem
    cdef Scaler scaler
    cdef readonly TAOTree tree
    cdef readonly TAOLeaves leaves
    cdef Workspace memory
    cdef double l1
    cdef const volatile int* stop
    cdef list _threads
    cdef void** thread                # the same, borrowed
    cdef int n_threads
    cdef uint64_t seed
    cdef int log2_scale
    cdef bint upwards
    cdef idx_t block                  # rows that walk down together
    # The rows of a node stand at rows[start[node]:end[node]].
    cdef idx_t* start                 # (n_nodes)
    cdef idx_t* end                   # (n_nodes)
    cdef row_t* rows                  # (n_train)
    # By row.
    cdef int32_t* leaf                # leaf that it reaches
    cdef double* cost                 # what it costs there
    # By position: a node's part belongs to whoever works at it.
    cdef int32_t* other               # leaf on the other side; -1: not asked for
    cdef double* other_cost
    cdef row_t* list_rows
    cdef int32_t* list_place
    cdef double* projection
    cdef row_t* care
    cdef double* gain
    # Whether a leaf below a node has the label (n_nodes * n_classes); NULL if not asked for.
    cdef uint8_t* labels

    cdef int enter(self, const volatile int* stop) except -1
    cdef void partition_rows(self, node_t node) noexcept nogil
    cdef void collect_labels(self) noexcept nogil
    cdef void _route(self, node_t node, idx_t first, idx_t last, const uint8_t* labels,
                     int32_t* leaf) noexcept nogil
    cdef idx_t reduce_node(self, node_t node, LeafScratch scratch) noexcept nogil
    cdef int try_plane(self, node_t node, NodeFit fit) except -1 nogil
    cdef void _move_rows(self, node_t node) noexcept nogil
    cdef double measure(self) noexcept nogil
    cdef double validate(self) noexcept nogil
