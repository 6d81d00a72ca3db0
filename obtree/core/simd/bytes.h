/* Rows of bytes, for features that are whole numbers from 0 to 255: a quarter of the memory of
 * float32, which is what sums over many scattered rows wait for.
 */

/* Sums of whole rows in single precision, in the order of approximate_rows. */
static void approximate_bytes(const uint8_t *restrict x, ptrdiff_t n_columns,
                              const int32_t *restrict rows, ptrdiff_t n, const float *restrict w,
                              double *restrict out)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        if (p + 4 < n) {
            OBTREE_PREFETCH_ROW(x + rows[p + 4] * n_columns, n_columns < 1024 ? n_columns : 1024);
        }
        out[p] = (double)dot_bytes(x + rows[p] * n_columns, w, n_columns);
    }
}

/* Sums of whole rows with whole weights, exact. */
static void sum_bytes(const uint8_t *restrict x, ptrdiff_t n_columns,
                      const int32_t *restrict rows, ptrdiff_t n, const int16_t *restrict w,
                      double *restrict out)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        const uint8_t *row = x + rows[p] * n_columns;
        ptrdiff_t k = 0;
        int32_t sum = 0;
        if (p + 4 < n) {
            OBTREE_PREFETCH_ROW(x + rows[p + 4] * n_columns, n_columns < 1024 ? n_columns : 1024);
        }
#ifdef OBTREE_SUM_BYTES32
        OBTREE_SUM_BYTES32(sum, k, row, w, n_columns);
#endif
        for (; k < n_columns; ++k) {
            sum += row[k] * w[k];
        }
        out[p] = (double)sum;
    }
}

static void add_bytes(const uint8_t *restrict x, ptrdiff_t n_columns,
                      const int32_t *restrict rows, const float *restrict factor, ptrdiff_t n,
                      float *restrict out)
{
    ptrdiff_t k = add_scaled_bytes(x, n_columns, rows, factor, n, out);
    for (; k < n_columns; ++k) {
        float sum = 0.0f;
        for (ptrdiff_t i = 0; i < n; ++i) {
            sum += factor[i] * (float)x[rows[i] * n_columns + k];
        }
        out[k] = sum;
    }
}

static void scale_bytes(const uint8_t *restrict x, ptrdiff_t n, const float *restrict origin,
                        const float *restrict scale, float *restrict out)
{
    for (ptrdiff_t k = 0; k < n; ++k) {
        out[k] = ((float)x[k] - origin[k]) * scale[k];
    }
}

static int64_t pack_bytes(const float *restrict x, ptrdiff_t n, uint8_t *restrict out)
{
    int32_t wrong = 0;
    int64_t sum = 0;
    for (ptrdiff_t k = 0; k < n; ++k) {
        /* NaN fails the test as well; what is cast is then in range. */
        const float cell = x[k] >= 0.0f && x[k] <= 255.0f ? x[k] : 0.0f;
        const int32_t whole = (int32_t)cell;
        wrong |= (float)whole != x[k];
        out[k] = (uint8_t)whole;
    }
    for (ptrdiff_t k = 0; k < n; ++k) {
        sum += out[k];
    }
    return wrong ? -1 : sum;
}
