/* Soft decisions: scores of one row in scattered units, and their logistic functions.
 *
 * Rows of weights are `stride` floats long, a multiple of eight. A score goes into eight
 * partial sums as in dots.h. A score that is not a number counts as the largest, so that
 * what follows never meets one.
 */

static void dot_selected(const float *restrict w, ptrdiff_t stride, const int32_t *restrict at,
                         ptrdiff_t n, const float *restrict x, float *restrict out)
{
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        dot_four(w + at[i] * stride, w + at[i + 1] * stride, w + at[i + 2] * stride,
                 w + at[i + 3] * stride, x, stride, out + i);
    }
    for (; i < n; ++i) {
        out[i] = dot_one(w + at[i] * stride, x, stride);
    }
}

/* In two passes and with masks: compilers would branch around all that follows a clamp, and
 * take one score at a time. */
static void apply_logistic(const float *restrict score, ptrdiff_t n, float *restrict below,
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
