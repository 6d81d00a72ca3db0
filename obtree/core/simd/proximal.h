/* Steps of weights under an l1 penalty, each weight with a rate of its own. */

static void proximal_step(float *restrict w, float *restrict squares, float *restrict total,
                          const float *restrict gradient, ptrdiff_t n, float rate, float shrink,
                          float decay)
{
    for (ptrdiff_t k = 0; k < n; ++k) {
        const float g = gradient[k] + decay * w[k];
        const float s = squares[k] + g * g;
        const float step = s > 1e-30f ? rate / sqrtf(s) : 0.0f;
        const float moved = w[k] - step * g;
        const float cut = step * shrink;
        const float above = moved - cut > 0.0f ? moved - cut : 0.0f;
        const float below = moved + cut < 0.0f ? moved + cut : 0.0f;
        const float value = above + below;
        squares[k] = s;
        w[k] = value;
        total[k] += value;
    }
}

/* Sums of whole rows in single precision: good enough for most comparisons, and fast. */
static void approximate_rows(const float *restrict x, ptrdiff_t n_columns,
                             const int32_t *restrict rows, ptrdiff_t n, const float *restrict w,
                             double *restrict out)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        if (p + 3 < n) {
            OBTREE_PREFETCH_ROW(x + rows[p + 3] * n_columns,
                                4 * (n_columns < 128 ? n_columns : 128));
        }
        out[p] = (double)dot_floats(x + rows[p] * n_columns, w, n_columns);
    }
}
