"""Statistics of nodes that go on with new rows, while the splits stay.

What a node keeps of its rows, the class fractions or the mean, the impurity and the weight, is
enough to tell what it would keep had more rows been there: the sums of two sets of rows are the
sums of their sums. Rows are counted at the leaves that they reach; a node above has what its two
children have.
"""

import numpy as np

from obtree.tree.gather import add_children, inherit_values, list_internal, merge_children
from obtree.tree.tree import Tree, list_arrays

#: Whole numbers of rows that are this close to one, by weight, were divided and multiplied again.
WHOLE = 1e-12


def update_classes(tree, leaf, codes, weight, keep, criterion):
    """Return a tree of classes whose statistics count more rows.

    Parameters
    ----------
    tree : Tree
    leaf : int64 ndarray of shape (n_rows,)
        Where the rows end.
    codes : int32 ndarray of shape (n_rows, n_outputs)
    weight : float64 ndarray of shape (n_rows,)
        All positive.
    keep : float
        What the statistics there are count for; 0 forgets them.
    criterion : str
        One of `CLASS_IMPURITIES`.

    Returns
    -------
    Tree
    """
    n_nodes, n_outputs, stride = tree.value.shape
    n_slots = n_outputs * stride
    # By node: the weights of all classes, of all rows, and the number of rows.
    sums = np.empty((n_nodes, n_slots + 2))
    for k in range(n_outputs):
        slot = leaf * stride + codes[:, k]
        own = np.bincount(slot, weight, n_nodes * stride).reshape(n_nodes, stride)
        sums[:, k * stride : (k + 1) * stride] = own
    sums[:, n_slots] = np.bincount(leaf, weight, n_nodes)
    sums[:, n_slots + 1] = np.bincount(leaf, minlength=n_nodes)
    links = _link(tree)
    add_children(*links, sums)
    value, total = sums[:, :n_slots], sums[:, n_slots].copy()
    if keep > 0.0:
        known = tree.value.reshape(n_nodes, n_slots) * tree.weighted_n_node_samples[:, None]
        whole = np.rint(known)
        value += keep * np.where(np.abs(known - whole) <= WHOLE * (1.0 + whole), whole, known)
        total += keep * tree.weighted_n_node_samples
    value = value / np.where(total > 0.0, total, 1.0)[:, None]
    impurity = CLASS_IMPURITIES[criterion](value.reshape(tree.value.shape))
    return _renew(tree, links, sums[:, n_slots + 1], keep, value, impurity, total)


def update_numbers(tree, leaf, y, weight, keep, criterion):
    """Return a tree of real targets whose statistics count more rows.

    Parameters
    ----------
    tree : Tree
    leaf : int64 ndarray of shape (n_rows,)
        Where the rows end.
    y : float64 ndarray of shape (n_rows, n_outputs)
    weight : float64 ndarray of shape (n_rows,)
        All positive.
    keep : float
        What the statistics there are count for; 0 forgets them.
    criterion : str
        One of `NUMBER_CRITERIA`.

    Returns
    -------
    Tree
    """
    n_nodes = tree.node_count
    total = np.bincount(leaf, weight, n_nodes)
    safe = np.where(total > 0.0, total, 1.0)
    # Differences from a target of the leaf: a leaf of equal targets has exactly that one as mean.
    first = np.zeros((n_nodes, y.shape[1]))
    first[leaf[::-1]] = y[::-1]
    mean = first + _add_up(leaf, weight[:, None] * (y - first[leaf]), n_nodes) / safe[:, None]
    spread = _add_up(leaf, weight[:, None] * (y - mean[leaf]) ** 2, n_nodes).mean(axis=1)
    links = _link(tree)
    # By node: the number of rows, and what Poisson deviances need.
    sums = np.empty((n_nodes, 2))
    sums[:, 0] = np.bincount(leaf, minlength=n_nodes)
    sums[:, 1] = _add_up(leaf, weight[:, None] * _multiply_log(y), n_nodes).mean(axis=1)
    add_children(*links, sums)
    merge_children(*links, total, mean, spread)
    found = total, mean, spread
    known = keep * tree.weighted_n_node_samples, tree.value[:, :, 0]
    if criterion == "poisson":
        information = sums[:, 1] + known[0] * (tree.impurity + _multiply_log(known[1]).mean(axis=1))
        total, mean, _ = _merge((*known, 0.0), found)
        safe = np.where(total > 0.0, total, 1.0)
        impurity = np.maximum(information / safe - _multiply_log(mean).mean(axis=1), 0.0)
    else:
        total, mean, spread = _merge((*known, known[0] * tree.impurity), found)
        impurity = spread / np.where(total > 0.0, total, 1.0)
    return _renew(tree, links, sums[:, 0], keep, mean, impurity, total)


def _link(tree):
    """Return the children of all nodes, and which nodes have some, parents first."""
    left, right = tree.children_left, tree.children_right
    return left, right, list_internal(left, right)


def _add_up(leaf, values, n_nodes):
    """Return the sums of each column by leaf."""
    return np.stack([np.bincount(leaf, column, n_nodes) for column in values.T], axis=1)


def _merge(first, second):
    """Return weight, mean and squared distances from it of two sets of rows together."""
    weight = first[0] + second[0]
    part = second[0] / np.where(weight > 0.0, weight, 1.0)
    apart = second[1] - first[1]
    # The mean of those that are there, to the last bit, where the others are none.
    mean = np.where(part[:, None] < 1.0, first[1] + part[:, None] * apart, second[1])
    between = first[0] * part * (apart**2).mean(axis=1)
    return weight, mean, first[2] + second[2] + between


def _multiply_log(y):
    """Return y log y, 0 where y is 0."""
    return y * np.log(np.where(y > 0.0, y, 1.0))


def _renew(tree, links, n_rows, keep, value, impurity, total):
    """Return the tree with other statistics."""
    inherit_values(*links, total, value)
    n_rows = n_rows.astype(np.int64)
    if keep > 0.0:
        n_rows += tree.n_node_samples
    arrays = list_arrays(tree.shifted) | {
        "value": value.reshape(tree.value.shape),
        "impurity": np.where(total > 0.0, impurity, 0.0),
        "n_node_samples": n_rows,
        "weighted_n_node_samples": total,
        "feature_offset": tree.feature_offset,
    }
    return Tree.from_arrays(n_features=tree.n_features, **arrays)


def _measure_gini(fractions):
    return 1.0 - (fractions**2).sum(axis=(1, 2)) / fractions.shape[1]


def _measure_entropy(fractions):
    bits = fractions * np.log2(np.where(fractions > 0.0, fractions, 1.0))
    return 0.0 - bits.sum(axis=2).mean(axis=1)


def _measure_minority(fractions):
    return 1.0 - fractions.max(axis=2).mean(axis=1)


def _measure_variance(fractions):
    number = np.arange(fractions.shape[2])
    mean = fractions @ number
    return (fractions * (number - mean[:, :, None]) ** 2).sum(axis=2).mean(axis=1)


#: Impurities by criterion, of class fractions (n_nodes, n_outputs, n_classes).
CLASS_IMPURITIES = {
    "gini": _measure_gini,
    "twoing": _measure_gini,
    "entropy": _measure_entropy,
    "log_loss": _measure_entropy,
    "max_minority": _measure_minority,
    "sum_minority": _measure_minority,
    "sum_of_variances": _measure_variance,
}

#: Criteria whose statistics are sums.
NUMBER_CRITERIA = ("squared_error", "friedman_mse", "poisson")
