"""Random ferns: FernClassifier."""

import dataclasses
from typing import Literal, Self

from obtree.builder.rule import NO_LIMIT
from obtree.core.hints import ArrayLike, FloatsByOutput, MatrixLike
from obtree.core.names import show
from obtree.core.params import Integer, Number, check_param
from obtree.data.scale import find_weight_unit
from obtree.data.validate_target import validate_sample_weight
from obtree.estimators import hints
from obtree.estimators.bagging import BaseForestModel
from obtree.estimators.base import PredictorCache, draw_entropy, restore_on_error, spawn_seeds
from obtree.estimators.callbacks import report_fit
from obtree.estimators.params import VERBOSE
from obtree.estimators.task import ClassificationTask
from obtree.estimators.tree import ObliqueTreeClassifier
from obtree.estimators.updating import UpdateForestMixin
from obtree.splitter.random_oblique import FernSplitter
from obtree.tree.naive_bayes import SmoothedFerns

MAX_DEPTH = 20

#: Features in a test, on average, by what the tests are called, which is also the name of the
#: splitter of trees that is nearest.
TESTS = {"axis_random": 1.0, "random_oblique": 2.0}


class FernClassifier(UpdateForestMixin, ClassificationTask, BaseForestModel):
    """Random ferns: few tests, the same for all rows, and naive Bayes over what they say.

    A fern is a tree whose nodes of one level all ask the same random question, so that a row
    answers `depth` questions and is in one of ``2 ** depth`` cells [1]_. Cells know how many rows
    of each class came there; ferns are taken for independent given the class.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of ferns.
    depth : int, default=12
        Questions of a fern, at most 20.
    splitter : {"axis_random", "random_oblique"}, default="random_oblique"
        What questions are about: a feature, or the sum or difference of a few, divided by their
        scales; see `obtree.splitter`. Thresholds are random, with a fifth of the weight on either
        side if possible.
    n_candidates : int, default=5
        Questions drawn for each level, of which the one is taken that tells classes apart best in
        all cells; 1 draws them at random, as in the paper.
    smoothing : float, default=0.1
        Rows of each class that every cell has in advance: no class is ruled out by a cell that it
        has never been seen in.
    class_weight : dict, list of dict or "balanced", default=None
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
    estimators_ : list of ObliqueTreeClassifier
        The ferns as complete trees; the ``random_state`` of each is its seed. In their ``tree_`` a
        cell without rows has the class fractions of the nearest node above that has rows.
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
    max_features_ : int
        `n_candidates`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each feature by decrease of impurity.

    Notes
    -----
    Questions are drawn once and answers are only counted: `update_leaves` adds rows to a fitted
    model as if they had been there. A row that lacks a
    value goes to a side that is drawn with the question. There are no ferns for regression: the
    product needs the probability of a cell given the class.

    References
    ----------
    .. [1] M. Ozuysal, P. Fua and V. Lepetit, "Fast keypoint recognition in ten lines of code",
       CVPR (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import FernClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ferns = FernClassifier(20, depth=4, random_state=0).fit(X, y)
    >>> ferns.score(X, y) > 0.9
    True
    """

    _tree_class = ObliqueTreeClassifier
    _combine_rules = ("product",)
    combine = "product"
    _weight_unit = 1.0

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        depth: int = 12,
        splitter: Literal["axis_random", "random_oblique"] = "random_oblique",
        n_candidates: int = 5,
        smoothing: float = 0.1,
        class_weight: hints.ClassWeights = None,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.depth = depth
        self.splitter = splitter
        self.n_candidates = n_candidates
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @report_fit
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Draw the questions and count the answers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A whole number equals that many copies of the row,
            zero leaves it out.

        Returns
        -------
        self : object
        """
        with restore_on_error(self):
            check_param("n_estimators", self.n_estimators, Integer(1))
            check_param("verbose", self.verbose, *VERBOSE)
            starter = self._make_starter()
            n_threads = self._count_threads()
            plan = starter._plan_growth(X, y, sample_weight)
            self._adopt_features(starter)
            plan = dataclasses.replace(plan, rule=dataclasses.replace(plan.rule, is_complete=True))
            # Before class weights, which are to leave copies of a row what they are.
            given = validate_sample_weight(sample_weight, plan.X.shape[0])
            self._weight_unit = find_weight_unit(given)
            seeds = spawn_seeds(draw_entropy(self.random_state), 0, self.n_estimators)
            trees = plan.grow(seeds, n_threads=n_threads, verbose=int(self.verbose))
            trees = [tree.with_offset(plan.offset) for tree in trees]
            classes = plan.target.classes
            children = self._wrap_trees(trees, seeds, classes, plan.rule.max_features)
            self._store_forest(children, plan.target.n_outputs, classes, plan.rule.max_features)
        return self

    def predict_log_proba(self, X: MatrixLike) -> FloatsByOutput:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of such arrays
            Finite for every class that has rows, also where the probability is too small for a
            number.
        """
        logs = self._call_predictor("predict_log", X)
        if self.n_outputs_ == 1:
            return logs[:, 0]
        return [logs[:, k, :n_classes] for k, n_classes in enumerate(self.n_classes_)]

    @property
    def _predictor_kind(self):
        """What predicts with the trees."""
        smoothing = check_param("smoothing", self.smoothing, Number(0.0, open_low=True))
        return SmoothedFerns(smoothing * self._weight_unit)

    def _describe_extras(self):
        """Return what a model file keeps beside the ferns."""
        return {"weight_unit": self._weight_unit}, {}

    def _restore_extras(self, header, arrays):
        """Set what a model file keeps beside the ferns."""
        if header.keys() != {"weight_unit"} or arrays:
            raise ValueError(f"its extras are {show([*header, *arrays])}, expected ['weight_unit']")
        check_param("weight_unit", header["weight_unit"], Number(0.0, open_low=True))
        self._weight_unit = float(header["weight_unit"])
        self._predictor = PredictorCache(self._predictor_kind)

    def _make_starter(self):
        """Return the tree that checks the data, and whose splitter asks the questions."""
        depth = check_param("depth", self.depth, Integer(1, MAX_DEPTH))
        n_terms = TESTS[check_param("splitter", self.splitter, *TESTS)]
        n_candidates = check_param("n_candidates", self.n_candidates, Integer(1, NO_LIMIT))
        splitter = FernSplitter(depth=depth, feature_combinations=n_terms)
        return ObliqueTreeClassifier(
            splitter=splitter,
            max_depth=depth,
            max_features=n_candidates,
            class_weight=self.class_weight,
            categorical_features=None,
        )

    def _list_tree_params(self):
        """Return the parameters of the trees that the ferns are."""
        params = {
            "splitter": self.splitter,
            "max_depth": self.depth,
            "max_features": self.n_candidates,
            "categorical_features": None,
        }
        return ObliqueTreeClassifier(**params).get_params(deep=False)

    def _draws_bootstraps(self):
        """Every fern counts all rows."""
        return False

    def _balances_subsample(self):
        """Classes are not balanced fern by fern."""
        return False
