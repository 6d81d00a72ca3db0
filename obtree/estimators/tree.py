"""One greedy tree: ObliqueTreeClassifier and ObliqueTreeRegressor."""

import numbers
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from obtree.builder.prune import pruning_path
from obtree.core.hints import ArrayLike, Floats, Integers, MatrixLike, Names
from obtree.core.params import Integer, check_param
from obtree.estimators import hints
from obtree.estimators.base import (
    BaseModel,
    BaseOblique,
    PredictorCache,
    draw_entropy,
    read_random_state,
    restore_on_error,
)
from obtree.estimators.callbacks import report_fit
from obtree.estimators.choice import TREES, choose_plan
from obtree.estimators.gaussian_mixture import TreeDistributionMixin
from obtree.estimators.settings import AUTO, is_race, list_settings
from obtree.estimators.task import ClassificationTask, RegressionTask
from obtree.estimators.updating import UpdateTreeMixin
from obtree.splitter.registry import resolve_splitter
from obtree.tree.members import find_categories, find_tree
from obtree.tree.tree import Tree
from obtree.tree.words import explain_path


class BaseTreeModel(BaseModel):
    """What a fitted tree does, however it was made."""

    tree_: Tree

    def _store_tree(self, tree, classes, max_features):
        """Set the fitted attributes, other than those that describe X."""
        self._store_outputs(tree.n_outputs, classes)
        self.max_features_ = max_features
        setattr(self, self._tree_attribute, tree)
        self._predictor = PredictorCache(self._predictor_kind)

    def _list_trees(self):
        """Return the trees to predict with."""
        return [getattr(self, self._tree_attribute)]

    def _predict_values(self, X):
        """Return predictions of shape (n_samples, n_outputs, n_classes or 1)."""
        return self._call_predictor("predict", X)

    def _predict_classes(self, X):
        """Return the numbers of the classes with the largest of these values."""
        return self._call_predictor("classify", X)

    def apply(self, X: MatrixLike) -> Integers:
        """Return the leaf that each row ends in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        leaves : ndarray of int64, shape (n_samples,)
            Numbers of nodes in ``tree_``.
        """
        return self._call_predictor("apply", X)[:, 0]

    def decision_path(self, X: MatrixLike) -> Any:
        """Return the nodes that each row passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            Non-zero where the row passes the node.
        """
        indicator, _ = self._call_predictor("decision_path", X)
        return indicator

    def explain_row(
        self,
        x: ArrayLike,
        feature_names: Names | None = None,
        class_names: Names | None = None,
        decimals: int = 2,
        max_terms: int = 5,
    ) -> str:
        """Say in words which tests lead a row to its leaf, and what it gets there.

        Parameters
        ----------
        x : array-like of shape (n_features,), or table of one row
            A row. NaN means missing.
        feature_names : sequence of str, default=None
            Names of the columns; ``x[0]``, ``x[1]``, ... by default, or ``feature_names_in_``.
        class_names : sequence of str, default=None
            Names of the classes, or such a sequence for each of several outputs; ``classes_`` by
            default.
        decimals : int, default=2
            Digits after the point; more where a value would look like what it is compared with.
        max_terms : int, default=5
            Terms of a sum that are named, those that contribute most.

        Returns
        -------
        text : str
            A line for each test, and one for what the leaf predicts.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from obtree import ObliqueTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
        >>> print(tree.explain_row(X.iloc[70]), end="")
        petal length (cm) is 4.80, more than 2.45.
        petal width (cm) is 1.80, more than 1.75.
        The class is 2, which has 0.98 in leaf 4 (n=46); 1 has 0.02.
        """
        check_param("decimals", decimals, Integer(0))
        check_param("max_terms", max_terms, Integer(0))
        row = self._read_features(_make_table(x))
        if row.shape[0] != 1:
            raise ValueError(f"x has {row.shape[0]} rows; expected one")
        row = row.toarray() if issparse(row) else row
        tree, feature_names, class_names = find_tree(self, None, feature_names, class_names)
        return explain_path(
            tree, row, feature_names, class_names, decimals, max_terms, find_categories(self)
        )

    def get_depth(self) -> int:
        """Return the number of splits on the longest path.

        Returns
        -------
        depth : int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        n_leaves : int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> Floats:
        """Total decrease of impurity by feature, normalised to sum to 1."""
        check_is_fitted(self)
        return self.tree_.compute_feature_importances()


def _make_table(x):
    """Return a row as a table of one row."""
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a series of pandas
        return x.to_frame().T
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return x[None]
    if isinstance(x, (list, tuple)) and np.ndim(x) == 1:
        # An array of text would make text of truth values and numbers.
        dtype = object if any(isinstance(cell, str) for cell in x) else None
        return np.asarray(x, dtype=dtype)[None]
    return x


class BaseObliqueTree(BaseTreeModel, BaseOblique):
    """What a single greedy tree does, whatever the task."""

    _other_starts = (AUTO,)

    def _make_splitter(self):
        """Return the splitter that grows the tree; before a choice, one that checks parameters."""
        if not is_race(self.splitter):
            return super()._make_splitter()
        list_settings(self, TREES)
        return resolve_splitter("axis")

    @report_fit
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type, or real numbers for regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A whole number equals that many copies of the row,
            zero leaves it out.

        Returns
        -------
        self : object
        """
        with restore_on_error(self):
            plan = self._plan_growth(X, y, sample_weight)
            seed = resolve_tree_seed(self.random_state)
            stats: dict[str, int] = {}
            self.__dict__.pop("race_", None)
            if is_race(self.splitter):
                plan, self.race_ = choose_plan(self, plan, seed)
            (tree,) = plan.grow(np.array([seed], dtype=np.uint32), stats=stats)
            tree = tree.with_offset(plan.offset)
            self._store_tree(tree, plan.target.classes, plan.rule.max_features)
            self.splitter_stats_ = stats
        return self

    def cost_complexity_pruning_path(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Compute the sequence of subtrees of minimal cost-complexity pruning.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training features.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        path : Bunch
            ``ccp_alphas``, the values at which the best subtree changes, and
            ``impurities``, the total impurity of its leaves.
        """
        full = clone(self).set_params(ccp_alpha=0.0, leaf="constant")
        full.fit(X, y, sample_weight)
        ccp_alphas, impurities = pruning_path(full.tree_)
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)


class ObliqueTreeClassifier(UpdateTreeMixin, ClassificationTask, BaseObliqueTree):
    """Decision tree for classification with a choice of splitters.

    Parameters
    ----------
    splitter : str, Splitter or list of such, default="axis"
        How a node is split; see `obtree.splitter`. "auto" tries several, with small and with larger
        leaves, on thirds of the rows set aside and takes the best of them; a list tries what it
        names. Only parameters left at their defaults are varied.
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
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node; None takes all features.
    random_state : int, RandomState instance or None, default=None
        Seed of the tree.
    max_leaf_nodes : int, default=None
        Grow the most useful splits first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity worth a split.
    class_weight : dict, list of dict or "balanced", default=None
        Weights of the classes.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Direction (1, 0, -1) in which the probability of the second class may
        follow each feature.
    leaf : {"constant", "linear"} or LeafFitter, default="constant"
        What a leaf predicts: the class fractions of its rows, or the probabilities of a
        logistic regression fitted to them, for leaves that are not pure and have at least
        10 rows. See :doc:`/user_guide/linear_leaves`.
    leaf_l2 : float, default=1.0
        Ridge penalty of linear leaves, for features standardised in the leaf.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories, which are divided by sets: a mask, numbers or names.
        "from_dtype" takes those of a data frame that hold categories, text or truth values, None
        takes none. See :doc:`/user_guide/categories`.

    Attributes
    ----------
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
    tree_ : Tree
        The nodes as plain arrays.
    splitter_stats_ : dict of str to int
        What the splitter counted; empty for most.
    race_ : dict of str to list
        With "auto" or a list: settings, their errors on rows set aside, 1 for the one that was
        taken, and seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> round(tree.score(X, y), 2)
    0.96
    """

    def __init__(
        self,
        *,
        splitter: hints.SplitterChoice = "axis",
        criterion: hints.ClassCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        random_state: hints.Seed = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: hints.ClassWeights = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: hints.Monotonic = None,
        leaf: hints.ClassLeaf = "constant",
        leaf_l2: float = 1.0,
        categorical_features: hints.Categorical = "from_dtype",
    ) -> None:
        self.splitter = splitter
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.leaf = leaf
        self.leaf_l2 = leaf_l2
        self.categorical_features = categorical_features


class ObliqueTreeRegressor(TreeDistributionMixin, UpdateTreeMixin, RegressionTask, BaseObliqueTree):
    """Decision tree for regression with a choice of splitters.

    Parameters
    ----------
    splitter : str, Splitter or list of such, default="axis"
        How a node is split; see `obtree.splitter`. "auto" tries several, with small and with larger
        leaves, on thirds of the rows set aside and takes the best of them; a list tries what it
        names. Only parameters left at their defaults are varied.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson", \
            "linear_gaussian"}, default="squared_error"
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
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node; None takes all features.
    random_state : int, RandomState instance or None, default=None
        Seed of the tree.
    max_leaf_nodes : int, default=None
        Grow the most useful splits first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity worth a split.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Direction (1, 0, -1) in which the prediction may follow each feature.
    leaf : {"constant", "linear", "linear_gaussian"} or LeafFitter, default="constant"
        What a leaf predicts: the mean of its rows, or a ridge regression fitted to them,
        for leaves of at least 10 rows; "linear_gaussian" ones say how sure they are. See
        :doc:`/user_guide/linear_leaves`, :doc:`/user_guide/linear_gaussian`.
    leaf_l2 : float, default=1.0
        Ridge penalty of linear leaves, for features standardised in the leaf.
    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Columns that are categories, which are divided by sets: a mask, numbers or names.
        "from_dtype" takes those of a data frame that hold categories, text or truth values, None
        takes none. See :doc:`/user_guide/categories`.

    Attributes
    ----------
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
    tree_ : Tree
        The nodes as plain arrays.
    splitter_stats_ : dict of str to int
        What the splitter counted; empty for most.
    race_ : dict of str to list
        With "auto" or a list: settings, their errors on rows set aside, 1 for the one that was
        taken, and seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obtree import ObliqueTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ObliqueTreeRegressor(max_leaf_nodes=8, random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    8
    """

    def __init__(
        self,
        *,
        splitter: hints.SplitterChoice = "axis",
        criterion: hints.NumberCriterion = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        random_state: hints.Seed = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: hints.Monotonic = None,
        leaf: hints.NumberLeaf = "constant",
        leaf_l2: float = 1.0,
        categorical_features: hints.Categorical = "from_dtype",
    ) -> None:
        self.splitter = splitter
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.leaf = leaf
        self.leaf_l2 = leaf_l2
        self.categorical_features = categorical_features


def resolve_tree_seed(random_state):
    """Return the seed of a tree; an integer is the seed itself.

    So a tree of a forest, whose ``random_state`` is its seed, grows again when
    fitted alone.
    """
    read_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return draw_entropy(random_state)
