# One column of floats -> ranks of its distinct values.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from obtree.core.types cimport X_t, idx_t


cdef struct Encoding:
    uint32_t n_values         # distinct values without the missing one
    bint has_missing


# IN column (n); OUT codes (n), values (n_values <= n, ascending, NULL: not wanted);
# SCRATCH words, spare (n each). Returns how many distinct values there are.
cdef Encoding encode_column(const X_t* column, idx_t n, uint32_t* codes, X_t* values,
                            uint64_t* words, uint64_t* spare) noexcept nogil


# The smallest of 1, 2 and 4 bytes that holds every rank of the encoding.
cdef inline int code_width(Encoding encoding) noexcept nogil:
    cdef uint32_t n_codes = encoding.n_values + (1 if encoding.has_missing else 0)
    return 1 if n_codes <= 256 else (2 if n_codes <= 65536 else 4)


# Narrow n ranks to `width` bytes each.
cdef void pack_codes(const uint32_t* codes, idx_t n, int width, void* out) noexcept nogil

# How many of n ranks are above zero.
cdef idx_t count_above(const uint32_t* codes, idx_t n) noexcept nogil


cdef enum:
    N_BYTE_VALUES = 256


# A column of bytes. IN column (n); OUT the rank of each byte value that occurs, rank_of
# (N_BYTE_VALUES), and those values, ascending (room for N_BYTE_VALUES).
cdef Encoding rank_bytes(const uint8_t* column, idx_t n, uint8_t* rank_of,
                         X_t* values) noexcept nogil

# OUT codes (n) = rank_of[column]; returns how many are above zero.
cdef idx_t map_bytes(const uint8_t* column, idx_t n, const uint8_t* rank_of,
                     uint8_t* codes) noexcept nogil
