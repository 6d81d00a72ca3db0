# A tree whose planes are moved: every node has a weight for every column.
#
# Split nodes are numbered apart from leaves. A child is a split node when it is not
# negative, else leaf ~child. Rows are scaled (scaled_rows.pyx), `stride` floats apart and end in
# a constant, so that a plane's last weight is its offset and the score of a row is one dot
# product; a row goes left when its score is not positive.
#
# A node is fixed when its test is no plane over the scaled columns (it asks for a column with
# missing values, a product or an interval): it keeps its test, and no row is near to changing
# sides there.

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t
from libc.string cimport memset

from obtree.core.dispatch cimport Kernels, kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport X_t, idx_t, node_t
from obtree.data.hyperplane cimport Hyperplane, goes_left, project_plane
from obtree.linear.loss cimport squared_loss, tabulate_log_loss


cdef struct DenseTree:
    idx_t n_splits
    idx_t n_leaves
    idx_t stride
    idx_t n_slots             # classes, or outputs in regression
    idx_t max_depth
    bint is_class
    node_t* child             # (2 * n_splits) left and right
    node_t* parent            # (n_splits) -1 at the root
    node_t* leaf_parent       # (n_leaves) -1 when the root is a leaf
    const Hyperplane** fixed  # (n_splits) NULL at nodes that move
    float* w                  # (n_splits * stride)
    float* theta              # (n_leaves * n_slots) unnormalised log-probabilities, or means
    float* table              # (n_leaves * n_slots) loss of each class
    # (n_splits * n_slots) over the leaves below a node: never below the largest loss of a
    # class; in regression, a box that holds theta.
    float* high
    float* low
    const Kernels* kernel


# A row and what is to be predicted for it.
cdef struct Case:
    const float* x            # (stride) scaled
    const X_t* raw            # (n_features) as given, for fixed nodes
    idx_t code                # class
    const float* y            # (n_slots) numbers


cdef inline float fixed_score() noexcept nogil:
    """Stands for a score that no loss outweighs, yet may be added up over a path."""
    return <float>1e12


cdef inline float score_case(const DenseTree* tree, idx_t node, const Case* case) noexcept nogil:
    """w.x, or a fixed score where the test is fixed; positive means right."""
    cdef float score
    cdef const Hyperplane* plane = tree.fixed[node]
    if plane != NULL:
        score = fixed_score()
        return -score if goes_left(plane, project_plane(plane, case.raw, 1)) else score
    tree.kernel.dot_rows(tree.w + node * tree.stride, tree.stride, 1, case.x, &score)
    return score


cdef inline float loss_at(const DenseTree* tree, idx_t leaf, const Case* case) noexcept nogil:
    if tree.is_class:
        return tree.table[leaf * tree.n_slots + case.code]
    return squared_loss(tree.theta + leaf * tree.n_slots, case.y, tree.n_slots)


cdef inline float max_loss(const DenseTree* tree, node_t child, const Case* case) noexcept nogil:
    """No leaf at or below `child` has a larger loss."""
    cdef idx_t k
    cdef float gap, other, total = 0.0
    if child < 0:
        return loss_at(tree, ~child, case)
    if tree.is_class:
        return tree.high[child * tree.n_slots + case.code]
    for k in range(tree.n_slots):
        gap = tree.high[child * tree.n_slots + k] - case.y[k]
        other = case.y[k] - tree.low[child * tree.n_slots + k]
        gap = max(gap, other)
        total += gap * gap
    # Squares in another order than squared_loss would round differently.
    return total * <float>1.000001


cdef inline node_t find_leaf(const DenseTree* tree, node_t child, const Case* case) noexcept nogil:
    """The leaf that the case reaches from `child`."""
    while child >= 0:
        child = tree.child[2 * child + (score_case(tree, child, case) > 0)]
    return ~child


# Take memory for a tree of so many leaves.
cdef inline int take_tree(DenseTree* tree, Workspace workspace, idx_t n_leaves, idx_t stride,
                          idx_t n_slots, bint is_class) except -1:
    cdef idx_t n_splits = n_leaves - 1
    tree.n_splits = n_splits
    tree.n_leaves = n_leaves
    tree.stride = stride
    tree.n_slots = n_slots
    tree.is_class = is_class
    tree.child = <node_t*>workspace.take(2 * n_splits, sizeof(node_t))
    tree.parent = <node_t*>workspace.take(n_splits, sizeof(node_t))
    tree.leaf_parent = <node_t*>workspace.take(n_leaves, sizeof(node_t))
    tree.fixed = <const Hyperplane**>workspace.take(n_splits, sizeof(Hyperplane*))
    tree.w = <float*>workspace.take(n_splits * stride, sizeof(float))
    tree.theta = <float*>workspace.take(n_leaves * n_slots, sizeof(float))
    tree.table = <float*>workspace.take(n_leaves * n_slots, sizeof(float))
    tree.high = <float*>workspace.take(n_splits * n_slots, sizeof(float))
    tree.low = <float*>workspace.take(n_splits * n_slots, sizeof(float))
    tree.kernel = kernels()
    memset(tree.fixed, 0, n_splits * sizeof(Hyperplane*))
    memset(tree.w, 0, n_splits * stride * sizeof(float))
    memset(tree.theta, 0, n_leaves * n_slots * sizeof(float))
    return 0


# After `child` is filled: parents and depth. Children stand behind their parents.
cdef inline void link_parents(DenseTree* tree) noexcept nogil:
    cdef idx_t node, side
    cdef node_t child, up
    cdef idx_t depth
    tree.leaf_parent[0] = -1
    if tree.n_splits > 0:
        tree.parent[0] = -1
    for node in range(tree.n_splits):
        for side in range(2):
            child = tree.child[2 * node + side]
            if child >= 0:
                tree.parent[child] = <node_t>node
            else:
                tree.leaf_parent[~child] = <node_t>node
    tree.max_depth = 0
    for node in range(tree.n_leaves):
        depth = 0
        up = tree.leaf_parent[node]
        while up >= 0:
            up = tree.parent[up]
            depth += 1
        tree.max_depth = max(tree.max_depth, depth)


# Theta of a leaf has changed: its table, and what is known of the nodes above.
cdef inline void renew_leaf(DenseTree* tree, idx_t leaf) noexcept nogil:
    cdef idx_t k, n = tree.n_slots
    cdef const float* theta = tree.theta + leaf * n
    cdef const float* most = theta
    cdef node_t up = tree.leaf_parent[leaf]
    cdef bint wider = True
    if tree.is_class:
        tabulate_log_loss(theta, n, tree.table + leaf * n)
        most = tree.table + leaf * n
    while up >= 0 and wider:
        wider = False
        for k in range(n):
            if most[k] > tree.high[up * n + k]:
                tree.high[up * n + k] = most[k]
                wider = True
            if most[k] < tree.low[up * n + k]:
                tree.low[up * n + k] = most[k]
                wider = True
        up = tree.parent[up]


# The same for all leaves, with bounds as tight as they can be.
cdef inline void renew_leaves(DenseTree* tree) noexcept nogil:
    cdef idx_t k
    for k in range(tree.n_splits * tree.n_slots):
        tree.high[k] = -INFINITY
        tree.low[k] = INFINITY
    for k in range(tree.n_leaves):
        renew_leaf(tree, k)
