"""The one place where rows are re-ordered.

A tree owns one array of row numbers. A node is a half-open range of it, and a split
re-orders that range in place so that the left child's rows stand in front:

    rows   ... | start            pos               end | ...
               | rows going left  | rows going right    |

The order inside both parts is kept, so every node's rows ascend: memory is read
forwards, and sparse columns can be intersected with a node.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, row_t, w_t
from obtree.data.dataset cimport ColumnView, DataView
from obtree.data.hyperplane cimport Hyperplane, goes_left
from obtree.data.missing cimport rank_goes_to_left
from obtree.data.project cimport project_rows
from obtree.data.read cimport RankColumn, column_lacks_value, gather_codes, view_ranks

cdef enum:
    BLOCK = 1024              # rows projected before any of them moves


cdef class SampleIndex:

    cdef int bind(self, const DataView* view, Workspace workspace) except -1:
        """Take scratch for the data; once per worker."""
        cdef idx_t n = view.n_samples
        self.view = view
        self.rows = <row_t*>workspace.take(n, sizeof(row_t))
        self.weight = <w_t*>workspace.take(n, sizeof(w_t))
        self._codes = <uint32_t*>workspace.take_shared(2 * n, sizeof(uint32_t))
        self._buffer = <row_t*>(self._codes + n)
        self.n_rows = 0
        return 0

    cdef void fill(self) noexcept nogil:
        """Collect the rows with a positive weight, ascending."""
        cdef const w_t* weight = self.weight
        cdef row_t* rows = self.rows
        cdef idx_t i, n = 0
        cdef w_t even = 0.0, odd = 0.0
        for i in range(self.view.n_samples):
            # Which rows a bootstrap holds cannot be foreseen, so there is no branch on it.
            rows[n] = <row_t>i
            n += weight[i] > 0.0
        for i in range(0, n - 1, 2):
            even += weight[rows[i]]
            odd += weight[rows[i + 1]]
        if n % 2:
            even += weight[rows[n - 1]]
        self.n_rows = n
        self.total_weight = even + odd

    cdef idx_t split(self, const Hyperplane* plane, int64_t rank_cut, idx_t start,
                     idx_t end) noexcept nogil:
        """Re-order rows[start:end] by the plane; return where the right side begins.

        With rank_cut >= 0 the plane is an axis split of an encoded column whose ranks
        up to rank_cut go left: the same rows as by value, without reading X.
        """
        cdef const ColumnView* column
        cdef RankColumn ranks
        cdef row_t* rows = self.rows + start
        cdef idx_t n = end - start
        cdef uint32_t low, high
        if rank_cut < 0:
            return start + self._split_by_plane(plane, rows, n)
        column = &self.view.columns[plane.feature[0]]
        if column.rows == NULL and not (column.has_missing and plane.missing_left):
            view_ranks(self.view, plane.feature[0], rows, n, True, &ranks)
            return start + kernels().split_rows(ranks.codes, ranks.width, ranks.stride,
                                                <uint32_t>rank_cut, ranks.rows, rows, n,
                                                self._buffer)
        gather_codes(self.view, plane.feature[0], rows, n, self._codes, &low, &high)
        return start + self._split_by_code(<uint32_t>rank_cut, column.n_values,
                                           plane.missing_left, rows, n)

    cdef bint lacks_value(self, const Hyperplane* plane, idx_t start, idx_t end) noexcept nogil:
        """Whether a row of a node, not split yet, misses one of the plane's features."""
        cdef idx_t k
        for k in range(plane.n_terms):
            if self._column_lacks_value(plane.feature[k], start, end):
                return True
            if (plane.partner != NULL and plane.partner[k] >= 0
                    and self._column_lacks_value(plane.partner[k], start, end)):
                return True
        return False

    cdef bint _column_lacks_value(self, idx_t j, idx_t start, idx_t end) noexcept nogil:
        return column_lacks_value(self.view, j, self.rows + start, end - start, self._codes)

    cdef idx_t _split_by_code(self, uint32_t cut, uint32_t missing, bint missing_left,
                              row_t* rows, idx_t n) noexcept nogil:
        cdef idx_t p, left = 0
        for p in range(n):
            self._buffer[p - left] = rows[p]
            rows[left] = rows[p]
            left += rank_goes_to_left(self._codes[p], cut, missing, missing_left)
        memcpy(rows + left, self._buffer, (n - left) * sizeof(row_t))
        return left

    cdef idx_t _split_by_plane(self, const Hyperplane* plane, row_t* rows,
                               idx_t n) noexcept nogil:
        """Project a block of rows, then move it; the rows ahead are still in place."""
        cdef double projection[BLOCK]
        cdef const double* at
        cdef idx_t start = 0, p, left = 0, n_block
        cdef row_t row
        while start < n:
            n_block = min(<idx_t>BLOCK, n - start)
            at = projection
            if self.projection != NULL:
                at = self.projection + start
            else:
                project_rows(self.view, plane, rows + start, n_block, projection)
            for p in range(n_block):
                row = rows[start + p]
                self._buffer[start + p - left] = row
                rows[left] = row
                left += goes_left(plane, at[p])
            start += n_block
        memcpy(rows + left, self._buffer, (n - left) * sizeof(row_t))
        return left


include "block.pxi"
