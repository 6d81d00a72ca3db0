"""Impurity-based feature importances."""

import numpy as np


def compute_importances(tree, normalize=True, feature_scale=None):
    """Total decrease of impurity that each feature brought.

    A node's decrease is weighted by the rows that reach it. A node with several terms
    shares it among their features in proportion to ``abs(term_weight) * feature_scale``.

    Parameters
    ----------
    tree : Tree
    normalize : bool, default=True
        Whether the importances sum to 1 (they stay 0 when no split helped).
    feature_scale : array-like of shape (n_features,), optional
        Typical size of each feature, say its standard deviation, so that features in small
        units, whose weights are large, do not look important. All ones by default.

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
    n_terms = np.diff(tree.term_ptr)[internal]
    share = np.abs(tree.term_weight)
    if feature_scale is not None:
        share = share * np.asarray(feature_scale, dtype=np.float64)[tree.term_feature]
    # Scaling by the largest share of the node keeps tiny weights from vanishing in the sum.
    first = tree.term_ptr[internal]
    largest = np.maximum.reduceat(share, first)
    share = np.where(np.repeat(largest > 0, n_terms), share, 1.0)
    share = share / np.repeat(np.where(largest > 0, largest, 1.0), n_terms)
    share /= np.repeat(np.add.reduceat(share, first), n_terms)
    np.add.at(importances, tree.term_feature, np.repeat(decrease, n_terms) * share)
    root_weight = tree.weighted_n_node_samples[0]
    if root_weight > 0:
        importances /= root_weight
    total = importances.sum()
    if normalize and total > 0:
        importances /= total
    return importances
