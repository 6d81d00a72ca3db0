"""The part of fitting and predicting that all greedy estimators share.

``fit`` runs through three steps: plan (check everything the user gave and resolve
it to typed arrays and plain numbers), grow (compiled), store (set the fitted
attributes). Nothing is stored unless all steps succeed, so a fit that fails or is
interrupted leaves the estimator as it was.
"""

import contextlib
import operator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from obtree.core.names import ask_if_meant
from obtree.core.params import Integer, Number, check_param, refuse_param
from obtree.criterion.registry import find_criterion
from obtree.data.validate import (
    round_features,
    set_categories,
    validate_fit_features,
    validate_predict_features,
)
from obtree.data.validate_target import check_total_weight, validate_sample_weight
from obtree.estimators.callbacks import CallbackSupportMixin
from obtree.estimators.doc_link import DocLinkMixin
from obtree.estimators.jobs import count_threads
from obtree.estimators.params import (
    resolve_growth_rule,
    resolve_leaf,
    resolve_monotonic_cst,
)
from obtree.estimators.plan import GrowthPlan
from obtree.splitter.registry import resolve_splitter
from obtree.tree.predict import Predictor


class PredictorCache:
    """Packed nodes of the trees, made when first needed and never saved.

    Two threads that meet an empty cache may both pack the nodes; either result is
    right, and a lock could stay closed for ever in a forked process.

    Parameters
    ----------
    kind : type
        Made with the list of trees, or of what takes their place.
    """

    def __init__(self, kind):
        self._kind = kind
        self._packed = ((), None)

    def get(self, trees):
        """Return the predictor of exactly these trees.

        Parameters
        ----------
        trees : list of Tree
            Compared by identity with those packed last.

        Returns
        -------
        predictor : Predictor
        """
        known, predictor = self._packed
        if len(known) != len(trees) or not all(map(operator.is_, known, trees)):
            predictor = self._kind(list(trees))
            self._packed = (tuple(trees), predictor)
        return predictor

    def __reduce__(self):
        return PredictorCache, (self._kind,)


class BaseModel(CallbackSupportMixin, DocLinkMixin, MultiOutputMixin, BaseEstimator):
    """What every estimator made of trees does; a task class stands beside it.

    A subclass says which of its parameters holds a splitter (``_splitter_param``), whether
    several of them may share a forest (``_mixes_settings``), which names
    it may hold that are no splitter's (``_other_starts``), what a fitted tree is called
    (``_tree_attribute``), and what predicts with such (``_predictor_kind``).
    """

    _splitter_param = "splitter"
    _mixes_settings = True
    _other_starts: tuple[str, ...] = ()
    _tree_attribute = "tree_"
    _predictor_kind = Predictor

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``<splitter>__<name>`` reaches those of the splitter.

        Parameters
        ----------
        **params : dict
            Names and values. When a splitter given by name or class gets parameters, an
            object takes its place.

        Returns
        -------
        self : object
        """
        name = self._splitter_param
        nested = [key for key in params if key.startswith(f"{name}__")]
        if nested:
            given = params.get(name, getattr(self, name))
            if isinstance(given, str) and given in self._other_starts:
                raise ValueError(
                    f"{name}={given!r} has no parameters such as {nested[0]}; expected {name} to "
                    "be a splitter"
                )
            params[name] = resolve_splitter(given, name)
        try:
            return super().set_params(**params)
        except ValueError as error:
            known = self.get_params()
            unknown = [key for key in params if key.partition("__")[0] not in known]
            if not unknown:
                raise
            text = str(error).rstrip(".")
            raise ValueError(f"{text}{ask_if_meant(unknown[0], known)}") from None

    def _describe_extras(self):
        """Return what a model file holds beside trees: a dict for JSON, and arrays by name."""
        return {}, {}

    def _restore_extras(self, header, arrays):
        """Take what `_describe_extras` gave from a file, trusting none of it."""
        if header or arrays:
            found = next(iter([*header, *arrays]))
            raise ValueError(f"it holds {found!r}, which no such model has")

    def _count_fit_tasks(self):
        """Return of how many trees a fit tells callbacks."""
        return 0

    def _count_threads(self):
        """Check ``n_jobs``, where there is one, and return how many threads it stands for."""
        return count_threads(self.n_jobs) if hasattr(self, "n_jobs") else 1

    def _adopt_features(self, other):
        """Set what another estimator has found out about the features."""
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_ = other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_
        if hasattr(self, "categorical_features"):
            set_categories(self, getattr(other, "_encoder", None))

    def _read_features(self, X):
        """Check the rows to predict."""
        if not hasattr(self, "_predictor"):  # far quicker than asking scikit-learn
            check_is_fitted(self)
        return validate_predict_features(self, X, self._list_trees()[0].feature_offset)

    def _call_predictor(self, method, X, **options):
        """Check X and call one method of the packed trees."""
        X = self._read_features(X)
        predictor = self._predictor.get(self._list_trees())
        return getattr(predictor, method)(X, n_threads=self._count_threads(), **options)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class BaseOblique(BaseModel):
    """What greedy trees and forests do."""

    def _plan_growth(self, X, y, sample_weight, known_offset=(), encoder=None):
        """Check parameters and data and return a `GrowthPlan`.

        Trees that are there already pass their offset on, in a sequence of one, and categories.
        """
        find_criterion(self.criterion, self._target_kind)
        splitter = self._make_splitter()
        rounds = not any(o is not None for o in known_offset)
        X = validate_fit_features(self, X, rounds=rounds, encoder=encoder)
        target = self._encode_target(y, X.shape[0])
        weight = validate_sample_weight(sample_weight, X.shape[0])
        by_class = self._expand_class_weight(target, weight)
        if by_class is not None:
            weight = by_class if weight is None else weight * by_class
            check_total_weight(weight)
        rows = None
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            weight = weight[rows]
        X, offset = round_features(self, X, rows, known_offset)
        self._check_grown_target(target, rows)
        monotonic_cst = resolve_monotonic_cst(self, splitter, target.n_outputs, target.n_classes)
        n_rows = X.shape[0] if rows is None else len(rows)
        return GrowthPlan(
            X=X,
            target=target,
            rows=rows,
            weight=weight,
            criterion=self.criterion,
            splitter=splitter,
            rule=resolve_growth_rule(
                self, n_rows, monotonic_cst, not splitter.max_features_unbounded
            ),
            ccp_alpha=check_param("ccp_alpha", self.ccp_alpha, Number(0.0)),
            leaf=resolve_leaf(self, monotonic_cst),
            offset=offset,
            categorical=getattr(self, "is_categorical_", None),
        )

    def _check_splitter(self):
        """Return what a greedy tree may have as its ``splitter``."""
        return self.splitter

    def _make_splitter(self):
        """Return the splitter that grows the trees."""
        return resolve_splitter(self.splitter, others=self._other_starts)


@contextlib.contextmanager
def restore_on_error(estimator):
    """Undo every change of an estimator's attributes when the body raises.

    Parameters
    ----------
    estimator : estimator object
        Keeps its previous fit, or stays unfitted, after an error or Ctrl-C.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def read_random_state(random_state):
    """Return the generator that `random_state` stands for, or raise ValueError.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        What the user gave.

    Returns
    -------
    generator : RandomState
    """
    try:
        return check_random_state(random_state)
    except (TypeError, ValueError):
        pass
    refuse_param(
        "random_state",
        random_state,
        expected=f"an integer from 0 to {2**32 - 1}, a RandomState or None",
        wrong_type=not Integer(0).has_type(random_state),
    )


def draw_entropy(random_state):
    """Draw the one number from which all randomness of a fit follows.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        What the user gave.

    Returns
    -------
    entropy : int
    """
    return int(read_random_state(random_state).randint(2**31 - 1))


def spawn_seeds(entropy, start, end):
    """Hash seeds of the trees start..end-1 of a forest.

    Hashing keeps the streams of neighbouring trees unrelated, and makes a seed
    depend on the tree's number only: a forest grown in two steps is the forest
    grown in one.

    Parameters
    ----------
    entropy : int
        Result of `draw_entropy`.
    start, end : int
        Half-open range of tree numbers.

    Returns
    -------
    seeds : ndarray of uint32, shape (end - start,)
    """
    seeds = [
        np.random.SeedSequence(entropy, spawn_key=(t,)).generate_state(1)[0]
        for t in range(start, end)
    ]
    return np.array(seeds, dtype=np.uint32)
