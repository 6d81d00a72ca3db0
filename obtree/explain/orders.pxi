# Shapley values of one tree for a pair of rows, from orders drawn by chance; a part of
# explain/trees.pyx.
#
# The features of the background row are replaced by those of the row one by one, in an order and
# then in its reverse (antithetic, Mitchell et al., 2022), and each gets what the prediction changes
# by. What all get is the whole difference, whatever the order.
#
# A feature changes few sums by a little. The sums of the nodes on the path are kept, and only a
# test that they leave in doubt, rounding considered, is made anew, by the routine of prediction.

from libc.math cimport NAN, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from obtree.core.types cimport X_t, idx_t
from obtree.data.hyperplane cimport Hyperplane, goes_left, project_plane, read_term
from obtree.explain.games cimport Game, read_leaf
from obtree.explain.pair cimport LEFT, OPEN, Pair, open_plane, place_range, test_row

cdef enum:
    FEW_TERMS = 8                 # lists of up to so many are searched from end to end


# A node on the path of a row.
cdef struct Passed:
    idx_t node
    double sum                    # NaN where it is to be computed at each visit
    double size                   # of the numbers that are in the sum, or have been
    bint is_left


cdef struct Path:
    Passed* passed                # SCRATCH (depth)
    idx_t n
    idx_t leaf
    int32_t* order                # SCRATCH (n_used)
    double* before                # SCRATCH (n_values)
    double* after                 # SCRATCH (n_values)


cdef inline double find_term(const Game* game, idx_t node, int32_t j) noexcept nogil:
    """The weight of a feature in a node; 0 when it has none."""
    cdef int64_t low = game.nodes.term_ptr[node], high = game.nodes.term_ptr[node + 1], middle
    # Planes of all features have them in a row.
    middle = low + j - game.sorted_feature[low] if low < high else high
    if low <= middle < high and game.sorted_feature[middle] == j:
        return game.sorted_weight[middle]
    while high - low > FEW_TERMS:
        middle = (low + high) // 2
        if game.sorted_feature[middle] <= j:
            low = middle
        else:
            high = middle
    while low < high:
        if game.sorted_feature[low] == j:
            return game.sorted_weight[low]
        low += 1
    return 0.0


cdef inline void measure_node(const Game* game, const Pair* pair, const Hyperplane* plane,
                              Passed* passed) noexcept nogil:
    """Sum and sizes of a node that the path has just come to."""
    cdef idx_t k
    passed.sum = project_plane(plane, pair.z, 1)
    passed.is_left = goes_left(plane, passed.sum)
    passed.size = 0.0
    if game.sorted_feature == NULL:
        passed.sum = NAN
        return
    for k in range(plane.n_terms):
        passed.size += fabs(plane.weight[k]
                            * read_term(plane.feature, plane.partner, k, pair.z, 1))


cdef inline void follow(const Game* game, const Pair* pair, idx_t node, Path* path) noexcept nogil:
    """Walk to a leaf, from a node behind those that the path has."""
    cdef Hyperplane plane
    cdef Passed* passed
    while game.nodes.left[node] != -1:
        open_plane(&game.nodes, node, &plane)
        passed = &path.passed[path.n]
        passed.node = node
        measure_node(game, pair, &plane, passed)
        path.n += 1
        node = game.nodes.left[node] if passed.is_left else game.nodes.right[node]
    path.leaf = node


cdef inline bint changes_side(const Game* game, const Pair* pair, Passed* passed,
                              int32_t j) noexcept nogil:
    """Whether the row leaves the path at a node, now that feature j has the row's value."""
    cdef Hyperplane plane
    cdef double weight, step
    cdef int side
    open_plane(&game.nodes, passed.node, &plane)
    if passed.sum == passed.sum:
        weight = find_term(game, passed.node, j)
        if weight == 0.0:
            return False
        step = weight * (<double>pair.x[j] - <double>pair.b[j])
        passed.sum += step
        passed.size += fabs(weight * <double>pair.x[j]) + fabs(passed.sum)
        if step == step:
            side = place_range(&plane, passed.sum, passed.sum, passed.size)
            if side != OPEN:
                return (side == LEFT) != passed.is_left
    return test_row(&plane, pair.z) != passed.is_left


cdef void take_order(const Game* game, Pair* pair, idx_t n, bint reverse, double factor,
                     Path* path, double* phi) noexcept nogil:
    """Replace features in the order of `path`, and add factor times the changes to `phi`."""
    cdef idx_t k, i, v, n_values = game.n_values
    cdef int32_t j
    cdef double* changed
    cdef bint moved
    for k in range(n):
        pair.z[path.order[k]] = pair.b[path.order[k]]
    path.n = 0
    follow(game, pair, 0, path)
    read_leaf(game, path.leaf, pair.z, path.before)
    for k in range(n):
        j = path.order[n - 1 - k if reverse else k]
        pair.z[j] = pair.x[j]
        moved = game.model != NULL
        for i in range(path.n):
            if changes_side(game, pair, &path.passed[i], j):
                # Walked again from here: with it, its sum is computed anew.
                path.n = i
                follow(game, pair, path.passed[i].node, path)
                moved = True
                break
        if not moved:
            continue
        read_leaf(game, path.leaf, pair.z, path.after)
        changed = phi + j * n_values
        for v in range(n_values):
            changed[v] += factor * (path.after[v] - path.before[v])
        memcpy(path.before, path.after, n_values * sizeof(double))
    for k in range(n):
        pair.z[path.order[k]] = pair.b[path.order[k]]
