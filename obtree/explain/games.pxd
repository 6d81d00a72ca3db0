# The games that trees play: what a tree predicts, as a function of the coalition.

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from obtree.core.types cimport X_t, idx_t
from obtree.explain.pair cimport AxisNode, Nodes, Pair
from obtree.tree.leaf_models cimport LeafModel
from obtree.tree.reduce cimport find_largest

# What a leaf counts for.
cdef enum Counting:
    VALUES                        # its values
    VOTES                         # 1 for the class with the largest
    LOGS                          # their logarithms


cdef struct Game:
    Nodes nodes
    const AxisNode* axis          # (n_nodes) the same where every node tests one feature, or NULL
    const double* value           # (n_nodes, n_values) of leaves without models, as they count
    Counting counting
    double factor                 # of the tree in the prediction
    double floor                  # smallest probability whose logarithm is taken
    idx_t n_outputs
    idx_t n_classes
    idx_t n_values
    bint is_axis                  # every node tests one feature; leaves are constant or have lines
    int32_t depth
    const int32_t* used           # (n_used) features that have a say
    idx_t n_used
    # Leaves with models; NULL where there are none.
    void* model
    const int64_t* model_ptr      # features that the model of a leaf reads; NULL: any
    const int32_t* model_feature
    const double* line            # (n_terms, n_values): what the model adds for each; else NULL
    # Terms of each node by feature, to look them up.
    const int32_t* sorted_feature
    const double* sorted_weight


cdef inline idx_t find_open_feature(const Game* game, idx_t leaf, const Pair* pair) noexcept nogil:
    """A feature that has to be decided before the leaf can say what it predicts, or -1."""
    cdef int64_t k
    cdef int32_t j
    if game.model == NULL:
        return -1
    if game.model_ptr == NULL:
        for k in range(game.n_used):
            if pair.is_open[game.used[k]]:
                return game.used[k]
        return -1
    for k in range(game.model_ptr[leaf], game.model_ptr[leaf + 1]):
        j = game.model_feature[k]
        # Of a sum it is known what an open feature adds, unless a missing value ends it.
        if pair.is_open[j] and (game.line == NULL or pair.x[j] != pair.x[j]
                                or pair.b[j] != pair.b[j]):
            return j
    return -1


cdef inline bint read_leaf(const Game* game, idx_t leaf, const X_t* row,
                           double* values) noexcept nogil:
    """What the tree predicts for a row in this leaf; OUT values (n_values).

    Returns whether a model has predicted it.
    """
    cdef int32_t node = <int32_t>leaf
    cdef uint8_t is_known = 0
    cdef idx_t k, c, best
    if game.model != NULL:
        (<LeafModel>game.model).predict(&node, row, 1, values, &is_known)
    if not is_known:
        memcpy(values, game.value + leaf * game.n_values, game.n_values * sizeof(double))
        return False
    if game.counting == LOGS:
        for k in range(game.n_values):
            values[k] = log(max(values[k], game.floor))
    elif game.counting == VOTES:
        for k in range(game.n_outputs):
            best = find_largest(values + k * game.n_classes, game.n_classes)
            for c in range(game.n_classes):
                values[k * game.n_classes + c] = 1.0 if c == best else 0.0
    return True
