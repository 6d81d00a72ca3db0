"""Shapley values of the predictions of a model, for users."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from obtree.core.hints import ArrayLike, FloatsByOutput, MatrixLike
from obtree.core.params import Integer, check_param
from obtree.data.validate_target import validate_sample_weight
from obtree.estimators.base import BaseModel, draw_entropy
from obtree.estimators.hints import Seed
from obtree.estimators.jobs import count_threads
from obtree.explain.model import Whole, read_model
from obtree.explain.whole import explain_whole

#: Features of which all coalitions may be looked at; a million takes seconds for a pair of rows.
MOST_EXACT = 20

Output = Literal["prediction", "log_score"]


def shap_values(
    model: BaseModel,
    X: MatrixLike,
    background: MatrixLike,
    *,
    background_weight: ArrayLike | None = None,
    output: Output = "prediction",
    max_exact: int = 12,
    n_permutations: int = 10,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> FloatsByOutput:
    """Divide what a model predicts for a row among its features, by Shapley's rule.

    Without knowing a feature of a row, its values in a background take its place
    (interventional SHAP values, Lundberg and Lee, 2017; Janzing et al., 2020). A feature gets the
    mean change of the prediction when it becomes known, over all orders in which the features may
    become known. Together the features get the difference between the prediction and the mean
    prediction for the background, which is `expected_value`, whatever is exact or not.

    Trees are explained one by one, and values are exact

    * for trees with one feature in a node, and those whose leaves have linear models of numbers
      beside it, whatever the number of features;
    * for other trees, oblique ones above all, where a row and a row of the background differ in no
      more than `max_exact` features that the tree uses, and wherever that takes no more work than
      what follows;
    * else they are the means over orders drawn by chance, each with its reverse.

    What is no sum over trees is explained by what it predicts: all coalitions of up to `max_exact`
    features in which a row and a row of the background differ, orders drawn by chance where there
    are more. That is so for probabilities of ``combine="product"``, of boosted chains of classes
    that a race has added to a forest (for them only: the trees of the forest are explained one by
    one), of ferns and of disjunctive normal forms.

    Parameters
    ----------
    model : estimator object
        A fitted tree or forest of this package that predicts classes or numbers.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain. NaN means missing, and is a value like any other.
    background : {array-like, sparse matrix} of shape (n_background, n_features)
        What rows are compared with, such as 100 rows of the training data. The work grows with
        their number.
    background_weight : array-like of shape (n_background,), default=None
        Weights of the rows of the background.
    output : {"prediction", "log_score"}, default="prediction"
        ``"prediction"``: what `predict` returns for numbers, and `predict_proba` for classes.
        ``"log_score"``, for forests with ``combine="product"``: the sums over trees of the
        logarithms of probabilities, which are not normalised but add up tree by tree.
    max_exact : int, default=12
        Features up to which values are exact in any case; from 0 to 20. Each may double the work.
    n_permutations : int, default=10
        Orders, each with its reverse, that are drawn for a row where values are not exact, in each
        tree. The rows of the background share them, but each gets one at least.
    random_state : int, RandomState instance or None, default=0
        What the orders are drawn by.
    n_jobs : int, default=None
        Threads to share the rows, as in scikit-learn. The values do not depend on it.

    Returns
    -------
    phi : ndarray of shape (n_samples, n_features), or with one axis more, or list of such
        For one number the first; for classes (n_samples, n_features, n_classes) and for several
        numbers (n_samples, n_features, n_outputs); for several outputs of classes a list with an
        array for each.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obtree import ObliqueTreeRegressor
    >>> from obtree.explain import expected_value, shap_values
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ObliqueTreeRegressor(splitter="oc1", max_depth=4, random_state=0).fit(X, y)
    >>> phi = shap_values(tree, X[:5], background=X[100:200])
    >>> phi.shape
    (5, 10)
    >>> base = expected_value(tree, X[100:200])
    >>> bool(abs(base + phi.sum(axis=1) - tree.predict(X[:5])).max() < 1e-9)
    True
    """
    explained = read_model(model, output)
    max_exact = check_param("max_exact", max_exact, Integer(0, MOST_EXACT))
    n_permutations = check_param("n_permutations", n_permutations, Integer(1))
    n_threads = count_threads(n_jobs)
    seed = draw_entropy(random_state)
    rows = explained.read_rows(X, "X")
    others, weight = _read_background(explained, background, background_weight)
    n_orders = -(-n_permutations // len(others))
    phi = 0.0
    for part in explained.parts:
        options = (rows, others, weight, max_exact, n_orders, seed)
        if not isinstance(part, Whole):
            phi = phi + part.explain(*options, n_threads)
            continue

        def predict(rows, part=part):
            return part.predict(rows, n_threads).reshape(len(rows), -1)

        phi = phi + part.factor * explain_whole(predict, part.used, *options)
    return _shape_values(explained, phi)


def expected_value(
    model: BaseModel,
    background: MatrixLike,
    *,
    background_weight: ArrayLike | None = None,
    output: Output = "prediction",
    n_jobs: int | None = None,
) -> float | FloatsByOutput:
    """Find the mean prediction for a background, which `shap_values` are differences from.

    Parameters
    ----------
    model : estimator object
        A fitted tree or forest of this package that predicts classes or numbers.
    background : {array-like, sparse matrix} of shape (n_background, n_features)
        What rows are compared with.
    background_weight : array-like of shape (n_background,), default=None
        Weights of the rows of the background.
    output : {"prediction", "log_score"}, default="prediction"
        See `shap_values`.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn.

    Returns
    -------
    expected : float, ndarray of shape (n_classes,) or (n_outputs,), or list of such
        As the last axis of what `shap_values` returns.
    """
    explained = read_model(model, output)
    n_threads = count_threads(n_jobs)
    rows, weight = _read_background(explained, background, background_weight)
    return _find_expected(explained, rows, weight, n_threads)


def explain(
    model: BaseModel,
    X: MatrixLike,
    background: MatrixLike,
    *,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Explain predictions with an object that the plots of the package shap take.

    Parameters
    ----------
    model : estimator object
        A fitted tree or forest of this package that predicts classes or numbers.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to explain.
    background : {array-like, sparse matrix} of shape (n_background, n_features)
        What rows are compared with.
    feature_names : sequence of str, default=None
        Names of the columns; ``feature_names_in_`` by default, else x[0], x[1], ...
    output_names : sequence of str, default=None
        Names of the classes or outputs; ``classes_`` by default.
    **options : dict
        Further parameters of `shap_values`.

    Returns
    -------
    explanation : shap.Explanation
        With the values of `shap_values`, the expected value for each row, and the rows. Classes
        and outputs are a third axis, and those of several outputs of classes stand one behind the
        other: ``explanation[:, :, k]`` is what most plots take.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueForestClassifier
    >>> from obtree.explain import explain
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ObliqueForestClassifier(20, splitter="random_oblique", random_state=0).fit(X, y)
    >>> found = explain(forest, X[:10], background=X[::5])  # doctest: +SKIP
    >>> shap.plots.beeswarm(found[:, :, 2])  # doctest: +SKIP
    """
    try:
        from shap import Explanation
    except ImportError as error:
        raise ImportError(
            "obtree.explain.explain needs shap, which is not installed; "
            "pip install 'obtree[explain]'"
        ) from error
    phi = shap_values(model, X, background, **options)
    known = ("background_weight", "output", "n_jobs")
    base: Any = expected_value(
        model, background, **{name: options[name] for name in known if name in options}
    )
    labels = model._list_classes()
    names: list[str] | None = None
    if isinstance(phi, list):
        phi, base = np.concatenate(phi, axis=2), np.concatenate(base)
        names = [f"{k}: {label}" for k, found in enumerate(labels) for label in found]
    elif labels is not None:
        names = [str(label) for label in labels[0]]
    elif model.n_outputs_ > 1:
        names = [str(k) for k in range(model.n_outputs_)]
    if feature_names is None:
        feature_names = getattr(
            model, "feature_names_in_", [f"x[{j}]" for j in range(model.n_features_in_)]
        )
    rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return Explanation(
        values=phi,
        base_values=np.repeat(np.asarray(base)[None], len(phi), axis=0),
        data=rows,
        feature_names=list(feature_names),
        output_names=names if output_names is None else list(output_names),
    )


def _read_background(explained, background, background_weight):
    """Return checked rows that weigh something, and their weights with sum 1."""
    rows = explained.read_rows(background, "background")
    try:
        weight = validate_sample_weight(background_weight, len(rows))
    except (TypeError, ValueError) as error:
        text = str(error).replace("sample_weight", "background_weight")
        raise type(error)(text) from None
    if weight is None:
        return rows, np.full(len(rows), 1.0 / len(rows))
    counts = weight > 0.0
    weight = weight[counts] / weight.max()
    return np.ascontiguousarray(rows[counts]), weight / weight.sum()


def _find_expected(explained, background, weight, n_threads):
    """Return the mean prediction for rows with weights."""
    values = explained.predict(background, n_threads)
    # Without BLAS, in one order.
    total = np.add.reduce(weight[:, None, None] * values, axis=0)
    return _shape_values(explained, total.reshape(-1))


def _shape_values(explained, phi):
    """Return values (..., n_values) in the shape that users get."""
    n_outputs = explained.n_outputs
    phi = phi.reshape(*phi.shape[:-1], n_outputs, -1)
    if explained.labels is None:
        return phi[..., 0, 0] if n_outputs == 1 else phi[..., 0]
    if n_outputs == 1:
        return phi[..., 0, :]
    return [phi[..., k, :n_classes] for k, n_classes in enumerate(explained.n_classes)]
