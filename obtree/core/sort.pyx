"""Sorting small integers with their positions, by the kernels in use."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from obtree.core.dispatch cimport kernels
from obtree.core.types cimport idx_t


cdef void sort_codes(const uint32_t* codes, idx_t n, uint32_t low, uint32_t high,
                     uint64_t* words, uint64_t* spare) noexcept nogil:
    kernels().sort_codes(codes, n, low, high, words, spare)


cdef void sort_words(uint64_t* words, idx_t n, uint64_t* spare) noexcept nogil:
    kernels().sort_words(words, n, <uint32_t>0xFFFFFFFF, spare)


cdef void sort_words_below(uint64_t* words, idx_t n, uint32_t high,
                           uint64_t* spare) noexcept nogil:
    kernels().sort_words(words, n, high, spare)


cdef void rotate_last(uint64_t* words, idx_t n, uint64_t* spare) noexcept nogil:
    cdef uint32_t key = word_key(words[n - 1])
    cdef idx_t n_last = 0
    while n_last < n and word_key(words[n - 1 - n_last]) == key:
        spare[n_last] = make_word(0, word_position(words[n - 1 - n_last]))
        n_last += 1
    memcpy(spare + n_last, words, (n - n_last) * sizeof(uint64_t))
    memcpy(words, spare, n * sizeof(uint64_t))
