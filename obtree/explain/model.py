"""What is explained: the parts that a fitted model's prediction is the sum of.

Shapley values of a sum are the sums of those of its parts. Parts that add up trees are explained
tree by tree; others (products of probabilities, soft trees, ferns) as a whole, by what they
predict.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from obtree.core.params import check_param, refuse_param
from obtree.estimators.base import BaseModel
from obtree.estimators.groups import list_groups, walks_trees
from obtree.explain.facts import knows_nodes, list_used
from obtree.explain.trees import TreeGames
from obtree.tree.predict import PROBABILITY_FLOOR, Predictor

EXPLAINABLE = (
    "a fitted tree or forest of obtree that predicts classes or numbers; of a pipeline, pass the "
    "last step and rows as it gets them"
)


@dataclass(frozen=True, eq=False)
class Whole:
    """A part that is explained by what it predicts.

    Attributes
    ----------
    predict : callable
        Takes float32 rows and ``n_threads``; returns values of shape (n_rows, ...).
    used : int ndarray
        The features that it reads.
    factor : float
        What it counts for.
    """

    predict: Callable
    used: np.ndarray
    factor: float


@dataclass(frozen=True, eq=False)
class ExplainedModel:
    """A model as what it adds up.

    Attributes
    ----------
    estimator : BaseModel
    parts : list of TreeGames or Whole
    predict : callable
        Takes float32 rows and ``n_threads``; returns the values that are explained, of shape
        (n_rows, n_outputs, max_n_classes).
    n_outputs : int
    n_classes : list of int
        Of each output; 1 for numbers.
    labels : list of ndarray or None
        Class labels of each output; None for numbers.
    """

    estimator: BaseModel
    parts: list
    predict: Callable
    n_outputs: int
    n_classes: list
    labels: list | None

    def read_rows(self, X, name):
        """Check rows and return them as the float32 numbers that trees see.

        Parameters
        ----------
        X : array-like, sparse matrix or table
        name : str
            Of the user's parameter, for messages.
        """
        try:
            X = self.estimator._read_features(X)
        except (TypeError, ValueError) as error:
            if name == "X":
                raise
            raise type(error)(f"{name}: {error}") from error
        X = X.toarray() if issparse(X) else X
        return np.ascontiguousarray(X, dtype=np.float32)


def read_model(model, output):
    """Take a model apart, or refuse it.

    Parameters
    ----------
    model : estimator object
        What the user gave.
    output : {"prediction", "log_score"}
        What of it is to be explained.

    Returns
    -------
    model : ExplainedModel
    """
    check_param("output", output, "prediction", "log_score")
    check_model(model)
    first = model._list_trees()[0]
    if not walks_trees(model):
        _refuse_scores(model, output)
        options = {"combine": model._choose_combine()} if hasattr(model, "combine") else {}
        predict = _bind(model._predictor.get(model._list_trees()), **options)
        parts = [Whole(predict, np.arange(first.n_features), 1.0)]
    else:
        groups = list_groups(model)
        # A predictor refuses trees that do not belong together.
        predictors = [Predictor(group.trees) for group in groups]
        if output == "log_score" and (len(groups) > 1 or groups[0].combine != "product"):
            _refuse_scores(model, output)
        parts = [_make_part(*each, output) for each in zip(groups, predictors, strict=True)]
        predict = _add_up(groups, predictors)
        if output == "log_score":
            predict = _add_logarithms(groups[0].trees)
    labels = model._list_classes()
    return ExplainedModel(
        estimator=model,
        parts=parts,
        predict=predict,
        n_outputs=model.n_outputs_,
        n_classes=[1] * model.n_outputs_ if labels is None else [len(found) for found in labels],
        labels=labels,
    )


def check_model(model):
    """Refuse what is no fitted model of classes or numbers.

    Parameters
    ----------
    model : object
        What the user gave.
    """
    if not isinstance(model, BaseModel) or getattr(model, "_target_kind", "none") == "none":
        refuse_param("model", model, expected=EXPLAINABLE, wrong_type=True)
    check_is_fitted(model)


def _refuse_scores(model, output):
    """Raise ValueError unless predictions are explained."""
    if output == "prediction":
        return
    raise ValueError(
        f"output={output!r} is for forests of classes with combine='product' and without boosted "
        f"chains, whose logarithms add up; expected output='prediction' for this "
        f"{type(model).__name__}"
    )


def _make_part(group, predictor, output):
    """Return a group of trees as what it is explained as."""
    factor = 1.0 if group.factor is None else group.factor
    n_trees = len(group.trees)
    if output == "log_score":
        return TreeGames(group.trees, [1.0] * n_trees, "product")
    if group.combine != "product" and all(map(knows_nodes, group.trees)):
        return TreeGames(group.trees, [factor / n_trees] * n_trees, group.combine)
    used = np.unique(np.concatenate([list_used(tree) for tree in group.trees]))
    return Whole(_bind(predictor, combine=group.combine), used, factor)


def _bind(predictor, **options):
    """Return the prediction of some trees together."""

    def predict(X, n_threads):
        return predictor.predict(X, n_threads=n_threads, **options)

    return predict


def _add_up(groups, predictors):
    """Return the prediction of groups of trees together."""

    def predict(X, n_threads):
        values = 0.0
        for group, predictor in zip(groups, predictors, strict=True):
            own = predictor.predict(X, n_threads=n_threads, combine=group.combine)
            values = values + (own if group.factor is None else group.factor * own)
        return values

    return predict


def _add_logarithms(trees):
    """Return the sum of the logarithms of what trees predict."""

    def predict(X, n_threads):
        logs = [np.log(np.maximum(tree.predict(X), PROBABILITY_FLOOR)) for tree in trees]
        return np.add.reduce(logs, axis=0)

    return predict
