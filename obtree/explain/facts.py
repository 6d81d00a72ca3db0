"""What there is to know of a tree before its predictions are explained."""

import numpy as np

from obtree.tree.predict import PROBABILITY_FLOOR
from obtree.tree.tree import FIELDS, list_arrays


def count_values(tree, combine):
    """What the values of leaves count for, (n_nodes, n_values)."""
    values = tree.value
    if combine == "vote":
        values = np.arange(values.shape[2]) == values.argmax(axis=2)[:, :, None]
        values = values.astype(np.float64)
    elif combine == "product":
        values = np.log(np.maximum(values, PROBABILITY_FLOOR))
    return np.ascontiguousarray(values.reshape(tree.node_count, -1))


def knows_nodes(tree):
    """Whether all that the nodes of a tree test is known here."""
    known = {*FIELDS, "term_partner", "lower_threshold", "term_share", "feature_offset"}
    known |= {"set_ptr", "set_categories"}
    known |= tree.leaf_kind.fields.keys()
    return all(name in known or array is None for name, array in list_arrays(tree).items())


def find_leaf_terms(tree):
    """Where the models of leaves begin to list the features they read, and these; or None twice."""
    by_name = {field.by: name for name, field in tree.leaf_kind.fields.items()}
    names = [name for name, field in tree.leaf_kind.fields.items() if field.is_feature]
    if "pointer" not in by_name or len(names) != 1:
        return None, None
    return getattr(tree, by_name["pointer"]), getattr(tree, names[0])


def list_used(tree):
    """The features that a tree reads, ascending, int32."""
    if tree.leaf_kind.fields:
        pointers, features = find_leaf_terms(tree)
        if pointers is None:
            return np.arange(tree.n_features, dtype=np.int32)
    else:
        features = np.empty(0, dtype=np.int32)
    parts = [tree.term_feature, features]
    if tree.term_partner is not None:
        parts.append(tree.term_partner[tree.term_partner >= 0])
    return np.unique(np.concatenate(parts)).astype(np.int32)
