"""Fits under several penalties, each from the one before: tao_path."""

from collections.abc import Iterable
from typing import TypeVar

from sklearn.base import clone

from obtree.core.hints import ArrayLike, MatrixLike
from obtree.core.params import refuse_param
from obtree.estimators.tao import BaseTAO

Model = TypeVar("Model", bound=BaseTAO)


def tao_path(
    estimator: Model,
    X: MatrixLike,
    y: ArrayLike,
    l1s: Iterable[float],
    sample_weight: ArrayLike | None = None,
) -> list[Model]:
    """Fit trees or forests under penalties of growing size, each starting from the one before.

    Parameters
    ----------
    estimator : TAOTreeClassifier, TAOTreeRegressor, TAOForestClassifier or TAOForestRegressor
        Unfitted; its ``init`` is the start of the first fit.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Target.
    l1s : array-like of float
        Penalties, in any order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    models : list
        One fitted estimator for each penalty, the smallest penalty first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import TAOTreeClassifier, tao_path
    >>> X, y = load_iris(return_X_y=True)
    >>> models = tao_path(TAOTreeClassifier(max_depth=3, random_state=0), X, y, [1.0, 0.1])
    >>> [model.l1 for model in models]
    [0.1, 1.0]
    """
    if not isinstance(estimator, BaseTAO):
        refuse_param("estimator", estimator, expected="a TAO tree or forest")
    models: list[Model] = []
    for l1 in sorted(float(value) for value in l1s):
        model = clone(estimator).set_params(l1=l1)
        if models:
            model.init = models[-1]
        models.append(model.fit(X, y, sample_weight))
    for model in models:
        model.init = estimator.init
    return models
