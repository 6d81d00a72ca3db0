"""Trees by alternating optimisation: TAOTreeClassifier and TAOTreeRegressor."""

import dataclasses
from typing import Literal

import numpy as np
import scipy.sparse as sp

from obtree.core.names import show
from obtree.core.params import Integer, check_param
from obtree.estimators import hints
from obtree.estimators.optimised import BaseOptimised, BaseOptimisedTree
from obtree.estimators.task import ClassificationTask, RegressionTask
from obtree.optim.tao import LEAF_KINDS, MAX_BYTE_FEATURES, MAX_NEWTON_FEATURES, TAO
from obtree.splitter.registry import resolve_splitter

RANDOM = "random"
AUTO = "auto"

#: From so many rows a feature on, a tree of many features starts from random planes.
RANDOM_START_ROWS = 20

#: Steps of the weights of linear leaves: of trees by themselves, and of forests of classifiers with
#: many features, whose mean has fewer errors with larger ones although each tree has more. Why is
#: not known; doc/benchmarks/tao.rst has the figures.
LEAF_RATE = 0.01
CLOSE_LEAF_RATE = 0.03

#: Of a complete tree of random planes.
MAX_RANDOM_DEPTH = 24


class BaseTAO(BaseOptimised):
    """What TAO trees and forests share."""

    _own_starts = (RANDOM,)
    _other_starts = (RANDOM, AUTO)

    #: What grows the starts of ``init="auto"``, unless features are many.
    _auto_splitter = "axis"

    def _make_starter(self):
        """Return the greedy tree that checks the data and grows the start."""
        check_param("leaf", self.leaf, *LEAF_KINDS)
        starter = super()._make_starter()
        if isinstance(self.min_samples_leaf, str):
            # Resolved when the number of features is known.
            check_param("min_samples_leaf", self.min_samples_leaf, AUTO)
            starter.min_samples_leaf = 1
        return starter

    def _plan(self, X, y, sample_weight, known_offset=()):
        """Let the starter check the data; choose how small the leaves of the start may be."""
        plan = super()._plan(X, y, sample_weight, known_offset)
        if self._is_auto() and self.n_features_in_ > MAX_NEWTON_FEATURES:
            plan = dataclasses.replace(plan, splitter=resolve_splitter("axis"))
        if not isinstance(self.min_samples_leaf, str):
            return plan
        size = self._choose_leaf_size(plan.n_rows)
        rule = dataclasses.replace(plan.rule, min_samples_leaf=size, min_samples_split=2 * size)
        return dataclasses.replace(plan, rule=rule)

    def _reads_bytes(self, n_features):
        """Whether bytes do: they are moved over in small steps, and sums stay exact."""
        return MAX_NEWTON_FEATURES < n_features < MAX_BYTE_FEATURES

    def _count_bytes(self, n_features):
        """Return how many bytes a value of the features takes: it may be kept as a byte besides."""
        return 5 if n_features > MAX_NEWTON_FEATURES else 4

    def _count_planes(self, plan, starts):
        """Return how many planes and linear models of all features the models have."""
        if starts[0] is None:
            n_splits = len(starts) * min(2 ** min(self.max_depth or 0, 31), plan.n_rows)
        else:
            n_splits = super()._count_planes(plan, starts)
        if self.leaf != "linear":
            return n_splits
        n_values = plan.target.n_outputs
        if plan.target.n_classes is not None:
            n_values = int(plan.target.n_classes[0])
        return n_splits + (n_splits + len(starts)) * n_values

    def _is_auto(self):
        """Return whether the data say what trees start from."""
        return isinstance(self.init, str) and self.init == AUTO

    def _starts_at_random(self, n_rows):
        """Return whether trees start from random planes, with so many rows to learn from."""
        return isinstance(self.init, str) and self.init == RANDOM

    def _check_splitter(self):
        """Return ``init`` as what the starter's ``splitter`` may be."""
        return self._auto_splitter if self._is_auto() else super()._check_splitter()

    def _choose_leaf_size(self, n_rows):
        """Return the rows that a leaf needs before planes of all features are fitted to it."""
        size = self.n_features_in_**0.5 / 3.0
        if self.leaf == "linear":
            # It holds a model of all features itself.
            size = self.n_features_in_ / 4.0
        return max(1, min(round(size), n_rows // 100))

    def _choose_leaf_rate(self):
        """Return the step of the weights of linear leaves."""
        return LEAF_RATE

    def _start_trees(self, plan, seeds, n_known):
        """Return one tree to start from for each seed, or None for a random one."""
        if not self._starts_at_random(plan.n_rows):
            return super()._start_trees(plan, seeds, n_known)
        if sp.issparse(plan.X) or plan.X.dtype.kind != "f":
            return [None] * len(seeds)
        if not np.isnan(plan.X).any(axis=0).all():
            return [None] * len(seeds)
        # Random planes need a column that no row lacks; axis splits do not.
        return plan.grow(seeds, n_threads=self._count_threads(), verbose=int(self.verbose))

    def _make_optimiser(self, problem):
        """Return the optimiser that the parameters describe."""
        shape = {}
        if self._starts_at_random(problem.n_train):
            if self.min_weight_fraction_leaf > 0.0:
                raise ValueError(
                    f"min_weight_fraction_leaf={show(self.min_weight_fraction_leaf)} cannot be "
                    "combined with init='random'; expected 0.0"
                )
            if self.max_depth is None:
                raise ValueError("init='random' needs max_depth, got None; expected an int")
            shape["max_depth"] = check_param(
                "max_depth", self.max_depth, Integer(1, MAX_RANDOM_DEPTH)
            )
            size = self.min_samples_leaf
            if isinstance(size, str):
                size = self._choose_leaf_size(problem.n_train)
            elif isinstance(size, float):
                size = max(1, int(-(-size * problem.n_train // 1)))
            shape["min_samples_leaf"] = size
        return TAO(
            leaf=self.leaf,
            l1=self.l1,
            ridge=getattr(self, "ridge", 1.0),
            leaf_rate=self._choose_leaf_rate(),
            n_iter=self.n_iter,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change or 1,
            **shape,
        )


class TAOTreeClassifier(ClassificationTask, BaseTAO, BaseOptimisedTree):
    """Tree for classification, optimised node by node with all others held fixed.

    Tree alternating optimisation (Carreira-Perpinan and Zharmagambetov, 2020): see
    the user guide.

    Parameters
    ----------
    init : str, Splitter, fitted tree or forest, or Tree, default="auto"
        What the tree starts from: "random" for a complete tree of random
        planes through the medians of their rows, the splitter that grows a tree greedily, or a
        tree that is there already. "auto" is "axis", or "random" if there are more than 128
        features and at least 20 times as many rows, `max_depth` is at most 24, and
        `min_weight_fraction_leaf` is 0.
    leaf : {"constant", "linear"}, default="constant"
        What a leaf predicts: its heaviest class, or the class of the largest of several linear
        scores.
    max_depth : int, default=8
        Greatest depth of the start; None grows until leaves are pure or too small, and cannot
        be combined with ``init="random"``.
    min_samples_leaf : int, float or "auto", default=1
        Rows each leaf of the start needs; a float is a fraction of the rows, and "auto" a third
        of the root of the number of features, or a quarter of their number for linear leaves, if
        there are a hundred times as many rows. Leaves may become smaller while the tree is
        optimised; those that lose all rows are pruned.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each leaf of a start that is grown needs.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node of a start that is grown.
    l1 : float, default=0.01
        Penalty on the sizes of the weights of all planes and linear leaves, for features of
        spread 1: the larger, the fewer features a node tests. A unit is one wrong training row.
    n_iter : int, default=6
        Greatest number of sweeps over the tree.
    tol : float, default=0.0001
        A sweep that lowers the objective by less than this fraction of it is the last.
    validation_fraction : float, default=0.1
        Fraction of the rows that is set aside for early stopping, if `n_iter_no_change` is set.
    n_iter_no_change : int, default=None
        Stop after so many sweeps without a lower cost of the rows set aside and keep the best
        tree; None learns from all rows.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    tree_ : Tree
        The tree as arrays.
    objective_ : ndarray
        The objective at the start and after each sweep; it never rises.
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
    >>> from obtree import TAOTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TAOTreeClassifier(random_state=0).fit(X, y)
    >>> bool((model.objective_[1:] <= model.objective_[:-1]).all())
    True
    """

    def __init__(
        self,
        *,
        init: hints.Start = "auto",
        leaf: Literal["constant", "linear"] = "constant",
        max_depth: int = 8,
        min_samples_leaf: int | float | Literal["auto"] = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        l1: float = 0.01,
        n_iter: int = 6,
        tol: float = 1e-4,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        class_weight: hints.ClassWeight = None,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
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
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _starts_at_random(self, n_rows):
        """Return whether trees start from random planes, with so many rows to learn from."""
        if not self._is_auto():
            return super()._starts_at_random(n_rows)
        # Random planes are only worth their freedom where rows are many: a greedy start is
        # better on nearly all tables with fewer rows or features.
        return (
            self.n_features_in_ > MAX_NEWTON_FEATURES
            and n_rows >= RANDOM_START_ROWS * self.n_features_in_
            and self.max_depth is not None
            and self.max_depth <= MAX_RANDOM_DEPTH
            and self.min_weight_fraction_leaf == 0.0
        )


class TAOTreeRegressor(RegressionTask, BaseTAO, BaseOptimisedTree):
    """Tree for regression, optimised node by node with all others held fixed.

    Tree alternating optimisation (Carreira-Perpinan and Zharmagambetov, 2020): see
    the user guide.

    Parameters
    ----------
    init : str, Splitter, fitted tree or forest, or Tree, default="axis"
        What the tree starts from: "random" for a complete tree of random
        planes through the medians of their rows, the splitter that grows a tree greedily, or a
        tree that is there already.
    leaf : {"constant", "linear"}, default="constant"
        What a leaf predicts: its mean, or a ridge regression on all features.
    max_depth : int, default=8
        Greatest depth of the start; None grows until leaves are pure or too small, and cannot
        be combined with ``init="random"``.
    min_samples_leaf : int, float or "auto", default=5
        Rows each leaf of the start needs; a float is a fraction of the rows, and "auto" a third
        of the root of the number of features, or a quarter of their number for linear leaves, if
        there are a hundred times as many rows. Leaves may become smaller while the tree is
        optimised; those that lose all rows are pruned.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each leaf of a start that is grown needs.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
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
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    tree_ : Tree
        The tree as arrays.
    objective_ : ndarray
        The objective at the start and after each sweep; it never rises.
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
    >>> from obtree import TAOTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TAOTreeRegressor(random_state=0).fit(X, y)
    >>> bool((model.objective_[1:] <= model.objective_[:-1]).all())
    True
    """

    def __init__(
        self,
        *,
        init: hints.Start = "axis",
        leaf: Literal["constant", "linear"] = "constant",
        max_depth: int = 8,
        min_samples_leaf: int | float | Literal["auto"] = 5,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = None,
        l1: float = 0.01,
        ridge: float = 1.0,
        n_iter: int = 5,
        tol: float = 1e-4,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
