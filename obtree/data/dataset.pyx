"""Dataset: X encoded once, shared by all trees and threads.

Each column becomes ranks of its distinct values, in the narrowest of 1, 2 and 4
bytes, column after column. Finding the best cut of a column then means counting or
sorting small integers, and no tree ever compares two floats. The encoding loses
nothing: a rank and the value it stands for determine each other.

Sparse columns keep one rank for each stored entry, so that memory follows the number
of entries and not the number of cells.
"""

import numpy as np
from scipy import sparse

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.team cimport check_signals, choose_threads, run_items, should_stop
from obtree.core.types cimport X_t, idx_t, row_t
from obtree.data.byte_columns cimport TILE, ByteTable, lay_bytes, lift_bytes
from obtree.data.encode cimport (
    N_BYTE_VALUES,
    Encoding,
    code_width,
    count_above,
    encode_bytes,
    encode_column,
    pack_codes,
    rank_bytes,
)
from obtree.data.entries cimport is_hollow, lay_entries
from obtree.data.lift cimport CellTable, lift_columns, open_cells

from obtree.data.lift import LIFTED

cdef enum:
    CHUNK_BYTES = 16777216    # scratch for the columns encoded together
    ROW_BLOCK = 256           # rows that are laid out at a time
    LAID_BYTES = 1048576      # of rows that a thread takes at a time
    CACHE_BYTES = 524288      # a typical second-level cache
    PART_BYTES = 4096         # from which an array has a block of its own
    SIGNAL_ENTRIES = 1048576  # stored entries that are encoded between two looks for signals

# Nanoseconds to rank a cell, and to copy a byte; roughly, to choose the number of threads.
cdef double CELL_WORK = 10.0
cdef double BYTE_WORK = 0.5


cdef class Dataset:
    """Encoded, read-only copy of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or scipy sparse CSR/CSC
        Validated input: real numbers, NaN for missing, no infinities. Values are
        rounded to float32.
    n_threads : int, default=1
        Threads used for encoding.
    keep_rows : bool or "wide", default=False
        Whether the splitter needs to read rows of X as float32, not only ranks. "wide":
        unless X consists of bytes, whose ranks are as quickly read.
    """

    def __cinit__(self):
        self._columns = NULL
        self._part = NULL
        self._part_bytes = 0
        self._stop = NULL
        self._memory = Workspace()

    def __init__(self, X, *, int n_threads=1, keep_rows=False):
        cdef idx_t n_samples = X.shape[0]
        cdef idx_t n_features = X.shape[1]
        self._columns = <ColumnView*>self._memory.take(n_features, sizeof(ColumnView))
        memset(self._columns, 0, n_features * sizeof(ColumnView))
        self.view.n_samples = n_samples
        self.view.n_features = n_features
        self.view.columns = self._columns
        self.view.X = NULL
        self.view.row_codes = NULL
        self.view.row_limit = 0
        self.view.row_places = NULL
        self.view.row_bits = NULL
        self.view.entry_start = NULL
        self.view.entry_feature = NULL
        self.view.entry_code = NULL
        self.view.entry_x = NULL
        self.view.place = NULL
        self.view.touched = NULL
        self.view.node = 0
        self.view.term_of = NULL
        self.is_sparse = sparse.issparse(X)
        if self.is_sparse:
            self._encode_sparse(X.tocsc())
            self.view.is_hollow = is_hollow(&self.view)
            lay_entries(self)
            return
        if keep_rows == "wide":
            keep_rows = X.dtype.itemsize > 1
        if keep_rows and X.dtype != np.float32:
            X = X.astype(np.float32)
        if X.dtype == np.bool_:
            X = X.view(np.uint8)
        if X.dtype == np.float32:
            self._keep_rows(X)
        if X.dtype == np.uint8:
            self._encode_bytes(X, n_threads)
        else:
            # Wide integers and unusual floats go through float64.
            self._encode_dense(X if X.dtype in LIFTED else X.astype(np.float64), n_threads)
        self.view.is_hollow = is_hollow(&self.view)
        if self.view.is_hollow and keep_rows:
            lay_entries(self)
        if not keep_rows and self._every_column_has_values():
            self._X = None
            self.view.X = NULL

    @property
    def n_samples(self):
        return self.view.n_samples

    @property
    def n_features(self):
        return self.view.n_features

    @property
    def n_bytes(self):
        """Memory of the encoding, without X itself."""
        return self._memory.n_bytes

    def column(self, idx_t j):
        """Ranks of column j (dense), its distinct values or None, for inspection."""
        if not 0 <= j < self.view.n_features:
            raise IndexError(f"column {j} of {self.view.n_features}")
        cdef idx_t i
        codes = np.empty(self.view.n_samples, dtype=np.uint32)
        rows = np.arange(self.view.n_samples, dtype=np.int32)
        cdef uint32_t[::1] codes_view = codes
        cdef const int32_t[::1] rows_view = rows
        cdef uint32_t low, high
        if self.view.n_samples:
            gather_codes(&self.view, j, &rows_view[0], self.view.n_samples, &codes_view[0],
                         &low, &high)
        values = None
        if self._columns[j].values != NULL:
            values = np.array([self._columns[j].values[i]
                               for i in range(self._columns[j].n_values)], dtype=np.float32)
        return codes, values

    cdef bint _every_column_has_values(self) noexcept:
        cdef idx_t j
        for j in range(self.view.n_features):
            if self._columns[j].values == NULL:
                return False
        return True

    def _keep_rows(self, X):
        cdef const X_t[:, :] cells = X
        self._X = X
        self.view.row_stride = X.strides[0] // X.itemsize
        self.view.col_stride = X.strides[1] // X.itemsize
        if X.size:
            self.view.X = &cells[0, 0]

    def _encode_bytes(self, const uint8_t[:, :] X, int n_threads):
        """The same for X of bytes: a table of 256 ranks a column, and no floats."""
        cdef idx_t n = self.view.n_samples
        cdef idx_t n_features = self.view.n_features
        cdef Workspace scratch = Workspace()
        cdef ByteTable table
        cdef EncodingJob job
        cdef idx_t j
        table.x = &X[0, 0] if X.size else NULL
        table.n_rows = n
        table.row_stride = X.strides[0]
        table.col_stride = X.strides[1]
        job.bytes = &table
        job.view = &self.view
        job.columns = self._columns
        job.rank_of = <uint8_t*>scratch.take(n_features * N_BYTE_VALUES, 1)
        job.values = <X_t*>scratch.take(n_features * N_BYTE_VALUES, sizeof(X_t))
        job.codes = <uint8_t*>self._memory.take(n_features * n, 1)
        n_threads = choose_threads(BYTE_WORK * n * n_features, n_threads)
        with nogil:
            run_items(encode_strip, &job, (n_features + TILE - 1) // TILE, n_threads, self._stop)
        for j in range(n_features):
            keep_values(self, j, job.values + j * N_BYTE_VALUES)
        self._lay_rows(&job, n_threads)

    def _encode_dense(self, X, int n_threads):
        """Encode a few columns at a time: lift them out of X, rank them, pack them."""
        cdef idx_t n = self.view.n_samples
        cdef idx_t n_features = self.view.n_features
        cdef Workspace scratch = Workspace()
        cdef CellTable table
        cdef EncodingJob job
        cdef idx_t k, strip
        n_threads = choose_threads(CELL_WORK * n * n_features, min(n_threads, n_features))
        # Threads share the scratch; but columns next to each other are in one cache line of X.
        strip = min(64, CHUNK_BYTES // (12 * n_threads * max(n, 1)))
        strip = min(max(strip, 1), (n_features + n_threads - 1) // n_threads)
        open_cells(X, &table)
        job.bytes = NULL
        job.cells = &table
        job.view = &self.view
        job.columns = self._columns
        job.dataset = <void*>self
        job.strip = strip
        job.failed = 0
        job.scratch = <StripScratch*>scratch.take(n_threads, sizeof(StripScratch))
        for k in range(n_threads):
            job.scratch[k].cells = <X_t*>scratch.take(strip * n, sizeof(X_t))
            job.scratch[k].values = <X_t*>scratch.take(strip * n, sizeof(X_t))
            job.scratch[k].codes = <uint32_t*>scratch.take(strip * n, sizeof(uint32_t))
            job.scratch[k].words = <uint64_t*>scratch.take(2 * n, sizeof(uint64_t))
            job.scratch[k].found = <Encoding*>scratch.take(strip, sizeof(Encoding))
        with nogil:
            run_items(encode_columns, &job, (n_features + strip - 1) // strip, n_threads,
                      self._stop)
        if job.failed:
            raise MemoryError(f"no room for the ranks of {n} rows of {n_features} features")
        self._lay_rows(&job, n_threads)

    cdef int _lay_rows(self, void* job, int n_threads) except -1:
        """Copy the ranks of the columns to rows, if that is wanted."""
        cdef idx_t n = self.view.n_samples
        cdef EncodingJob* encoding = <EncodingJob*>job
        encoding.rows = take_rows(self)
        if encoding.rows == NULL:
            return 0
        encoding.block = max(LAID_BYTES // self.view.row_bytes // ROW_BLOCK, 1) * ROW_BLOCK
        n_threads = choose_threads(BYTE_WORK * n * self.view.row_bytes, n_threads)
        with nogil:
            run_items(lay_block, job, (n + encoding.block - 1) // encoding.block, n_threads,
                      self._stop)
        return 0

    cdef int _reserve(self, idx_t j, idx_t n, Encoding encoding, const X_t* values) except -1:
        """Make room for the n ranks of column j and keep its distinct values.

        Values that are nearly all distinct are not stored twice: X, which is at
        hand as float32, gives them back.
        """
        cdef ColumnView* column = &self._columns[j]
        column.width = code_width(encoding)
        column.codes = take_part(self, n, column.width)
        column.n_values = encoding.n_values
        column.has_missing = encoding.has_missing
        if self.view.X == NULL or encoding.n_values <= n // 4:
            keep_values(self, j, values)
        return 0

    def _encode_sparse(self, X):
        """Encode a CSC matrix whose entries are float32 and sorted by row."""
        cdef const X_t[::1] data = X.data
        cdef const int32_t[::1] indices = np.asarray(X.indices, dtype=np.int32)
        cdef const int64_t[::1] indptr = np.asarray(X.indptr, dtype=np.int64)
        cdef idx_t n_samples = self.view.n_samples
        cdef idx_t longest = int(np.diff(X.indptr).max(initial=0)) + 1
        cdef idx_t j, k, n_stored, n_cells, n_unseen = 0
        cdef Encoding encoding
        cdef row_t* rows
        scratch = Workspace()
        cdef X_t* cells = <X_t*>(<Workspace>scratch).take(longest, sizeof(X_t))
        cdef X_t* values = <X_t*>(<Workspace>scratch).take(longest, sizeof(X_t))
        cdef uint32_t* codes = <uint32_t*>(<Workspace>scratch).take(longest, sizeof(uint32_t))
        cdef uint64_t* words = <uint64_t*>(<Workspace>scratch).take(longest, sizeof(uint64_t))
        cdef uint64_t* spare = <uint64_t*>(<Workspace>scratch).take(longest, sizeof(uint64_t))
        for j in range(self.view.n_features):
            n_stored = indptr[j + 1] - indptr[j]
            n_unseen += n_stored + 64
            if n_unseen > SIGNAL_ENTRIES:
                n_unseen = 0
                check_signals()
            rows = <row_t*>take_part(self, n_stored, sizeof(row_t))
            for k in range(n_stored):
                cells[k] = data[indptr[j] + k]
                rows[k] = indices[indptr[j] + k]
            # An extra cell stands for the zeros that are not stored.
            cells[n_stored] = 0.0
            n_cells = n_stored + (1 if n_stored < n_samples else 0)
            encoding = encode_column(cells, n_cells, codes, values, words, spare)
            self._reserve(j, n_stored, encoding, values)
            pack_codes(codes, n_stored, self._columns[j].width, <void*>self._columns[j].codes)
            self._columns[j].rows = rows
            self._columns[j].n_stored = n_stored
            self._columns[j].zero_code = codes[n_stored]
            if n_stored == n_samples:
                # Where every row has an entry zeros may be among them, or have no rank.
                self._columns[j].zero_code = <uint32_t>0xFFFFFFFF
                for k in range(self._columns[j].n_values):
                    if values[k] == 0.0:
                        self._columns[j].zero_code = <uint32_t>k


cdef void* take_part(Dataset dataset, size_t n_items, size_t item_size) except NULL:
    """Room that lives as long as the Dataset; a million short columns share a few blocks."""
    cdef size_t n_bytes = (n_items * item_size + 7) // 8 * 8
    cdef void* part
    if n_bytes >= PART_BYTES:
        return dataset._memory.take(n_items, item_size)
    if dataset._part == NULL or n_bytes > dataset._part_bytes:
        dataset._part = <char*>dataset._memory.take(64 * PART_BYTES, 1)
        dataset._part_bytes = 64 * PART_BYTES
    part = dataset._part
    dataset._part += n_bytes
    dataset._part_bytes -= n_bytes
    return part


cdef int keep_values(Dataset dataset, idx_t j, const X_t* values) except -1:
    cdef ColumnView* column = &dataset._columns[j]
    cdef X_t* kept = <X_t*>take_part(dataset, column.n_values, sizeof(X_t))
    memcpy(kept, values, column.n_values * sizeof(X_t))
    column.values = kept
    return 0


cdef uint8_t* take_rows(Dataset dataset) except? NULL:
    """Room for narrow ranks row by row, when they do not fit the cache anyway, or NULL.

    A small node reads a few scattered rows of many columns: a cache line each by
    columns, a few lines in all by rows (1.4 times faster on MNIST).
    """
    cdef idx_t n = dataset.view.n_samples
    cdef idx_t j, row_bytes = 0
    cdef uint8_t* rows
    for j in range(dataset.view.n_features):
        if dataset._columns[j].width == 4:
            return NULL
        dataset._columns[j].row_offset = row_bytes
        row_bytes += dataset._columns[j].width
    if n * row_bytes < 2 * CACHE_BYTES or dataset.view.n_features < 16:
        return NULL
    rows = <uint8_t*>dataset._memory.take(n * row_bytes, 1)
    dataset.view.row_codes = rows
    dataset.view.row_bytes = row_bytes
    # From about one row in each cache line of a column, columns are read faster.
    dataset.view.row_limit = n // 64
    return rows


cdef struct StripScratch:
    # Of one thread, for the columns that it encodes together.
    X_t* cells                # (strip * n)
    X_t* values               # (strip * n)
    uint32_t* codes           # (strip * n)
    uint64_t* words           # (2 * n)
    Encoding* found           # (strip)


cdef struct EncodingJob:
    const DataView* view
    ColumnView* columns
    # X of bytes; else NULL.
    const ByteTable* bytes
    uint8_t* rank_of          # (n_features * N_BYTE_VALUES)
    X_t* values               # (n_features * N_BYTE_VALUES)
    uint8_t* codes            # (n_features * n)
    # X of anything else.
    const CellTable* cells
    void* dataset             # the Dataset, borrowed
    idx_t strip               # columns encoded together
    StripScratch* scratch     # one a thread
    volatile int failed       # there was no memory
    # The ranks once more, by rows.
    uint8_t* rows
    idx_t block               # rows laid out together


cdef void encode_strip(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """A tile of columns of bytes: lift them out of X, rank them where they are."""
    cdef const EncodingJob* job = <const EncodingJob*>context
    cdef idx_t n = job.view.n_samples
    cdef idx_t first = item * TILE
    cdef idx_t end = min(first + TILE, job.view.n_features)
    cdef ColumnView* column
    cdef uint8_t* own
    cdef Encoding found
    cdef idx_t j
    lift_bytes(job.bytes, first, end - first, job.codes + first * n)
    for j in range(first, end):
        if should_stop(team, member):
            return
        own = job.codes + j * n
        column = &job.columns[j]
        found = rank_bytes(own, n, job.rank_of + j * N_BYTE_VALUES,
                           job.values + j * N_BYTE_VALUES)
        column.width = 1
        column.codes = own
        column.n_values = found.n_values
        column.n_above = encode_bytes(own, n, job.rank_of + j * N_BYTE_VALUES, own)


cdef void encode_columns(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """A strip of columns: lift them out of X, rank them, pack them."""
    cdef EncodingJob* job = <EncodingJob*>context
    cdef StripScratch* own = &job.scratch[member]
    cdef idx_t n = job.view.n_samples
    cdef idx_t first = item * job.strip
    cdef idx_t n_here = min(job.strip, job.view.n_features - first)
    cdef ColumnView* column
    cdef idx_t c
    if job.failed:
        return
    lift_columns(job.cells, first, n_here, own.cells)
    for c in range(n_here):
        if should_stop(team, member):
            return
        own.found[c] = encode_column(own.cells + c * n, n, own.codes + c * n, own.values + c * n,
                                     own.words, own.words + n)
    if not reserve_strip(job, own, first, n_here):
        job.failed = 1
        return
    for c in range(n_here):
        column = &job.columns[first + c]
        pack_codes(own.codes + c * n, n, column.width, <void*>column.codes)
        column.n_above = count_above(own.codes + c * n, n)


cdef bint reserve_strip(const EncodingJob* job, const StripScratch* own, idx_t first,
                        idx_t n_columns) noexcept with gil:
    """Room for a strip of columns; the GIL keeps other threads out. False: no memory."""
    cdef Dataset dataset = <Dataset>job.dataset
    cdef idx_t n = job.view.n_samples
    cdef idx_t c
    try:
        for c in range(n_columns):
            dataset._reserve(first + c, n, own.found[c], own.values + c * n)
    except MemoryError:
        return False
    return True


cdef void lay_block(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """Copy the ranks of some rows from all columns, a few rows at a time."""
    cdef const EncodingJob* job = <const EncodingJob*>context
    cdef idx_t start = item * job.block
    cdef idx_t end = min(start + job.block, job.view.n_samples)
    cdef idx_t here
    while start < end:
        here = min(start + ROW_BLOCK, end)
        if job.bytes != NULL:
            lay_bytes(job.bytes, job.view.n_features, job.rank_of, start, here, job.rows)
        else:
            lay_codes(job.view, start, here, job.rows)
        start = here


cdef void lay_codes(const DataView* view, idx_t start, idx_t end,
                    uint8_t* rows) noexcept nogil:
    """Copy the ranks of some rows from all columns."""
    cdef const ColumnView* column
    cdef idx_t i, j, row_bytes = view.row_bytes
    for j in range(view.n_features):
        column = &view.columns[j]
        if column.width == 1:
            for i in range(start, end):
                rows[i * row_bytes + column.row_offset] = (<const uint8_t*>column.codes)[i]
        else:
            for i in range(start, end):
                memcpy(rows + i * row_bytes + column.row_offset,
                       <const uint16_t*>column.codes + i, 2)


cdef idx_t lower_bound(const row_t* rows, idx_t n, row_t row) noexcept nogil:
    """How many of the ascending rows are smaller than `row`."""
    cdef idx_t start = 0, middle
    while n > start:
        middle = (start + n) // 2
        if rows[middle] < row:
            start = middle + 1
        else:
            n = middle
    return start


cdef void gather_codes(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                       uint32_t* out, uint32_t* low, uint32_t* high) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    if n <= view.row_limit:
        kernels().gather_strided(view.row_codes + column.row_offset, column.width,
                                 view.row_bytes, find_places(view, rows), n, out, low, high)
    elif column.rows == NULL:
        kernels().gather_codes(column.codes, column.width, rows, n, out, low, high)
    else:
        gather_stored(column, rows, n, out, low, high)


cdef idx_t gather_above(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                        uint64_t* words, uint32_t* bits) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    if n <= view.row_limit:
        return kernels().gather_above(view.row_codes + column.row_offset, column.width,
                                      view.row_bytes, find_places(view, rows), n, words, bits)
    return kernels().gather_above(column.codes, column.width, column.width, rows, n, words,
                                  bits)


cdef void gather_stored(const ColumnView* column, const row_t* rows, idx_t n, uint32_t* out,
                        uint32_t* low, uint32_t* high) noexcept nogil:
    """Sparse column: zero everywhere, then the entries that fall into the node.

    Both lists of rows ascend. Each entry is looked up among the node's rows or each
    row among the entries, whichever is fewer, always from where the last one ended.
    """
    cdef idx_t begin = lower_bound(column.rows, column.n_stored, rows[0])
    cdef idx_t end = begin + lower_bound(column.rows + begin, column.n_stored - begin,
                                         rows[n - 1] + 1)
    cdef idx_t n_found = 0, p = 0, k = begin
    cdef uint32_t code
    low[0] = <uint32_t>0xFFFFFFFF
    high[0] = 0
    for p in range(n):
        out[p] = column.zero_code
    p = 0
    while p < n and k < end:
        if end - begin <= n:
            p += lower_bound(rows + p, n - p, column.rows[k])
            if p == n:
                break
            if rows[p] != column.rows[k]:
                k += 1
                continue
        else:
            k += lower_bound(column.rows + k, end - k, rows[p])
            if k == end:
                break
            if rows[p] != column.rows[k]:
                p += 1
                continue
        code = stored_code(column, k)
        out[p] = code
        low[0] = min(low[0], code)
        high[0] = max(high[0], code)
        n_found += 1
        p += 1
        k += 1
    if n_found < n:
        low[0] = min(low[0], column.zero_code)
        high[0] = max(high[0], column.zero_code)


cdef X_t read_value(const DataView* view, row_t row, idx_t j) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    cdef uint32_t code
    cdef idx_t k
    if view.X != NULL:
        return view.X[row * view.row_stride + j * view.col_stride]
    if column.rows == NULL:
        code = stored_code(column, row)
    else:
        k = lower_bound(column.rows, column.n_stored, row)
        if k < column.n_stored and column.rows[k] == row:
            code = stored_code(column, k)
        else:
            code = column.zero_code
    return column.values[code] if code < column.n_values else <X_t>NAN


cdef X_t find_value(const DataView* view, idx_t j, uint32_t code,
                    const row_t* rows, idx_t n) noexcept nogil:
    cdef const ColumnView* column = &view.columns[j]
    cdef idx_t p
    if column.values != NULL:
        return column.values[code]
    for p in range(n):
        if stored_code(column, rows[p]) == code:
            return view.X[rows[p] * view.row_stride + j * view.col_stride] + <X_t>0.0
    return <X_t>NAN
