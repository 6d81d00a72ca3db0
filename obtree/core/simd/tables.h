/* Whole-number projections: small integers looked up by rank and added. */

/* What term k adds for the row whose codes stand at `at`: by its table, or the rank itself. */
#define OBTREE_BY_TABLE(k) (factor##k * table##k[codes##k[at]])
#define OBTREE_BY_RANK(k) (factor##k * (int32_t)codes##k[at])

/* SUM computes the key of the row whose codes stand at `at`. */
#define OBTREE_ADD_TABLES(SUM)                                                                   \
    OBTREE_UNROLL                                                                                \
    for (ptrdiff_t p = 0; p < n; ++p) {                                                          \
        const ptrdiff_t at = rows[p] * stride;                                                   \
        if (stride != 1 && p + OBTREE_AHEAD < n) {                                               \
            OBTREE_PREFETCH(codes0 + rows[p + OBTREE_AHEAD] * stride);                           \
        }                                                                                        \
        keys[p] = (uint32_t)(SUM);                                                               \
    }

/* The first three terms at once, others one after the other. */
#define OBTREE_ADD_TERMS(TERM)                                                                   \
    if (n_terms == 1) {                                                                          \
        OBTREE_ADD_TABLES(offset + TERM(0))                                                      \
    } else if (n_terms == 2) {                                                                   \
        OBTREE_ADD_TABLES(offset + TERM(0) + TERM(1))                                            \
    } else {                                                                                     \
        OBTREE_ADD_TABLES(offset + TERM(0) + TERM(1) + TERM(2))                                  \
    }

static void add_tables(const uint8_t *const *codes, ptrdiff_t stride,
                       const int32_t *const *table, const int32_t *factor, ptrdiff_t n_terms,
                       int32_t offset, const int32_t *restrict rows, ptrdiff_t n,
                       uint32_t *restrict keys, uint32_t *low, uint32_t *high)
{
    const ptrdiff_t second = n_terms > 1 ? 1 : 0, third = n_terms > 2 ? 2 : 0;
    const uint8_t *restrict codes0 = codes[0], *restrict codes1 = codes[second],
                            *restrict codes2 = codes[third];
    int32_t factor0 = factor[0], factor1 = factor[second], factor2 = factor[third];
    if (table == NULL) {
        OBTREE_ADD_TERMS(OBTREE_BY_RANK)
    } else {
        const int32_t *restrict table0 = table[0], *restrict table1 = table[second],
                                *restrict table2 = table[third];
        OBTREE_ADD_TERMS(OBTREE_BY_TABLE)
    }
    for (ptrdiff_t k = 3; k < n_terms; ++k) {
        codes0 = codes[k];
        factor0 = factor[k];
        if (table == NULL) {
            OBTREE_ADD_TABLES((int32_t)keys[p] + OBTREE_BY_RANK(0))
        } else {
            const int32_t *restrict table0 = table[k];
            OBTREE_ADD_TABLES((int32_t)keys[p] + OBTREE_BY_TABLE(0))
        }
    }
    find_range(keys, n, low, high);
}
