/* The best Gini cut between bins; included once for each kind of bin.
 *
 * OBTREE_SWEEP is the function's name, OBTREE_CELL the type of a bin's slots, OBTREE_SUM
 * that of sums of them, and OBTREE_MOVE the function that moves a bin to the left. With
 * L, R, T the weights left of a cut, right of it and in total, the best cut has the largest
 * sum L^2 / W_L + sum R^2 / W_R, where sum R^2 = sum T^2 - 2 sum T L + sum L^2.
 */
static ptrdiff_t OBTREE_SWEEP(OBTREE_CELL *bins, ptrdiff_t n_bins, ptrdiff_t n_slots,
                              const OBTREE_SUM *restrict total, OBTREE_SUM *restrict left,
                              double weight, double squares, double min_weight,
                              double margin, double *score, uint32_t *low_key,
                              uint32_t *high_key)
{
    double best = *score, weight_left = 0.0, squares_left = 0.0, cross = 0.0;
    ptrdiff_t n_found = 0;
    uint32_t key = 0;
    memset(left, 0, (size_t)n_slots * sizeof(OBTREE_SUM));
    for (ptrdiff_t b = 0; b < n_bins; ++b) {
        OBTREE_CELL *restrict here = bins + b * n_slots;
        if (is_zero(here, n_slots * (ptrdiff_t)sizeof(OBTREE_CELL))) {
            continue;
        }
        if (n_found > 0) {
            const double weight_right = weight - weight_left;
            const double numerator = squares_left * weight_right +
                                     (squares - 2.0 * cross + squares_left) * weight_left;
            const double denominator = weight_left * weight_right;
            /* a / b > best, decided by a product: a division only for a cut that wins. */
            if (numerator > best * denominator && weight_left >= min_weight &&
                weight_right >= min_weight && numerator / denominator > best + margin) {
                best = numerator / denominator;
                *low_key = key;
                *high_key = (uint32_t)b;
            }
        }
        weight_left += OBTREE_MOVE(here, n_slots, total, left, &squares_left, &cross);
        key = (uint32_t)b;
        ++n_found;
    }
    *score = best;
    return n_found;
}

#undef OBTREE_SWEEP
#undef OBTREE_CELL
#undef OBTREE_SUM
#undef OBTREE_MOVE
