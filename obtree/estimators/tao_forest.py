"""Forests by alternating optimisation: TAOForestClassifier and TAOForestRegressor."""

from typing import Literal

from obtree.estimators import hints
from obtree.estimators.distributions import DistributionMixin
from obtree.estimators.optimised import BaseOptimisedForest
from obtree.estimators.tao import (
    AUTO,
    CLOSE_LEAF_RATE,
    BaseTAO,
    TAOTreeClassifier,
    TAOTreeRegressor,
)
from obtree.estimators.task import ClassificationTask, RegressionTask
from obtree.estimators.uncertainty import UncertaintyMixin
from obtree.optim.tao import MAX_NEWTON_FEATURES
from obtree.tree.predict import COMBINE


class BaseTAOForest(BaseTAO, BaseOptimisedForest):
    """A forest of TAO trees, whatever the task."""

    _auto_splitter = "random_oblique"


class TAOForestClassifier(UncertaintyMixin, ClassificationTask, BaseTAOForest):
    """Forest for classification, optimised node by node with all others held fixed.

    Tree alternating optimisation (Carreira-Perpinan and Zharmagambetov, 2020) of every tree
    by itself; see the user guide.

    Parameters
    ----------
    n_estimators : int, default=30
        Number of trees.
    init : str, Splitter, fitted tree or forest, or Tree, default="auto"
        What each tree starts from: "random" for a complete tree of random
        planes through the medians of their rows, the splitter that grows a tree greedily, or a
        tree that is there already. "auto" grows it by "random_oblique", or by "axis" if there are
        more than 128 features.
    leaf : {"constant", "linear"}, default="constant"
        What a leaf predicts: its heaviest class, or the class of the largest of several linear
        scores.
    max_depth : int, default=None
        Greatest depth of the start; None grows until leaves are pure or too small, and cannot
        be combined with ``init="random"``.
    min_samples_leaf : int, float or "auto", default="auto"
        Rows each leaf of the start needs; a float is a fraction of the rows. "auto" is a third of
        the root of the number of features, and for linear leaves a quarter of their number, if
        there are a hundred times as many rows: models of many features fit a few rows by chance.
        Leaves may become smaller while the tree is optimised; those that lose all rows are
        pruned.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each leaf of a start that is grown needs.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Candidates per node of a start that is grown.
    l1 : float, default=0.01
        Penalty on the sizes of the weights of all planes and linear leaves, for features of
        spread 1: the larger, the fewer features a node tests. A unit is one wrong training row.
    n_iter : int, default=5
        Greatest number of sweeps over the tree.
    tol : float, default=0.0001
        A sweep that lowers the objective by less than this fraction of it is the last.
    validation_fraction : float, default=0.1
        Fraction of the rows that is set aside for early stopping, if `n_iter_no_change` is set.
    n_iter_no_change : int, default=None
        Stop after so many sweeps without a lower cost of the rows set aside and keep the best
        tree; None learns from all rows.
    bootstrap : bool, default=True
        Whether each start is grown on rows drawn with replacement. All rows take part in the
        optimisation in any case.
    max_samples : int or float, default=None
        Rows drawn for each start; a float is a fraction of the rows.
    combine : {"auto", "average", "product", "vote"}, default="auto"
        Mean of the trees' probabilities, their normalised product, or the fraction of trees that
        vote for a class. "auto" is "average" for linear leaves of more than 128 features, where
        it was better on most tables, and "product" otherwise.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.
    warm_start : bool, default=False
        Whether `fit` adds trees to those there are, up to `n_estimators`.

    Attributes
    ----------
    estimators_ : list of TAOTreeClassifier
        The trees; the ``random_state`` of each is its seed.
    objective_ : list of ndarray
        The objective of each tree, at the start and after each sweep; it never rises.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    max_features_ : int
        Resolved value of `max_features`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature by decrease of impurity.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import TAOForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TAOForestClassifier(5, random_state=0).fit(X, y)
    >>> all((curve[1:] <= curve[:-1]).all() for curve in model.objective_)
    True
    """

    _tree_class = TAOTreeClassifier
    _combine_rules = (AUTO, *COMBINE)

    def __init__(
        self,
        n_estimators: int = 30,
        *,
        init: hints.Start = "auto",
        leaf: Literal["constant", "linear"] = "constant",
        max_depth: int | None = None,
        min_samples_leaf: int | float | Literal["auto"] = "auto",
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = "sqrt",
        l1: float = 0.01,
        n_iter: int = 5,
        tol: float = 1e-4,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        combine: Literal["auto", "average", "product", "vote"] = "auto",
        class_weight: hints.ClassWeight = None,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.init = init
        self.leaf = leaf
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.l1 = l1
        self.n_iter = n_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.combine = combine
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def _has_close_leaves(self):
        """Return whether leaves have models of so many weights that they fit any rows closely."""
        return self.leaf == "linear" and self.n_features_in_ > MAX_NEWTON_FEATURES

    def _choose_leaf_rate(self):
        """Return the step of the weights of linear leaves."""
        return CLOSE_LEAF_RATE if self._has_close_leaves() else super()._choose_leaf_rate()

    def _choose_combine(self):
        """Return how the predictor is to combine the trees."""
        combine = super()._choose_combine()
        if combine != AUTO:
            return combine
        return "average" if self._has_close_leaves() else "product"


class TAOForestRegressor(DistributionMixin, RegressionTask, BaseTAOForest):
    """Forest for regression, optimised node by node with all others held fixed.

    Tree alternating optimisation (Carreira-Perpinan and Zharmagambetov, 2020) of every tree
    by itself; see the user guide.

    Parameters
    ----------
    n_estimators : int, default=30
        Number of trees.
    init : str, Splitter, fitted tree or forest, or Tree, default="axis"
        What each tree starts from: "random" for a complete tree of random
        planes through the medians of their rows, the splitter that grows a tree greedily, or a
        tree that is there already.
    leaf : {"constant", "linear"}, default="constant"
        What a leaf predicts: its mean, or a ridge regression on all features.
    max_depth : int, default=10
        Greatest depth of the start; None grows until leaves are pure or too small, and cannot
        be combined with ``init="random"``.
    min_samples_leaf : int, float or "auto", default=5
        Rows each leaf of the start needs; a float is a fraction of the rows. "auto" is a third of
        the root of the number of features, and for linear leaves a quarter of their number, if
        there are a hundred times as many rows: models of many features fit a few rows by chance.
        Leaves may become smaller while the tree is optimised; those that lose all rows are
        pruned.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each leaf of a start that is grown needs.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Candidates per node of a start that is grown.
    l1 : float, default=0.01
        Penalty on the sizes of the weights of all planes, for features of
        spread 1: the larger, the fewer features a node tests. A unit is the squared error
        of a row that is one standard deviation off.
    ridge : float, default=1.0
        Penalty on the squared weights of linear leaves, in the units of `l1`.
    n_iter : int, default=5
        Greatest number of sweeps over the tree.
    tol : float, default=0.0001
        A sweep that lowers the objective by less than this fraction of it is the last.
    validation_fraction : float, default=0.1
        Fraction of the rows that is set aside for early stopping, if `n_iter_no_change` is set.
    n_iter_no_change : int, default=None
        Stop after so many sweeps without a lower cost of the rows set aside and keep the best
        tree; None learns from all rows.
    bootstrap : bool, default=True
        Whether each start is grown on rows drawn with replacement. All rows take part in the
        optimisation in any case.
    max_samples : int or float, default=None
        Rows drawn for each start; a float is a fraction of the rows.
    combine : {"average"}, default="average"
        Mean of the trees' predictions.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.
    warm_start : bool, default=False
        Whether `fit` adds trees to those there are, up to `n_estimators`.

    Attributes
    ----------
    estimators_ : list of TAOTreeRegressor
        The trees; the ``random_state`` of each is its seed.
    objective_ : list of ndarray
        The objective of each tree, at the start and after each sweep; it never rises.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    max_features_ : int
        Resolved value of `max_features`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature by decrease of impurity.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obtree import TAOForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TAOForestRegressor(5, random_state=0).fit(X, y)
    >>> all((curve[1:] <= curve[:-1]).all() for curve in model.objective_)
    True
    """

    _tree_class = TAOTreeRegressor
    _combine_rules = ("average",)

    def __init__(
        self,
        n_estimators: int = 30,
        *,
        init: hints.Start = "axis",
        leaf: Literal["constant", "linear"] = "constant",
        max_depth: int = 10,
        min_samples_leaf: int | float | Literal["auto"] = 5,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = "sqrt",
        l1: float = 0.01,
        ridge: float = 1.0,
        n_iter: int = 5,
        tol: float = 1e-4,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        combine: Literal["average"] = "average",
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.init = init
        self.leaf = leaf
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.l1 = l1
        self.ridge = ridge
        self.n_iter = n_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.combine = combine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
