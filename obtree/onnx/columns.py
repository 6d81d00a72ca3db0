"""Few planes: all of them as columns, by one product of matrices, which trees then compare.

Nodes that test the same sum share a column. A product of two features is a feature more. A node
that asks for an interval has a column of its own, which says 0 inside of it and 1 outside.
"""

import numpy as np

from obtree.onnx.ensemble import Ensemble
from obtree.onnx.graph import FLOAT

#: Most columns, and most weights of a matrix with all of them.
MAX_COLUMNS = 1024
MAX_WEIGHTS = 2**23


class Columns:
    """The sums that some trees test, each once.

    Parameters
    ----------
    trees : list of Tree
        For shifted features.
    """

    def __init__(self, trees):
        self._trees = trees
        self._known = {}
        self._planes = []
        self._intervals = []
        self._column = []
        self._threshold = []
        self.is_small = self._collect()

    def _collect(self):
        """Number the columns; False once there are too many."""
        for tree in self._trees:
            column = np.zeros(tree.node_count, dtype=np.int64)
            threshold = tree.threshold.copy()
            for node in np.flatnonzero(tree.children_left >= 0).tolist():
                column[node] = self._number(tree, node)
                if column[node] < 0:
                    threshold[node] = 0.5
                if len(self._known) > MAX_COLUMNS:
                    return False
            self._column.append(column)
            self._threshold.append(threshold)
        inputs = {pair for terms in self._planes for pair in zip(*terms[:2], strict=True)}
        self._inputs = sorted(inputs)
        return len(inputs) * max(len(self._planes), 1) <= MAX_WEIGHTS

    def _number(self, tree, node):
        """Return the column of a node; those of intervals count down from -1."""
        terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
        feature, weight = tree.term_feature[terms], tree.term_weight[terms]
        partner = np.full(len(feature), -1, dtype=np.int32)
        if tree.term_partner is not None:
            partner = tree.term_partner[terms]
        key = feature.tobytes() + partner.tobytes() + weight.tobytes()
        lower = -np.inf if tree.lower_threshold is None else tree.lower_threshold[node]
        plane = self._known.get(key)
        if plane is None:
            plane = self._known[key] = len(self._planes)
            self._planes.append((feature.tolist(), partner.tolist(), weight.tolist()))
        if lower == -np.inf:
            return plane
        key = plane, lower, tree.threshold[node]
        if key not in self._known:
            self._intervals.append(key)
            self._known[key] = -len(self._intervals)
        return self._known[key]

    def write(self, graph, features, slots):
        """Add the walk of all rows.

        Parameters
        ----------
        graph : Graph
        features : Features
        slots : list of int64 ndarray
            Places of the leaves of each tree.

        Returns
        -------
        str
            Places, int64 (n_rows, n_trees).
        """
        sums = self._add_sums(graph, features)
        if self._intervals:
            sums = graph.op("Concat", sums, self._add_intervals(graph, sums), axis=1)
        ensemble = Ensemble()
        for tree, column, threshold, own in zip(
            self._trees, self._column, self._threshold, slots, strict=True
        ):
            column = np.where(column >= 0, column, len(self._planes) - 1 - column)
            ensemble.add_tree(tree, column, threshold, own)
        return ensemble.write(graph, sums, np.float64)

    def _add_sums(self, graph, features):
        """Add the sums of all planes, NaN where a value is missing."""
        inputs = np.array(self._inputs, dtype=np.int64).reshape(-1, 2)
        weight = np.zeros((max(len(inputs), 1), max(len(self._planes), 1)))
        number = {pair: k for k, pair in enumerate(self._inputs)}
        # Terms of weight 0 are missing when their feature is.
        reads = np.zeros(weight.shape, dtype=bool)
        for k, (feature, partner, weights) in enumerate(self._planes):
            for pair, own in zip(zip(feature, partner, strict=True), weights, strict=True):
                weight[number[pair], k] += own
                reads[number[pair], k] = True
        if not len(inputs):
            inputs = np.array([[0, -1]])
        double, missing = self._read_inputs(graph, features, inputs)
        zero = graph.const(0.0, np.float64)
        matrix = graph.const(weight)
        sums = graph.op("MatMul", graph.op("Where", missing, zero, double), matrix)

        def add_missing(body):
            if (reads == (weight != 0.0)).all():
                readers = body.op("Not", body.op("Equal", matrix, zero))
            else:
                readers = body.const(reads)
            found = body.op("MatMul", body.cast(missing, FLOAT), body.cast(readers, FLOAT))
            lacks = body.op("Greater", found, body.const(0.5, np.float32))
            return body.op("Where", lacks, body.const(np.nan, np.float64), sums)

        return graph.branch(features.any_missing(graph), add_missing, lambda body: sums)

    @staticmethod
    def _read_inputs(graph, features, inputs):
        """Add what is multiplied by weights, features and products, and where it is missing."""
        double, (first, second) = features.double(graph), inputs.T
        if (second < 0).all() and np.array_equal(first, np.arange(features.n_features)):
            return double, features.missing(graph)
        taken = graph.op("Gather", double, graph.const(first), axis=1)
        if (second >= 0).any():
            other = graph.op(
                "Gather",
                features.padded(graph),
                graph.const(np.where(second >= 0, second, features.n_features + 1)),
                axis=1,
            )
            taken = graph.op("Mul", taken, other)
        return taken, graph.op("IsNaN", taken)

    def _add_intervals(self, graph, sums):
        """Add columns that say whether sums are outside of intervals, NaN if missing."""
        plane, lower, upper = (np.array(part) for part in zip(*self._intervals, strict=True))
        own = graph.op("Gather", sums, graph.const(plane, np.int64), axis=1)
        inside = graph.op(
            "And",
            graph.op("LessOrEqual", own, graph.const(upper, np.float64)),
            graph.op("Greater", own, graph.const(lower, np.float64)),
        )
        zero, one = graph.const(0.0, np.float64), graph.const(1.0, np.float64)
        outside = graph.op("Where", inside, zero, one)
        return graph.op("Where", graph.op("IsNaN", own), own, outside)
