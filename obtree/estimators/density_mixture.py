"""Leaves that overlap: the Gaussians of a tree's leaves as one mixture, refined by EM.

The leaves of a tree part the rows; where the density is smooth that is too sharp, as rows near a
border belong to both sides. So, starting from the leaves, a few steps of EM (Dempster, Laird and
Rubin, 1977) are taken: each row belongs to each leaf as far as that leaf's Gaussian explains it.
Steps are few, which keeps the trees of a forest different. Each covariance borrows rows from the
mean of all of them, so that leaves of few rows keep a volume.

Under a Gaussian the log density is linear in 1, the columns and their products. These are laid
out as columns of their own, so that densities of all rows under all leaves, and moments of all
leaves, are a product of matrices each.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from obtree.estimators.density_nodes import FLOOR

#: Steps of EM, and the most rows that all of them but the last look at.
STEPS, MAX_ROWS = 8, 8192
#: Numbers in a block of rows that are worked on together, and most numbers that are kept.
BLOCK_SIZE, MOST_KEPT = 2**18, 2**23
#: What a leaf weighs at least, as a fraction of all: none vanishes.
LEAST_SHARE = 1e-9


class Mixture(NamedTuple):
    """Gaussians of standardised columns: (k,), (k, d) and (k, d, d)."""

    weight: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


class Expansion:
    """Rows as Gaussians are linear in: one, the columns, and the products of each two.

    Of values that were filled in the products are those expected. All rows are kept where there is
    room for them.

    Parameters
    ----------
    data : DensityData
    """

    def __init__(self, data):
        self._data = data
        d = data.Z.shape[1]
        self.n_terms = (d + 1) * (d + 2) // 2
        self._kept = None
        if len(data.Z) * self.n_terms <= MOST_KEPT:
            self._kept = self._expand(slice(None))

    def take(self, rows):
        """Expand some rows."""
        return self._expand(rows) if self._kept is None else self._kept[rows]

    def _expand(self, rows):
        Z = self._data.Z[rows]
        i, j = np.tril_indices(Z.shape[1])
        products = Z[:, i] * Z[:, j]
        if self._data.extra_of is not None:
            of = self._data.extra_of[rows]
            products[of >= 0] += self._data.extra[of[of >= 0]]
        return np.hstack([np.ones((len(Z), 1)), Z, products])


def refine_mixture(expansion, weight, owner, n_parts, shrinkage):
    """Fit a mixture that starts from the leaves of a tree.

    Parameters
    ----------
    expansion : Expansion
        Of all rows.
    weight : ndarray of shape (n_rows,)
        Of the rows; those without are left out.
    owner : ndarray of shape (n_rows,)
        The leaf that each row reaches, from 0 to n_parts - 1.
    n_parts : int
        Number of leaves.
    shrinkage : float
        How many rows a column each covariance borrows.

    Returns
    -------
    mixture : Mixture
    """
    rows = np.flatnonzero(weight)

    def part(block, _):
        return owner[block][:, np.newaxis] == np.arange(n_parts)

    def explain(_, expanded):
        values = expanded @ terms
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        return values / values.sum(axis=1, keepdims=True)

    some = rows[:: -(-len(rows) // MAX_ROWS)]
    mixture = _fit(_add_up(expansion, weight, rows, part, n_parts), shrinkage, None)
    for step in range(STEPS):
        terms = _find_terms(mixture)
        seen = rows if step == STEPS - 1 else some
        mixture = _fit(_add_up(expansion, weight, seen, explain, n_parts), shrinkage, mixture)
    return mixture


def measure_mixture(expansion, rows, mixture):
    """The log density of some rows."""
    terms = _find_terms(mixture)
    found = [np.empty(0)]
    for block in _list_blocks(rows, *terms.shape):
        found.append(logsumexp(expansion.take(block) @ terms, axis=1))
    return np.concatenate(found)


def _list_blocks(rows, *widths):
    """Rows, some at a time."""
    size = max(1, BLOCK_SIZE // max(widths))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _add_up(expansion, weight, rows, explain, n_parts):
    """The moments of all leaves; `explain` says how far rows belong to each."""
    moments = np.zeros((n_parts, expansion.n_terms))
    for block in _list_blocks(rows, *moments.shape):
        expanded = expansion.take(block)
        moments += (explain(block, expanded) * weight[block][:, np.newaxis]).T @ expanded
    return moments


def _fit(moments, shrinkage, last):
    """The Gaussians that have the moments; leaves without rows keep the mean they had."""
    n_parts, d = len(moments), int(np.sqrt(2 * moments.shape[1])) - 1
    i, j = np.tril_indices(d)
    total = moments[:, 0]
    lives = total > LEAST_SHARE * total.sum()
    mean = moments[:, 1 : d + 1] / np.where(lives, total, 1.0)[:, np.newaxis]
    scatter = np.zeros((n_parts, d, d))
    scatter[:, i, j] = moments[:, d + 1 :] - total[:, np.newaxis] * mean[:, i] * mean[:, j]
    scatter[:, j, i] = scatter[:, i, j]
    scatter[~lives] = 0.0
    if last is not None:
        mean[~lives] = last.mean[~lives]
    borrowed = shrinkage * d
    pooled = scatter.sum(axis=0) / total.sum()
    size = np.where(lives, total, 0.0) + borrowed
    covariance = (scatter + borrowed * pooled) / size[:, np.newaxis, np.newaxis]
    covariance += FLOOR * np.eye(d)
    weight = np.maximum(total / total.sum(), LEAST_SHARE)
    return Mixture(weight / weight.sum(), mean, covariance)


def _find_terms(mixture):
    """By what expanded rows are multiplied to have their log densities, (n_terms, k)."""
    weight, mean, covariance = mixture
    d = mean.shape[1]
    i, j = np.tril_indices(d)
    inverse = np.linalg.inv(covariance)
    slope = np.einsum("kij,kj->ki", inverse, mean)
    constant = np.log(weight) - 0.5 * (
        np.linalg.slogdet(covariance)[1]
        + np.einsum("ki,ki->k", slope, mean)
        + d * np.log(2.0 * np.pi)
    )
    curve = inverse[:, i, j] * np.where(i == j, -0.5, -1.0)
    return np.vstack([constant, slope.T, curve.T])
