/* Reading one encoded column for the rows of a node, and splitting them by it. */

/* RANK(row) reads the rank of a row. Reading and comparing are separate loops: the
 * second one is then done with vectors. */
#define OBTREE_GATHER(RANK, FETCH)                                                               \
    do {                                                                                         \
        OBTREE_UNROLL                                                                            \
        for (ptrdiff_t p = 0; p < n; ++p) {                                                      \
            FETCH()                                                                              \
            out[p] = RANK(rows[p]);                                                              \
        }                                                                                        \
        find_range(out, n, low, high);                                                           \
    } while (0)

/* Ranks are below 2^31, so signed comparisons, which every instruction set has, do. */
static void find_range(const uint32_t *codes, ptrdiff_t n, uint32_t *low, uint32_t *high)
{
    int32_t lowest = INT32_MAX, highest = 0;
    for (ptrdiff_t p = 0; p < n; ++p) {
        const int32_t code = (int32_t)codes[p];
        lowest = code < lowest ? code : lowest;
        highest = code > highest ? code : highest;
    }
    *low = (uint32_t)lowest;
    *high = (uint32_t)highest;
}

#define OBTREE_RANK1(row) ((const uint8_t *)codes)[row]
#define OBTREE_RANK2(row) ((const uint16_t *)codes)[row]
#define OBTREE_RANK4(row) ((const uint32_t *)codes)[row]
#define OBTREE_STRIDED1(row) ((const uint8_t *)codes)[(row) * stride]
#define OBTREE_STRIDED2(row) load_pair((const uint8_t *)codes + (row) * stride)

/* Scattered rows: ask for a line well before it is needed, which halves the time in
 * nodes of some hundred rows. */
enum { OBTREE_AHEAD = 24 };
#define OBTREE_FETCH_AHEAD()                                                                     \
    if (p + OBTREE_AHEAD < n) {                                                                  \
        OBTREE_PREFETCH((const uint8_t *)codes + rows[p + OBTREE_AHEAD] * stride);               \
    }
#define OBTREE_NO_FETCH()

static void gather_codes(const void *codes, int32_t width, const int32_t *rows, ptrdiff_t n,
                         uint32_t *out, uint32_t *low, uint32_t *high)
{
    if (width == 1) {
        OBTREE_GATHER(OBTREE_RANK1, OBTREE_NO_FETCH);
    } else if (width == 2) {
        OBTREE_GATHER(OBTREE_RANK2, OBTREE_NO_FETCH);
    } else {
        OBTREE_GATHER(OBTREE_RANK4, OBTREE_NO_FETCH);
    }
}

/* Two bytes at any address. */
static uint16_t load_pair(const uint8_t *address)
{
    uint16_t pair;
    memcpy(&pair, address, sizeof(pair));
    return pair;
}

static void gather_strided(const void *codes, int32_t width, ptrdiff_t stride,
                           const int32_t *rows, ptrdiff_t n, uint32_t *out, uint32_t *low,
                           uint32_t *high)
{
    if (width == 1) {
        OBTREE_GATHER(OBTREE_STRIDED1, OBTREE_FETCH_AHEAD);
    } else {
        OBTREE_GATHER(OBTREE_STRIDED2, OBTREE_FETCH_AHEAD);
    }
}

/* The word is stored for every row, and the cursor moves past it when it counts: no
 * branch to mispredict. */
#define OBTREE_GATHER_ABOVE(RANK, FETCH)                                                         \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        FETCH()                                                                                  \
        const uint32_t code = RANK(rows[p]);                                                     \
        words[n_words] = (uint64_t)code << 32 | (uint64_t)p;                                     \
        n_words += code != 0;                                                                    \
        highest = code > highest ? code : highest;                                               \
    }

static ptrdiff_t gather_above(const void *codes, int32_t width, ptrdiff_t stride,
                              const int32_t *rows, ptrdiff_t n, uint64_t *words, uint32_t *high)
{
    ptrdiff_t n_words = 0;
    uint32_t highest = 0;
    if (stride != width && width == 1) {
        OBTREE_GATHER_ABOVE(OBTREE_STRIDED1, OBTREE_FETCH_AHEAD)
    } else if (stride != width) {
        OBTREE_GATHER_ABOVE(OBTREE_STRIDED2, OBTREE_FETCH_AHEAD)
    } else if (width == 1) {
        OBTREE_GATHER_ABOVE(OBTREE_RANK1, OBTREE_NO_FETCH)
    } else if (width == 2) {
        OBTREE_GATHER_ABOVE(OBTREE_RANK2, OBTREE_NO_FETCH)
    } else {
        OBTREE_GATHER_ABOVE(OBTREE_RANK4, OBTREE_NO_FETCH)
    }
    *high = highest;
    return n_words;
}

/* Both stores happen for every row and only one cursor moves, so that the loop has
 * no branch to mispredict. Invariant: rows[0:left] hold rows of [0:p) that go left,
 * spare[0:p-left] those that go right, both in their old order; left <= p, so the
 * store to rows never overtakes the read, of places either when they are the same. */
#define OBTREE_SPLIT(RANK)                                                                       \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        const int32_t row = rows[p];                                                             \
        const ptrdiff_t goes_left = RANK(places[p]) <= cut;                                      \
        rows[left] = row;                                                                        \
        spare[p - left] = row;                                                                   \
        left += goes_left;                                                                       \
    }

static ptrdiff_t split_rows(const void *codes, int32_t width, ptrdiff_t stride, uint32_t cut,
                            const int32_t *places, int32_t *rows, ptrdiff_t n, int32_t *spare)
{
    ptrdiff_t left = 0;
    if (stride != width && width == 1) {
        OBTREE_SPLIT(OBTREE_STRIDED1)
    } else if (stride != width) {
        OBTREE_SPLIT(OBTREE_STRIDED2)
    } else if (width == 1) {
        OBTREE_SPLIT(OBTREE_RANK1)
    } else if (width == 2) {
        OBTREE_SPLIT(OBTREE_RANK2)
    } else {
        OBTREE_SPLIT(OBTREE_RANK4)
    }
    memcpy(rows + left, spare, (size_t)(n - left) * sizeof(int32_t));
    return left;
}
