# Lossless encoding of a column as ranks of its distinct values.
#
# Whole numbers in a short range, the common case of counts, categories and pixels,
# are looked up in a table of the values present. Anything else is sorted once.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from obtree.core.sort cimport float_key, make_word, sort_words, word_key, word_position
from obtree.core.types cimport X_t, idx_t


cdef struct Encoding:
    uint32_t n_values         # distinct values without the missing one
    bint has_missing


# The smallest of 1, 2 and 4 bytes that holds every rank of the encoding.
cdef inline int code_width(Encoding encoding) noexcept nogil:
    cdef uint32_t n_codes = encoding.n_values + (1 if encoding.has_missing else 0)
    return 1 if n_codes <= 256 else (2 if n_codes <= 65536 else 4)


cdef enum:
    N_BYTE_VALUES = 256


# A table of this many 32-bit ranks stays in the second-level cache.
cdef enum:
    MAX_TABLE = 65536


# IN column (n); OUT codes (n), values (n_values <= n, ascending, NULL: not wanted);
# SCRATCH words, buffer (n each). Returns how many distinct values there are.
cdef inline Encoding encode_column(const X_t* column, idx_t n, uint32_t* codes, X_t* values,
                                   uint64_t* words, uint64_t* buffer) noexcept nogil:
    cdef Encoding result
    cdef X_t low = 0, high = 0, value
    cdef bint whole = True, any_present = False
    cdef idx_t p

    result.n_values = 0
    result.has_missing = False
    for p in range(n):
        value = column[p]
        if value != value:
            result.has_missing = True
            continue
        if not any_present:
            low = high = value
            any_present = True
        if value < low:
            low = value
        elif value > high:
            high = value
        # Beyond 2^24 a float32 may stand for several whole numbers; the sort below
        # handles those, and the test keeps the conversion to an integer defined.
        if whole and not (-16777216.0 <= value <= 16777216.0 and value == <X_t><int64_t>value):
            whole = False
    if not any_present:
        for p in range(n):
            codes[p] = 0
        return result
    # The table lives in `buffer`, which has room for 2 n ranks.
    if whole and high - low < MAX_TABLE and high - low < 2 * n:
        result.n_values = encode_whole(column, n, <int64_t>low, <int64_t>high,
                                       <uint32_t*>buffer, codes, values)
    else:
        result.n_values = encode_sorted(column, n, codes, values, words, buffer)
    return result


cdef inline uint32_t encode_whole(const X_t* column, idx_t n, int64_t low, int64_t high,
                                  uint32_t* rank_of, uint32_t* codes, X_t* values) noexcept nogil:
    """Ranks of whole numbers in [low, high] by table; missing gets the next rank."""
    cdef uint32_t n_values = 0
    cdef idx_t p, k, n_slots = <idx_t>(high - low) + 1
    memset(rank_of, 0, n_slots * sizeof(uint32_t))
    for p in range(n):
        if column[p] == column[p]:
            rank_of[<int64_t>column[p] - low] = 1
    for k in range(n_slots):
        if rank_of[k]:
            if values != NULL:
                values[n_values] = <X_t>(low + k)
            rank_of[k] = n_values
            n_values += 1
    for p in range(n):
        codes[p] = rank_of[<int64_t>column[p] - low] if column[p] == column[p] else n_values
    return n_values


cdef inline uint32_t encode_sorted(const X_t* column, idx_t n, uint32_t* codes, X_t* values,
                                   uint64_t* words, uint64_t* buffer) noexcept nogil:
    """Ranks by sorting; missing values sort behind every number."""
    cdef uint32_t n_values = 0, key, last = 0
    cdef bint first = True
    cdef idx_t p, position
    for p in range(n):
        key = float_key(column[p]) if column[p] == column[p] else <uint32_t>0xFFFFFFFF
        words[p] = make_word(key, p)
    sort_words(words, n, buffer)
    for p in range(n):
        position = word_position(words[p])
        key = word_key(words[p])
        if key == <uint32_t>0xFFFFFFFF:
            codes[position] = n_values
            continue
        if first or key != last:
            if values != NULL:
                values[n_values] = column[position] + <X_t>0.0
            n_values += 1
            first = False
            last = key
        codes[position] = n_values - 1
    return n_values


# Narrow n ranks to `width` bytes each.
cdef inline void pack_codes(const uint32_t* codes, idx_t n, int width, void* out) noexcept nogil:
    cdef idx_t p
    if width == 1:
        for p in range(n):
            (<uint8_t*>out)[p] = <uint8_t>codes[p]
    elif width == 2:
        for p in range(n):
            (<uint16_t*>out)[p] = <uint16_t>codes[p]
    else:
        memcpy(out, codes, n * sizeof(uint32_t))


# How many of n ranks are above zero.
cdef inline idx_t count_above(const uint32_t* codes, idx_t n) noexcept nogil:
    cdef idx_t p, total = 0
    for p in range(n):
        total += codes[p] != 0
    return total


# A column of bytes. IN column (n); OUT the rank of each byte value that occurs, rank_of
# (N_BYTE_VALUES), and those values, ascending (room for N_BYTE_VALUES).
cdef inline Encoding rank_bytes(const uint8_t* column, idx_t n, uint8_t* rank_of,
                                X_t* values) noexcept nogil:
    cdef Encoding result
    cdef uint64_t word
    cdef idx_t p = 0, k
    result.n_values = 0
    result.has_missing = False
    memset(rank_of, 0, N_BYTE_VALUES)
    # Most of a picture is empty: eight zeros take one look.
    while p + 8 <= n:
        memcpy(&word, column + p, 8)
        if word == 0:
            rank_of[0] = 1
        else:
            for k in range(8):
                rank_of[column[p + k]] = 1
        p += 8
    while p < n:
        rank_of[column[p]] = 1
        p += 1
    for k in range(N_BYTE_VALUES):
        if rank_of[k]:
            values[result.n_values] = <X_t>k
            rank_of[k] = <uint8_t>result.n_values
            result.n_values += 1
    return result


# OUT codes (n) = rank_of[column]; returns how many are above zero.
cdef inline idx_t map_bytes(const uint8_t* column, idx_t n, const uint8_t* rank_of,
                            uint8_t* codes) noexcept nogil:
    cdef idx_t p, n_above = 0
    for p in range(n):
        codes[p] = rank_of[column[p]]
    for p in range(n):
        n_above += codes[p] != 0
    return n_above
