"""How uncertain a classification forest is, and whether more labels could help.

A forest is a mixture of trees. The entropy of the mixture is the mean of the entropies of the
trees, which is what stays uncertain where all trees agree, and a rest, which is by how much they
disagree: the mutual information of the class and of the tree that is asked.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import entr

from obtree.core.hints import MatrixLike
from obtree.core.params import check_param
from obtree.estimators.hints import Mixin

KINDS = ("total", "expected", "knowledge")


class Uncertainty(NamedTuple):
    """What `uncertainty` of a forest returns, in nats; total = expected + knowledge.

    Attributes
    ----------
    total : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Entropy of the mean of the trees' probabilities.
    expected : ndarray of the same shape
        Mean of the entropies of the trees' probabilities: what more labels do not change.
    knowledge : ndarray of the same shape
        Their difference, never negative: by how much the trees disagree.
    """

    total: np.ndarray
    expected: np.ndarray
    knowledge: np.ndarray


class UncertaintyMixin(Mixin):
    """Gives a classification forest its method `uncertainty`."""

    def uncertainty(
        self, X: MatrixLike, kind: Literal["total", "expected", "knowledge"] | None = None
    ) -> Any:
        """Measure how uncertain the forest is about the class of each row.

        The entropy of what the forest says has two parts: the mean of the entropies of what its
        trees say, and by how much the trees disagree. See :doc:`/user_guide/active`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.
        kind : {"total", "expected", "knowledge"} or None, default=None
            One of the three, or None for all.

        Returns
        -------
        uncertainty : Uncertainty, or ndarray of shape (n_samples,) or (n_samples, n_outputs)
            In nats: from 0 to the logarithm of the number of classes. Without `kind` a named
            tuple of ``total``, ``expected`` and ``knowledge``, where total = expected +
            knowledge.

        Notes
        -----
        The trees' probabilities are averaged, whatever `combine` says. Where a race has added
        boosted chains, each chain counts as one member, by its weight in ``chain_weights_``, and
        the trees share the rest.
        """
        kind = check_param("kind", kind, *KINDS, None)
        mean, expected = self._average_members(self._read_features(X))
        total = entr(mean).sum(axis=2)
        # The entropy of a mean is never less than the mean entropy, except for rounding.
        total = np.maximum(total, expected)
        parts = Uncertainty(total, expected, total - expected)
        if self.n_outputs_ == 1:
            parts = Uncertainty(*(part[:, 0] for part in parts))
        return parts if kind is None else getattr(parts, kind)

    def _average_members(self, X):
        """Return the mean of what the trees predict and the mean of its entropies."""
        predictor, n_threads = self._predictor.get(self._list_trees()), self._count_threads()
        mean = predictor.predict(X, n_threads=n_threads)
        expected = predictor.average_entropy(X, n_threads)
        if len(getattr(self, "chains_", ())):
            rest = 1.0 - self.chain_weights_.sum()
            mean, expected = rest * mean, rest * expected
            for weight, own in self._predict_chains(X):
                mean += weight * own
                expected += weight * entr(own).sum(axis=2)
        return mean, expected


def average_models(kind, models, X, n_threads):
    """Average what single models predict, and its entropies.

    Parameters
    ----------
    kind : type
        What predicts with a list of them.
    models : list
    X : ndarray or sparse matrix
        Checked features.
    n_threads : int

    Returns
    -------
    mean : ndarray of shape (n_samples, n_outputs, n_classes)
    expected : ndarray of shape (n_samples, n_outputs)
    """
    mean, expected = 0.0, 0.0
    for model in models:
        values = kind([model]).predict(X, n_threads=n_threads)
        mean = mean + values
        expected = expected + entr(values).sum(axis=2)
    return mean / len(models), expected / len(models)
