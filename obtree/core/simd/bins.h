/* Counting ranks into bins. */

#define OBTREE_FILL_CLASSES(rank, p)                                                             \
    bins[(ptrdiff_t)((rank)-low) * n_slots + slot[p]] += w[p];

/* The class in the lower half, the weight in the upper. */
#define OBTREE_FILL_COUNTS(rank, p)                                                              \
    {                                                                                            \
        const uint32_t row = packed[p];                                                          \
        counts[(ptrdiff_t)((rank)-low) * n_slots + (row & 0xffff)] += row >> 16;                 \
    }

/* `rank` is read from whatever `codes` names. */
#define OBTREE_FILL_TWO_COUNTS(rank, p)                                                          \
    {                                                                                            \
        const uint32_t row = packed[p], slot = row & 0xffff, weight = row >> 16;                 \
        counts[(ptrdiff_t)(rank)*n_slots + slot] += weight;                                      \
        {                                                                                        \
            const void *codes = others;                                                          \
            other_counts[(ptrdiff_t)(rank)*n_slots + slot] += weight;                            \
        }                                                                                        \
    }

#define OBTREE_FETCH_TWO(byte)                                                                   \
    OBTREE_FETCH(byte);                                                                          \
    OBTREE_PREFETCH((const uint8_t *)others + (byte))

#define OBTREE_FILL_PAIRS(rank, p)                                                               \
    {                                                                                            \
        double *bin = bins + 2 * (ptrdiff_t)((rank)-low);                                        \
        bin[0] += records[2 * (p)];                                                                \
        bin[1] += records[2 * (p) + 1];                                                            \
    }

#define OBTREE_FILL_MOMENTS(rank, p)                                                             \
    {                                                                                            \
        double *bin = bins + (ptrdiff_t)((rank)-low) * n_fields;                                 \
        for (ptrdiff_t k = 0; k < n_fields; ++k) {                                               \
            bin[k] += records[(p)*n_fields + k];                                                 \
        }                                                                                        \
    }

/* Ranks of a column, or such as were gathered before. */
#define OBTREE_FOR_RANKS(STEP)                                                                   \
    do {                                                                                         \
        if (rows != NULL) {                                                                      \
            OBTREE_FOR_COLUMN(STEP, OBTREE_FETCH);                                               \
        } else {                                                                                 \
            OBTREE_UNROLL                                                                        \
            for (ptrdiff_t p = 0; p < n; ++p) {                                                  \
                STEP(OBTREE_RANK4(p), p)                                                         \
            }                                                                                    \
        }                                                                                        \
    } while (0)

static void fill_classes(const void *codes, int32_t width, ptrdiff_t stride, const int32_t *rows,
                         ptrdiff_t n, uint32_t low, const int32_t *slot, const double *w,
                         ptrdiff_t n_slots, double *bins)
{
    OBTREE_FOR_RANKS(OBTREE_FILL_CLASSES);
}

static void fill_counts(const void *codes, int32_t width, ptrdiff_t stride, const int32_t *rows,
                        ptrdiff_t n, uint32_t low, const uint32_t *packed, ptrdiff_t n_slots,
                        uint32_t *counts)
{
    OBTREE_FOR_RANKS(OBTREE_FILL_COUNTS);
}

static void fill_two_counts(const void *codes, const void *others, int32_t width,
                            ptrdiff_t stride, const int32_t *rows, ptrdiff_t n,
                            const uint32_t *packed, ptrdiff_t n_slots, uint32_t *counts,
                            uint32_t *other_counts)
{
    OBTREE_FOR_COLUMN(OBTREE_FILL_TWO_COUNTS, OBTREE_FETCH_TWO);
}

/* Rows of one class follow each other in a nearly pure node. Two halves take turns, so
 * that an addition need not wait for the one before. */
static void load_counts(const uint32_t *of_row, const int32_t *rows, ptrdiff_t n,
                        uint32_t *packed, ptrdiff_t n_slots, uint32_t *counts)
{
    uint32_t *others = counts + n_slots;
    ptrdiff_t p = 0;
    for (; p + 2 <= n; p += 2) {
        const uint32_t first = of_row[rows[p]], second = of_row[rows[p + 1]];
        packed[p] = first;
        packed[p + 1] = second;
        counts[first & 0xffff] += first >> 16;
        others[second & 0xffff] += second >> 16;
    }
    if (p < n) {
        packed[p] = of_row[rows[p]];
        counts[packed[p] & 0xffff] += packed[p] >> 16;
    }
}

static void fill_moments(const void *codes, int32_t width, ptrdiff_t stride, const int32_t *rows,
                         ptrdiff_t n, uint32_t low, const double *records, ptrdiff_t n_fields,
                         double *bins)
{
    if (n_fields == 2) {
        OBTREE_FOR_RANKS(OBTREE_FILL_PAIRS);
    } else {
        OBTREE_FOR_RANKS(OBTREE_FILL_MOMENTS);
    }
}

/* Moving a bin to the left of a cut clears it and gives its weight.
 * IN/OUT left (n_slots). OUT squares: sum L^2; cross: sum T L. */
#define OBTREE_MOVE_BIN(name, CELL, LOAD_CELLS)                                                  \
    static inline double name(CELL *restrict here, ptrdiff_t n_slots,                            \
                              const double *restrict total, double *restrict left,               \
                              double *squares, double *cross)                                    \
    {                                                                                            \
        vec4 sums = {0}, square_sums = {0}, cross_sums = {0}, bin, moved, node;                  \
        for (ptrdiff_t s = 0; s < n_slots; s += 4) {                                             \
            LOAD_CELLS(bin, here + s);                                                           \
            OBTREE_LOAD(moved, left + s);                                                        \
            OBTREE_LOAD(node, total + s);                                                        \
            OBTREE_ADD4(sums, bin);                                                              \
            OBTREE_ADD4(moved, bin);                                                             \
            OBTREE_STORE(left + s, moved);                                                       \
            OBTREE_ADD_PRODUCT4(square_sums, moved, moved);                                      \
            OBTREE_ADD_PRODUCT4(cross_sums, moved, node);                                        \
        }                                                                                        \
        memset(here, 0, (size_t)n_slots * sizeof(CELL));                                         \
        *squares = OBTREE_FOLD4(square_sums);                                                    \
        *cross = OBTREE_FOLD4(cross_sums);                                                       \
        return OBTREE_FOLD4(sums);                                                               \
    }

OBTREE_MOVE_BIN(move_bin, double, OBTREE_LOAD)
OBTREE_MOVE_BIN(move_count_bin, uint32_t, OBTREE_LOAD_COUNTS)

#define OBTREE_MOVE_INTS(INTS, sums, square_sums, cross_sums)                                    \
    do {                                                                                         \
        const INTS none = {0};                                                                   \
        INTS bin, moved, node;                                                                   \
        OBTREE_LOAD(bin, here + s);                                                              \
        OBTREE_STORE(here + s, none);                                                            \
        OBTREE_LOAD(moved, left + s);                                                            \
        OBTREE_LOAD(node, total + s);                                                            \
        OBTREE_ADD_INTS(sums, bin);                                                              \
        OBTREE_ADD_INTS(moved, bin);                                                             \
        OBTREE_STORE(left + s, moved);                                                           \
        OBTREE_ADD_INT_PRODUCTS(square_sums, moved, moved);                                      \
        OBTREE_ADD_INT_PRODUCTS(cross_sums, moved, node);                                        \
    } while (0)

/* The same in integers, which have twice the lanes. */
static inline double move_small_bin(uint32_t *restrict here, ptrdiff_t n_slots,
                                const int32_t *restrict total, int32_t *restrict left,
                                double *squares, double *cross)
{
    vec4i sums = {0}, square_sums = {0}, cross_sums = {0};
    ptrdiff_t s = 0;
    if (n_slots >= 8) {
        vec8i wide_sums = {0}, wide_squares = {0}, wide_cross = {0};
        for (; s + 8 <= n_slots; s += 8) {
            OBTREE_MOVE_INTS(vec8i, wide_sums, wide_squares, wide_cross);
        }
        OBTREE_ADD_HALVES8(sums, wide_sums);
        OBTREE_ADD_HALVES8(square_sums, wide_squares);
        OBTREE_ADD_HALVES8(cross_sums, wide_cross);
    }
    if (s < n_slots) {
        OBTREE_MOVE_INTS(vec4i, sums, square_sums, cross_sums);
    }
    *squares = OBTREE_FOLD_INTS4(square_sums);
    *cross = OBTREE_FOLD_INTS4(cross_sums);
    return OBTREE_FOLD_INTS4(sums);
}

/* Weights in float64. */
#define OBTREE_SWEEP sweep_gini
#define OBTREE_CELL double
#define OBTREE_SUM double
#define OBTREE_MOVE move_bin
#include "gini.h"

/* Whole-number weights: half the memory, and additions that take one cycle. */
#define OBTREE_SWEEP sweep_gini_whole
#define OBTREE_CELL uint32_t
#define OBTREE_SUM double
#define OBTREE_MOVE move_count_bin
#include "gini.h"

#define OBTREE_SWEEP sweep_gini_small
#define OBTREE_CELL uint32_t
#define OBTREE_SUM int32_t
#define OBTREE_MOVE move_small_bin
#include "gini.h"

/* The square of the node's weight bounds all sums of products, so 46340 is the largest
 * weight for which they are below 2^31. The sums are the same either way. */
static ptrdiff_t sweep_gini_counts(uint32_t *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                                   const double *total, double *left, double weight,
                                   double squares, double min_weight, double margin,
                                   double *score, uint32_t *low_key, uint32_t *high_key)
{
    int32_t *small_left = (int32_t *)left, *small_total = small_left + n_slots;
    if (weight > 46340.0) {
        return sweep_gini_whole(bins, n_bins, n_slots, total, left, weight, squares,
                                min_weight, margin, score, low_key, high_key);
    }
    for (ptrdiff_t s = 0; s < n_slots; s += 4) {
        vec4 weights;
        vec4i counts;
        OBTREE_LOAD(weights, total + s);
        OBTREE_TO_INTS4(counts, weights);
        OBTREE_STORE(small_total + s, counts);
    }
    return sweep_gini_small(bins, n_bins, n_slots, small_total, small_left, weight, squares,
                            min_weight, margin, score, low_key, high_key);
}
