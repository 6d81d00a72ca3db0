"""Bagged greedy trees: ObliqueForestClassifier and ObliqueForestRegressor."""

from typing import Literal

import numpy as np

from obtree.core.advice import advise
from obtree.core.names import show
from obtree.core.params import check_param
from obtree.estimators import hints
from obtree.estimators.auto import BaseAutoForest
from obtree.estimators.distributions import DistributionMixin
from obtree.estimators.params import expand_class_weight
from obtree.estimators.task import ClassificationTask, RegressionTask
from obtree.estimators.tree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.estimators.uncertainty import UncertaintyMixin
from obtree.estimators.updating import UpdateForestMixin


class ObliqueForestClassifier(
    UpdateForestMixin, UncertaintyMixin, ClassificationTask, BaseAutoForest
):
    """Forest for classification with a choice of splitters.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; boosted chains, where a race finds that they help, come on top.
    splitter : str, Splitter or list of such, default="auto"
        How a node is split; see `obtree.splitter`. "auto" races several settings on rows that
        trees leave out and mixes the best of them, and a list races what it names, "auto"
        standing for all of those; see :doc:`/user_guide/race`.
    criterion : {"gini", "entropy", "log_loss", "twoing", "max_minority", "sum_minority", \
            "sum_of_variances"}, default="gini"
        Impurity that splits reduce: a name, or a subclass of
        ``obtree.criterion.base.Criterion``.
    max_depth : int, default=None
        Greatest depth; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a float is a fraction of the rows.
    min_samples_leaf : int or float, default=1
        Rows each child needs; a float is a fraction of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child needs.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Candidates per node; a feature that is constant in the node does not count.
    max_leaf_nodes : int, default=None
        Grow the most useful splits first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity worth a split.
    bootstrap : bool or "auto", default="auto"
        Whether each tree sees a sample of the rows, drawn with replacement. "auto"
        follows the splitter: those that optimise a hyperplane see all rows, since
        their random starts make trees different enough. In a race it follows the setting, and
        trees that draw no bootstrap see four fifths of the rows, and so they do with `oob_score`.
    oob_score : bool or callable, default=False
        Whether to estimate the accuracy on the rows that trees have left out; a
        callable ``score(y_true, y_pred)`` replaces the accuracy.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.
    warm_start : bool, default=False
        Whether `fit` adds trees to those there are, up to `n_estimators`.
    class_weight : dict, list of dict, {"balanced", "balanced_subsample"}, default=None
        Weights of the classes.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.
    max_samples : int or float, default=None
        Bootstrap draws per tree; a float is a fraction of the rows.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Direction (1, 0, -1) in which the probability of the second class may
        follow each feature.
    combine : {"average", "product", "vote"}, default="average"
        Mean of the trees' probabilities, their normalised product, or the fraction of
        trees that vote for a class.
    rotation : {"pca"} or None, default=None
        "pca" turns random groups of features to their principal components, anew for
        each tree, before the splitter sees them (rotation forest); X must be dense.
    rotation_size : int, default=3
        Features in a group of the rotation.
    leaf : {"constant", "linear"} or LeafFitter, default="constant"
        What a leaf predicts: the class fractions of its rows, or the probabilities of a
        logistic regression fitted to them, for leaves that are not pure and have at least
        10 rows. See :doc:`/user_guide/linear_leaves`.
    leaf_l2 : float, default=1.0
        Ridge penalty of linear leaves, for features standardised in the leaf.
    relevance : bool or "auto", default="auto"
        Whether features are drawn by how relevant a small forest finds them, so that those that
        have nothing to say seldom take part; "auto" leaves it to the settings of a race, and
        means False for a single splitter.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories, which are divided by sets: a mask, numbers or names.
        "from_dtype" takes those of a data frame that hold categories, text or truth values, None
        takes none. See :doc:`/user_guide/categories`.

    Attributes
    ----------
    estimators_ : list of ObliqueTreeClassifier
        The trees; the ``random_state`` of each is its seed.
    chains_ : list of list of ObliqueTreeClassifier
        Boosted chains that a race has added to the trees; most often there are none. A chain
        predicts the normalised product of its trees.
    chain_weights_ : ndarray of shape (n_chains,)
        What each chain counts for in the prediction; the mean of the trees counts for the rest.
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        Class labels.
    n_classes_ : int or list of int
        Number of classes.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    is_categorical_ : bool ndarray of shape (n_features_in_,) or None
        Which features are categories; None when none is.
    categories_ : list of (ndarray or None) or None
        The categories of each such feature, in the order of the numbers that stand for them.
    max_features_ : int
        Resolved value of `max_features`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature by decrease of impurity.
    estimator_ : tree estimator
        An unfitted tree with the parameters of the trees, if a single splitter grows them.
    estimators_samples_ : list of ndarray
        Rows that each tree was grown on; a row stands there as often as it was drawn.
    splitter_stats_ : dict of str to int
        What the splitter counted, summed over the trees; empty for most.
    race_ : dict of str to list
        The settings of a race: their squared error on rows left out ("error"), their fraction of
        the forest and trees in it ("fraction", "n_trees"), and the seconds they took.
    relevance_ : ndarray of shape (n_features_in_,)
        How often each feature takes part where features are drawn by relevance.
    oob_score_ : float
        Score on the rows left out, when `oob_score` is set.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or \
            (n_samples, n_classes, n_outputs)
        Probabilities by the trees that did not see the row; NaN when all did.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, random_state=0).fit(X, y)
    >>> len(forest.estimators_)
    20
    """

    _tree_class = ObliqueTreeClassifier
    _oob_name = "oob_decision_function_"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        splitter: hints.SplitterChoice = "auto",
        criterion: hints.ClassCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | Literal["auto"] = "auto",
        oob_score: hints.OutOfBagScore = False,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: hints.ClassWeights | Literal["balanced_subsample"] | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: hints.Monotonic = None,
        combine: Literal["average", "product", "vote"] = "average",
        rotation: Literal["pca"] | None = None,
        rotation_size: int = 3,
        leaf: hints.ClassLeaf = "constant",
        leaf_l2: float = 1.0,
        relevance: bool | Literal["auto"] = "auto",
        categorical_features: hints.Categorical = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.splitter = splitter
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.combine = combine
        self.rotation = rotation
        self.rotation_size = rotation_size
        self.leaf = leaf
        self.leaf_l2 = leaf_l2
        self.relevance = relevance
        self.categorical_features = categorical_features

    def _balances_subsample(self):
        """Tell whether classes are balanced in each bootstrap."""
        given = self.class_weight
        is_wanted = isinstance(given, str) and given == "balanced_subsample"
        return is_wanted and self._draws_bootstraps()

    def _expand_class_weight(self, target, sample_weight):
        """Return what ``class_weight`` makes of each row, or None."""
        class_weight = self.class_weight
        if isinstance(class_weight, str):
            check_param("class_weight", class_weight, "balanced", "balanced_subsample")
            if self.warm_start:
                advise(
                    f"class_weight={show(class_weight)} with warm_start=True weighs each batch of "
                    "trees by the data of its own fit; pass a dict of weights when later data "
                    "differ",
                )
            class_weight = None if self._balances_subsample() else "balanced"
        return expand_class_weight(class_weight, target.y, target.classes, sample_weight)

    @staticmethod
    def _shape_out_of_bag(values):
        """Return (n_samples, n_classes), with outputs last when there are several."""
        return values[:, 0] if values.shape[1] == 1 else np.moveaxis(values, 1, 2)


class ObliqueForestRegressor(DistributionMixin, UpdateForestMixin, RegressionTask, BaseAutoForest):
    """Forest for regression with a choice of splitters.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; boosted chains, where a race finds that they help, come on top.
    splitter : str, Splitter or list of such, default="auto"
        How a node is split; see `obtree.splitter`. "auto" races several settings on rows that
        trees leave out and mixes the best of them, and a list races what it names, "auto"
        standing for all of those; see :doc:`/user_guide/race`.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson", "linear_gaussian"}, \
            default="squared_error"
        Impurity that splits reduce: a name, or a subclass of
        ``obtree.criterion.base.Criterion``. "linear_gaussian" implies such leaves.
    max_depth : int, default=None
        Greatest depth; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a float is a fraction of the rows.
    min_samples_leaf : int or float, default=1
        Rows each child needs; a float is a fraction of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child needs.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Candidates per node; a feature that is constant in the node does not count.
    max_leaf_nodes : int, default=None
        Grow the most useful splits first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity worth a split.
    bootstrap : bool or "auto", default="auto"
        Whether each tree sees a sample of the rows, drawn with replacement. "auto"
        follows the splitter: those that optimise a hyperplane see all rows, since
        their random starts make trees different enough. In a race it follows the setting, and
        trees that draw no bootstrap see four fifths of the rows, and so they do with `oob_score`.
    oob_score : bool or callable, default=False
        Whether to estimate the R2 on the rows that trees have left out; a callable
        ``score(y_true, y_pred)`` replaces R2.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.
    warm_start : bool, default=False
        Whether `fit` adds trees to those there are, up to `n_estimators`.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.
    max_samples : int or float, default=None
        Bootstrap draws per tree; a float is a fraction of the rows.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Direction (1, 0, -1) in which the prediction may follow each feature.
    combine : {"average"}, default="average"
        Mean of the trees' predictions; products and votes are for classes.
    rotation : {"pca"} or None, default=None
        "pca" turns random groups of features to their principal components, anew for
        each tree, before the splitter sees them (rotation forest); X must be dense.
    rotation_size : int, default=3
        Features in a group of the rotation.
    leaf : {"constant", "linear", "linear_gaussian"} or LeafFitter, default="constant"
        What a leaf predicts: the mean of its rows, or a ridge regression fitted to them; see
        :doc:`/user_guide/linear_leaves` and, with a deviation, :doc:`/user_guide/linear_gaussian`.
    leaf_l2 : float, default=1.0
        Ridge penalty of linear leaves, for features standardised in the leaf.
    relevance : bool or "auto", default="auto"
        Whether features are drawn by how relevant a small forest finds them, so that those that
        have nothing to say seldom take part; "auto" leaves it to the settings of a race, and
        means False for a single splitter.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories, which are divided by sets: a mask, numbers or names.
        "from_dtype" takes those of a data frame that hold categories, text or truth values, None
        takes none. See :doc:`/user_guide/categories`.

    Attributes
    ----------
    estimators_ : list of ObliqueTreeRegressor
        The trees; the ``random_state`` of each is its seed.
    chains_ : list of list of ObliqueTreeRegressor
        Boosted chains that a race has added to the trees; most often there are none. A chain
        predicts the mean of its trees.
    chain_weights_ : ndarray of shape (n_chains,)
        What each chain counts for in the prediction; the mean of the trees counts for the rest.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    is_categorical_ : bool ndarray of shape (n_features_in_,) or None
        Which features are categories; None when none is.
    categories_ : list of (ndarray or None) or None
        The categories of each such feature, in the order of the numbers that stand for them.
    max_features_ : int
        Resolved value of `max_features`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature by decrease of impurity.
    estimator_ : tree estimator
        An unfitted tree with the parameters of the trees, if a single splitter grows them.
    estimators_samples_ : list of ndarray
        Rows that each tree was grown on; a row stands there as often as it was drawn.
    splitter_stats_ : dict of str to int
        What the splitter counted, summed over the trees; empty for most.
    race_ : dict of str to list
        The settings of a race: their squared error on rows left out ("error"), their fraction of
        the forest and trees in it ("fraction", "n_trees"), and the seconds they took.
    relevance_ : ndarray of shape (n_features_in_,)
        How often each feature takes part where features are drawn by relevance.
    noise_scale_ : ndarray of shape (n_outputs_,)
        What the variances of linear Gaussian leaves are multiplied by, as rows left out ask for.
    oob_score_ : float
        Score on the rows left out, when `oob_score` is set.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Prediction by the trees that did not see the row; NaN when all did.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obtree import ObliqueForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ObliqueForestRegressor(20, random_state=0).fit(X, y)
    >>> forest.predict(X[:2]).shape
    (2,)
    """

    _tree_class = ObliqueTreeRegressor
    _oob_name = "oob_prediction_"
    _combine_rules = ("average",)

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        splitter: hints.SplitterChoice = "auto",
        criterion: hints.NumberCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | Literal["auto"] = "auto",
        oob_score: hints.OutOfBagScore = False,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: hints.Monotonic = None,
        combine: Literal["average"] = "average",
        rotation: Literal["pca"] | None = None,
        rotation_size: int = 3,
        leaf: hints.NumberLeaf = "constant",
        leaf_l2: float = 1.0,
        relevance: bool | Literal["auto"] = "auto",
        categorical_features: hints.Categorical = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.splitter = splitter
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.combine = combine
        self.rotation = rotation
        self.rotation_size = rotation_size
        self.leaf = leaf
        self.leaf_l2 = leaf_l2
        self.relevance = relevance
        self.categorical_features = categorical_features

    def _shape_out_of_bag(self, values):
        """Return the shape of `predict`."""
        return self._decode(values)
