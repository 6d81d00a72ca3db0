"""The nodes of all trees in two pools: trees whose splits test one feature each, and others.

Only nodes that split are kept, in preorder. A child is the number of a node, counted from the root
of its tree, or -1 less the number of a leaf. Thresholds of single features are rounded *down* to
float32, so that a comparison with a float32 number has the same outcome.
"""

from dataclasses import dataclass, field

import numpy as np

from obtree.tree.predict import has_unit_terms
from obtree.tree.select import keep_ranges
from obtree.tree.terms import round_down

#: Terms from which on a sum is made of 16 partial sums; see data/hyperplane.pxd.
LONG = 16


@dataclass
class Pool:
    """Nodes of some trees, one after the other.

    Attributes are lists of what is to be concatenated.
    """

    child: list = field(default_factory=list)
    threshold: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    feature: list = field(default_factory=list)
    # Of planes only.
    weight: list = field(default_factory=list)
    partner: list = field(default_factory=list)
    lower: list = field(default_factory=list)
    n_terms: list = field(default_factory=list)
    n_listed: list = field(default_factory=list)  # categories
    listed: list = field(default_factory=list)
    size: int = 0

    def join(self, name):
        """Return one of the lists as an array."""
        return np.concatenate(getattr(self, name))


class Nodes:
    """Collects the nodes of trees.

    Attributes
    ----------
    axis, planes : Pool
    root : list of int
        For each tree its first node in the pool, or -1 less the number of its only leaf.
    is_plane : list of bool
        Which pool each tree is in.
    """

    def __init__(self):
        self.axis = Pool()
        self.planes = Pool()
        self.root = []
        self.is_plane = []

    def add_tree(self, tree, leaf_number):
        """Take in the nodes of a tree.

        Parameters
        ----------
        tree : Tree
            For shifted features.
        leaf_number : int64 ndarray of shape (n_nodes,)
            What its leaves hold.
        """
        is_plane = not has_unit_terms(tree)
        if tree.children_left[0] < 0:
            self.root.append(-1 - int(leaf_number[0]))
            self.is_plane.append(False)
            return
        pool = self.planes if is_plane else self.axis
        self.root.append(pool.size)
        self.is_plane.append(is_plane)
        order = _list_splits(tree)
        place = np.full(tree.node_count, -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        child = np.stack([tree.children_left[order], tree.children_right[order]], axis=1)
        pool.child.append(np.where(place[child] >= 0, place[child], -1 - leaf_number[child]))
        pool.missing.append(tree.missing_go_left[order] != 0)
        pool.size += len(order)
        if is_plane:
            self._add_planes(pool, tree, order)
            return
        pool.threshold.append(round_down(tree.threshold[order]))
        pool.feature.append(tree.term_feature[tree.term_ptr[order]])

    @staticmethod
    def _add_planes(pool, tree, order):
        """Take in the terms of planes."""
        n_terms = np.diff(tree.term_ptr)[order]
        term = np.concatenate(
            [np.arange(tree.term_ptr[node], tree.term_ptr[node + 1]) for node in order]
        )
        pool.threshold.append(tree.threshold[order])
        pool.n_terms.append(n_terms)
        pool.weight.append(tree.term_weight[term])
        pool.feature.append(tree.term_feature[term])
        partner, lower = np.full(len(term), -1), np.full(len(order), -np.inf)
        if tree.term_partner is not None:
            partner = tree.term_partner[term]
        if tree.lower_threshold is not None:
            lower = tree.lower_threshold[order]
        n_listed, listed = np.zeros(len(order), dtype=np.int64), np.zeros(0, dtype=np.uint16)
        if tree.set_ptr is not None:
            ptr, kept = keep_ranges(tree.set_ptr, order, order >= 0)
            n_listed, listed = np.diff(ptr), tree.set_categories[kept]
        pool.n_listed.append(n_listed)
        pool.listed.append(listed)
        pool.partner.append(partner)
        pool.lower.append(lower)


def share_lists(pool):
    """Find planes that test the same features, whose list is then kept once.

    Parameters
    ----------
    pool : Pool
        Of planes.

    Returns
    -------
    first : int64 ndarray of shape (n_nodes,)
        Where the list of each node begins.
    feature, partner : ndarray
        The lists, one after the other.
    """
    feature, partner = pool.join("feature"), pool.join("partner")
    n_terms = pool.join("n_terms")
    start = np.cumsum(n_terms) - n_terms
    # A list of all features in their order has every run of features in it.
    follows = (np.diff(feature, prepend=-2) == 1) & (partner < 0)
    follows[start] = partner[start] < 0
    is_run = np.minimum.reduceat(follows, start) & (n_terms > 1)
    n_identity = int((feature[start] + n_terms)[is_run].max(initial=0))
    if n_terms[is_run].sum() <= n_identity:
        n_identity = 0
    lists = [np.stack([np.arange(n_identity), np.full(n_identity, -1)])]
    size, known, first = n_identity, {}, []
    for begin, n, runs in zip(start.tolist(), n_terms.tolist(), is_run.tolist(), strict=True):
        if runs and n_identity:
            first.append(int(feature[begin]))
            continue
        own = np.stack([feature[begin : begin + n], partner[begin : begin + n]])
        key = own.tobytes()
        if key not in known:
            known[key] = size
            lists.append(own)
            size += n
        first.append(known[key])
    feature, partner = np.concatenate(lists, axis=1)
    return np.array(first, dtype=np.int64), feature, partner


def _list_splits(tree):
    """Return the nodes that split, in preorder."""
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if left[node] >= 0:
            order.append(node)
            stack += [right[node], left[node]]
    return np.array(order, dtype=np.intp)
