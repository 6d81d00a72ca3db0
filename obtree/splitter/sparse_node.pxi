# The rows of a node as a stump reads them, where nearly all cells are zero.
#
# Text, one-hot columns and hashed features have a few non-zeros in rows of thousands of columns.
# Centred rows are not sparse any more, but all of them differ from one and the same row, that of
# nothing but zeros, in those few places: a score is that row's score and a few products more, and
# a gradient the sum of factors times that row, and a few products. A step then costs as much as
# its rows have non-zeros, and a little for each column in use.
#
# Columns are found through the non-zeros of the node's rows as well: nothing here depends on how
# many columns there are.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from obtree.core.memory cimport Workspace
from obtree.core.random cimport RandState, draw_in_order
from obtree.core.types cimport feature_t, idx_t, row_t, w_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport RowEntries, clear_terms, count_entries, mark_terms, view_entries
from obtree.linear.columns cimport Columns


cdef class SparseNode:

    cdef int bind(self, const DataView* view, Workspace workspace, idx_t max_rows,
                  idx_t max_stride) except -1:
        cdef idx_t n_words = view.n_features // 64 + 1
        cdef idx_t n_entries = count_entries(view) + 1
        self.view = view
        # One in front takes what belongs to other columns.
        self.sums = 1 + <ColumnSums*>workspace.take(1 + min(view.n_features, n_entries),
                                                    sizeof(ColumnSums))
        self._touched = <uint64_t*>workspace.take(n_words, sizeof(uint64_t))
        self._lacking = <uint64_t*>workspace.take(n_words, sizeof(uint64_t))
        memset(self._touched, 0, n_words * sizeof(uint64_t))
        memset(self._lacking, 0, n_words * sizeof(uint64_t))
        self._frequency = <idx_t*>workspace.take(max_rows + 1, sizeof(idx_t))
        self.start = <int64_t*>workspace.take(max_rows + 1, sizeof(int64_t))
        self.column = <int32_t*>workspace.take(n_entries, sizeof(int32_t))
        self.value = <float*>workspace.take(n_entries, sizeof(float))
        self.base = <float*>workspace.take(max_stride, sizeof(float))
        return 0

    cdef idx_t find_columns(self, const row_t* rows, idx_t n, feature_t* out) noexcept nogil:
        cdef idx_t n_words = self.view.n_features // 64 + 1, n_found = 0, p, e, w
        cdef RowEntries entries
        cdef uint64_t word
        cdef feature_t j
        for p in range(n):
            entries = view_entries(self.view, rows[p])
            for e in range(entries.n):
                j = entries.feature[e]
                self._touched[j >> 6] |= <uint64_t>1 << (j & 63)
                if entries.x[e] != entries.x[e]:
                    self._lacking[j >> 6] |= <uint64_t>1 << (j & 63)
        for w in range(n_words):
            word = self._touched[w] & ~self._lacking[w]
            self._touched[w] = 0
            self._lacking[w] = 0
            j = <feature_t>(w << 6)
            while word:
                if word & 1:
                    out[n_found] = j
                    n_found += 1
                word >>= 1
                j += 1
        return n_found

    cdef void add_rows(self, const row_t* rows, idx_t n, const w_t* weight,
                       const feature_t* columns, idx_t n_columns) noexcept nogil:
        cdef const DataView* view = self.view
        cdef ColumnSums* sums
        cdef RowEntries entries
        cdef double gap, w
        cdef idx_t p, e
        memset(self.sums - 1, 0, (1 + n_columns) * sizeof(ColumnSums))
        mark_terms(view, columns, n_columns)
        for p in range(n):
            w = weight[rows[p]]
            entries = view_entries(view, rows[p])
            for e in range(entries.n):
                # Whether a column is listed cannot be foreseen, so there is no branch on it.
                sums = self.sums + (view.term_of[entries.feature[e]] - 1)
                if sums.count == 0:
                    sums.origin = entries.x[e]
                # Distances from a value that occurs: a column without zeros loses no digits.
                gap = <double>entries.x[e] - <double>sums.origin
                sums.count += 1
                sums.weight += w
                sums.sum += w * gap
                sums.square += w * gap * gap
        clear_terms(view, columns, n_columns)

    cdef idx_t keep_frequent(self, feature_t* columns, idx_t n_columns, idx_t n, idx_t wanted,
                             feature_t kept, RandState* rng) noexcept nogil:
        cdef idx_t k, least = n + 1, n_kept = 0, n_more, n_left
        if n_columns <= wanted:
            return n_columns
        memset(self._frequency, 0, (n + 1) * sizeof(idx_t))
        for k in range(n_columns):
            self._frequency[self.sums[k].count] += 1
        while least > 1 and n_kept + self._frequency[least - 1] <= wanted:
            least -= 1
            n_kept += self._frequency[least]
        # Of those that have one entry less, some, drawn at random.
        n_more = wanted - n_kept
        n_left = self._frequency[least - 1]
        n_kept = 0
        for k in range(n_columns):
            if self.sums[k].count == least - 1:
                n_left -= 1
                if draw_in_order(n_more, n_left + 1, rng):
                    n_more -= 1
                elif columns[k] != kept:
                    continue
            elif self.sums[k].count < least and columns[k] != kept:
                continue
            columns[n_kept] = columns[k]
            self.sums[n_kept] = self.sums[k]
            n_kept += 1
        return n_kept

    cdef void load(self, const row_t* rows, const int32_t* order, idx_t n,
                   const Columns* used) noexcept nogil:
        cdef const DataView* view = self.view
        cdef RowEntries entries
        cdef int64_t end = 0
        cdef idx_t p, e, k
        mark_terms(view, used.feature, used.n)
        for p in range(n):
            entries = view_entries(view, rows[order[p]])
            self.start[p] = end
            for e in range(entries.n):
                k = view.term_of[entries.feature[e]]
                self.column[end] = <int32_t>(k - 1)
                self.value[end] = entries.x[e] * used.scale[max(k - 1, <idx_t>0)]
                end += k > 0
        self.start[n] = end
        clear_terms(view, used.feature, used.n)
        memset(self.base + used.n, 0, (used.stride - used.n) * sizeof(float))
        for k in range(used.n):
            self.base[k] = (-used.origin[k] - used.mean[k]) * used.scale[k]
