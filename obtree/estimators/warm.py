"""Forests that go on from the trees they have."""

import numbers

import numpy as np

from obtree.core.params import FLAG, check_param
from obtree.estimators.base import draw_entropy


class WarmStartMixin:
    """What a forest with ``warm_start`` does when it is fitted again.

    Seeds follow from the number of a tree, so that a forest grown in two steps is the one grown in
    one.
    """

    def _count_missing(self):
        """Return how many trees a fit will grow, if its parameters are right."""
        wanted = self.n_estimators if isinstance(self.n_estimators, numbers.Integral) else 0
        is_warm = getattr(self, "warm_start", False)
        is_warm = FLAG.has_type(is_warm) and is_warm
        known = len(getattr(self, "estimators_", ())) if is_warm else 0
        return max(0, int(wanted) - known)

    def _recall_forest(self):
        """Return the trees to keep and the entropy that new ones follow from."""
        is_warm = check_param("warm_start", getattr(self, "warm_start", False), FLAG)
        if not is_warm or not hasattr(self, "estimators_"):
            return [], draw_entropy(self.random_state)
        grown = list(self.estimators_)
        if self.n_estimators < len(grown):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(grown)} when warm_start==True"
            )
        # Only an integer draws the same entropy twice.
        if isinstance(self.random_state, numbers.Integral):
            return grown, draw_entropy(self.random_state)
        return grown, self._entropy

    def _check_same_problem(self, known, plan):
        """Refuse to add trees that could not be averaged with those there are."""
        same = known.n_features_in_ == self.n_features_in_
        same = same and known.n_outputs_ == plan.target.n_outputs
        if same and plan.target.classes is not None:
            same = all(map(np.array_equal, known._list_classes(), plan.target.classes))
        if not same:
            raise ValueError(
                "warm_start=True adds trees to those fitted before, so X must have as many "
                "columns, and y as many outputs and the same classes, as in the first fit"
            )
