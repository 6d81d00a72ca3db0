"""Sorting small integers with their positions, by the kernels in use."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t


cdef void sort_codes(const uint32_t* codes, idx_t n, uint32_t low, uint32_t high,
                     uint64_t* words, uint64_t* buffer) noexcept nogil:
    kernels().sort_codes(codes, n, low, high, words, buffer)


cdef void sort_words(uint64_t* words, idx_t n, uint64_t* buffer) noexcept nogil:
    kernels().sort_words(words, n, <uint32_t>0xFFFFFFFF, buffer)


cdef void sort_words_below(uint64_t* words, idx_t n, uint32_t high,
                           uint64_t* buffer) noexcept nogil:
    kernels().sort_words(words, n, high, buffer)


cdef void rotate_last(uint64_t* words, idx_t n, uint64_t* buffer) noexcept nogil:
    cdef uint32_t key = word_key(words[n - 1])
    cdef idx_t n_last = 0
    while n_last < n and word_key(words[n - 1 - n_last]) == key:
        buffer[n_last] = make_word(0, word_position(words[n - 1 - n_last]))
        n_last += 1
    memcpy(buffer + n_last, words, (n - n_last) * sizeof(uint64_t))
    memcpy(words, buffer, n * sizeof(uint64_t))
