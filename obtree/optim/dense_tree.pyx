"""A tree whose planes are moved: links, memory and bounds of the loss below each node."""

from libc.math cimport INFINITY
from libc.string cimport memset

from obtree.core.dispatch cimport kernels
from obtree.core.memory cimport Workspace
from obtree.core.types cimport idx_t, node_t
from obtree.data.hyperplane cimport Hyperplane
from obtree.linear.loss cimport tabulate_log_loss


cdef int take_tree(DenseTree* tree, Workspace workspace, idx_t n_leaves, idx_t stride,
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


cdef void link_parents(DenseTree* tree) noexcept nogil:
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


cdef void renew_leaf(DenseTree* tree, idx_t leaf) noexcept nogil:
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


cdef void renew_leaves(DenseTree* tree) noexcept nogil:
    cdef idx_t k
    for k in range(tree.n_splits * tree.n_slots):
        tree.high[k] = -INFINITY
        tree.low[k] = INFINITY
    for k in range(tree.n_leaves):
        renew_leaf(tree, k)
