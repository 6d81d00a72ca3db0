# Loss-augmented inference: the code that says most against a tree, for one row.
#
# A code h gives each split node a side, -1 or +1; f(h) is the leaf that it leads to. The sides
# that the row takes are sgn(Wx). Sought is the code g that maximises
#
#     (g - sgn(Wx)).Wx + loss(f(g)),
#
# equation 12: among all codes ("full"), or among those that differ from sgn(Wx) in one
# node at most ("fast", equation 13). Only nodes on the way to a leaf matter, so what is
# returned is the leaf and the nodes on its path whose side is turned round.

from obtree.core.types cimport idx_t, node_t
from obtree.optim.dense_tree cimport Case, DenseTree


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


cdef void infer_fast(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil
cdef void infer_full(const DenseTree* tree, const Case* case, Answer* answer) noexcept nogil

# What it takes to bring a row to a leaf: OUT turned, score, n_turned, of the nodes on the way
# whose side would have to change; returns the sum of 2 |score| over them.
cdef float compare_path(const DenseTree* tree, const Case* case, node_t leaf,
                        Answer* answer) noexcept nogil
