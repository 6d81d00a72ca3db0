# The rows of a node as a stump reads them.
#
# The node's mean is subtracted and columns are divided so that the mean squared length of a
# row is 1: bound, radius and step of CO2 then mean the same in every node, on data of any
# scale. What columns are relative to each other, ``co2_policy.pxd`` tells. Columns that are
# constant in the node, or that one of its rows lacks, are left out. Numbers to predict are
# standardised in the node.
#
# A node may be looked at through some of its columns, and some of its rows, drawn at random:
# other ones in each tree, which makes the trees of a forest differ. Rows are shuffled once and
# then taken in batches. Up to some megabytes are kept centred; the batches of larger nodes are
# centred when they are taken.
#
# Where nearly all cells of many columns are zero, rows are never spread out, see
# ``sparse_node.pxi``. Of such columns a node looks at some, those with most non-zeros.

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, draw_in_order, shuffle
from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.fit cimport FitView
from obtree.data.read cimport find_complete, read_rows
from obtree.data.scale cimport compute_weight_unit, measure_spans, measure_variances, units_differ
from obtree.data.targets cimport CLASS_TARGETS, REAL_TARGETS, TargetView
from obtree.linear.columns cimport pad_width, standardise_columns, take_columns
from obtree.splitter.base cimport NodeTask
from obtree.splitter.co2_policy cimport (
    CO2Policy, count_columns, count_sparse_columns, find_kind, is_weighed, mark_binary,
    scale_column,
)
from obtree.splitter.relevance cimport keep_relevant
from obtree.splitter.stump cimport Batch

cdef enum:
    BLOCK = 64                # rows read together
    MAX_KEPT = 4194304        # cells of centred rows that are kept
    SPARSE_LIMIT = 536870912  # cells: 2 GiB


cdef class ColumnScales:
    """What a fit says about its columns and weights."""


cdef ColumnScales measure_column_scales(const FitView* fit):
    """Find out whether the features of a fit are in different units, and what a row weighs."""
    cdef ColumnScales scales = ColumnScales()
    cdef Workspace scratch = Workspace()
    cdef idx_t n_features = fit.data.n_features
    cdef double* span
    cdef double* variance
    scales.weight_unit = compute_weight_unit(fit.weight, fit.data.n_samples)
    if fit.targets.kind == CLASS_TARGETS:
        span = <double*>scratch.take(n_features, sizeof(double))
        variance = <double*>scratch.take(n_features, sizeof(double))
        measure_spans(fit, span, scratch)
        measure_variances(fit, variance, scratch)
        scales.differ = units_differ(span, variance, n_features)
    return scales


cdef class StumpNode:
    """Scratch for the rows of a node; one for each worker."""

    cdef int bind(self, const DataView* view, const TargetView* targets, ColumnScales scales,
                  Workspace workspace, idx_t batch_size, const CO2Policy* policy,
                  const float* relevance) except -1:
        cdef idx_t n = min(view.n_samples, policy.max_rows), n_features = view.n_features
        if targets.kind not in (CLASS_TARGETS, REAL_TARGETS):
            raise ValueError(
                "splitter 'co2' optimises predictions of y; expected targets of every row"
            )
        self.view = view
        self.is_class = targets.kind == CLASS_TARGETS
        self.n_outputs = targets.n_outputs
        self._codes = targets.codes
        self._targets = targets.values
        self.max_slots = self.n_outputs * (targets.max_n_classes if self.is_class else 1)
        self._sample_size = n
        self._policy = policy
        self._relevance = relevance
        self.max_stride = pad_width(n_features)
        self._n_cells = min(n, max(batch_size, MAX_KEPT // self.max_stride)) * self.max_stride
        self._is_mostly_zero = (view.is_mostly_zero and view.entry_start != NULL
                                and view.term_of != NULL)
        if self._is_mostly_zero:
            self._n_cells = pad_width(0)
            self._sparse = SparseNode()
            self._sparse.bind(view, workspace, view.n_samples, self.max_stride)
        elif view.X == NULL:
            self._n_cells = n * self.max_stride
            if n * self.max_stride > SPARSE_LIMIT:
                raise ValueError(
                    f"splitter 'co2' works on dense copies of rows, and {n} x {n_features} "
                    "sparse values would need more than 2 GiB for each thread; expected "
                    "fewer columns (feature selection, projection) or a splitter of sparse "
                    "directions"
                )
        self.first = <idx_t*>workspace.take(self.n_outputs + 1, sizeof(idx_t))
        take_columns(&self.columns, n_features, workspace)
        self._complete = <feature_t*>workspace.take(n_features, sizeof(feature_t))
        self._sample = <row_t*>workspace.take(n, sizeof(row_t))
        self._ranks = <uint32_t*>workspace.take(view.n_samples, sizeof(uint32_t))
        if not self._is_mostly_zero:
            self._block = <X_t*>workspace.take(BLOCK * n_features, sizeof(X_t))
        self._row_weight = <double*>workspace.take(BLOCK, sizeof(double))
        self._sums = <double*>workspace.take(n_features, sizeof(double))
        self._squares = <double*>workspace.take(n_features, sizeof(double))
        self._x = <float*>workspace.take(self._n_cells, sizeof(float))
        self._weights = <float*>workspace.take(n, sizeof(float))
        self._slot = <int32_t*>workspace.take(n * self.n_outputs, sizeof(int32_t))
        self._y = <float*>workspace.take(n * self.n_outputs, sizeof(float))
        self._order = <int32_t*>workspace.take(n, sizeof(int32_t))
        self._place = <int32_t*>workspace.take(n, sizeof(int32_t))
        self._known = <int32_t*>workspace.take(self.max_slots, sizeof(int32_t))
        if is_weighed(policy, n_features):
            self._separation = ColumnSeparation()
            self._separation.bind(view, targets, scales.weight_unit, workspace)
        self._scales = scales
        return 0

    cdef void _draw_rows(self, RandState* rng) noexcept nogil:
        """The rows that are looked at, in the order they have."""
        cdef idx_t p, n_left = self._sample_size
        cdef const row_t* rows = self._part
        self.n = min(self._n_part, self._sample_size)
        self._rows = rows
        if self.n == self._n_part:
            return
        for p in range(self._n_part):
            if draw_in_order(n_left, self._n_part - p, rng):
                self._sample[self.n - n_left] = rows[p]
                n_left -= 1
        self._rows = self._sample

    cdef idx_t _draw_columns(self, idx_t n_complete, feature_t kept, RandState* rng) noexcept nogil:
        """The columns that are looked at, `kept` among them; how many there are."""
        cdef idx_t wanted, k, n_binary = 0, n_drawn = 0
        n_complete = keep_relevant(self._complete, n_complete, kept, self._relevance, rng)
        for k in range(n_complete):
            n_binary += self.view.columns[self._complete[k]].n_values <= 2
        wanted = count_columns(self._policy, n_complete, n_binary)
        if wanted >= n_complete:
            return n_complete
        for k in range(n_complete):
            if draw_in_order(wanted, n_complete - k, rng) or self._complete[k] == kept:
                wanted -= 1
                self._complete[n_drawn] = self._complete[k]
                n_drawn += 1
        return n_drawn

    cdef bint measure(self, const NodeTask* task, const row_t* part, idx_t n_part, feature_t kept,
                      RandState* rng) noexcept nogil:
        cdef idx_t n_complete, k
        cdef double mean, here, spread = 0.0, binary = 0.0
        self._task = task
        self._part = part
        self._n_part = n_part
        self.columns.n = 0
        self._weight = 0.0
        if self._is_mostly_zero:
            n_complete = self._sum_entries(task, kept, rng)
        else:
            n_complete = self._sum_columns(task, kept, rng)
        for k in range(n_complete):
            mean = self._sums[k] / self._weight
            here = self._squares[k] / self._weight - mean * mean
            # Beyond this range float32 has no room, and a constant column has nothing to say.
            if not 1e-60 < here < 1e60:
                continue
            self.columns.feature[self.columns.n] = self._complete[k]
            self.columns.origin[self.columns.n] = self.columns.origin[k]
            self.columns.mean[self.columns.n] = <float>mean
            self._sums[self.columns.n] = here
            self.columns.n += 1
        if self.columns.n == 0:
            return False
        self.kind = find_kind(self._policy, self.is_class, self.columns.n, self.view.n_features)
        for k in range(self.columns.n):
            spread += self._sums[k]
            if self.view.columns[self.columns.feature[k]].n_values <= 2:
                # Scaled each by itself, all columns have the same spread.
                binary += 1.0 if self.kind.standardised else self._sums[k]
        mark_binary(self._policy, binary / (self.columns.n if self.kind.standardised else spread),
                    &self.kind)
        if self.kind.weighed:
            self._separation.measure(self._rows, self.n, task.weight, &self.columns, self._sums)
        self._find_scales(spread / self.columns.n)
        self.columns.stride = pad_width(self.columns.n)
        return True

    cdef idx_t _sum_columns(self, const NodeTask* task, feature_t kept,
                            RandState* rng) noexcept nogil:
        """OUT _complete, origin, _sums, _squares: the columns looked at; how many there are."""
        cdef idx_t n_complete, p, n_here, done = 0
        n_complete = find_complete(self.view, task.rows, task.n, self._ranks, self._complete)
        n_complete = self._draw_columns(n_complete, kept, rng)
        self._draw_rows(rng)
        memset(self._sums, 0, n_complete * sizeof(double))
        memset(self._squares, 0, n_complete * sizeof(double))
        while done < self.n:
            n_here = min(<idx_t>BLOCK, self.n - done)
            read_rows(self.view, self._rows + done, n_here, self._complete, n_complete,
                      self._block)
            if done == 0:
                memcpy(self.columns.origin, self._block, n_complete * sizeof(X_t))
            for p in range(n_here):
                self._row_weight[p] = task.weight[self._rows[done + p]]
                self._weight += self._row_weight[p]
            kernels().add_moments(self._block, n_here, n_complete, self.columns.origin,
                                  self._row_weight, self._sums, self._squares)
            done += n_here
        return n_complete

    cdef idx_t _sum_entries(self, const NodeTask* task, feature_t kept,
                            RandState* rng) noexcept nogil:
        """The same where nearly all cells are zero, from the others."""
        cdef idx_t n_complete, k, p
        cdef const ColumnSums* here
        cdef double rest
        n_complete = self._sparse.find_columns(task.rows, task.n, self._complete)
        n_complete = self._draw_columns(n_complete, kept, rng)
        self._draw_rows(rng)
        for p in range(self.n):
            self._weight += task.weight[self._rows[p]]
        self._sparse.add_rows(self._rows, self.n, task.weight, self._complete, n_complete)
        n_complete = self._sparse.keep_frequent(self._complete, n_complete, self.n,
                                                count_sparse_columns(self._policy, self.n), kept,
                                                rng)
        for k in range(n_complete):
            here = &self._sparse.sums[k]
            rest = self._weight - here.weight if here.count < self.n else 0.0
            self.columns.origin[k] = here.origin
            self._sums[k] = here.sum - rest * here.origin
            self._squares[k] = here.square + rest * here.origin * here.origin
        return n_complete

    cdef void _find_scales(self, double mean) noexcept nogil:
        """What multiplies each column; `mean` is that of the columns' variances."""
        cdef double length = 0.0
        cdef double* factor = self._squares
        cdef idx_t k
        for k in range(self.columns.n):
            factor[k] = scale_column(self._policy, &self.kind, self._sums[k], mean,
                                     self._separation.value[k] if self.kind.weighed else 0.0)
            length += self._sums[k] * factor[k] * factor[k]
        for k in range(self.columns.n):
            self.columns.scale[k] = <float>(factor[k] / sqrt(length))

    cdef void load(self, RandState* rng, idx_t batch_size) noexcept nogil:
        cdef const NodeTask* task = self._task
        cdef idx_t p
        for p in range(self.n):
            self._order[p] = <int32_t>p
        if self.n > batch_size:
            shuffle(self._order, self.n, rng)
        for p in range(self.n):
            self._weights[p] = <float>(task.weight[self._rows[self._order[p]]]
                                       / self._scales.weight_unit)
        if self.is_class:
            self._load_classes()
        else:
            self._load_numbers()
        self._is_kept = self.n * self.columns.stride <= self._n_cells
        if self._is_mostly_zero:
            self._sparse.load(self._rows, self._order, self.n, &self.columns)
        elif self.view.X == NULL:
            self._standardise_sparse()
        elif self._is_kept:
            self._standardise_rows(0, self.n, self._x)

    cdef void _load_classes(self) noexcept nogil:
        """Number the classes that the node has, output after output."""
        cdef idx_t n_outputs = self.n_outputs
        cdef idx_t k, p, n_slots = 0
        cdef int32_t code
        self.first[0] = 0
        for k in range(n_outputs):
            memset(self._known, 0xFF, self.max_slots // n_outputs * sizeof(int32_t))
            for p in range(self.n):
                code = self._codes[self._rows[self._order[p]] * n_outputs + k]
                if self._known[code] < 0:
                    self._known[code] = <int32_t>n_slots
                    n_slots += 1
                self._slot[p * n_outputs + k] = self._known[code]
            self.first[k + 1] = n_slots

    cdef void _load_numbers(self) noexcept nogil:
        cdef const NodeTask* task = self._task
        cdef idx_t n_outputs = self.n_outputs
        cdef idx_t k, p
        cdef double origin, gap, mean, square, scale
        cdef row_t row
        self.first[0] = 0
        for k in range(n_outputs):
            origin = self._targets[self._rows[0] * n_outputs + k]
            mean = 0.0
            square = 0.0
            for p in range(self.n):
                row = self._rows[p]
                mean += task.weight[row] * (self._targets[row * n_outputs + k] - origin)
            mean = origin + mean / self._weight
            for p in range(self.n):
                row = self._rows[p]
                gap = self._targets[row * n_outputs + k] - mean
                square += task.weight[row] * gap * gap
            scale = 1.0 / sqrt(square / self._weight) if square > 0.0 else 0.0
            for p in range(self.n):
                row = self._rows[self._order[p]]
                self._y[p * n_outputs + k] = <float>(
                    (self._targets[row * n_outputs + k] - mean) * scale
                )
            self.first[k + 1] = k + 1

    cdef void _standardise_rows(self, idx_t start, idx_t end, float* x) noexcept nogil:
        cdef const DataView* view = self.view
        cdef bint lies_packed = self.columns.n == view.n_features
        cdef const X_t* row
        cdef idx_t p
        for p in range(start, end):
            row = view.X + self._rows[self._order[p]] * view.row_stride
            if view.col_stride != 1:
                read_rows(view, self._rows + self._order[p], 1, self.columns.feature,
                          self.columns.n, self._block)
                row = self._block
                lies_packed = True
            standardise_columns(&self.columns, row, lies_packed, x)
            x += self.columns.stride

    cdef void _standardise_sparse(self) noexcept nogil:
        """All rows: sparse columns are spread out in the order of the rows."""
        cdef idx_t p, n_here, done = 0
        for p in range(self.n):
            self._place[self._order[p]] = <int32_t>p
        while done < self.n:
            n_here = min(<idx_t>BLOCK, self.n - done)
            read_rows(self.view, self._rows + done, n_here, self.columns.feature, self.columns.n,
                      self._block)
            for p in range(n_here):
                standardise_columns(&self.columns, self._block + p * self.columns.n, True,
                                    self._x + self._place[done + p] * self.columns.stride)
            done += n_here

    cdef void take_batch(self, idx_t start, idx_t end, Batch* batch) noexcept nogil:
        batch.n = end - start
        batch.weight = self._weights + start
        batch.slot = self._slot + start * self.n_outputs
        batch.y = self._y + start * self.n_outputs
        batch.start = NULL
        if self._is_mostly_zero:
            batch.start = self._sparse.start + start
            batch.column = self._sparse.column
            batch.value = self._sparse.value
            batch.base = self._sparse.base
        elif self._is_kept:
            batch.x = self._x + start * self.columns.stride
        else:
            self._standardise_rows(start, end, self._x)
            batch.x = self._x
