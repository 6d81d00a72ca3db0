/* Projecting rows on a direction, and turning the projections into keys to sort.
 *
 * Projections are summed in the order that data/hyperplane.pxd defines: up to 15 terms
 * one after the other, longer lists in 16 partial sums.
 */

enum { OBTREE_LANES = 16, OBTREE_ROWS_AHEAD = 16 };

#define OBTREE_TERM(k) (weight[k] * (double)row[feature[k] * col_stride])

static double project_long(const int32_t *feature, const double *weight, ptrdiff_t n_terms,
                           const float *row, ptrdiff_t col_stride)
{
    double lanes[OBTREE_LANES];
    for (ptrdiff_t k = 0; k < OBTREE_LANES; ++k) {
        lanes[k] = OBTREE_TERM(k);
    }
    ptrdiff_t k = OBTREE_LANES;
    for (; k + OBTREE_LANES <= n_terms; k += OBTREE_LANES) {
        for (ptrdiff_t lane = 0; lane < OBTREE_LANES; ++lane) {
            lanes[lane] += OBTREE_TERM(k + lane);
        }
    }
    for (ptrdiff_t lane = 0; k + lane < n_terms; ++lane) {
        lanes[lane] += OBTREE_TERM(k + lane);
    }
    for (ptrdiff_t width = OBTREE_LANES / 2; width > 0; width /= 2) {
        for (ptrdiff_t lane = 0; lane < width; ++lane) {
            lanes[lane] += lanes[lane + width];
        }
    }
    return lanes[0];
}

/* SUM computes the projection of `row`. The lines of rows to come are asked for early. */
#define OBTREE_PROJECT(SUM)                                                                      \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        const float *row = X + rows[p] * row_stride;                                             \
        if (p + OBTREE_ROWS_AHEAD < n) {                                                         \
            OBTREE_PREFETCH(X + rows[p + OBTREE_ROWS_AHEAD] * row_stride +                       \
                            feature[0] * col_stride);                                            \
        }                                                                                        \
        out[p] = SUM;                                                                            \
    }

static void project_rows(const float *X, ptrdiff_t row_stride, ptrdiff_t col_stride,
                         const int32_t *feature, const double *weight, ptrdiff_t n_terms,
                         const int32_t *rows, ptrdiff_t n, double *out)
{
    if (n_terms >= OBTREE_LANES) {
        OBTREE_PROJECT(project_long(feature, weight, n_terms, row, col_stride))
    } else if (n_terms == 1) {
        OBTREE_PROJECT(0.0 + OBTREE_TERM(0))
    } else if (n_terms == 2) {
        OBTREE_PROJECT(0.0 + OBTREE_TERM(0) + OBTREE_TERM(1))
    } else if (n_terms == 3) {
        OBTREE_PROJECT(0.0 + OBTREE_TERM(0) + OBTREE_TERM(1) + OBTREE_TERM(2))
    } else {
        for (ptrdiff_t p = 0; p < n; ++p) {
            const float *row = X + rows[p] * row_stride;
            double total = 0.0;
            for (ptrdiff_t k = 0; k < n_terms; ++k) {
                total += OBTREE_TERM(k);
            }
            out[p] = total;
        }
    }
}

/* Comparisons with NaN are false, so missing scores change neither end of the range. */
static ptrdiff_t score_range(const double *score, ptrdiff_t n, double *low, double *high)
{
    double lowest[4], highest[4];
    ptrdiff_t missing[4] = {0, 0, 0, 0}, p = 0;
    for (int lane = 0; lane < 4; ++lane) {
        lowest[lane] = INFINITY;
        highest[lane] = -INFINITY;
    }
    for (; p + 4 <= n; p += 4) {
        for (int lane = 0; lane < 4; ++lane) {
            const double s = score[p + lane];
            lowest[lane] = s < lowest[lane] ? s : lowest[lane];
            highest[lane] = s > highest[lane] ? s : highest[lane];
            missing[lane] += s != s;
        }
    }
    for (; p < n; ++p) {
        const double s = score[p];
        lowest[0] = s < lowest[0] ? s : lowest[0];
        highest[0] = s > highest[0] ? s : highest[0];
        missing[0] += s != s;
    }
    for (int lane = 1; lane < 4; ++lane) {
        lowest[0] = lowest[lane] < lowest[0] ? lowest[lane] : lowest[0];
        highest[0] = highest[lane] > highest[0] ? highest[lane] : highest[0];
        missing[0] += missing[lane];
    }
    *low = lowest[0];
    *high = highest[0];
    return missing[0];
}

/* Adding 2^52 leaves a non-negative number below 2^32, rounded, in the lowest bits. */
static void score_keys(const double *score, ptrdiff_t n, double low, double scale, uint32_t *keys)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        const double shifted = (score[p] - low) * scale + 4503599627370496.0;
        uint64_t bits;
        memcpy(&bits, &shifted, sizeof(bits));
        keys[p] = (uint32_t)bits;
    }
}
