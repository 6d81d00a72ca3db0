# All columns of X turned to ranks, by threads.
#
# Dense columns are copied out of X a strip at a time, ranked and packed. Bytes are ranked by a
# table of 256 ranks a column. Sparse columns keep one rank for each stored entry, so that memory
# follows the number of entries and not the number of cells.
#
# IN/OUT view, everywhere: sizes and columns (all zeros) are there, and X when the values of
# columns may be left there; memory: of what lives as long as the view. Once `stop` becomes
# non-zero (NULL: there is none) functions return soon, with ranks of no use. They may raise.

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.memory cimport Workspace
from obtree.core.team cimport check_signals, choose_threads, run_items, should_stop
from obtree.core.types cimport X_t, idx_t, row_t
from obtree.data.byte_columns cimport TILE, ByteTable, extract_bytes
from obtree.data.encode cimport (
    N_BYTE_VALUES, Encoding, code_width, count_above, encode_column, map_bytes, pack_codes,
    rank_bytes,
)

cdef enum:
    CHUNK_BYTES = 16777216    # scratch for the columns encoded together
    SIGNAL_ENTRIES = 1048576  # stored entries that are encoded between two looks for signals

# Nanoseconds to rank a cell; roughly, to choose the number of threads.
cdef double CELL_WORK = 10.0


# ---- one column -------------------------------------------------------------------------


cdef int keep_values(ColumnView* column, const X_t* values, Workspace memory) except -1:
    cdef X_t* kept = <X_t*>memory.take_part(column.n_values, sizeof(X_t))
    memcpy(kept, values, column.n_values * sizeof(X_t))
    column.values = kept
    return 0


cdef int reserve_column(const DataView* view, ColumnView* column, idx_t n, Encoding encoding,
                        const X_t* values, Workspace memory) except -1:
    """Make room for the n ranks of a column and keep its distinct values.

    Values that are nearly all distinct are not stored twice: X, which is at
    hand as float32, gives them back.
    """
    column.width = code_width(encoding)
    column.codes = memory.take_part(n, column.width)
    column.n_stored = n
    column.n_values = encoding.n_values
    column.has_missing = encoding.has_missing
    if view.X == NULL or encoding.n_values <= n // 4:
        keep_values(column, values, memory)
    return 0


# ---- bytes ------------------------------------------------------------------------------


cdef struct ByteContext:
    const DataView* view
    ColumnView* columns
    const ByteTable* table
    uint8_t* rank_of          # (n_features * N_BYTE_VALUES)
    X_t* values               # (n_features * N_BYTE_VALUES)
    uint8_t* codes            # (n_features * n)


cdef int encode_bytes(object X, DataView* view, Workspace memory, int n_threads,
                      const volatile int* stop) except -1:
    """X : ndarray of uint8, without any floats."""
    cdef const uint8_t[:, :] cells = X
    cdef idx_t n = view.n_samples
    cdef idx_t n_features = view.n_features
    cdef Workspace scratch = Workspace()
    cdef ByteTable table
    cdef ByteContext shared
    cdef idx_t j
    table.x = &cells[0, 0] if X.size else NULL
    table.n_rows = n
    table.row_stride = X.strides[0]
    table.col_stride = X.strides[1]
    shared.view = view
    shared.columns = <ColumnView*>view.columns
    shared.table = &table
    shared.rank_of = <uint8_t*>scratch.take(n_features * N_BYTE_VALUES, 1)
    shared.values = <X_t*>scratch.take(n_features * N_BYTE_VALUES, sizeof(X_t))
    shared.codes = <uint8_t*>memory.take(n_features * n, 1)
    n_threads = choose_threads(BYTE_WORK * n * n_features, n_threads)
    with nogil:
        run_items(encode_tile, &shared, (n_features + TILE - 1) // TILE, n_threads, stop)
    for j in range(n_features):
        keep_values(&shared.columns[j], shared.values + j * N_BYTE_VALUES, memory)
    return lay_ranks(view, memory, &table, shared.rank_of, n_threads, stop)


cdef void encode_tile(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """A tile of columns of bytes: copy them out of X, rank them where they are."""
    cdef const ByteContext* shared = <const ByteContext*>context
    cdef idx_t n = shared.view.n_samples
    cdef idx_t first = item * TILE
    cdef idx_t end = min(first + TILE, shared.view.n_features)
    cdef ColumnView* column
    cdef uint8_t* own
    cdef Encoding found
    cdef idx_t j
    extract_bytes(shared.table, first, end - first, shared.codes + first * n)
    for j in range(first, end):
        if should_stop(team, member):
            return
        own = shared.codes + j * n
        column = &shared.columns[j]
        found = rank_bytes(own, n, shared.rank_of + j * N_BYTE_VALUES,
                           shared.values + j * N_BYTE_VALUES)
        column.width = 1
        column.codes = own
        column.n_stored = n
        column.n_values = found.n_values
        column.n_above = map_bytes(own, n, shared.rank_of + j * N_BYTE_VALUES, own)


# ---- dense ------------------------------------------------------------------------------


cdef struct StripScratch:
    # Of one thread, for the columns that it encodes together.
    X_t* cells                # (strip * n)
    X_t* values               # (strip * n)
    uint32_t* codes           # (strip * n)
    uint64_t* words           # (2 * n)
    Encoding* found           # (strip)


cdef struct DenseContext:
    const DataView* view
    ColumnView* columns
    const CellTable* cells
    void* memory              # the Workspace, borrowed
    idx_t strip               # columns encoded together
    StripScratch* scratch     # one a thread
    volatile int failed       # there was no memory


cdef int encode_dense(object X, DataView* view, Workspace memory, int n_threads,
                      const volatile int* stop) except -1:
    """X : ndarray of a type in NATIVE_TYPES (extract.pxi). Ranks are laid out by row as well, where
    that pays.
    """
    cdef idx_t n = view.n_samples
    cdef idx_t n_features = view.n_features
    cdef Workspace scratch = Workspace()
    cdef CellTable table
    cdef DenseContext shared
    cdef idx_t k, strip
    n_threads = choose_threads(CELL_WORK * n * n_features, min(n_threads, n_features))
    # Threads share the scratch; but columns next to each other are in one cache line of X.
    strip = min(64, CHUNK_BYTES // (12 * n_threads * max(n, 1)))
    strip = min(max(strip, 1), (n_features + n_threads - 1) // n_threads)
    open_cells(X, &table)
    shared.view = view
    shared.columns = <ColumnView*>view.columns
    shared.cells = &table
    shared.memory = <void*>memory
    shared.strip = strip
    shared.failed = 0
    shared.scratch = <StripScratch*>scratch.take(n_threads, sizeof(StripScratch))
    for k in range(n_threads):
        shared.scratch[k].cells = <X_t*>scratch.take(strip * n, sizeof(X_t))
        shared.scratch[k].values = <X_t*>scratch.take(strip * n, sizeof(X_t))
        shared.scratch[k].codes = <uint32_t*>scratch.take(strip * n, sizeof(uint32_t))
        shared.scratch[k].words = <uint64_t*>scratch.take(2 * n, sizeof(uint64_t))
        shared.scratch[k].found = <Encoding*>scratch.take(strip, sizeof(Encoding))
    with nogil:
        run_items(encode_strip, &shared, (n_features + strip - 1) // strip, n_threads, stop)
    if shared.failed:
        raise MemoryError(f"no room for the ranks of {n} rows of {n_features} features")
    return lay_ranks(view, memory, NULL, NULL, n_threads, stop)


cdef void encode_strip(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """A strip of columns: copy them out of X, rank them, pack them."""
    cdef DenseContext* shared = <DenseContext*>context
    cdef StripScratch* own = &shared.scratch[member]
    cdef idx_t n = shared.view.n_samples
    cdef idx_t first = item * shared.strip
    cdef idx_t n_here = min(shared.strip, shared.view.n_features - first)
    cdef ColumnView* column
    cdef idx_t c
    if shared.failed:
        return
    extract_columns(shared.cells, first, n_here, own.cells)
    for c in range(n_here):
        if should_stop(team, member):
            return
        own.found[c] = encode_column(own.cells + c * n, n, own.codes + c * n, own.values + c * n,
                                     own.words, own.words + n)
    if not reserve_strip(shared, own, first, n_here):
        shared.failed = 1
        return
    for c in range(n_here):
        column = &shared.columns[first + c]
        pack_codes(own.codes + c * n, n, column.width, <void*>column.codes)
        column.n_above = count_above(own.codes + c * n, n)


cdef bint reserve_strip(const DenseContext* shared, const StripScratch* own, idx_t first,
                        idx_t n_columns) noexcept with gil:
    """Room for a strip of columns; the GIL keeps other threads out. False: no memory."""
    cdef idx_t n = shared.view.n_samples
    cdef idx_t c
    try:
        for c in range(n_columns):
            reserve_column(shared.view, &shared.columns[first + c], n, own.found[c],
                           own.values + c * n, <Workspace>shared.memory)
    except MemoryError:
        return False
    return True


# ---- sparse -----------------------------------------------------------------------------


cdef int encode_sparse(object X, DataView* view, Workspace memory) except -1:
    """X : CSC matrix of float32, entries sorted by row."""
    cdef const X_t[::1] data = X.data
    cdef const int32_t[::1] indices = np.asarray(X.indices, dtype=np.int32)
    cdef const int64_t[::1] indptr = np.asarray(X.indptr, dtype=np.int64)
    cdef idx_t longest = int(np.diff(X.indptr).max(initial=0)) + 1
    cdef idx_t j, k, n_stored, n_cells, n_unseen = 0
    cdef ColumnView* column
    cdef Encoding encoding
    cdef row_t* rows
    cdef Workspace scratch = Workspace()
    cdef X_t* cells = <X_t*>scratch.take(longest, sizeof(X_t))
    cdef X_t* values = <X_t*>scratch.take(longest, sizeof(X_t))
    cdef uint32_t* codes = <uint32_t*>scratch.take(longest, sizeof(uint32_t))
    cdef uint64_t* words = <uint64_t*>scratch.take(longest, sizeof(uint64_t))
    cdef uint64_t* buffer = <uint64_t*>scratch.take(longest, sizeof(uint64_t))
    for j in range(view.n_features):
        column = <ColumnView*>&view.columns[j]
        n_stored = indptr[j + 1] - indptr[j]
        n_unseen += n_stored + 64
        if n_unseen > SIGNAL_ENTRIES:
            n_unseen = 0
            check_signals()
        rows = <row_t*>memory.take_part(n_stored, sizeof(row_t))
        for k in range(n_stored):
            cells[k] = data[indptr[j] + k]
            rows[k] = indices[indptr[j] + k]
        # An extra cell stands for the zeros that are not stored.
        cells[n_stored] = 0.0
        n_cells = n_stored + (1 if n_stored < view.n_samples else 0)
        encoding = encode_column(cells, n_cells, codes, values, words, buffer)
        reserve_column(view, column, n_stored, encoding, values, memory)
        pack_codes(codes, n_stored, column.width, <void*>column.codes)
        column.rows = rows
        # Where every row has an entry zeros may be among them, or have no rank: none is -1.
        column.zero_code = <uint32_t>find_zero(values, column.n_values)
    return 0
