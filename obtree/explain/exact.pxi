# Shapley values of one tree for a pair of rows, exactly; a part of explain/trees.pyx.
#
# A walk down the tree decides only what it has to: where a test comes out the same for all that is
# open, it goes on; else it decides the feature with the most to say, one way and then the other.
# Each leaf it ends in belongs to the coalitions that have the features decided for, and none of
# those decided against: a term whose Shapley values are known. For trees with one feature a node
# these are the walks of interventional TreeSHAP (Lundberg et al., 2020), one for each leaf that
# both rows together can reach, however many features there are. A node of an oblique tree decides
# as many of its features as it takes to tell on which side of the plane the row must be.
#
# The features decided for all get the same at a leaf, and so do those decided against. Both sums
# are handed back through the walk: what a feature gets is the first sum over the leaves on
# its one side and the second over those on the other.

from libc.stdint cimport int64_t
from libc.string cimport memset

from obtree.core.types cimport feature_t, idx_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.explain.games cimport Game, find_open_feature, read_leaf
from obtree.explain.pair cimport LEFT, OPEN, Pair, decide_axis, decide_node, open_plane
from obtree.explain.weights cimport find_weight


# A feature that is decided.
cdef struct Decision:
    idx_t node                    # where it had to be
    feature_t feature
    bint is_in                    # whether it belongs to the coalition


cdef struct Walk:
    Decision* decision            # SCRATCH (n_used)
    # SCRATCH (n_used + 1, 2, n_values): sums over the leaves below, for features decided for and
    # against.
    double* sums
    double* leaf                  # SCRATCH (n_values)
    const double* table           # weights, see find_weight


cdef inline void count_leaf(const Game* game, const Pair* pair, const Walk* walk, idx_t leaf,
                            idx_t n_in, idx_t n_out, double factor, double* phi) noexcept nogil:
    """Add a leaf to the sums; where it has a line, what open features add goes to `phi`."""
    cdef idx_t n_values = game.n_values, v
    cdef double* gain = walk.sums + 2 * (n_in + n_out) * n_values
    cdef double* loss = gain + n_values
    cdef double weight, step, up, down
    cdef int64_t k
    cdef feature_t j
    cdef bint has_line = read_leaf(game, leaf, pair.z, walk.leaf) and game.line != NULL
    if n_in > 0:
        weight = find_weight(walk.table, n_in, n_out)
        for v in range(n_values):
            gain[v] += weight * walk.leaf[v]
    if n_out > 0:
        weight = find_weight(walk.table, n_out, n_in)
        for v in range(n_values):
            loss[v] -= weight * walk.leaf[v]
    if not has_line:
        return
    up = find_weight(walk.table, n_in + 1, n_out)
    down = find_weight(walk.table, n_out, n_in + 1) if n_out > 0 else 0.0
    for k in range(game.model_ptr[leaf], game.model_ptr[leaf + 1]):
        j = game.model_feature[k]
        if not pair.is_open[j]:
            continue
        for v in range(n_values):
            step = game.line[k * n_values + v] * (<double>pair.x[j] - <double>pair.b[j])
            gain[v] += up * step
            loss[v] -= down * step
            phi[j * n_values + v] += factor * up * step


cdef inline void decide(Pair* pair, Decision* decision, bint is_in) noexcept nogil:
    """Put a feature into the coalition, or keep it out."""
    decision.is_in = is_in
    pair.is_open[decision.feature] = False
    pair.z[decision.feature] = (pair.x if is_in else pair.b)[decision.feature]


cdef inline void hand_back(const Game* game, const Walk* walk, idx_t n, double factor,
                           double* phi) noexcept nogil:
    """Give a decision what its side has brought, and add the sums to those before it."""
    cdef idx_t n_values = game.n_values, v
    cdef double* above = walk.sums + 2 * (n - 1) * n_values
    cdef double* below = above + 2 * n_values
    cdef const double* own = below if walk.decision[n - 1].is_in else below + n_values
    phi += walk.decision[n - 1].feature * n_values
    for v in range(n_values):
        phi[v] += factor * own[v]
    for v in range(2 * n_values):
        above[v] += below[v]
        below[v] = 0.0


cdef bint walk_exactly(const Game* game, Pair* pair, const Walk* walk, double factor,
                       int64_t budget, double* phi) noexcept nogil:
    """Add factor times the Shapley values of a tree to `phi`.

    Returns False when the budget, in terms of nodes that are read, is used up; negative: there is
    none. `phi` then holds garbage. All features are open again afterwards.
    """
    cdef Hyperplane plane
    cdef feature_t chosen = 0
    cdef idx_t node = 0, n = 0, n_in = 0, j
    cdef int side
    memset(walk.sums, 0, 2 * game.n_values * sizeof(double))
    while True:
        if game.axis != NULL and game.axis[node].left != -1:
            chosen = game.axis[node].feature
            budget -= budget > 0
            side = decide_axis(&game.axis[node], pair)
            if side != OPEN:
                node = game.axis[node].left if side == LEFT else game.axis[node].right
                continue
        elif game.nodes.left[node] != -1:
            open_plane(&game.nodes, node, &plane)
            if budget > 0:
                budget -= min(budget, plane.n_terms)
            side = decide_node(&plane, pair, &chosen)
            if side != OPEN:
                node = game.nodes.left[node] if side == LEFT else game.nodes.right[node]
                continue
        else:
            j = find_open_feature(game, node, pair)
            chosen = <feature_t>j
            if budget > 0:
                budget -= 1
            if j < 0:
                count_leaf(game, pair, walk, node, n_in, n - n_in, factor, phi)
                # Back to the last decision that has another side.
                while n > 0 and not walk.decision[n - 1].is_in:
                    hand_back(game, walk, n, factor, phi)
                    n -= 1
                    pair.is_open[walk.decision[n].feature] = True
                if n == 0:
                    return True
                hand_back(game, walk, n, factor, phi)
                decide(pair, &walk.decision[n - 1], False)
                n_in -= 1
                node = walk.decision[n - 1].node
                continue
        if budget == 0:
            break
        walk.decision[n].node = node
        walk.decision[n].feature = chosen
        decide(pair, &walk.decision[n], True)
        n += 1
        n_in += 1
        memset(walk.sums + 2 * n * game.n_values, 0, 2 * game.n_values * sizeof(double))
    for j in range(n):
        chosen = walk.decision[j].feature
        pair.is_open[chosen] = True
        pair.z[chosen] = pair.b[chosen]
    return False
