"""Out-of-bag estimates: predict each row by the trees that did not train on it.

The draw of a tree is not stored; its seed repeats it. A row of zero weight took part
in no tree, so every tree predicts it, but it does not count in the score.
"""

import numpy as np
import scipy.sparse as sp

from obtree.tree.predict import PROBABILITY_FLOOR, Predictor, normalise_logarithms


def predict_out_of_bag(trees, seeds, samples, plan, combine, n_threads):
    """Combine, for each row, the trees that did not see it.

    Parameters
    ----------
    trees : list of Tree
        All trees of the forest.
    seeds : sequence of int
        Seed of each tree.
    samples : sequence of RowSample
        How the rows of each tree were drawn.
    plan : GrowthPlan
        Data of the fit.
    combine : {"average", "product", "vote"}
        How trees are combined.
    n_threads : int
        Number of threads to predict with.

    Returns
    -------
    values : ndarray of shape (n_samples, n_outputs, n_classes or 1)
        Rows that no tree can judge are NaN.
    """
    X = to_predict_layout(plan.X)
    votes = Votes(X.shape[0], trees[0].n_classes, combine)
    out = np.ones(X.shape[0], dtype=bool)
    rows = slice(None) if plan.rows is None else plan.rows
    for tree, seed, sample in zip(trees, seeds, samples, strict=True):
        out[rows] = sample.count(seed, plan.n_rows) == 0
        votes.add(Predictor([tree]).predict(X, n_threads=n_threads), out)
    return votes.combine()


class Votes:
    """What trees say about rows, each of them about some.

    Parameters
    ----------
    n_rows : int
    n_classes : int64 ndarray of shape (n_outputs,)
    combine : {"average", "product", "vote"}
        How trees are combined.
    """

    def __init__(self, n_rows, n_classes, combine):
        self._n_classes = n_classes
        self._combine = combine
        self._total = np.zeros((n_rows, len(n_classes), int(n_classes.max())))
        self._n_judges = np.zeros(n_rows, dtype=np.int64)

    def add(self, values, out):
        """Let a tree say something.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs, n_classes or 1)
            Predictions of the tree.
        out : bool ndarray of shape (n_rows,)
            About which rows it may.
        """
        # A sum in tree order: the same for any number of threads.
        self._total[out] += _score_votes(values[out], self._combine)
        self._n_judges += out

    def combine(self):
        """Combine what the trees have said so far.

        Returns
        -------
        values : ndarray of shape (n_rows, n_outputs, n_classes or 1)
            Rows about which none has said anything are NaN.
        """
        values = self._total.copy()
        values[self._n_judges == 0] = np.nan
        if self._combine == "product":
            normalise_logarithms(values, self._n_classes)
            return values
        return values / np.maximum(self._n_judges, 1)[:, None, None]


def to_predict_layout(X):
    """Turn validated training features into what prediction reads.

    Parameters
    ----------
    X : ndarray or sparse matrix

    Returns
    -------
    X : float32 ndarray in C order, or csr_matrix
    """
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float32)
    X = X.tocsr()
    X.sort_indices()
    return X


def _score_votes(values, combine):
    """Turn the probabilities of one tree into the terms that are summed."""
    if combine == "vote":
        return (values.argmax(axis=2)[:, :, None] == np.arange(values.shape[2])).astype(np.float64)
    if combine == "product":
        return np.log(np.maximum(values, PROBABILITY_FLOOR))
    return values
