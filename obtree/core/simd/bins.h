/* Counting ranks into bins, and the best Gini cut between bins. */

/* RANK(p) reads the rank of the node's row p. */
#define OBTREE_FILL_CLASSES(RANK)                                                                \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        bins[(ptrdiff_t)(RANK(p) - low) * n_slots + slot[p]] += w[p];                            \
    }

#define OBTREE_FILL_PAIRS(RANK)                                                                  \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        double *bin = bins + 2 * (ptrdiff_t)(RANK(p) - low);                                     \
        bin[0] += records[2 * p];                                                                \
        bin[1] += records[2 * p + 1];                                                            \
    }

#define OBTREE_FILL_MOMENTS(RANK)                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
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
#define OBTREE_FOR_RANKS(FILL)                                                                   \
    do {                                                                                         \
        if (rows == NULL) {                                                                      \
            FILL(OBTREE_RANK4)                                                                   \
        } else if (stride != width && width == 1) {                                              \
            FILL(OBTREE_STRIDED_AT1)                                                             \
        } else if (stride != width) {                                                            \
            FILL(OBTREE_STRIDED_AT2)                                                             \
        } else if (width == 1) {                                                                 \
            FILL(OBTREE_AT1)                                                                     \
        } else if (width == 2) {                                                                 \
            FILL(OBTREE_AT2)                                                                     \
        } else {                                                                                 \
            FILL(OBTREE_AT4)                                                                     \
        }                                                                                        \
    } while (0)

static void fill_classes(const void *codes, int32_t width, ptrdiff_t stride, const int32_t *rows,
                         ptrdiff_t n, uint32_t low, const int32_t *slot, const double *w,
                         ptrdiff_t n_slots, double *bins)
{
    OBTREE_FOR_RANKS(OBTREE_FILL_CLASSES);
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

static ptrdiff_t sweep_gini(double *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                            const double *restrict total, double *restrict left,
                            double weight, double squares, double min_weight, double *score,
                            uint32_t *low_key, uint32_t *high_key)
{
    double best = *score, weight_left = 0.0, squares_left = 0.0, cross = 0.0;
    const vec4 zero = {0};
    ptrdiff_t n_found = 0;
    uint32_t key = 0;
    memset(left, 0, (size_t)n_slots * sizeof(double));
    for (ptrdiff_t b = 0; b < n_bins; ++b) {
        double *restrict here = bins + b * n_slots;
        vec4 sums = zero, bin, moved, node;
        for (ptrdiff_t s = 0; s < n_slots; s += 4) {
            OBTREE_LOAD(bin, here + s);
            OBTREE_ADD4(sums, bin);
        }
        const double weight_here = OBTREE_FOLD4(sums);
        if (weight_here == 0.0) {
            continue;
        }
        if (n_found > 0) {
            const double weight_right = weight - weight_left;
            const double numerator = squares_left * weight_right +
                                     (squares - 2.0 * cross + squares_left) * weight_left;
            const double denominator = weight_left * weight_right;
            /* a / b > best, decided by a product: a division only for a cut that wins. */
            if (numerator > best * denominator && weight_left >= min_weight &&
                weight_right >= min_weight && numerator / denominator > best) {
                best = numerator / denominator;
                *low_key = key;
                *high_key = (uint32_t)b;
            }
        }
        vec4 square_sums = zero, cross_sums = zero;
        for (ptrdiff_t s = 0; s < n_slots; s += 4) {
            OBTREE_LOAD(bin, here + s);
            OBTREE_LOAD(moved, left + s);
            OBTREE_LOAD(node, total + s);
            OBTREE_ADD4(moved, bin);
            OBTREE_STORE(left + s, moved);
            OBTREE_STORE(here + s, zero);
            OBTREE_ADD_PRODUCT4(square_sums, moved, moved);
            OBTREE_ADD_PRODUCT4(cross_sums, moved, node);
        }
        squares_left = OBTREE_FOLD4(square_sums);
        cross = OBTREE_FOLD4(cross_sums);
        weight_left += weight_here;
        key = (uint32_t)b;
        ++n_found;
    }
    *score = best;
    return n_found;
}
