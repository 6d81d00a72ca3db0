/* Soft decisions: scores of one row in scattered units, and their logistic functions.
 *
 * Rows of weights are `stride` floats long, a multiple of eight. A score goes into eight
 * partial sums as in stump.h. A score that is not a number counts as the largest, so that
 * what follows never meets one.
 */

static void dot_units(const float *restrict w, ptrdiff_t stride, const int32_t *restrict at,
                      ptrdiff_t n, const float *restrict x, float *restrict out)
{
    const vec8f zero = {0};
    ptrdiff_t i = 0;
    /* Four units at a time, since each sum has to wait for itself. */
    for (; i + 4 <= n; i += 4) {
        const float *p = w + at[i] * stride, *q = w + at[i + 1] * stride;
        const float *r = w + at[i + 2] * stride, *s = w + at[i + 3] * stride;
        vec8f a = zero, b = zero, c = zero, d = zero, weight, cells;
        for (ptrdiff_t k = 0; k < stride; k += 8) {
            OBTREE_LOAD(cells, x + k);
            OBTREE_LOAD(weight, p + k);
            OBTREE_ADD_PRODUCT8(a, cells, weight);
            OBTREE_LOAD(weight, q + k);
            OBTREE_ADD_PRODUCT8(b, cells, weight);
            OBTREE_LOAD(weight, r + k);
            OBTREE_ADD_PRODUCT8(c, cells, weight);
            OBTREE_LOAD(weight, s + k);
            OBTREE_ADD_PRODUCT8(d, cells, weight);
        }
        fold_four(a, b, c, d, out + i);
    }
    for (; i < n; ++i) {
        vec8f a = zero, weight, cells;
        for (ptrdiff_t k = 0; k < stride; k += 8) {
            OBTREE_LOAD(cells, x + k);
            OBTREE_LOAD(weight, w + at[i] * stride + k);
            OBTREE_ADD_PRODUCT8(a, cells, weight);
        }
        out[i] = fold8(a);
    }
}

/* In two passes and with masks: compilers would branch around all that follows a clamp, and
 * take one score at a time. */
static void soften_scores(const float *restrict score, ptrdiff_t n, float *restrict below,
                          float *restrict above)
{
    for (ptrdiff_t k = 0; k < n; ++k) {
        const float size = fabsf(score[k]);
        below[k] = size < 30.0f ? size : 30.0f;
    }
    for (ptrdiff_t k = 0; k < n; ++k) {
        const float e = exp_within(-below[k]);
        const float large = 1.0f / (1.0f + e);
        const float small = e * large;
        const uint32_t is_negative = 0u - (uint32_t)(score[k] < 0.0f);
        uint32_t low, high, swapped;
        memcpy(&low, &small, sizeof low);
        memcpy(&high, &large, sizeof high);
        swapped = (low ^ high) & is_negative;
        low ^= swapped;
        high ^= swapped;
        memcpy(below + k, &low, sizeof low);
        memcpy(above + k, &high, sizeof high);
    }
}
