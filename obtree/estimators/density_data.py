"""Rows as the Gaussians of a density forest see them: standardised, without missing values.

Missing values are filled in once, under one Gaussian of all rows that the EM algorithm (Dempster,
Laird and Rubin, 1977) fits to what is there: by their mean given the values that the row has.
The covariance that they have, given those, is added to the scatter of whatever node the row is
in. Trees send the rows where their own rule for missing values sends them.
"""

import numpy as np
from scipy.sparse import issparse

from obtree.estimators.density_nodes import DensityData

#: Rounds of EM at most, and the change of a covariance, in units of variances, that ends them.
MAX_ROUNDS, SMALLEST_CHANGE = 50, 1e-4
#: Added to the variances of standardised columns.
RIDGE = 1e-6


def prepare_data(X, weight):
    """Standardise rows and fill in what is missing.

    Parameters
    ----------
    X : float32 ndarray of shape (n_rows, d)
        NaN where a value is missing.
    weight : ndarray of shape (n_rows,) or None

    Returns
    -------
    data : DensityData
    """
    weight = np.ones(len(X)) if weight is None else np.ascontiguousarray(weight, dtype=float)
    lacks = np.isnan(X)
    Z = np.where(lacks, 0.0, X.astype(np.float64))
    known = (~lacks * weight[:, np.newaxis]).sum(axis=0)
    # A column of which nothing is known is taken to be standard normal.
    share = weight[:, np.newaxis] * ~lacks / np.where(known > 0.0, known, 1.0)
    # From a value that is there: a constant column has exactly that for its mean.
    origin = Z[np.argmax(~lacks, axis=0), np.arange(X.shape[1])]
    centre = origin + ((Z - origin) * share).sum(axis=0)
    scale = np.sqrt(((Z - centre) ** 2 * share).sum(axis=0))
    scale[~(scale > 0.0)] = 1.0
    Z = np.ascontiguousarray((Z - centre) / scale)
    if not lacks.any():
        return DensityData(X, Z, weight, centre, scale)
    Z[lacks] = 0.0
    extra, extra_of = _fill_in(Z, lacks, weight)
    return DensityData(X, Z, weight, centre, scale, extra, extra_of)


def refuse_sparse(X):
    """Gaussians are for dense rows."""
    if issparse(X):
        raise TypeError("X is sparse; expected a dense array, as in X.toarray()")


def _fill_in(Z, lacks, weight):
    """Replace missing values in place; return how uncertain they are, by pattern, and whose."""
    d = Z.shape[1]
    patterns, pattern_of = np.unique(lacks, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    groups = [np.flatnonzero(pattern_of == k) for k in range(len(patterns))]
    mean, covariance = np.zeros(d), np.eye(d)
    extras = np.zeros((len(patterns), d, d))
    for _ in range(MAX_ROUNDS):
        added = np.zeros((d, d))
        for k, (pattern, rows) in enumerate(zip(patterns, groups, strict=True)):
            if not pattern.any():
                continue
            slope, rest = regress(covariance, ~pattern, pattern)
            Z[np.ix_(rows, pattern)] = (
                mean[pattern] + (Z[np.ix_(rows, ~pattern)] - mean[~pattern]) @ slope.T
            )
            extras[k][np.ix_(pattern, pattern)] = rest
            added += weight[rows].sum() * extras[k]
        total = weight.sum()
        mean = weight @ Z / total
        centred = Z - mean
        found = ((centred * weight[:, np.newaxis]).T @ centred + added) / total
        change = np.abs(found - covariance).max()
        covariance = found
        if change < SMALLEST_CHANGE:
            break
    lower = np.tril_indices(d)
    extra_of = np.where(patterns.any(axis=1), np.arange(len(patterns)), -1)[pattern_of]
    return np.ascontiguousarray(extras[:, *lower]), extra_of.astype(np.int64)


def regress(covariance, given, wanted):
    """The slopes of some columns on others, and the covariance that remains.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
    given, wanted : bool ndarray of shape (d,)

    Returns
    -------
    slope : ndarray of shape (n_wanted, n_given)
    rest : ndarray of shape (n_wanted, n_wanted)
    """
    across = covariance[np.ix_(wanted, given)]
    inside = covariance[np.ix_(given, given)] + RIDGE * np.eye(int(given.sum()))
    slope = np.linalg.solve(inside, across.T).T
    rest = covariance[np.ix_(wanted, wanted)] - slope @ across.T
    return slope, 0.5 * (rest + rest.T)
