/* Sums over long rows of one type of cells, 32 columns at a time.
 *
 * Included once for each type: OBTREE_CELL, OBTREE_LOAD_CELLS, which loads eight of them as float,
 * and OBTREE_OF_CELLS, which names the functions, are defined before and gone afterwards.
 */

/* The sum of row[k] * w[k]: four times eight partial sums, and what is left over. */
static inline float OBTREE_OF_CELLS(dot)(const OBTREE_CELL *restrict row,
                                         const float *restrict w, ptrdiff_t n_columns)
{
    const vec8f zero = {0};
    vec8f a = zero, b = zero, c = zero, d = zero, weight, cells;
    ptrdiff_t k = 0;
    float rest = 0.0f;
    for (; k + 32 <= n_columns; k += 32) {
        OBTREE_LOAD(weight, w + k);
        OBTREE_LOAD_CELLS(cells, row + k);
        OBTREE_ADD_PRODUCT8(a, cells, weight);
        OBTREE_LOAD(weight, w + k + 8);
        OBTREE_LOAD_CELLS(cells, row + k + 8);
        OBTREE_ADD_PRODUCT8(b, cells, weight);
        OBTREE_LOAD(weight, w + k + 16);
        OBTREE_LOAD_CELLS(cells, row + k + 16);
        OBTREE_ADD_PRODUCT8(c, cells, weight);
        OBTREE_LOAD(weight, w + k + 24);
        OBTREE_LOAD_CELLS(cells, row + k + 24);
        OBTREE_ADD_PRODUCT8(d, cells, weight);
    }
    for (; k < n_columns; ++k) {
        rest += (float)row[k] * w[k];
    }
    return ((fold8(a) + fold8(b)) + (fold8(c) + fold8(d))) + rest;
}

/* The sum of factor[i] * row at[i], row after row for each column. Returns how many columns, a
 * multiple of 32, have been summed up. */
static inline ptrdiff_t OBTREE_OF_CELLS(add_scaled)(const OBTREE_CELL *restrict x,
                                                    ptrdiff_t stride,
                                                    const int32_t *restrict at,
                                                    const float *restrict factor, ptrdiff_t n,
                                                    float *restrict out)
{
    ptrdiff_t k = 0;
    vec8f a, b, c, d, f, cells;
    for (; k + 32 <= stride; k += 32) {
        memset(&a, 0, sizeof(a));
        b = c = d = a;
        for (ptrdiff_t i = 0; i < n; ++i) {
            const OBTREE_CELL *row = x + at[i] * stride + k;
            OBTREE_SET8(f, factor[i]);
            OBTREE_LOAD_CELLS(cells, row);
            OBTREE_ADD_PRODUCT8(a, cells, f);
            OBTREE_LOAD_CELLS(cells, row + 8);
            OBTREE_ADD_PRODUCT8(b, cells, f);
            OBTREE_LOAD_CELLS(cells, row + 16);
            OBTREE_ADD_PRODUCT8(c, cells, f);
            OBTREE_LOAD_CELLS(cells, row + 24);
            OBTREE_ADD_PRODUCT8(d, cells, f);
        }
        OBTREE_STORE(out + k, a);
        OBTREE_STORE(out + k + 8, b);
        OBTREE_STORE(out + k + 16, c);
        OBTREE_STORE(out + k + 24, d);
    }
    return k;
}

#undef OBTREE_CELL
#undef OBTREE_LOAD_CELLS
#undef OBTREE_OF_CELLS
