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

/* Nodes packed for prediction, see traverse.h; laid out by tree/pack.pyx. */
typedef struct {
    uint32_t packed;
    float threshold;
} obtree_narrow_node;

typedef struct {
    double threshold;
    int32_t feature;
    uint32_t child;
} obtree_wide_node;

/* Types of X that traverse_load reads. */
enum { OBTREE_UINT8, OBTREE_INT16, OBTREE_FLOAT32, OBTREE_FLOAT64 };

typedef struct {
    const char *name;

    /* `codes` is one column of ranks, `width` bytes each (1, 2 or 4).
     * out[p] = codes[rows[p]] for p < n; the smallest and largest go to *low, *high. */
    void (*gather_codes)(const void *codes, int32_t width, const int32_t *rows, ptrdiff_t n,
                         uint32_t *out, uint32_t *low, uint32_t *high);

    /* The same where consecutive ranks stand `stride` bytes apart (width 1 or 2). */
    void (*gather_strided)(const void *codes, int32_t width, ptrdiff_t stride,
                           const int32_t *rows, ptrdiff_t n, uint32_t *out, uint32_t *low,
                           uint32_t *high);

    /* words[p] = (codes[p] - low) << 32 | p, sorted ascending. `high` - `low` bounds the keys.
     * `spare` holds n words of scratch. */
    void (*sort_codes)(const uint32_t *codes, ptrdiff_t n, uint32_t low, uint32_t high,
                       uint64_t *words, uint64_t *spare);

    /* Sort n words ascending; those with equal upper halves must come in ascending
     * order of their lower halves already. `spare` holds n words of scratch. */
    void (*sort_words)(uint64_t *words, ptrdiff_t n, uint64_t *spare);

    /* Stable split of rows by rank: rows with codes <= cut stay in front. Returns how
     * many. `spare` holds n rows of scratch. */
    ptrdiff_t (*split_rows)(const void *codes, int32_t width, uint32_t cut, int32_t *rows,
                            ptrdiff_t n, int32_t *spare);

    /* found[r] = slot of the leaf that row r of a block reaches. Every row takes n_sure
     * steps before any is looked at. `scratch` holds 3 * n_rows. Narrow blocks keep
     * sixteen rows side by side, wide ones keep rows contiguous. */
    void (*traverse_narrow)(const obtree_narrow_node *nodes, const float *x, ptrdiff_t n_rows,
                            ptrdiff_t n_features, int32_t shift, uint32_t mask, int32_t n_sure,
                            int32_t has_missing, uint32_t *found, uint32_t *scratch);
    void (*traverse_wide)(const obtree_wide_node *nodes, const float *x, ptrdiff_t n_rows,
                          ptrdiff_t n_features, int32_t n_sure, uint32_t *found,
                          uint32_t *scratch);

    /* found[t] = slot of the leaf that one contiguous row reaches in tree t, whose nodes
     * begin at start[t]. */
    void (*traverse_trees)(const obtree_narrow_node *nodes, const int64_t *start,
                           ptrdiff_t n_trees, const float *x, int32_t shift, uint32_t mask,
                           uint32_t *found);

    /* Convert rows of X (strides in bytes) to a block as the two walks above want it. */
    void (*traverse_load)(const void *source, int32_t type, ptrdiff_t row_stride,
                          ptrdiff_t column_stride, ptrdiff_t n_rows, ptrdiff_t n_features,
                          int32_t grouped, float *x);

    /* Whether a value of x[0:n] is NaN. */
    int32_t (*traverse_missing)(const float *x, ptrdiff_t n);
} obtree_kernels;

const obtree_kernels *obtree_active_kernels(void);
int obtree_select_kernels(const char *name); /* 0 when there is no such target here */
const char *obtree_target_name(int k);       /* k-th usable target, NULL past the last */

#endif
