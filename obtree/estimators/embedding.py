"""ForestEmbedding: coordinates of few dimensions for rows that a forest finds near."""

import dataclasses
from typing import Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from obtree.core.hints import ArrayLike, Floats, MatrixLike
from obtree.core.params import Integer, check_param
from obtree.estimators import hints
from obtree.estimators.affinity import AffinityGraph, Scaler
from obtree.estimators.base import (
    BaseModel,
    BaseOblique,
    PredictorCache,
    draw_entropy,
    restore_on_error,
    spawn_seeds,
)
from obtree.estimators.callbacks import report_fit
from obtree.estimators.dense import check_memory
from obtree.estimators.leaf_rows import CHUNK_ROWS
from obtree.estimators.params import VERBOSE
from obtree.estimators.proximity import ProximityMixin
from obtree.estimators.saved_embedding import describe_embedding, restore_embedding
from obtree.estimators.spectral import connect_graph, find_coordinates
from obtree.estimators.task import UnsupervisedTask
from obtree.estimators.tree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.tree.predict import Predictor

AFFINITIES = ("binary", "gaussian", "mahalanobis")
GUIDES = ("auto", "density", "y", "random")


class _DensityGrower(UnsupervisedTask, BaseOblique):
    """Parameters of trees that are grown on the density of the rows."""

    criterion = "gaussian"
    min_samples_split = 2
    min_weight_fraction_leaf = 0.0
    max_leaf_nodes = None
    min_impurity_decrease = 0.0
    monotonic_cst = None
    ccp_alpha = 0.0
    leaf = "constant"
    leaf_l2 = 1.0

    def __init__(self, splitter, max_depth, min_samples_leaf, max_features):
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features


class ForestEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProximityMixin, BaseModel):
    """Coordinates of few dimensions for rows, by the leaves that they share.

    A manifold forest [1]_: trees divide the rows into leaves, rows are near if many trees have
    them in one leaf, and the eigenvectors of the normalised Laplacian of these affinities are
    their coordinates. Features may be of any scale, and values may be missing.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    n_estimators : int, default=100
        Number of trees.
    grow_on : {"auto", "density", "y", "random"}, default="auto"
        What trees are grown on: the density of the rows, by Gaussian information gain; the
        targets; or nothing, by splits at random values of random features. "auto" is the
        targets where `fit` gets some, and else the density.
    affinity : {"binary", "gaussian", "mahalanobis"}, default="gaussian"
        What two rows of a leaf have in common: one; a Gaussian of their distance, features having
        deviation 1; or a Gaussian of their distance by the covariance of the leaf's rows.
    power : int, default=4
        The mean over the trees is raised to this power: two rows share a leaf in each of so many
        trees that are drawn at random.
    splitter : str or Splitter, default="random_oblique"
        How a node is split; see `obtree.splitter`. It must do without targets unless trees are
        grown on y. Not used if they are grown at random.
    max_depth : int, default=None
        Greatest depth; None grows until leaves are too small.
    min_samples_leaf : int or float, default=5
        Rows each leaf needs, one of weight two counting as two; a float is a fraction of the
        rows.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Candidates per node.
    max_bytes : int, default=2**30
        Refuse affinities that take more.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows, each with mean 0 and variance 1 if rows count by what
        affinity they have.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the affinities divided by their sums, descending: 1 is as much as a coordinate can say,
        and one that says nothing is 0, as is its eigenvalue.
    trees_ : list of Tree
        The trees.
    n_parts_ : int
        Parts of the graph without a common leaf; more than one are connected by weak links.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    max_features_ : int
        Resolved value of `max_features`.

    Notes
    -----
    New rows get the mean of the training rows' coordinates, weighed by affinity and divided by the
    eigenvalue (Nystrom's method), which gives the training rows the coordinates that they
    have. A row that shares no leaf with any of them, as rows of wide gaps may, has zeros.

    References
    ----------
    .. [1] A. Criminisi, J. Shotton and E. Konukoglu, "Decision forests for classification,
       regression, density estimation, manifold learning and semi-supervised learning",
       Microsoft Research technical report 114 (2011), chapter 6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ForestEmbedding
    >>> X, _ = load_iris(return_X_y=True)
    >>> ForestEmbedding(random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _other_starts = ()

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_estimators: int = 100,
        grow_on: Literal["auto", "density", "y", "random"] = "auto",
        affinity: Literal["binary", "gaussian", "mahalanobis"] = "gaussian",
        power: int = 4,
        splitter: hints.SplitterLike = "random_oblique",
        max_depth: int | None = None,
        min_samples_leaf: int | float = 5,
        max_features: hints.MaxFeatures = "sqrt",
        max_bytes: int = 2**30,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_estimators = n_estimators
        self.grow_on = grow_on
        self.affinity = affinity
        self.power = power
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the trees and find the coordinates of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused. Rows of
            sparse features are kept dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Class labels, or real numbers, to grow on; see `grow_on`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Those of zero weight are placed as new rows are.

        Returns
        -------
        self : object
        """
        self.fit_transform(X, y, sample_weight)
        return self

    @report_fit
    def fit_transform(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Floats:
        """Grow the trees and return the coordinates of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Class labels, or real numbers, to grow on; see `grow_on`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Those of zero weight are placed as new rows are.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        with restore_on_error(self):
            self._check_own_params()
            entropy = draw_entropy(self.random_state)
            plan = self._plan(X, y, sample_weight, entropy)
            seeds = spawn_seeds(entropy, 0, self.n_estimators)
            trees = plan.grow(seeds, n_threads=self._count_threads(), verbose=int(self.verbose))
            trees = [tree.with_offset(plan.offset) for tree in trees]
            self._store_trees(trees, plan.target.classes, plan.rule.max_features)
            taken = plan.take_rows()
            weight = _weigh_rows(plan)
            check_memory(type(self).__name__, taken.X, taken.X.shape[1], 8)
            rows = _make_dense(taken.X)
            self._scaler = Scaler.measure(rows, weight)
            self._store_graph(self._find_leaves_of(taken.X), self._scaler.scale(rows), weight)
            affinity = self._graph.compare(
                n_threads=self._count_threads(), max_bytes=self.max_bytes
            )
            affinity, self.n_parts_ = connect_graph(affinity, self._graph.Z)
            found, self.eigenvalues_ = find_coordinates(affinity, weight, self.n_components)
            self._coordinates = found
            self.embedding_ = found if plan.rows is None else self._place_all(plan)
        return self.embedding_.copy()

    def transform(self, X: MatrixLike) -> Floats:
        """Return the coordinates of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        return self._place(self._read_features(X))

    def _check_own_params(self):
        """Refuse parameters that are not valid."""
        check_param("n_components", self.n_components, Integer(1))
        check_param("n_estimators", self.n_estimators, Integer(1))
        check_param("grow_on", self.grow_on, *GUIDES)
        check_param("affinity", self.affinity, *AFFINITIES)
        check_param("power", self.power, Integer(1, 64))
        check_param("max_bytes", self.max_bytes, Integer(1))
        check_param("verbose", self.verbose, *VERBOSE)
        self._count_threads()

    def _plan(self, X, y, sample_weight, entropy):
        """Check the data and return the plan of what the trees are grown on."""
        guide = self.grow_on
        if guide == "auto":
            guide = "density" if y is None else "y"
        if guide == "y" and y is None:
            raise ValueError("grow_on='y' needs y, got None")
        params = {
            "splitter": self.splitter,
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "max_features": self.max_features,
        }
        numbers = {"categorical_features": None}
        if guide == "density":
            grower, y = _DensityGrower(**params), None
        elif guide == "y":
            is_real = type_of_target(y, input_name="y").startswith("continuous")
            grower = (ObliqueTreeRegressor if is_real else ObliqueTreeClassifier)(
                **params, **numbers
            )
        else:
            # No gain means anything, and every split has one.
            y = np.random.default_rng(entropy).uniform(size=_count_rows(X))
            grower = ObliqueTreeRegressor(**{**params, **numbers, "splitter": "axis_random"})
        plan = grower._plan_growth(X, y, sample_weight)
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_ = grower.n_features_in_
        if hasattr(grower, "feature_names_in_"):
            self.feature_names_in_ = grower.feature_names_in_
        if self.n_components >= plan.n_rows:
            raise ValueError(
                f"n_components={self.n_components} needs more rows than that, got "
                f"n_samples={plan.n_rows}"
            )
        return _count_leaves_by_weight(plan)

    def _store_trees(self, trees, classes, max_features):
        """Set the fitted attributes of the trees."""
        self.trees_ = list(trees)
        self._classes = classes
        self.max_features_ = max_features
        self._predictor = PredictorCache(Predictor)

    def _store_graph(self, leaves, Z, weight):
        """Keep what rows are compared with."""
        node_counts = [tree.node_count for tree in self.trees_]
        self._graph = AffinityGraph(self.affinity, self.power, leaves, node_counts, Z, weight)

    def _list_trees(self):
        """Return the trees."""
        return self.trees_

    def _list_classes(self):
        """Return the class labels that trees were grown on, or None."""
        return self._classes

    def _place_all(self, plan):
        """Return the coordinates of all training rows, those of zero weight as new ones."""
        embedding = np.empty((plan.X.shape[0], self.n_components))
        absent = np.ones(len(embedding), dtype=bool)
        absent[plan.rows] = False
        embedding[plan.rows] = self._coordinates
        embedding[absent] = self._place(plan.X[absent])
        return embedding

    def _place(self, X):
        """Return the coordinates of validated rows."""
        placed = np.empty((X.shape[0], self._coordinates.shape[1]))
        for first in range(0, len(placed), CHUNK_ROWS // 16):
            part = slice(first, first + CHUNK_ROWS // 16)
            Z = self._scaler.scale(_make_dense(X[part]))
            leaves = self._find_leaves_of(X[part])
            placed[part] = self._average(self._graph.compare(leaves, Z, self._count_threads()))
        return placed

    def _average(self, affinity):
        """Return means of the training rows' coordinates, drawn out as the eigenvalues say."""
        weight = self._graph.weight
        degree = affinity @ weight
        mean = affinity @ (weight[:, None] * self._coordinates)
        mean /= np.where(degree > 0.0, degree, 1.0)[:, None]
        return mean / np.where(self.eigenvalues_ > 0.0, self.eigenvalues_, 1.0)

    @property
    def _n_features_out(self):
        """Number of columns that `transform` returns."""
        check_is_fitted(self)
        return self._coordinates.shape[1]

    def _describe_extras(self):
        """Return what a model file holds beside trees."""
        return describe_embedding(self)

    def _restore_extras(self, header, arrays):
        """Take what `_describe_extras` gave from a file, trusting none of it."""
        restore_embedding(self, header, arrays)


def _weigh_rows(plan):
    """Return weights of rows; those that are less than 1 on average are none of repetitions."""
    if plan.weight is None:
        return np.ones(plan.n_rows)
    return plan.weight / min(1.0, plan.weight.mean())


def _count_leaves_by_weight(plan):
    """Return the plan with a row of weight two counting as two in its leaf."""
    if plan.weight is None:
        return plan
    # A little less: sums of weights are rounded.
    weight = _weigh_rows(plan)
    least = (1.0 - 1e-9) * plan.rule.min_samples_leaf / weight.sum()
    rule = dataclasses.replace(
        plan.rule,
        min_samples_leaf=1,
        min_samples_split=2,
        min_weight_fraction_leaf=min(least, 0.5),
    )
    return dataclasses.replace(plan, rule=rule, weight=weight)


def _make_dense(X):
    """Return rows as an array."""
    return X.toarray() if sp.issparse(X) else X


def _count_rows(X):
    """Return the number of rows of what may be anything; what is wrong with it is said later."""
    return X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
