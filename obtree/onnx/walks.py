"""Where the rows of a model arrive: which way each of its trees is walked, and in what order.

Trees that compare single features are trees of ONNX as they are. Others need sums: all at once
where there are few (`obtree.onnx.columns`), by blocks of neighbouring nodes where they are many
(`obtree.onnx.blocks`), and level by level where these would be too large, or where nodes are no
planes (`obtree.onnx.levels`).
"""

import numpy as np

from obtree.onnx.blocks import Blocks
from obtree.onnx.columns import Columns
from obtree.onnx.ensemble import MAX_SLOTS, Ensemble
from obtree.onnx.levels import Levels
from obtree.tree.predict import has_unit_terms
from obtree.tree.terms import round_down

#: Most numbers of a matrix of all planes, which is made when a model is loaded: half a gigabyte.
MAX_MATRIX = 2**27

#: Terms that are looked up for a row at a time, level by level: what a step has in hand for all
#: rows is this many times 8 bytes.
MAX_LOOKED_UP = 256

#: What a weight may be of the largest of its plane for float32 to tell it from 0.
LEAST_PART = 1e-30


def add_walk(graph, features, trees, slots):
    """Add the walk of all rows through some trees.

    Parameters
    ----------
    graph : Graph
    features : Features
    trees : list of Tree
        For shifted features.
    slots : list of int64 ndarray
        Places of the leaves of each tree.

    Returns
    -------
    str
        Places of the leaves that rows reach, int64 (n_rows, n_trees).
    """
    largest = max(int(own.max()) for own in slots)
    if largest >= MAX_SLOTS:
        raise ValueError(
            f"the trees have {largest + 1} different leaves; expected at most {MAX_SLOTS}, which "
            "float32 can count"
        )
    is_axis = np.array([has_unit_terms(tree) for tree in trees])
    parts = []
    for chosen, write in ((is_axis, _add_axis_walk), (~is_axis, _add_plane_walk)):
        numbers = np.flatnonzero(chosen).tolist()
        if numbers:
            own = [trees[t] for t in numbers], [slots[t] for t in numbers]
            parts.append((numbers, write(graph, features, *own)))
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([numbers for numbers, _ in parts]))
    joined = graph.op("Concat", *[places for _, places in parts], axis=1)
    return graph.op("Gather", joined, graph.const(order, np.int64), axis=1)


def _add_axis_walk(graph, features, trees, slots):
    """Trees that compare single features, in float32 as their thresholds are."""
    ensemble = Ensemble()
    for tree, own in zip(trees, slots, strict=True):
        ensemble.add_tree(tree, tree.feature, round_down(tree.threshold), own)
    return ensemble.write(graph, features.single, np.float32)


def _add_plane_walk(graph, features, trees, slots):
    """Trees that compare sums."""
    columns = Columns(trees)
    if columns.is_small:
        return columns.write(graph, features, slots)
    n_splits = sum(tree.node_count - tree.n_leaves for tree in trees)
    if n_splits * features.n_features <= MAX_MATRIX and _are_plain(trees):
        return Blocks(trees).write(graph, features, slots)
    places, start = [], 0
    while start < len(trees):
        end = _find_group(trees, start)
        own = Levels(trees[start:end])
        places.append(own.write(graph, features, slots[start:end]))
        start = end
    return places[0] if len(places) == 1 else graph.op("Concat", *places, axis=1)


def _find_group(trees, start):
    """Return where a group of trees ends that go down together."""
    n_terms, end = 0, start
    while end < len(trees):
        longest = int(np.diff(trees[end].term_ptr).max())
        n_terms = max(n_terms, longest)
        if end > start and n_terms * (end + 1 - start) > MAX_LOOKED_UP:
            break
        end += 1
    return end


def _are_plain(trees):
    """Whether all splits are planes of at least one term, and all terms count, in float32 too."""
    for tree in trees:
        if tree.term_partner is not None or tree.lower_threshold is not None:
            return False
        splits = np.flatnonzero(tree.children_left >= 0)
        if not np.diff(tree.term_ptr)[splits].all():
            return False
        size = np.abs(tree.term_weight)
        first = tree.term_ptr[splits]
        least, most = (ufunc.reduceat(size, first) for ufunc in (np.minimum, np.maximum))
        if not (least > LEAST_PART * most).all():
            return False
    return True
