"""Minimal cost-complexity pruning (Breiman et al. 1984, chapter 3) of grown trees.

A node's risk is its impurity times its fraction of the weight. Keeping the branch of a
node t instead of collapsing it buys risk(t) - risk(branch) for leaves(branch) - 1
more leaves; the ratio is the node's link strength. The weakest link is collapsed again
and again, and the strengths met on the way are the critical values of alpha.

A collapse changes the strength of the node's ancestors only, and in exact arithmetic only
upwards. A heap therefore keeps lower bounds, corrected when they come to the top: the
work is n log n plus the depths of leaves and collapsed nodes.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from obtree.core.types cimport idx_t

from obtree.tree.path import find_parents
from obtree.core.params import Number, check_param
from obtree.tree.select import select_nodes
from obtree.tree.tree import Tree, list_arrays


def prune_tree(tree, ccp_alpha):
    """Collapse every branch whose link strength does not exceed ccp_alpha.

    Parameters
    ----------
    tree : Tree
    ccp_alpha : float
        Price of a leaf, at least 0.

    Returns
    -------
    Tree
        The tree itself when nothing was collapsed. Nodes keep their order.
    """
    ccp_alpha = check_param("ccp_alpha", ccp_alpha, Number(0.0))
    collapsed, alphas, _ = collapse_links(tree, ccp_alpha)
    return cut_branches(tree, collapsed) if len(alphas) > 1 else tree


def pruning_path(tree):
    """Critical values of alpha, and the risk of the tree that each leaves.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ccp_alphas : ndarray of shape (n_collapses + 1,)
        0 for the whole tree, then the strength of each link at its collapse.
    impurities : ndarray of shape (n_collapses + 1,)
        Total impurity of the leaves, weighted by their fraction of the rows.
    """
    _, alphas, impurities = collapse_links(tree, np.inf)
    return np.asarray(alphas), np.asarray(impurities)


cdef inline bint is_weaker(const double* strength, int32_t a, int32_t b) noexcept nogil:
    """Order of collapse; equal links go by node number."""
    return strength[a] < strength[b] or (strength[a] == strength[b] and a < b)


cdef void sift_down(int32_t* heap, idx_t n, idx_t at, const double* strength) noexcept nogil:
    """Restore the heap below a link that has become stronger."""
    cdef int32_t moving = heap[at]
    cdef idx_t child = 2 * at + 1
    while child < n:
        if child + 1 < n and is_weaker(strength, heap[child + 1], heap[child]):
            child += 1
        if not is_weaker(strength, heap[child], moving):
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = moving


def collapse_links(tree, double ccp_alpha):
    """Collapse links up to a strength of ccp_alpha, weakest first.

    Returns
    -------
    collapsed : bool ndarray of shape (n_nodes,)
        Nodes that became leaves; some lie below others.
    alphas, impurities : list of float
        As in `pruning_path`.
    """
    cdef const int32_t[::1] left = tree.children_left
    cdef const int32_t[::1] right = tree.children_right
    cdef idx_t n_nodes = left.shape[0]
    cdef const int64_t[::1] parent = find_parents(tree.children_left, tree.children_right)
    total = tree.weighted_n_node_samples[0]
    cdef const double[::1] risk = (
        tree.weighted_n_node_samples * tree.impurity / (total if total > 0 else 1.0)
    )
    cdef double[::1] branch_risk = np.zeros(n_nodes)
    cdef int64_t[::1] n_leaves = np.zeros(n_nodes, dtype=np.int64)
    cdef double[::1] strength = np.zeros(n_nodes)
    # A node is closed once it has no branch any more: a leaf, collapsed, or cut off.
    cdef unsigned char[::1] is_closed = (tree.children_left < 0).astype(np.uint8)
    cdef int32_t[::1] stack = np.empty(n_nodes + 1, dtype=np.int32)
    cdef int32_t[::1] heap = np.flatnonzero(tree.children_left >= 0).astype(np.int32)
    cdef idx_t n_heap = heap.shape[0]
    cdef idx_t k, n_stack
    cdef int64_t node, removed_leaves
    cdef double added_risk, current

    # Leaves add to their ancestors in index order, as in scikit-learn: links of equal
    # strength are common, and rounding decides which of them goes first.
    for k in range(n_nodes):
        if left[k] < 0:
            node = k
            while True:
                branch_risk[node] += risk[k]
                n_leaves[node] += 1
                if node == 0:
                    break
                node = parent[node]
    for k in range(n_nodes):
        if left[k] >= 0:
            strength[k] = (risk[k] - branch_risk[k]) / (n_leaves[k] - 1)
    for k in range(n_heap // 2 - 1, -1, -1):
        sift_down(&heap[0], n_heap, k, &strength[0])

    result = np.zeros(n_nodes, dtype=bool)
    cdef unsigned char[::1] collapsed = result.view(np.uint8)
    alphas = [0.0]
    impurities = [branch_risk[0]]
    while n_heap > 0:
        node = heap[0]
        if not is_closed[node]:
            current = (risk[node] - branch_risk[node]) / (n_leaves[node] - 1)
            if current > strength[node]:
                # The bound was old: put the link where it belongs now.
                strength[node] = current
                sift_down(&heap[0], n_heap, 0, &strength[0])
                continue
            if current > ccp_alpha:
                break
        n_heap -= 1
        heap[0] = heap[n_heap]
        sift_down(&heap[0], n_heap, 0, &strength[0])
        if is_closed[node]:
            continue

        collapsed[node] = True
        # Every node is closed once, so cutting branches off costs O(n) in all.
        stack[0] = <int32_t>node
        n_stack = 1
        while n_stack > 0:
            n_stack -= 1
            k = stack[n_stack]
            if not is_closed[k]:
                is_closed[k] = True
                stack[n_stack] = left[k]
                stack[n_stack + 1] = right[k]
                n_stack += 2
        added_risk = risk[node] - branch_risk[node]
        removed_leaves = n_leaves[node] - 1
        branch_risk[node] = risk[node]
        n_leaves[node] = 1
        k = node
        while k > 0:
            k = parent[k]
            branch_risk[k] += added_risk
            n_leaves[k] -= removed_leaves
        # Links of equal strength may come out of order by rounding.
        alphas.append(max(current, alphas[len(alphas) - 1]))
        impurities.append(branch_risk[0])
    return result, alphas, impurities


def cut_branches(tree, collapsed):
    """A copy of the tree in which the collapsed nodes are leaves."""
    offset, tree = tree.feature_offset, tree.shifted
    # A node is kept when none of its ancestors is collapsed; each round looks twice as far.
    ancestor = find_parents(tree.children_left, tree.children_right)
    is_cut = collapsed[ancestor]
    is_cut[0] = False
    while ancestor.any():
        is_cut |= is_cut[ancestor]
        ancestor = ancestor[ancestor]
    kept = np.flatnonzero(~is_cut)
    # What has become a leaf is a constant one; the leaves that were there keep their models.
    left, right = (
        np.where(collapsed[kept], -1, children[kept])
        for children in (tree.children_left, tree.children_right)
    )
    arrays = list_arrays(tree) | {"feature_offset": offset}
    return Tree.from_arrays(n_features=tree.n_features, **select_nodes(arrays, kept, left, right))
