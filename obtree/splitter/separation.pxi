# How much the columns of a node tell its classes apart, each by itself.
#
# This is the fraction of a column's variance that is between the classes (the correlation ratio, as
# in the analysis of variance), less what columns without a meaning have by chance.

from libc.stdint cimport int32_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport read_rows
from obtree.data.targets cimport TargetView
from obtree.linear.columns cimport Columns


cdef class ColumnSeparation:
    """Scratch for the sums of a node's classes; one for each worker."""

    cdef int bind(self, const DataView* view, const TargetView* targets, double weight_unit,
                  Workspace workspace) except -1:
        cdef idx_t n_features = view.n_features, n_classes = targets.max_n_classes
        self._view = view
        self._targets = targets
        self._weight_unit = weight_unit
        self.value = <double*>workspace.take(n_features, sizeof(double))
        self._block = <X_t*>workspace.take(BLOCK * n_features, sizeof(X_t))
        self._sums = <double*>workspace.take(n_features * n_classes, sizeof(double))
        self._weight = <double*>workspace.take(n_classes, sizeof(double))
        self._known = <int32_t*>workspace.take(n_classes, sizeof(int32_t))
        return 0

    cdef void measure(self, const row_t* rows, idx_t n, const w_t* weight, const Columns* columns,
                      const double* variance) noexcept nogil:
        cdef idx_t n_columns = columns.n, n_classes = 0, p, k, c
        cdef double total = 0.0, here, between, chance
        cdef double* sums
        cdef const X_t* x
        cdef int32_t code
        memset(self._known, 0xFF, self._targets.max_n_classes * sizeof(int32_t))
        for p in range(n):
            if p % BLOCK == 0:
                read_rows(self._view, rows + p, min(<idx_t>BLOCK, n - p), columns.feature,
                          n_columns, self._block)
            x = self._block + p % BLOCK * n_columns
            code = self._targets.codes[rows[p] * self._targets.n_outputs]
            if self._known[code] < 0:
                self._known[code] = <int32_t>n_classes
                self._weight[n_classes] = 0.0
                memset(self._sums + n_classes * n_columns, 0, n_columns * sizeof(double))
                n_classes += 1
            here = weight[rows[p]]
            total += here
            self._weight[self._known[code]] += here
            sums = self._sums + self._known[code] * n_columns
            for k in range(n_columns):
                sums[k] += here * ((<double>x[k] - columns.origin[k]) - columns.mean[k])
        # What classes without a meaning would have for each unit of variance inside of them.
        chance = (n_classes - 1) / max(1.0, total / self._weight_unit - n_classes)
        for k in range(n_columns):
            between = 0.0
            for c in range(n_classes):
                here = self._sums[c * n_columns + k]
                between += here * here / self._weight[c]
            between = min(1.0, between / (variance[k] * total))
            self.value[k] = max(0.0, between - (1.0 - between) * chance)
