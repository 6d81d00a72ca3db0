/* Sorting (key, position) words: key in the upper 32 bits, position in the lower.
 *
 * The order is always that of the whole word, so equal keys stand in the order of
 * their positions whichever way was taken: ties are part of what makes a tree the
 * same tree everywhere.
 */

enum {
    OBTREE_RANK_LIMIT = 64,    /* up to so many rows, count the smaller ones */
    OBTREE_RANK_BITS = 6,      /* a position among them */
    OBTREE_RANK_SPAN = 1 << (31 - OBTREE_RANK_BITS), /* keys that leave room for it */
    OBTREE_WIDE_DIGIT = 2048,  /* rows from which 11-bit digits pay */
    OBTREE_MAX_DIGITS = 1 << 11
};

static uint64_t make_word(uint32_t key, ptrdiff_t position)
{
    return ((uint64_t)key << 32) | (uint64_t)position;
}

/* A key that tells rows of equal rank apart by their position. */
static int32_t rank_key(uint32_t key, ptrdiff_t position)
{
    return (int32_t)((key << OBTREE_RANK_BITS) | (uint32_t)position);
}

/* Few rows: the place of a row is the number of rows before it. Quadratic, but the
 * inner loop is one vector comparison for several rows and never mispredicts.
 * `keys` has room for OBTREE_RANK_LIMIT. */
static void find_ranks(int32_t *keys, ptrdiff_t n, int32_t *rank)
{
    const ptrdiff_t n_padded = (n + 7) & ~(ptrdiff_t)7;
    for (ptrdiff_t p = n; p < n_padded; ++p) {
        keys[p] = INT32_MAX;
    }
    for (ptrdiff_t p = 0; p < n; ++p) {
        const int32_t key = keys[p];
        const vec8i wanted = {key, key, key, key, key, key, key, key};
        vec8i below = {0}, some;
        for (ptrdiff_t q = 0; q < n_padded; q += 8) {
            OBTREE_LOAD(some, keys + q);
            OBTREE_COUNT_BELOW8(below, some, wanted);
        }
        rank[p] = 0;
        for (int lane = 0; lane < 8; ++lane) {
            rank[p] += OBTREE_LANE(below, lane);
        }
    }
}

static void rank_sort(const uint32_t *codes, ptrdiff_t n, uint32_t low, uint64_t *words)
{
    int32_t keys[OBTREE_RANK_LIMIT], rank[OBTREE_RANK_LIMIT];
    for (ptrdiff_t p = 0; p < n; ++p) {
        keys[p] = rank_key(codes[p] - low, p);
    }
    find_ranks(keys, n, rank);
    for (ptrdiff_t p = 0; p < n; ++p) {
        words[rank[p]] = make_word(codes[p] - low, p);
    }
}

/* Turn counts into the places where each digit's run begins. */
static void place_digits(uint32_t *count, uint32_t n_digits)
{
    uint32_t total = 0;
    for (uint32_t d = 0; d < n_digits; ++d) {
        const uint32_t here = count[d];
        count[d] = total;
        total += here;
    }
}

/* One stable pass over the digit (key >> shift) & mask; `shift` counts from the key's
 * lowest bit. */
static void radix_pass(const uint64_t *from, uint64_t *to, ptrdiff_t n, int shift, uint32_t mask)
{
    uint32_t count[OBTREE_MAX_DIGITS];
    memset(count, 0, ((size_t)mask + 1) * sizeof(uint32_t));
    for (ptrdiff_t p = 0; p < n; ++p) {
        ++count[(uint32_t)(from[p] >> (32 + shift)) & mask];
    }
    place_digits(count, mask + 1);
    for (ptrdiff_t p = 0; p < n; ++p) {
        to[count[(uint32_t)(from[p] >> (32 + shift)) & mask]++] = from[p];
    }
}

/* How to cut keys of `n_bits` bits into equal digits, few enough for n rows. */
static int digit_bits(ptrdiff_t n, int n_bits, int *n_passes)
{
    const int most = n >= OBTREE_WIDE_DIGIT ? 11 : 8;
    *n_passes = (n_bits + most - 1) / most;
    return (n_bits + *n_passes - 1) / *n_passes;
}

static int bit_length(uint32_t x)
{
    int n_bits = 1;
    while (x >>= 1) {
        ++n_bits;
    }
    return n_bits;
}

static void sort_codes(const uint32_t *codes, ptrdiff_t n, uint32_t low, uint32_t high,
                       uint64_t *words, uint64_t *buffer)
{
    const uint32_t span = high - low;
    if (n <= OBTREE_RANK_LIMIT && span < OBTREE_RANK_SPAN &&
        (n <= 16 || span > 64)) {
        rank_sort(codes, n, low, words);
        return;
    }
    int n_passes;
    const int n_bits = digit_bits(n, bit_length(span), &n_passes);
    const uint32_t mask = (1u << n_bits) - 1;
    /* The first pass reads the codes themselves; an odd number of passes ends in
     * `words` when it begins there. */
    uint64_t *to = (n_passes & 1) ? words : buffer;
    uint64_t *from = (n_passes & 1) ? buffer : words;
    uint32_t count[OBTREE_MAX_DIGITS];
    memset(count, 0, ((size_t)mask + 1) * sizeof(uint32_t));
    for (ptrdiff_t p = 0; p < n; ++p) {
        ++count[(codes[p] - low) & mask];
    }
    place_digits(count, mask + 1);
    for (ptrdiff_t p = 0; p < n; ++p) {
        const uint32_t key = codes[p] - low;
        to[count[key & mask]++] = make_word(key, p);
    }
    for (int pass = 1; pass < n_passes; ++pass) {
        uint64_t *swap = from;
        from = to;
        to = swap;
        radix_pass(from, to, n, pass * n_bits, mask);
    }
}

static void insertion_sort(uint64_t *words, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; ++i) {
        const uint64_t word = words[i];
        ptrdiff_t k = i;
        for (; k > 0 && words[k - 1] > word; --k) {
            words[k] = words[k - 1];
        }
        words[k] = word;
    }
}

static void sort_words(uint64_t *words, ptrdiff_t n, uint32_t high, uint64_t *buffer)
{
    if (n < 8) {
        insertion_sort(words, n);
        return;
    }
    if (n <= OBTREE_RANK_LIMIT && high < OBTREE_RANK_SPAN) {
        int32_t keys[OBTREE_RANK_LIMIT], rank[OBTREE_RANK_LIMIT];
        for (ptrdiff_t p = 0; p < n; ++p) {
            keys[p] = rank_key((uint32_t)(words[p] >> 32), p);
        }
        find_ranks(keys, n, rank);
        memcpy(buffer, words, (size_t)n * sizeof(uint64_t));
        for (ptrdiff_t p = 0; p < n; ++p) {
            words[rank[p]] = buffer[p];
        }
        return;
    }
    if (n < 32) {
        insertion_sort(words, n);
        return;
    }
    int n_passes;
    const int n_bits = digit_bits(n, bit_length(high), &n_passes);
    uint64_t *from = words, *to = buffer;
    for (int pass = 0; pass < n_passes; ++pass) {
        radix_pass(from, to, n, pass * n_bits, (1u << n_bits) - 1);
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != words) {
        memcpy(words, from, (size_t)n * sizeof(uint64_t));
    }
}
