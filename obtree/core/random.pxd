# A 64-bit generator small enough to live inside another struct.
#
# xoshiro256** (Blackman and Vigna, 2018): four words of state, period 2^256 - 1.
# Every tree owns one, seeded from a hash of the tree's seed, so that the numbers
# it sees depend neither on threads nor on its neighbours.

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, uint64_t

from obtree.core.types cimport idx_t


cdef extern from *:
    """
    #include <stdint.h>
    /* High 64 bits of a 128-bit product, with a portable fallback. */
    static inline uint64_t obtree_mulhi64(uint64_t a, uint64_t b) {
    #if defined(__SIZEOF_INT128__)
        return (uint64_t)(((unsigned __int128)a * b) >> 64);
    #else
        uint64_t a_lo = (uint32_t)a, a_hi = a >> 32, b_lo = (uint32_t)b, b_hi = b >> 32;
        uint64_t low = a_lo * b_lo;
        uint64_t mid = a_hi * b_lo + (low >> 32);
        uint64_t mid2 = a_lo * b_hi + (uint32_t)mid;
        return a_hi * b_hi + (mid >> 32) + (mid2 >> 32);
    #endif
    }
    """
    uint64_t obtree_mulhi64(uint64_t a, uint64_t b) noexcept nogil


ctypedef fused item_t:
    int32_t
    Py_ssize_t


cdef struct RandState:
    uint64_t s0
    uint64_t s1
    uint64_t s2
    uint64_t s3


cdef inline uint64_t rotate_left(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline uint64_t next_word(RandState* rng) noexcept nogil:
    """The next 64 random bits."""
    cdef uint64_t result = rotate_left(rng.s1 * 5, 7) * 9
    cdef uint64_t t = rng.s1 << 17
    rng.s2 ^= rng.s0
    rng.s3 ^= rng.s1
    rng.s1 ^= rng.s2
    rng.s0 ^= rng.s3
    rng.s2 ^= t
    rng.s3 = rotate_left(rng.s3, 45)
    return result


cdef inline void seed_state(RandState* rng, uint64_t seed, uint64_t stream) noexcept nogil:
    """Fill the state by hashing (seed, stream) with splitmix64.

    Neighbouring seeds and streams give unrelated states: each word passes
    through two rounds of multiplication and shifting.
    """
    cdef uint64_t x = seed * <uint64_t>0xD1342543DE82EF95 + stream * <uint64_t>0xDA942042E4DD58B5
    cdef uint64_t words[4]
    cdef uint64_t z
    cdef int k
    for k in range(4):
        x += <uint64_t>0x9E3779B97F4A7C15
        z = x
        z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
        words[k] = z ^ (z >> 31)
    rng.s0 = words[0]
    rng.s1 = words[1]
    rng.s2 = words[2]
    rng.s3 = words[3] | 1      # never the all-zero state


cdef inline double uniform(RandState* rng) noexcept nogil:
    """A double in [0, 1) with 53 random bits."""
    return <double>(next_word(rng) >> 11) * (1.0 / 9007199254740992.0)


cdef inline idx_t bounded(RandState* rng, idx_t n) noexcept nogil:
    """An integer in [0, n), n >= 1, without modulo bias (Lemire, 2019)."""
    cdef uint64_t range_ = <uint64_t>n
    cdef uint64_t x = next_word(rng)
    cdef uint64_t low = x * range_
    cdef uint64_t floor_
    if low < range_:
        floor_ = (0 - range_) % range_
        while low < floor_:
            x = next_word(rng)
            low = x * range_
    return <idx_t>obtree_mulhi64(x, range_)


cdef inline double normal(RandState* rng) noexcept nogil:
    """A standard normal number (polar method; the second value is not kept)."""
    cdef double u, v, s
    while True:
        u = 2.0 * uniform(rng) - 1.0
        v = 2.0 * uniform(rng) - 1.0
        s = u * u + v * v
        if 0.0 < s < 1.0:
            return u * sqrt(-2.0 * log(s) / s)


cdef inline void swap_items(item_t* items, idx_t p, idx_t q) noexcept nogil:
    cdef item_t item = items[p]
    items[p] = items[q]
    items[q] = item


cdef inline void shuffle(item_t* items, idx_t n, RandState* rng) noexcept nogil:
    """Put n items in random order (Fisher and Yates)."""
    cdef idx_t p
    for p in range(n - 1, 0, -1):
        swap_items(items, p, bounded(rng, p + 1))


cdef inline void shuffle_pairs(item_t* items, double* values, idx_t n,
                               RandState* rng) noexcept nogil:
    """The same for items that each have a value."""
    cdef idx_t p, q
    cdef double value
    for p in range(n - 1, 0, -1):
        q = bounded(rng, p + 1)
        swap_items(items, p, q)
        value = values[p]
        values[p] = values[q]
        values[q] = value


cdef inline item_t draw_next(item_t* items, idx_t n_drawn, idx_t n,
                             RandState* rng) noexcept nogil:
    """Draw without replacement: items[n_drawn] becomes one of those from there on, n > n_drawn."""
    swap_items(items, n_drawn, n_drawn + bounded(rng, n - n_drawn))
    return items[n_drawn]


cdef inline bint draw_in_order(idx_t n_wanted, idx_t n_left, RandState* rng) noexcept nogil:
    """Whether the next of n_left items is one of the n_wanted that a sample still needs.

    Asked of one item after the other it draws without replacement, in their order (algorithm S
    of Knuth, 1969).
    """
    return bounded(rng, n_left) < n_wanted
