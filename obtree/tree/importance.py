"""Impurity-based feature importances."""

import numpy as np


def compute_importances(tree, normalize=True, feature_scale=None):
    """Total decrease of impurity that each feature brought.

    A node's decrease is weighted by the rows that reach it. A node with several terms
    shares it among them by ``tree.term_share``: in proportion to the size of a term's weight
    times the spread (standard deviation, estimated from up to 128 rows) of its values in the
    node, so that neither units nor features that hardly vary there count. A product of two
    features gives half of its share to each.

    Parameters
    ----------
    tree : Tree
    normalize : bool, default=True
        Whether the importances sum to 1 (they stay 0 when no split helped).
    feature_scale : array-like of shape (n_features,), optional
        Typical size of each feature, to share by ``abs(term_weight) * feature_scale``
        instead. Trees without ``term_share`` have all ones by default.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    internal = np.flatnonzero(tree.children_left >= 0)
    importances = np.zeros(tree.n_features)
    if not internal.size:
        return importances
    weighted = tree.weighted_n_node_samples * tree.impurity
    decrease = (
        weighted[internal]
        - weighted[tree.children_left[internal]]
        - weighted[tree.children_right[internal]]
    )
    # No impurity grows by a split; below zero is rounding, where a split gained nothing.
    decrease = np.maximum(decrease, 0.0)
    n_terms = np.diff(tree.term_ptr)[internal]
    share = np.abs(tree.term_weight)
    second = tree.term_feature
    if tree.term_partner is not None:
        second = np.where(tree.term_partner < 0, second, tree.term_partner)
    if feature_scale is not None:
        scale = np.asarray(feature_scale, dtype=np.float64)
        share = share * scale[tree.term_feature]
        if tree.term_partner is not None:
            share = share * np.where(tree.term_partner < 0, 1.0, scale[second])
    elif tree.term_share is not None:
        share = tree.term_share.astype(np.float64)
    # Scaling by the largest share of the node keeps tiny weights from vanishing in the sum.
    first = tree.term_ptr[internal]
    largest = np.maximum.reduceat(share, first)
    share = np.where(np.repeat(largest > 0, n_terms), share, 1.0)
    share = share / np.repeat(np.where(largest > 0, largest, 1.0), n_terms)
    share /= np.repeat(np.add.reduceat(share, first), n_terms)
    half = 0.5 * np.repeat(decrease, n_terms) * share
    np.add.at(importances, tree.term_feature, half)
    np.add.at(importances, second, half)
    root_weight = tree.weighted_n_node_samples[0]
    if root_weight > 0:
        importances /= root_weight
    total = importances.sum()
    if normalize and total > 0:
        importances /= total
    return importances
