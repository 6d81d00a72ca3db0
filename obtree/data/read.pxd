# Reading X: the only code that knows in what form a Dataset keeps it.
#
#     values   read_column                one feature of some rows
#              read_rows, read_columns    several features, by row or by column
#              read_value, find_value     one cell; what a rank stands for
#     ranks    view_ranks                 where those of a dense column lie
#              gather_codes, gather_above, gather_entries    copies of them
#              column_varies, column_lacks_value, find_complete    what a node may want to know
#     zeros    view_entries               what is not zero in a row
#     all      stored_row, stored_code    cell after cell of a column, zeros left out if sparse
#
# A reader is called once for a column and the rows of a node; whatever depends on how the
# column is kept is decided before its loop.

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.types cimport X_t, feature_t, idx_t, row_t
from obtree.data.dataset cimport ColumnView, DataView


cdef struct RankColumn:
    # Ranks of the current node's rows, where they lie: the rank of row p is found at
    # rows[p] * stride bytes from codes, at rows[p] bytes when stride is 0, or is the 32-bit
    # codes[p] when rows is NULL.
    const void* codes
    int32_t width             # bytes of a rank: 1, 2 or 4
    idx_t stride
    const row_t* rows
    uint32_t low              # no rank is smaller
    # Set by Criterion.count_pair: the ranks stand in bins already, from this bin on; -1 otherwise.
    idx_t first_bin


cdef struct RowEntries:
    # What is not zero in a row of data with many zeros.
    idx_t n
    const feature_t* feature  # (n) ascending
    const uint32_t* code      # (n) ranks
    const X_t* x              # (n) values, NaN when missing


# ---- where things lie -------------------------------------------------------------------


cdef inline row_t stored_row(const ColumnView* column, idx_t k) noexcept nogil:
    """The row of cell k of a column, of which there are n_stored."""
    return <row_t>k if column.rows == NULL else column.rows[k]


cdef inline uint32_t stored_code(const ColumnView* column, idx_t k) noexcept nogil:
    """Rank number k of a column: of row k (dense) or of entry k (sparse)."""
    if column.width == 1:
        return (<const uint8_t*>column.codes)[k]
    if column.width == 2:
        return (<const uint16_t*>column.codes)[k]
    return (<const uint32_t*>column.codes)[k]


cdef inline bint has_byte_ranks(const ColumnView* column) noexcept nogil:
    """Whether a column is dense, with one byte a rank, nothing missing and values of its own."""
    return (column.rows == NULL and column.width == 1 and column.values != NULL
            and not column.has_missing)


cdef inline void view_ranks(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                            bint of_node, RankColumn* out) noexcept nogil:
    """Where the ranks of a dense column lie for some rows.

    IN of_node: whether these are all rows of the current node; such can be read from its block.
    """
    cdef const ColumnView* column = &view.columns[j]
    out.width = column.width
    out.rows = rows
    out.low = 0
    out.first_bin = -1
    if n <= view.row_limit and (of_node or view.row_places == NULL):
        if view.row_places != NULL:
            out.rows = view.row_places
        out.codes = view.row_codes + column.row_offset
        out.stride = view.row_bytes
    else:
        out.codes = column.codes
        out.stride = column.width


cdef inline const uint8_t* view_row_ranks(const DataView* view, row_t row) noexcept nogil:
    """The ranks of a row, that of a column at its row_offset; NULL when they are not kept so."""
    if view.row_codes == NULL or view.row_places != NULL:
        return NULL
    return view.row_codes + row * view.row_bytes


cdef inline idx_t rank_key(const RankColumn* column, idx_t p) noexcept nogil:
    """Rank of the node's row p, counted from `low`."""
    cdef const char* at = <const char*>column.codes
    cdef uint16_t pair
    if column.rows == NULL:
        return (<const uint32_t*>at)[p] - column.low
    at += column.rows[p] * column.stride if column.stride else column.rows[p]
    if column.width == 1:
        return (<const uint8_t*>at)[0] - column.low
    if column.width == 2:
        memcpy(&pair, at, sizeof(pair))      # may stand at an odd address
        return pair - column.low
    return (<const uint32_t*>at)[0] - column.low


cdef inline bint is_known_constant(const DataView* view, idx_t j) noexcept nogil:
    """Whether a dense column is known to have rank 0 in all rows of the current node."""
    cdef const ColumnView* column = &view.columns[j]
    if view.row_bits == NULL:
        return False
    if column.width == 2 and view.row_bits[column.row_offset + 1]:
        return False
    return view.row_bits[column.row_offset] == 0


cdef inline idx_t count_entries(const DataView* view) noexcept nogil:
    """How many cells are not zero, of data that have them by row."""
    return view.entry_start[view.n_samples]


cdef inline RowEntries view_entries(const DataView* view, row_t row) noexcept nogil:
    """What is not zero in a row, of data that have that by row."""
    cdef RowEntries entries
    cdef idx_t start = view.entry_start[row]
    entries.n = view.entry_start[row + 1] - start
    entries.feature = view.entry_feature + start
    entries.code = view.entry_code + start
    entries.x = view.entry_x + start
    return entries


# ---- ranks ------------------------------------------------------------------------------


# IN rows (n): all rows of the current node, ascending, or any when there is no block of them.
# OUT ranks (n), the smallest and the largest of them.
cdef void gather_codes(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                       uint32_t* out, uint32_t* low, uint32_t* high) noexcept nogil

# The same for a dense column's rows whose rank is not zero only: OUT words (room for n)
# rank << 32 | place among `rows`, in order, and all bits of their ranks. Returns how many.
cdef idx_t gather_above(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                        uint64_t* words, uint32_t* bits) noexcept nogil

# The same for a sparse column's rows that are not zero. IN rows (n): all rows of the current node.
cdef idx_t gather_entries(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                          uint64_t* words, uint32_t* bits) noexcept nogil

# Whether column j has two different values, or a missing one besides others, in the current node.
# SCRATCH words (n).
cdef bint column_varies(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                        uint64_t* words) noexcept nogil

# Whether a row of the current node lacks column j. SCRATCH codes (n).
cdef bint column_lacks_value(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                             uint32_t* codes) noexcept nogil

# OUT out (n_features): the features, ascending, that no row of the node lacks. Returns how
# many. SCRATCH codes (n).
cdef idx_t find_complete(const DataView* view, const row_t* rows, idx_t n, uint32_t* codes,
                         feature_t* out) noexcept nogil


# ---- values -----------------------------------------------------------------------------


# OUT out (n): column j of some ascending rows, NaN when missing.
cdef void read_column(const DataView* view, idx_t j, const row_t* rows, idx_t n,
                      X_t* out) noexcept nogil

# OUT out[p * n_features + k]: feature k of the list in row p of the ascending rows.
cdef void read_rows(const DataView* view, const row_t* rows, idx_t n, const feature_t* features,
                    idx_t n_features, X_t* out) noexcept nogil

# The same by columns: out[k * n + p].
cdef void read_columns(const DataView* view, const row_t* rows, idx_t n,
                       const feature_t* features, idx_t n_features, X_t* out) noexcept nogil

# X[row, j], NaN when missing.
cdef X_t read_value(const DataView* view, row_t row, idx_t j) noexcept nogil

# The value that rank `code` of column j stands for. `rows` (n) must contain a row with it; all
# rows when NULL.
cdef X_t find_value(const DataView* view, idx_t j, uint32_t code,
                    const row_t* rows, idx_t n) noexcept nogil


# ---- many features of sparse rows -------------------------------------------------------


# Number the features of a list in view.term_of, from 1; False when there is no scratch for it or
# no entries by row. To be cleared after use.
cdef bint mark_terms(const DataView* view, const feature_t* feature, idx_t n_terms) noexcept nogil
cdef void clear_terms(const DataView* view, const feature_t* feature,
                      idx_t n_terms) noexcept nogil
