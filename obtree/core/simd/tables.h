/* Whole-number projections: small integers looked up by rank and added. */

#define OBTREE_ENTRY(k) (factor[k] * table[k][codes[k][at]])

/* SUM computes the key of the row whose codes stand at `at`. */
#define OBTREE_ADD_TABLES(SUM)                                                                   \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        const ptrdiff_t at = rows[p] * stride;                                                   \
        if (stride != 1 && p + OBTREE_AHEAD < n) {                                               \
            OBTREE_PREFETCH(codes[0] + rows[p + OBTREE_AHEAD] * stride);                         \
        }                                                                                        \
        keys[p] = (uint32_t)(SUM);                                                               \
    }

static void add_tables(const uint8_t *const *codes, ptrdiff_t stride,
                       const int32_t *const *table, const int32_t *factor, ptrdiff_t n_terms,
                       int32_t offset, const int32_t *restrict rows, ptrdiff_t n,
                       uint32_t *restrict keys, uint32_t *low, uint32_t *high)
{
    if (n_terms == 1) {
        const uint8_t *restrict codes0 = codes[0];
        const int32_t *restrict table0 = table[0];
        const int32_t factor0 = factor[0];
        OBTREE_ADD_TABLES(offset + factor0 * table0[codes0[at]])
    } else if (n_terms == 2) {
        const uint8_t *restrict codes0 = codes[0], *restrict codes1 = codes[1];
        const int32_t *restrict table0 = table[0], *restrict table1 = table[1];
        const int32_t factor0 = factor[0], factor1 = factor[1];
        OBTREE_ADD_TABLES(offset + factor0 * table0[codes0[at]] + factor1 * table1[codes1[at]])
    } else if (n_terms == 3) {
        OBTREE_ADD_TABLES(offset + OBTREE_ENTRY(0) + OBTREE_ENTRY(1) + OBTREE_ENTRY(2))
    } else {
        for (ptrdiff_t p = 0; p < n; ++p) {
            const ptrdiff_t at = rows[p] * stride;
            int32_t key = offset;
            for (ptrdiff_t k = 0; k < n_terms; ++k) {
                key += OBTREE_ENTRY(k);
            }
            keys[p] = (uint32_t)key;
        }
    }
    find_range(keys, n, low, high);
}
