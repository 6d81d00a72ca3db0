"""The rows as trees read them: float32, less a constant where the model has one.

Other numbers than float32 are rounded to float32 first, as `predict` does. NaN stays NaN.
"""

import numpy as np
from skl2onnx.common.data_types import Int64TensorType

from obtree.onnx.graph import DOUBLE, FLOAT

_INT64 = np.iinfo(np.int64)


class Features:
    """The features of a graph in the forms that are asked for, each made once.

    Parameters
    ----------
    graph : Graph
    variables : list of skl2onnx Variable
        Inputs, whose columns follow each other.
    n_features : int
    offset : float64 ndarray of shape (n_features,) or None
        What the model subtracts.

    Attributes
    ----------
    single : str
        float32 (n_rows, n_features).
    n_features : int
    """

    def __init__(self, graph, variables, n_features, offset):
        self.n_features = n_features
        start, parts = 0, []
        for variable in variables:
            shape = variable.type.shape
            width = n_features if len(variables) == 1 else shape[1]
            own = None if offset is None else offset[start : start + width]
            parts.append(_shift(graph, variable, own))
            start += width
        self.single = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)
        self._made = {}

    def double(self, graph):
        """Return the same in float64."""
        return self._make("double", lambda: graph.cast(self.single, DOUBLE))

    def missing(self, graph):
        """Return which values are missing, bool (n_rows, n_features)."""
        return self._make("missing", lambda: graph.op("IsNaN", self.single))

    def any_missing(self, graph):
        """Return whether some value is missing, a bool scalar."""
        return self._make("any", lambda: graph.any(self.missing(graph)))

    def clean(self, graph):
        """Return float64 (n_rows, n_features) with 0 in place of missing values."""
        zero = graph.const(0.0, np.float64)
        return self._make(
            "clean", lambda: graph.op("Where", self.missing(graph), zero, self.double(graph))
        )

    def clean_single(self, graph):
        """Return the same in float32."""
        zero = graph.const(0.0, np.float32)
        return self._make(
            "clean32", lambda: graph.op("Where", self.missing(graph), zero, self.single)
        )

    def padded(self, graph):
        """Return float64 (n_rows, n_features + 2), the last two columns being 0 and 1."""
        return self._make("padded", lambda: pad(graph, self.double(graph)))

    def n_rows(self, graph):
        """Return the number of rows, int64 (1,)."""
        return self._make("rows", lambda: graph.op("Shape", self.single, start=0, end=1))

    def full(self, graph, value, n_columns, dtype):
        """Return an array (n_rows, n_columns) of one value."""
        shape = graph.op("Concat", self.n_rows(graph), graph.const([n_columns], np.int64), axis=0)
        return graph.op("Expand", graph.const(value, dtype), shape)

    def _make(self, key, write):
        if key not in self._made:
            self._made[key] = write()
        return self._made[key]


def pad(graph, rows):
    """Add rows with two columns more, of 0 and of 1, float64."""
    begin = graph.const([0, 0, 0, 1], np.int64)
    wide = graph.op("Pad", rows, begin, graph.const(0.0, np.float64))
    return graph.op("Pad", wide, begin, graph.const(1.0, np.float64))


def _shift(graph, variable, offset):
    """Return one input as float32, less its offset."""
    if offset is None or not offset.any():
        return graph.cast(variable.full_name, FLOAT)
    exact = (offset == np.rint(offset)) & (np.abs(offset) < _INT64.max)
    if isinstance(variable.type, Int64TensorType) and exact.all():
        # Above 2^53 float64 would merge neighbours.
        moved = graph.op("Sub", variable.full_name, graph.const(offset, np.int64))
    else:
        wide = graph.cast(variable.full_name, DOUBLE)
        moved = graph.op("Sub", wide, graph.const(offset, np.float64))
    return graph.cast(moved, FLOAT)
