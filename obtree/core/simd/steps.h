/* Searching along a line of planes: where each row changes sides.
 *
 * Every operation is one on a single row, so that vectors of any width give the same bits.
 */

enum { OBTREE_STEP_BLOCK = 256 };

static ptrdiff_t find_steps(const double *score, const float *x, const uint32_t *token,
                            ptrdiff_t n, uint64_t *words, ptrdiff_t *n_down)
{
    float step[OBTREE_STEP_BLOCK];
    int32_t at[OBTREE_STEP_BLOCK];
    ptrdiff_t n_words = 0, n_negative = 0;
    for (ptrdiff_t start = 0; start < n; start += OBTREE_STEP_BLOCK) {
        const ptrdiff_t m = n - start < OBTREE_STEP_BLOCK ? n - start : OBTREE_STEP_BLOCK;
        const double *s = score + start;
        const float *column = x + start;
        /* Columns may be zero for most rows, which then cost no more than this. */
        ptrdiff_t n_moving = 0;
        for (ptrdiff_t k = 0; k < m; ++k) {
            at[n_moving] = (int32_t)k;
            n_moving += column[k] != 0.0f;
        }
        for (ptrdiff_t i = 0; i < n_moving; ++i) {
            /* A score of zero is right of the plane and turns left with a step of the sign
             * opposite to x; adding 0.0 makes -0.0 the same zero. */
            step[i] = (float)(-(s[at[i]] + 0.0) / (double)column[at[i]]);
        }
        for (ptrdiff_t i = 0; i < n_moving; ++i) {
            uint32_t bits;
            memcpy(&bits, step + i, sizeof(bits));
            const uint32_t sign = bits >> 31;
            const uint32_t key = bits ^ ((0u - sign) | 0x80000000u);
            const int finite = (bits & 0x7F800000u) != 0x7F800000u;
            const uint32_t is_left = s[at[i]] < 0.0;
            words[n_words] =
                ((uint64_t)key << 32) | ((uint64_t)token[start + at[i]] << 1) | is_left;
            n_words += finite;
            n_negative += finite & (int)sign;
        }
    }
    *n_down = n_negative;
    return n_words;
}

static void add_column(double *score, const float *x, double step, ptrdiff_t n)
{
    for (ptrdiff_t p = 0; p < n; ++p) {
        score[p] += step * (double)x[p];
    }
}
