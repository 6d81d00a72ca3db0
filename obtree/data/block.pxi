# The ranks of one subtree's rows, side by side.
#
# A node of some hundred rows reads a few columns of wide data, and every rank it reads is
# a cache miss: its rows are scattered over all of X. Growth is depth-first, so when the
# rows of a subtree first get few enough their ranks are copied together once, and
# everything below reads the copy, which stays in the caches. Columns that are zero in all rows
# of the copy, one in ten of those a node looks at in pictures, need not be read at all.
#
# Sparse data have nothing to copy: there a node tells where its rows stand, so that the entries
# of a column find them.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.sort cimport make_word
from obtree.core.types cimport feature_t, idx_t, row_t
from obtree.data.dataset cimport DataView
from obtree.data.read cimport RowEntries, view_entries

cdef enum:
    BLOCK_BYTES = 1572864     # more than a second-level cache, much less than a third
    FEW_ENTRIES = 4096        # of nodes that note the columns they touch
    SPREAD = 16               # rows of X for each of the block: below, columns are dense


cdef class RankBlock:

    cdef int bind(self, const DataView* data, bint allowed, Workspace workspace) except -1:
        """Take scratch when the data keep ranks by rows; once per worker."""
        self._data = data
        self.view = data[0]
        self._max_rows = 0
        self._is_sparse = data.n_features > 0 and data.columns[0].rows != NULL
        if data.entry_start != NULL:
            self.view.place = <row_t*>workspace.take(data.n_samples, sizeof(row_t))
            memset(self.view.place, 0, data.n_samples * sizeof(row_t))
            self.view.term_of = <row_t*>workspace.take(data.n_features, sizeof(row_t))
            memset(self.view.term_of, 0, data.n_features * sizeof(row_t))
        if self._is_sparse:
            self._touched = <uint32_t*>workspace.take(data.n_features, sizeof(uint32_t))
            memset(self._touched, 0, data.n_features * sizeof(uint32_t))
            self.view.slot = <uint32_t*>workspace.take(data.n_features, sizeof(uint32_t))
            self.view.word_start = <uint32_t*>workspace.take(FEW_ENTRIES + 1, sizeof(uint32_t))
            self.view.words = <uint64_t*>workspace.take(FEW_ENTRIES, sizeof(uint64_t))
        if allowed and data.row_codes != NULL:
            self._max_rows = min(BLOCK_BYTES // data.row_bytes, data.n_samples // SPREAD)
        if self._max_rows > 0:
            self._codes = <uint8_t*>workspace.take(self._max_rows * data.row_bytes, 1)
            self._bits = <uint8_t*>workspace.take(data.row_bytes, 1)
            self._place = <row_t*>workspace.take(data.n_samples, sizeof(row_t))
            self._places = <row_t*>workspace.take(self._max_rows, sizeof(row_t))
        self.begin_tree()
        return 0

    cdef void begin_tree(self) noexcept nogil:
        self._start = 0
        self._end = 0

    cdef void _copy_rows(self, const row_t* rows, idx_t start, idx_t end) noexcept nogil:
        """Fill the block with rows[start:end]."""
        cdef idx_t row_bytes = self._data.row_bytes
        cdef idx_t p
        for p in range(end - start):
            self._place[rows[start + p]] = <row_t>(p * row_bytes)
        kernels().copy_codes(self._data.row_codes, row_bytes, rows + start, end - start,
                             self._codes, self._bits)
        self._start = start
        self._end = end

    cdef void _find_rows(self, const row_t* rows, idx_t n) noexcept nogil:
        """Note where the rows of a node of sparse data stand; if small, by column."""
        cdef idx_t p, n_entries = 0
        for p in range(n):
            self.view.place[rows[p]] = <row_t>p
            n_entries += view_entries(self._data, rows[p]).n
        self.view.touched = NULL
        if n_entries > FEW_ENTRIES:
            return
        self.view.touched = self._touched
        self.view.node += 1
        if self.view.node == 0:
            memset(self._touched, 0, self._data.n_features * sizeof(uint32_t))
            self.view.node = 1
        self._collect_columns(rows, n)

    cdef void _collect_columns(self, const row_t* rows, idx_t n) noexcept nogil:
        """Put the entries of a small node in the order of their columns, as these come up."""
        cdef const DataView* data = self._data
        cdef uint32_t* next_ = self.view.word_start + 1
        cdef uint32_t* slot = self.view.slot
        cdef uint32_t n_slots = 0, total = 0, count, k
        cdef RowEntries entries
        cdef idx_t p, e
        cdef feature_t j
        for p in range(n):
            entries = view_entries(data, rows[p])
            for e in range(entries.n):
                j = entries.feature[e]
                if self._touched[j] != self.view.node:
                    self._touched[j] = self.view.node
                    slot[j] = n_slots
                    next_[n_slots] = 0
                    n_slots += 1
                next_[slot[j]] += 1
        # From counts to where the next word of each column goes; in the end, where it ends.
        for k in range(n_slots):
            count = next_[k]
            next_[k] = total
            total += count
        self.view.word_start[0] = 0
        for p in range(n):
            entries = view_entries(data, rows[p])
            for e in range(entries.n):
                k = slot[entries.feature[e]]
                self.view.words[next_[k]] = make_word(entries.code[e], p)
                next_[k] += 1

    cdef void load_node(self, const row_t* rows, idx_t start, idx_t end) noexcept nogil:
        """Make `view` fit the node of rows[start:end]; nodes come in depth-first order."""
        cdef idx_t p
        if self._is_sparse:
            self._find_rows(rows + start, end - start)
        if self._max_rows == 0:
            return
        if end - start > self._max_rows:
            self.view.row_codes = self._data.row_codes
            self.view.row_bytes = self._data.row_bytes
            self.view.row_limit = self._data.row_limit
            self.view.row_places = NULL
            self.view.row_bits = NULL
            return
        if start < self._start or end > self._end:
            self._copy_rows(rows, start, end)
        for p in range(end - start):
            self._places[p] = self._place[rows[start + p]]
        self.view.row_codes = self._codes
        # Places count bytes: no multiplication for every rank that is read.
        self.view.row_bytes = 0
        self.view.row_limit = self._max_rows
        self.view.row_places = self._places
        self.view.row_bits = self._bits
