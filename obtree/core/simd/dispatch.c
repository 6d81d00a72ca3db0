/* Which table of kernels to use on this machine. */
#include "kernels.h"

#include <string.h>

extern const obtree_kernels obtree_kernels_plain;
#ifdef OBTREE_HAVE_AVX2
extern const obtree_kernels obtree_kernels_avx2;

#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
static int machine_has_avx2(void)
{
    int info[4];
    __cpuid(info, 0);
    if (info[0] < 7) {
        return 0;
    }
    __cpuid(info, 1);
    /* OSXSAVE and AVX, and an operating system that saves the wide registers. */
    if ((info[2] & (1 << 27)) == 0 || (info[2] & (1 << 28)) == 0 || (_xgetbv(0) & 6) != 6) {
        return 0;
    }
    __cpuidex(info, 7, 0);
    return (info[1] & (1 << 5)) != 0;
}
#else
static int machine_has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
}
#endif
#endif

static const obtree_kernels *active = NULL;

/* Best first. */
static const obtree_kernels *usable(int k)
{
#ifdef OBTREE_HAVE_AVX2
    if (machine_has_avx2()) {
        if (k == 0) {
            return &obtree_kernels_avx2;
        }
        --k;
    }
#endif
    return k == 0 ? &obtree_kernels_plain : NULL;
}

const char *obtree_target_name(int k)
{
    const obtree_kernels *table = usable(k);
    return table != NULL ? table->name : NULL;
}

int obtree_select_kernels(const char *name)
{
    for (int k = 0; usable(k) != NULL; ++k) {
        if (name == NULL || strcmp(usable(k)->name, name) == 0) {
            active = usable(k);
            return 1;
        }
    }
    return 0;
}

const obtree_kernels *obtree_active_kernels(void)
{
    return active;
}
