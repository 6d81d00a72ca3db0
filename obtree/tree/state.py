"""Trees to plain arrays and back.

What is saved is a dictionary of arrays and a format number, nothing else. What is loaded is
not trusted: every length, type, range and link is checked here, once, so that walking a
tree needs no checks. All checks are array operations; the depth of a tree costs neither
stack nor time (links are followed by doubling).
"""

import numpy as np

from obtree.core.names import show
from obtree.tree.category_sets import check_sets
from obtree.tree.leaf_models import (
    check_classes,
    check_leaf_shapes,
    check_leaf_values,
    check_ranges,
    find_kind,
)
from obtree.tree.path import compute_depths
from obtree.tree.tree import FIELDS, OPTIONAL_FIELDS, Tree, list_arrays

# 1: the arrays every tree has. 2: those and some of the optional ones. 3: those of one kind of
# leaves as well, by whose names the kind is known.
# 4: an offset of the features, and any of the others. 5: sets of categories, and any of the others.
# A tree that can be written in an older format is, so that older versions read it.
FORMATS = (1, 2, 3, 4, 5)

# Which format an optional array is always there in; later ones may have it.
_SINCE = {"feature_offset": 4, "set_ptr": 5, "set_categories": 5}

# The packed form of a tree counts nodes and features with 31 bits.
MAX_COUNT = 2**31 - 64

_PER_NODE = (
    "children_left",
    "children_right",
    "threshold",
    "missing_go_left",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "value",
)


def tree_to_state(tree):
    """Describe a tree with plain arrays.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    dict
        ``format``, ``n_features`` and the array attributes of `Tree` that are not None, as
        `Tree.from_arrays` takes them.
    """
    offset, tree = tree.feature_offset, tree.shifted
    arrays = {name: array for name, array in list_arrays(tree).items() if array is not None}
    number = 1 if arrays.keys() == FIELDS.keys() else 3 if tree.leaf_kind.fields else 2
    state = {"format": number, "n_features": tree.n_features}
    state.update((name, np.asarray(array)) for name, array in arrays.items())
    if offset is not None:
        state.update(format=4, feature_offset=np.asarray(offset))
    if tree.set_ptr is not None:
        state["format"] = 5
    return state


def tree_from_state(state):
    """Make a tree from a state that may be damaged.

    Parameters
    ----------
    state : dict
        As made by `tree_to_state`.

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        Naming the field that cannot belong to a tree.
    """
    check_format("a tree state", state, FORMATS)
    kind = find_kind(state if state["format"] > 2 else ())
    if state["format"] == 3 and not kind.fields:
        raise ValueError("a tree state of format 3 must hold the arrays of its leaves")
    optional = set()
    if state["format"] > 1:
        optional = OPTIONAL_FIELDS.keys() & state.keys() - _SINCE.keys()
        optional |= {name for name, since in _SINCE.items() if since == state["format"]}
    if state["format"] == 5 and "feature_offset" in state:
        optional.add("feature_offset")
    check_names("a tree state", state, {"n_features", *FIELDS, *optional, *kind.fields})
    check_count("n_features", state["n_features"], MAX_COUNT)
    n_features = int(state["n_features"])
    fields = FIELDS | {name: OPTIONAL_FIELDS[name] for name in sorted(optional)}
    for name, dtype in fields.items():
        check_type(name, state[name], dtype, 3 if name == "value" else 1)
    for name, field in kind.fields.items():
        check_type(name, state[name], field.dtype, 2 if field.is_row else 1)
        fields[name] = field.dtype
    _check_lengths(state)
    # A private copy in native order: what was checked is what is used.
    arrays = {name: np.array(state[name], dtype=dtype) for name, dtype in fields.items()}
    _check_values(arrays)
    _check_children(arrays)
    _check_terms(arrays, n_features)
    if "set_ptr" in arrays:
        check_sets(arrays)
    n_values = arrays["value"][0].size
    check_leaf_shapes(kind, arrays, len(arrays["value"]), n_values, n_features)
    check_leaf_values(kind, arrays, arrays["children_left"] == -1, arrays["n_classes"])
    return Tree.from_arrays(n_features=n_features, **arrays)


def check_format(what, state, formats):
    """Refuse what is no state, or one of a format that this version does not read."""
    if not isinstance(state, dict):
        raise ValueError(f"{what} must be a dict, got {type(state).__name__}")
    if "format" not in state:
        raise ValueError(f"{what} must hold 'format'")
    if not _is_integer(state["format"]) or state["format"] not in formats:
        raise ValueError(f"format is {show(state['format'])}; this version reads formats {formats}")


def check_names(what, state, expected):
    """Refuse a state that has other fields than these and its format."""
    wrong = sorted(str(name) for name in state.keys() ^ {"format", *expected})
    if wrong:
        raise ValueError(f"missing or unexpected fields in {what}: {', '.join(wrong)}")


def check_count(name, value, most):
    """Refuse what is no integer from 1 to `most`."""
    if not _is_integer(value) or not 1 <= value <= most:
        raise ValueError(f"{name} is {show(value)}; expected an integer in 1..{most}")


def _is_integer(value):
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_type(name, array, dtype, n_dimensions):
    """Refuse what is no array of this type, in whatever byte order."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} must be an array, got {type(array).__name__}")
    if array.dtype.newbyteorder("=") != np.dtype(dtype):
        raise ValueError(f"{name} has dtype {array.dtype}; expected {np.dtype(dtype)}")
    if array.ndim != n_dimensions:
        raise ValueError(f"{name} has {array.ndim} dimensions; expected {n_dimensions}")


def _check_lengths(state):
    n_nodes = state["children_left"].shape[0]
    if not 1 <= n_nodes <= MAX_COUNT:
        raise ValueError(f"children_left describes {n_nodes} nodes; expected 1..{MAX_COUNT}")
    for name in _PER_NODE:
        _check_length(name, state[name], n_nodes)
    _check_length("term_ptr", state["term_ptr"], n_nodes + 1)
    if "feature_offset" in state:
        _check_length("feature_offset", state["feature_offset"], state["n_features"])
    if "set_ptr" in state:
        _check_length("set_ptr", state["set_ptr"], n_nodes + 1)
    if "lower_threshold" in state:
        _check_length("lower_threshold", state["lower_threshold"], n_nodes)
    n_terms = state["term_feature"].shape[0]
    for name in ("term_weight", "term_partner", "term_share"):
        if name in state and state[name].shape[0] != n_terms:
            raise ValueError(
                f"term_feature and {name} have lengths {n_terms} and "
                f"{state[name].shape[0]}; expected the same"
            )
    _, n_outputs, max_n_classes = state["value"].shape
    if not 1 <= n_outputs <= MAX_COUNT or not 1 <= max_n_classes <= MAX_COUNT:
        raise ValueError(f"value has shape {state['value'].shape}; expected no axis to be empty")
    _check_length("n_classes", state["n_classes"], n_outputs)
    n_classes = state["n_classes"]
    if n_classes.min() < 1 or n_classes.max() != max_n_classes:
        raise ValueError(
            f"n_classes runs from {n_classes.min()} to {n_classes.max()}; expected at least 1 "
            f"and the largest to be {max_n_classes}, as in value"
        )


def _check_length(name, array, length):
    if array.shape[0] != length:
        raise ValueError(f"{name} has length {array.shape[0]}; expected {length}")


def _check_values(arrays):
    for name in ("threshold", "term_weight", "impurity", "weighted_n_node_samples", "value"):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} must be finite")
    if not np.isfinite(arrays.get("feature_offset", 0.0)).all():
        raise ValueError("feature_offset must be finite")
    for name in ("n_node_samples", "weighted_n_node_samples"):
        if (arrays[name] < 0).any():
            raise ValueError(f"{name} must not be negative")
    if (arrays["missing_go_left"] > 1).any():
        raise ValueError("missing_go_left must be 0 or 1")
    if "lower_threshold" in arrays:
        # A comparison with NaN is false; nobody looks at the leaves.
        upper = np.where(arrays["children_left"] == -1, np.inf, arrays["threshold"])
        if not (arrays["lower_threshold"] < upper).all():
            raise ValueError("lower_threshold must be below threshold")
    if "term_share" in arrays and not (
        (arrays["term_share"] >= 0).all() and (arrays["term_share"] <= 1).all()
    ):
        raise ValueError("term_share must be between 0 and 1")
    value = arrays["value"]
    if value.shape[2] > 1:
        if (value < 0).any():
            raise ValueError("value holds a negative class fraction")
        check_classes("value", value, arrays["n_classes"])


def _check_children(arrays):
    """Every node but the root has one parent, and its ancestors end at the root."""
    left, right = arrays["children_left"], arrays["children_right"]
    n_nodes = left.shape[0]
    for name in ("children_left", "children_right"):
        if (
            (arrays[name] < -1).any()
            or (arrays[name] >= n_nodes).any()
            or (arrays[name] == 0).any()
        ):
            raise ValueError(f"{name} must be -1 or a node in 1..{n_nodes - 1}")
    if ((left == -1) != (right == -1)).any():
        raise ValueError("children_left and children_right must both be -1 at a leaf")
    internal = left != -1
    children = np.concatenate([left[internal], right[internal]])
    if (np.bincount(children, minlength=n_nodes)[1:] != 1).any():
        raise ValueError(
            "children_left and children_right must name every node but the root exactly once"
        )
    # With one parent each, a node that the root does not lead to is on or below a cycle.
    if compute_depths(left, right) is None:
        raise ValueError("children_left and children_right hold a cycle")


def _check_terms(arrays, n_features):
    term_ptr, term_feature = arrays["term_ptr"], arrays["term_feature"]
    check_ranges("term_ptr", term_ptr, term_feature.shape[0])
    internal = arrays["children_left"] != -1
    if ((np.diff(term_ptr) > 0) != internal).any():
        raise ValueError("term_ptr must give terms to every internal node and none to leaves")
    if (term_feature < 0).any() or (term_feature >= n_features).any():
        raise ValueError(f"term_feature must be in 0..{n_features - 1}")
    partner = arrays.get("term_partner")
    if partner is not None and ((partner < -1).any() or (partner >= n_features).any()):
        raise ValueError(f"term_partner must be in -1..{n_features - 1}")
