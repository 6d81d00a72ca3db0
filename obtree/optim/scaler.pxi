# Scales in which weights of different features compare.
#
# A weight is penalised, and moved step by step, as if its feature had spread 1, so that nobody
# has to scale features. Where weights are moved in small steps the spread is the range, for a
# pixel that is mostly blank must not count for more than others, and zero stays zero where a
# feature takes values on both sides of it; otherwise it is the standard deviation, about the
# mean.
#
# Small steps read the same rows over and over, and wait for memory while they do. Features that
# are whole numbers from 0 to 255, such as pixels, are therefore kept as bytes besides.

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.linear.columns cimport (
    Columns,
    add_column_moments,
    pad_width,
    standardise_columns,
    take_columns,
)
from obtree.optim.base cimport Problem

# Of a row of bytes: sums of whole weights are to stay within int32.
MAX_SUM = 2.0**24
#: From so many features on, a row of bytes might have a larger one.
MAX_BYTE_FEATURES = 2**24 // 255


def _measure_columns(Problem problem, bint by_range, char[::1] lacking):
    """Least and largest value, largest size, mean and deviation (0 by_range) of each column.

    The size is that in any row; the others are of the rows that are learnt from. OUT lacking: 1
    where one of these lacks the column.
    """
    cdef idx_t i, j, p = problem.n_features
    cdef const X_t* row
    cdef double[::1] low = np.full(p, np.inf)
    cdef double[::1] high = np.full(p, -np.inf)
    cdef double[::1] max_abs = np.zeros(p)
    cdef double[::1] total = np.zeros(p)
    cdef double[::1] squares = np.zeros(p)
    cdef double[::1] weight = np.zeros(p)
    cdef double[::1] first = np.zeros(p)
    with nogil:
        for i in range(problem.n_train, problem.n_rows):
            for j in range(p):
                max_abs[j] = max(max_abs[j], fabs(problem.x[i * p + j]))
        for i in range(problem.n_train):
            row = problem.x + i * p
            for j in range(p):
                if row[j] != row[j]:
                    lacking[j] = 1
                    continue
                low[j] = min(low[j], <double>row[j])
                high[j] = max(high[j], <double>row[j])
        if not by_range:
            add_column_moments(problem.x, problem.n_train, p, problem.weight, &first[0],
                               &weight[0], &total[0], &squares[0])
        for j in range(p):
            max_abs[j] = max(max_abs[j], fabs(low[j]), fabs(high[j]))
            if weight[j] > 0.0:
                total[j] /= weight[j]
                squares[j] = max(squares[j] / weight[j] - total[j] * total[j], 0.0) ** 0.5
            first[j] += total[j]
    return low, high, max_abs, first, squares


cdef class Scaler:
    """Origin and scale of each feature, from the rows that are learnt from.

    Parameters
    ----------
    problem : Problem
    by_range : bool
        Whether the spread is the range; else the standard deviation.
    """

    def __init__(self, Problem problem, bint by_range):
        cdef idx_t p = problem.n_features
        cdef idx_t j
        cdef double delta
        cdef double[::1] low, high, max_abs, mean, spread
        cdef char[::1] lacking = np.zeros(p, dtype=np.int8)
        self.memory = Workspace()
        self.view = &problem.view
        self.x = problem.x
        self.n_features = p
        self.has_missing = problem.has_missing
        self.origin = <double*>self.memory.take(p, sizeof(double))
        self.scale = <double*>self.memory.take(p, sizeof(double))
        self.max_abs = <double*>self.memory.take(p, sizeof(double))
        self.bytes = NULL
        self.largest_sum = 1.0
        if problem.bytes != NULL:
            if not by_range or p >= MAX_BYTE_FEATURES:
                raise ValueError(f"bytes of {p} features cannot be learnt from as they are")
            self._take_bytes(problem)
        elif by_range and not self.has_missing:
            self._pack(problem)
        if self.bytes != NULL:
            train = self._bytes[:problem.n_train]
            low, high, max_abs = (cells.astype(np.float64) for cells in (
                train.min(axis=0), train.max(axis=0), self._bytes.max(axis=0)))
            mean = spread = low
        else:
            low, high, max_abs, mean, spread = _measure_columns(problem, by_range, lacking)
        for j in range(p):
            self.origin[j] = 0.0
            self.scale[j] = 0.0
            self.max_abs[j] = max_abs[j]
            if not high[j] > low[j]:
                continue
            if by_range:
                if not low[j] <= 0.0 <= high[j]:
                    self.origin[j] = low[j]
                delta = high[j] - low[j]
            else:
                self.origin[j] = mean[j]
                delta = spread[j]
            # float32 must be able to hold both the spread and its inverse.
            if 1e-37 < delta < 1e37:
                self.scale[j] = 1.0 / delta
        take_columns(&self.complete, p, self.memory)
        self._list(&self.complete, &lacking[0])

    def _take_bytes(self, Problem problem):
        """Read the problem's own bytes."""
        self._bytes = problem.X
        self.bytes = problem.bytes
        self.largest_sum = max(1.0, float(problem.X.sum(axis=1, dtype=np.uint32).max()))

    def _pack(self, Problem problem):
        """Keep the rows as bytes if that loses nothing."""
        cdef uint8_t[:, ::1] cells
        cdef idx_t i, p = self.n_features
        cdef int64_t total = 0
        cells = packed = np.empty((problem.n_rows, p), dtype=np.uint8)
        with nogil:
            for i in range(problem.n_rows):
                total = kernels().pack_bytes(problem.x + i * p, p, &cells[i, 0])
                if total < 0:
                    break
                self.largest_sum = max(self.largest_sum, <double>total)
        if total >= 0 and self.largest_sum < MAX_SUM:
            self._bytes = packed
            self.bytes = &cells[0, 0]

    cdef void _list(self, Columns* columns, const char* lacking) noexcept nogil:
        cdef idx_t j, n = 0
        cdef bint all_columns = not self.has_missing
        # Constant columns do no harm, their scale being zero, and rows are then read as they
        # lie, several values at a time.
        for j in range(self.n_features):
            if all_columns or (self.scale[j] > 0.0 and not lacking[j]):
                columns.feature[n] = <feature_t>j
                columns.origin[n] = <float>self.origin[j]
                columns.scale[n] = <float>self.scale[j]
                n += 1
        columns.n = n
        columns.stride = pad_width(n)

    cdef void choose_columns(self, Columns* columns, const row_t* rows, idx_t n,
                             char* lacking) noexcept nogil:
        """List the columns that none of the rows lacks (SCRATCH lacking, n_features)."""
        cdef idx_t i, j
        cdef const X_t* row
        memset(lacking, 0, self.n_features)
        for i in range(n):
            row = self.x + rows[i] * self.n_features
            for j in range(self.n_features):
                lacking[j] |= row[j] != row[j]
        self._list(columns, lacking)

    cdef void approximate(self, const row_t* rows, idx_t n, const float* w,
                          double* out) noexcept nogil:
        """About the sums of all features of n rows, each times its weight (OUT n)."""
        if self.bytes != NULL:
            kernels().approximate_bytes(self.bytes, self.n_features, rows, n, w, out)
        else:
            kernels().approximate_rows(self.x, self.n_features, rows, n, w, out)

    cdef void transform(self, const Columns* columns, const row_t* rows, idx_t n,
                        float* out) noexcept nogil:
        """Write the columns of n rows, in their units, `stride` apart (OUT n * stride)."""
        cdef idx_t p, k
        cdef float* line
        for p in range(n):
            line = out + p * columns.stride
            if self.bytes == NULL:
                standardise_columns(columns, self.x + rows[p] * self.n_features,
                                    columns.n == self.n_features, line)
                continue
            kernels().scale_bytes(self.bytes + rows[p] * self.n_features, columns.n,
                                  columns.origin, columns.scale, line)
            for k in range(columns.n, columns.stride):
                line[k] = 0.0
