"""Partial dependence of one tree by recursion (Friedman, 2001, section 8.2).

A row that gives values to a few features only walks down the tree where these are asked for, and
goes both ways everywhere else, with the parts of the training weight that did. What comes out is
the mean of the leaves it arrives in.
"""

import numpy as np

from obtree.data.offset import shift_features
from obtree.tree.category_sets import read_set
from obtree.tree.tree import OPTIONAL_FIELDS

#: Of the arrays that some trees have, those that are read here or say nothing of where rows go.
KNOWN = (
    *("term_partner", "lower_threshold", "term_share", "feature_offset"),
    *("set_ptr", "set_categories"),
)


def compute_partial_dependence(tree, grid, target_features, out=None):
    """Mean prediction of a tree where some features are given.

    Parameters
    ----------
    tree : Tree
        Of nodes that test one feature each, and of constant leaves.
    grid : array-like of shape (n_rows, n_target_features)
        Values of the features, read as float32. NaN means missing.
    target_features : array-like of int, shape (n_target_features,)
        Their numbers.
    out : float64 ndarray of shape (n_rows,) or (n_rows, n_outputs, max_n_classes), optional
        The means are added to it, those of the first value if it has one axis.

    Returns
    -------
    out : float64 ndarray of shape (n_rows, n_outputs, max_n_classes) or as given
    """
    _check_nodes(tree)
    grid, target_features = _check_grid(tree, grid, target_features)
    mean = _walk(tree.shifted, grid, target_features)
    if out is None:
        return mean
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        raise TypeError(f"out is a {type(out).__name__}, expected an ndarray of float64")
    if out.shape == mean.shape:
        out += mean
    elif out.shape == mean.shape[:1]:
        out += mean[:, 0, 0]
    else:
        raise ValueError(
            f"out has shape {out.shape}, expected {mean.shape[:1]} for the first value of each row "
            f"or {mean.shape} for all"
        )
    return out


def _check_nodes(tree):
    """Refuse trees that a row cannot walk down with some of its features only."""
    n_terms = np.diff(tree.term_ptr)
    several = int(np.count_nonzero(n_terms > 1))
    if tree.term_partner is not None:
        several = int(np.count_nonzero((n_terms > 1) | (np.diff(_count_products(tree)) > 0)))
    if several:
        raise ValueError(
            "partial dependence by recursion needs nodes that test one feature each, and "
            f"{several} of this tree test several; "
            "sklearn.inspection.partial_dependence(..., method='brute') takes any model"
        )
    strange = [
        name for name in OPTIONAL_FIELDS if name not in KNOWN and getattr(tree, name) is not None
    ]
    if strange:
        raise ValueError(
            f"partial dependence by recursion knows no nodes with {strange[0]}; "
            "sklearn.inspection.partial_dependence(..., method='brute') takes any model"
        )
    if tree.leaf_kind.fields:
        raise ValueError(
            f"partial dependence by recursion needs constant leaves, and this tree has "
            f"{tree.leaf_kind.name} ones; sklearn.inspection.partial_dependence(..., "
            "method='brute') takes any model"
        )


def _count_products(tree):
    """Number of products of features before each node."""
    is_product = np.concatenate([[0], np.cumsum(tree.term_partner >= 0)])
    return is_product[tree.term_ptr]


def _check_grid(tree, grid, target_features):
    """Return values as `shifted` trees compare them, and the numbers of the features."""
    numbers = np.atleast_1d(np.asarray(target_features))
    if (
        numbers.ndim != 1
        or numbers.dtype.kind not in "iu"
        or len(np.unique(numbers)) != numbers.size
    ):
        raise ValueError(f"target_features is {target_features!r}, expected distinct numbers")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < tree.n_features):
        raise ValueError(
            f"target_features are {numbers.tolist()}, expected numbers from 0 to "
            f"{tree.n_features - 1}"
        )
    values = np.asarray(grid)
    if values.ndim != 2 or values.shape[1] != len(numbers):
        raise ValueError(
            f"the grid has shape {values.shape}, expected a column for each of {len(numbers)} "
            "target features"
        )
    if tree.feature_offset is not None:
        values = shift_features(values, tree.feature_offset[numbers])
    return values.astype(np.float32), numbers


def _walk(tree, grid, numbers):
    """Take all rows down the tree, level by level."""
    column = np.full(tree.n_features, -1)
    column[numbers] = np.arange(len(numbers))
    feature = tree.feature
    part = tree.weighted_n_node_samples
    nodes = np.zeros(1, dtype=np.intp)
    weights = np.ones((len(grid), 1))
    mean = np.zeros((len(grid), *tree.value.shape[1:]))
    while nodes.size:
        is_leaf = tree.children_left[nodes] < 0
        mean += np.tensordot(weights[:, is_leaf], tree.value[nodes[is_leaf]], axes=1)
        weights, nodes = weights[:, ~is_leaf], nodes[~is_leaf]
        left, right = tree.children_left[nodes], tree.children_right[nodes]
        total = part[left] + part[right]
        fraction = np.divide(part[left], total, out=np.full(len(nodes), 0.5), where=total > 0.0)
        goes_left = np.tile(fraction, (len(grid), 1))
        asked = column[feature[nodes]]
        given = np.flatnonzero(asked >= 0)
        goes_left[:, given] = _compare(tree, nodes[given], grid[:, asked[given]])
        weights = np.hstack([weights * goes_left, weights * (1.0 - goes_left)])
        arrived = weights.any(axis=0)
        weights, nodes = weights[:, arrived], np.concatenate([left, right])[arrived]
    return mean


def _compare(tree, nodes, values):
    """Whether each of the values, one for each node, goes left."""
    weight = tree.term_weight[tree.term_ptr[nodes]]
    product = weight * values
    if tree.set_ptr is not None:
        by_set = tree.set_ptr[nodes + 1] > tree.set_ptr[nodes]
        for k in np.flatnonzero(by_set):
            product[:, k] = read_set(tree, nodes[k], values[:, k])
    is_left = product <= tree.threshold[nodes]
    if tree.lower_threshold is not None:
        is_left &= tree.lower_threshold[nodes] < product
    return np.where(np.isnan(product), tree.missing_go_left[nodes].astype(bool), is_left)
