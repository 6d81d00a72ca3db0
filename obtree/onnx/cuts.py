"""Cutting trees into blocks of neighbouring nodes, and numbering nodes block by block."""

import heapq
from dataclasses import dataclass, field

import numpy as np

from obtree.tree.tree import FIELDS, Tree

#: Planes of the first block of a tree, and of others. Rows are copied for each of the others, as
#: much work as some hundred planes; a first block sees all rows.
MAX_FIRST = 31
MAX_PLANES = 512


@dataclass
class Cuts:
    """The blocks of some trees, those of one tree after those of another.

    Attributes
    ----------
    first : list of int
        The first block of each tree.
    orders : list of ndarray
        For each tree its nodes in their new order: planes block by block, and then leaves.
    n_planes : list of int
        Planes of each block.
    paths : list of int8 ndarray
        On which side of each plane an exit is, (n_planes, n_exits) as one row: 1 for left, -1 for
        right, 0 if the path does not meet the plane.
    exits : list of int64 ndarray
        What each exit of a block leads to: a block, or -1 less a node of the tree as it was.
    owner : list of int
        Which tree each block belongs to.
    """

    first: list = field(default_factory=list)
    orders: list = field(default_factory=list)
    n_planes: list = field(default_factory=list)
    paths: list = field(default_factory=list)
    exits: list = field(default_factory=list)
    owner: list = field(default_factory=list)

    def list_turns(self):
        """Return how often the path to each exit turns left, float32, block after block."""
        parts = zip(self.paths, self.n_planes, strict=True)
        return np.concatenate([(own.reshape(n, -1) > 0).sum(axis=0) for own, n in parts]).astype(
            np.float32
        )

    def list_targets(self, slots):
        """Return what exits lead to: a block, or -1 less the place of a leaf.

        Parameters
        ----------
        slots : list of int64 ndarray
            Places of the leaves of each tree.
        """
        targets = []
        for exits, tree in zip(self.exits, self.owner, strict=True):
            node = np.where(exits < 0, -1 - exits, 0)
            targets.append(np.where(exits < 0, -1 - slots[tree][node], exits))
        return np.concatenate(targets)


def cut_trees(trees):
    """Cut trees into blocks.

    Parameters
    ----------
    trees : list of Tree
        With at least one split each.

    Returns
    -------
    cuts : Cuts
    trees : list of Tree
        The same with nodes in their new order, and constant leaves.
    """
    cuts = Cuts()
    for number, tree in enumerate(trees):
        cuts.first.append(len(cuts.n_planes))
        # Blocks get their numbers when they are met, so that rows only go on to higher ones.
        waiting, order = [0], []
        for root in waiting:
            planes, exits = _choose_planes(tree, root, MAX_PLANES if root else MAX_FIRST)
            order += planes
            leads = []
            for node in exits:
                is_leaf = tree.children_left[node] < 0
                leads.append(-1 - node if is_leaf else cuts.first[-1] + len(waiting))
                if not is_leaf:
                    waiting.append(node)
            cuts.n_planes.append(len(planes))
            cuts.paths.append(_trace(tree, planes, exits).ravel())
            cuts.exits.append(np.array(leads, dtype=np.int64))
            cuts.owner.append(number)
        leaves = np.flatnonzero(tree.children_left < 0)
        cuts.orders.append(np.concatenate([np.array(order, dtype=np.int64), leaves]))
    return cuts, [_reorder(tree, order) for tree, order in zip(trees, cuts.orders, strict=True)]


def _choose_planes(tree, root, most):
    """Return the nodes of a block, parents first, and the nodes that follow on it.

    The nodes that most rows reached in training come first.
    """
    weight = tree.weighted_n_node_samples
    heap, planes, exits = [(-weight[root], root)], [], []
    while heap:
        _, node = heapq.heappop(heap)
        if tree.children_left[node] < 0 or len(planes) == most:
            exits.append(node)
            continue
        planes.append(node)
        for child in (int(tree.children_left[node]), int(tree.children_right[node])):
            heapq.heappush(heap, (-weight[child], child))
    return planes, exits


def _trace(tree, planes, exits):
    """Return on which side of each plane an exit is; see `Cuts`."""
    place = {node: k for k, node in enumerate(planes)}
    paths = np.zeros((len(planes), len(exits)), dtype=np.int8)
    # Bottom up: what is behind a plane is what is behind its children.
    behind = {node: [k] for k, node in enumerate(exits)}
    for node in reversed(planes):
        sides = []
        for child, sign in ((tree.children_left[node], 1), (tree.children_right[node], -1)):
            own = behind.pop(int(child))
            paths[place[node], own] = sign
            sides += own
        behind[node] = sides
    return paths


def _reorder(tree, order):
    """Return a tree with its nodes in another order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    n_terms = np.diff(tree.term_ptr)[order]
    ptr = np.concatenate([[0], np.cumsum(n_terms)])
    term = np.arange(ptr[-1]) + np.repeat(tree.term_ptr[:-1][order] - ptr[:-1], n_terms)
    arrays = {}
    for name in FIELDS:
        array = getattr(tree, name)
        if name.startswith("children"):
            array = np.where(array[order] >= 0, place[array[order]], -1)
        elif name == "term_ptr":
            array = ptr
        elif name.startswith("term"):
            array = array[term]
        elif name != "n_classes":
            array = array[order]
        arrays[name] = array
    return Tree.from_arrays(n_features=tree.n_features, **arrays)
