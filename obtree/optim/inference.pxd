# Loss-augmented inference: the code that says most against a tree, for one row.
#
# A code h gives each split node a side, -1 or +1; f(h) is the leaf that it leads to. The sides
# that the row takes are sgn(Wx). Sought is the code g that maximises
#
#     (g - sgn(Wx)).Wx + loss(f(g)),
#
# equation 12: among all codes ("full"), or among those that differ from sgn(Wx) in one
# node at most ("fast", equation 13). Only nodes on the way to a leaf matter, so what is
# returned is the leaf and the nodes on its path whose side is flipped (Norouzi et al., 2015,
# section 6).
#
# Either search goes from the root to the leaf of the row first, and then into other branches.
# Flipping a node with score s costs 2 |s|, so a branch is skipped when the largest loss below
# it, less the cost of getting there, does not beat the best code so far. This leaves the
# result as it is: bounds of the loss are never too low, and among equals the code that flips
# fewest nodes near the leaf was found first.

from libc.math cimport fabsf

from obtree.core.types cimport idx_t, node_t
from obtree.optim.dense_tree cimport Case, DenseTree, find_leaf, loss_at, max_loss, score_case


cdef struct Answer:
    node_t own_leaf           # leaf that the row reaches
    float own_loss            # and its loss there
    node_t leaf               # leaf of the code found
    float bound               # value of the code: never below own_loss
    idx_t n_flipped
    node_t* flipped           # (max_depth) nodes whose side is flipped
    float* score              # (max_depth) and the row's score there
    # SCRATCH
    node_t* path              # (max_depth + 1)
    float* path_score         # (max_depth + 1)
    float* path_cost          # (max_depth + 1)


cdef inline idx_t follow_row(const DenseTree* tree, const Case* case,
                             Answer* answer) noexcept nogil:
    """Follow the row; OUT path, path_score, own_leaf. Returns the number of nodes passed."""
    cdef idx_t n = 0
    cdef node_t at = 0 if tree.n_splits > 0 else -1
    while at >= 0:
        answer.path[n] = at
        answer.path_score[n] = score_case(tree, at, case)
        at = tree.child[2 * at + (answer.path_score[n] > 0)]
        n += 1
    answer.own_leaf = ~at
    answer.own_loss = loss_at(tree, answer.own_leaf, case)
    answer.leaf = answer.own_leaf
    answer.bound = answer.own_loss
    answer.n_flipped = 0
    return n


cdef inline void infer_fast(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil:
    cdef idx_t n = follow_row(tree, case, answer)
    cdef idx_t k
    cdef node_t leaf, other
    cdef float value, cost
    # Upwards: the branches near the leaf are short, and a good code prunes the rest.
    for k in range(n - 1, -1, -1):
        other = tree.child[2 * answer.path[k] + (not answer.path_score[k] > 0)]
        cost = 2 * fabsf(answer.path_score[k])
        if max_loss(tree, other, case) - cost <= answer.bound:
            continue
        leaf = find_leaf(tree, other, case)
        value = loss_at(tree, leaf, case) - cost
        if value > answer.bound:
            answer.bound = value
            answer.leaf = leaf
            answer.n_flipped = 1
            answer.flipped[0] = answer.path[k]
            answer.score[0] = answer.path_score[k]


cdef inline void infer_full(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil:
    """Depth first; path holds the nodes whose other branch is still to be looked at.

    path_cost[k] is the cost of the flipped nodes above path[k].
    """
    cdef idx_t n = follow_row(tree, case, answer)
    cdef idx_t k
    cdef node_t at
    cdef float value, path_cost
    for k in range(n):
        answer.path_cost[k] = 0.0
    while n > 0:
        n -= 1
        at = answer.path[n]
        path_cost = answer.path_cost[n] + 2 * fabsf(answer.path_score[n])
        at = tree.child[2 * at + (not answer.path_score[n] > 0)]
        while at >= 0 and max_loss(tree, at, case) - path_cost > answer.bound:
            answer.path[n] = at
            answer.path_score[n] = score_case(tree, at, case)
            answer.path_cost[n] = path_cost
            at = tree.child[2 * at + (answer.path_score[n] > 0)]
            n += 1
        if at < 0:
            value = loss_at(tree, ~at, case) - path_cost
            if value > answer.bound:
                answer.bound = value
                answer.leaf = ~at
    if answer.leaf != answer.own_leaf:
        compare_path(tree, case, answer.leaf, answer)


# What it takes to bring a row to a leaf: OUT flipped, score, n_flipped, of the nodes on the way
# whose side would have to change; returns the sum of 2 |score| over them.
cdef inline float compare_path(const DenseTree* tree, const Case* case, node_t leaf,
                               Answer* answer) noexcept nogil:
    cdef node_t below = ~leaf
    cdef node_t up = tree.leaf_parent[leaf]
    cdef float score, cost = 0.0
    answer.n_flipped = 0
    while up >= 0:
        score = score_case(tree, up, case)
        if tree.child[2 * up + (score > 0)] != below:
            answer.flipped[answer.n_flipped] = up
            answer.score[answer.n_flipped] = score
            answer.n_flipped += 1
            cost += 2 * fabsf(score)
        below = up
        up = tree.parent[up]
    return cost
