/* Walking packed nodes: which leaf of a tree each row of a block reaches.
 *
 * A step is branch-free, next = child + (threshold < x), and a leaf steps onto
 * itself: its threshold lies below every value, and its child is the slot before it.
 * Narrow nodes compare keys, integers in the order of the floats they stand for, which
 * takes fewer instructions. Rows therefore move in lock step, sixteen at a time, and
 * their memory latencies overlap; without that a walk costs four times as much. Leaves lie at
 * very different depths (in a random forest the deepest of sixteen rows needs 1.5 times the
 * mean), so after n_unchecked steps, when many have arrived, the rows still under way are moved
 * together, and again every few steps.
 *
 * Vector gathers are left alone on purpose: with AVX2 gathers the same walk took 1.5 to
 * 2.4 times as long (Zen 3; Letter, California housing, MNIST, Covertype).
 */
#ifndef OBTREE_TRAVERSE_H
#define OBTREE_TRAVERSE_H

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

#define OBTREE_LANES 16
#define OBTREE_STEPS 4 /* between two compactions */
#define OBTREE_FEW 3   /* rows that are walked one by one at the end */
#define OBTREE_FORESEEN (64 * OBTREE_LANES) /* values of sixteen rows worth fetching ahead */

#define OBTREE_EACH8(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define OBTREE_EACH16(M) \
    OBTREE_EACH8(M) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)

/* Narrow: `packed` is child << shift | feature << 3 | missing_left. Sixteen rows lie
 * side by side, so feature j of a lane is x[16 * j]: x[(packed & mask) * 2]. */
static inline uint32_t step_narrow(const obtree_narrow_node *nodes, uint32_t at,
                                   const uint32_t *x, int32_t shift, uint32_t mask)
{
    /* Spelt so that compilers add the carry of the comparison: eight instructions. */
    const obtree_narrow_node *node = nodes + at;
    uint32_t next = node->packed;
    const uint32_t key = x[(size_t)(next & mask) * 2];
    next >>= shift;
    next += node->threshold < key;
    return next;
}

static inline uint32_t step_narrow_missing(const obtree_narrow_node *nodes, uint32_t at,
                                           const uint32_t *x, int32_t shift, uint32_t mask)
{
    const uint32_t packed = nodes[at].packed;
    const uint32_t key = x[(size_t)(packed & mask) * 2];
    const uint32_t sent_left = (uint32_t)(key == OBTREE_MISSING_KEY) & packed;
    return (packed >> shift) + ((uint32_t)(nodes[at].threshold < key) & ~sent_left);
}

static inline int is_split_narrow(const obtree_narrow_node *nodes, uint32_t at)
{
    return nodes[at].threshold >= OBTREE_LOWEST_KEY;
}

/* Wide: `child` is child << 1 | missing_left; a lane's row lies contiguous. */
static inline uint32_t step_wide(const obtree_wide_node *nodes, uint32_t at, const float *x,
                                 int32_t shift, uint32_t mask)
{
    const double value = (double)x[nodes[at].feature];
    const uint32_t right = (uint32_t) !(value <= nodes[at].threshold);
    const uint32_t sent_left = (uint32_t)(value != value) & nodes[at].child & 1u;
    (void)shift;
    (void)mask;
    return (nodes[at].child >> 1) + (right & ~sent_left);
}

/* The threshold of a leaf is NaN: no value is less than or equal to it. */
static inline int is_split_wide(const obtree_wide_node *nodes, uint32_t at)
{
    return nodes[at].threshold == nodes[at].threshold;
}

#define OBTREE_START(l) uint32_t at##l = 1; const OBTREE_X *x##l = x + offset + (l) * lane_stride;
#define OBTREE_STEP(l) at##l = OBTREE_STEP_FUNCTION(nodes, at##l, x##l, shift, mask);
#define OBTREE_KEEP_FIRST(l) OBTREE_KEEP(at##l, (uint32_t)(offset + (l) * lane_stride), row + (l))
#define OBTREE_RESUME(l) uint32_t at##l = under_way[p + (l)]; const OBTREE_X *x##l = x + from[p + (l)];
#define OBTREE_KEEP_AGAIN(l) OBTREE_KEEP(at##l, from[p + (l)], rows[p + (l)])

/* Record where a row stands, and keep it in the lists unless that is a leaf. The
 * lists are written at n_left <= p, never ahead of what is still to be read:
 *   [0, n_left) still under way | [n_left, p) read already | [p, n) to come   */
#define OBTREE_KEEP(at, x_offset, row_number)                     \
    {                                                             \
        const uint32_t offset_ = (x_offset);                      \
        const uint32_t row_ = (uint32_t)(row_number);             \
        found[row_] = (at);                                       \
        under_way[n_left] = (at);                                 \
        from[n_left] = offset_;                                   \
        rows[n_left] = row_;                                      \
        n_left += OBTREE_IS_SPLIT(nodes, at);                     \
    }

/* Fill up the last sixteen with copies of the last row: its leaf is then found, and
 * written, several times over, which costs less than walking the rest row by row. */
#define OBTREE_REPEAT_LAST()                     \
    for (; n % OBTREE_LANES != 0; ++n) {         \
        under_way[n] = under_way[n - 1];         \
        from[n] = from[n - 1];                   \
        rows[n] = rows[n - 1];                   \
    }

/* The loop over one block. Groups of sixteen rows are `group_stride` floats apart, rows
 * of a group `lane_stride`; the rows of an incomplete group join the lists at the root. */
#define OBTREE_WALK()                                                                     \
    uint32_t *under_way = scratch;                                                        \
    uint32_t *from = under_way + n_rows + OBTREE_LANES;                                   \
    uint32_t *rows = from + n_rows + OBTREE_LANES;                                        \
    ptrdiff_t n_left = 0;                                                                 \
    ptrdiff_t row = 0;                                                                    \
    for (; row + OBTREE_LANES <= n_rows; row += OBTREE_LANES) {                           \
        const ptrdiff_t offset = row / OBTREE_LANES * group_stride;                       \
        OBTREE_EACH16(OBTREE_START)                                                       \
        if (group_stride <= OBTREE_FORESEEN && row + 2 * OBTREE_LANES <= n_rows) {        \
            for (ptrdiff_t k = 0; k < group_stride; k += OBTREE_LANES) {                  \
                OBTREE_PREFETCH(x + offset + group_stride + k);                           \
            }                                                                             \
        }                                                                                 \
        for (int32_t k = 0; k < n_unchecked; ++k) {                                       \
            OBTREE_EACH16(OBTREE_STEP)                                                    \
        }                                                                                 \
        OBTREE_EACH16(OBTREE_KEEP_FIRST)                                                  \
    }                                                                                     \
    for (; row < n_rows; ++row) {                                                         \
        const ptrdiff_t offset = row / OBTREE_LANES * group_stride;                       \
        OBTREE_KEEP(1, (uint32_t)(offset + row % OBTREE_LANES * lane_stride), row)        \
    }                                                                                     \
    while (n_left > 0) {                                                                  \
        ptrdiff_t n = n_left;                                                             \
        ptrdiff_t p = 0;                                                                  \
        n_left = 0;                                                                       \
        if (n % OBTREE_LANES > OBTREE_FEW) {                                              \
            OBTREE_REPEAT_LAST()                                                          \
        }                                                                                 \
        for (; p + OBTREE_LANES <= n; p += OBTREE_LANES) {                                \
            OBTREE_EACH16(OBTREE_RESUME)                                                  \
            for (int32_t k = 0; k < OBTREE_STEPS; ++k) {                                  \
                OBTREE_EACH16(OBTREE_STEP)                                                \
            }                                                                             \
            OBTREE_EACH16(OBTREE_KEEP_AGAIN)                                              \
        }                                                                                 \
        for (; p < n; ++p) {                                                              \
            uint32_t at0 = under_way[p];                                                  \
            const OBTREE_X *x0 = x + from[p];                                             \
            while (OBTREE_IS_SPLIT(nodes, at0)) {                                         \
                OBTREE_STEP(0)                                                            \
            }                                                                             \
            found[rows[p]] = at0;                                                         \
        }                                                                                 \
    }

#define OBTREE_X uint32_t
#define OBTREE_IS_SPLIT is_split_narrow
#define OBTREE_STEP_FUNCTION step_narrow
static void walk_narrow(const obtree_narrow_node *nodes, const uint32_t *x, ptrdiff_t n_rows,
                        ptrdiff_t group_stride, int32_t shift, uint32_t mask, int32_t n_unchecked,
                        uint32_t *found, uint32_t *scratch)
{
    const ptrdiff_t lane_stride = 1;
    OBTREE_WALK()
}
#undef OBTREE_STEP_FUNCTION

#define OBTREE_STEP_FUNCTION step_narrow_missing
static void walk_narrow_missing(const obtree_narrow_node *nodes, const uint32_t *x, ptrdiff_t n_rows,
                                ptrdiff_t group_stride, int32_t shift, uint32_t mask,
                                int32_t n_unchecked, uint32_t *found, uint32_t *scratch)
{
    const ptrdiff_t lane_stride = 1;
    OBTREE_WALK()
}
#undef OBTREE_STEP_FUNCTION

static void traverse_narrow(const obtree_narrow_node *nodes, const uint32_t *x, ptrdiff_t n_rows,
                            ptrdiff_t n_features, int32_t shift, uint32_t mask, int32_t n_unchecked,
                            int32_t has_missing, uint32_t *found, uint32_t *scratch)
{
    const ptrdiff_t stride = n_features * OBTREE_LANES;
    if (has_missing) {
        walk_narrow_missing(nodes, x, n_rows, stride, shift, mask, n_unchecked, found, scratch);
    } else {
        walk_narrow(nodes, x, n_rows, stride, shift, mask, n_unchecked, found, scratch);
    }
}

#undef OBTREE_IS_SPLIT
#undef OBTREE_X

#define OBTREE_X float
#define OBTREE_IS_SPLIT is_split_wide
#define OBTREE_STEP_FUNCTION step_wide
static void traverse_wide(const obtree_wide_node *nodes, const float *x, ptrdiff_t n_rows,
                          ptrdiff_t n_features, int32_t n_unchecked, uint32_t *found,
                          uint32_t *scratch)
{
    const ptrdiff_t lane_stride = n_features;
    const ptrdiff_t group_stride = n_features * OBTREE_LANES;
    const int32_t shift = 0;
    const uint32_t mask = 0;
    OBTREE_WALK()
}
#undef OBTREE_STEP_FUNCTION
#undef OBTREE_IS_SPLIT
#undef OBTREE_X

/* One contiguous row of keys through many trees, eight trees at a time. */
#define OBTREE_START_TREE(l) \
    const obtree_narrow_node *nodes##l = nodes + start[t + (l)]; uint32_t at##l = 1;
#define OBTREE_STEP_TREE(l)                                                                   \
    {                                                                                         \
        const uint32_t packed_ = nodes##l[at##l].packed;                                      \
        const uint32_t key_ = x[(packed_ & mask) >> 3];                                       \
        const uint32_t sent_left_ = (uint32_t)(key_ == OBTREE_MISSING_KEY) & packed_;         \
        const uint32_t next_ = (packed_ >> shift)                                             \
            + ((uint32_t)(nodes##l[at##l].threshold < key_) & ~sent_left_);                   \
        moved |= next_ ^ at##l;                                                               \
        at##l = next_;                                                                        \
    }
#define OBTREE_FOUND_TREE(l) found[t + (l)] = at##l;

static void traverse_trees(const obtree_narrow_node *nodes, const int64_t *start,
                           ptrdiff_t n_trees, const uint32_t *x, int32_t shift, uint32_t mask,
                           uint32_t *found)
{
    ptrdiff_t t = 0;
    uint32_t moved;
    for (; t + 8 <= n_trees; t += 8) {
        OBTREE_EACH8(OBTREE_START_TREE)
        do {
            moved = 0;
            OBTREE_EACH8(OBTREE_STEP_TREE)
        } while (moved);
        OBTREE_EACH8(OBTREE_FOUND_TREE)
    }
    for (; t < n_trees; ++t) {
        OBTREE_START_TREE(0)
        do {
            moved = 0;
            OBTREE_STEP_TREE(0)
        } while (moved);
        OBTREE_FOUND_TREE(0)
    }
}

/* Part of a row of X to float32, contiguous. The first loop is the one that compilers turn
 * into vector code; the other takes any stride and alignment. */
#define OBTREE_CONVERT(NAME, TYPE)                                                           \
    static void NAME(const char *source, ptrdiff_t stride, ptrdiff_t n, float *restrict to)  \
    {                                                                                        \
        if (stride == (ptrdiff_t)sizeof(TYPE) && (uintptr_t)source % sizeof(TYPE) == 0) {    \
            const TYPE *values = (const TYPE *)source;                                       \
            for (ptrdiff_t j = 0; j < n; ++j) {                                              \
                to[j] = (float)values[j];                                                    \
            }                                                                                \
            return;                                                                          \
        }                                                                                    \
        for (ptrdiff_t j = 0; j < n; ++j) {                                                  \
            TYPE value;                                                                      \
            memcpy(&value, source + j * stride, sizeof value);                               \
            to[j] = (float)value;                                                            \
        }                                                                                    \
    }

OBTREE_CONVERT(convert_uint8, uint8_t)
OBTREE_CONVERT(convert_int16, int16_t)
OBTREE_CONVERT(convert_float32, float)
OBTREE_CONVERT(convert_float64, double)

static inline void convert_values(const char *source, int32_t type, ptrdiff_t stride, ptrdiff_t n,
                                  float *to)
{
    switch (type) {
    case OBTREE_UINT8:
        convert_uint8(source, stride, n, to);
        break;
    case OBTREE_INT16:
        convert_int16(source, stride, n, to);
        break;
    case OBTREE_FLOAT32:
        convert_float32(source, stride, n, to);
        break;
    default:
        convert_float64(source, stride, n, to);
    }
}

/* keys[j] = key of values[j]; whether one is missing. */
static uint32_t make_keys(const float *restrict values, ptrdiff_t n, uint32_t *restrict keys)
{
    uint32_t missing = 0;
    for (ptrdiff_t j = 0; j < n; ++j) {
        const uint32_t key = obtree_make_key(values[j]);
        missing |= (uint32_t)(key == OBTREE_MISSING_KEY);
        keys[j] = key;
    }
    return missing;
}

#define OBTREE_TILE 64

/* to[16 * j + lane] = tile[lane][j] for j < n. */
static void interleave_tile(uint32_t tile[OBTREE_LANES][OBTREE_TILE], ptrdiff_t n, uint32_t *to)
{
    ptrdiff_t j = 0;
#if defined(__SSE2__) || defined(_M_X64)
    for (; j + 4 <= n; j += 4) {
        for (ptrdiff_t lane = 0; lane < OBTREE_LANES; lane += 4) {
            const __m128i a = _mm_loadu_si128((const __m128i *)(tile[lane] + j));
            const __m128i b = _mm_loadu_si128((const __m128i *)(tile[lane + 1] + j));
            const __m128i c = _mm_loadu_si128((const __m128i *)(tile[lane + 2] + j));
            const __m128i d = _mm_loadu_si128((const __m128i *)(tile[lane + 3] + j));
            const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
            const __m128i ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
            uint32_t *out = to + 16 * j + lane;
            _mm_storeu_si128((__m128i *)out, _mm_unpacklo_epi64(ab, cd));
            _mm_storeu_si128((__m128i *)(out + 16), _mm_unpackhi_epi64(ab, cd));
            _mm_storeu_si128((__m128i *)(out + 32), _mm_unpacklo_epi64(ab2, cd2));
            _mm_storeu_si128((__m128i *)(out + 48), _mm_unpackhi_epi64(ab2, cd2));
        }
    }
#endif
    for (; j < n; ++j) {
        for (ptrdiff_t lane = 0; lane < OBTREE_LANES; ++lane) {
            to[OBTREE_LANES * j + lane] = tile[lane][j];
        }
    }
}

/* Rows of X to a block. In groups, sixteen rows lie side by side; the lanes of an
 * incomplete group hold leftovers. */
static int32_t load_rows(const void *x_source, int32_t type, ptrdiff_t row_stride,
                         ptrdiff_t column_stride, ptrdiff_t n_rows, ptrdiff_t n_features,
                         int32_t layout, void *x)
{
    const char *source = x_source;
    float values[OBTREE_TILE];
    uint32_t tile[OBTREE_LANES][OBTREE_TILE];
    uint32_t missing = 0;
    if (layout == OBTREE_FLOAT_ROWS) {
        for (ptrdiff_t row = 0; row < n_rows; ++row) {
            convert_values(source + row * row_stride, type, column_stride, n_features,
                           (float *)x + row * n_features);
        }
        return 0;
    }
    memset(tile, 0, sizeof tile);
    for (ptrdiff_t row = 0; row < n_rows; row += OBTREE_LANES) {
        const ptrdiff_t lanes = n_rows - row < OBTREE_LANES ? n_rows - row : OBTREE_LANES;
        for (ptrdiff_t first = 0; first < n_features; first += OBTREE_TILE) {
            const ptrdiff_t n =
                n_features - first < OBTREE_TILE ? n_features - first : OBTREE_TILE;
            for (ptrdiff_t lane = 0; lane < lanes; ++lane) {
                uint32_t *keys = layout == OBTREE_KEY_GROUPS
                    ? tile[lane]
                    : (uint32_t *)x + (row + lane) * n_features + first;
                convert_values(source + (row + lane) * row_stride + first * column_stride, type,
                               column_stride, n, values);
                missing |= make_keys(values, n, keys);
            }
            if (layout == OBTREE_KEY_GROUPS) {
                interleave_tile(tile, n,
                                (uint32_t *)x + row * n_features + first * OBTREE_LANES);
            }
        }
    }
    return (int32_t)missing;
}

#endif
