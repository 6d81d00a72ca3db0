"""Models compared over many tables: ranks, wins, ratios, and which differences may be chance.

Errors come as an array with a row for each table and a column for each model, lower being better.
Ranks and their critical difference follow Demsar (2006), Statistical comparisons of classifiers
over multiple data sets.
"""

import math

import numpy as np
from scipy.stats import rankdata, studentized_range

# Means over the same splits are sums in another order: beyond this digit they differ by rounding.
DIGITS = 12


def rank_models(errors):
    """Return the mean rank of each model, 1 being the best.

    Parameters
    ----------
    errors : array-like of shape (n_tables, n_models)
        Errors; models that are equal on a table share the mean of their ranks.

    Returns
    -------
    ranks : ndarray of shape (n_models,)
    """
    return rankdata(np.round(errors, DIGITS), axis=1).mean(axis=0)


def count_wins(errors):
    """Count the tables on which no other model is better.

    Parameters
    ----------
    errors : array-like of shape (n_tables, n_models)
        Errors; models that are best together all win.

    Returns
    -------
    wins : ndarray of int, shape (n_models,)
    """
    errors = np.round(errors, DIGITS)
    return (errors == errors.min(axis=1, keepdims=True)).sum(axis=0)


def relate_to(errors, base, offset=0.0):
    """Return errors as multiples of one model's.

    Parameters
    ----------
    errors : array-like of shape (n_tables, n_models)
        Errors.
    base : int
        Column of that model.
    offset : float, default=0.0
        Added to all errors first, so that one wrong row more or less says little where there are
        hardly any.

    Returns
    -------
    ratios : ndarray of shape (n_tables, n_models)
    """
    errors = np.asarray(errors) + offset
    return errors / errors[:, [base]]


def find_critical_difference(n_models, n_tables, alpha=0.05):
    """Return how far mean ranks must lie apart to differ by the test of Nemenyi.

    Parameters
    ----------
    n_models, n_tables : int
        What was compared, and on how many tables.
    alpha : float, default=0.05
        Chance of seeing any such difference where there is none.

    Returns
    -------
    difference : float
    """
    q = studentized_range.ppf(1 - alpha, n_models, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_models * (n_models + 1) / (6 * n_tables)))


def find_groups(ranks, difference):
    """Find the models whose mean ranks do not differ.

    Parameters
    ----------
    ranks : array-like of shape (n_models,)
        Mean ranks.
    difference : float
        See `find_critical_difference`.

    Returns
    -------
    groups : list of (float, float)
        Lowest and highest rank of each group of two models or more, in order. Groups may overlap,
        but none lies within another.
    """
    ranks = np.sort(ranks)
    groups, reach = [], 0
    for start, lowest in enumerate(ranks):
        end = int(np.searchsorted(ranks, lowest + difference))  # at the difference they differ
        if end > max(start + 1, reach):
            groups.append((float(lowest), float(ranks[end - 1])))
        reach = max(reach, end)
    return groups
