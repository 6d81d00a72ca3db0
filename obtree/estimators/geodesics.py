"""Shortest paths over the leaves of a forest, along which labels travel.

Criminisi, Shotton and Konukoglu (2011), section 7.3: the distance of two rows is that of the
shortest path between them, and the length of a step is their symmetric Mahalanobis distance by the
Gaussians of their leaves. Steps lead here from a row to the nearest of those that share a leaf with
it in some tree; paths get on since the leaves of different trees overlap. Two things depart from
the paper. The Gaussians of a tree have one covariance, that within its leaves, half way to a
diagonal one, since a single leaf has few rows. And squared distances are squared once more, so that
many short steps through dense places beat a long one over a gap.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

#: Beyond so many features covariances are taken to be diagonal, as in the criterion.
MAX_FULL = 32
#: Rows of a leaf that are compared with each other; larger leaves are cut to such blocks.
BLOCK_ROWS = 256
#: Pairs of rows that are sorted at a time, between which Ctrl-C is noticed.
BLOCK_PAIRS = 2**20
#: How far a covariance goes towards a diagonal one.
SHRINKAGE = 0.5
#: The least length of a step: a sparse matrix has no zeros.
SHORTEST = 1e-12


def link_leaf_mates(X, leaves, n_neighbors):
    """Link each row to the nearest of those it shares leaves with.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        NaN means missing, and counts as the mean of the leaf.
    leaves : int ndarray of shape (n_rows, n_trees)
        Leaf of each row in each tree.
    n_neighbors : int
        Links of a row, beside those of rows that have it among their nearest.

    Returns
    -------
    links : csr_matrix of shape (n_rows, n_rows)
        Lengths of steps; symmetric.
    """
    X = np.asarray(X, dtype=np.float64)
    n_rows = len(X)
    pairs = [_list_mates(X, in_tree, n_neighbors) for in_tree in leaves.T]
    step = max(1, n_rows * BLOCK_PAIRS // max(1, sum(len(key) for key, _ in pairs)))
    kept = [
        _keep_nearest(pairs, n_rows, first, min(first + step, n_rows), n_neighbors)
        for first in range(0, n_rows, step)
    ]
    start, end, length = (np.concatenate(part) for part in zip(*kept, strict=True))
    links = sp.csr_matrix((length, (start, end)), shape=(n_rows, n_rows))
    # A link that either end keeps leads both ways; both would give it the same length.
    return links.maximum(links.T).tocsr()


def _keep_nearest(pairs, n_rows, first, last, n_neighbors):
    """Return the shortest links of the rows from `first` to `last`: start, end and length."""
    parts = []
    for key, distance in pairs:
        part = slice(*np.searchsorted(key, [first * n_rows, last * n_rows]))
        parts.append((key[part], distance[part]))
    key, group, count = np.unique(
        np.concatenate([key for key, _ in parts]), return_inverse=True, return_counts=True
    )
    distance = np.bincount(group, np.concatenate([d for _, d in parts])) / count
    start, end = np.divmod(key, n_rows)
    length = np.maximum(distance**2, SHORTEST)
    order = np.lexsort((end, length, start))
    rank = np.arange(len(order)) - np.searchsorted(start[order], start[order])
    kept = order[rank < n_neighbors]
    return start[kept], end[kept], length[kept]


def _list_mates(X, leaf, n_neighbors):
    """Return pairs of rows near to each other in one tree, and their squared distances.

    A pair is one number, ``start * n_rows + end``, in ascending order, and stands there both ways.
    The distance is a mean over features.
    """
    order = np.argsort(leaf, kind="stable")
    ends = np.flatnonzero(np.diff(leaf[order])) + 1
    starts = np.concatenate([[0], ends])
    Z = _whiten(_centre(X[order], starts), len(starts))
    keys, distances = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for start, end in zip(starts, [*ends, len(X)], strict=True):
        for first in range(start, end, BLOCK_ROWS):
            rows = order[first : min(first + BLOCK_ROWS, end)]
            if len(rows) == 1:
                continue
            z = Z[first : first + len(rows)]
            squares = np.einsum("ij,ij->i", z, z)
            squared = squares[:, None] + squares - 2.0 * np.einsum("ik,jk->ij", z, z)
            np.fill_diagonal(squared, np.inf)
            n_near = min(n_neighbors, len(rows) - 1)
            near = np.argsort(squared, axis=1, kind="stable")[:, :n_near]
            one, other = np.repeat(rows, n_near), rows[near].ravel()
            keys += [one * len(X) + other, other * len(X) + one]
            distances += [np.take_along_axis(squared, near, axis=1).ravel()] * 2
    key, first = np.unique(np.concatenate(keys), return_index=True)
    return key, np.maximum(np.concatenate(distances)[first], 0.0) / X.shape[1]


def _centre(X, starts):
    """Return rows, leaf after leaf, as differences from the mean of their leaf."""
    counts = np.diff(np.append(starts, len(X)))
    known = np.add.reduceat(~np.isnan(X), starts, dtype=np.int64)
    mean = np.add.reduceat(np.nan_to_num(X, nan=0.0), starts) / np.maximum(known, 1)
    return np.nan_to_num(X - np.repeat(mean, counts, axis=0), nan=0.0)


def _whiten(centred, n_leaves):
    """Return centred rows in coordinates where their leaves have covariance 1, about."""
    n_rows, n_features = centred.shape
    n_free = max(n_rows - n_leaves, 1)
    variance = np.einsum("ij,ij->j", centred, centred) / n_free
    scaled = centred / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    if n_features > MAX_FULL:
        return scaled
    # Features have unit variance now, or none. BLAS and LAPACK are kept out of this: what they
    # add up depends on the machine.
    correlation = np.einsum("ij,ik->jk", scaled, scaled) / n_free
    correlation *= 1.0 - SHRINKAGE
    np.fill_diagonal(correlation, 1.0)
    # Cholesky's method; what is taken off the correlation is taken off the rows as well.
    for k in range(n_features):
        pivot = np.sqrt(correlation[k, k])
        scaled[:, k] /= pivot
        column = correlation[k + 1 :, k] / pivot
        correlation[k + 1 :, k + 1 :] -= np.outer(column, column)
        scaled[:, k + 1 :] -= np.outer(scaled[:, k], column)
    return scaled


def measure_paths(links, codes, n_classes):
    """Measure the shortest path from each row to the labels of each class.

    Parameters
    ----------
    links : csr_matrix of shape (n_rows, n_rows)
        Lengths of steps.
    codes : int ndarray of shape (n_rows,)
        Class of each row, -1 for none.
    n_classes : int
        Number of classes.

    Returns
    -------
    distance : ndarray of shape (n_rows, n_classes)
        Infinite where no path leads.
    """
    distance = np.full((len(codes), n_classes), np.inf)
    for c in range(n_classes):
        sources = np.flatnonzero(codes == c)
        if len(sources):
            distance[:, c] = dijkstra(links, directed=False, indices=sources, min_only=True)
    return distance
