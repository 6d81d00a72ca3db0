/* Sorting (key, position) words: key in the upper 32 bits, position in the lower.
 *
 * The order is always that of the whole word, so equal keys stand in the order of
 * their positions whichever way was taken: ties are part of what makes a tree the
 * same tree everywhere.
 */

enum { OBTREE_INSERTION_LIMIT = 24 };

static void insertion_sort(uint64_t *words, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; ++i) {
        const uint64_t word = words[i];
        ptrdiff_t k = i;
        while (k > 0 && words[k - 1] > word) {
            words[k] = words[k - 1];
            --k;
        }
        words[k] = word;
    }
}

/* Least significant digit first, 8 bits a pass, only over the digits in which the
 * keys differ. Stable, so equal keys keep the order in which they came. */
static void radix_sort(uint64_t *words, ptrdiff_t n, uint64_t *spare, uint32_t span)
{
    uint64_t *from = words, *to = spare;
    for (int shift = 32; shift < 64 && (span >> (shift - 32)) != 0; shift += 8) {
        uint32_t count[256];
        const uint32_t top = span >> (shift - 32);
        const uint32_t n_digits = top < 255 ? top + 1 : 256;
        memset(count, 0, n_digits * sizeof(uint32_t));
        for (ptrdiff_t p = 0; p < n; ++p) {
            ++count[(from[p] >> shift) & 0xff];
        }
        uint32_t total = 0;
        for (uint32_t d = 0; d < n_digits; ++d) {
            const uint32_t here = count[d];
            count[d] = total;
            total += here;
        }
        for (ptrdiff_t p = 0; p < n; ++p) {
            to[count[(from[p] >> shift) & 0xff]++] = from[p];
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != words) {
        memcpy(words, from, (size_t)n * sizeof(uint64_t));
    }
}

static void sort_codes(const uint32_t *codes, ptrdiff_t n, uint32_t low, uint32_t high,
                       uint64_t *words, uint64_t *spare)
{
    const uint32_t span = high - low;
    if (n <= OBTREE_INSERTION_LIMIT) {
        for (ptrdiff_t i = 0; i < n; ++i) {
            const uint64_t word = ((uint64_t)(codes[i] - low) << 32) | (uint64_t)i;
            ptrdiff_t k = i;
            while (k > 0 && words[k - 1] > word) {
                words[k] = words[k - 1];
                --k;
            }
            words[k] = word;
        }
        return;
    }
    if (span < 256) {
        /* One pass straight from the codes: count, then place. */
        uint32_t count[256];
        memset(count, 0, (span + 1) * sizeof(uint32_t));
        for (ptrdiff_t p = 0; p < n; ++p) {
            ++count[codes[p] - low];
        }
        uint32_t total = 0;
        for (uint32_t d = 0; d <= span; ++d) {
            const uint32_t here = count[d];
            count[d] = total;
            total += here;
        }
        for (ptrdiff_t p = 0; p < n; ++p) {
            const uint32_t key = codes[p] - low;
            words[count[key]++] = ((uint64_t)key << 32) | (uint64_t)p;
        }
        return;
    }
    for (ptrdiff_t p = 0; p < n; ++p) {
        words[p] = ((uint64_t)(codes[p] - low) << 32) | (uint64_t)p;
    }
    radix_sort(words, n, spare, span);
}

static void sort_words(uint64_t *words, ptrdiff_t n, uint64_t *spare)
{
    if (n <= OBTREE_INSERTION_LIMIT) {
        insertion_sort(words, n);
    } else {
        radix_sort(words, n, spare, UINT32_MAX);
    }
}
