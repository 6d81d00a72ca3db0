"""Forests of axis splits in the form that the package shap reads."""

from typing import Any

import numpy as np

from obtree.estimators.base import BaseModel
from obtree.estimators.groups import list_groups, walks_trees
from obtree.explain.facts import count_values
from obtree.explain.model import check_model
from obtree.tree.predict import has_unit_terms


def to_shap_dict(model: BaseModel) -> dict[str, Any]:
    """Return a model as the dictionary that ``shap.TreeExplainer`` takes.

    For models that shap can express: sums of trees that test one feature in a node and have
    constant leaves. `shap_values` explains all others, too.

    Thresholds are rounded down to float32, in which shap compares: rows in float32, those of a
    background too, go the same way as in the model.

    Parameters
    ----------
    model : estimator object
        A fitted tree or forest of this package.

    Returns
    -------
    trees : dict
        Predicts what `predict` does for numbers and `predict_proba` for classes, in columns one
        behind the other where there are several outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obtree import ObliqueForestRegressor
    >>> from obtree.explain import to_shap_dict
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ObliqueForestRegressor(10, splitter="axis", random_state=0).fit(X, y)
    >>> trees = to_shap_dict(forest)
    >>> len(trees["trees"])
    10
    >>> explainer = shap.TreeExplainer(trees)  # doctest: +SKIP
    >>> phi = explainer.shap_values(X)  # doctest: +SKIP
    """
    name = type(model).__name__
    check_model(model)
    groups = list_groups(model) if walks_trees(model) else []
    reason = _find_obstacle(model, groups)
    if reason is not None:
        raise ValueError(
            f"shap.TreeExplainer cannot express this {name}: {reason}; expected a sum of trees "
            "with splitter='axis' or 'axis_random' and constant leaves, or use "
            "obtree.explain.shap_values"
        )
    trees = []
    # Outputs with fewer classes than others end in numbers that mean nothing.
    most = groups[0].trees[0].max_n_classes
    means = np.arange(most) < groups[0].trees[0].n_classes[:, None]
    for group in groups:
        factor = (1.0 if group.factor is None else group.factor) / len(group.trees)
        trees += [_write_tree(tree, group.combine, factor, means.ravel()) for tree in group.trees]
    return {
        "trees": trees,
        "base_offset": 0.0,
        "tree_output": "raw_value",
        "objective": None,
        "input_dtype": np.float32,
        "internal_dtype": np.float64,
    }


def _find_obstacle(model, groups):
    """Return why a model is no sum of plain trees, or None."""
    if not groups:
        return "it does not walk down trees"
    for group in groups:
        if group.combine == "product":
            return "probabilities are multiplied"
        for t, tree in enumerate(group.trees):
            if not has_unit_terms(tree):
                return f"tree {t} tests more than one feature in a node, or a set of categories"
            if tree.leaf_kind.fields:
                return f"tree {t} has {tree.leaf_kind.name} leaves"
    if model._list_trees()[0].feature_offset is not None:
        return "it subtracts constants from features before they are rounded"
    return None


def _write_tree(tree, combine, factor, columns):
    """Return one tree as shap's dictionary of arrays."""
    inner = tree.children_left >= 0
    default = np.where(tree.missing_go_left, tree.children_left, tree.children_right)
    return {
        "children_left": tree.children_left,
        "children_right": tree.children_right,
        "children_default": np.where(inner, default, -1).astype(np.int32),
        "features": np.where(inner, tree.feature, -1).astype(np.int32),
        "thresholds": _round_down(tree.threshold),
        "values": factor * count_values(tree, combine)[:, columns],
        "node_sample_weight": tree.weighted_n_node_samples.copy(),
    }


def _round_down(threshold):
    """Return the largest float32 numbers that do not exceed the thresholds, as float64."""
    rounded = threshold.astype(np.float32)
    above = rounded > threshold
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded.astype(np.float64)
