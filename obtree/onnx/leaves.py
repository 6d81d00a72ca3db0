"""What leaves hold, as tables, and the sums of it over trees in the order of the package.

A *place* is the row of a leaf in the tables. Leaves that predict the same share one, unless they
have models, whose terms lie end to end: the terms of a place are ``count`` from ``start`` on.
"""

import numpy as np

from obtree.onnx.graph import DOUBLE, FLOAT, INT64
from obtree.tree.leaf_models import ConstantLeaf, LinearGaussianLeaf, LinearLeaf
from obtree.tree.predict import PROBABILITY_FLOOR


class LeafTable:
    """The leaves of the trees of one group.

    Parameters
    ----------
    trees : list of Tree
        For shifted features.
    combine : {"average", "vote", "product"}

    Attributes
    ----------
    slots : list of int64 ndarray of shape (n_nodes,)
        For each tree the places of its leaves; -1 at other nodes.
    """

    def __init__(self, trees, combine):
        self._n_outputs = trees[0].n_outputs
        self._n_classes = trees[0].n_classes
        self._max_n_classes = trees[0].max_n_classes
        self._n_values = self._n_outputs * self._max_n_classes
        self._n_features = trees[0].n_features
        self._combine = combine
        self._trees = trees
        kinds = {tree.leaf_kind for tree in trees} - {ConstantLeaf}
        self._kind = kinds.pop() if kinds else ConstantLeaf
        self._values = None
        self.slots = self._number_leaves()

    def _number_leaves(self):
        """Give leaves their places."""
        known, slots, n_known = {}, [], 0
        values = []
        for tree in self._trees:
            leaf = np.flatnonzero(tree.children_left < 0)
            vectors = self._transform(tree.value.reshape(tree.node_count, -1)[leaf])
            own = np.full(tree.node_count, -1, dtype=np.int64)
            if self._kind is not ConstantLeaf:
                own[leaf] = np.arange(n_known, n_known + len(leaf))
                n_known += len(leaf)
                values.append(vectors)
            else:
                for node, vector in zip(leaf.tolist(), vectors, strict=True):
                    own[node] = known.setdefault(vector.tobytes(), len(known))
                    if own[node] == len(values):
                        values.append(vector[None])
            slots.append(own)
        self._values = np.concatenate(values)
        return slots

    def _transform(self, vectors):
        """Return what is added up, of what leaves predict."""
        if self._combine == "vote":
            shape = (-1, self._n_outputs, self._max_n_classes)
            best = vectors.reshape(shape).argmax(axis=2)
            votes = best[:, :, None] == np.arange(self._max_n_classes)
            return votes.astype(np.float64).reshape(vectors.shape)
        if self._combine == "product":
            return np.log(np.maximum(vectors, PROBABILITY_FLOOR))
        return vectors

    def add_up(self, graph, features, places):
        """Add the sums over trees.

        Parameters
        ----------
        graph : Graph
        features : Features
        places : str
            int64 (n_rows, n_trees).

        Returns
        -------
        str
            float64 (n_rows, n_values), divided or normalised as trees are combined.
        """
        zeros = features.full(graph, 0.0, self._n_values, np.float64)
        values = graph.const(self._values)
        padded, models = None, None
        if self._kind is not ConstantLeaf:
            padded, models = features.padded(graph), self._join_models(graph)
        body = graph.body()
        total, place = body.name("total"), body.name("place")
        own = body.op("Gather", values, place, axis=0)
        if self._kind is LinearLeaf:
            own = self._add_linear(body, padded, models, place, own)
        elif self._kind is LinearGaussianLeaf:
            own = self._add_lines(body, padded, models, place, own)
        added = body.op("Add", total, own)
        shape = [None, self._n_values]
        attribute = body.finish(
            [(total, DOUBLE, shape), (place, INT64, [None])], [(added, DOUBLE, shape)]
        )
        columns = graph.op("Transpose", places, perm=[1, 0])
        total = graph.op("Scan", zeros, columns, body=attribute, num_scan_inputs=1)
        if self._combine == "product":
            return normalise(graph, total, self._n_classes)
        if len(self._trees) == 1:
            return total
        return graph.op("Div", total, graph.const(float(len(self._trees)), np.float64))

    # ---- models of leaves --------------------------------------------------------------------

    def _join_models(self, graph):
        """Lay the models of all leaves end to end; return names of constants."""
        is_linear = self._kind is LinearLeaf
        prefix = "leaf" if is_linear else "leaf_line"
        count, feature, weight, centre = [], [[self._n_features]], [], [[0.0]]
        weight.append(np.zeros((1, self._n_values)))
        by_node = {"intercept": []} if is_linear else {"mean": [], "low": [], "high": []}
        for tree in self._trees:
            leaf = np.flatnonzero(tree.children_left < 0)
            if tree.leaf_kind is ConstantLeaf:
                count.append(np.zeros(len(leaf), dtype=np.int64))
                vectors = tree.value.reshape(tree.node_count, -1)[leaf]
                for rows in by_node.values():
                    rows.append(vectors)
                continue
            arrays = {name: getattr(tree, f"{prefix}_{name}") for name in ("ptr", *by_node)}
            count.append(np.diff(arrays["ptr"])[leaf])
            # Nodes that split have no terms, and numbers grow from leaf to leaf.
            feature.append(getattr(tree, f"{prefix}_feature"))
            weight.append(getattr(tree, f"{prefix}_weight").reshape(-1, self._n_values))
            if not is_linear:
                centre.append(tree.leaf_line_centre)
            for name, rows in by_node.items():
                rows.append(arrays[name][leaf])
        count = np.concatenate(count)
        self._max_terms = max(int(count.max(initial=0)), 1)
        tables = {
            "count": graph.const(count, np.int64),
            "start": graph.const(np.cumsum(count) - count + 1, np.int64),
            "feature": graph.const(np.concatenate(feature), np.int32),
            "weight": graph.const(np.concatenate(weight), np.float64),
        }
        if not is_linear:
            tables["centre"] = graph.const(np.concatenate(centre), np.float64)
        for name, rows in by_node.items():
            tables[name] = graph.const(np.concatenate(rows), np.float64)
        return tables

    def _sum_terms(self, body, padded, models, place):
        """Add the sums of the terms of each row's leaf, float64 (n_rows, n_values)."""
        steps = body.const(np.arange(self._max_terms))
        axis = body.const([1], np.int64)
        start = body.op("Unsqueeze", body.op("Gather", models["start"], place, axis=0), axis)
        count = body.op("Unsqueeze", body.op("Gather", models["count"], place, axis=0), axis)
        # Term 0 is of no leaf: it has weight 0 and reads a column of zeros.
        term = body.op(
            "Where",
            body.op("Less", steps, count),
            body.op("Add", start, steps),
            body.const(0, np.int64),
        )
        feature = body.op("Gather", models["feature"], term, axis=0)
        x = body.op("GatherElements", padded, feature, axis=1)
        if "centre" in models:
            x = body.op("Sub", x, body.op("Gather", models["centre"], term, axis=0))
            x = body.op("Where", body.op("IsNaN", x), body.const(0.0, np.float64), x)
        weight = body.op("Gather", models["weight"], term, axis=0)
        total = body.op("MatMul", body.op("Unsqueeze", x, axis), weight)
        return body.op("Squeeze", total, axis), count

    def _add_linear(self, body, padded, models, place, constant):
        """Add what linear leaves predict; the constant where that is not finite."""
        total, count = self._sum_terms(body, padded, models, place)
        score = body.op("Add", total, body.op("Gather", models["intercept"], place, axis=0))
        wrong = body.cast(body.op("Not", is_finite(body, score)), FLOAT)
        wrong = body.op("ReduceSum", wrong, body.const([1], np.int64), keepdims=1)
        is_known = body.op(
            "And",
            body.op("Equal", wrong, body.const(0.0, np.float32)),
            body.op("Greater", count, body.const(0, np.int64)),
        )
        if self._max_n_classes > 1:
            score = normalise(body, score, self._n_classes)
            score = self._transform_scores(body, score)
        return body.op("Where", is_known, score, constant)

    def _transform_scores(self, body, values):
        """What is added up, of probabilities."""
        if self._combine == "product":
            floor = body.const(PROBABILITY_FLOOR, np.float64)
            return body.op("Log", body.op("Max", values, floor))
        if self._combine != "vote":
            return values
        shape = body.const([-1, self._n_outputs, self._max_n_classes], np.int64)
        best = body.op("ArgMax", body.op("Reshape", values, shape), axis=2, keepdims=1)
        votes = body.op("Equal", best, body.const(np.arange(self._max_n_classes)))
        flat = body.const([-1, self._n_values], np.int64)
        return body.op("Reshape", body.cast(votes, DOUBLE), flat)

    def _add_lines(self, body, padded, models, place, constant):
        """Add the lines of leaves, between their bounds."""
        total, _ = self._sum_terms(body, padded, models, place)
        mean, low, high = (
            body.op("Gather", models[name], place, axis=0) for name in ("mean", "low", "high")
        )
        line = body.op("Add", mean, total)
        line = body.op("Where", is_finite(body, line), line, mean)
        return body.op("Min", body.op("Max", line, low), high)


def is_finite(graph, values):
    """Add which numbers are finite; NaN is not."""
    largest = graph.const(np.finfo(np.float64).max, np.float64)
    return graph.op("LessOrEqual", graph.op("Abs", values), largest)


def normalise(graph, scores, n_classes):
    """Add the probabilities of scores (n_rows, n_outputs * max_n_classes), output by output."""
    n_outputs, n_max = len(n_classes), int(n_classes.max())
    axis = graph.const([2], np.int64)
    cube = graph.op("Reshape", scores, graph.const([-1, n_outputs, n_max], np.int64))
    beyond = np.arange(n_max) >= np.asarray(n_classes)[:, None]
    if beyond.any():
        cube = graph.op("Where", graph.const(beyond), graph.const(-np.inf, np.float64), cube)
    top = graph.op("ReduceMax", cube, axis, keepdims=1)
    power = graph.op("Exp", graph.op("Sub", cube, top))
    total = graph.op("ReduceSum", power, axis, keepdims=1)
    flat = graph.const([-1, n_outputs * n_max], np.int64)
    return graph.op("Reshape", graph.op("Div", power, total), flat)
