"""The exact best axis-aligned split of a node (CART; Breiman et al., 1984).

Each candidate column arrives as ranks. Where the ranks in the node span few values
they are counted into bins, otherwise they are sorted with their positions; the
criterion then finds the best cut. Both ways are exact.

A candidate that is constant in the node does not count towards ``max_features``: with
many one-hot columns a node would otherwise often see no usable candidate at all.
"""

from libc.float cimport FLT_MAX
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState
from obtree.core.sort cimport rotate_last, sort_codes
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t, row_t
from obtree.criterion.base cimport Criterion, Cut, RankColumn, ScanLimits
from obtree.data.dataset cimport ColumnView, DataView, find_value, gather_codes
from obtree.splitter.base cimport NodeTask, SplitResult, Splitter, SplitSettings
from obtree.splitter.candidates cimport (
    begin_draws,
    draw_candidate,
    mark_constant,
    reset_candidates,
)


cdef inline void view_column(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                             RankColumn* out) noexcept nogil:
    """Where the ranks of a dense column lie for the rows of a node."""
    cdef const ColumnView* column = &view.columns[j]
    out.width = column.width
    out.rows = rows
    out.low = 0
    if n <= view.row_limit:
        out.codes = view.row_codes + column.row_offset
        out.stride = view.row_bytes
    else:
        out.codes = column.codes
        out.stride = column.width


cdef class AxisSplitter(Splitter):
    """Exact best split of one feature.

    Of ``max_features`` features drawn at random, the one whose best cut improves the
    criterion most. Missing values go to the side that is better for the criterion.
    """

    supports_monotonic = True

    def __init__(self):
        pass

    cdef int bind(self, const DataView* view, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        Splitter.bind(self, view, criterion, settings, workspace)
        self.pool.n_features = view.n_features
        self.pool.feature = <feature_t*>workspace.take(view.n_features, sizeof(feature_t))
        self.codes = <uint32_t*>workspace.take(view.n_samples, sizeof(uint32_t))
        self.words = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        self.spare = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        return 0

    cdef int begin_tree(self, RandState* rng) except -1 nogil:
        self.rng = rng
        reset_candidates(&self.pool)
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef ScanLimits limits = task.limits
        cdef RankColumn column
        cdef Cut best
        cdef double previous
        cdef idx_t n_left = self.settings.max_features
        cdef idx_t j, best_feature = -1
        cdef uint32_t low, high, base = 0
        cdef bint missing_left = False, to_left
        best.score = -INFINITY
        begin_draws(&self.pool, <idx_t>task.inherited)
        while n_left > 0 and not self.settings.stop[0]:
            j = draw_candidate(&self.pool, self.rng)
            if j < 0:
                break
            if self.settings.monotonic != NULL:
                limits.monotone = self.settings.monotonic[j]
            previous = best.score
            low = 0
            to_left = False
            if self.bins_at_once(j, task.n):
                view_column(self.view, j, task.rows, task.n, &column)
                if self.criterion.scan_bins(&column, task.n, self.view.columns[j].n_values,
                                            &limits, &best) == 1:
                    mark_constant(&self.pool)
                    continue
            else:
                gather_codes(self.view, j, task.rows, task.n, self.codes, &low, &high)
                if low == high:
                    mark_constant(&self.pool)
                    continue
                to_left = self.scan_column(task, j, low, high, &limits, &best)
            n_left -= 1
            if best.score > previous:
                best_feature = j
                base = low
                missing_left = to_left
        out.inherited = self.pool.n_constant
        self.best_score = best.score
        if best_feature < 0 or self.settings.stop[0]:
            return LEAF
        self.write_plane(task, best_feature, base, &best, missing_left, out)
        return FOUND

    cdef bint bins_at_once(self, idx_t j, idx_t n) noexcept nogil:
        """Whether the node is large enough to count a column's ranks as they are read."""
        cdef const ColumnView* column = &self.view.columns[j]
        return (column.rows == NULL and not column.has_missing
                and self.criterion.prefers_bins(n, column.n_values))

    cdef bint scan_column(self, const NodeTask* task, idx_t j, uint32_t low, uint32_t high,
                          const ScanLimits* limits, Cut* best) except -1 nogil:
        """Improve `best` by the gathered column; whether missing values then go left.

        Missing values have the highest rank, so an ordinary scan sends them right and
        may also cut them off from everything else; a second one has them on the left.
        """
        cdef idx_t n = task.n
        cdef bint has_missing = (self.view.columns[j].has_missing
                                 and high == self.view.columns[j].n_values)
        cdef double previous
        cdef RankColumn column
        if not has_missing and self.criterion.prefers_bins(n, high - low + 1):
            column.codes = self.codes
            column.rows = NULL
            column.low = low
            self.criterion.scan_bins(&column, n, high - low + 1, limits, best)
            return False
        sort_codes(self.codes, n, low, high, self.words, self.spare)
        self.criterion.scan(self.words, n, limits, best)
        if not has_missing:
            return False
        previous = best.score
        rotate_last(self.words, n, self.spare)
        self.criterion.scan(self.words, n, limits, best)
        return best.score > previous

    cdef void write_plane(self, const NodeTask* task, idx_t j, uint32_t base, const Cut* best,
                          bint missing_left, SplitResult* out) noexcept nogil:
        cdef uint32_t low_rank = base + best.low_key
        cdef uint32_t high_rank = base + best.high_key
        cdef double below = find_value(self.view, j, low_rank, task.rows, task.n)
        out.plane.n_terms = 1
        out.plane.feature[0] = <feature_t>j
        out.plane.weight[0] = 1.0
        out.plane.missing_left = missing_left
        out.rank_cut = <int64_t>low_rank
        if high_rank == self.view.columns[j].n_values:
            # Missing against present: every number goes left.
            out.plane.threshold = FLT_MAX
        else:
            # In float64 the middle of two float32 numbers lies strictly between them.
            out.plane.threshold = 0.5 * below + 0.5 * <double>find_value(
                self.view, j, high_rank, task.rows, task.n
            )
