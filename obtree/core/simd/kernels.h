/* The innermost loops, compiled once per instruction set and chosen at run time.
 *
 * Every target gives the same bits: the loops hold integers, comparisons, or
 * floating-point sums in an order that is written down, and the build forbids
 * fused multiply-add. What differs between targets is speed alone.
 */
#ifndef OBTREE_KERNELS_H
#define OBTREE_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Nodes packed for prediction, see traverse.h; laid out by tree/pack.pxi. The threshold of
 * a narrow node is a key (below), or less than any key at a leaf. */
typedef struct {
    uint32_t packed;
    uint32_t threshold;
} obtree_narrow_node;

typedef struct {
    double threshold;
    int32_t feature;
    uint32_t child;
} obtree_wide_node;

/* Nodes of trees with oblique splits, and further terms of their sums; see planes.h. */
typedef struct {
    double threshold;
    double weight;
    int32_t feature;
    uint32_t child;
    uint32_t first;
    int32_t n_more;
} obtree_plane_node;

typedef struct {
    double weight;
    int32_t feature;
    int32_t partner; /* second factor, or -1 */
} obtree_term;

typedef struct {
    const obtree_term *term;
    ptrdiff_t n_terms; /* that follow there */
    const double *long_weight;
    const int32_t *long_feature;
    const uint16_t *categories; /* of sets */
} obtree_plane_terms;

/* In n_more: the node tests whether a category is one of those from `first` on, ascending; its weight
 * is how many there are. */
#define OBTREE_SET INT32_MIN

/* Types of X that traverse_load reads, and the blocks it makes. */
enum { OBTREE_UINT8, OBTREE_INT16, OBTREE_FLOAT32, OBTREE_FLOAT64 };
enum { OBTREE_FLOAT_ROWS, OBTREE_KEY_ROWS, OBTREE_KEY_GROUPS };

/* A float32 as an unsigned integer in the same order: equal numbers (also 0 and -0) have
 * equal keys, NaN has the largest, and no number has a key below OBTREE_LOWEST_KEY. */
#define OBTREE_LOWEST_KEY 0x00800000u /* of minus infinity */
#define OBTREE_MISSING_KEY 0xFFFFFFFFu

static inline uint32_t obtree_make_key(float value)
{
    uint32_t bits, size, sign;
    memcpy(&bits, &value, sizeof bits);
    size = bits & 0x7FFFFFFFu;
    sign = 0u - (bits >> 31);
    /* Integers throughout, so that loops over it become vector code. */
    return (0x80000000u + ((size ^ sign) - sign)) | (0u - (uint32_t)(size > 0x7F800000u));
}

typedef struct {
    const char *name;

    /* `codes` is one column of ranks, `width` bytes each (1, 2 or 4), `stride` bytes apart.
     * out[p] = rank of rows[p] for p < n; the smallest and largest go to *low, *high. Here and
     * below: strides other than `width` are for widths 1 and 2; with stride 0 the rows count
     * bytes. */
    void (*gather_codes)(const void *codes, int32_t width, ptrdiff_t stride,
                         const int32_t *rows, ptrdiff_t n, uint32_t *out, uint32_t *low,
                         uint32_t *high);

    /* Words rank << 32 | p of those rows only whose rank is not zero, in the order of the
     * rows; returns how many, and all their ranks' bits ORed in *bits. `words` has room for
     * n. */
    ptrdiff_t (*gather_above)(const void *codes, int32_t width, ptrdiff_t stride,
                              const int32_t *rows, ptrdiff_t n, uint64_t *words,
                              uint32_t *bits);

    /* Bins, zero before, from ranks that need not be gathered first. Rank of row p:
     * codes at rows[p] * stride bytes (width 1, 2 or 4), or codes[p] when rows is NULL.
     * fill_classes: bins[(rank - low) * n_slots + slot[p]] += w[p].
     * fill_moments: bins[(rank - low) * n_fields + k] += records[p * n_fields + k]. */
    void (*fill_classes)(const void *codes, int32_t width, ptrdiff_t stride,
                         const int32_t *rows, ptrdiff_t n, uint32_t low, const int32_t *slot,
                         const double *w, ptrdiff_t n_slots, double *bins);
    void (*fill_moments)(const void *codes, int32_t width, ptrdiff_t stride,
                         const int32_t *rows, ptrdiff_t n, uint32_t low, const double *records,
                         ptrdiff_t n_fields, double *bins);

    /* The same for weights that are small whole numbers:
     * counts[(rank - low) * n_slots + (packed[p] & 0xffff)] += packed[p] >> 16. */
    void (*fill_counts)(const void *codes, int32_t width, ptrdiff_t stride, const int32_t *rows,
                        ptrdiff_t n, uint32_t low, const uint32_t *packed, ptrdiff_t n_slots,
                        uint32_t *counts);

    /* The same for two columns of one width and stride at once (not gathered ones): what is
     * known of a row is read once. */
    void (*fill_two_counts)(const void *codes, const void *others, int32_t width,
                            ptrdiff_t stride, const int32_t *rows, ptrdiff_t n,
                            const uint32_t *packed, ptrdiff_t n_slots, uint32_t *counts,
                            uint32_t *other_counts);

    /* packed[p] = of_row[rows[p]], counted by slot: the sum of both halves of `counts`
     * (2 * n_slots, zero before), each with every other row. */
    void (*load_counts)(const uint32_t *of_row, const int32_t *rows, ptrdiff_t n,
                        uint32_t *packed, ptrdiff_t n_slots, uint32_t *counts);

    /* Best Gini cut between the bins of one output; clears them. n_slots is a multiple of
     * four. IN total (n_slots) of the node, `squares` their sum of squares, `weight` their
     * sum; SCRATCH left (n_slots). Returns how many bins held anything; *score, *low_key
     * and *high_key change when a cut with both sides of min_weight or more beats *score
     * by more than margin. */
    ptrdiff_t (*sweep_gini)(double *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                            const double *total, double *left, double weight, double squares,
                            double min_weight, double margin, double *score,
                            uint32_t *low_key, uint32_t *high_key);

    ptrdiff_t (*sweep_gini_counts)(uint32_t *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                                   const double *total, double *left, double weight,
                                   double squares, double min_weight, double margin,
                                   double *score, uint32_t *low_key, uint32_t *high_key);

    /* Best entropy cut of one output when all weights are whole numbers: between different
     * keys of sorted words (key << 32 | p), with packed[p] as in fill_counts, or between
     * bins, which are cleared; the rest as in sweep_gini. IN xlogx: x log x of every whole
     * number up to `weight`; inside: their sum over the totals. A side of a cut between
     * words has at least min_rows rows. */
    void (*sweep_entropy_words)(const uint64_t *words, ptrdiff_t n, const uint32_t *packed,
                                const uint32_t *total, uint32_t *left, ptrdiff_t n_slots,
                                const double *xlogx, double inside, uint32_t weight,
                                ptrdiff_t min_rows, double min_weight, double margin,
                                double *score, uint32_t *low_key, uint32_t *high_key);
    ptrdiff_t (*sweep_entropy_counts)(uint32_t *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                                      const uint32_t *total, uint32_t *left,
                                      const double *xlogx, double inside, uint32_t weight,
                                      double min_weight, double margin, double *score,
                                      uint32_t *low_key, uint32_t *high_key);

    /* words[p] = (codes[p] - low) << 32 | p, sorted ascending. `high` - `low` bounds the keys.
     * `buffer` holds n words of scratch. */
    void (*sort_codes)(const uint32_t *codes, ptrdiff_t n, uint32_t low, uint32_t high,
                       uint64_t *words, uint64_t *buffer);

    /* Sort n words ascending, whose upper halves are at most `high`; those with equal
     * upper halves must come in ascending order of their lower halves already. `buffer`
     * holds n words of scratch. */
    void (*sort_words)(uint64_t *words, ptrdiff_t n, uint32_t high, uint64_t *buffer);

    /* out[p] = projection of row rows[p] on the direction, in the order of the sum that
     * data/hyperplane.pxd defines. Strides count floats. */
    void (*project_rows)(const float *X, ptrdiff_t row_stride, ptrdiff_t col_stride,
                         const int32_t *feature, const double *weight, ptrdiff_t n_terms,
                         const int32_t *rows, ptrdiff_t n, double *out);

    /* keys[p] = offset + sum over k of factor[k] * table[k][code of row rows[p] in codes[k]],
     * never negative; table NULL: factor[k] * code. Consecutive codes stand `stride` bytes
     * apart. The smallest and largest key go to *low, *high. */
    void (*add_tables)(const uint8_t *const *codes, ptrdiff_t stride,
                       const int32_t *const *table, const int32_t *factor, ptrdiff_t n_terms,
                       int32_t offset, const int32_t *rows, ptrdiff_t n, uint32_t *keys,
                       uint32_t *low, uint32_t *high);

    /* The smallest and the largest score that is not NaN; returns how many are NaN. */
    ptrdiff_t (*score_range)(const double *score, ptrdiff_t n, double *low, double *high);

    /* keys[p] = (score[p] - low) * scale, rounded; the products lie in [0, 2^32). The key of
     * NaN is unspecified. */
    void (*score_keys)(const double *score, ptrdiff_t n, double low, double scale,
                       uint32_t *keys);

    /* Words of the rows that change sides when step * x[p] is added to score[p], a row being
     * left while its score is negative: the step as a float key, then token[p] << 1, plus 1
     * when the row is left now. Rows without a finite step are left out. Returns how many
     * words there are, *n_down of them with a negative step; they are not sorted. */
    ptrdiff_t (*find_steps)(const double *score, const float *x, const uint32_t *token,
                            ptrdiff_t n, uint64_t *words, ptrdiff_t *n_down);

    /* score[p] += step * x[p] */
    void (*add_column)(double *score, const float *x, double step, ptrdiff_t n);

    /* Stable split of rows by rank: those with codes <= cut stay in front. Returns how many.
     * The rank of row p stands at places[p], which may be the rows themselves. `buffer`
     * holds n rows of scratch. */
    ptrdiff_t (*split_rows)(const void *codes, int32_t width, ptrdiff_t stride, uint32_t cut,
                            const int32_t *places, int32_t *rows, ptrdiff_t n,
                            int32_t *buffer);

    /* Rows of ranks side by side: out[p * row_bytes + k] = codes[rows[p] * row_bytes + k] for
     * p < n and k < row_bytes, and in bits[k] all that are set in any of them. */
    void (*copy_codes)(const uint8_t *codes, ptrdiff_t row_bytes, const int32_t *rows,
                       ptrdiff_t n, uint8_t *out, uint8_t *bits);

    /* Rows of float32, `stride` apart: a multiple of eight, padded with zeros.
     * dot_rows: out[p] = sum over k of x[p * stride + k] * w[k], for p < n.
     * add_rows: out[k] = sum over i < n of factor[i] * x[at[i] * stride + k], k < stride.
     * dot_entries: out[p] = level + sum over e from start[p] to start[p + 1] of
     *     value[e] * w[column[e]], for p < n: rows of which but a few entries are stored.
     * exp_differences: out[k] = exp(x[k] - top), where no x[k] is above top. */
    void (*dot_rows)(const float *x, ptrdiff_t stride, ptrdiff_t n, const float *w, float *out);
    void (*dot_entries)(const int64_t *start, const int32_t *column, const float *value,
                        ptrdiff_t n, const float *w, float level, float *out);
    void (*add_rows)(const float *x, ptrdiff_t stride, const int32_t *at, const float *factor,
                     ptrdiff_t n, float *out);
    void (*exp_differences)(const float *x, ptrdiff_t n, float top, float *out);

    /* add_moments: with d = x[p * n_columns + k] - origin[k], for p < n and k < n_columns,
     * sum[k] += weight[p] * d and squares[k] += weight[p] * d * d.
     * standardise_row: out[k] = (x[column[k]] - origin[k] - mean[k]) * scale[k], k < n_columns;
     * column NULL: x[k]. */
    void (*add_moments)(const float *x, ptrdiff_t n, ptrdiff_t n_columns, const float *origin,
                        const double *weight, double *sum, double *squares);
    void (*standardise_row)(const float *x, const int32_t *column, ptrdiff_t n_columns,
                            const float *origin, const float *mean, const float *scale, float *out);

    /* One step of Adam (Kingma and Ba, 2015): moments m and v forget at 0.9 and 0.99, and
     * w[k] -= rate * m[k] / (sqrt(v[k] * v_correction) + 1e-6), for k < n. */
    void (*adam_step)(float *w, float *m, float *v, const float *gradient, ptrdiff_t n,
                      float rate, float v_correction);

    /* dot_selected: out[i] = sum over k of w[at[i] * stride + k] * x[k], for i < n; rows as above.
     * apply_logistic: above[k] = 1 / (1 + exp(-score[k])) and below[k] = 1 - above[k], with
     * scores clipped to -30..30; one that is not a number counts as 30. */
    void (*dot_selected)(const float *w, ptrdiff_t stride, const int32_t *at, ptrdiff_t n,
                         const float *x, float *out);
    void (*apply_logistic)(const float *score, ptrdiff_t n, float *below, float *above);

    /* One step of proximal AdaGrad (Duchi, Hazan and Singer, 2011) for k < n: with
     * g = gradient[k] + decay * w[k] and squares[k] += g * g, the weight moves by -step * g,
     * step = rate / sqrt(squares[k]), then towards zero by at most step * shrink; total[k]
     * adds up what it becomes. */
    void (*proximal_step)(float *w, float *squares, float *total, const float *gradient,
                          ptrdiff_t n, float rate, float shrink, float decay);

    /* out[p] = about the sum over k < n_columns of x[rows[p] * n_columns + k] * w[k]: each of at
     * most n_columns / 32 + 40 roundings is a relative error of 2^-24 of the sum of sizes. */
    void (*approximate_rows)(const float *x, ptrdiff_t n_columns, const int32_t *rows, ptrdiff_t n,
                             const float *w, double *out);

    /* Rows of bytes instead of float32, n_columns apart.
     * approximate_bytes: as approximate_rows, to the bit.
     * sum_bytes: out[p] = sum over k < n_columns of x[rows[p] * n_columns + k] * w[k], exact; no
     * sum of sizes may exceed 2^31 - 1.
     * add_bytes: out[k] = sum over i < n of factor[i] * x[rows[i] * n_columns + k], k < n_columns.
     * scale_bytes: out[k] = (x[k] - origin[k]) * scale[k], for k < n.
     * pack_bytes: out[k] = x[k], for k < n; their sum, or -1 if one of them is not a whole number
     * from 0 to 255. */
    void (*approximate_bytes)(const uint8_t *x, ptrdiff_t n_columns, const int32_t *rows,
                              ptrdiff_t n, const float *w, double *out);
    void (*sum_bytes)(const uint8_t *x, ptrdiff_t n_columns, const int32_t *rows, ptrdiff_t n,
                      const int16_t *w, double *out);
    void (*add_bytes)(const uint8_t *x, ptrdiff_t n_columns, const int32_t *rows,
                      const float *factor, ptrdiff_t n, float *out);
    void (*scale_bytes)(const uint8_t *x, ptrdiff_t n, const float *origin, const float *scale,
                        float *out);
    int64_t (*pack_bytes)(const float *x, ptrdiff_t n, uint8_t *out);

    /* found[r] = slot of the leaf that row r of a block reaches. Every row takes n_unchecked
     * steps before any is looked at. `scratch` holds 3 * (n_rows + 16). Narrow nodes take a block
     * of OBTREE_KEY_GROUPS, wide ones of OBTREE_FLOAT_ROWS. */
    void (*traverse_narrow)(const obtree_narrow_node *nodes, const uint32_t *x, ptrdiff_t n_rows,
                            ptrdiff_t n_features, int32_t shift, uint32_t mask, int32_t n_unchecked,
                            int32_t has_missing, uint32_t *found, uint32_t *scratch);
    void (*traverse_wide)(const obtree_wide_node *nodes, const float *x, ptrdiff_t n_rows,
                          ptrdiff_t n_features, int32_t n_unchecked, uint32_t *found,
                          uint32_t *scratch);

    /* The same for trees with oblique nodes, in blocks of OBTREE_FLOAT_ROWS: linear ones, and
     * those with products or intervals (`lower` by slot, or NULL). */
    void (*traverse_planes)(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                            ptrdiff_t n_slots, const float *x, ptrdiff_t n_rows,
                            ptrdiff_t n_features, uint32_t *found);
    void (*traverse_forms)(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                           const double *lower, const float *x, ptrdiff_t n_rows,
                           ptrdiff_t n_features, uint32_t *found);

    /* found[t] = slot of the leaf that one row of OBTREE_KEY_ROWS reaches in tree t, whose
     * nodes begin at start[t]. */
    void (*traverse_trees)(const obtree_narrow_node *nodes, const int64_t *start,
                           ptrdiff_t n_trees, const uint32_t *x, int32_t shift, uint32_t mask,
                           uint32_t *found);

    /* Convert rows of X (strides in bytes) to a block. Returns whether a key is missing. */
    int32_t (*traverse_load)(const void *source, int32_t type, ptrdiff_t row_stride,
                             ptrdiff_t column_stride, ptrdiff_t n_rows, ptrdiff_t n_features,
                             int32_t layout, void *x);
} obtree_kernels;

const obtree_kernels *obtree_active_kernels(void);
int obtree_select_kernels(const char *name); /* 0 when there is no such target here */
const char *obtree_target_name(int k);       /* k-th usable target, NULL past the last */

#endif
