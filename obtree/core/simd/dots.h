/* Sums of products in single precision.
 *
 * A sum over the columns of a row goes into eight partial sums (column k into sum k mod 8) that
 * are folded in halves.
 */

static float fold8(vec8f sums)
{
    return ((OBTREE_LANE(sums, 0) + OBTREE_LANE(sums, 4)) +
            (OBTREE_LANE(sums, 2) + OBTREE_LANE(sums, 6))) +
           ((OBTREE_LANE(sums, 1) + OBTREE_LANE(sums, 5)) +
            (OBTREE_LANE(sums, 3) + OBTREE_LANE(sums, 7)));
}

/* Four such sums at a time, folded side by side. */
static inline void fold_four(vec8f a, vec8f b, vec8f c, vec8f d, float *restrict out)
{
#ifdef OBTREE_SHUFFLE4
    vec4f halves[8], ab, cd;
    memcpy(halves, &a, sizeof(a));
    memcpy(halves + 2, &b, sizeof(b));
    memcpy(halves + 4, &c, sizeof(c));
    memcpy(halves + 6, &d, sizeof(d));
    for (int k = 0; k < 8; k += 2) {
        halves[k] = halves[k] + halves[k + 1];
    }
    ab = OBTREE_SHUFFLE4(halves[0], halves[2], 0, 4, 1, 5) +
         OBTREE_SHUFFLE4(halves[0], halves[2], 2, 6, 3, 7);
    cd = OBTREE_SHUFFLE4(halves[4], halves[6], 0, 4, 1, 5) +
         OBTREE_SHUFFLE4(halves[4], halves[6], 2, 6, 3, 7);
    ab = OBTREE_SHUFFLE4(ab, cd, 0, 1, 4, 5) + OBTREE_SHUFFLE4(ab, cd, 2, 3, 6, 7);
    OBTREE_STORE(out, ab);
#else
    out[0] = fold8(a);
    out[1] = fold8(b);
    out[2] = fold8(c);
    out[3] = fold8(d);
#endif
}

/* Four rows times one vector, `stride` floats each, a multiple of eight: side by side, since each
 * sum has to wait for itself. */
static inline void dot_four(const float *restrict p, const float *restrict q,
                            const float *restrict r, const float *restrict s,
                            const float *restrict vector, ptrdiff_t stride, float *restrict out)
{
    const vec8f zero = {0};
    vec8f a = zero, b = zero, c = zero, d = zero, factor, cells;
    for (ptrdiff_t k = 0; k < stride; k += 8) {
        OBTREE_LOAD(factor, vector + k);
        OBTREE_LOAD(cells, p + k);
        OBTREE_ADD_PRODUCT8(a, cells, factor);
        OBTREE_LOAD(cells, q + k);
        OBTREE_ADD_PRODUCT8(b, cells, factor);
        OBTREE_LOAD(cells, r + k);
        OBTREE_ADD_PRODUCT8(c, cells, factor);
        OBTREE_LOAD(cells, s + k);
        OBTREE_ADD_PRODUCT8(d, cells, factor);
    }
    fold_four(a, b, c, d, out);
}

static inline float dot_one(const float *restrict row, const float *restrict vector,
                            ptrdiff_t stride)
{
    const vec8f zero = {0};
    vec8f a = zero, factor, cells;
    for (ptrdiff_t k = 0; k < stride; k += 8) {
        OBTREE_LOAD(factor, vector + k);
        OBTREE_LOAD(cells, row + k);
        OBTREE_ADD_PRODUCT8(a, cells, factor);
    }
    return fold8(a);
}

#define OBTREE_CELL float
#define OBTREE_LOAD_CELLS OBTREE_LOAD
#define OBTREE_OF_CELLS(name) name##_floats
#include "long_rows.h"

#define OBTREE_CELL uint8_t
#define OBTREE_LOAD_CELLS OBTREE_LOAD_BYTES8
#define OBTREE_OF_CELLS(name) name##_bytes
#include "long_rows.h"
