# Exact sorting of float64 scores by way of small integers.
#
# Scores become keys by an affine map of their range onto a range of integers, just wide
# enough for the number of scores: a few passes of a radix sort, and the few neighbours that
# share a key are then put in order by the scores themselves. The keys of scores times a power
# of two are the same keys.
#
# Where many share a key, as everything does next to an outlier, they are spread over keys of
# their own and sorted again.

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t

from obtree.core.dispatch cimport kernels
from obtree.core.sort cimport make_word, sort_codes, sort_words, word_key, word_position
from obtree.core.types cimport idx_t


cdef enum:
    SHORT_RUN = 24            # scores that an insertion sort puts in order
    FEW = 64                  # sort_codes counts pairs, of up to 25 bits
    MANY = 2048               # sort_codes takes digits of 11 bits instead of 8


cdef inline uint32_t choose_top(idx_t n) noexcept nogil:
    """The largest key: one bit more, for NaN, fills whole digits of `sort_codes`."""
    if n <= FEW:
        return (<uint32_t>1 << 25) - 2
    return ((<uint32_t>1 << 16) if n < MANY else (<uint32_t>1 << 22)) - 2


# The smallest and the largest score that is not NaN; returns how many are NaN.
cdef inline idx_t find_range(const double* score, idx_t n, double* low,
                             double* high) noexcept nogil:
    return kernels().score_range(score, n, low, high)


# OUT words (n), sorted by score: equal scores have equal keys and stand in the order of
# their positions, different ones have different keys; NaN has the largest key and stands
# last. OUT n_missing, the number of NaN. SCRATCH keys, buffer (n). Returns False, with
# nothing in `words`, when all scores are equal or all are NaN, or when the scores span more
# than float64 can hold.
cdef inline bint sort_scores(const double* score, idx_t n, uint32_t* keys, uint64_t* words,
                             uint64_t* buffer, idx_t* n_missing) noexcept nogil:
    cdef double low, high
    cdef uint32_t top = choose_top(n)
    cdef idx_t p
    n_missing[0] = find_range(score, n, &low, &high)
    if n_missing[0] == n or (low == high and n_missing[0] == 0) or high - low == INFINITY:
        return False
    kernels().score_keys(score, n, low, choose_scale(top, high - low), keys)
    if n_missing[0] == 0:
        sort_codes(keys, n, 0, top, words, buffer)
    else:
        for p in range(n):
            if score[p] != score[p]:
                keys[p] = top + 1
        sort_codes(keys, n, 0, top + 1, words, buffer)
    if sort_ties(score, words, n - n_missing[0], buffer):
        number_keys(score, words, n)
    return True


cdef inline double choose_scale(uint32_t top, double span) noexcept nogil:
    """What maps `span` onto the largest key; 0 when there is nothing to tell apart."""
    cdef double scale = <double>top / span if span > 0.0 else 0.0
    return scale if scale != INFINITY else 0.0


cdef inline bint sort_ties(const double* score, uint64_t* words, idx_t n,
                           uint64_t* buffer) noexcept nogil:
    """Put different scores that share a key in order; whether there were any."""
    cdef idx_t start = 0, end
    cdef double first
    cdef bint found = False, differ
    while start < n:
        end = start + 1
        if end < n and word_key(words[start]) == word_key(words[end]):
            first = score[word_position(words[start])]
            differ = False
            while end < n and word_key(words[start]) == word_key(words[end]):
                differ |= score[word_position(words[end])] != first
                end += 1
            if differ:
                found = True
                sort_run(score, words + start, end - start, buffer)
        start = end
    return found


cdef inline void sort_run(const double* score, uint64_t* words, idx_t n,
                          uint64_t* buffer) noexcept nogil:
    """Sort words by score; equal ones keep their order. The keys are then meaningless."""
    cdef double low = INFINITY, high = -INFINITY, s, scale
    cdef uint64_t word
    cdef idx_t i, k
    for i in range(n):
        s = score[word_position(words[i])]
        low = min(low, s)
        high = max(high, s)
    scale = choose_scale(<uint32_t>0xFFFFFFFF, high - low)
    if n <= SHORT_RUN or scale == 0.0:
        for i in range(1, n):
            word = words[i]
            s = score[word_position(word)]
            k = i
            while k > 0 and score[word_position(words[k - 1])] > s:
                words[k] = words[k - 1]
                k -= 1
            words[k] = word
        return
    for i in range(n):
        k = word_position(words[i])
        words[i] = make_word(<uint32_t>((score[k] - low) * scale), k)
    sort_words(words, n, buffer)
    # The lowest and the highest have different keys now: each run is shorter than this one.
    sort_ties(score, words, n, buffer)


cdef inline void number_keys(const double* score, uint64_t* words, idx_t n) noexcept nogil:
    """Make the key of a score the number of smaller ones; all NaN share the last number."""
    cdef idx_t i, p = word_position(words[0])
    cdef uint32_t key = 0
    cdef double last = score[p]
    words[0] = make_word(0, p)
    for i in range(1, n):
        p = word_position(words[i])
        if score[p] != last and last == last:
            key += 1
            last = score[p]
        words[i] = make_word(key, p)
