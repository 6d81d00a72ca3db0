/* Walking trees with oblique nodes: which leaf each row of a block reaches.
 *
 * Nodes differ in their number of terms, and a loop over them would be mispredicted at
 * almost every node; a row that does as many steps as the longest of its neighbours wastes most
 * of them. So rows wait in lists, one for each number of terms of the node that they have come to,
 * and the longest list takes a step: all loops in it have the same length, and nothing that
 * one row does waits for another. Nodes are fetched before they are walked. Together that is 1.5 times
 * as fast as eight rows in lock step, masked, for the forests of a race on kin8nm and California
 * housing, and 1.1 to 1.2 times on abalone and cpuact.
 *
 * Sums have the order of data/hyperplane.pxd, on every instruction set.
 */
#ifndef OBTREE_PLANES_H
#define OBTREE_PLANES_H

#include <math.h>

#define OBTREE_LONG 16 /* terms of a sum that is folded */
#define OBTREE_KINDS (OBTREE_LONG + 1) /* so many terms less one; folded; and leaves */
#define OBTREE_WAITING 512 /* rows at a time: the lists are on the stack */
#define OBTREE_ROW_BYTES 2560 /* of a tree that a row may ask for: 40 lines of the cache */
#define OBTREE_STRAGGLERS 8 /* rows that are walked one by one at the end */

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

/* Which list the rows at a node wait in. */
static inline uint32_t find_kind(const obtree_plane_node *node)
{
    const uint32_t n = (uint32_t)node->n_more;
    const uint32_t kind = n < OBTREE_LONG - 1 ? n : OBTREE_LONG - 1;
    return node->threshold == node->threshold ? kind : OBTREE_KINDS - 1;
}

static inline double sum_short(const obtree_plane_node *node, const obtree_term *term, ptrdiff_t n,
                               const float *x)
{
    double sum = node->weight * (double)x[node->feature];
    for (ptrdiff_t k = 0; k < n; ++k) {
        sum += term[k].weight * (double)x[term[k].feature];
    }
    return sum;
}

/* What sends a category of the node's set to the other side than missing ones; NaN for others. See
 * find_category of data/hyperplane.pxd. */
static double read_set(const obtree_plane_node *node, const obtree_plane_terms *terms,
                       const float *x)
{
    const uint16_t *listed = terms->categories + node->first;
    const float category = x[node->feature];
    uint32_t start = 0;
    uint32_t n = (uint32_t)node->weight;
    while (start < n) {
        const uint32_t middle = start + (n - start) / 2;
        const float found = (float)listed[middle];
        if (found < category) {
            start = middle + 1;
        } else if (found > category) {
            n = middle;
        } else {
            return found == category ? (double)(node->child & 1u) : (double)NAN;
        }
    }
    return (double)NAN;
}

static double sum_plane(const obtree_plane_node *node, const obtree_plane_terms *terms,
                        const float *x)
{
    const ptrdiff_t n = node->n_more;
    if (n < 0) {
        if (n == OBTREE_SET) {
            return read_set(node, terms, x);
        }
        return sum_long(terms->long_weight + node->first, NULL, -n, x + node->feature);
    }
    if (n + 1 >= OBTREE_LONG) {
        return sum_long(terms->long_weight + node->first, terms->long_feature + node->first,
                        n + 1, x);
    }
    return sum_short(node, terms->term + node->first, n, x);
}

/* The leaf of one row. */
static uint32_t follow_row(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                           const float *x, uint32_t at)
{
    while (nodes[at].threshold == nodes[at].threshold) {
        at = step_plane(nodes + at, sum_plane(nodes + at, terms, x));
    }
    return at;
}

/* One step of the n rows of a list. What comes back to the same list is written where it has been
 * read already:  [0, n_waiting[kind]) next time | read already | [k, n) to come  */
#define OBTREE_STEP_LIST(SUM)                                                    \
    for (ptrdiff_t k = 0; k < n; ++k) {                                          \
        const uint32_t row = rows[kind][k];                                      \
        const obtree_plane_node *node = nodes + places[kind][k];                 \
        const float *own = x + row * n_features;                                 \
        const uint32_t next = step_plane(node, SUM);                             \
        const uint32_t to = find_kind(nodes + next);                             \
        const ptrdiff_t last = n_waiting[to]++;                                  \
        rows[to][last] = (uint16_t)row;                                          \
        places[to][last] = next;                                                 \
    }

/* At most OBTREE_WAITING rows through one tree. */
static void walk_planes(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                        const float *x, ptrdiff_t n_rows, ptrdiff_t n_features, uint32_t *found)
{
    uint32_t places[OBTREE_KINDS][OBTREE_WAITING];
    uint16_t rows[OBTREE_KINDS][OBTREE_WAITING];
    ptrdiff_t n_waiting[OBTREE_KINDS] = {0};
    const int leaf = OBTREE_KINDS - 1;
    int kind = (int)find_kind(nodes + 1);
    ptrdiff_t n = n_rows;
    for (ptrdiff_t row = 0; row < n_rows; ++row) {
        places[kind][row] = 1;
        rows[kind][row] = (uint16_t)row;
    }
    n_waiting[kind] = n_rows;
    while (n_rows - n_waiting[leaf] > OBTREE_STRAGGLERS) {
        kind = 0;
        for (int other = 1; other < leaf; ++other) {
            kind = n_waiting[other] > n_waiting[kind] ? other : kind;
        }
        n = n_waiting[kind];
        n_waiting[kind] = 0;
        if (kind == 0) {
            OBTREE_STEP_LIST(node->weight * (double)own[node->feature])
        } else if (kind < OBTREE_LONG - 1) {
            OBTREE_STEP_LIST(sum_short(node, terms->term + node->first, kind, own))
        } else {
            OBTREE_STEP_LIST(sum_plane(node, terms, own))
        }
    }
    for (kind = 0; kind < OBTREE_KINDS; ++kind) {
        for (ptrdiff_t k = 0; k < n_waiting[kind]; ++k) {
            const uint32_t row = rows[kind][k];
            found[row] = follow_row(nodes, terms, x + row * n_features, places[kind][k]);
        }
    }
}

/* Fetch what a walk of many rows touches most of anyway, in the order in which it lies there:
 * node by node, each line of the cache would be waited for. */
static void fetch_ahead(const void *from, ptrdiff_t n_bytes)
{
    for (ptrdiff_t k = 0; k < n_bytes; k += 64) {
        OBTREE_PREFETCH((const char *)from + k);
    }
}

static void traverse_planes(const obtree_plane_node *nodes, const obtree_plane_terms *terms,
                            ptrdiff_t n_slots, const float *x, ptrdiff_t n_rows,
                            ptrdiff_t n_features, uint32_t *found)
{
    const ptrdiff_t n_node_bytes = n_slots * (ptrdiff_t)sizeof *nodes;
    const ptrdiff_t n_term_bytes = terms->n_terms * (ptrdiff_t)sizeof *terms->term;
    if (n_node_bytes + n_term_bytes < n_rows * OBTREE_ROW_BYTES) {
        fetch_ahead(nodes, n_node_bytes);
        fetch_ahead(terms->term, n_term_bytes);
    }
    for (ptrdiff_t row = 0; row < n_rows; row += OBTREE_WAITING) {
        const ptrdiff_t n = n_rows - row < OBTREE_WAITING ? n_rows - row : OBTREE_WAITING;
        walk_planes(nodes, terms, x + row * n_features, n, n_features, found + row);
    }
}

/* Products and intervals, and sets beside them: row by row. */
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
            const double sum = node->n_more == OBTREE_SET
                ? read_set(node, terms, x)
                : sum_form(terms->term + node->first, node->n_more, x);
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
