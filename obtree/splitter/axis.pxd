# The frame of an axis split; AxisRandomSplitter replaces how a column's cut is chosen.

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.types cimport idx_t
from obtree.criterion.base cimport Cut, RankColumn, ScanLimits
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter
from obtree.splitter.candidates cimport Candidates


cdef class AxisSplitter(Splitter):
    cdef Candidates pool
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
    cdef void write_plane(self, const NodeTask* task, idx_t j, uint32_t base, const Cut* best,
                          bint missing_left, SplitResult* out) noexcept nogil
