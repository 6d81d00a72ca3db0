"""Disjunctive normal trees: DisjunctiveTreeClassifier and DisjunctiveForestClassifier."""

from typing import Literal

from obtree.core.params import FLAG, check_param
from obtree.estimators import hints
from obtree.estimators.optimised import BaseOptimisedForest, BaseOptimisedTree
from obtree.estimators.task import ClassificationTask
from obtree.estimators.uncertainty import UncertaintyMixin, average_models
from obtree.optim.disjunctive import DisjunctiveOptimiser
from obtree.tree.normal_predict import COMBINE, NormalPredictor


class BaseDisjunctive(ClassificationTask):
    """What a disjunctive normal tree and a forest of them have in common.

    A row takes every path of a soft tree at once, so what asks for one leaf or one path
    (``apply``, ``proximity``, ``decision_path``, ``explain_row``, ``get_depth``, ``get_n_leaves``)
    and what is counted on hard splits (``feature_importances_``) does not exist.
    """

    _optimiser_class = DisjunctiveOptimiser
    _predictor_kind = NormalPredictor
    _tree_attribute = "form_"

    def _refuse(self):
        raise AttributeError(
            f"a row has no single leaf or path in a soft tree; {type(self).__name__} has neither "
            "apply, proximity, decision_path, explain_row, get_depth, get_n_leaves nor "
            "feature_importances_"
        )

    apply = property(_refuse)
    proximity = property(_refuse)
    decision_path = property(_refuse)
    explain_row = property(_refuse)
    get_depth = property(_refuse)
    get_n_leaves = property(_refuse)
    feature_importances_ = property(_refuse)

    def _count_planes(self, plan, starts):
        """Return how many planes the forms have: each class may have its own."""
        n_classes = int(plan.target.n_classes[0])
        is_shared = check_param("shared_weights", self.shared_weights, FLAG)
        n_sets = 1 if is_shared or n_classes <= 2 else n_classes
        return n_sets * super()._count_planes(plan, starts)


class DisjunctiveTreeClassifier(BaseDisjunctive, BaseOptimisedTree):
    """A tree of soft decisions that all move together, for classification.

    A grown tree is rewritten as one differentiable function per class, a disjunction of the
    paths to the leaves of that class, and gradient descent on the squared error moves all its
    planes at once [1]_. Features need no scaling.

    Parameters
    ----------
    init : str, Splitter, or fitted tree, default="axis"
        What the tree to start from is grown with; see `obtree.splitter`. Or a tree of obtree
        that was fitted to the same features and classes. All its nodes must be planes.
    criterion : str, default="gini"
        Impurity that the splits of the start tree reduce.
    max_depth : int, default=None
        Greatest depth of the start tree; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node of the start tree needs to be split.
    min_samples_leaf : int or float, default=1
        Rows each child needs in the start tree.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child needs in the start tree.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node of the start tree.
    n_epochs : int, default=20
        Passes over the rows.
    learning_rate : float, default=0.02
        Step of Adam at the start; it falls to a tenth of this.
    batch_size : int, default=16
        Rows that make one step.
    steepness : float, default=2.0
        How steep a unit starts: over one standard deviation of the node's rows its score
        changes by this much.
    max_steepness : float, default=3.0
        Bound of the same over one standard deviation of all rows.
    shared_weights : bool, default=False
        Whether all classes use the same planes. Otherwise each class has planes of its own;
        of two classes, only the second has a function, and the first is what it leaves.
    validation_fraction : float, default=0.1
        Fraction of the rows set aside when `n_iter_no_change` is given.
    n_iter_no_change : int, default=None
        End after so many epochs without progress on the rows set aside, and keep the
        weights of the best epoch. None learns from all rows for `n_epochs`.
    tol : float, default=1e-4
        Least decrease of the mean squared error that counts as progress.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    n_jobs : int, default=None
        Number of threads that predict, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    form_ : NormalForm
        The disjunctive normal form as plain arrays.
    objective_ : ndarray of shape (n_epochs,)
        Mean squared error of each epoch, summed over the functions.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_, n_outputs_ : int
        Numbers of classes and of outputs (1).
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    max_features_ : int
        Resolved value of `max_features`.

    Notes
    -----
    A missing value counts as the mean of its feature in training.

    References
    ----------
    .. [1] M. Seyedhosseini and T. Tasdizen, "Disjunctive normal random forests", Pattern
       Recognition 48 (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import DisjunctiveTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DisjunctiveTreeClassifier(random_state=0).fit(X, y)
    >>> tree.predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        *,
        init: hints.Start = "axis",
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        n_epochs: int = 20,
        learning_rate: float = 0.02,
        batch_size: int = 16,
        steepness: float = 2.0,
        max_steepness: float = 3.0,
        shared_weights: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        class_weight: hints.ClassWeight = None,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
        self.init = init
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.steepness = steepness
        self.max_steepness = max_steepness
        self.shared_weights = shared_weights
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class DisjunctiveForestClassifier(UncertaintyMixin, BaseDisjunctive, BaseOptimisedForest):
    """A forest of disjunctive normal trees, for classification.

    Every tree of a grown forest becomes a `DisjunctiveTreeClassifier`, optimised by itself on
    all rows [1]_. It is often more accurate than the forest it starts from with a fraction of
    the trees.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of trees.
    init : str, Splitter, or fitted forest, default="axis"
        What the trees to start from are grown with; see `obtree.splitter`. Or a tree or forest
        of obtree that was fitted to the same features and classes. All nodes must be planes.
    criterion : str, default="gini"
        Impurity that the splits of start trees reduce.
    max_depth : int, default=None
        Greatest depth of start trees; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node of a start tree needs to be split.
    min_samples_leaf : int or float, default=1
        Rows each child needs in a start tree.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child needs in a start tree.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Candidates per node of start trees.
    bootstrap : bool or "auto", default="auto"
        Whether each start tree grows on a sample of the rows, drawn with replacement; "auto"
        follows the splitter. The descent uses all rows in any case.
    max_samples : int or float, default=None
        Bootstrap draws per start tree; a float is a fraction of the rows.
    n_epochs : int, default=20
        Passes over the rows.
    learning_rate : float, default=0.02
        Step of Adam at the start; it falls to a tenth of this.
    batch_size : int, default=16
        Rows that make one step.
    steepness : float, default=2.0
        How steep a unit starts: over one standard deviation of the node's rows its score
        changes by this much.
    max_steepness : float, default=3.0
        Bound of the same over one standard deviation of all rows.
    shared_weights : bool, default=False
        Whether all classes use the same planes. Otherwise each class has planes of its own;
        of two classes, only the second has a function, and the first is what it leaves.
    combine : {"average", "vote"}, default="average"
        Mean of the trees' class values, or the fraction of trees that vote for a class.
    validation_fraction : float, default=0.1
        Fraction of the rows set aside when `n_iter_no_change` is given.
    n_iter_no_change : int, default=None
        End a tree after so many epochs without progress on the rows set aside, and keep
        the weights of its best epoch. None learns from all rows for `n_epochs`.
    tol : float, default=1e-4
        Least decrease of the mean squared error that counts as progress.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    estimators_ : list of DisjunctiveTreeClassifier
        The trees; the ``random_state`` of each is its seed.
    objective_ : list of ndarray
        The ``objective_`` of each tree.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_, n_outputs_ : int
        Numbers of classes and of outputs (1).
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    max_features_ : int
        Resolved value of `max_features`.

    Notes
    -----
    A missing value counts as the mean of its feature in training.

    References
    ----------
    .. [1] M. Seyedhosseini and T. Tasdizen, "Disjunctive normal random forests", Pattern
       Recognition 48 (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import DisjunctiveForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = DisjunctiveForestClassifier(5, random_state=0).fit(X, y)
    >>> len(forest.estimators_)
    5
    """

    _tree_class = DisjunctiveTreeClassifier
    _combine_rules = COMBINE
    _bootstrap_rules = (FLAG, "auto")

    def _average_members(self, X):
        """Return the mean of what the trees predict and the mean of its entropies."""
        return average_models(NormalPredictor, self._list_trees(), X, self._count_threads())

    def __init__(
        self,
        n_estimators: int = 20,
        *,
        init: hints.Start = "axis",
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = "sqrt",
        bootstrap: bool | Literal["auto"] = "auto",
        max_samples: int | float | None = None,
        n_epochs: int = 20,
        learning_rate: float = 0.02,
        batch_size: int = 16,
        steepness: float = 2.0,
        max_steepness: float = 3.0,
        shared_weights: bool = False,
        combine: Literal["average", "vote"] = "average",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        class_weight: hints.ClassWeight = None,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.init = init
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.steepness = steepness
        self.max_steepness = max_steepness
        self.shared_weights = shared_weights
        self.combine = combine
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
