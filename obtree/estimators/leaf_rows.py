"""Which rows are in which leaf, for all trees of a forest."""

from dataclasses import dataclass

import numpy as np

#: Rows whose leaves are found at a time.
CHUNK_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows of every leaf, leaves laid end to end.

    Attributes
    ----------
    offset : int64 ndarray of shape (n_trees,)
        Where the nodes of a tree begin in `start`.
    start : int64 ndarray of shape (n_nodes of all trees + 1,)
        Node k of tree t has the rows ``member[start[offset[t] + k]:start[offset[t] + k + 1]]``.
    member : int32 ndarray
        Rows, ascending within a node.
    weight : float64 ndarray or None
        One for each entry of `member`; None when all are 1.
    n_rows : int
        Rows there are.
    """

    offset: np.ndarray
    start: np.ndarray
    member: np.ndarray
    weight: np.ndarray | None
    n_rows: int


def find_leaves(predictor, X, n_threads):
    """Find the leaf of each row in each tree.

    Parameters
    ----------
    predictor : Predictor
        Packed trees.
    X : ndarray or csr_matrix
        Validated features.
    n_threads : int
        Number of threads.

    Returns
    -------
    leaves : int32 ndarray of shape (n_rows, n_trees)
    """
    parts = [
        predictor.apply(X[first : first + CHUNK_ROWS], n_threads=n_threads).astype(np.int32)
        for first in range(0, X.shape[0], CHUNK_ROWS)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def list_leaf_rows(leaves, node_counts, weights=None, divide=True):
    """Gather the rows of every leaf.

    Parameters
    ----------
    leaves : int32 ndarray of shape (n_rows, n_trees)
        Leaf of each row; -1 where the row is not to be listed.
    node_counts : sequence of int
        Nodes of each tree.
    weights : iterable of float64 ndarrays of shape (n_rows,), optional
        Weights of the rows in each tree. Rows of zero weight are not listed.
    divide : bool, default=True
        Whether weights are divided by the sum of their leaf.

    Returns
    -------
    rows : LeafRows
    """
    n_rows, n_trees = leaves.shape
    offset = np.concatenate([[0], np.cumsum(node_counts, dtype=np.int64)])
    sizes, members, shares = [], [], []
    per_tree = [None] * n_trees if weights is None else weights
    for t, (n_nodes, weight) in enumerate(zip(node_counts, per_tree, strict=True)):
        leaf = leaves[:, t]
        listed = np.flatnonzero(leaf >= 0 if weight is None else (leaf >= 0) & (weight > 0.0))
        found = leaf[listed]
        order = np.argsort(found, kind="stable")
        sizes.append(np.bincount(found, minlength=n_nodes))
        members.append(listed[order].astype(np.int32))
        if weight is not None:
            share = weight[listed]
            if divide:
                share = share / np.bincount(found, share, minlength=n_nodes)[found]
            shares.append(share[order].astype(np.float64, copy=False))
    start = np.zeros(offset[-1] + 1, dtype=np.int64)
    np.cumsum(np.concatenate(sizes), out=start[1:])
    weight = None if weights is None else np.concatenate(shares)
    return LeafRows(offset[:-1], start, np.concatenate(members), weight, n_rows)
