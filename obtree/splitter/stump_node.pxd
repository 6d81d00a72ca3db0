# The rows of a node as a stump reads them: centred, scaled, shuffled, in batches.

from libc.stdint cimport int32_t, uint32_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.targets cimport TargetView
from obtree.linear.columns cimport Columns
from obtree.splitter.base cimport NodeTask
from obtree.splitter.co2_policy cimport CO2Policy, NodeKind
from obtree.splitter.hollow_node cimport HollowNode
from obtree.splitter.stump cimport Batch


cdef class ColumnUnits:
    # Of the whole data, computed once per fit. All but weight_unit for classes only.
    cdef double* span                 # (n_features)
    cdef double* deviation            # (n_features) 1 for constant features
    cdef bint differ                  # whether features are in different units
    cdef double weight_unit           # what one row weighs
    cdef Workspace memory


cdef ColumnUnits measure_units(const FitView* fit)


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
    cdef idx_t _n_cells               # that can be kept at once
    cdef bint _is_kept                # whether all rows of the node are
    cdef const NodeTask* _task
    cdef const row_t* _rows           # (n) those of the task, or _sample
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
    cdef HollowNode _hollow           # where nearly all cells are zero, else None
    cdef bint _is_hollow
    cdef ColumnUnits _units
    # Classes only.
    cdef const double* _unit          # (n_features) spans, or deviations of a tree by itself
    cdef bint _in_units               # whether the node's columns are

    cdef int bind(self, const DataView* view, const TargetView* targets, ColumnUnits units,
                  Workspace workspace, idx_t batch_size, const CO2Policy* policy) except -1
    # Whether the node has columns to work with; `columns` and what follows them are then known.
    # The column `kept` is looked at in any case, unless values are missing.
    cdef bint measure(self, const NodeTask* task, feature_t kept, RandState* rng) noexcept nogil
    cdef idx_t _sum_columns(self, const NodeTask* task, feature_t kept,
                            RandState* rng) noexcept nogil
    cdef idx_t _sum_entries(self, const NodeTask* task, feature_t kept,
                            RandState* rng) noexcept nogil
    cdef void _choose_units(self, RandState* rng) noexcept nogil
    cdef void _find_scales(self, double mean) noexcept nogil
    cdef void _draw_rows(self, const NodeTask* task, RandState* rng) noexcept nogil
    cdef idx_t _draw_columns(self, idx_t n_complete, feature_t kept, RandState* rng) noexcept nogil
    # Prepare the rows of the measured node, in random order unless they make one batch.
    cdef void load(self, RandState* rng, idx_t batch_size) noexcept nogil
    # Rows [start, end), at most as many as `bind` was told; valid until the next call.
    cdef void take_batch(self, idx_t start, idx_t end, Batch* batch) noexcept nogil
    cdef void _load_classes(self) noexcept nogil
    cdef void _load_numbers(self) noexcept nogil
    cdef void _centre_rows(self, idx_t start, idx_t end, float* x) noexcept nogil
    cdef void _centre_sparse(self) noexcept nogil
