"""Sets of categories that nodes test: lists of their numbers, a range for each node."""

import numpy as np

from obtree.tree.leaf_models import check_ranges

#: Where a list begins is counted with 32 bits.
MAX_LISTED = 2**32


def list_categories(tree, node):
    """Numbers of the categories that a node sends to the other side than missing ones.

    Parameters
    ----------
    tree : Tree
    node : int

    Returns
    -------
    uint16 ndarray
        Ascending; empty for a node without a set.
    """
    if tree.set_ptr is None:
        return np.zeros(0, dtype=np.uint16)
    return tree.set_categories[tree.set_ptr[node] : tree.set_ptr[node + 1]]


def read_set(tree, node, categories):
    """What a node with a set compares with its threshold.

    Parameters
    ----------
    tree : Tree
    node : int
    categories : ndarray of shape (n,)
        Numbers of categories, or NaN.

    Returns
    -------
    float64 ndarray of shape (n,)
        0 or 1 for those that are listed, NaN for others, which go where missing ones go.
    """
    listed = np.isin(categories, list_categories(tree, node))
    return np.where(listed, float(tree.missing_go_left[node] != 0), np.nan)


def check_set_ranges(ptr, categories, n_nodes):
    """Refuse ranges that do not divide all categories that are listed among the nodes.

    Parameters
    ----------
    ptr : int64 ndarray
    categories : uint16 ndarray
    n_nodes : int
    """
    if len(ptr) != n_nodes + 1:
        raise ValueError(f"set_ptr has length {len(ptr)}; expected {n_nodes + 1}")
    check_ranges("set_ptr", ptr, len(categories))
    if len(categories) >= MAX_LISTED:
        raise ValueError(f"set_categories has length {len(categories)}; expected less")


def check_sets(arrays):
    """Refuse sets that cannot be those of a tree, whose other arrays are right.

    Parameters
    ----------
    arrays : dict of str to ndarray
    """
    ptr = arrays["set_ptr"]
    check_set_ranges(ptr, arrays["set_categories"], len(arrays["threshold"]))
    node = np.flatnonzero(np.diff(ptr))
    rises = np.diff(arrays["set_categories"].astype(np.int64)) > 0
    rises[ptr[(ptr > 0) & (ptr < len(arrays["set_categories"]))] - 1] = True
    if not rises.all():
        raise ValueError("set_categories must ascend within a node")
    term_ptr = arrays["term_ptr"]
    if (np.diff(term_ptr)[node] != 1).any():
        raise ValueError("set_ptr must give sets to nodes of one term only")
    if (arrays["threshold"][node] != 0.5).any():
        raise ValueError("threshold must be 0.5 at nodes with sets")
    terms = term_ptr[node]
    if (arrays["term_weight"][terms] != 1.0).any():
        raise ValueError("term_weight must be 1 at nodes with sets")
    if "term_partner" in arrays and (arrays["term_partner"][terms] != -1).any():
        raise ValueError("term_partner must be -1 at nodes with sets")
    if "lower_threshold" in arrays and (arrays["lower_threshold"][node] > -np.inf).any():
        raise ValueError("lower_threshold must be minus infinity at nodes with sets")
    feature = arrays["term_feature"][terms]
    if "feature_offset" in arrays and arrays["feature_offset"][feature].any():
        raise ValueError("feature_offset must be 0 for features of sets")
