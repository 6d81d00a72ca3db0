"""Which rows each tree of a forest grows on, and which it leaves out."""

from dataclasses import dataclass

import numpy as np

from obtree.forest.grow import bootstrap_counts


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
