"""Types of the parameters that estimators have in common."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from obtree.core.hints import Array, ArrayLike
from obtree.criterion.base import Criterion
from obtree.forest.leaf_fitter import LeafFitter
from obtree.splitter.base import Splitter
from obtree.tree.tree import Tree

Seed = int | np.random.RandomState | None
MaxFeatures = int | float | Literal["sqrt", "log2"] | None
ClassWeight = dict[Any, Any] | Literal["balanced"] | None
ClassWeights = ClassWeight | list[dict[Any, Any]]
#: Whether to score, or what scores true labels and predictions.
OutOfBagScore = bool | Callable[[Array, Array], float]
#: 1, 0 or -1 for each feature.
Monotonic = ArrayLike | dict[Any, int] | None

#: Columns of categories: a mask, numbers or names of columns.
Categorical = Literal["from_dtype"] | ArrayLike | None

#: How nodes are split: a name, an object with parameters, or a class.
SplitterLike = str | Splitter | type[Splitter]
#: The same, or several for a race.
SplitterChoice = SplitterLike | Sequence[SplitterLike]
#: What an optimiser starts from.
Start = SplitterLike | Tree | BaseEstimator

ClassCriterion = (
    Literal[
        "gini",
        "entropy",
        "log_loss",
        "twoing",
        "max_minority",
        "sum_minority",
        "sum_of_variances",
    ]
    | type[Criterion]
)
NumberCriterion = (
    Literal["squared_error", "friedman_mse", "absolute_error", "poisson", "linear_gaussian"]
    | type[Criterion]
)
ClassLeaf = Literal["constant", "linear"] | LeafFitter
NumberLeaf = ClassLeaf | Literal["linear_gaussian"]

# A class that stands beside an estimator's others uses what those have, which only run time knows.
if TYPE_CHECKING:
    Mixin = Any
else:
    Mixin = object
