# Data laid out once more, row after row.
#
# A small node of wide data reads a few scattered rows of many columns: a cache line each by
# columns, a few lines in all by rows (1.4 times faster on MNIST). Where most cells are zero, rows
# hold what is not: planes of many terms are projected at a cost that follows the non-zeros.

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from obtree.core.memory cimport Workspace
from obtree.core.sort cimport lower_bound
from obtree.core.team cimport check_signals, choose_threads, run_items
from obtree.core.types cimport X_t, feature_t, idx_t
from obtree.data.byte_columns cimport ByteTable, lay_bytes
from obtree.data.read cimport stored_code, stored_row

cdef enum:
    LAID_BYTES = 1048576      # of rows that a thread takes at a time
    CACHE_BYTES = 524288      # a typical second-level cache
    MANY_COLUMNS = 256        # from which data may be mostly zero
    CELLS_PER_NONZERO = 8
    SIGNAL_CELLS = 1 << 20    # that are laid out between two looks for signals

# Nanoseconds to copy or rank a byte; roughly, to choose the number of threads.
cdef double BYTE_WORK = 0.5


# ---- ranks ------------------------------------------------------------------------------


cdef struct RowContext:
    const DataView* view
    const ByteTable* bytes    # X of bytes; else NULL
    const uint8_t* rank_of
    uint8_t* rows
    idx_t block               # rows that a thread takes at a time


cdef int lay_ranks(DataView* view, Workspace memory, const ByteTable* bytes,
                   const uint8_t* rank_of, int n_threads, const volatile int* stop) except -1:
    """Lay the ranks of dense columns out by row (view.row_codes), when that is worth its memory.
    IN bytes: X, when it consists of bytes, and the ranks of its bytes (n_features *
    N_BYTE_VALUES); else NULL, both.
    """
    cdef idx_t n = view.n_samples
    cdef RowContext shared
    shared.rows = take_rows(view, memory)
    if shared.rows == NULL:
        return 0
    shared.view = view
    shared.bytes = bytes
    shared.rank_of = rank_of
    shared.block = max(LAID_BYTES // view.row_bytes // ROW_BLOCK, 1) * ROW_BLOCK
    n_threads = choose_threads(BYTE_WORK * n * view.row_bytes, n_threads)
    with nogil:
        run_items(lay_block, &shared, (n + shared.block - 1) // shared.block, n_threads, stop)
    return 0


cdef uint8_t* take_rows(DataView* view, Workspace memory) except? NULL:
    """Room for narrow ranks by row, when those do not fit the cache anyway, or NULL."""
    cdef ColumnView* columns = <ColumnView*>view.columns
    cdef idx_t n = view.n_samples
    cdef idx_t j, row_bytes = 0
    cdef uint8_t* rows
    for j in range(view.n_features):
        if columns[j].width == 4:
            return NULL
        columns[j].row_offset = row_bytes
        row_bytes += columns[j].width
    if n * row_bytes < 2 * CACHE_BYTES or view.n_features < 16:
        return NULL
    rows = <uint8_t*>memory.take(n * row_bytes, 1)
    view.row_codes = rows
    view.row_bytes = row_bytes
    # From about one row in each cache line of a column, columns are read faster.
    view.row_limit = n // 64
    return rows


cdef void lay_block(void* context, idx_t item, idx_t member, void* team) noexcept nogil:
    """Copy the ranks of some rows from all columns, a few rows at a time."""
    cdef const RowContext* shared = <const RowContext*>context
    cdef idx_t start = item * shared.block
    cdef idx_t end = min(start + shared.block, shared.view.n_samples)
    cdef idx_t here
    while start < end:
        here = min(start + ROW_BLOCK, end)
        if shared.bytes != NULL:
            lay_bytes(shared.bytes, shared.view.n_features, shared.rank_of, start, here,
                      shared.rows)
        else:
            lay_codes(shared.view, start, here, shared.rows)
        start = here


cdef void lay_codes(const DataView* view, idx_t start, idx_t end,
                    uint8_t* rows) noexcept nogil:
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


# ---- non-zeros --------------------------------------------------------------------------


cdef int lay_entries(DataView* view, Workspace memory) except -1:
    """Lay the non-zeros of all columns out by row (view.entry_start and those behind it).

    Those of categories are left out: splitters of planes, who read rows, know nothing of them.
    """
    cdef idx_t n = view.n_samples, n_numbers = view.n_features - view.n_categorical
    cdef int64_t* start = <int64_t*>memory.take(n + 1, sizeof(int64_t))
    cdef const ColumnView* column
    cdef feature_t* feature
    cdef uint32_t* codes
    cdef X_t* x
    cdef uint32_t code
    cdef idx_t i, j, k, zero, n_unseen = 0
    memset(start, 0, (n + 1) * sizeof(int64_t))
    for j in range(n_numbers):
        column = &view.columns[j]
        zero = find_zero(column.values, column.n_values)
        n_unseen = look_for_signals(n_unseen + column.n_stored)
        for k in range(column.n_stored):
            if is_entry(view, j, k, zero):
                start[stored_row(column, k)] += 1
    # From counts to where each row ends, and then, filling backwards, to where it starts.
    for i in range(n):
        n_unseen = look_for_signals(n_unseen + 1)
        start[i + 1] += start[i]
    feature = <feature_t*>memory.take(start[n], sizeof(feature_t))
    codes = <uint32_t*>memory.take(start[n], sizeof(uint32_t))
    x = <X_t*>memory.take(start[n], sizeof(X_t))
    for j in range(n_numbers - 1, -1, -1):
        column = &view.columns[j]
        zero = find_zero(column.values, column.n_values)
        n_unseen = look_for_signals(n_unseen + column.n_stored)
        for k in range(column.n_stored):
            if not is_entry(view, j, k, zero):
                continue
            code = stored_code(column, k)
            i = stored_row(column, k)
            start[i] -= 1
            feature[start[i]] = <feature_t>j
            codes[start[i]] = code
            if view.X != NULL:
                x[start[i]] = view.X[i * view.row_stride + j * view.col_stride]
            else:
                x[start[i]] = column.values[code] if code < column.n_values else <X_t>NAN
    view.entry_start = start
    view.entry_feature = feature
    view.entry_code = codes
    view.entry_x = x
    return 0


cdef inline idx_t look_for_signals(idx_t n_unseen) except -1:
    """Raise what a signal handler raises, now and then. Returns the cells since the last look."""
    if n_unseen < SIGNAL_CELLS:
        return n_unseen
    check_signals()
    return 0


cdef inline bint is_entry(const DataView* view, idx_t j, idx_t k, idx_t zero) noexcept nogil:
    """Whether cell k of a column is not zero; `zero` is its rank, as found by `find_zero`."""
    if view.columns[j].values == NULL:
        return view.X[k * view.row_stride + j * view.col_stride] != 0.0
    return <idx_t>stored_code(&view.columns[j], k) != zero


cdef bint is_mostly_zero(const DataView* view) noexcept nogil:
    """Whether nearly all cells are zero and there are many columns of that kind; the same for a
    dense array and for its sparse twin. The ranks of all columns are there. Categories do not
    count: which of them has number 0 is an accident of names.
    """
    cdef const ColumnView* column
    cdef idx_t n = view.n_samples, n_numbers = view.n_features - view.n_categorical
    cdef idx_t limit = n * n_numbers // CELLS_PER_NONZERO, j, k, zero, total = 0
    if n_numbers < MANY_COLUMNS:
        return False
    for j in range(n_numbers):
        column = &view.columns[j]
        zero = find_zero(column.values, column.n_values)
        if zero < 0 or column.n_values > n // 4:
            total += n
        elif column.rows == NULL and zero == 0:
            total += column.n_above
        else:
            for k in range(column.n_stored):
                total += stored_code(column, k) != <uint32_t>zero
        if total > limit:
            return False
    return True


cdef idx_t find_zero(const X_t* values, idx_t n) noexcept nogil:
    """The rank of zero among a column's values, -1 when it is none of them or they are not known.
    """
    cdef idx_t k
    if values == NULL:
        return -1
    k = lower_bound(values, n, <X_t>0.0)
    return k if k < n and values[k] == 0.0 else -1
