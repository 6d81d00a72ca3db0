/* Sums over rows of float32, for hyperplanes that are moved step by step.
 *
 * Rows are `stride` floats apart, a multiple of eight, and padded with zeros. A sum over rows is
 * taken row after row for each column.
 */

static void dot_rows(const float *restrict x, ptrdiff_t stride, ptrdiff_t n,
                     const float *restrict w, float *restrict out)
{
    ptrdiff_t p = 0;
    for (; p + 4 <= n; p += 4) {
        const float *row = x + p * stride;
        dot_four(row, row + stride, row + 2 * stride, row + 3 * stride, w, stride, out + p);
    }
    for (; p < n; ++p) {
        out[p] = dot_one(x + p * stride, w, stride);
    }
}

/* Four sums, of which none waits for another; what is left over joins the first. */
static void dot_entries(const int64_t *restrict start, const int32_t *restrict column,
                        const float *restrict value, ptrdiff_t n, const float *restrict w,
                        float level, float *restrict out)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        int64_t e = start[p], end = start[p + 1];
        float a, b, c, d;
#if defined(__GNUC__) || defined(__clang__)
        /* As a vector from the start: compilers that find one in four sums shuffle too much. */
        vec4f sum = {0}, cells;
        for (; e + 4 <= end; e += 4) {
            const int32_t *at = column + e;
            vec4f weight = {w[at[0]], w[at[1]], w[at[2]], w[at[3]]};
            memcpy(&cells, value + e, sizeof(cells));
            sum = sum + cells * weight;
        }
        a = sum[0], b = sum[1], c = sum[2], d = sum[3];
#else
        a = b = c = d = 0.0f;
        for (; e + 4 <= end; e += 4) {
            a += value[e] * w[column[e]];
            b += value[e + 1] * w[column[e + 1]];
            c += value[e + 2] * w[column[e + 2]];
            d += value[e + 3] * w[column[e + 3]];
        }
#endif
        for (; e < end; ++e) {
            a += value[e] * w[column[e]];
        }
        out[p] = level + ((a + b) + (c + d));
    }
}

static void add_rows(const float *restrict x, ptrdiff_t stride, const int32_t *restrict at,
                     const float *restrict factor, ptrdiff_t n, float *restrict out)
{
    ptrdiff_t k = add_scaled_floats(x, stride, at, factor, n, out);
    vec8f a, f, cells;
    for (; k < stride; k += 8) {
        memset(&a, 0, sizeof(a));
        for (ptrdiff_t i = 0; i < n; ++i) {
            OBTREE_SET8(f, factor[i]);
            OBTREE_LOAD(cells, x + at[i] * stride + k);
            OBTREE_ADD_PRODUCT8(a, cells, f);
        }
        OBTREE_STORE(out + k, a);
    }
}

/* exp(x) for -87 <= x <= 0, to a few units in the last place, by the same steps everywhere. */
static inline float exp_within(float x)
{
    const int32_t whole = (int32_t)(x * 1.44269504f - 0.5f);
    const float n = (float)whole;
    const float f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float value = 1.9875691500e-4f;
    uint32_t bits = (uint32_t)(whole + 127) << 23;
    float power;
    value = value * f + 1.3981999507e-3f;
    value = value * f + 8.3334519073e-3f;
    value = value * f + 4.1665795894e-2f;
    value = value * f + 1.6666665459e-1f;
    value = value * f + 5.0000001201e-1f;
    value = value * f * f + f + 1.0f;
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

/* The same for any x <= 0. */
static inline float exp_below(float x)
{
    return exp_within(x > -87.0f ? x : -87.0f);
}

static void exp_differences(const float *restrict x, ptrdiff_t n, float top, float *restrict out)
{
    for (ptrdiff_t k = 0; k < n; ++k) {
        out[k] = exp_below(x[k] - top);
    }
}

static void add_moments(const float *restrict x, ptrdiff_t n, ptrdiff_t n_columns,
                        const float *restrict origin, const double *restrict weight,
                        double *restrict sum, double *restrict squares)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        const float *restrict row = x + p * n_columns;
        const double w = weight[p];
        for (ptrdiff_t k = 0; k < n_columns; ++k) {
            const double d = (double)(row[k] - origin[k]);
            const double wd = w * d;
            sum[k] += wd;
            squares[k] += wd * d;
        }
    }
}

static void standardise_row(const float *restrict x, const int32_t *restrict column,
                            ptrdiff_t n_columns,
                            const float *restrict origin, const float *restrict mean,
                            const float *restrict scale, float *restrict out)
{
    if (column == NULL) {
        for (ptrdiff_t k = 0; k < n_columns; ++k) {
            out[k] = ((x[k] - origin[k]) - mean[k]) * scale[k];
        }
        return;
    }
    for (ptrdiff_t k = 0; k < n_columns; ++k) {
        out[k] = ((x[column[k]] - origin[k]) - mean[k]) * scale[k];
    }
}

static void adam_step(float *restrict w, float *restrict m, float *restrict v,
                      const float *restrict gradient, ptrdiff_t n, float rate, float v_correction)
{
    for (ptrdiff_t k = 0; k < n; ++k) {
        const float g = gradient[k];
        m[k] = 0.9f * m[k] + 0.1f * g;
        v[k] = 0.99f * v[k] + 0.01f * (g * g);
        w[k] -= rate * m[k] / (sqrtf(v[k] * v_correction) + 1e-6f);
    }
}
