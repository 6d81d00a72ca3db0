"""The constant tables of an exported model, each in the narrowest type that keeps its bits."""

import numpy as np

from obtree.export.c_leaves import COUNTED, LINEAR, LINES, VALUED
from obtree.export.c_literals import Table, choose_float, choose_integer
from obtree.export.c_nodes import share_lists
from obtree.export.c_weights import divide, find_scales, is_single


class Tables:
    """Makes the tables, and remembers which there are.

    Parameters
    ----------
    prefix : str
        What all names begin with.
    """

    def __init__(self, prefix):
        self._prefix = prefix
        self.tables = []

    @property
    def size(self):
        """Bytes of all tables."""
        return sum(table.size for table in self.tables)

    def has(self, name):
        """Whether there is a table of this name."""
        return any(table.name == f"{self._prefix}_{name}" for table in self.tables)

    def add_integers(self, name, values, note, signed=False):
        """Add a table of whole numbers, of a signed type if -1 is looked for."""
        sample = np.append(values, -1) if signed else values
        self._add(name, choose_integer(sample), values, note)

    def add_numbers(self, name, values, note, integers=False):
        """Add a table of numbers."""
        values = np.asarray(values, dtype=np.float64)
        self._add(name, choose_float(values, integers), values, note)

    def add_bits(self, name, flags, note):
        """Add a table of flags, eight in a byte, the first one lowest."""
        self._add(name, "uint8_t", np.packbits(flags, bitorder="little"), note)

    def _add(self, name, ctype, values, note):
        self.tables.append(Table(f"{self._prefix}_{name}", ctype, values, note))


def add_nodes(tables, nodes):
    """Add the tables of both pools, and where trees begin.

    Parameters
    ----------
    tables : Tables
    nodes : Nodes
    """
    if len(nodes.root) > 1:
        note = "first node of each tree, or -1 less what its only leaf holds"
        tables.add_integers("root", nodes.root, note)
        if nodes.axis.size and nodes.planes.size:
            tables.add_bits("is_plane", nodes.is_plane, "whether a tree has planes, by bits")
    if nodes.axis.size:
        _add_pool(tables, nodes.axis, "axis")
        tables.add_integers("axis_feature", nodes.axis.join("feature"), "what a node compares")
    if nodes.planes.size:
        _add_pool(tables, nodes.planes, "plane")
        _add_terms(tables, nodes.planes)


def _add_pool(tables, pool, name):
    """Add what both kinds of nodes have."""
    child = pool.join("child")
    note = "left and right child of each node, or -1 less what a leaf holds"
    tables.add_integers(f"{name}_child", child, note)
    threshold = pool.join("threshold")
    tables.add_numbers(f"{name}_threshold", threshold, "rows up to here go left")
    if pool.join("missing").any():
        note = "whether rows that lack a value go left, by bits"
        tables.add_bits(f"{name}_missing", pool.join("missing"), note)


def _add_terms(tables, pool):
    """Add the sums of planes."""
    start = np.concatenate([[0], np.cumsum(pool.join("n_terms"))])
    tables.add_integers("plane_term", start, "where the terms of each node begin")
    _add_weights(tables, pool)
    first, feature, partner = share_lists(pool)
    if len(feature) < start[-1]:
        tables.add_integers("plane_list", first, "where the features of each node begin")
    else:
        feature, partner = pool.join("feature"), pool.join("partner")
    tables.add_integers("plane_feature", feature, "features of the terms")
    if (partner >= 0).any():
        note = "second factors of the terms, -1 for none"
        tables.add_integers("plane_partner", partner, note, signed=True)
    listed = pool.join("listed")
    if len(listed):
        first = np.concatenate([[0], np.cumsum(pool.join("n_listed"))])
        tables.add_integers("plane_set", first, "where the categories of each node begin")
        note = "categories that go to the other side than missing ones"
        tables.add_integers("listed", listed, note)
    lower = pool.join("lower")
    if np.isfinite(lower).any():
        tables.add_numbers("plane_lower", lower, "rows up to here go right after all")


def _add_weights(tables, pool):
    """Add the weights of planes, as multiples of scales of the features where that is possible."""
    weight, feature = pool.join("weight"), pool.join("feature")
    note = "weights of the terms"
    if not is_single(weight).all() and not (pool.join("partner") >= 0).any():
        scale = find_scales(weight, feature)
        if scale is not None and len(scale) < len(weight):
            n_terms = pool.join("n_terms")
            first = np.cumsum(n_terms) - n_terms
            quotient = divide(weight, scale[feature])
            scaled = np.logical_and.reduceat(~np.isnan(quotient), first)
            if (scaled | np.logical_and.reduceat(is_single(weight), first)).all():
                weight = np.where(np.repeat(scaled, n_terms), quotient, weight)
                tables.add_numbers("plane_scale", scale, "what weights are multiples of")
                if not scaled.all():
                    tables.add_bits("plane_is_scaled", scaled, "whether a node's are, by bits")
    tables.add_numbers("plane_weight", weight, note, integers=True)


def add_leaves(tables, leaves, with_classes):
    """Add what leaves hold.

    Parameters
    ----------
    tables : Tables
    leaves : Leaves
        Finished.
    with_classes : bool
        Whether the most probable class of each leaf is wanted.
    """
    if leaves.has(COUNTED):
        note = "class fractions of leaves: whole numbers, and last what to divide them by"
        tables.add_integers("count", np.array(leaves.counts), note)
    if leaves.has(VALUED):
        tables.add_numbers("value", np.array(leaves.values), "values of leaves", integers=True)
    if with_classes and (leaves.has(COUNTED) or leaves.has(VALUED)):
        tables.add_integers("class_of", leaves.list_classes(), "most probable class of these")
    if leaves.has(LINEAR):
        _add_models(tables, leaves.linear, "linear", ("intercept",))
        note = "what a leaf holds for rows that lack a value"
        tables.add_integers("linear_fallback", leaves.linear["fallback"], note)
    if leaves.has(LINES):
        _add_models(tables, leaves.lines, "line", ("mean", "low", "high"))
        if leaves.lines["ptr"][-1]:
            centre = np.concatenate(leaves.lines["centre"])
            tables.add_numbers("line_centre", centre, "what is subtracted from the features")


_NOTES = {
    "intercept": "what sums begin with",
    "mean": "what sums begin with",
    "low": "least value of a leaf",
    "high": "largest value of a leaf",
}


def _add_models(tables, kept, name, arrays):
    """Add the arrays of leaves that are sums of terms."""
    if kept["ptr"][-1]:
        tables.add_integers(f"{name}_term", kept["ptr"], "where the terms of each leaf begin")
        feature = np.concatenate(kept["feature"])
        tables.add_integers(f"{name}_feature", feature, "features of the terms")
        weight = np.concatenate(kept["weight"])
        if name == "linear":
            weight = _scale_models(tables, weight, feature)
        tables.add_numbers(f"{name}_weight", weight.ravel(), "weights, output by output")
    for array in arrays:
        tables.add_numbers(f"{name}_{array}", np.array(kept[array]), _NOTES[array])


def _scale_models(tables, weight, feature):
    """Return weights of linear leaves as multiples of scales of the features, if they are."""
    features = np.repeat(feature, weight.shape[1])
    if is_single(weight).all():
        return weight
    scale = find_scales(weight.ravel(), features)
    if scale is None or len(scale) >= weight.size:
        return weight
    quotient = divide(weight.ravel(), scale[features])
    if np.isnan(quotient).any():
        return weight
    tables.add_numbers("linear_scale", scale, "what weights are multiples of")
    return quotient
