"""Some nodes of a tree: what pruning, and dropping branches that no row reaches, leave."""

import numpy as np

from obtree.tree.leaf_models import find_kind

# Arrays by term; those of the tree as a whole. Others are by node.
_BY_TERM = ("term_feature", "term_weight", "term_partner", "term_share")
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
    arrays = {name: array for name, array in arrays.items() if array is not None}
    number = np.zeros(len(arrays["children_left"]), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    selected = {name: array for name, array in arrays.items() if name in _OF_TREE}
    selected |= _select_ranges(arrays, "term_ptr", _BY_TERM, kept, ~is_leaf)
    if "set_ptr" in arrays:
        selected |= _select_ranges(arrays, "set_ptr", ("set_categories",), kept, ~is_leaf)
    # What becomes a leaf is a constant one: only leaves have terms.
    of_leaves = find_kind(arrays).fields
    by_term = [name for name, field in of_leaves.items() if field.by == "term"]
    for name, field in of_leaves.items():
        if field.by == "pointer":
            selected |= _select_ranges(arrays, name, by_term, kept, kept >= 0)
    for name, array in arrays.items():
        if name not in selected:
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


def _select_ranges(arrays, pointer, by_term, kept, has_terms):
    """A pointer to terms, and what the tree has of them, for some nodes."""
    ptr, terms = keep_ranges(arrays[pointer], kept, has_terms)
    return {pointer: ptr} | {name: arrays[name][terms] for name in by_term if name in arrays}


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
