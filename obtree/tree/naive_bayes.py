"""Prediction with ferns: cells are looked up in each, and taken for independent given the class.

Of N_c rows of class c, N_c(cell) are in a cell of a fern with m cells. With smoothing s a row of
the class comes to be there with probability (N_c(cell) + s) / (N_c + m s), and the probability of
a class given the cells of all ferns is its part of the rows times these, normalised (Ozuysal et
al., 2007). All of it is computed with logarithms.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from obtree.tree.predict import Predictor
from obtree.tree.tree import Tree, list_arrays


@dataclass(frozen=True)
class SmoothedFerns:
    """Makes predictors of one smoothing: a plain object, which any kind of storage can keep.

    Parameters
    ----------
    smoothing : float
        Rows of each class that every cell has in advance.
    """

    smoothing: float

    def __call__(self, trees):
        """Return a `FernPredictor` of some trees."""
        return FernPredictor(trees, self.smoothing)


class FernPredictor:
    """Prediction with a list of trees whose leaves are the cells of ferns.

    Parameters
    ----------
    trees : sequence of Tree
        At least one, of classes, all grown on the same rows.
    smoothing : float, default=1.0
        Rows of each class that every cell has in advance.

    Attributes
    ----------
    trees : list of Tree
        What was given, with the logarithms that are added up as values.
    log_prior : float64 ndarray of shape (n_outputs, max_n_classes)
        What they are added to.
    """

    def __init__(self, trees, smoothing=1.0):
        trees = list(trees)
        counts = trees[0].value[0] * trees[0].weighted_n_node_samples[0]
        total = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            prior = np.log(np.where(total > 0.0, counts / total, 1.0))
        self.log_prior = prior
        self._n_classes = trees[0].n_classes.tolist()
        self.trees = [_write_logarithms(tree, smoothing) for tree in trees]
        self._cells = Predictor(self.trees)

    def predict_log(self, X, n_threads=1):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Read as float32, block by block.
        n_threads : int, default=1
            Threads to share the rows. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, max_n_classes)
            Minus infinity for classes that an output does not have.
        """
        logs = self._cells.predict(X, n_threads=n_threads)
        logs *= len(self.trees)
        logs += self.log_prior
        for k, n_classes in enumerate(self._n_classes):
            logs[:, k, n_classes:] = -np.inf
            own = logs[:, k, :n_classes]
            own -= logsumexp(own, axis=1, keepdims=True)
        return logs

    def predict(self, X, n_threads=1, combine="product"):
        """Probabilities of the classes; `combine` is there for what calls any predictor."""
        return np.exp(self.predict_log(X, n_threads))

    def classify(self, X, n_threads=1, combine="product"):
        """The most probable class, the first of equals, int64 (n_rows, n_outputs)."""
        return self.predict_log(X, n_threads).argmax(axis=2)

    def apply(self, X, n_threads=1):
        """Number of the cell that each row is in, as a leaf of each tree."""
        return self._cells.apply(X, n_threads)

    def decision_path(self, X, n_threads=1):
        """Nodes that each row passes; see `Predictor`."""
        return self._cells.decision_path(X, n_threads)


def _write_logarithms(tree, smoothing):
    """Return the tree with log probabilities of being in a leaf, given the class, as values."""
    counts = tree.value * tree.weighted_n_node_samples[:, None, None]
    given = (counts + smoothing) / (counts[0] + smoothing * tree.n_leaves)
    # Classes that an output does not have are in no product.
    given[:, np.arange(tree.max_n_classes) >= tree.n_classes[:, None]] = 1.0
    arrays = list_arrays(tree.shifted) | {"value": np.log(given)}
    arrays["feature_offset"] = tree.feature_offset
    return Tree.from_arrays(n_features=tree.n_features, **arrays)
