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
    n_samples = X.shape[0]
    total = None
    n_judges = np.zeros(n_samples, dtype=np.int64)
    out = np.ones(n_samples, dtype=bool)
    rows = slice(None) if plan.rows is None else plan.rows
    for tree, seed, sample in zip(trees, seeds, samples, strict=True):
        out[rows] = sample.count(seed, plan.n_rows) == 0
        values = _score_votes(Predictor([tree]).predict(X, n_threads=n_threads), combine)
        if total is None:
            total = np.zeros_like(values)
        # A sum in tree order: the same for any number of threads.
        total[out] += values[out]
        n_judges += out
    total[n_judges == 0] = np.nan
    if combine == "product":
        normalise_logarithms(total, trees[0].n_classes)
        return total
    return total / np.maximum(n_judges, 1)[:, None, None]


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
