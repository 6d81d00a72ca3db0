"""Which nodes rows pass on their way to known leaves."""

import numpy as np
from scipy.sparse import csr_matrix


def find_parents(tree):
    """Parent of every node, -1 for the root."""
    parent = np.full(tree.node_count, -1, dtype=np.int64)
    internal = np.flatnonzero(tree.children_left >= 0)
    parent[tree.children_left[internal]] = internal
    parent[tree.children_right[internal]] = internal
    return parent


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
    n_rows = leaves.shape[0]
    row_of = []
    node_of = []
    for t, tree in enumerate(trees):
        parent = find_parents(tree)
        rows = np.arange(n_rows)
        at = leaves[:, t]
        while rows.size:
            row_of.append(rows)
            node_of.append(at + n_nodes_ptr[t])
            at = parent[at]
            rows, at = rows[at >= 0], at[at >= 0]
    row_of = np.concatenate(row_of)
    node_of = np.concatenate(node_of)
    order = np.lexsort((node_of, row_of))
    row_ptr = np.zeros(n_rows + 1, dtype=np.int64)
    row_ptr[1:] = np.cumsum(np.bincount(row_of, minlength=n_rows))
    indicator = csr_matrix(
        (np.ones(order.size, dtype=np.int64), node_of[order], row_ptr),
        shape=(n_rows, int(n_nodes_ptr[-1])),
    )
    return indicator, n_nodes_ptr
