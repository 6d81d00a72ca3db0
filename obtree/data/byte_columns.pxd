# X of bytes, turned from rows to columns and from values to ranks.

from libc.stdint cimport uint8_t

from obtree.core.types cimport idx_t


# A rectangle of bytes: of row i and column j at x + i * row_stride + j * col_stride.
cdef struct ByteTable:
    const uint8_t* x
    idx_t n_rows
    idx_t row_stride
    idx_t col_stride


cdef enum:
    TILE = 64                 # rows and columns turned at a time: a cache line of bytes


# Columns [first, first + n_columns) one behind the other. OUT out (n_columns * n_rows).
cdef void lift_bytes(const ByteTable* table, idx_t first, idx_t n_columns,
                     uint8_t* out) noexcept nogil

# Ranks of rows [start, end) by rows. IN rank_of (n_columns * N_BYTE_VALUES), column by column;
# OUT out (n_rows * n_columns), of which the rows wanted are written.
cdef void lay_bytes(const ByteTable* table, idx_t n_columns, const uint8_t* rank_of,
                    idx_t start, idx_t end, uint8_t* out) noexcept nogil
