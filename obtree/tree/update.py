"""Statistics of nodes that go on with new rows, while the splits stay.

What a node keeps of its rows, the class fractions or the mean, the impurity and the weight, is
enough to tell what it would keep had more rows been there: the sums of two sets of rows are the
sums of their sums. Rows are counted at the leaves that they reach; a node above has what its two
children have.
"""

import numpy as np

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
    shape = tree.value.shape
    sums = np.zeros(shape)
    for k in range(shape[1]):
        slot = leaf * shape[2] + codes[:, k]
        sums[:, k] = np.bincount(slot, weight, shape[0] * shape[2]).reshape(shape[0], shape[2])
    total = np.bincount(leaf, weight, shape[0])
    levels = list(_climb(tree))
    for nodes, left, right in levels:
        sums[nodes] = sums[left] + sums[right]
        total[nodes] = total[left] + total[right]
    if keep > 0.0:
        known = tree.value * tree.weighted_n_node_samples[:, None, None]
        whole = np.rint(known)
        sums += keep * np.where(np.abs(known - whole) <= WHOLE * (1.0 + whole), whole, known)
        total += keep * tree.weighted_n_node_samples
    sums /= np.where(total > 0.0, total, 1.0)[:, None, None]
    impurity = np.where(total > 0.0, CLASS_IMPURITIES[criterion](sums), 0.0)
    return _renew(tree, levels, leaf, keep, sums, impurity, total)


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
    found = total, mean, spread
    levels = list(_climb(tree))
    for nodes, left, right in levels:
        merged = _merge(tuple(part[left] for part in found), tuple(part[right] for part in found))
        for part, own in zip(found, merged, strict=True):
            part[nodes] = own
    known = keep * tree.weighted_n_node_samples, tree.value[:, :, 0]
    if criterion == "poisson":
        information = _add_up(leaf, weight[:, None] * _multiply_log(y), n_nodes).mean(axis=1)
        for nodes, left, right in levels:
            information[nodes] = information[left] + information[right]
        information += known[0] * (tree.impurity + _multiply_log(known[1]).mean(axis=1))
        total, mean, _ = _merge((*known, 0.0), found)
        safe = np.where(total > 0.0, total, 1.0)
        impurity = np.maximum(information / safe - _multiply_log(mean).mean(axis=1), 0.0)
    else:
        total, mean, spread = _merge((*known, known[0] * tree.impurity), found)
        impurity = spread / np.where(total > 0.0, total, 1.0)
    impurity = np.where(total > 0.0, impurity, 0.0)
    return _renew(tree, levels, leaf, keep, mean[:, :, None], impurity, total)


def _climb(tree):
    """Generate nodes and their children, level by level, the deepest first."""
    depths = tree.compute_depths()
    internal = np.flatnonzero(tree.children_left >= 0)
    internal = internal[np.argsort(-depths[internal], kind="stable")]
    ends = np.flatnonzero(np.diff(depths[internal])) + 1
    for nodes in np.split(internal, ends):
        yield nodes, tree.children_left[nodes], tree.children_right[nodes]


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


def _renew(tree, levels, leaf, keep, value, impurity, total):
    """Return the tree with other statistics."""
    n_rows = np.bincount(leaf, minlength=tree.node_count)
    for nodes, left, right in levels:
        n_rows[nodes] = n_rows[left] + n_rows[right]
    # Nodes without rows predict what the nearest node above that has rows does.
    for nodes, left, right in reversed(levels):
        for child in (left, right):
            empty = total[child] == 0.0
            value[child[empty]] = value[nodes[empty]]
    if keep > 0.0:
        n_rows += tree.n_node_samples
    arrays = list_arrays(tree.shifted) | {
        "value": value,
        "impurity": impurity,
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
