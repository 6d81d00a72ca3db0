"""Leaves that go on learning: the splits stay, and the statistics of the nodes count new rows."""

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from obtree.core.hints import ArrayLike, MatrixLike
from obtree.core.names import show
from obtree.core.params import FLAG, Number, check_param
from obtree.criterion.registry import CLASSIFICATION, REGRESSION, find_criterion
from obtree.data.validate_target import check_total_weight, validate_sample_weight
from obtree.estimators.base import PredictorCache
from obtree.estimators.hints import Mixin
from obtree.estimators.params import expand_class_weight
from obtree.estimators.settings import is_auto, is_race
from obtree.tree.predict import Predictor
from obtree.tree.update import CLASS_IMPURITIES, NUMBER_CRITERIA, update_classes, update_numbers


class UpdateTreeMixin(Mixin):
    """Gives greedy trees their method `update_leaves`."""

    def update_leaves(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        keep: float = 1.0,
    ) -> Self:
        """Let the statistics of the nodes go on with new rows; the splits stay.

        Every node counts the rows that pass it, and predicts what it would had they been there
        in `fit`. See :doc:`/user_guide/updating`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features of the new rows, read as float32. NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets; classes that `fit` has not seen are refused.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the new rows.
        keep : float, default=1.0
            What each row so far counts for, from 0 to 1; 0 forgets them. Nodes that no row has
            reached then predict what the nearest node above does.

        Returns
        -------
        self : object
        """
        rows = read_update(self, X, y, sample_weight, keep)
        (tree,) = rows.update([self], [None])
        self._store_tree(tree, self._list_classes(), self.max_features_)
        return self

    def _list_updated(self):
        """Return the estimators whose trees are updated."""
        return [self]


class UpdateForestMixin(Mixin):
    """Gives greedy forests their method `update_leaves`."""

    estimators_: list[Any]

    def update_leaves(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        keep: float = 1.0,
        in_bag: bool = False,
    ) -> Self:
        """Let the statistics of all trees go on with new rows; the splits stay.

        Every node counts the rows that pass it, and predicts what it would had they been there
        in `fit`. Estimates on rows left out, which belong to the forest of the fit, are removed,
        and so is what distributions of regression need of its rows. See
        :doc:`/user_guide/updating`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features of the new rows, read as float32. NaN means missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets; classes that `fit` has not seen are refused.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the new rows.
        keep : float, default=1.0
            What each row so far counts for, from 0 to 1; 0 forgets them. Nodes that no row has
            reached then predict what the nearest node above does.
        in_bag : bool, default=False
            Whether each tree takes a sample of the new rows, the one that it would have drawn of
            them in `fit`; otherwise every tree takes every row.

        Returns
        -------
        self : object
        """
        in_bag = check_param("in_bag", in_bag, FLAG)
        rows = read_update(self, X, y, sample_weight, keep)
        samples = [self._find_sample(rows.n_rows) if in_bag else None] * len(self.estimators_)
        updated = []
        for child, tree in zip(
            self.estimators_, rows.update(self.estimators_, samples), strict=True
        ):
            child = copy.copy(child)
            child._store_tree(tree, self._list_classes(), child.max_features_)
            updated.append(child)
        oob_name = getattr(self, "_oob_name", "oob_score_")
        for name in ("oob_score_", oob_name, "_training", "_bags"):
            self.__dict__.pop(name, None)
        self.estimators_ = updated
        self._predictor = PredictorCache(self._predictor_kind)
        return self

    def _list_updated(self):
        """Return the estimators whose trees are updated, unless other parts would have to be."""
        if len(getattr(self, "chains_", ())):
            raise ValueError(
                f"update_leaves cannot update the {len(self.chains_)} boosted chains that the race "
                "has added, each of whose trees goes on from what those before it left; expected "
                "a forest without chains_, such as one of a single splitter"
            )
        if not is_classifier(self) and is_auto(self.splitter):
            # A model from a file does not tell.
            table = getattr(self, "race_", {"setting": ["unknown, sharpened"], "n_trees": [1]})
            settings = zip(table["setting"], table["n_trees"], strict=True)
            if any(n > 0 and name.endswith(", sharpened") for name, n in settings):
                raise ValueError(
                    f"update_leaves cannot update splitter={show(self.splitter)}, some of whose "
                    "trees may have learnt sharpened targets, which new rows do not have; "
                    "expected a single splitter such as 'random_oblique'"
                )
        return self.estimators_

    def _find_sample(self, n_rows):
        """Return how each tree draws of so many rows."""
        if is_race(self.splitter):
            raise ValueError(
                f"in_bag=True needs trees that all draw alike, not splitter={show(self.splitter)}; "
                "expected in_bag=False or a single splitter"
            )
        return self._sample_rows(n_rows)


class UpdateRows:
    """New rows, checked, and how trees take them.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Features of the rows that count.
    target : Target
        Their targets.
    weight : ndarray of shape (n_rows,)
        What they weigh, all positive.
    keep : float
        What rows so far count for.
    balances : bool
        Whether classes are balanced among the rows that a tree takes.
    n_threads : int
        Number of threads.
    """

    def __init__(self, X, target, weight, keep, balances, n_threads):
        self.X = X
        self.target = target
        self.weight = weight
        self.keep = keep
        self.balances = balances
        self.n_threads = n_threads

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.weight)

    def update(self, children, samples):
        """Return the trees of estimators with statistics that have gone on.

        Parameters
        ----------
        children : list of tree estimators
        samples : list of RowSample or None
            The rows that each takes; None for all.

        Returns
        -------
        trees : list of Tree
        """
        return [self._update_one(*pair) for pair in zip(children, samples, strict=True)]

    def _update_one(self, child, sample):
        tree = child.tree_
        weight = self.weight
        counts = np.ones(self.n_rows)
        if sample is not None:
            counts = sample.count(child.random_state, self.n_rows).astype(np.float64)
        if self.balances:
            target = self.target
            weight = weight * expand_class_weight("balanced", target.y, target.classes, counts)
        # A bag without a single row is a bag of all, as in a fit.
        weight = weight * counts if counts.any() else weight
        rows = np.flatnonzero(weight)
        leaf = Predictor([tree]).apply(self.X, n_threads=self.n_threads)[rows, 0]
        update = update_numbers if self.target.classes is None else update_classes
        criterion = name_criterion(child.criterion)
        return update(tree, leaf, self.target.y[rows], weight[rows], self.keep, criterion)


def read_update(estimator, X, y, sample_weight, keep):
    """Check everything that an estimator is to be updated with.

    Parameters
    ----------
    estimator : estimator object
        A greedy tree or forest.
    X, y, sample_weight, keep
        What the user gave.

    Returns
    -------
    rows : UpdateRows
    """
    check_is_fitted(estimator)
    keep = check_param("keep", keep, Number(0.0, 1.0))
    for child in estimator._list_updated():
        _check_updatable(estimator, child)
    X = estimator._read_features(X)
    n_rows = X.shape[0]
    if n_rows == 0:
        raise ValueError("X has 0 rows; expected at least one to update leaves with")
    target = estimator._encode_known(y, n_rows)
    weight = validate_sample_weight(sample_weight, n_rows)
    by_class = estimator._expand_class_weight(target, weight)
    weight = np.ones(n_rows) if weight is None else weight
    if by_class is not None:
        weight = weight * by_class
        check_total_weight(weight)
    rows = np.flatnonzero(weight)
    estimator._check_grown_target(target, rows)
    target = type(target)(target.y[rows], target.classes)
    balances = estimator._balances_subsample() if hasattr(estimator, "estimators_") else False
    return UpdateRows(X[rows], target, weight[rows], keep, balances, estimator._count_threads())


def name_criterion(criterion):
    """Return the name of a criterion that was given as a name or a class, None if it has none.

    Parameters
    ----------
    criterion : str or type

    Returns
    -------
    name : str or None
    """
    if isinstance(criterion, str):
        return criterion
    for kind, names in (("classes", CLASSIFICATION), ("real", REGRESSION)):
        for name in names:
            if find_criterion(name, kind) is criterion:
                return name
    return None


def _check_updatable(estimator, child):
    """Refuse trees whose leaves are more than the statistics of their rows."""
    if not isinstance(child, UpdateTreeMixin):
        raise ValueError(
            f"update_leaves cannot update a {type(child).__name__}, of which the forest has some; "
            "its leaves are the outcome of an optimisation. Expected greedy trees only"
        )
    if child.tree_.leaf_kind.fields:
        raise ValueError(
            f"update_leaves cannot update {child.tree_.leaf_kind.name} leaves, whose models need "
            "the rows that they were fitted to; expected leaf='constant'"
        )
    if getattr(child, "monotonic_cst", None) is not None:
        raise ValueError(
            "update_leaves cannot honour monotonic_cst, which leaves with new rows may break; "
            "expected monotonic_cst=None"
        )
    known = NUMBER_CRITERIA if not is_classifier(estimator) else tuple(CLASS_IMPURITIES)
    if name_criterion(child.criterion) not in known:
        raise ValueError(
            f"update_leaves cannot update trees of criterion={show(child.criterion)}, whose "
            f"statistics are no sums over rows; expected one of {', '.join(known)}"
        )
