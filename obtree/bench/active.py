"""Labelling rows one by one: those that a forest knows least about, or any."""

import numpy as np

from obtree.estimators import ObliqueForestClassifier

#: Labels that rows drawn at random have at the start.
N_START = 10

#: Rows that tell the error, and at most so many to choose from.
N_TEST = 2000
N_POOL = 2000


def make_banana(n_rows=4000, seed=0):
    """Make two classes in two bent shapes that overlap, as in the table "banana".

    Parameters
    ----------
    n_rows : int, default=4000
        Number of rows.
    seed : int, default=0
        Seed of all that is random.

    Returns
    -------
    X : ndarray of shape (n_rows, 2)
    y : ndarray of int, shape (n_rows,)
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    turn = np.pi * rng.random(n_rows)
    across = np.where(y == 0, np.cos(turn), 1.0 - np.cos(turn))
    up = np.where(y == 0, np.sin(turn), 0.5 - np.sin(turn))
    return np.stack([across, up], axis=1) + 0.27 * rng.normal(size=(n_rows, 2)), y


def make_forest(seed, n_trees):
    """Return the forest that asks and is judged.

    Parameters
    ----------
    seed : int
        Of the forest.
    n_trees : int
        Trees; bootstraps make them disagree where labels are few.

    Returns
    -------
    forest : ObliqueForestClassifier
    """
    return ObliqueForestClassifier(
        n_trees, splitter="random_oblique", bootstrap=True, random_state=seed
    )


def label_one_by_one(X, y, kind, n_labels, seed, n_trees=50):
    """Label rows one after the other, and judge a forest of them each time.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows to label, and to judge by.
    y : ndarray of shape (n_rows,)
        Their classes, looked up when a row is labelled.
    kind : {"total", "expected", "knowledge", "random"}
        Which uncertainty the next row has most of; "random" takes any.
    n_labels : int
        Labels in the end.
    seed : int
        Of the division of the rows and of the forests.
    n_trees : int, default=50
        Trees of each forest.

    Returns
    -------
    counts : ndarray of int, shape (n_steps,)
        Labels there were.
    errors : ndarray of shape (n_steps,)
        Fraction of wrong classes among rows that are not for labelling.
    rows : ndarray of int, shape (n_labels,)
        The rows in the order in which they were labelled.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = min(N_TEST, len(y) // 2)
    test, pool = order[:n_test], order[n_test : n_test + N_POOL]
    # In random order: the first rows of each class, and then the others.
    first = [row for label in np.unique(y) for row in pool[y[pool] == label][: N_START // 2]]
    known = np.array(first)
    left = pool[~np.isin(pool, known)]
    errors = []
    while True:
        forest = make_forest(seed, n_trees).fit(X[known], y[known])
        errors.append(np.mean(forest.predict(X[test]) != y[test]))
        if len(known) >= n_labels or not len(left):
            break
        best = 0 if kind == "random" else forest.uncertainty(X[left], kind=kind).argmax()
        known, left = np.append(known, left[best]), np.delete(left, best)
    return np.arange(len(first), len(known) + 1), np.array(errors), known


def count_labels(counts, errors, target, window=5):
    """Return how many labels it took until the error stayed at most at a target for a while.

    Parameters
    ----------
    counts : ndarray of int, shape (n_steps,)
    errors : ndarray of shape (n_steps,)
    target : float
    window : int, default=5
        Steps in a row over which the error is averaged.

    Returns
    -------
    n_labels : int or None
        None when it never did.
    """
    smooth = np.convolve(errors, np.full(window, 1.0 / window), mode="valid")
    reached = np.flatnonzero(smooth <= target + 1e-12)
    return int(counts[reached[0]]) if len(reached) else None
