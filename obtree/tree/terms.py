"""Terms of oblique nodes, laid out for walking (see core/simd/planes.h).

The first term of a node stands in the node itself. Further terms of a short sum follow
each other in a table of (weight, feature, partner); sums of 16 terms and more have their
weights and features in arrays of their own, for vector code. In forests with products or
intervals all terms are in the table.
"""

import numpy as np

TERM = np.dtype([("weight", np.float64), ("feature", np.int32), ("partner", np.int32)])

LONG = 16  # terms of a sum that is folded
PADDING = 16  # entries of the table that may be read beyond the last one


def is_general(trees):
    """Whether some tree has products or intervals."""
    return any(tree.term_partner is not None or tree.lower_threshold is not None for tree in trees)


def lay_terms(tree, general):
    """Divide the terms of one tree.

    Parameters
    ----------
    tree : Tree
    general : bool
        Whether all terms go to the table.

    Returns
    -------
    table : ndarray of TERM
    long_weight : float64 ndarray
    long_feature : int32 ndarray
    first : uint32 ndarray of shape (n_nodes,)
        Where a node's part of the table or of the long arrays begins.
    n_more : int32 ndarray of shape (n_nodes,)
        Terms there, the one in the node not counted. Minus the number of all terms when they
        are long and their features follow each other.
    """
    n_terms = np.diff(tree.term_ptr)
    owner = np.repeat(np.arange(tree.node_count), n_terms)
    rank = np.arange(len(owner)) - tree.term_ptr[owner]
    is_long = (n_terms >= LONG) & (not general)
    in_table = np.ones(len(owner), dtype=bool) if general else ~is_long[owner] & (rank > 0)
    in_long = is_long[owner]
    table = np.empty(np.count_nonzero(in_table), dtype=TERM)
    table["weight"] = tree.term_weight[in_table]
    table["feature"] = tree.term_feature[in_table]
    table["partner"] = -1 if tree.term_partner is None else tree.term_partner[in_table]
    first = np.zeros(tree.node_count, dtype=np.int64)
    for chosen in (in_table, in_long):
        count = np.bincount(owner[chosen], minlength=tree.node_count)
        first += np.where(count > 0, np.cumsum(count) - count, 0)
    if first.max(initial=0) >= 2**32:
        raise ValueError(f"a tree of {len(owner)} terms is too large to predict with")
    n_more = n_terms if general else np.maximum(n_terms - 1, 0)
    follows = (np.diff(tree.term_feature, prepend=-1) == 1) & (rank > 0)
    n_following = np.bincount(owner[follows], minlength=tree.node_count)
    n_more = np.where(is_long & (n_following == n_terms - 1), -n_terms, n_more)
    return (
        table,
        tree.term_weight[in_long],
        tree.term_feature[in_long],
        first.astype(np.uint32),
        n_more.astype(np.int32),
    )


def round_down(threshold):
    """Return the largest float32 numbers that do not exceed some numbers.

    A float32 number is compared with them as with the numbers themselves.

    Parameters
    ----------
    threshold : float64 ndarray

    Returns
    -------
    float64 ndarray
    """
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > threshold, lower, rounded).astype(np.float64)
