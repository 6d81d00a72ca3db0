"""The kinds of leaves that trees may have, besides constant ones."""

from obtree.tree.leaf_base import LeafModel
from obtree.tree.linear_leaf import LinearLeaf

_KINDS = {LinearLeaf.name: LinearLeaf}


def register_leaf(kind):
    """Let trees keep, and files hold, the leaves of another package.

    Parameters
    ----------
    kind : type
        A subclass of `LeafModel` with a name and arrays of its own.

    Returns
    -------
    type
        The same.

    Raises
    ------
    ValueError
        When another kind has the name, or one of the names of its arrays.
    """
    if not isinstance(kind, type) or not issubclass(kind, LeafModel):
        raise TypeError(f"expected a subclass of LeafModel, got {kind!r}")
    others = [other for name, other in _KINDS.items() if name != kind.name]
    taken = {name for other in others for name in other.fields}
    if _KINDS.get(kind.name, kind).__name__ != kind.__name__:
        raise ValueError(f"there are leaves called {kind.name!r} already")
    if not kind.fields or not all(name.startswith("leaf_") for name in kind.fields):
        raise ValueError(f"the arrays of {kind.name!r} leaves need names that begin with 'leaf_'")
    if taken & kind.fields.keys():
        raise ValueError(f"other leaves keep {', '.join(sorted(taken & kind.fields.keys()))}")
    _KINDS[kind.name] = kind
    return kind


def find_kind(names):
    """The kind of leaf that keeps one of these arrays; None for constant leaves.

    Parameters
    ----------
    names : collection of str

    Returns
    -------
    type or None
    """
    for kind in _KINDS.values():
        if any(name in names for name in kind.fields):
            return kind
    return None
