# The frame of an axis split; AxisRandomSplitter replaces how a column's cut is chosen.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits
from obtree.data.dataset cimport DataView
from obtree.data.hyperplane cimport Hyperplane
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter
from obtree.splitter.candidates cimport Candidates


# ---- category_sets.pxi -------------------------------------------------------------------------
# Orders of a column's categories, which become sets.


cdef class CategorySets:
    cdef const DataView* view
    cdef const TargetView* targets
    cdef idx_t n_slots                # numbers that the targets of a row consist of
    cdef double* direction            # (n_slots)
    cdef double* slope                # (n_slots) the next direction
    cdef idx_t n_present              # categories that the node has
    cdef idx_t n_kept                 # the first of them; the others are too rare to be told apart
    # By rank of a category.
    cdef w_t* weight                  # in the node
    cdef uint32_t* n_rows
    cdef double* total                # of the rows' targets along the direction
    cdef uint32_t* place              # among the present ones
    cdef uint32_t* position           # in the order
    # By place.
    cdef uint32_t* rank
    cdef double* mean
    cdef uint32_t* keys
    cdef uint64_t* words
    cdef uint64_t* buffer
    # The best set so far of a node.
    cdef uint32_t* members            # (max_words), and one in front: whether it has rare ones
    cdef uint32_t* present            # (max_words)
    cdef idx_t n_words

    cdef int bind(self, const DataView* view, const TargetView* targets,
                  Workspace workspace) except -1
    cdef void begin(self, const NodeTask* task, uint32_t* codes, uint32_t missing) noexcept nogil
    cdef void _set_rare_aside(self, const NodeTask* task, uint32_t* codes,
                              uint32_t missing) noexcept nogil
    cdef idx_t count_orders(self) noexcept nogil
    cdef idx_t find_order(self, const NodeTask* task, const uint32_t* codes, uint32_t missing,
                          idx_t number, RandState* rng) noexcept nogil
    cdef double _read_target(self, row_t row) noexcept nogil
    cdef void _find_means(self, const NodeTask* task, const uint32_t* codes,
                          uint32_t missing) noexcept nogil
    cdef bint _turn(self, const NodeTask* task, const uint32_t* codes,
                    uint32_t missing) noexcept nogil
    cdef void keep_set(self, idx_t j, uint32_t last, bint missing_left) noexcept nogil
    cdef void write_set(self, Hyperplane* plane) noexcept nogil


cdef class AxisSplitter(Splitter):
    cdef Candidates pool
    cdef CategorySets sets    # None where there are no categories
    cdef uint32_t* ranks      # (n_samples) of the categories of the node's rows
    cdef idx_t* bins_from     # (n_features) rows from which a column is counted into bins
    cdef double best_score    # of the node split last, as the criterion scores cuts
    cdef uint32_t* codes      # (n_samples) ranks of the node's rows
    cdef uint64_t* words      # (n_samples) sorted (rank, position)
    cdef uint64_t* buffer     # (n_samples)

    cdef idx_t draw_columns(self, const NodeTask* task, idx_t n_left, idx_t* drawn,
                            RankColumn* columns) noexcept nogil
    cdef bint judge_column(self, const NodeTask* task, idx_t j, const RankColumn* column,
                           const ScanLimits* limits, Cut* best, uint32_t* low,
                           bint* missing_left) except -1 nogil
    cdef bint judge_categories(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                               Cut* best, bint* missing_left) except -1 nogil
    cdef bint reads_above(self, idx_t j) noexcept nogil
    cdef bint scan_above(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                         Cut* best) except -1 nogil
    cdef bint reads_entries(self, idx_t j) noexcept nogil
    cdef bint scan_entries(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                           Cut* best) except -1 nogil
    cdef idx_t draw_more(self, const NodeTask* task, idx_t wanted) noexcept nogil
    cdef idx_t find_bins_from(self, idx_t j) noexcept nogil
    cdef idx_t count_sorted(self, idx_t j, idx_t n) noexcept nogil
    cdef bint bins_at_once(self, idx_t j, idx_t n) noexcept nogil
    cdef bint scan_column(self, const NodeTask* task, idx_t j, uint32_t low, uint32_t high,
                          const ScanLimits* limits, Cut* best) except -1 nogil
    cdef bint scan_codes(self, idx_t n, uint32_t low, uint32_t high, bint has_missing,
                         const ScanLimits* limits, Cut* best) except -1 nogil
    cdef void write_plane(self, const NodeTask* task, idx_t j, uint32_t base, const Cut* best,
                          bint missing_left, SplitResult* out) noexcept nogil


# ---- one_category.pxi --------------------------------------------------------------------------


cdef class OneCategorySplitter(AxisSplitter):
    cdef idx_t group_rows(self, idx_t n, uint32_t missing) noexcept nogil
    cdef int cut_off(self, idx_t first, idx_t n_own, idx_t n, const ScanLimits* limits,
                     Cut* best) except -1 nogil
    cdef void keep_category(self, idx_t j, idx_t chosen) noexcept nogil
