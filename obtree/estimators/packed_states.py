"""The arrays of all trees of a model laid end to end, one array per field."""

import numpy as np

from obtree.tree.leaf_models import find_kind
from obtree.tree.tree import is_optional

# What a tree takes beside its arrays: the objects that hold them, and its estimator.
TREE_BYTES = 2**12


def pack_states(states):
    """Lay the arrays of all trees end to end.

    Parameters
    ----------
    states : list of dict
        Values are arrays or integers. An array that some states lack has length 0 there.

    Returns
    -------
    arrays : dict of str to ndarray
        ``tree.<key>`` and, for arrays, ``length.<key>`` with one entry per tree.
    """
    arrays = {}
    examples = {key: value for state in states for key, value in state.items()}
    for key, example in examples.items():
        if isinstance(example, np.ndarray):
            column = [state.get(key, example[:0]) for state in states]
            arrays[f"tree.{key}"] = np.concatenate(column)
            arrays[f"length.{key}"] = np.array([len(values) for values in column], dtype=np.int64)
        else:
            arrays[f"tree.{key}"] = np.array([state[key] for state in states], dtype=np.int64)
    return arrays


def unpack_states(arrays, max_bytes):
    """Undo `pack_states`, trusting nothing.

    Parameters
    ----------
    arrays : dict of str to ndarray
    max_bytes : int
        Most bytes that the trees may take.

    Returns
    -------
    states : list of dict
    """
    parts = {"tree": {}, "length": {}}
    for name, values in arrays.items():
        part, _, key = name.partition(".")
        if part not in parts or not key:
            raise ValueError(f"it holds an array {name!r}, which no model has")
        parts[part][key] = values
    unknown = sorted(parts["length"].keys() - parts["tree"].keys())
    if unknown:
        raise ValueError(f"it holds lengths of {unknown[0]}, and no such array")
    n_trees = _count_trees(parts["tree"]["format"], max_bytes)
    columns = {
        key: _split_column(key, values, parts["length"].get(key), n_trees)
        for key, values in parts["tree"].items()
    }
    return [_take_state(columns, t) for t in range(n_trees)]


def _take_state(columns, t):
    """Return the state of a tree: what is not optional, and what it has of the rest."""
    has = {key for key, column in columns.items() if not is_optional(key) or len(column[t])}
    # Leaves that keep something keep all of their kind, also arrays of length 0.
    has |= columns.keys() & find_kind(has).fields.keys()
    return {key: column[t] for key, column in columns.items() if key in has}


def _count_trees(formats, max_bytes):
    """Return the number of trees, each of which says what format it has."""
    n_trees = formats.size
    if n_trees == 0:
        raise ValueError("it has no trees")
    if n_trees * TREE_BYTES > max_bytes:
        raise ValueError(
            f"its {n_trees} trees take {n_trees * TREE_BYTES} bytes or more, more than "
            f"max_bytes={max_bytes}"
        )
    return n_trees


def _split_column(key, values, lengths, n_trees):
    """Cut one field into trees: a number each, or an array each if there are lengths."""
    counts, label = (values, key) if lengths is None else (lengths, f"the lengths of {key}")
    if counts.ndim != 1 or counts.dtype != np.int64:
        raise ValueError(f"{label} must be int64 numbers, one for each tree")
    if len(counts) != n_trees:
        raise ValueError(
            f"its arrays describe different numbers of trees: format {n_trees}, {label} "
            f"{len(counts)}"
        )
    if lengths is None:
        return values.tolist()
    if values.ndim == 0 or (lengths < 0).any():
        raise ValueError(f"the lengths of {key} are not valid")
    # Python integers, which do not overflow.
    if sum(lengths.tolist()) != len(values):
        raise ValueError(f"the lengths of {key} do not add up to {len(values)}")
    return np.split(values, np.cumsum(lengths)[:-1])
