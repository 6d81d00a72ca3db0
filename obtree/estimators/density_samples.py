"""Drawing rows from a density forest."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obtree.core.hints import Floats
from obtree.core.params import Integer, check_param
from obtree.estimators import hints
from obtree.estimators.base import draw_entropy, read_random_state
from obtree.estimators.hints import Mixin

# Draws for one row. A leaf that was hit once by the draws that measured its mass needs far fewer.
MAX_ROUNDS = 100_000


class SampleMixin(Mixin):
    """Gives a density forest its method `sample`."""

    def sample(self, n_samples: int = 1, random_state: hints.Seed = None) -> Floats:
        """Draw rows from the density.

        A tree and one of its leaves are drawn, and then rows of the leaf's Gaussian until one
        lies in its cell.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows, at least 1.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        n_samples = check_param("n_samples", n_samples, Integer(1))
        rng = np.random.default_rng(draw_entropy(read_random_state(random_state)))
        trees = [member.tree_.shifted for member in self.estimators_]
        X = np.empty((n_samples, self.n_features_in_))
        chosen = rng.integers(len(trees), size=n_samples)
        for t in np.unique(chosen):
            rows = np.flatnonzero(chosen == t)
            X[rows] = self._sample_tree(trees[t], len(rows), rng)
        offset = self.estimators_[0].tree_.feature_offset
        return X if offset is None else X + offset

    def _sample_tree(self, tree, n_rows, rng):
        """Draw rows from one tree."""
        ends = np.flatnonzero(tree.children_left < 0)
        chance = np.exp(tree.leaf_log_weight[ends]) * tree.leaf_mass[ends]
        leaf = rng.choice(ends, size=n_rows, p=chance / chance.sum())
        d = self.n_features_in_
        factor = unpack_factors(tree.leaf_factor[ends], d)
        place = np.searchsorted(ends, leaf)
        X = np.empty((n_rows, d), dtype=np.float32)
        waiting = np.arange(n_rows)
        for _ in range(MAX_ROUNDS):
            z = rng.standard_normal((len(waiting), d))
            at = leaf[waiting]
            x = tree.leaf_mean[at] + np.einsum("nij,nj->ni", factor[place[waiting]], z)
            X[waiting] = np.clip(x, -3e38, 3e38)
            if not self._is_truncated:
                return X
            waiting = waiting[tree.apply(X[waiting]) != at]
            if not len(waiting):
                return X
        raise ValueError("a leaf has less inside its cell than its leaf_mass says")


def unpack_factors(packed, d):
    """Full matrices from lower triangles by rows, (n, d, d)."""
    full = np.zeros((len(packed), d, d))
    full[:, *np.tril_indices(d)] = packed
    return full
