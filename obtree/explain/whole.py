"""Shapley values of a model that is not taken apart, from what it predicts for mixed rows.

A row and a background row that differ in few features have few coalitions, and all are predicted.
Where there are more, features are replaced one by one in orders drawn by chance, each with its
reverse (antithetic). Either way all rows of a block are predicted by one call.
"""

import functools
import math

import numpy as np

#: Rows predicted in one call, and the bytes they may take.
BLOCK_ROWS = 16384
BLOCK_BYTES = 1 << 25

#: Coalitions of some pairs of rows whose predictions are kept at a time.
KEPT = 1 << 16


def explain_whole(predict, used, X, background, weight, max_exact, n_orders, seed):
    """Return the Shapley values of rows.

    Parameters
    ----------
    predict : callable
        Takes rows like those of X and returns values of shape (n_rows, n_values).
    used : int ndarray
        Features that it reads.
    X, background : ndarrays of shape (n_rows, n_features)
    weight : ndarray of shape (n_background,)
        Of the rows of the background; their sum is 1.
    max_exact : int
        Differing features up to which all coalitions are predicted.
    n_orders : int
        Orders, each with its reverse, that are drawn for other pairs of rows.
    seed : int
        What they are drawn by.

    Returns
    -------
    phi : ndarray of shape (n_rows, n_features, n_values)
    """
    feed = _Feed(predict, X.shape[1], X.dtype)
    phi = None
    for i, x in enumerate(X):
        pending = []
        for k, b in enumerate(background):
            same = (x[used] == b[used]) | (np.isnan(x[used]) & np.isnan(b[used]))
            differing = used[~same]
            pair = _choose_way(differing, max_exact, n_orders, (seed, k))
            if pair is None:
                continue
            feed.put(x, b, differing, pair.coalitions)
            pending.append((k, pair))
            if feed.n_rows >= KEPT:
                phi = _collect(phi, X.shape, i, feed, pending, weight)
                pending = []
        phi = _collect(phi, X.shape, i, feed, pending, weight)
    if phi is None:
        n_values = feed.predict(X[:1]).shape[1]
        phi = np.zeros((*X.shape, n_values))
    return phi


def _collect(phi, shape, i, feed, pending, weight):
    """Add what was predicted to the values of row i, and return all values."""
    if not pending:
        return phi
    values = feed.take()
    if phi is None:
        phi = np.zeros((*shape, values.shape[1]))
    start = 0
    for k, pair in pending:
        end = start + len(pair.coalitions)
        phi[i, pair.differing] += weight[k] * pair.divide(values[start:end])
        start = end
    return phi


def _choose_way(differing, max_exact, n_orders, seed):
    """Return how to explain a pair of rows; None when there is nothing to explain."""
    n = len(differing)
    if n == 0:
        return None
    if n <= max_exact:
        return _AllCoalitions(differing)
    return _SomeOrders(differing, n_orders, seed)


class _AllCoalitions:
    """Every coalition of the differing features."""

    def __init__(self, differing):
        self.differing = differing
        self.coalitions = list_coalitions(len(differing))

    def divide(self, values):
        """Return the Shapley values, (n_differing, n_values)."""
        # No BLAS: the same bits everywhere.
        return np.einsum("js,sv->jv", list_weights(len(self.differing)), values)


class _SomeOrders:
    """The coalitions along some orders of the differing features, and their reverses."""

    def __init__(self, differing, n_orders, seed):
        self.differing = differing
        n = len(differing)
        rng = np.random.default_rng(seed)
        drawn = [rng.permutation(n) for _ in range(n_orders)]
        self._orders = [order for one in drawn for order in (one, one[::-1])]
        self.coalitions = np.zeros((2 * n_orders * (n + 1), n), dtype=bool)
        for k, order in enumerate(self._orders):
            for place, j in enumerate(order):
                self.coalitions[k * (n + 1) + place + 1 : (k + 1) * (n + 1), j] = True

    def divide(self, values):
        """Return the mean changes that each feature makes, (n_differing, n_values)."""
        n = len(self.differing)
        total = np.zeros((n, values.shape[1]))
        for k, order in enumerate(self._orders):
            total[order] += np.diff(values[k * (n + 1) : (k + 1) * (n + 1)], axis=0)
        return total / len(self._orders)


class _Feed:
    """Mixed rows on their way to a model, block by block."""

    def __init__(self, predict, n_features, dtype):
        self.predict = predict
        size = BLOCK_BYTES // (n_features * dtype.itemsize)
        self._block = np.empty((int(np.clip(size, 1, BLOCK_ROWS)), n_features), dtype=dtype)
        self._n_filled = 0
        self._found = []
        self.n_rows = 0

    def put(self, x, b, differing, coalitions):
        """Add rows with the values of x in the coalitions, and those of b elsewhere."""
        start = 0
        while start < len(coalitions):
            n = min(len(coalitions) - start, len(self._block) - self._n_filled)
            rows = self._block[self._n_filled : self._n_filled + n]
            rows[:] = b
            rows[:, differing] = np.where(coalitions[start : start + n], x[differing], b[differing])
            start += n
            self._n_filled += n
            if self._n_filled == len(self._block):
                self._flush()
        self.n_rows += len(coalitions)

    def take(self):
        """Return what is predicted for all rows that were added, and forget them."""
        if self._n_filled:
            self._flush()
        found, self._found, self.n_rows = np.concatenate(self._found), [], 0
        return found

    def _flush(self):
        self._found.append(self.predict(self._block[: self._n_filled]))
        self._n_filled = 0


@functools.lru_cache(maxsize=4)
def list_coalitions(n):
    """Return all sets of n features, bool (2**n, n)."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


@functools.lru_cache(maxsize=4)
def list_weights(n):
    """Return what each coalition counts for in the value of each feature, (n, 2**n)."""
    coalitions = list_coalitions(n)
    size = coalitions.sum(axis=1)
    # Of n! orders, those in which just these features come first, and then the next.
    alone = np.array([1.0 / (n * math.comb(n - 1, k)) for k in range(n)])
    with_it = alone[np.maximum(size - 1, 0)]
    without = alone[np.minimum(size, n - 1)]
    return np.where(coalitions.T, with_it, -without)
