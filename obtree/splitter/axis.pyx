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
from obtree.core.sort cimport rotate_last, sort_codes, sort_words_below, word_key
from obtree.core.types cimport FOUND, LEAF, feature_t, idx_t
from obtree.criterion.base cimport Criterion, Cut, RankColumn, ScanLimits
from obtree.data.dataset cimport ColumnView, DataView
from obtree.data.read cimport (
    column_varies, find_value, gather_above, gather_codes, gather_entries, is_known_constant,
    view_ranks,
)
from obtree.data.targets cimport TargetView
from obtree.splitter.base cimport NodeTask, SplitResult, SplitSettings, Splitter, TreeTask
from obtree.splitter.candidates cimport (
    begin_draws, bind_candidates, draw_candidate, mark_constant, meets_constants, narrow_candidates,
    pack_known, reset_candidates,
)
from obtree.splitter.sweep cimport find_cut

include "category_sets.pxi"


cdef class AxisSplitter(Splitter):
    """Exact best split of one feature.

    Of ``max_features`` features drawn at random, the one whose best cut improves the
    criterion most. Missing values go to the side that is better for the criterion. Categories are
    divided into two sets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.splitter import AxisSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(splitter=AxisSplitter(), random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    supports_monotonic = True
    reads_whole_nodes = True
    splits_categories = True

    def __init__(self):
        pass

    cdef int bind(self, const DataView* view, const TargetView* targets, Criterion criterion,
                  const SplitSettings* settings, Workspace workspace) except -1:
        Splitter.bind(self, view, targets, criterion, settings, workspace)
        bind_candidates(&self.pool, view, settings.relevance, workspace)
        if view.n_categorical:
            self.sets = CategorySets()
            self.sets.bind(view, targets, workspace)
            self.ranks = <uint32_t*>workspace.take(view.n_samples, sizeof(uint32_t))
        self.bins_from = <idx_t*>workspace.take(view.n_features, sizeof(idx_t))
        self.codes = <uint32_t*>workspace.take(view.n_samples, sizeof(uint32_t))
        self.words = <uint64_t*>workspace.take(view.n_samples, sizeof(uint64_t))
        self.buffer = <uint64_t*>workspace.take_shared(view.n_samples, sizeof(uint64_t))
        return 0

    cdef int begin_tree(self, const TreeTask* task) except -1 nogil:
        cdef idx_t j
        self.rng = task.rng
        reset_candidates(&self.pool)
        for j in range(self.view.n_features):
            self.bins_from[j] = self.find_bins_from(j)
        return 0

    cdef int node_split(self, const NodeTask* task, SplitResult* out) except -1 nogil:
        cdef ScanLimits limits = task.limits
        cdef RankColumn columns[2]
        cdef idx_t drawn[2]
        cdef Cut best
        cdef double previous
        cdef idx_t n_left = self.settings.max_features
        cdef idx_t k, n_drawn, best_feature = -1
        cdef uint32_t low, base = 0
        cdef bint missing_left = False, to_left
        best.score = -INFINITY
        begin_draws(&self.pool, task.inherited)
        # Nothing beats two pure sides.
        while n_left > 0 and best.score < self.criterion.goal and not self.settings.stop[0]:
            n_drawn = self.draw_columns(task, n_left, drawn, columns)
            if n_drawn == 0:
                break
            for k in range(n_drawn):
                if self.settings.monotonic != NULL:
                    limits.monotone = self.settings.monotonic[drawn[k]]
                previous = best.score
                if self.judge_column(task, drawn[k], &columns[k], &limits, &best, &low,
                                     &to_left):
                    mark_constant(&self.pool, n_drawn - 1 - k)
                    continue
                n_left -= 1
                if best.score > previous:
                    best_feature = drawn[k]
                    base = low
                    missing_left = to_left
            if meets_constants(&self.pool):
                narrow_candidates(&self.pool, task.rows, task.n)
        out.inherited = pack_known(&self.pool)
        self.best_score = best.score
        if best_feature < 0 or self.settings.stop[0]:
            return LEAF
        self.write_plane(task, best_feature, base, &best, missing_left, out)
        return FOUND

    cdef idx_t draw_columns(self, const NodeTask* task, idx_t n_left, idx_t* drawn,
                            RankColumn* columns) noexcept nogil:
        """Draw two features, one when no more are wanted; how many there were.

        OUT columns: where those that are to be counted into bins stand, counted already
        when that could be done for both at once.
        """
        cdef idx_t n_drawn = 0
        cdef bint binned = True
        while n_drawn < min(n_left, <idx_t>2):
            drawn[n_drawn] = draw_candidate(&self.pool, self.rng)
            if drawn[n_drawn] < 0:
                break
            if is_known_constant(self.view, drawn[n_drawn]):
                binned = False
            elif self.bins_at_once(drawn[n_drawn], task.n):
                view_ranks(self.view, drawn[n_drawn], task.rows, task.n, True,
                           &columns[n_drawn])
            else:
                binned = False
            n_drawn += 1
        # Features under constraints take another way through the criterion.
        if n_drawn == 2 and binned and self.settings.monotonic == NULL and (
            task.limits.min_samples_leaf <= 1
        ):
            self.criterion.count_pair(&columns[0], self.view.columns[drawn[0]].n_values,
                                      &columns[1], self.view.columns[drawn[1]].n_values,
                                      task.n)
        return n_drawn

    cdef bint judge_column(self, const NodeTask* task, idx_t j, const RankColumn* column,
                           const ScanLimits* limits, Cut* best, uint32_t* low,
                           bint* missing_left) except -1 nogil:
        """Improve `best` by column j, in the way that suits it; whether it is constant.

        IN column: as `draw_columns` left it. OUT low: the rank from which the cut's keys
        count; missing_left: where missing values go, both meant for the column's own cut.
        """
        cdef uint32_t high
        low[0] = 0
        missing_left[0] = False
        if is_known_constant(self.view, j):
            return True
        if j >= self.view.n_features - self.view.n_categorical:
            return self.judge_categories(task, j, limits, best, missing_left)
        if self.bins_at_once(j, task.n):
            return self.criterion.scan_bins(column, task.n, self.view.columns[j].n_values,
                                            limits, best) == 1
        if self.view.columns[j].rows != NULL and self.reads_entries(j):
            return self.scan_entries(task, j, limits, best)
        if self.reads_above(j):
            return self.scan_above(task, j, limits, best)
        gather_codes(self.view, j, task.rows, task.n, self.codes, low, &high)
        if low[0] == high:
            return True
        missing_left[0] = self.scan_column(task, j, low[0], high, limits, best)
        return False

    cdef bint bins_at_once(self, idx_t j, idx_t n) noexcept nogil:
        """Whether the node is large enough to count a column's ranks as they are read."""
        return n >= self.bins_from[j]

    cdef idx_t find_bins_from(self, idx_t j) noexcept nogil:
        """The number of rows from which a column is counted as it is read.

        A larger node never prefers to sort, so the least is found by halving.
        """
        cdef const ColumnView* column = &self.view.columns[j]
        cdef idx_t low = 1, high = self.view.n_samples + 1, n
        if (column.rows != NULL or column.has_missing
                or j >= self.view.n_features - self.view.n_categorical):
            return high
        while low < high:
            n = low + (high - low) // 2
            if self.criterion.prefers_bins(self.count_sorted(j, n), column.n_values):
                high = n
            else:
                low = n + 1
        return low

    cdef idx_t count_sorted(self, idx_t j, idx_t n) noexcept nogil:
        """How many of n rows would be sorted, with some for leaving out the others."""
        if not self.reads_above(j):
            return n
        return <idx_t>(1.5 * n * self.view.columns[j].n_above / self.view.n_samples)

    cdef bint reads_above(self, idx_t j) noexcept nogil:
        """Whether to leave out the rows of a column's smallest value, when they are many."""
        cdef const ColumnView* column = &self.view.columns[j]
        return (column.rows == NULL and not column.has_missing
                and 2 * column.n_above <= self.view.n_samples and self.criterion.scans_above)

    cdef bint scan_above(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                         Cut* best) except -1 nogil:
        """Improve `best` by the rows above the column's smallest value; whether constant."""
        cdef uint32_t bits
        cdef idx_t n_words = gather_above(self.view, j, task.rows, task.n, self.words, &bits)
        if n_words == 0:
            return True
        # No rank is above all their bits, and only those that are all the same are equal to them.
        sort_words_below(self.words, n_words, bits, self.buffer)
        if n_words < task.n:
            self.criterion.scan_above(self.words, n_words, task.n, 0, 0, limits, best)
            return False
        if word_key(self.words[0]) == bits:
            return True
        self.criterion.scan(self.words, n_words, limits, best)
        return False

    cdef bint reads_entries(self, idx_t j) noexcept nogil:
        """Whether to leave out the rows of a sparse column's zeros."""
        return (self.view.columns[j].rows != NULL and not self.view.columns[j].has_missing
                and self.criterion.scans_above)

    cdef bint scan_entries(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                           Cut* best) except -1 nogil:
        """Improve `best` by the entries of a sparse column; whether it is constant."""
        cdef uint32_t bits, zero = self.view.columns[j].zero_code
        cdef idx_t n_words = gather_entries(self.view, j, task.rows, task.n, self.words, &bits)
        cdef idx_t n_below = 0
        if n_words == 0:
            return True
        sort_words_below(self.words, n_words, bits, self.buffer)
        if n_words == task.n:
            if word_key(self.words[0]) == word_key(self.words[n_words - 1]):
                return True
            self.criterion.scan(self.words, n_words, limits, best)
            return False
        if zero > 0:
            n_below = find_cut(self.words, n_words, zero)
        self.criterion.scan_above(self.words, n_words, task.n, n_below, zero, limits, best)
        return False

    cdef idx_t draw_more(self, const NodeTask* task, idx_t wanted) noexcept nogil:
        """After `node_split`: draw further features until `wanted` that vary are there.

        They stand in the pool behind the constants, those of `node_split` among them. Returns
        how many there are, fewer when no more vary.
        """
        cdef idx_t j
        while self.pool.n_drawn - self.pool.n_constant < wanted:
            j = draw_candidate(&self.pool, self.rng)
            if j < 0:
                break
            if not column_varies(self.view, j, task.rows, task.n, self.words):
                mark_constant(&self.pool, 0)
                if meets_constants(&self.pool):
                    narrow_candidates(&self.pool, task.rows, task.n)
        return min(self.pool.n_drawn - self.pool.n_constant, wanted)

    cdef bint scan_column(self, const NodeTask* task, idx_t j, uint32_t low, uint32_t high,
                          const ScanLimits* limits, Cut* best) except -1 nogil:
        """Improve `best` by the gathered column; whether missing values then go left.

        Missing values have the highest rank, so an ordinary scan sends them right and
        may also cut them off from everything else; a second one has them on the left.
        """
        cdef bint has_missing = (self.view.columns[j].has_missing
                                 and high == self.view.columns[j].n_values)
        return self.scan_codes(task.n, low, high, has_missing, limits, best)

    cdef bint scan_codes(self, idx_t n, uint32_t low, uint32_t high, bint has_missing,
                         const ScanLimits* limits, Cut* best) except -1 nogil:
        """Improve `best` by the ranks in `codes`, of which `high` may be that of missing values."""
        cdef double previous
        cdef RankColumn column
        if not has_missing and self.criterion.prefers_bins(n, high - low + 1):
            column.codes = self.codes
            column.rows = NULL
            column.low = low
            column.first_bin = -1
            self.criterion.scan_bins(&column, n, high - low + 1, limits, best)
            return False
        sort_codes(self.codes, n, low, high, self.words, self.buffer)
        self.criterion.scan(self.words, n, limits, best)
        if not has_missing:
            return False
        previous = best.score
        rotate_last(self.words, n, self.buffer)
        self.criterion.scan(self.words, n, limits, best)
        return best.score > previous

    cdef bint judge_categories(self, const NodeTask* task, idx_t j, const ScanLimits* limits,
                               Cut* best, bint* missing_left) except -1 nogil:
        """Improve `best` by a set of a column's categories; whether the column is constant."""
        cdef uint32_t missing = self.view.columns[j].n_values
        cdef uint32_t low, high, n_positions
        cdef idx_t k, p
        cdef bint has_missing, to_left
        cdef double previous
        gather_codes(self.view, j, task.rows, task.n, self.ranks, &low, &high)
        if low == high:
            return True
        self.sets.begin(task, self.ranks, missing)
        has_missing = ((self.view.columns[j].has_missing and high == missing)
                       or self.sets.n_kept < self.sets.n_present)
        if self.sets.n_kept + has_missing < 2:
            return False
        for k in range(self.sets.count_orders()):
            n_positions = <uint32_t>self.sets.find_order(task, self.ranks, missing, k, self.rng)
            for p in range(task.n):
                self.codes[p] = (n_positions if self.ranks[p] == missing
                                 else self.sets.position[self.ranks[p]])
            previous = best.score
            to_left = self.scan_codes(task.n, 0, n_positions if has_missing else n_positions - 1,
                                      has_missing, limits, best)
            if best.score > previous:
                missing_left[0] = to_left
                self.sets.keep_set(j, best.low_key, to_left)
        return False

    cdef void write_plane(self, const NodeTask* task, idx_t j, uint32_t base, const Cut* best,
                          bint missing_left, SplitResult* out) noexcept nogil:
        cdef uint32_t low_rank = base + best.low_key
        cdef uint32_t high_rank = base + best.high_key
        cdef double below
        out.plane.n_terms = 1
        out.plane.feature[0] = <feature_t>j
        out.plane.weight[0] = 1.0
        out.plane.missing_left = missing_left
        if j >= self.view.n_features - self.view.n_categorical:
            self.sets.write_set(&out.plane)
            return
        below = find_value(self.view, j, low_rank, task.rows, task.n)
        out.rank_cut = <int64_t>low_rank
        if high_rank == self.view.columns[j].n_values:
            # Missing against present: every number goes left.
            out.plane.threshold = FLT_MAX
        else:
            # In float64 the middle of two float32 numbers lies strictly between them.
            out.plane.threshold = 0.5 * below + 0.5 * <double>find_value(
                self.view, j, high_rank, task.rows, task.n
            )


include "axis_random.pxi"
include "one_category.pxi"
