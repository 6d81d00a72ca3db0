"""What a fitted forest would predict with fewer trees: its first one, two, ... ones."""

import copy

import numpy as np

from obtree.estimators.oob import Votes
from obtree.tree.predict import Predictor


def stage_predictions(forest, X, counts):
    """Predict rows with the first trees of a forest.

    Parameters
    ----------
    forest : fitted forest
    X : array-like
        Rows.
    counts : sequence of int
        How many trees.

    Yields
    ------
    y : ndarray
        What `predict` returns.
    """
    for n_trees in counts:
        part = copy.copy(forest)
        part.estimators_ = forest.estimators_[:n_trees]
        yield part.predict(X)


def stage_out_of_bag(forest, X, counts):
    """Predict training rows with those of the first trees that left them out.

    Parameters
    ----------
    forest : fitted forest
        Its chains, if there are any, take no part.
    X : array-like
        The rows that it was fitted to.
    counts : sequence of int
        How many trees, in order.

    Yields
    ------
    y : ndarray
        What `predict` would return, for the rows that are judged.
    judged : ndarray of bool, shape (n_samples,)
        Rows that some tree has left out.
    """
    X = forest._read_features(X)
    draws = forest._count_draws_of_rows("out_of_bag=True", forest._find_leaves_of(X))
    trees = forest._list_trees()
    votes = Votes(X.shape[0], trees[0].n_classes, forest._choose_combine())
    wanted = set(counts)
    for t, tree in enumerate(trees):
        values = Predictor([tree]).predict(X, n_threads=forest._count_threads())
        votes.add(values, draws[:, t] == 0)
        if t + 1 in wanted:
            values = votes.combine()
            judged = ~np.isnan(values).any(axis=(1, 2))
            yield forest._decode(values[judged]), judged
