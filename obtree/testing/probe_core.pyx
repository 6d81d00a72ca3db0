"""Wrappers of kernels, sorting and random numbers, so that tests and benchmarks can call them
alone.

Every function takes and returns NumPy arrays, holds the GIL and checks what it is
given only as far as a careless test could otherwise crash.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from obtree.core cimport random
from obtree.core.dispatch cimport kernels
from obtree.core.random cimport RandState
from obtree.core.sort cimport float_key
from obtree.core.types cimport idx_t, w_t
from obtree.forest cimport grow


def gather_column(codes, rows):
    """(codes[rows], smallest, largest) by the kernel for the width of `codes`."""
    codes = np.ascontiguousarray(codes)
    cdef const uint8_t[::1] cells = codes.view(np.uint8)
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint32_t[::1] out = np.empty(len(rows), dtype=np.uint32)
    cdef uint32_t low, high
    kernels().gather_codes(&cells[0], codes.itemsize, codes.itemsize, &at[0], at.shape[0],
                           &out[0], &low, &high)
    return np.asarray(out), low, high


def gather_bytes(table, idx_t offset, int32_t width, rows):
    """The same from rows of a 2-D table of bytes, where ranks begin at `offset`."""
    cdef const uint8_t[:, ::1] cells = table
    cdef const int32_t[::1] at = np.ascontiguousarray(rows, dtype=np.int32)
    cdef uint32_t[::1] out = np.empty(len(rows), dtype=np.uint32)
    cdef uint32_t low, high
    if offset + width > cells.shape[1]:
        raise IndexError(f"{width} bytes at {offset} of {cells.shape[1]}")
    kernels().gather_codes(&cells[0, offset], width, cells.shape[1], &at[0], at.shape[0],
                           &out[0], &low, &high)
    return np.asarray(out), low, high


def gather_above(table, int32_t width, rows, placed=False):
    """(words of the rows whose rank is not zero, bits of their ranks), from rows of bytes.

    `placed`: the kernel is told where the rows begin instead of their numbers.
    """
    cdef const uint8_t[:, ::1] cells = table
    cdef const int32_t[::1] at = rows * np.int32(table.shape[1]) if placed else rows
    cdef uint64_t[::1] words = np.empty(len(rows), dtype=np.uint64)
    cdef uint32_t bits
    n_words = kernels().gather_above(&cells[0, 0], width, 0 if placed else cells.shape[1],
                                     &at[0], at.shape[0], &words[0], &bits)
    return np.asarray(words)[:n_words], bits


def sort_codes(codes):
    """Words (code - smallest, position), sorted."""
    cdef const uint32_t[::1] keys = np.ascontiguousarray(codes, dtype=np.uint32)
    cdef uint64_t[::1] words = np.empty(len(codes), dtype=np.uint64)
    cdef uint64_t[::1] buffer = np.empty(len(codes), dtype=np.uint64)
    kernels().sort_codes(&keys[0], keys.shape[0], np.min(codes), np.max(codes), &words[0],
                         &buffer[0])
    return np.asarray(words)


def sort_words(words, uint32_t high=0xFFFFFFFF):
    """A sorted copy; no upper half exceeds `high`."""
    cdef uint64_t[::1] result = np.array(words, dtype=np.uint64)
    cdef uint64_t[::1] buffer = np.empty(len(words), dtype=np.uint64)
    kernels().sort_words(&result[0], result.shape[0], high, &buffer[0])
    return np.asarray(result)


def split_rows(codes, uint32_t cut, rows):
    """(rows with codes up to `cut` in front, how many)."""
    codes = np.ascontiguousarray(codes)
    cdef const uint8_t[::1] cells = codes.view(np.uint8)
    cdef int32_t[::1] result = np.array(rows, dtype=np.int32)
    cdef int32_t[::1] buffer = np.empty(len(rows), dtype=np.int32)
    n_left = kernels().split_rows(&cells[0], codes.itemsize, codes.itemsize, cut, &result[0],
                                  &result[0], result.shape[0], &buffer[0])
    return np.asarray(result), n_left


def make_float_keys(values):
    """Unsigned integers that sort as the float32 values do."""
    return np.array([float_key(<float>value) for value in values], dtype=np.uint32)


cdef class Generator:
    """The random numbers of one stream."""

    cdef RandState _state

    def __init__(self, seed, stream=0):
        random.seed_state(&self._state, <uint64_t>seed, <uint64_t>stream)

    @property
    def state(self):
        return self._state.s0, self._state.s1, self._state.s2, self._state.s3

    def words(self, idx_t n):
        """n times `next_word`."""
        return np.array([random.next_word(&self._state) for _ in range(n)], dtype=np.uint64)

    def uniform(self, idx_t n):
        return np.array([random.uniform(&self._state) for _ in range(n)])

    def bounded(self, idx_t limit, idx_t n):
        return np.array([random.bounded(&self._state, limit) for _ in range(n)])

    def normal(self, idx_t n):
        return np.array([random.normal(&self._state) for _ in range(n)])

    def shuffle(self, items):
        """int32 items in random order."""
        cdef int32_t[::1] order = np.array(items, dtype=np.int32)
        random.shuffle(&order[0], order.shape[0], &self._state)
        return np.asarray(order)

    def shuffle_pairs(self, items, values):
        """The same for items of which each has a value."""
        cdef int32_t[::1] order = np.array(items, dtype=np.int32)
        cdef double[::1] beside = np.array(values, dtype=np.float64)
        random.shuffle_pairs(&order[0], &beside[0], order.shape[0], &self._state)
        return np.asarray(order), np.asarray(beside)

    def draw(self, idx_t n_wanted, idx_t n, in_order=False):
        """Some of n numbers without replacement, by `draw_next` or by `draw_in_order`."""
        cdef int32_t[::1] items = np.arange(n, dtype=np.int32)
        cdef idx_t k, n_left = n_wanted
        if not in_order:
            return [random.draw_next(&items[0], k, n, &self._state) for k in range(n_wanted)]
        drawn = []
        for k in range(n):
            if random.draw_in_order(n_left, n - k, &self._state):
                drawn.append(k)
                n_left -= 1
        return drawn


def draw_bootstrap(uint64_t seed, idx_t n_samples, idx_t n_draws, bint replace=True):
    """How often each row was drawn, as the weights a tree sees."""
    out = np.empty(n_samples)
    cdef w_t[::1] weight = out
    grow.draw_bootstrap(seed, n_samples, n_draws, replace, &weight[0])
    return out


def balance_classes(codes, idx_t n_classes, drawn):
    """Weights that make the classes drawn weigh the same."""
    cdef const int32_t[:, ::1] y = codes
    cdef const w_t[::1] counts = drawn
    cdef w_t[::1] scratch = np.empty(n_classes)
    out = np.array(drawn, dtype=np.float64)
    cdef w_t[::1] weight = out
    grow.balance_classes(&y[0, 0], y.shape[0], y.shape[1], n_classes, &counts[0],
                         &scratch[0], &weight[0])
    return out
