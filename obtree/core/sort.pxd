# Sorting (key, position) words: key in the upper 32 bits, position in the lower.
#
# Equal keys stand in the order of their positions, always: two exact sorters with
# different tie orders would grow different trees.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.types cimport idx_t

ctypedef fused sorted_t:
    int32_t
    float


cdef inline idx_t lower_bound(const sorted_t* items, idx_t n, sorted_t item) noexcept nogil:
    """How many of n ascending items are smaller than `item`."""
    cdef idx_t start = 0, middle
    while start < n:
        middle = (start + n) // 2
        if items[middle] < item:
            start = middle + 1
        else:
            n = middle
    return start


cdef inline uint32_t word_key(uint64_t word) noexcept nogil:
    return <uint32_t>(word >> 32)


cdef inline idx_t word_position(uint64_t word) noexcept nogil:
    return <idx_t>(word & <uint64_t>0xFFFFFFFF)


cdef inline uint64_t make_word(uint32_t key, idx_t position) noexcept nogil:
    return (<uint64_t>key << 32) | <uint64_t>position


cdef inline uint32_t float_key(float value) noexcept nogil:
    """An unsigned integer that sorts as `value` does (-0.0 as 0.0; no NaN)."""
    cdef uint32_t bits
    value = value + <float>0.0
    memcpy(&bits, &value, sizeof(bits))
    return ~bits if bits >> 31 else bits | <uint32_t>0x80000000


# IN codes (n); OUT words (n) as (code - low, position), sorted; SCRATCH buffer (n).
cdef void sort_codes(const uint32_t* codes, idx_t n, uint32_t low, uint32_t high,
                     uint64_t* words, uint64_t* buffer) noexcept nogil

# IN/OUT words (n): those with the largest key, which stand last, come first and get key 0,
# that of the smallest value. A cut between the two groups would divide the same rows as one
# judged before, between the largest key and all others. SCRATCH buffer (n).
cdef void rotate_last(uint64_t* words, idx_t n, uint64_t* buffer) noexcept nogil

# IN/OUT words (n), positions of equal keys ascending; SCRATCH buffer (n).
cdef void sort_words(uint64_t* words, idx_t n, uint64_t* buffer) noexcept nogil

# The same for keys of at most `high`, in fewer steps when that is small.
cdef void sort_words_below(uint64_t* words, idx_t n, uint32_t high,
                           uint64_t* buffer) noexcept nogil
