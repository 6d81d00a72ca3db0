/* Four doubles, eight floats or eight integers, handled as one.
 *
 * GCC and Clang turn these into the widest registers of the target; other compilers
 * get loops. Lane by lane the arithmetic is the same everywhere.
 */
#if defined(__GNUC__) || defined(__clang__)

typedef double vec4 __attribute__((vector_size(32)));
typedef float vec8f __attribute__((vector_size(32)));
typedef int32_t vec8i __attribute__((vector_size(32)));

#define OBTREE_ADD4(a, b) (a) = (a) + (b)
#define OBTREE_ADD_PRODUCT4(a, b, c) (a) = (a) + (b) * (c)
#define OBTREE_PRODUCT4(a, b, c) (a) = (b) * (c)
#define OBTREE_ADD_PRODUCT8(a, b, c) (a) = (a) + (b) * (c)
#define OBTREE_SET8(a, value) (a) = (vec8f){0} + (value)
#define OBTREE_LANE(a, k) (a)[k]
#define OBTREE_COUNT_BELOW8(count, keys, key) (count) = (count) - ((keys) < (key))
#define OBTREE_UNROLL _Pragma("GCC unroll 4")
#define OBTREE_PREFETCH(address) __builtin_prefetch(address)

typedef int32_t vec4i __attribute__((vector_size(16)));

#define OBTREE_ADD_INTS(a, b) (a) = (a) + (b)
#define OBTREE_ADD_INT_PRODUCTS(a, b, c) (a) = (a) + (b) * (c)
#define OBTREE_TO_INTS4(a, b) (a) = __builtin_convertvector(b, vec4i)

/* Sums that are not negative and stay below 2^31 do not carry from one half of a word into
 * the other, so two of them are added at a time. */
typedef int64_t vec2w __attribute__((vector_size(16)));
static inline int32_t fold_halves(uint64_t words)
{
    return (int32_t)((uint32_t)words + (uint32_t)(words >> 32));
}
#define OBTREE_FOLD_INTS4(a) fold_halves((uint64_t)(((vec2w)(a))[0] + ((vec2w)(a))[1]))
#define OBTREE_ADD_HALVES8(a, b)                                                                 \
    do {                                                                                         \
        vec4i halves_[2];                                                                        \
        memcpy(halves_, &(b), sizeof(b));                                                        \
        (a) = (a) + halves_[0] + halves_[1];                                                     \
    } while (0)

/* Counts are below 2^31, so the signed conversion, which every target has, does. */
#define OBTREE_LOAD_COUNTS(vector, from)                                                         \
    do {                                                                                         \
        vec4i counts_;                                                                           \
        memcpy(&counts_, (from), sizeof(counts_));                                               \
        (vector) = __builtin_convertvector(counts_, vec4);                                       \
    } while (0)

typedef float vec4f __attribute__((vector_size(16)));

/* Lanes of two vectors, those of the second counted from four. */
#if defined(__clang__) || __GNUC__ >= 12
#define OBTREE_SHUFFLE4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define OBTREE_SHUFFLE4(a, b, i, j, k, l) __builtin_shuffle(a, b, (vec4i){i, j, k, l})
#endif

#define OBTREE_LOAD_FLOATS(vector, from)                                                         \
    do {                                                                                         \
        vec4f floats_;                                                                           \
        memcpy(&floats_, (from), sizeof(floats_));                                               \
        (vector) = __builtin_convertvector(floats_, vec4);                                       \
    } while (0)

/* Put together in registers: through memory, single stores would hold up the wide load. */
#define OBTREE_GATHER4(vector, x, at)                                                            \
    (vector) = (vec4){(double)(x)[(at)[0]], (double)(x)[(at)[1]], (double)(x)[(at)[2]],          \
                      (double)(x)[(at)[3]]}
#define OBTREE_UNROLL8 _Pragma("GCC unroll 8")

#ifdef __AVX2__
#include <immintrin.h>

/* Compilers need to be told of the instruction that does this. */
#define OBTREE_LOAD_BYTES8(vector, from)                                                         \
    (vector) = (vec8f)_mm256_cvtepi32_ps(                                                        \
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(from))))

/* 32 products of bytes and int16 at a time; whole numbers, so their order does not matter. */
#define OBTREE_SUM_BYTES32(sum, k, x, w, n)                                                      \
    do {                                                                                         \
        __m256i a_ = _mm256_setzero_si256(), b_ = _mm256_setzero_si256();                        \
        int32_t lanes_[8];                                                                       \
        for (; (k) + 32 <= (n); (k) += 32) {                                                     \
            a_ = _mm256_add_epi32(a_, OBTREE_PAIRS16((x) + (k), (w) + (k)));                     \
            b_ = _mm256_add_epi32(b_, OBTREE_PAIRS16((x) + (k) + 16, (w) + (k) + 16));           \
        }                                                                                        \
        a_ = _mm256_add_epi32(a_, b_);                                                           \
        memcpy(lanes_, &a_, sizeof(lanes_));                                                     \
        for (int k_ = 0; k_ < 8; ++k_) {                                                         \
            (sum) += lanes_[k_];                                                                 \
        }                                                                                        \
    } while (0)
#define OBTREE_PAIRS16(x, w)                                                                     \
    _mm256_madd_epi16(                                                                           \
        _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(x))),               \
        _mm256_loadu_si256((const __m256i *)(const void *)(w)))
#else
typedef uint8_t vec8b __attribute__((vector_size(8)));

#define OBTREE_LOAD_BYTES8(vector, from)                                                         \
    do {                                                                                         \
        vec8b bytes_;                                                                            \
        memcpy(&bytes_, (from), sizeof(bytes_));                                                 \
        (vector) = __builtin_convertvector(__builtin_convertvector(bytes_, vec8i), vec8f);       \
    } while (0)
#endif

#else

typedef struct {
    double lane[4];
} vec4;
typedef struct {
    float lane[8];
} vec8f;
typedef struct {
    int32_t lane[8];
} vec8i;
typedef struct {
    int32_t lane[4];
} vec4i;

#define OBTREE_LANE(a, k) (a).lane[k]
#define OBTREE_ADD4(a, b)                                                                        \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (a).lane[k_] += (b).lane[k_]
#define OBTREE_PRODUCT4(a, b, c)                                                                 \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (a).lane[k_] = (b).lane[k_] * (c).lane[k_]
#define OBTREE_ADD_PRODUCT4(a, b, c)                                                             \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (a).lane[k_] += (b).lane[k_] * (c).lane[k_]
#define OBTREE_ADD_PRODUCT8(a, b, c)                                                             \
    for (int k_ = 0; k_ < 8; ++k_)                                                               \
    (a).lane[k_] += (b).lane[k_] * (c).lane[k_]
#define OBTREE_SET8(a, value)                                                                    \
    for (int k_ = 0; k_ < 8; ++k_)                                                               \
    (a).lane[k_] = (value)
#define OBTREE_COUNT_BELOW8(count, keys, key)                                                    \
    for (int k_ = 0; k_ < 8; ++k_)                                                               \
    (count).lane[k_] += (keys).lane[k_] < (key).lane[k_]
#define OBTREE_LANES_(a) (int)(sizeof((a).lane) / sizeof((a).lane[0]))
#define OBTREE_ADD_INTS(a, b)                                                                    \
    for (int k_ = 0; k_ < OBTREE_LANES_(a); ++k_)                                                \
    (a).lane[k_] += (b).lane[k_]
#define OBTREE_ADD_INT_PRODUCTS(a, b, c)                                                         \
    for (int k_ = 0; k_ < OBTREE_LANES_(a); ++k_)                                                \
    (a).lane[k_] += (b).lane[k_] * (c).lane[k_]
#define OBTREE_TO_INTS4(a, b)                                                                    \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (a).lane[k_] = (int32_t)(b).lane[k_]
#define OBTREE_FOLD_INTS4(a) OBTREE_FOLD4(a)
#define OBTREE_ADD_HALVES8(a, b)                                                                 \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (a).lane[k_] += (b).lane[k_] + (b).lane[k_ + 4]
#define OBTREE_UNROLL
#define OBTREE_PREFETCH(address) ((void)(address))
#define OBTREE_LOAD_COUNTS(vector, from)                                                         \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (vector).lane[k_] = (double)(from)[k_]
#define OBTREE_LOAD_FLOATS(vector, from) OBTREE_LOAD_COUNTS(vector, from)
#define OBTREE_GATHER4(vector, x, at)                                                            \
    for (int k_ = 0; k_ < 4; ++k_)                                                               \
    (vector).lane[k_] = (double)(x)[(at)[k_]]
#define OBTREE_LOAD_BYTES8(vector, from)                                                         \
    for (int k_ = 0; k_ < 8; ++k_)                                                               \
    (vector).lane[k_] = (float)(from)[k_]
#define OBTREE_UNROLL8

#endif

/* The first bytes of a row that is needed soon. No function: compilers take one that does nothing
 * but this for one that does nothing. */
#define OBTREE_PREFETCH_ROW(row, n_bytes)                                                        \
    for (ptrdiff_t line_ = 0; line_ < (n_bytes); line_ += 64)                                    \
    OBTREE_PREFETCH((const char *)(row) + line_)

#define OBTREE_LOAD(vector, from) memcpy(&(vector), (from), sizeof(vector))
#define OBTREE_STORE(to, vector) memcpy((to), &(vector), sizeof(vector))
#define OBTREE_FOLD4(a) ((OBTREE_LANE(a, 0) + OBTREE_LANE(a, 2)) + (OBTREE_LANE(a, 1) + OBTREE_LANE(a, 3)))

/* Whether n_bytes bytes, a multiple of sixteen, are all zero. */
static int is_zero(const void *bytes, ptrdiff_t n_bytes)
{
    uint64_t low = 0, high = 0, pair[2];
    for (ptrdiff_t k = 0; k < n_bytes; k += 16) {
        memcpy(pair, (const char *)bytes + k, sizeof(pair));
        low |= pair[0];
        high |= pair[1];
    }
    return (low | high) == 0;
}
