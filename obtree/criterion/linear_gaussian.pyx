"""Information gain of probabilistic linear regression: the decrease of log predictive deviations.

A node's rows get a line with Gaussian noise (``linear/gaussian_line.pxd``), and a cut is worth what
it takes from the sum over the rows of the logarithm of the deviation that their node predicts for
them (Criminisi, Shotton and Konukoglu 2011, equation 4.11):

    sum log sigma(v) = W / 2 * log(s^2) + 1/2 * sum log(1 + h(v))

The leverages h(v) of a fit sum to 1 + df, the degrees of freedom that it uses. They are taken to
be equal, which makes the second sum W / 2 * log(1 + (1 + df) / W): not below the true one, and at
most 0.31 * (1 + df) nats above it, since all h are between 0 and 1. No cut has to go through its
rows again. A deviation of a thousandth of that of all of the tree's targets counts as none; it is
the unit, so that impurities are not negative.

Departures from the paper: its lines are those of one variable, these have several regressors, and
a ridge; of many columns, those that correlate best with the targets in the node take part. Where
a direction has many cuts, some of them are looked at, evenly spaced by the weight of the rows.
Two lines are less sure of themselves than one, so a cut may lose; such a cut is not found, and
growth ends where there is no other. A row that lacks a regressor is given the mean of the node.
Several outputs are taken to be independent given x: their logarithms are averaged.
"""

from libc.math cimport fabs, isfinite, log1p, sqrt
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport word_key, word_position
from obtree.core.types cimport X_t, feature_t, idx_t, rounding_tolerance, row_t, w_t, y_t
from obtree.criterion.base cimport (
    Criterion, Cut, FlipBase, NodeStats, ScanLimits, find_largest, is_allowed, keeps_order,
)
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.read cimport read_column
from obtree.data.scale cimport compute_weight_unit
from obtree.data.targets cimport TargetView
from obtree.linear.best_columns cimport insert_best, sort_features
from obtree.linear.gaussian_line cimport (
    add_line_row, clear_sums, count_free, count_sums, find_output_sums, fit_output, invert_gram,
    measure_output,
)

cdef enum:
    # Regressors of a node. Time goes with the square of their number.
    MAX_REGRESSORS = 12
    # Columns among which a node looks for its regressors. Wider data have so many for each tree,
    # those that correlate best with the targets of all of its rows.
    MAX_POOL = 64
    # Regressors of a leaf, see tree/linear_gaussian_leaf.pxi.
    LEAF_REGRESSORS = 24
    # Cuts of a direction that are looked at.
    MAX_CUTS = 32

# A side weighs as much as this many rows at least, and so many more for each column of X that the
# line of a leaf may have: lines need some, and log likelihoods suffer more than squared errors
# where they have few.
cdef double MIN_SIDE = 10.0
cdef double MIN_SIDE_COLUMN = 1.5

# Penalty of the lines, in rows.
cdef double RIDGE = 1.0

# What counts as no variance, as a fraction of that of the tree's targets.
cdef double NO_VARIANCE = 1e-6

# A feature that varies by less than float32 can tell is constant.
cdef double SMALLEST_SPREAD = 1e-6


cdef class LinearGaussian(Criterion):
    """Mean logarithm of the deviation that a line with Gaussian noise predicts."""

    target_kind = "real"

    reads_rows = True
    may_decline = True

    cdef const y_t* _y
    cdef double _unit                 # what one row weighs
    cdef idx_t _max_regressors
    cdef double _min_side             # weight of a side, at least
    # Of a tree.
    cdef feature_t* _pool             # (MAX_POOL) columns to look at, ascending
    cdef idx_t _n_pool
    cdef double* _floor               # (n_outputs) what counts as no variance; 0: constant
    # Of a node.
    cdef idx_t _n
    cdef idx_t _q                     # regressors
    cdef idx_t _width                 # of a record: weight, 1, regressors, outputs
    cdef double* _records             # (n * width) standardised regressors, centred outputs
    cdef double* _mean                # (n_outputs)
    cdef double* _total               # sums of all rows
    cdef double* _left                # of those left of a cut
    cdef double* _right
    cdef double _margin               # less than this between two cuts is rounding
    cdef double _unsplit              # what a cut has to be better than
    cdef FlipBase _flips
    # Scratch.
    cdef X_t* _x                      # (n) a column
    cdef double* _rating              # (MAX_POOL)
    cdef double* _inverse
    cdef double* _turned

    cdef object prepare(self, const FitView* fit):
        """What one row weighs, in the numbers that the user gave."""
        return compute_weight_unit(fit.weight, fit.targets.n_samples)

    cdef int bind(self, const DataView* data, const TargetView* targets, Workspace workspace,
                  idx_t max_rows) except -1:
        cdef idx_t q = MAX_REGRESSORS, m, size
        Criterion.bind(self, data, targets, workspace, max_rows)
        self._y = targets.values
        self._unit = self.prepared
        m = self.n_outputs
        self._max_regressors = q
        self._min_side = MIN_SIDE
        if data != NULL:
            self._min_side += MIN_SIDE_COLUMN * min(data.n_features, <idx_t>LEAF_REGRESSORS)
        size = count_sums(q, m)
        self._pool = <feature_t*>workspace.take(MAX_POOL, sizeof(feature_t))
        self._rating = <double*>workspace.take(MAX_POOL, sizeof(double))
        self._floor = <double*>workspace.take(m, sizeof(double))
        self._mean = <double*>workspace.take(m, sizeof(double))
        self._x = <X_t*>workspace.take(max_rows, sizeof(X_t))
        self._records = <double*>workspace.take(max_rows * (2 + q + m), sizeof(double))
        self._total = <double*>workspace.take(size, sizeof(double))
        self._left = <double*>workspace.take(size, sizeof(double))
        self._right = <double*>workspace.take(size, sizeof(double))
        self._flips.left = <double*>workspace.take(size, sizeof(double))
        self._inverse = <double*>workspace.take(q * q + q, sizeof(double))
        self._turned = <double*>workspace.take(2 * q, sizeof(double))
        return 0

    cdef int begin_tree(self, const row_t* rows, idx_t n, const w_t* weight) except -1 nogil:
        cdef idx_t k, j, n_features = 0 if self.data == NULL else self.data.n_features
        cdef double largest, variance
        # Records without regressors have the targets about their means.
        self._load_targets(rows, n, weight, 0)
        for k in range(self.n_outputs):
            largest = rounding_tolerance() * find_largest(self._y, self.n_outputs, k, rows, n)
            variance = measure_output(self._total, 0, k) / self._total[0]
            self._floor[k] = NO_VARIANCE * variance if variance > largest * largest else 0.0
        self._n_pool = 0
        for j in range(n_features):
            if n_features <= MAX_POOL:
                self._pool[j] = <feature_t>j
                self._n_pool += 1
            else:
                insert_best(self._pool, self._rating, &self._n_pool, MAX_POOL, <feature_t>j,
                            self._rate_column(j, rows))
        sort_features(self._pool, self._n_pool)
        return 0

    cdef int load_node(self, const row_t* rows, idx_t n, const w_t* weight,
                       NodeStats* stats) except -1 nogil:
        cdef feature_t* chosen = self._pool
        cdef feature_t best[MAX_REGRESSORS]
        cdef idx_t n_chosen = self._n_pool, k, _p
        cdef double* record
        if n_chosen > self._max_regressors:
            self._load_targets(rows, n, weight, 0)
            n_chosen = 0
            for k in range(self._n_pool):
                insert_best(best, self._rating, &n_chosen, self._max_regressors, self._pool[k],
                            self._rate_column(self._pool[k], rows))
            sort_features(best, n_chosen)
            chosen = best
        self._load_targets(rows, n, weight, n_chosen)
        for k in range(n_chosen):
            self._load_column(k, chosen[k], rows)
        self._q = n_chosen
        clear_sums(self._total, self._q, self.n_outputs)
        record = self._records
        for _p in range(n):
            add_line_row(self._total, record + 1, self._q, self.n_outputs, record[0])
            record += self._width
        self._margin = 1e-12 * self._total[0]
        stats.weight = self._total[0] * self._unit
        self._unsplit = -self._sum_deviations(self._total)
        stats.impurity = -self._unsplit / self._total[0]
        stats.level = self._mean[0]
        return 0

    cdef void node_value(self, double* value) noexcept nogil:
        memcpy(value, self._mean, self.n_outputs * sizeof(double))

    cdef void clip_value(self, double* value, double lower, double upper) noexcept nogil:
        value[0] = min(max(value[0], lower), upper)

    # ---- the rows of a node -----------------------------------------------------------------

    cdef void _load_targets(self, const row_t* rows, idx_t n, const w_t* weight,
                            idx_t q) noexcept nogil:
        """Make records with room for q regressors; sums without any in `_total`."""
        cdef idx_t m = self.n_outputs, p, k, _p
        cdef double* record = self._records
        cdef double total = 0.0
        cdef y_t first
        self._n = n
        self._width = 2 + q + m
        for k in range(m):
            self._mean[k] = 0.0
        for p in range(n):
            record[0] = weight[rows[p]] / self._unit
            record[1] = 1.0
            total += record[0]
            for k in range(m):
                # From the first target: equal ones have it for their mean, exactly.
                first = self._y[rows[0] * m + k]
                self._mean[k] += record[0] * (self._y[rows[p] * m + k] - first)
            record += self._width
        for k in range(m):
            self._mean[k] = self._y[rows[0] * m + k] + self._mean[k] / total
        record = self._records
        for p in range(n):
            for k in range(m):
                record[2 + q + k] = self._y[rows[p] * m + k] - self._mean[k]
            record += self._width
        if q > 0:
            return
        clear_sums(self._total, 0, m)
        record = self._records
        for _p in range(n):
            add_line_row(self._total, record + 1, 0, m, record[0])
            record += self._width

    cdef double _measure_column(self, idx_t j, const row_t* rows, double* mean) noexcept nogil:
        """Read a column, and its mean; its deviation, 0 where it does not vary."""
        cdef double total = 0.0, variance = 0.0, largest = 0.0, x, first = 0.0
        cdef const double* record = self._records
        cdef idx_t p
        read_column(self.data, j, rows, self._n, self._x)
        mean[0] = 0.0
        for p in range(self._n):
            x = <double>self._x[p]
            if x == x:
                if total == 0.0:
                    first = x
                total += record[0]
                mean[0] += record[0] * (x - first)
                largest = max(largest, fabs(x))
            record += self._width
        if total == 0.0:
            return 0.0
        mean[0] = first + mean[0] / total
        record = self._records
        for p in range(self._n):
            x = <double>self._x[p] - mean[0]
            if x == x:
                variance += record[0] * x * x
            record += self._width
        variance = sqrt(variance / total)
        return variance if variance > SMALLEST_SPREAD * largest and isfinite(variance) else 0.0

    cdef double _rate_column(self, idx_t j, const row_t* rows) noexcept nogil:
        """Squared correlation with the targets of the records, summed over the outputs."""
        cdef double mean, deviation = self._measure_column(j, rows, &mean)
        cdef double cross, rating = 0.0, spread, x
        cdef const double* record
        cdef idx_t p, k
        if deviation == 0.0:
            return -1.0
        for k in range(self.n_outputs):
            record = self._records
            cross = 0.0
            for p in range(self._n):
                x = <double>self._x[p] - mean
                if x == x:
                    cross += record[0] * x * record[2 + k]
                record += self._width
            spread = measure_output(self._total, 0, k)
            if spread > 0.0:
                cross /= deviation
                rating += cross * cross / (spread * self._total[0])
        return rating

    cdef void _load_column(self, idx_t k, idx_t j, const row_t* rows) noexcept nogil:
        """Make column j, standardised, regressor k of the records."""
        cdef double mean, deviation = self._measure_column(j, rows, &mean), x
        cdef double* record = self._records + 2 + k
        cdef idx_t p
        for p in range(self._n):
            x = (<double>self._x[p] - mean) / deviation if deviation > 0.0 else 0.0
            record[0] = x if x == x else 0.0
            record += self._width

    # ---- what a set of rows is worth ----------------------------------------------------------

    cdef double _sum_deviations(self, const double* sums) noexcept nogil:
        """Sum over rows of the logarithm of the predicted deviation, averaged over outputs."""
        cdef double total = 0.0, weight = sums[0], used, variance
        cdef idx_t k
        used = invert_gram(sums, self._q, RIDGE, self._inverse)
        for k in range(self.n_outputs):
            if self._floor[k] == 0.0:
                continue
            if used < 0.0:
                variance = measure_output(sums, self._q, k)
            else:
                variance = fit_output(sums, self._q, k, self._inverse, self._turned)
            variance /= count_free(weight, max(used, 0.0))
            variance *= 1.0 + (1.0 + max(used, 0.0)) / weight
            total += 0.5 * weight * log1p(variance / self._floor[k])
        return total / self.n_outputs

    cdef void _judge(self, const double* left, idx_t n_left, uint32_t low_key, uint32_t high_key,
                     const ScanLimits* limits, Cut* best) noexcept nogil:
        """Make `best` the cut that leaves these sums on the left, if it is better."""
        cdef w_t weight_left = left[0], weight_right = self._total[0] - left[0]
        cdef idx_t k
        cdef double score
        if min(weight_left, weight_right) < self._min_side or not is_allowed(
            limits, n_left, self._n - n_left, weight_left * self._unit, weight_right * self._unit
        ):
            return
        for k in range(count_sums(self._q, self.n_outputs)):
            self._right[k] = self._total[k] - left[k]
        score = -self._sum_deviations(left) - self._sum_deviations(self._right)
        if not score > max(best.score, self._unsplit) + self._margin:
            return
        if limits.monotone != 0 and not keeps_order(
            limits,
            self._mean[0] + find_output_sums(left, self._q, 0)[0] / weight_left,
            self._mean[0] + find_output_sums(self._right, self._q, 0)[0] / weight_right,
        ):
            return
        best.score = score
        best.low_key = low_key
        best.high_key = high_key

    # ---- cuts ---------------------------------------------------------------------------------

    cdef int scan(self, const uint64_t* words, idx_t n, const ScanLimits* limits,
                  Cut* best) except -1 nogil:
        cdef const double* record
        cdef double step = self._space_cuts(words, 1, n, self._total[0]), next_at = 0.0
        cdef idx_t i
        clear_sums(self._left, self._q, self.n_outputs)
        for i in range(1, n):
            record = self._records + word_position(words[i - 1]) * self._width
            add_line_row(self._left, record + 1, self._q, self.n_outputs, record[0])
            if word_key(words[i - 1]) == word_key(words[i]) or self._left[0] < next_at:
                continue
            next_at = self._left[0] + step
            self._judge(self._left, i, word_key(words[i - 1]), word_key(words[i]), limits, best)
        return 0

    cdef double _space_cuts(self, const uint64_t* words, idx_t start, idx_t end,
                            double weight) noexcept nogil:
        """How much weight has to lie between two cuts to look at."""
        cdef idx_t i, n_cuts = 0
        for i in range(start, end):
            n_cuts += word_key(words[i - 1]) != word_key(words[i])
        return weight / (MAX_CUTS + 1) if n_cuts > MAX_CUTS else 0.0

    cdef int begin_flips(self, const double* score, idx_t n, uint32_t* token) except -1 nogil:
        cdef const double* record = self._records
        cdef idx_t p
        self._flips.n_left = 0
        clear_sums(self._flips.left, self._q, self.n_outputs)
        for p in range(n):
            token[p] = <uint32_t>p
            if score[p] < 0.0:
                self._flips.n_left += 1
                add_line_row(self._flips.left, record + 1, self._q, self.n_outputs, record[0])
            record += self._width
        return 0

    cdef int scan_flips(self, const uint64_t* words, idx_t n, idx_t n_down,
                        const ScanLimits* limits, Cut* best) except -1 nogil:
        if 0 < n_down < n:
            self._judge(self._flips.left, self._flips.n_left, word_key(words[n_down - 1]),
                        word_key(words[n_down]), limits, best)
        self._walk_flips(words, n_down, n - 1, 1, limits, best)
        self._walk_flips(words, n_down - 1, 0, -1, limits, best)
        return 0

    cdef void _walk_flips(self, const uint64_t* words, idx_t start, idx_t end, idx_t direction,
                          const ScanLimits* limits, Cut* best) noexcept nogil:
        """Let rows change sides, those of words[start] first, and judge the planes behind them."""
        cdef idx_t i = start, n_left = self._flips.n_left, n_steps = (end - start) * direction
        cdef double moved = 0.0, next_at = 0.0, step = 0.0, sign
        cdef const double* record
        if n_steps > MAX_CUTS:
            step = self._total[0] * n_steps / (self._n * <double>(MAX_CUTS + 1))
        memcpy(self._left, self._flips.left,
               count_sums(self._q, self.n_outputs) * sizeof(double))
        while i != end and n_steps > 0:
            record = self._records + (word_position(words[i]) >> 1) * self._width
            sign = 1.0 - 2.0 * <double>(words[i] & 1)
            add_line_row(self._left, record + 1, self._q, self.n_outputs, sign * record[0])
            n_left += <idx_t>sign
            moved += record[0]
            i += direction
            if word_key(words[i - direction]) != word_key(words[i]) and moved >= next_at:
                next_at = moved + step
                self._judge(self._left, n_left, word_key(words[min(i, i - direction)]),
                            word_key(words[max(i, i - direction)]), limits, best)
