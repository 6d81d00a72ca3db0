"""Links upwards: parents, depths, and the nodes that rows pass."""

import numpy as np
from scipy.sparse import csr_matrix

# Of rows whose paths are traced together.
BLOCK_LEAVES = 2**16


def find_parents(children_left, children_right):
    """Parent of every node; the root is its own."""
    parent = np.zeros(children_left.shape[0], dtype=np.int64)
    internal = np.flatnonzero(children_left >= 0)
    parent[children_left[internal]] = internal
    parent[children_right[internal]] = internal
    return parent


def compute_depths(children_left, children_right):
    """Depth of every node, int64, or None when the links hold a cycle.

    Each round doubles the length of the link that a node knows, so the number of rounds
    is the logarithm of the depth.
    """
    ancestor = find_parents(children_left, children_right)
    depth = np.ones(ancestor.shape[0], dtype=np.int64)
    depth[0] = 0
    for _ in range(ancestor.shape[0].bit_length() + 1):
        if not ancestor.any():
            return depth
        depth += depth[ancestor]
        ancestor = ancestor[ancestor]
    return None


def trace_paths(trees, leaves):
    """Indicator of the nodes between the roots and the given leaves.

    Parameters
    ----------
    trees : sequence of Tree
    leaves : ndarray of shape (n_rows, n_trees)
        Leaf that each row reaches in each tree.

    Returns
    -------
    indicator : csr_matrix of shape (n_rows, n_nodes)
    n_nodes_ptr : ndarray of shape (n_trees + 1,)
        First column of each tree.
    """
    n_nodes_ptr = np.zeros(len(trees) + 1, dtype=np.int64)
    n_nodes_ptr[1:] = np.cumsum([tree.node_count for tree in trees])
    parents = [find_parents(tree.children_left, tree.children_right) for tree in trees]
    # Blocks of rows, between which Ctrl-C is noticed.
    step = max(BLOCK_LEAVES // len(trees), 1)
    blocks = [
        _trace_block(parents, leaves[start : start + step], n_nodes_ptr)
        for start in range(0, leaves.shape[0], step)
    ]
    node_of = np.concatenate([np.zeros(0, dtype=np.int64), *(nodes for nodes, _ in blocks)])
    row_ptr = np.zeros(leaves.shape[0] + 1, dtype=np.int64)
    row_ptr[1:] = np.cumsum(np.concatenate([row_ptr[:0], *(counts for _, counts in blocks)]))
    indicator = csr_matrix(
        (np.ones(node_of.size, dtype=np.int64), node_of, row_ptr),
        shape=(leaves.shape[0], int(n_nodes_ptr[-1])),
    )
    return indicator, n_nodes_ptr


def _trace_block(parents, leaves, n_nodes_ptr):
    """Nodes above the leaves of some rows, row after row, and how many each row passes."""
    n_rows = leaves.shape[0]
    row_of = [np.zeros(0, dtype=np.int64)]
    node_of = [np.zeros(0, dtype=np.int64)]
    for t, parent in enumerate(parents):
        rows = np.arange(n_rows)
        at = leaves[:, t]
        while rows.size:
            row_of.append(rows)
            node_of.append(at + n_nodes_ptr[t])
            below = at > 0
            rows, at = rows[below], parent[at[below]]
    row_of = np.concatenate(row_of)
    node_of = np.concatenate(node_of)
    order = np.lexsort((node_of, row_of))
    return node_of[order], np.bincount(row_of, minlength=n_rows)
