# CO2: its splitter, its nodes and its descent.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport X_t, feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.targets cimport TargetView
from obtree.linear.columns cimport Columns
from obtree.splitter.axis cimport AxisSplitter
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter
from obtree.splitter.co2_policy cimport CO2Policy, DescentPlan, NodeKind
from obtree.splitter.stump cimport Batch, Stump


# ---- sparse_node.pxi ---------------------------------------------------------------------------
# The rows of a node as a stump reads them, where nearly all cells are zero.


cdef struct ColumnSums:
    # Over the rows that are looked at.
    idx_t count               # rows that are not zero
    double weight             # of them
    X_t origin                # the value of the first of them
    double sum                # of distances from the origin, weighted
    double square


cdef class SparseNode:
    cdef const DataView* view
    cdef ColumnSums* sums             # of the listed columns, not more than there are entries
    cdef uint64_t* _touched           # (n_features / 64) bits; zeros between uses
    cdef uint64_t* _lacking
    cdef idx_t* _frequency            # (n_samples + 1)
    # Rows loaded last, as CSR over the used columns.
    cdef int64_t* start               # (n_samples + 1)
    cdef int32_t* column              # (n_entries)
    cdef float* value                 # (n_entries) of what is not zero, beyond what zero is
    cdef float* base                  # (stride) what zero is

    cdef int bind(self, const DataView* view, Workspace workspace, idx_t max_rows,
                  idx_t max_stride) except -1
    # OUT out: the columns, ascending, in which a row is not zero and none is missing.
    cdef idx_t find_columns(self, const row_t* rows, idx_t n, feature_t* out) noexcept nogil
    # OUT sums: of the listed columns.
    cdef void add_rows(self, const row_t* rows, idx_t n, const w_t* weight,
                       const feature_t* columns, idx_t n_columns) noexcept nogil
    # IN/OUT columns, sums: only the columns that have most entries, `kept` in any case.
    cdef idx_t keep_frequent(self, feature_t* columns, idx_t n_columns, idx_t n, idx_t wanted,
                             feature_t kept, RandState* rng) noexcept nogil
    # The rows, in the order given, as ((x - origin) - mean) * scale.
    cdef void load(self, const row_t* rows, const int32_t* order, idx_t n,
                   const Columns* used) noexcept nogil


# ---- separation.pxi ----------------------------------------------------------------------------
# How much the columns of a node tell its classes apart, each by itself.


cdef class ColumnSeparation:
    cdef double* value                # (n_features) of the columns measured last, from 0 to 1
    cdef const DataView* _view
    cdef const TargetView* _targets
    cdef double _weight_unit          # what one row weighs
    cdef X_t* _block                  # (BLOCK * n_features) rows read together
    cdef double* _sums                # (n_classes * n_columns) of what rows are from the mean
    cdef double* _weight              # (n_classes)
    cdef int32_t* _known              # (n_classes) number among those that the node has, or -1

    cdef int bind(self, const DataView* view, const TargetView* targets, double weight_unit,
                  Workspace workspace) except -1
    # IN weight: by row of X, above zero; variance (columns.n), in the features' own units. Of
    # several outputs the first one counts.
    cdef void measure(self, const row_t* rows, idx_t n, const w_t* weight, const Columns* columns,
                      const double* variance) noexcept nogil


# ---- stump_node.pxi ----------------------------------------------------------------------------
# The rows of a node as a stump reads them: centred, scaled, shuffled, in batches.


cdef class ColumnScales:
    # Of the whole data, computed once per fit.
    cdef bint differ                  # classes: whether features are in different units
    cdef double weight_unit           # what one row weighs


cdef ColumnScales measure_column_scales(const FitView* fit)


cdef class StumpNode:
    cdef const DataView* view
    cdef idx_t n_outputs
    cdef bint is_class
    cdef idx_t max_slots              # of any node
    cdef idx_t max_stride
    # The node that was loaded last.
    cdef idx_t n                      # rows that are looked at
    cdef Columns columns              # that vary and that no row lacks, as a stump sees them
    cdef NodeKind kind
    cdef idx_t* first                 # (n_outputs + 1) slots of each output
    # Scratch.
    cdef const int32_t* _codes
    cdef const double* _targets
    cdef idx_t _sample_size           # most rows that are looked at
    cdef const CO2Policy* _policy
    cdef const float* _relevance      # (n_features) or NULL
    cdef idx_t _n_cells               # that can be kept at once
    cdef bint _is_kept                # whether all rows of the node are
    cdef const NodeTask* _task
    cdef const row_t* _part
    cdef idx_t _n_part
    cdef const row_t* _rows           # (n) those of the part, or _sample
    cdef row_t* _sample
    cdef double _weight
    cdef feature_t* _complete
    cdef uint32_t* _ranks
    cdef X_t* _block
    cdef double* _row_weight
    cdef double* _sums
    cdef double* _squares
    cdef float* _x
    cdef float* _weights
    cdef int32_t* _slot
    cdef float* _y
    cdef int32_t* _order
    cdef int32_t* _place
    cdef int32_t* _known
    cdef SparseNode _sparse           # where nearly all cells are zero, else None
    cdef bint _is_mostly_zero
    cdef ColumnSeparation _separation  # where columns may be weighed, else None
    cdef ColumnScales _scales

    cdef int bind(self, const DataView* view, const TargetView* targets, ColumnScales scales,
                  Workspace workspace, idx_t batch_size, const CO2Policy* policy,
                  const float* relevance) except -1
    # Whether the node has columns to work with; `columns` and what follows them are then known.
    # IN part: those of its rows, ascending, that are looked at; valid until the next call.
    # The column `kept` is looked at in any case, unless values are missing.
    cdef bint measure(self, const NodeTask* task, const row_t* part, idx_t n_part, feature_t kept,
                      RandState* rng) noexcept nogil
    cdef idx_t _sum_columns(self, const NodeTask* task, feature_t kept,
                            RandState* rng) noexcept nogil
    cdef idx_t _sum_entries(self, const NodeTask* task, feature_t kept,
                            RandState* rng) noexcept nogil
    cdef void _find_scales(self, double mean) noexcept nogil
    cdef void _draw_rows(self, RandState* rng) noexcept nogil
    cdef idx_t _draw_columns(self, idx_t n_complete, feature_t kept, RandState* rng) noexcept nogil
    # Prepare the rows of the measured node, in random order unless they make one batch.
    cdef void load(self, RandState* rng, idx_t batch_size) noexcept nogil
    # Rows [start, end), at most as many as `bind` was told; valid until the next call.
    cdef void take_batch(self, idx_t start, idx_t end, Batch* batch) noexcept nogil
    cdef void _load_classes(self) noexcept nogil
    cdef void _load_numbers(self) noexcept nogil
    cdef void _standardise_rows(self, idx_t start, idx_t end, float* x) noexcept nogil
    cdef void _standardise_sparse(self) noexcept nogil


# ---- stump_descent.pxi -------------------------------------------------------------------------
# Moving a stump down its bound, epoch after epoch, and keeping the lowest point met.


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
    cdef bint _evaluate(self, Stump* stump, StumpNode node) noexcept nogil
    cdef void _restore(self, Stump* stump) noexcept nogil


# ---- held_out.pxi ------------------------------------------------------------------------------
# Which of two splits of a node serves rows better that neither was fitted to.


cdef class HeldOut:
    cdef const DataView* view
    cdef const TargetView* targets
    cdef double weight_unit           # what one row weighs
    cdef idx_t n_fitted
    cdef row_t* fitted                # (n_fitted) rows to fit a plane to, ascending
    cdef Hyperplane plane             # room for it
    cdef bint* _is_held               # (n) of the node's rows
    cdef double* _projection          # (n)
    cdef double* _counts              # (2 * n_outputs * max_n_classes) rows of each class, ...
    cdef float* _logarithm            # ... and logarithms of their fractions

    cdef int bind(self, const DataView* view, const TargetView* targets, double weight_unit,
                  Workspace workspace) except -1
    # Set so many rows of a node aside.
    cdef void draw(self, const NodeTask* task, idx_t n_held, RandState* rng) noexcept nogil
    # The log loss of the rows set aside, as rows of their side of the others predict them.
    cdef double judge(self, const NodeTask* task, const Hyperplane* plane,
                      double pseudo_count) noexcept nogil


# ---- co2.pyx -----------------------------------------------------------------------------------
# The splitter.


cdef class CO2Splitter(Splitter):
    cdef readonly object preset, nu, learning_rate, n_epochs, min_steps, n_candidates, min_rows
    cdef readonly object batch_size, max_rows, max_columns, held_out
    cdef CO2Policy _policy
    cdef AxisSplitter _axis
    cdef SplitSettings _axis_settings
    cdef StumpNode _node
    cdef Stump _stump
    cdef StumpDescent _descent
    cdef HeldOut _held_out            # of tables, else None
    cdef double* _projection

    cdef idx_t _find_max_columns(self, idx_t n_features, const TargetView* targets) except -2
    cdef bint _prefers_plane(self, const NodeTask* task, const SplitResult* out) noexcept nogil
    # Where the stump has a feature; -1 when it lacks it, values being missing.
    cdef idx_t _find_column(self, feature_t feature) noexcept nogil
    cdef void _descend(self, feature_t feature, double threshold, bint is_trial) noexcept nogil
    cdef void _write_plane(self, Hyperplane* plane) noexcept nogil
    cdef bint _accepts(self, const NodeTask* task, SplitResult* out) except -1 nogil
