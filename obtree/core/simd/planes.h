/* Walking trees with oblique nodes: which leaf each row of a block reaches.
 *
 * Nodes differ in their number of terms, and a loop over them would be mispredicted at
 * almost every node. So eight rows walk in lock step, term by term: all take part until the
 * longest sum is done, and what a row adds beyond its own terms is masked away. A row that
 * has arrived makes room for the next one, every few steps.
 *
 * Sums have the order of data/hyperplane.pxd, on every instruction set. Adding a masked
 * zero changes at most the sign of a zero, which no comparison sees.
 */
#ifndef OBTREE_PLANES_H
#define OBTREE_PLANES_H

#define OBTREE_ROWS 8
#define OBTREE_LONG 16 /* terms of a sum that is folded */
#define OBTREE_TOGETHER 4 /* further terms that rows add in lock step */

/* Sum of n >= 16 terms: x[feature[k]], or consecutive from x when feature is NULL. */
static double sum_long(const double *weight, const int32_t *feature, ptrdiff_t n, const float *x)
{
    double lanes[OBTREE_LONG];
    vec4 sums[4], w, values;
    ptrdiff_t k = OBTREE_LONG;
    if (feature == NULL) {
        for (int v = 0; v < 4; ++v) {
            OBTREE_LOAD(w, weight + 4 * v);
            OBTREE_LOAD_FLOATS(values, x + 4 * v);
            OBTREE_PRODUCT4(sums[v], w, values);
        }
        for (; k + OBTREE_LONG <= n; k += OBTREE_LONG) {
            for (int v = 0; v < 4; ++v) {
                OBTREE_LOAD(w, weight + k + 4 * v);
                OBTREE_LOAD_FLOATS(values, x + k + 4 * v);
                OBTREE_ADD_PRODUCT4(sums[v], w, values);
            }
        }
    } else {
        for (int v = 0; v < 4; ++v) {
            OBTREE_LOAD(w, weight + 4 * v);
            OBTREE_GATHER4(values, x, feature + 4 * v);
            OBTREE_PRODUCT4(sums[v], w, values);
        }
        for (; k + OBTREE_LONG <= n; k += OBTREE_LONG) {
            for (int v = 0; v < 4; ++v) {
                OBTREE_LOAD(w, weight + k + 4 * v);
                OBTREE_GATHER4(values, x, feature + k + 4 * v);
                OBTREE_ADD_PRODUCT4(sums[v], w, values);
            }
        }
    }
    if (k < n) {
        for (int v = 0; v < 4; ++v) {
            OBTREE_STORE(lanes + 4 * v, sums[v]);
        }
        for (int lane = 0; k < n; ++k, ++lane) {
            lanes[lane] += weight[k] * (double)x[feature == NULL ? k : feature[k]];
        }
        for (int v = 0; v < 4; ++v) {
            OBTREE_LOAD(sums[v], lanes + 4 * v);
        }
    }
    OBTREE_ADD4(sums[0], sums[2]);
    OBTREE_ADD4(sums[1], sums[3]);
    OBTREE_ADD4(sums[0], sums[1]);
    return OBTREE_FOLD4(sums[0]);
}

static inline uint32_t step_plane(const obtree_plane_node *node, double sum)
{
    const uint32_t right = (uint32_t) !(sum <= node->threshold);
    const uint32_t sent_left = (uint32_t)(sum != sum) & node->child & 1u;
    return (node->child >> 1) + (right & ~sent_left);
}

static double finish_sum(const obtree_plane_node *node, const obtree_plane_terms *terms,
                         const float *x, double sum)
{
    const ptrdiff_t n = node->n_more;
    if (n < 0) {
        return sum_long(terms->long_weight + node->first, NULL, -n, x + node->feature);
    }
    if (n + 1 >= OBTREE_LONG) {
        return sum_long(terms->long_weight + node->first, terms->long_feature + node->first,
                        n + 1, x);
    }
    for (ptrdiff_t k = OBTREE_TOGETHER; k < n; ++k) {
        const obtree_term *term = terms->term + node->first + k;
        sum += term->weight * (double)x[term->feature];
    }
    return sum;
}

/* One step of every row under way. */
static inline void step_planes(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                               const float *const *x, uint32_t *at)
{
    double sum[OBTREE_ROWS];
    int32_t n_short[OBTREE_ROWS];
    int32_t most = 0, odd = 0;
    for (int l = 0; l < OBTREE_ROWS; ++l) {
        const obtree_plane_node *node = nodes + at[l];
        const int32_t n = node->n_more;
        sum[l] = node->weight * (double)x[l][node->feature];
        n_short[l] = n < OBTREE_LONG - 1 ? n : 0;
        most = n_short[l] > most ? n_short[l] : most;
        odd |= n < 0 || n > OBTREE_TOGETHER;
    }
    if (most > OBTREE_TOGETHER) {
        most = OBTREE_TOGETHER;
    }
    for (int32_t k = 0; k < most; ++k) {
        /* Unrolled, or it becomes vector gathers, which take longer. */
        OBTREE_UNROLL8
        for (int l = 0; l < OBTREE_ROWS; ++l) {
            const uint64_t mask = 0u - (uint64_t)(k < n_short[l]);
            const obtree_term *term = terms->term + ((nodes[at[l]].first + (uint64_t)k) & mask);
            const double product = term->weight * (double)x[l][term->feature];
            uint64_t bits;
            double added;
            memcpy(&bits, &product, sizeof bits);
            bits &= mask;
            memcpy(&added, &bits, sizeof added);
            sum[l] += added;
        }
    }
    if (odd) {
        for (int l = 0; l < OBTREE_ROWS; ++l) {
            sum[l] = finish_sum(nodes + at[l], terms, x[l], sum[l]);
        }
    }
    for (int l = 0; l < OBTREE_ROWS; ++l) {
        at[l] = step_plane(nodes + at[l], sum[l]);
    }
}

static void traverse_planes(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                            const float *x, ptrdiff_t n_rows, ptrdiff_t n_features,
                            uint32_t *found)
{
    const float *row[OBTREE_ROWS];
    uint32_t at[OBTREE_ROWS];
    ptrdiff_t number[OBTREE_ROWS];
    ptrdiff_t next = 0, n_active = 0;
    for (int l = 0; l < OBTREE_ROWS; ++l) {
        /* With fewer rows than lanes the last ones walk the first row for nothing. */
        number[l] = next < n_rows ? next : -1;
        row[l] = x + (number[l] < 0 ? 0 : number[l]) * n_features;
        at[l] = 1;
        n_active += number[l] >= 0;
        next += number[l] >= 0;
    }
    while (n_active > 0) {
        for (int step = 0; step < OBTREE_STEPS; ++step) {
            step_planes(nodes, terms, row, at);
        }
        for (int l = 0; l < OBTREE_ROWS; ++l) {
            const double threshold = nodes[at[l]].threshold;
            if (threshold == threshold || number[l] < 0) {
                continue;
            }
            found[number[l]] = at[l];
            number[l] = -1;
            if (next < n_rows) {
                number[l] = next;
                row[l] = x + next * n_features;
                at[l] = 1;
                ++next;
            } else {
                --n_active;
            }
        }
    }
}

/* Products and intervals: row by row. */
static double sum_form(const obtree_term *term, ptrdiff_t n, const float *x)
{
    double lanes[OBTREE_LONG];
    double total = 0.0;
    for (ptrdiff_t k = 0; k < n; ++k) {
        double value = (double)x[term[k].feature];
        if (term[k].partner >= 0) {
            value *= (double)x[term[k].partner];
        }
        value *= term[k].weight;
        if (n < OBTREE_LONG) {
            total += value;
        } else if (k < OBTREE_LONG) {
            lanes[k] = value;
        } else {
            lanes[k % OBTREE_LONG] += value;
        }
    }
    if (n < OBTREE_LONG) {
        return total;
    }
    for (ptrdiff_t width = OBTREE_LONG / 2; width > 0; width /= 2) {
        for (ptrdiff_t lane = 0; lane < width; ++lane) {
            lanes[lane] += lanes[lane + width];
        }
    }
    return lanes[0];
}

static void traverse_forms(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                           const double *lower, const float *x, ptrdiff_t n_rows,
                           ptrdiff_t n_features, uint32_t *found)
{
    for (ptrdiff_t r = 0; r < n_rows; ++r, x += n_features) {
        uint32_t at = 1;
        while (nodes[at].threshold == nodes[at].threshold) {
            const obtree_plane_node *node = nodes + at;
            const double sum = sum_form(terms->term + node->first, node->n_more, x);
            if (lower != NULL && sum <= lower[at]) {
                at = (node->child >> 1) + 1;
            } else {
                at = step_plane(node, sum);
            }
        }
        found[r] = at;
    }
}

#endif
