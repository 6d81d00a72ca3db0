"""When growth stops."""

from dataclasses import dataclass

import numpy as np

#: As many levels, leaves or candidates as there can be.
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, eq=False)
class GrowthRule:
    """Stop rules of a tree, as plain numbers.

    Parameters
    ----------
    max_depth : int
    min_samples_split, min_samples_leaf : int
        Rows, whatever their weight.
    min_weight_fraction_leaf : float
        Fraction of the weight of the tree's rows.
    max_features : int
        Candidate directions a node.
    max_leaf_nodes : int
        -1 for no limit; otherwise the tree grows best-first.
    min_impurity_decrease : float
    monotonic_cst : int8 ndarray of shape (n_features,) or None
    relevance : float32 ndarray of shape (n_features,) or None
        How often each feature takes part in draws, above 0 and up to 1.
    is_complete : bool
        Whether every node above `max_depth` is split, also one without rows; no other rule counts.
    """

    max_depth: int = NO_LIMIT
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int = 1
    max_leaf_nodes: int = -1
    min_impurity_decrease: float = 0.0
    monotonic_cst: np.ndarray | None = None
    relevance: np.ndarray | None = None
    is_complete: bool = False
