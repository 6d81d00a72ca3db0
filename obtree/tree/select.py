"""Some nodes of a tree: what pruning, and dropping branches that no row reaches, leave."""

import numpy as np

# Arrays by term, and by term of a linear leaf; those of the tree as a whole. Others are by node.
_BY_TERM = ("term_feature", "term_weight", "term_partner", "term_share")
_BY_LEAF_TERM = ("leaf_feature", "leaf_weight")
_OF_TREE = ("n_classes", "feature_offset")


def select_nodes(arrays, kept, left, right):
    """Arrays of a tree that has some of the nodes of another one.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays of a `Tree`, by name; None as well.
    kept : int ndarray of shape (n_kept,)
        The nodes that remain, ascending; the first is the root.
    left, right : int ndarray of shape (n_kept,)
        Their children in the old numbers, which remain as well; -1 at those that are leaves,
        or become leaves.

    Returns
    -------
    dict of str to ndarray
    """
    is_leaf = left < 0
    number = np.zeros(len(arrays["children_left"]), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    ranges = {
        "term_ptr": (_BY_TERM, ~is_leaf),
        "leaf_ptr": (_BY_LEAF_TERM, ~np.zeros_like(is_leaf)),
    }
    selected = {name: arrays[name] for name in _OF_TREE if name in arrays}
    for name, (by_term, has_terms) in ranges.items():
        if arrays.get(name) is None:
            continue
        selected[name], terms = keep_ranges(arrays[name], kept, has_terms)
        for other in by_term:
            if arrays.get(other) is not None:
                selected[other] = arrays[other][terms]
    for name, array in arrays.items():
        if array is not None and name not in (*selected, *_BY_TERM, *_BY_LEAF_TERM):
            selected[name] = array[kept]
    for name, children in (("children_left", left), ("children_right", right)):
        selected[name] = np.where(is_leaf, -1, number[children])
    for name, at_leaves in (
        ("threshold", 0.0),
        ("missing_go_left", 0),
        ("lower_threshold", -np.inf),
    ):
        if name in selected:
            selected[name] = np.where(is_leaf, at_leaves, selected[name])
    return selected


def keep_ranges(ptr, kept, has_terms):
    """Ranges of terms that remain when only some nodes do.

    Parameters
    ----------
    ptr : int64 ndarray of shape (n_nodes + 1,)
    kept : ndarray of shape (n_kept,)
        Nodes that remain.
    has_terms : bool ndarray of shape (n_kept,)
        Which of them keep their terms.

    Returns
    -------
    ptr : int64 ndarray of shape (n_kept + 1,)
    terms : int64 ndarray
        The terms that remain, in order: where each range starts, plus 0, 1, ... within it.
    """
    n_terms = np.where(has_terms, np.diff(ptr)[kept], 0)
    new_ptr = np.concatenate([[0], np.cumsum(n_terms)])
    shift = ptr[kept] - new_ptr[: len(kept)]
    return new_ptr, np.repeat(shift, n_terms) + np.arange(n_terms.sum())
