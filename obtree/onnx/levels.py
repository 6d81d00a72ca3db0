"""Many planes of few terms: all trees go down a level at a time, each row looking up its node.

What a step needs of a node is looked up in tables: its terms lie from ``start`` on, ``count`` of
them. Nothing but a row's own node is computed, so that NaN meets no plane that does not read it.
"""

import numpy as np

from obtree.onnx.graph import BOOL, INT32, INT64

#: Tables of numbers of features.
_NAMED = {"feature", "partner"}


class Levels:
    """Tables of the nodes of some trees, one tree after the other.

    Parameters
    ----------
    trees : list of Tree
        For shifted features.
    """

    def __init__(self, trees):
        self._trees = trees
        self._root = np.cumsum([0, *[tree.node_count for tree in trees]])

    def write(self, graph, features, slots):
        """Add the walk of all rows; see `obtree.onnx.columns.Columns.write`."""
        tables = self.make_tables(graph, features.n_features)
        n_trees = len(self._trees)
        rows = graph.op("Concat", features.n_rows(graph), graph.const([n_trees]), axis=0)
        node = graph.op("Expand", tables["root"], rows)
        found = self.go_down(graph, tables, features.padded(graph), node, n_trees)
        return graph.op("Gather", graph.const(np.concatenate(slots)), found, axis=0)

    def go_down(self, graph, tables, padded, node, n_trees):
        """Add the walk from some nodes to leaves.

        Parameters
        ----------
        graph : Graph
        tables : dict of str to str
            What `make_tables` has returned.
        padded : str
            float64 (n_rows, n_features + 2), the last two columns being 0 and 1.
        node : str
            int64 (n_rows, n_trees) numbers of nodes, counted through all trees.
        n_trees : int

        Returns
        -------
        str
            Numbers of leaves, int64 (n_rows, n_trees).
        """
        body = graph.body()
        step, going, here = body.name("step"), body.name("going"), body.name("here")
        left = self._send(body, padded, tables, here, n_trees)
        there = body.op(
            "Where",
            left,
            body.op("Gather", tables["left"], here, axis=0),
            body.op("Gather", tables["right"], here, axis=0),
        )
        attribute = body.finish(
            [(step, INT64, []), (going, BOOL, []), (here, INT64, [None, n_trees])],
            [(going, BOOL, []), (there, INT64, [None, n_trees])],
        )
        depth = max(tree.max_depth for tree in self._trees)
        trips = graph.const(depth, np.int64)
        return graph.op("Loop", trips, graph.const(True), node, body=attribute)

    def _send(self, body, padded, tables, here, n_trees):
        """Add whether each row goes to the left, bool (n_rows, n_trees)."""
        start, count = (body.op("Gather", tables[key], here, axis=0) for key in ("start", "count"))
        axis = body.const([2], np.int64)
        steps = body.const(np.arange(self._max_terms))
        term = body.op(
            "Where",
            body.op("Less", steps, body.op("Unsqueeze", count, axis)),
            body.op("Add", body.op("Unsqueeze", start, axis), steps),
            body.const(0, np.int64),
        )
        # 0: as many rows as there are.
        flat = body.op("Reshape", term, body.const([0, n_trees * self._max_terms], np.int64))
        value = self._read(body, padded, tables["feature"], flat)
        if "partner" in tables:
            value = body.op("Mul", value, self._read(body, padded, tables["partner"], flat))
        value = body.op("Mul", value, body.op("Gather", tables["weight"], flat, axis=0))
        value = body.op("Reshape", value, body.op("Shape", term))
        total = body.op("ReduceSum", value, axis, keepdims=0)
        left = body.op("LessOrEqual", total, body.op("Gather", tables["threshold"], here, axis=0))
        if "lower" in tables:
            lower = body.op("Gather", tables["lower"], here, axis=0)
            left = body.op("And", left, body.op("Greater", total, lower))
        missing = body.op("Gather", tables["missing"], here, axis=0)
        return body.op("Or", left, body.op("And", body.op("IsNaN", total), missing))

    @staticmethod
    def _read(body, padded, table, term):
        """Add the values of the features that a table names."""
        feature = body.op("Gather", table, term, axis=0)
        return body.op("GatherElements", padded, feature, axis=1)

    def make_tables(self, graph, n_features):
        """Return names of tables; leaves lead to themselves, and term 0 is of no node."""
        parts = {key: [] for key in ("left", "right", "count", "threshold", "missing", "lower")}
        feature, partner, weight = [[n_features]], [[n_features + 1]], [[0.0]]
        for tree, root in zip(self._trees, self._root.tolist(), strict=False):
            is_leaf, own = tree.children_left < 0, np.arange(tree.node_count)
            parts["left"].append(root + np.where(is_leaf, own, tree.children_left))
            parts["right"].append(root + np.where(is_leaf, own, tree.children_right))
            parts["count"].append(np.diff(tree.term_ptr))
            parts["threshold"].append(tree.threshold)
            parts["missing"].append(tree.missing_go_left != 0)
            lower = tree.lower_threshold
            parts["lower"].append(np.full(len(own), -np.inf) if lower is None else lower)
            feature.append(tree.term_feature)
            weight.append(tree.term_weight)
            other = tree.term_partner
            other = np.full(len(tree.term_weight), -1) if other is None else other
            partner.append(np.where(other >= 0, other, n_features + 1))
        arrays = {key: np.concatenate(part) for key, part in parts.items()}
        arrays["start"] = np.cumsum(arrays["count"]) - arrays["count"] + 1
        self._max_terms = max(int(arrays["count"].max()), 1)
        arrays |= {"feature": np.concatenate(feature), "partner": np.concatenate(partner)}
        arrays |= {"weight": np.concatenate(weight)}
        if (arrays["partner"] > n_features).all():
            del arrays["partner"]
        if not np.isfinite(arrays["lower"]).any():
            del arrays["lower"]
        names = {key: graph.const(array) for key, array in arrays.items() if key not in _NAMED}
        # In the file, numbers of features have two bytes where that is enough.
        small = np.uint16 if n_features + 2 <= 2**16 else np.int32
        for key in _NAMED & arrays.keys():
            names[key] = graph.cast(graph.const(arrays[key], small), INT32)
        return names | {"root": graph.const(self._root[:-1])}
