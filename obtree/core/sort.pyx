"""Sorting small integers with their positions, by the kernels in use."""

from libc.stdint cimport uint32_t, uint64_t

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t


cdef void sort_codes(const uint32_t* codes, idx_t n, uint32_t low, uint32_t high,
                     uint64_t* words, uint64_t* spare) noexcept nogil:
    kernels().sort_codes(codes, n, low, high, words, spare)


cdef void sort_words(uint64_t* words, idx_t n, uint64_t* spare) noexcept nogil:
    kernels().sort_words(words, n, spare)
