# Loss-augmented inference: the code that says most against a tree, for one row.
#
# A code h gives each split node a side, -1 or +1; f(h) is the leaf that it leads to. The sides
# that the row takes are sgn(Wx). Sought is the code g that maximises
#
#     (g - sgn(Wx)).Wx + loss(f(g)),
#
# equation 12: among all codes ("full"), or among those that differ from sgn(Wx) in one
# node at most ("fast", equation 13). Only nodes on the way to a leaf matter, so what is
# returned is the leaf and the nodes on its path whose side is turned round (Norouzi et al., 2015,
# section 6).
#
# Either search goes from the root to the leaf of the row first, and then into other branches.
# Turning a node with score s costs 2 |s|, so a branch is skipped when the largest loss below
# it, less the cost of getting there, does not beat the best code so far. This leaves the
# result as it is: bounds of the loss are never too low, and among equals the code that turns
# fewest nodes near the leaf was found first.

from libc.math cimport fabsf

from obtree.core.types cimport idx_t, node_t
from obtree.optim.dense_tree cimport Case, DenseTree, find_leaf, loss_at, most_loss, score_case


cdef struct Answer:
    node_t home               # leaf that the row reaches
    float home_loss           # and its loss there
    node_t leaf               # leaf of the code found
    float bound               # value of the code: never below home_loss
    idx_t n_turned
    node_t* turned            # (max_depth) nodes whose side is turned round
    float* score              # (max_depth) and the row's score there
    # SCRATCH
    node_t* path              # (max_depth + 1)
    float* path_score         # (max_depth + 1)
    float* debt               # (max_depth + 1)


cdef inline idx_t walk_home(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil:
    """Follow the row; OUT path, path_score, home. Returns the number of nodes passed."""
    cdef idx_t n = 0
    cdef node_t at = 0 if tree.n_splits > 0 else -1
    while at >= 0:
        answer.path[n] = at
        answer.path_score[n] = score_case(tree, at, case)
        at = tree.child[2 * at + (answer.path_score[n] > 0)]
        n += 1
    answer.home = ~at
    answer.home_loss = loss_at(tree, answer.home, case)
    answer.leaf = answer.home
    answer.bound = answer.home_loss
    answer.n_turned = 0
    return n


cdef inline void infer_fast(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil:
    cdef idx_t n = walk_home(tree, case, answer)
    cdef idx_t k
    cdef node_t leaf, other
    cdef float value, cost
    # Upwards: the branches near the leaf are short, and a good code prunes the rest.
    for k in range(n - 1, -1, -1):
        other = tree.child[2 * answer.path[k] + (not answer.path_score[k] > 0)]
        cost = 2 * fabsf(answer.path_score[k])
        if most_loss(tree, other, case) - cost <= answer.bound:
            continue
        leaf = find_leaf(tree, other, case)
        value = loss_at(tree, leaf, case) - cost
        if value > answer.bound:
            answer.bound = value
            answer.leaf = leaf
            answer.n_turned = 1
            answer.turned[0] = answer.path[k]
            answer.score[0] = answer.path_score[k]


cdef inline void infer_full(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil:
    """Depth first; path holds the nodes whose other branch is still to be looked at.

    debt[k] is the cost of the turned nodes above path[k].
    """
    cdef idx_t n = walk_home(tree, case, answer)
    cdef idx_t k
    cdef node_t at
    cdef float value, debt
    for k in range(n):
        answer.debt[k] = 0.0
    while n > 0:
        n -= 1
        at = answer.path[n]
        debt = answer.debt[n] + 2 * fabsf(answer.path_score[n])
        at = tree.child[2 * at + (not answer.path_score[n] > 0)]
        while at >= 0 and most_loss(tree, at, case) - debt > answer.bound:
            answer.path[n] = at
            answer.path_score[n] = score_case(tree, at, case)
            answer.debt[n] = debt
            at = tree.child[2 * at + (answer.path_score[n] > 0)]
            n += 1
        if at < 0:
            value = loss_at(tree, ~at, case) - debt
            if value > answer.bound:
                answer.bound = value
                answer.leaf = ~at
    if answer.leaf != answer.home:
        compare_path(tree, case, answer.leaf, answer)


# What it takes to bring a row to a leaf: OUT turned, score, n_turned, of the nodes on the way
# whose side would have to change; returns the sum of 2 |score| over them.
cdef inline float compare_path(const DenseTree* tree, const Case* case, node_t leaf,
                               Answer* answer) noexcept nogil:
    cdef node_t below = ~leaf
    cdef node_t up = tree.leaf_parent[leaf]
    cdef float score, cost = 0.0
    answer.n_turned = 0
    while up >= 0:
        score = score_case(tree, up, case)
        if tree.child[2 * up + (score > 0)] != below:
            answer.turned[answer.n_turned] = up
            answer.score[answer.n_turned] = score
            answer.n_turned += 1
            cost += 2 * fabsf(score)
        below = up
        up = tree.parent[up]
    return cost
