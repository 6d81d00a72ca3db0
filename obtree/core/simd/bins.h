/* Counting ranks into bins. */

/* RANK(p) reads the rank of the node's row p. */
#define OBTREE_FILL_CLASSES(RANK, FETCH)                                                         \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        FETCH()                                                                                  \
        bins[(ptrdiff_t)(RANK(p) - low) * n_slots + slot[p]] += w[p];                            \
    }

/* The class in the lower half, the weight in the upper. */
#define OBTREE_FILL_COUNTS(RANK, FETCH)                                                          \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        FETCH()                                                                                  \
        const uint32_t row = packed[p];                                                          \
        counts[(ptrdiff_t)(RANK(p) - low) * n_slots + (row & 0xffff)] += row >> 16;              \
    }

/* RANK reads from whatever `codes` names. */
#define OBTREE_FILL_TWO_COUNTS(RANK, FETCH)                                                      \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        const uint32_t row = packed[p], slot = row & 0xffff, weight = row >> 16;                 \
        FETCH()                                                                                  \
        counts[(ptrdiff_t)RANK(p) * n_slots + slot] += weight;                                   \
        {                                                                                        \
            const void *codes = others;                                                          \
            FETCH()                                                                              \
            other_counts[(ptrdiff_t)RANK(p) * n_slots + slot] += weight;                         \
        }                                                                                        \
    }

#define OBTREE_FILL_PAIRS(RANK, FETCH)                                                           \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        FETCH()                                                                                  \
        double *bin = bins + 2 * (ptrdiff_t)(RANK(p) - low);                                     \
        bin[0] += records[2 * p];                                                                \
        bin[1] += records[2 * p + 1];                                                            \
    }

#define OBTREE_FILL_MOMENTS(RANK, FETCH)                                                         \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        FETCH()                                                                                  \
        double *bin = bins + (ptrdiff_t)(RANK(p) - low) * n_fields;                              \
        for (ptrdiff_t k = 0; k < n_fields; ++k) {                                               \
            bin[k] += records[p * n_fields + k];                                                 \
        }                                                                                        \
    }

#define OBTREE_AT1(p) (uint32_t) OBTREE_RANK1(rows[p])
#define OBTREE_AT2(p) (uint32_t) OBTREE_RANK2(rows[p])
#define OBTREE_AT4(p) OBTREE_RANK4(rows[p])
#define OBTREE_STRIDED_AT1(p) (uint32_t) OBTREE_STRIDED1(rows[p])
#define OBTREE_STRIDED_AT2(p) (uint32_t) OBTREE_STRIDED2(rows[p])

/* One loop for each way in which ranks may stand in memory. */
#define OBTREE_FOR_COLUMNS(FILL)                                                                 \
    do {                                                                                         \
        if (stride != width && width == 1) {                                              \
            FILL(OBTREE_STRIDED_AT1, OBTREE_FETCH_AHEAD)                                         \
        } else if (stride != width) {                                                            \
            FILL(OBTREE_STRIDED_AT2, OBTREE_FETCH_AHEAD)                                         \
        } else if (width == 1) {                                                                 \
            FILL(OBTREE_AT1, OBTREE_NO_FETCH)                                                    \
        } else if (width == 2) {                                                                 \
            FILL(OBTREE_AT2, OBTREE_NO_FETCH)                                                    \
        } else {                                                                                 \
            FILL(OBTREE_AT4, OBTREE_NO_FETCH)                                                    \
        }                                                                                        \
    } while (0)

/* The same and ranks that were gathered before. */
#define OBTREE_FOR_RANKS(FILL)                                                                   \
    do {                                                                                         \
        if (rows == NULL) {                                                                      \
            FILL(OBTREE_RANK4, OBTREE_NO_FETCH)                                                  \
        } else {                                                                                 \
            OBTREE_FOR_COLUMNS(FILL);                                                            \
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
    OBTREE_FOR_COLUMNS(OBTREE_FILL_TWO_COUNTS);
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

/* Weights in float64. */
#define OBTREE_SWEEP sweep_gini
#define OBTREE_CELL double
#define OBTREE_LOAD_CELLS(vector, from) OBTREE_LOAD(vector, from)
#include "gini.h"

/* Whole-number weights: half the memory, and additions that take one cycle. */
#define OBTREE_SWEEP sweep_gini_counts
#define OBTREE_CELL uint32_t
#define OBTREE_LOAD_CELLS(vector, from) OBTREE_LOAD_COUNTS(vector, from)
#include "gini.h"
