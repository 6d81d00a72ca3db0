"""Weak learners of the unified decision forests (Criminisi et al. 2011), in NumPy.

A node draws rho tests at random, each a direction and a threshold, and takes the one with the
largest information gain (randomised node optimisation, their section 3.2). A direction is an axis,
any line, or any conic: a line in the five monomials of two coordinates.
"""

import numpy as np

from obtree.splitter import PythonSplitter

LEARNERS = ("axis", "oriented", "conic")


class RandomTests(PythonSplitter):
    """Best of random tests.

    Parameters
    ----------
    axis : bool, default=False
        Whether directions are axes.
    rho : int, default=50
        Tests drawn in a node.
    """

    def __init__(self, axis=False, rho=50):
        self.axis = axis
        self.rho = rho

    def split(self, X, y, sample_weight, rng):
        """Propose the test with the largest information gain."""
        lacking = np.isnan(X)
        if lacking.any():  # for the choice of a test, a gap is the mean of its column
            known = np.where(lacking, 0.0, X)
            X = np.where(lacking, known.sum(axis=0) / np.maximum((~lacking).sum(axis=0), 1), X)
        if self.axis:
            directions = np.eye(X.shape[1])[rng.integers(X.shape[1], size=self.rho)]
        else:
            directions = rng.standard_normal((self.rho, X.shape[1])) / (X.std(axis=0) + 1e-9)
        scores = X @ directions.T
        low, high = scores.min(axis=0), scores.max(axis=0)
        threshold = rng.uniform(low, high)
        member = (y[:, None] == np.unique(y)) * sample_weight[:, None]
        left = member.T @ (scores <= threshold)
        right = member.sum(axis=0)[:, None] - left
        # Ties go to the first, which is a random one: in a gap between two classes the threshold
        # is then uniform, as the paper wants it.
        best = np.argmin(measure_uncertainty(left) + measure_uncertainty(right))
        if min(left[:, best].sum(), right[:, best].sum()) <= 0:
            return None
        return directions[best], threshold[best]


def measure_uncertainty(counts):
    """Return entropy times weight.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_tests)
        Weights by class.

    Returns
    -------
    uncertainty : ndarray of shape (n_tests,)
    """
    total = counts.sum(axis=0)
    fraction = counts / np.maximum(total, 1e-12)
    return -(counts * np.log(np.maximum(fraction, 1e-12))).sum(axis=0)


def expand(X, learner):
    """Return what a learner sees of two coordinates.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Points.
    learner : {"axis", "oriented", "conic"}
        The learner.

    Returns
    -------
    X : ndarray of shape (n, 2) or (n, 5)
    """
    if learner != "conic":
        return X
    a, b = X.T
    return np.column_stack([a, b, a * a, a * b, b * b])
