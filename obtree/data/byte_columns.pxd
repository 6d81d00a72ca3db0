# X of bytes, turned from rows to columns and from values to ranks.
#
# Pictures come as bytes, row by row, while trees want columns. Byte by byte, every one that is
# written falls on another cache line; so squares of 64 x 64 are turned in the first-level
# cache, eight words of eight bytes at a time, and whole lines are written.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from obtree.core.types cimport idx_t
from obtree.data.encode cimport N_BYTE_VALUES


# A rectangle of bytes: of row i and column j at x + i * row_stride + j * col_stride.
cdef struct ByteTable:
    const uint8_t* x
    idx_t n_rows
    idx_t row_stride
    idx_t col_stride


cdef enum:
    TILE = 64                 # rows and columns turned at a time: a cache line of bytes


cdef inline void swap_halves(uint64_t* upper, uint64_t* lower, int shift,
                             uint64_t mask) noexcept nogil:
    """Exchange the high parts of one word with the low parts of another."""
    cdef uint64_t change = ((upper[0] >> shift) ^ lower[0]) & mask
    upper[0] ^= change << shift
    lower[0] ^= change


cdef inline uint64_t read_word(const uint8_t* bytes) noexcept nogil:
    """Eight bytes, the first one lowest, on any machine."""
    return (
        <uint64_t>bytes[0] | <uint64_t>bytes[1] << 8
        | <uint64_t>bytes[2] << 16 | <uint64_t>bytes[3] << 24
        | <uint64_t>bytes[4] << 32 | <uint64_t>bytes[5] << 40
        | <uint64_t>bytes[6] << 48 | <uint64_t>bytes[7] << 56
    )


cdef inline void write_word(uint64_t word, uint8_t* bytes) noexcept nogil:
    cdef int k
    for k in range(8):
        bytes[k] = <uint8_t>(word >> 8 * k)


cdef inline void turn_tile(const uint8_t* tile, uint8_t* turned) noexcept nogil:
    """turned[j, i] = tile[i, j], both of TILE x TILE bytes."""
    cdef uint64_t word[8]
    cdef idx_t i, j, k
    for i in range(0, <idx_t>TILE, 8):
        for j in range(0, <idx_t>TILE, 8):
            for k in range(8):
                word[k] = read_word(tile + (i + k) * TILE + j)
            for k in range(4):
                swap_halves(&word[k], &word[k + 4], 32, <uint64_t>0x00000000FFFFFFFF)
            for k in range(0, 8, 4):
                swap_halves(&word[k], &word[k + 2], 16, <uint64_t>0x0000FFFF0000FFFF)
                swap_halves(&word[k + 1], &word[k + 3], 16, <uint64_t>0x0000FFFF0000FFFF)
            for k in range(0, 8, 2):
                swap_halves(&word[k], &word[k + 1], 8, <uint64_t>0x00FF00FF00FF00FF)
            for k in range(8):
                write_word(word[k], turned + (j + k) * TILE + i)


cdef inline void load_tile(const ByteTable* table, idx_t start, idx_t n_rows, idx_t first,
                           idx_t n_columns, uint8_t* tile) noexcept nogil:
    cdef const uint8_t* row
    cdef idx_t i, j
    for i in range(n_rows):
        row = table.x + (start + i) * table.row_stride + first * table.col_stride
        if table.col_stride == 1:
            memcpy(tile + i * TILE, row, n_columns)
        else:
            for j in range(n_columns):
                tile[i * TILE + j] = row[j * table.col_stride]


# Columns [first, first + n_columns) one behind the other. OUT out (n_columns * n_rows).
cdef inline void extract_bytes(const ByteTable* table, idx_t first, idx_t n_columns,
                               uint8_t* out) noexcept nogil:
    cdef uint8_t tile[TILE * TILE]
    cdef uint8_t turned[TILE * TILE]
    cdef idx_t n = table.n_rows
    cdef idx_t start = 0, c = 0, j, n_rows, width
    while c < n_columns:
        width = min(<idx_t>TILE, n_columns - c)
        start = 0
        while start < n:
            n_rows = min(<idx_t>TILE, n - start)
            load_tile(table, start, n_rows, first + c, width, tile)
            turn_tile(tile, turned)
            for j in range(width):
                memcpy(out + (c + j) * n + start, turned + j * TILE, n_rows)
            start += TILE
        c += TILE


# Ranks of rows [start, end) by rows. IN rank_of (n_columns * N_BYTE_VALUES), column by column;
# OUT out (n_rows * n_columns), of which the rows wanted are written.
cdef inline void lay_bytes(const ByteTable* table, idx_t n_columns, const uint8_t* rank_of,
                           idx_t start, idx_t end, uint8_t* out) noexcept nogil:
    cdef const uint8_t* row
    cdef const uint8_t* ranks
    cdef uint8_t* line
    cdef idx_t i, c = 0, j, width
    for i in range(start, end):
        row = table.x + i * table.row_stride
        line = out + i * n_columns
        if table.col_stride == 1:
            memcpy(line, row, n_columns)
        else:
            for j in range(n_columns):
                line[j] = row[j * table.col_stride]
    # A few columns at a time: their ranks stay in the first-level cache.
    while c < n_columns:
        width = min(<idx_t>TILE, n_columns - c)
        ranks = rank_of + c * N_BYTE_VALUES
        for i in range(start, end):
            line = out + i * n_columns + c
            for j in range(width):
                line[j] = ranks[j * N_BYTE_VALUES + line[j]]
        c += TILE
