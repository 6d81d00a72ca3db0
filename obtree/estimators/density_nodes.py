"""The Gaussians of all nodes of one tree of a density forest, and the rows they are fitted to."""

from dataclasses import dataclass

import numpy as np

from obtree.forest.gaussians import draw_rows, fit_gaussians, number_branches, sum_moments
from obtree.tree.path import find_parents

#: Variance added to each column, as a fraction of its own in all rows.
FLOOR = 1e-6
#: Draws by which it is told, roughly, how much of a node's Gaussian lies in its cell.
FEW_DRAWS = 48


@dataclass(frozen=True, eq=False)
class DensityData:
    """What the Gaussians are fitted to.

    Attributes
    ----------
    X : float32 ndarray of shape (n_rows, d)
        Rows as trees see them; NaN where a value is missing.
    Z : float64 ndarray of shape (n_rows, d)
        The same with mean 0 and deviation 1, what is missing being filled in.
    weight : float64 ndarray of shape (n_rows,)
    centre, scale : float64 ndarray of shape (d,)
        What was subtracted from X, and what it was then divided by.
    extra, extra_of : ndarray or None
        How uncertain the values filled in are; see `obtree.forest.gaussians.sum_moments`.
    """

    X: np.ndarray
    Z: np.ndarray
    weight: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    extra: np.ndarray | None = None
    extra_of: np.ndarray | None = None


class NodeGaussians:
    """The Gaussians of all nodes of a tree, for standardised columns."""

    def __init__(self, tree, data, weight, leaf_of=None):
        self.tree = tree
        self.left = tree.children_left.astype(np.int64)
        self.right = tree.children_right.astype(np.int64)
        self.parent = find_parents(self.left, self.right)
        self.leaf_of = tree.apply(data.X) if leaf_of is None else leaf_of
        self._data = data
        self._moments = sum_moments(
            data.Z, self.leaf_of, weight, self.parent, data.extra, data.extra_of
        )
        self.total = self._moments[0]
        self._ranges = number_branches(self.left, self.right)

    def fit(self, shrinkage, correlation):
        """Fit the Gaussians; each borrows so many rows a column."""
        prior = shrinkage * self._data.Z.shape[1]
        self.mean, self.factor = fit_gaussians(
            *self._moments, self.parent, prior, FLOOR, correlation
        )
        return self

    def count_hits(self, seed, nodes, counts, stream=0, shared=False):
        """Draw from the Gaussians of some nodes and count what lands in their cells."""
        data = self._data
        d = data.Z.shape[1]
        hits = np.zeros(len(nodes), dtype=np.int64)
        scale = find_lower(data.scale)
        # Some nodes at a time, so that draws take little room.
        limit = max(2**20 // d, 1)
        part = np.cumsum(counts) // limit
        for k in np.unique(part):
            some = np.flatnonzero(part == k)
            here, n_draws = nodes[some], counts[some]
            mean = data.centre + data.scale * self.mean[here]
            factor = scale * self.factor[here]
            x = draw_rows(seed, here, n_draws, mean, factor, stream, shared)
            owner = np.repeat(np.arange(len(here)), n_draws)
            first, last = self._ranges
            place = first[self.tree.apply(x)]
            inside = (first[here][owner] <= place) & (place < last[here][owner])
            hits[some] = np.bincount(owner[inside], minlength=len(here))
        return hits

    def estimate_masses(self, seed, stream):
        """What each node's Gaussian has inside its cell, roughly.

        One more hit than there were: so the inverse, by which densities are multiplied, is right
        in the mean.
        """
        nodes = np.arange(1, len(self.parent))
        counts = np.full(len(nodes), FEW_DRAWS)
        hits = self.count_hits(seed, nodes, counts, stream, shared=True)
        return np.append(1.0, (hits + 1.0) / (FEW_DRAWS + 1.0))


def find_lower(scale):
    """What each number of a lower triangle by rows is to be multiplied by."""
    return np.repeat(scale, np.arange(1, len(scale) + 1))
