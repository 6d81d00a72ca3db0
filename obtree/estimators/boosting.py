"""Boosting: what each tree of a chain is to learn, and what its leaves are worth.

A chain of class trees is boosted in the logarithms of probabilities (Friedman, 2001): each tree
grows on the gradient of the log loss, one number for each class, divided by the sum of the second
derivatives, which are the weights of the rows; the value of a leaf is a Newton step for each class,
shortened by a learning rate and a ridge penalty. A leaf keeps the probabilities whose logarithms
are its steps, so that a chain of trees predicts their normalised product. Trees of numbers grow on
residuals, and a leaf keeps what it adds to the sum of a chain of so many trees times their number,
so that the chain predicts the mean of its trees.
"""

import numpy as np

from obtree.tree.tree import Tree, list_arrays

#: Trees of a chain.
N_ROUNDS = 50

#: Learning rates of classes and of numbers.
CLASS_RATE = 0.3
NUMBER_RATE = 0.1

#: Ridge penalty of a step, in rows.
L2 = 1.0

#: Smallest second derivative: where the trees before are sure, a row still counts for so much.
MIN_CURVATURE = 1e-3

#: Longest step of a leaf, before the learning rate.
MAX_STEP = 8.0


class Course:
    """Where a chain of trees stands.

    Parameters
    ----------
    target : Target
        Of all rows.
    weight : float64 ndarray of shape (n_rows,)
        Of the rows that the chain learns from, 1 in the mean; 0 for the others.
    """

    def __init__(self, target, weight):
        self._target = target
        self._weight = weight
        self._goal = self._care = None

    def begin(self, goal, care):
        """Say what the next tree is to learn, and later ones, in arrays that are written.

        Parameters
        ----------
        goal : float64 ndarray of shape (n_rows, n_values)
            Targets; see `count_values`.
        care : float64 ndarray of shape (n_rows,)
            Weights.

        Returns
        -------
        self
        """
        self._goal, self._care = goal, care
        self._find_goal()
        return self

    def list_left_out(self):
        """Return the rows that the chain does not learn from."""
        return np.flatnonzero(self._weight == 0.0)

    def go_on(self, tree, leaf):
        """Take a tree into the chain.

        Parameters
        ----------
        tree : Tree
            Has grown on `goal` and `care`.
        leaf : ndarray of int64, shape (n_rows,)
            Where it sends the rows.

        Returns
        -------
        tree : Tree
            The same, with the values that the chain keeps.
        """
        arrays = list_arrays(tree) | self._step(tree, leaf)
        self._find_goal()
        return Tree.from_arrays(n_features=tree.n_features, **arrays)


class NumberCourse(Course):
    """Where a chain of trees for numbers stands: the squared error."""

    def __init__(self, target, weight):
        super().__init__(target, weight)
        self._mean = np.average(target.y, axis=0, weights=weight)
        self._rest = target.y - self._mean

    def _find_goal(self):
        """Write what the next tree is to learn."""
        self._goal[:] = self._rest
        self._care[:] = self._weight

    def predict(self):
        """Return the predictions for all rows.

        Returns
        -------
        values : ndarray of shape (n_rows, n_outputs, 1)
        """
        return (self._target.y - self._rest)[:, :, None]

    def _step(self, tree, leaf):
        """Add what a tree has found; return its arrays that change."""
        total = _sum_by_node(tree, leaf, self._weight, self._rest)
        count = _sum_by_node(tree, leaf, self._weight, np.ones((len(leaf), 1)))
        step = NUMBER_RATE * total / (count + L2)
        self._rest -= step[leaf]
        return {"value": (self._mean + N_ROUNDS * step)[:, :, None]}


class ClassCourse(Course):
    """Where a chain of class trees stands: the log loss."""

    def __init__(self, target, weight):
        super().__init__(target, weight)
        labels = np.arange(target.n_classes.max())
        self._n_classes = target.n_classes
        self._truth = (target.y[:, :, None] == labels).astype(np.float64)
        self._absent = labels >= target.n_classes[:, None]
        prior = (weight[:, None, None] * self._truth).sum(axis=0) / weight.sum()
        # A class that is only among the rows left out must not be ruled out.
        least = 1.0 / (1.0 + len(weight))
        self._start = np.where(self._absent, -np.inf, np.log(prior + least))
        self._scores = np.broadcast_to(self._start, self._truth.shape).copy()

    def _find_goal(self):
        """Write what the next tree is to learn."""
        chance = self.predict()
        self._slope = self._truth - chance
        n_classes = self._n_classes[:, None]
        # Scores of a class move against those of the others, which makes steps longer.
        scale = n_classes / np.maximum(n_classes - 1.0, 1.0)
        self._bend = np.where(
            self._absent, 0.0, scale * np.maximum(chance * (1.0 - chance), MIN_CURVATURE)
        )
        total = self._bend.sum(axis=(1, 2))
        goal = self._slope[:, :, -1:] if self._goal.shape[1] < chance[0].size else self._slope
        self._goal[:] = goal.reshape(len(goal), -1) / total[:, None]
        self._care[:] = self._weight * total

    def predict(self):
        """Return the probabilities of the classes, for all rows.

        Returns
        -------
        chance : ndarray of shape (n_rows, n_outputs, n_classes)
        """
        return _to_probabilities(self._scores)

    def _step(self, tree, leaf):
        """Add what a tree has found; return its arrays that change."""
        slope = _sum_by_node(tree, leaf, self._weight, self._slope)
        bend = _sum_by_node(tree, leaf, self._weight, self._bend)
        step = CLASS_RATE * np.clip(slope / (bend + L2), -MAX_STEP, MAX_STEP)
        self._scores += step[leaf]
        value = _to_probabilities(step + self._start)
        # The first tree has the frequencies of the classes as well.
        self._start = np.where(self._absent, -np.inf, 0.0)
        return {"value": value, "n_classes": self._n_classes}


def count_values(target):
    """Return how many numbers a tree of a chain learns for each row.

    Parameters
    ----------
    target : Target

    Returns
    -------
    n_values : int
        One for each output, or for each class of each output; where all have two, the second says
        it all.
    """
    if target.n_classes is None:
        return target.n_outputs
    n_classes = int(target.n_classes.max())
    return target.n_outputs * (1 if n_classes == 2 else n_classes)


def _to_probabilities(scores):
    """Turn scores into probabilities, along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def _sum_by_node(tree, leaf, weight, values):
    """Return the weighted sums of values over the rows of each node."""
    flat = weight[:, None] * values.reshape(len(values), -1)
    n_nodes = tree.node_count
    sums = np.stack([np.bincount(leaf, column, n_nodes) for column in flat.T], axis=1)
    left, right = tree.children_left, tree.children_right
    for node in np.flatnonzero(left >= 0)[::-1]:  # children come behind their parents
        sums[node] = sums[left[node]] + sums[right[node]]
    return sums.reshape(n_nodes, *values.shape[1:])
