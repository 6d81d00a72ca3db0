"""Trees optimised as a whole down a bound on their loss: NonGreedyTree...."""

from typing import Literal

from obtree.estimators import hints
from obtree.estimators.optimised import BaseOptimisedTree
from obtree.estimators.task import ClassificationTask, RegressionTask
from obtree.optim.nongreedy import NonGreedyOptimiser


class NonGreedyTreeClassifier(ClassificationTask, BaseOptimisedTree):
    """Decision tree for classification, optimised as a whole.

    A tree is grown, and then all its planes are moved at once by stochastic gradient steps
    on a bound of the loss of the whole tree (Norouzi et al., 2015).

    Parameters
    ----------
    init : str, Splitter, fitted tree or forest, or Tree, default="co2"
        What to start from: the splitter that grows a tree, or a tree that is there already.
    criterion : {"gini", "entropy", "log_loss", "twoing", "max_minority", "sum_minority", \
            "sum_of_variances"}, default="entropy"
        Impurity that the start reduces.
    max_depth : int, default=10
        Greatest depth of the start; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node of the start needs to be split; a float is a fraction of the rows.
    min_samples_leaf : int or float, default=1
        Rows each child of the start needs; a float is a fraction of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child of the start needs.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node of the start.
    inference : {"fast", "full"}, default="fast"
        Among which ways through the tree the one with the worst outcome is sought for each
        row: those that differ from the row's own in one node, or all.
    stable : bool, default=False
        Whether rows are held to their leaves until the bound no longer falls, which keeps
        more leaves in use.
    nu : float, default=2000.0
        Bound of the squared length of a plane's weights, for rows of mean squared length 1.
        The larger, the closer the bound is to the loss, and the narrower the margin.
    learning_rate : float, default=0.3
        Length of the first steps, as a fraction of the square root of `nu`. Steps shrink
        to a twentieth of it.
    momentum : float, default=0.9
        What part of a step goes on into the next.
    n_epochs : int, default=15
        Passes over the rows.
    batch_size : int, default=100
        Rows a step.
    prune_inactive : bool, default=True
        Whether leaves that no training row reaches any more are removed.
    validation_fraction : float, default=0.1
        Fraction of the rows set aside for early stopping, if `n_iter_no_change` is given.
    n_iter_no_change : int, default=None
        Stop after so many epochs without a lower loss of the rows set aside, and keep the
        epoch where it was lowest. None keeps the epoch with the lowest loss of the
        training rows.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    n_jobs : int, default=None
        Threads that predict, as in joblib; a single tree is fitted by one.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.

    Attributes
    ----------
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
    tree_ : Tree
        The nodes as plain arrays.
    objective_ : ndarray of shape (n_epochs + 1,)
        Mean loss of the training rows in the start and after each epoch.
    n_inactive_leaves_ : int
        Leaves that no training row reached in the end, pruned or not.

    References
    ----------
    M. Norouzi, M. D. Collins, M. Johnson, D. J. Fleet and P. Kohli, "Efficient non-greedy
    optimization of decision trees", NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import NonGreedyTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = NonGreedyTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> tree.score(X, y) > 0.9
    True
    """

    _optimiser_class = NonGreedyOptimiser

    def __init__(
        self,
        *,
        init: hints.Start = "co2",
        criterion: hints.ClassCriterion = "entropy",
        max_depth: int = 10,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        inference: Literal["fast", "full"] = "fast",
        stable: bool = False,
        nu: float = 2000.0,
        learning_rate: float = 0.3,
        momentum: float = 0.9,
        n_epochs: int = 15,
        batch_size: int = 100,
        prune_inactive: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        class_weight: hints.ClassWeight = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: hints.Seed = None,
    ) -> None:
        self.init = init
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.inference = inference
        self.stable = stable
        self.nu = nu
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.prune_inactive = prune_inactive
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state


class NonGreedyTreeRegressor(RegressionTask, BaseOptimisedTree):
    """Decision tree for regression, optimised as a whole.

    A tree is grown, and then all its planes are moved at once by stochastic gradient steps
    on a bound of the loss of the whole tree (Norouzi et al., 2015).

    Parameters
    ----------
    init : str, Splitter, fitted tree or forest, or Tree, default="co2"
        What to start from: the splitter that grows a tree, or a tree that is there already.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
            default="squared_error"
        Impurity that the start reduces.
    max_depth : int, default=10
        Greatest depth of the start; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node of the start needs to be split; a float is a fraction of the rows.
    min_samples_leaf : int or float, default=5
        Rows each child of the start needs; a float is a fraction of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child of the start needs.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node of the start.
    inference : {"fast", "full"}, default="fast"
        Among which ways through the tree the one with the worst outcome is sought for each
        row: those that differ from the row's own in one node, or all.
    stable : bool, default=False
        Whether rows are held to their leaves until the bound no longer falls, which keeps
        more leaves in use.
    nu : float, default=20000.0
        Bound of the squared length of a plane's weights, for rows of mean squared length 1.
        The larger, the closer the bound is to the loss, and the narrower the margin.
    learning_rate : float, default=0.1
        Length of the first steps, as a fraction of the square root of `nu`. Steps shrink
        to a twentieth of it.
    momentum : float, default=0.9
        What part of a step goes on into the next.
    n_epochs : int, default=40
        Passes over the rows.
    batch_size : int, default=100
        Rows a step.
    prune_inactive : bool, default=True
        Whether leaves that no training row reaches any more are removed.
    validation_fraction : float, default=0.1
        Fraction of the rows set aside for early stopping, if `n_iter_no_change` is given.
    n_iter_no_change : int, default=None
        Stop after so many epochs without a lower loss of the rows set aside, and keep the
        epoch where it was lowest. None keeps the epoch with the lowest loss of the
        training rows.
    n_jobs : int, default=None
        Threads that predict, as in joblib; a single tree is fitted by one.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.

    Attributes
    ----------
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
    tree_ : Tree
        The nodes as plain arrays.
    objective_ : ndarray of shape (n_epochs + 1,)
        Mean loss of the training rows in the start and after each epoch.
    n_inactive_leaves_ : int
        Leaves that no training row reached in the end, pruned or not.

    References
    ----------
    M. Norouzi, M. D. Collins, M. Johnson, D. J. Fleet and P. Kohli, "Efficient non-greedy
    optimization of decision trees", NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obtree import NonGreedyTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = NonGreedyTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    >>> tree.score(X, y) > 0.4
    True
    """

    _optimiser_class = NonGreedyOptimiser

    def __init__(
        self,
        *,
        init: hints.Start = "co2",
        criterion: hints.NumberCriterion = "squared_error",
        max_depth: int = 10,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 5,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        inference: Literal["fast", "full"] = "fast",
        stable: bool = False,
        nu: float = 20000.0,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        n_epochs: int = 40,
        batch_size: int = 100,
        prune_inactive: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: hints.Seed = None,
    ) -> None:
        self.init = init
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.inference = inference
        self.stable = stable
        self.nu = nu
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.prune_inactive = prune_inactive
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
