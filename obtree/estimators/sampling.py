"""Which rows each tree of a forest grows on, and which it leaves out."""

from dataclasses import dataclass

import numpy as np

from obtree.forest.grow import bootstrap_counts

#: Part of the rows that a tree sees where rows are not drawn with replacement. What is left out
#: judges it; more of it makes trees differ more, and each of them worse.
SUBSAMPLE = 0.8


def count_subsample(n_rows):
    """Return how many of so many rows a tree sees that leaves some out without a bootstrap."""
    return max(1, round(SUBSAMPLE * n_rows))


@dataclass(frozen=True)
class RowSample:
    """How the rows of a tree are drawn.

    Parameters
    ----------
    n_draws : int, default=0
        Rows drawn; 0 takes every row once.
    replace : bool, default=True
        Whether a row may be drawn more than once (bootstrap).
    """

    n_draws: int = 0
    replace: bool = True

    @property
    def options(self):
        """Arguments of `grow_trees` that draw such a sample."""
        return {"n_bootstrap": self.n_draws, "replace": self.replace}

    def count(self, seed, n_rows):
        """Return how often the tree of a seed drew each row.

        Parameters
        ----------
        seed : int
            Seed of the tree.
        n_rows : int
            Rows to draw from.

        Returns
        -------
        counts : ndarray of int32, shape (n_rows,)
        """
        if self.n_draws == 0:
            return np.ones(n_rows, dtype=np.int32)
        return bootstrap_counts(seed, n_rows, self.n_draws, self.replace)


@dataclass(frozen=True, eq=False)
class Bags:
    """Which training rows each tree of a forest grew on, and what they weigh.

    Attributes
    ----------
    samples : list of RowSample
        How the rows of each tree were drawn.
    n_samples : int
        Training rows, those of zero weight included.
    rows : ndarray of intp or None
        Rows with a positive weight; None when these are all rows.
    weight : ndarray of float64 or None
        Weights of `rows`; None when all are 1.
    """

    samples: list
    n_samples: int
    rows: np.ndarray | None
    weight: np.ndarray | None

    def count(self, t, seed):
        """Return how often a tree drew each training row.

        Parameters
        ----------
        t : int
            Number of the tree.
        seed : int
            Its seed.

        Returns
        -------
        counts : ndarray of int32, shape (n_samples,)
        """
        if self.rows is None:
            return self.samples[t].count(seed, self.n_samples)
        counts = np.zeros(self.n_samples, dtype=np.int32)
        counts[self.rows] = self.samples[t].count(seed, len(self.rows))
        return counts

    def spread_weight(self):
        """Return the weight of each training row.

        Returns
        -------
        weight : ndarray of float64, shape (n_samples,)
            0 for rows that take no part.
        """
        weight = np.zeros(self.n_samples)
        taken = slice(None) if self.rows is None else self.rows
        weight[taken] = 1.0 if self.weight is None else self.weight
        return weight
