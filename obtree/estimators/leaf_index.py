"""Training rows of a forest by tree, leaf and y, ready for predictions."""

import dataclasses
from functools import cached_property

import numpy as np

from obtree.estimators.leaf_rows import list_leaf_rows
from obtree.estimators.residual_model import ResidualModel
from obtree.forest.shared_leaves import read_quantiles


class LeafIndex:
    """Training rows by tree, leaf and y; made when first needed, and never saved.

    Parameters
    ----------
    parts : list
        A `TrainingRows` and the estimators of its trees.

    Attributes
    ----------
    weight : float64 ndarray of shape (n_rows,)
        Weights of the training rows; 0 for those that took no part.
    offset : int64 ndarray of shape (n_trees + 1,)
        Number of the first node of each tree, and number of all nodes.
    """

    def __init__(self, parts):
        self._training, *estimators = parts
        leaves = self._training.leaves
        self._trees = [getattr(tree, tree._tree_attribute) for tree in estimators]
        self._seeds = [tree.random_state for tree in estimators]
        self._node_counts = [tree.node_count for tree in self._trees]
        if leaves.shape[1] != len(self._trees) or (leaves.max(axis=0) >= self._node_counts).any():
            raise ValueError("the training rows that the forest keeps are not those of its trees")
        self.weight = self._training.bags.spread_weight()
        self.offset = np.concatenate([[0], np.cumsum(self._node_counts, dtype=np.int64)])

    def list_counts(self):
        """Yield how often each tree drew each training row."""
        for t, seed in enumerate(self._seeds):
            yield self._training.bags.count(t, seed)

    @cached_property
    def is_out(self):
        """Whether the tree has not drawn the row, (n_rows, n_trees)."""
        is_out = np.empty(self._training.leaves.shape, dtype=bool)
        for t, counts in enumerate(self.list_counts()):
            is_out[:, t] = counts == 0
        return is_out

    @cached_property
    def shares(self):
        """Training rows of every leaf, among which the leaf shares a weight of 1."""
        return self._list_rows(divide=True)

    @cached_property
    def weights(self):
        """The same rows, with weights times draws."""
        return self._list_rows(divide=False)

    @cached_property
    def counted(self):
        """The same rows, each of which counts as often as it was drawn, whatever it weighs."""
        rows = self.weights
        return dataclasses.replace(rows, weight=np.rint(rows.weight / self.weight[rows.member]))

    def _list_rows(self, divide):
        """Gather the training rows of every leaf."""
        weights = (counts * self.weight for counts in self.list_counts())
        return list_leaf_rows(self._training.leaves, self._node_counts, weights, divide)

    @cached_property
    def rank(self):
        """Numbers of the training rows in the order of y, uint32 (n_outputs, n_rows)."""
        columns = self._training.y.T
        return np.array([np.unique(y, return_inverse=True)[1] for y in columns], dtype=np.uint32)

    @cached_property
    def model(self):
        """Predictive distribution."""
        return ResidualModel(self._training, self._trees, self)

    def prepare(self):
        """Make the model now."""
        _ = self.model

    @cached_property
    def has_constant_leaves(self):
        """Whether the mean of the values that leaves keep is what the trees predict."""
        return not any(tree.leaf_kind.fields for tree in self._trees)

    def read(self, leaves, levels, rows, **options):
        """Read quantiles of the training rows in these leaves; see `read_quantiles`."""
        return read_quantiles(leaves, rows, self._training.y, self.rank, levels, **options)
