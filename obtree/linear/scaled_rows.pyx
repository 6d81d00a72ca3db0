"""Rows as planes are moved on: centred, scaled, with a constant at the end.

Columns are centred and divided so that the mean squared length of a row is 1: the radius and
the step of a descent then mean the same on data of any scale. For classes one number
divides all columns, which leaves columns that hardly vary as small as they are, unless features
are in different units; then, and for numbers to predict, each column has its own. Columns that
are constant, or that some row lacks, are left out. Rows are scaled when they are needed: a copy
of all would double the memory.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, feature_t, idx_t
from obtree.linear.columns cimport Columns, pad_width, standardise_columns, take_columns


cdef class ScaledRows:
    """Scales the rows of X; see the file's head."""

    cdef int measure(self, const X_t[:, ::1] X, const double[::1] weight, idx_t n_train,
                     bint common_units) except -1:
        cdef idx_t n_rows = X.shape[0], p = X.shape[1]
        cdef idx_t j, k
        cdef double total = 0.0, spread = 0.0, mean, here
        cdef Columns* columns = &self.columns
        cdef Workspace workspace = Workspace()
        cdef double* sums = <double*>workspace.take(p, sizeof(double))
        cdef double* squares = <double*>workspace.take(p, sizeof(double))
        cdef double* buffer = <double*>workspace.take(2 * p, sizeof(double))
        self._kept = X
        self._workspace = workspace
        self.X = &X[0, 0]
        self.n_features = p
        take_columns(columns, p, workspace)
        self.place = <int32_t*>workspace.take(p, sizeof(int32_t))
        self.origin = <float*>workspace.take(p, sizeof(float))
        self.mean = <float*>workspace.take(p, sizeof(float))
        with nogil:
            memset(sums, 0, p * sizeof(double))
            memset(squares, 0, p * sizeof(double))
            memset(buffer, 0, 2 * p * sizeof(double))
            memcpy(self.origin, self.X, p * sizeof(float))
            kernels().add_moments(self.X, n_train, p, self.origin, &weight[0], sums, squares)
            # Rows kept for validation have no say in the scale, but may lack values.
            kernels().add_moments(self.X + n_train * p, n_rows - n_train, p, self.origin,
                                  &weight[0], buffer, buffer + p)
            for k in range(n_train):
                total += weight[k]
            for j in range(p):
                mean = sums[j] / total
                here = squares[j] / total - mean * mean
                self.mean[j] = <float>mean
                if sums[j] != sums[j] or buffer[j] != buffer[j]:
                    self.place[j] = -2
                    continue
                # Beyond this range float32 has no room.
                if not 1e-60 < here < 1e60:
                    self.place[j] = -1
                    continue
                k = columns.n
                self.place[j] = <int32_t>k
                columns.feature[k] = <feature_t>j
                columns.origin[k] = self.origin[j]
                columns.mean[k] = self.mean[j]
                squares[k] = here
                spread += here
                columns.n += 1
            for k in range(columns.n):
                if not common_units:
                    spread = squares[k] * columns.n
                columns.scale[k] = <float>(1.0 / sqrt(spread))
        columns.stride = pad_width(columns.n + 1)
        return 0

    cdef void fetch(self, const int32_t* rows, idx_t start, idx_t n, float* x) noexcept nogil:
        cdef bint lies_packed = self.columns.n == self.n_features
        cdef idx_t p, row
        for p in range(n):
            row = start + p if rows == NULL else rows[p]
            standardise_columns(&self.columns, self.X + row * self.n_features, lies_packed, x)
            x[self.columns.n] = constant_cell()
            x += self.columns.stride
