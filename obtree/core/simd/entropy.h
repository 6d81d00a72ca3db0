/* The best entropy cut where all weights are whole numbers.
 *
 * With L, R, T the weights left of a cut, right of it and in total, the best cut has the
 * largest sum L log L + sum R log R - W_L log W_L - W_R log W_R, and x log x is looked up.
 * `inside` is the sum over the slots, kept while rows cross the cut; the caller knows
 * what it is before the first one does.
 */

typedef struct {
    double inside;
    double best;
    double margin;
    double min_weight;
    const double *xlogx;
    uint32_t weight;
    uint32_t weight_left;
    uint32_t low_key;
    uint32_t high_key;
} entropy_state;

static inline void move_entropy(entropy_state *state, const uint32_t *total, uint32_t *left,
                                uint32_t slot, uint32_t w)
{
    const uint32_t before = left[slot], rest = total[slot] - before;
    const double *xlogx = state->xlogx;
    state->inside +=
        (xlogx[before + w] - xlogx[before]) + (xlogx[rest - w] - xlogx[rest]);
    left[slot] = before + w;
    state->weight_left += w;
}

/* `may` says whether there is a cut here at all. It is no branch of its own: which rows tie
 * cannot be foreseen, while a cut is seldom the best so far. */
static inline void judge_entropy(entropy_state *state, int may, uint32_t key, uint32_t next_key)
{
    const uint32_t weight_right = state->weight - state->weight_left;
    const double score = state->inside - (state->xlogx[state->weight_left] +
                                          state->xlogx[weight_right]);
    if (((score > state->best + state->margin) & may) &&
        (double)state->weight_left >= state->min_weight &&
        (double)weight_right >= state->min_weight) {
        state->best = score;
        state->low_key = key;
        state->high_key = next_key;
    }
}

static void finish_entropy(const entropy_state *state, double *score, uint32_t *low_key,
                           uint32_t *high_key)
{
    if (state->best > *score) {
        *score = state->best;
        *low_key = state->low_key;
        *high_key = state->high_key;
    }
}

/* Every cut between two different keys of the sorted words. */
static void sweep_entropy_words(const uint64_t *words, ptrdiff_t n, const uint32_t *packed,
                                const uint32_t *total, uint32_t *left, ptrdiff_t n_slots,
                                const double *xlogx, double inside, uint32_t weight,
                                ptrdiff_t min_rows, double min_weight, double margin,
                                double *score, uint32_t *low_key, uint32_t *high_key)
{
    entropy_state state = {inside, *score, margin, min_weight, xlogx, weight, 0, 0, 0};
    uint32_t next_key = (uint32_t)(words[0] >> 32);
    memset(left, 0, (size_t)n_slots * sizeof(uint32_t));
    for (ptrdiff_t i = 0; i < n - 1; ++i) {
        const uint32_t row = packed[(uint32_t)words[i]], key = next_key;
        move_entropy(&state, total, left, row & 0xffff, row >> 16);
        next_key = (uint32_t)(words[i + 1] >> 32);
        judge_entropy(&state, (key != next_key) & (i + 1 >= min_rows) & (n - i - 1 >= min_rows),
                      key, next_key);
    }
    finish_entropy(&state, score, low_key, high_key);
}

/* Every cut between two bins that hold something; they are zero afterwards. */
static ptrdiff_t sweep_entropy_counts(uint32_t *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                                      const uint32_t *total, uint32_t *left,
                                      const double *xlogx, double inside, uint32_t weight,
                                      double min_weight, double margin, double *score,
                                      uint32_t *low_key, uint32_t *high_key)
{
    entropy_state state = {inside, *score, margin, min_weight, xlogx, weight, 0, 0, 0};
    ptrdiff_t n_found = 0;
    uint32_t key = 0;
    memset(left, 0, (size_t)n_slots * sizeof(uint32_t));
    for (ptrdiff_t b = 0; b < n_bins; ++b) {
        uint32_t *here = bins + b * n_slots;
        if (is_zero(here, n_slots * (ptrdiff_t)sizeof(uint32_t))) {
            continue;
        }
        if (n_found > 0) {
            judge_entropy(&state, 1, key, (uint32_t)b);
        }
        for (ptrdiff_t s = 0; s < n_slots; ++s) {
            if (here[s] != 0) {
                move_entropy(&state, total, left, (uint32_t)s, here[s]);
                here[s] = 0;
            }
        }
        key = (uint32_t)b;
        ++n_found;
    }
    finish_entropy(&state, score, low_key, high_key);
    return n_found;
}
