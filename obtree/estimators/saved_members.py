"""Trees of several kinds in one model file: what kind each tree of a forest is of.

The header lists the kinds once, each with its estimator, its parameters and its candidates per
node; an array has the number of the kind for each tree. What comes back is not trusted.
"""

import itertools

import numpy as np

from obtree.core.names import show
from obtree.estimators.saved_params import decode_params, encode_params


def encode_members(children):
    """Return the kinds of trees, and which of them each tree is of.

    Parameters
    ----------
    children : list of tree estimators
        Fitted.

    Returns
    -------
    members : list of dict
        For the header.
    member : ndarray of int64, shape (n_trees,)
        For the arrays.
    """
    members, numbers = [], []
    for child in children:
        params = encode_params(child)
        params["random_state"] = None  # the seeds of all trees are an array of their own
        described = {
            "estimator": type(child).__name__,
            "params": params,
            "max_features": child.max_features_,
        }
        if described not in members:
            members.append(described)
        numbers.append(members.index(described))
    return members, np.array(numbers, dtype=np.int64)


def decode_members(members, member, n_trees, kinds, allow_plugins):
    """Undo `encode_members`.

    Parameters
    ----------
    members : object
        From the header.
    member : ndarray or None
        From the arrays.
    n_trees : int
        Trees of the forest.
    kinds : dict of str to type
        Estimators that members may be.
    allow_plugins : bool
        See `decode_params`.

    Returns
    -------
    members : list of (estimator, int)
        For each tree an estimator with its parameters, and its candidates per node.
    """
    if not isinstance(members, list) or not members:
        raise ValueError(f"its members are {show(members)}, expected a list of kinds of trees")
    if member is None or member.shape != (n_trees,) or member.dtype != np.int64:
        raise ValueError(f"its {n_trees} trees do not all say which of its members they are")
    if n_trees and not (member.min() >= 0 and member.max() < len(members)):
        raise ValueError(f"it has trees of members that are not among its {len(members)}")
    known = [_decode_member(described, kinds, allow_plugins) for described in members]
    return [known[number] for number in member.tolist()]


def split_chains(children, lengths, weights):
    """Take the boosted chains from the end of a list of trees.

    Parameters
    ----------
    children : list of tree estimators
        Of a forest, with those of its chains behind.
    lengths : object
        From the header: how many trees each chain has.
    weights : ndarray or None
        From the arrays: what each chain counts for.

    Returns
    -------
    chains : list of list of tree estimators
    """
    if not isinstance(lengths, list) or not all(type(n) is int and n > 0 for n in lengths):
        raise ValueError(f"its chains have lengths {show(lengths)}, expected positive integers")
    if not lengths:
        if weights is not None:
            raise ValueError("it has weights of chains, and no chain")
        return []
    if sum(lengths) >= len(children):
        raise ValueError(f"its chains have {sum(lengths)} of its {len(children)} trees")
    if weights is None or weights.shape != (len(lengths),) or weights.dtype != np.float64:
        raise ValueError(f"its {len(lengths)} chains do not all have a weight")
    if not ((weights > 0.0).all() and weights.sum() <= 1.0 + 1e-9):
        raise ValueError("the weights of its chains must be positive, and their sum at most 1")
    ends = np.cumsum([len(children) - sum(lengths), *lengths]).tolist()
    return [children[start:end] for start, end in itertools.pairwise(ends)]


def _decode_member(described, kinds, allow_plugins):
    """Make an estimator of what the header says of a kind of trees."""
    if not isinstance(described, dict) or described.keys() != {
        "estimator",
        "params",
        "max_features",
    }:
        raise ValueError(f"one of its members is {show(described)}")
    name, max_features = described["estimator"], described["max_features"]
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"one of its members is of kind {show(name)}, expected {list(kinds)}")
    if type(max_features) is not int or not 0 < max_features < 2**31:
        raise ValueError(f"max_features of a member is {show(max_features)}")
    kind = kinds[name]
    return kind(**decode_params(described["params"], kind, allow_plugins)), max_features
