"""Affinities of rows that share leaves (Criminisi, Shotton and Konukoglu, 2011, chapter 6).

In one tree two rows of a leaf have the affinity exp(-Q), rows of different leaves have none, and
a forest takes the mean over its trees. Q is 0 ("binary"), a squared distance ("gaussian"), or
the squared distance by the covariance of the leaf's rows ("mahalanobis").

The book has one bandwidth for all rows. Here that of a Gaussian follows the rows (Zelnik-Manor and
Perona, 2004): Q = |v_i - v_j|^2 / max(s_i, s_j), where s is the squared distance to the row's k-th
neighbour. Distances are those of features of deviation 1. With one bandwidth, rows that lie by
themselves have affinity to none, and each of them gets a coordinate of its own. The distance by the
covariance is divided by what it is on average, twice the number of features: else rows of many
features had none.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from obtree.estimators.leaf_rows import list_leaf_rows
from obtree.estimators.proximity import join_leaves

#: The neighbour whose distance is the bandwidth of a row.
NEIGHBOR = 7
#: By what Q is multiplied where it has the leaf's covariance.
SHARPNESS = 1.0
#: Variance of a leaf's rows at least, features having variance 1 in all rows.
LEAST_VARIANCE = 1e-12
#: Beyond so many features covariances of leaves are taken to be diagonal.
MAX_FULL = 32
#: Cells of rows that are subtracted at a time.
CHUNK_CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Scaler:
    """Makes features of mean 0 and deviation 1, and fills in what is missing.

    Attributes
    ----------
    mean, deviation : float64 ndarray of shape (n_features,)
        The deviation of constant features is 1.
    """

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def measure(cls, X, weight):
        """Return the scaler of some rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        weight : float64 ndarray of shape (n_rows,)

        Returns
        -------
        scaler : Scaler
        """
        X = X.astype(np.float64)
        known = ~np.isnan(X)
        w = known * weight[:, None]
        total = np.maximum(w.sum(axis=0), np.finfo(float).tiny)
        filled = np.where(known, X, 0.0)
        # From a row that is there, so that constant columns have no deviation.
        first = filled[known.argmax(axis=0), np.arange(X.shape[1])]
        mean = first + (w * (filled - first)).sum(axis=0) / total
        deviation = np.sqrt((w * (filled - mean) ** 2).sum(axis=0) / total)
        return cls(mean, np.where(deviation > 1e-7 * np.abs(first - mean), deviation, 1.0))

    def scale(self, X):
        """Return rows of deviation 1.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)

        Returns
        -------
        Z : float32 ndarray of the same shape
            What is missing is 0.
        """
        Z = (X.astype(np.float64) - self.mean) / self.deviation
        return np.where(np.isnan(Z), 0.0, Z).astype(np.float32)


class AffinityGraph:
    """The rows that others are compared with.

    Parameters
    ----------
    kind : {"binary", "gaussian", "mahalanobis"}
    power : int
        What the means over the trees are raised to.
    leaves : int32 ndarray of shape (n_rows, n_trees)
    node_counts : list of int
    Z : float32 ndarray of shape (n_rows, n_features)
        Rows of deviation 1.
    weight : float64 ndarray of shape (n_rows,)
    """

    def __init__(self, kind, power, leaves, node_counts, Z, weight):
        self.kind = kind
        self.power = power
        self.leaves = leaves
        self.Z = Z
        self.weight = weight
        self._rows = list_leaf_rows(leaves, node_counts)
        self._widths = None

    def compare(self, leaves=None, Z=None, n_threads=1, max_bytes=2**62):
        """Return the affinities of rows to those of the graph.

        Parameters
        ----------
        leaves : int32 ndarray of shape (n_others, n_trees), optional
            The graph's own by default.
        Z : float32 ndarray of shape (n_others, n_features), optional
        n_threads : int, default=1
        max_bytes : int, optional
            Refuse a result that takes more.

        Returns
        -------
        affinity : csr_matrix of shape (n_others, n_rows)
        """
        is_own = leaves is None
        if is_own:
            leaves, Z = self.leaves, self.Z
        divisor = np.full(len(leaves), float(leaves.shape[1]))
        affinity = join_leaves(leaves, self._rows, divisor, n_threads, max_bytes=max_bytes)
        if self.kind == "mahalanobis":
            self._weigh_by_leaf(affinity, leaves, Z)
        affinity.data **= self.power
        if self.kind == "gaussian":
            widths = self._weigh_distances(affinity, Z, is_own)
            if is_own:
                self._widths = widths
        return affinity

    def _weigh_distances(self, affinity, Z, is_own):
        """Multiply affinities by Gaussians of the distances; return the rows' bandwidths."""
        if not is_own and self._widths is None:
            self.compare()
        of = np.repeat(np.arange(affinity.shape[0]), np.diff(affinity.indptr))
        squares = _measure_squares(Z, self.Z, of, affinity.indices)
        widths = _find_widths(affinity, squares, self.weight)
        others = widths if is_own else self._widths
        affinity.data *= np.exp(-squares / np.maximum(widths[of], others[affinity.indices]))
        return widths

    def _weigh_by_leaf(self, affinity, leaves, Z):
        """Replace shared leaves by Gaussians of the distance that each leaf measures."""
        of = np.repeat(np.arange(affinity.shape[0]), np.diff(affinity.indptr))
        affinity.data[:] = 0.0
        for t in range(leaves.shape[1]):
            metric = LeafMetric(self.leaves[:, t], self.Z, self.weight)
            place = np.flatnonzero(leaves[of, t] == self.leaves[affinity.indices, t])
            A, B = metric.whiten(leaves[:, t], Z), metric.whiten(self.leaves[:, t], self.Z)
            squares = _measure_squares(A, B, of[place], affinity.indices[place])
            affinity.data[place] += np.exp(-SHARPNESS / (2.0 * Z.shape[1]) * squares)
        affinity.data /= leaves.shape[1]


class LeafMetric:
    """Makes distances of rows in a leaf those by the covariance of its rows.

    Covariances are shrunk towards equal variances by as many rows as there are features.

    Parameters
    ----------
    leaf : int32 ndarray of shape (n_rows,)
        Leaf of each row.
    Z : float32 ndarray of shape (n_rows, n_features)
    weight : float64 ndarray of shape (n_rows,)
    """

    def __init__(self, leaf, Z, weight):
        nodes, place = np.unique(leaf, return_inverse=True)
        n_rows, d = Z.shape
        self._number = np.full(nodes[-1] + 2, -1)
        self._number[nodes] = np.arange(len(nodes))
        sums = sp.csr_matrix((weight, (place, np.arange(n_rows))), shape=(len(nodes), n_rows))
        total = sums @ np.ones(n_rows)
        self._mean = (sums @ Z.astype(np.float64)) / total[:, None]
        self._is_full = d <= MAX_FULL
        moments = np.zeros((len(nodes), d * d if self._is_full else d))
        for rows in _cut_rows(n_rows, d * d if self._is_full else d):
            apart = Z[rows] - self._mean[place[rows]]
            product = apart[:, :, None] * apart[:, None, :] if self._is_full else apart**2
            moments += sums[:, rows] @ product.reshape(len(apart), -1)
        variances = moments[:, :: d + 1] if self._is_full else moments
        typical = np.maximum(variances.mean(axis=1) / total, LEAST_VARIANCE)
        moments[:, :: d + 1 if self._is_full else 1] += (d * typical)[:, None]
        moments /= (total + d)[:, None]
        if self._is_full:
            self._inverse = np.linalg.inv(np.linalg.cholesky(moments.reshape(-1, d, d)))
        else:
            self._inverse = 1.0 / np.sqrt(moments)

    def whiten(self, leaf, Z):
        """Return rows with the covariance of their leaf divided out.

        Parameters
        ----------
        leaf : int32 ndarray of shape (n_rows,)
            Those without rows are left as they are.
        Z : float32 ndarray of shape (n_rows, n_features)

        Returns
        -------
        white : float64 ndarray of shape (n_rows, n_features)
        """
        number = self._number[np.minimum(leaf, len(self._number) - 1)]
        white = np.empty(Z.shape)
        for rows in _cut_rows(len(Z), Z.shape[1] ** 2):
            apart = Z[rows] - self._mean[number[rows]]
            inverse = self._inverse[number[rows]]
            white[rows] = (
                np.einsum("nij,nj->ni", inverse, apart) if self._is_full else inverse * apart
            )
        return white


def _cut_rows(n_rows, n_cells):
    """Yield slices of rows with a limited number of cells."""
    step = max(1, CHUNK_CELLS // n_cells)
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))


def _measure_squares(A, B, rows, columns):
    """Return squared distances of pairs of rows."""
    squares = np.empty(len(rows))
    for part in _cut_rows(len(rows), A.shape[1]):
        apart = A[rows[part]].astype(np.float64) - B[columns[part]]
        squares[part] = np.einsum("ij,ij->i", apart, apart)
    return squares


def _find_widths(affinity, squares, weight):
    """Return the squared distance of each row to its k-th neighbour among those it shares with.

    A row at distance zero counts as the row itself, so that the rows of the graph are treated
    like others that equal them. A row of weight two counts as two.
    """
    n_rows = affinity.shape[0]
    of = np.repeat(np.arange(n_rows), np.diff(affinity.indptr))
    order = np.lexsort((squares, of))
    nearest = squares[order]
    summed = np.cumsum(weight[affinity.indices[order]])
    widths = np.ones(n_rows)
    for i, (start, end) in enumerate(zip(affinity.indptr[:-1], affinity.indptr[1:], strict=True)):
        if start == end:
            continue
        row = nearest[start:end]
        before = summed[start - 1] if start else 0.0
        wanted = before + NEIGHBOR + (1.0 if row[0] == 0.0 else 0.0)
        place = np.searchsorted(summed[start:end], wanted * (1.0 - 1e-12))
        width = row[min(place, len(row) - 1)]
        if width == 0.0:
            # As many rows are equal: the nearest that is not.
            apart = row[np.searchsorted(row, 0.0, side="right") :]
            width = apart[0] if len(apart) else 1.0
        widths[i] = width
    return widths
