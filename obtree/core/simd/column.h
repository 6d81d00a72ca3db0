/* Reading one encoded column for the rows of a node, and splitting them by it. */

/* STEP(rank, p) for every row of a node; RANK(row) reads the rank of a row. */
#define OBTREE_FOR_ROWS(STEP, RANK)                                                              \
    do {                                                                                         \
        OBTREE_UNROLL                                                                            \
        for (ptrdiff_t p = 0; p < n; ++p) {                                                      \
            STEP(RANK(rows[p]), p)                                                               \
        }                                                                                        \
    } while (0)

/* The same for scattered rows: FETCH(byte) asks for a line well before it is needed, which
 * halves the time in nodes of some hundred rows. BYTE(row) is where a rank stands. */
enum { OBTREE_AHEAD = 24 };
#define OBTREE_FETCH(byte) OBTREE_PREFETCH((const uint8_t *)codes + (byte))
#define OBTREE_FOR_FAR_ROWS(STEP, RANK, BYTE, FETCH)                                             \
    do {                                                                                         \
        ptrdiff_t p = 0;                                                                         \
        for (; p + OBTREE_AHEAD + 4 <= n; p += 4) {                                              \
            FETCH(BYTE(rows[p + OBTREE_AHEAD]));                                                 \
            FETCH(BYTE(rows[p + OBTREE_AHEAD + 1]));                                             \
            FETCH(BYTE(rows[p + OBTREE_AHEAD + 2]));                                             \
            FETCH(BYTE(rows[p + OBTREE_AHEAD + 3]));                                             \
            STEP(RANK(rows[p]), p)                                                               \
            STEP(RANK(rows[p + 1]), p + 1)                                                       \
            STEP(RANK(rows[p + 2]), p + 2)                                                       \
            STEP(RANK(rows[p + 3]), p + 3)                                                       \
        }                                                                                        \
        for (; p < n; ++p) {                                                                     \
            STEP(RANK(rows[p]), p)                                                               \
        }                                                                                        \
    } while (0)

#define OBTREE_RANK1(row) ((const uint8_t *)codes)[row]
#define OBTREE_RANK2(row) ((const uint16_t *)codes)[row]
#define OBTREE_RANK4(row) ((const uint32_t *)codes)[row]
#define OBTREE_STRIDED1(row) ((const uint8_t *)codes)[(row) * stride]
#define OBTREE_STRIDED2(row) load_pair((const uint8_t *)codes + (row) * stride)
#define OBTREE_PLACED2(row) load_pair((const uint8_t *)codes + (row))
#define OBTREE_STRIDED_BYTE(row) ((row) * stride)
#define OBTREE_PLACED_BYTE(row) (row)

/* One loop for each way in which ranks may stand in memory: see struct RankColumn. */
#define OBTREE_FOR_COLUMN(STEP, FETCH)                                                           \
    do {                                                                                         \
        if (stride == 0 && width == 1) {                                                         \
            OBTREE_FOR_FAR_ROWS(STEP, OBTREE_RANK1, OBTREE_PLACED_BYTE, FETCH);                  \
        } else if (stride == 0) {                                                                \
            OBTREE_FOR_FAR_ROWS(STEP, OBTREE_PLACED2, OBTREE_PLACED_BYTE, FETCH);                \
        } else if (stride != width && width == 1) {                                              \
            OBTREE_FOR_FAR_ROWS(STEP, OBTREE_STRIDED1, OBTREE_STRIDED_BYTE, FETCH);              \
        } else if (stride != width) {                                                            \
            OBTREE_FOR_FAR_ROWS(STEP, OBTREE_STRIDED2, OBTREE_STRIDED_BYTE, FETCH);              \
        } else if (width == 1) {                                                                 \
            OBTREE_FOR_ROWS(STEP, OBTREE_RANK1);                                                 \
        } else if (width == 2) {                                                                 \
            OBTREE_FOR_ROWS(STEP, OBTREE_RANK2);                                                 \
        } else {                                                                                 \
            OBTREE_FOR_ROWS(STEP, OBTREE_RANK4);                                                 \
        }                                                                                        \
    } while (0)

/* Two bytes at any address. */
static uint16_t load_pair(const uint8_t *address)
{
    uint16_t pair;
    memcpy(&pair, address, sizeof(pair));
    return pair;
}

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

/* Reading and comparing are separate loops: the second one is then done with vectors. */
#define OBTREE_GATHER(rank, p) out[p] = rank;

static void gather_codes(const void *codes, int32_t width, ptrdiff_t stride,
                         const int32_t *rows, ptrdiff_t n, uint32_t *out, uint32_t *low,
                         uint32_t *high)
{
    OBTREE_FOR_COLUMN(OBTREE_GATHER, OBTREE_FETCH);
    find_range(out, n, low, high);
}

/* The word is stored for every row, and the cursor moves past it when it counts: no
 * branch to mispredict. */
#define OBTREE_GATHER_ABOVE(rank, p)                                                             \
    {                                                                                            \
        const uint32_t code = rank;                                                              \
        words[n_words] = (uint64_t)code << 32 | (uint64_t)(p);                                   \
        n_words += code != 0;                                                                    \
        bits |= code;                                                                            \
    }

static ptrdiff_t gather_above(const void *codes, int32_t width, ptrdiff_t stride,
                              const int32_t *rows, ptrdiff_t n, uint64_t *words,
                              uint32_t *all_bits)
{
    ptrdiff_t n_words = 0;
    uint32_t bits = 0;
    OBTREE_FOR_COLUMN(OBTREE_GATHER_ABOVE, OBTREE_FETCH);
    *all_bits = bits;
    return n_words;
}

/* Both stores happen for every row and only one cursor moves, so that the loop has
 * no branch to mispredict. Invariant: rows[0:left] hold rows of [0:p) that go left,
 * buffer[0:p-left] those that go right, both in their old order; left <= p, so the
 * store to rows never overtakes the read, of places either when they are the same. */
#define OBTREE_SPLIT(RANK)                                                                       \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        const int32_t row = rows[p];                                                             \
        const ptrdiff_t goes_left = RANK(places[p]) <= cut;                                      \
        rows[left] = row;                                                                        \
        buffer[p - left] = row;                                                                  \
        left += goes_left;                                                                       \
    }

static ptrdiff_t split_rows(const void *codes, int32_t width, ptrdiff_t stride, uint32_t cut,
                            const int32_t *places, int32_t *rows, ptrdiff_t n, int32_t *buffer)
{
    ptrdiff_t left = 0;
    if (stride == 0 && width == 2) {
        OBTREE_SPLIT(OBTREE_PLACED2)
    } else if (stride == 0) {
        OBTREE_SPLIT(OBTREE_RANK1)
    } else if (stride != width && width == 1) {
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
    memcpy(rows + left, buffer, (size_t)(n - left) * sizeof(int32_t));
    return left;
}

/* A row is read while those to come are on their way: each begins in a cache line that
 * nothing but `rows` announces. */
enum { OBTREE_COPY_AHEAD = 3 };
static void copy_codes(const uint8_t *restrict codes, ptrdiff_t row_bytes,
                       const int32_t *restrict rows, ptrdiff_t n, uint8_t *restrict out,
                       uint8_t *restrict bits)
{
    memset(bits, 0, (size_t)row_bytes);
    for (ptrdiff_t p = 0; p < n; ++p) {
        const uint8_t *restrict row = codes + rows[p] * row_bytes;
        if (p + OBTREE_COPY_AHEAD < n) {
            const uint8_t *next = codes + rows[p + OBTREE_COPY_AHEAD] * row_bytes;
            for (ptrdiff_t line = 0; line < row_bytes; line += 64) {
                OBTREE_PREFETCH(next + line);
            }
        }
        for (ptrdiff_t k = 0; k < row_bytes; ++k) {
            const uint8_t code = row[k];
            out[p * row_bytes + k] = code;
            bits[k] |= code;
        }
    }
}
