"""Writing the nodes of a graph, one call for each, and the bodies of its loops and branches.

Constants stand in the main graph, whoever asks for them, and equal ones stand there once.
"""

import numpy as np
from onnx import GraphProto, TensorProto, helper, numpy_helper

#: The oldest set of operators that the graphs are written in.
MIN_OPSET = 18

#: Of ``ai.onnx.ml``: TreeEnsembleRegressor with thresholds in float64. skl2onnx finishes no model
#: that asks for more.
ML_OPSET = 3

#: Files of protobuf end here.
MAX_BYTES = 2**31 - 2**20

FLOAT, DOUBLE, INT32, INT64, BOOL = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.BOOL,
)


class Graph:
    """The main graph of a model that is being converted.

    Parameters
    ----------
    scope : skl2onnx Scope
        Knows which names are taken.
    container : skl2onnx ModelComponentContainer
        Takes the nodes.
    title : str
        What is converted, for messages.
    """

    def __init__(self, scope, container, title):
        self._scope = scope
        self._container = container
        self._title = title
        self._known = {}
        self._constants = set()
        self._size = 0
        if container.target_opset < MIN_OPSET:
            raise ValueError(
                f"target_opset={container.target_opset} is too low for {title}; expected at least "
                f"{MIN_OPSET}"
            )

    def name(self, hint):
        """Return a name that nothing else in the model has."""
        return self._scope.get_unique_variable_name(hint)

    def const(self, value, dtype=None):
        """Return the name of a constant.

        Parameters
        ----------
        value : array-like
        dtype : type, optional
            Of the constant; that of `value` by default.
        """
        array = np.ascontiguousarray(value, dtype=dtype).reshape(np.shape(value))
        key = array.dtype.str, array.shape, array.tobytes()
        if key in self._known:
            return self._known[key]
        self._size += array.nbytes
        if self._size > MAX_BYTES:
            raise ValueError(
                f"{self._title} has more than 2 GB of numbers, and a file of ONNX cannot hold "
                "them; expected fewer or smaller trees, see n_estimators, max_depth and "
                "min_samples_leaf"
            )
        name = self.name("table")
        self._container.add_initializer(name, None, None, numpy_helper.from_array(array))
        self._known[key] = name
        self._constants.add(name)
        return name

    def strings(self, values):
        """Return the name of a constant of strings, (n,)."""
        name = self.name("labels")
        encoded = [str(value).encode("utf-8") for value in values]
        self._container.add_initializer(name, TensorProto.STRING, [len(encoded)], encoded)
        return name

    def op(self, kind, *inputs, n_outputs=1, output=None, **attributes):
        """Add a node.

        Parameters
        ----------
        kind : str
            Operator.
        *inputs : str
            Names.
        n_outputs : int, default=1
        output : str, optional
            Name of the only output; a new one by default.
        **attributes
            Of the operator.

        Returns
        -------
        str or list of str
            The names of the outputs; a single one by itself.
        """
        outputs = [output] if output else [self.name(kind.lower()) for _ in range(n_outputs)]
        self._add(kind, list(inputs), outputs, attributes)
        return outputs[0] if n_outputs == 1 else outputs

    def _add(self, kind, inputs, outputs, attributes):
        bodies = [each for each in attributes.values() if isinstance(each, GraphProto)]
        captured = {name for body in bodies for name in _list_captured(body)} - self._constants
        if captured:
            inputs = self._tie(kind, inputs, sorted(captured))
        is_ml = kind in ("TreeEnsembleRegressor",)
        self._container.add_node(
            kind,
            inputs,
            outputs,
            op_domain="ai.onnx.ml" if is_ml else "",
            op_version=ML_OPSET if is_ml else self._container.target_opset,
            name=self._scope.get_unique_operator_name(kind),
            **attributes,
        )

    def _tie(self, kind, inputs, captured):
        """Return inputs that also depend on what bodies read of this graph.

        skl2onnx sorts nodes by their inputs, and does not look into bodies.
        """
        total = self.op("Size", captured[0])
        for name in captured[1:]:
            total = self.op("Add", total, self.op("Size", name))
        place = {"If": 0, "Loop": 1, "Scan": -1}[kind]
        if kind == "Scan":  # numbers of places
            none = self.op("Mul", total, self.const(0, np.int64))
            inputs[place] = self.op("Add", inputs[place], none)
        else:  # a condition
            exists = self.op("GreaterOrEqual", total, self.const(0, np.int64))
            inputs[place] = self.op("And", inputs[place], exists)
        return inputs

    def cast(self, name, to):
        """Add a conversion to another type."""
        return self.op("Cast", name, to=to)

    def any(self, flags):
        """Add what tells whether one of many flags is set, as a scalar."""
        total = self.op("ReduceSum", self.cast(flags, FLOAT), keepdims=0)
        return self.op("Greater", total, self.const(0.0, np.float32))

    def body(self):
        """Return a graph to be the body of a loop, or a branch, of this one."""
        return Body(self)

    def branch(self, condition, then, otherwise):
        """Add a choice between two names or bodies that have one output of the same type.

        Parameters
        ----------
        condition : str
        then, otherwise : callable
            Given a body, adds nodes and returns the name of the result.
        """
        branches = []
        for write in (then, otherwise):
            body = self.body()
            branches.append(body.finish([], [(write(body), None, None)]))
        return self.op("If", condition, then_branch=branches[0], else_branch=branches[1])


class Body(Graph):
    """The body of a loop or a branch: nodes of its own, and the constants of the main graph.

    Parameters
    ----------
    outer : Graph
    """

    def __init__(self, outer):
        self._outer = outer
        self._nodes = []

    def name(self, hint):
        """Return a name that nothing else in the model has."""
        return self._outer.name(hint)

    def const(self, value, dtype=None):
        """Return the name of a constant, which stands in the main graph."""
        return self._outer.const(value, dtype)

    def _add(self, kind, inputs, outputs, attributes):
        self._nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    def finish(self, inputs, outputs):
        """Return the body as an attribute of a node.

        Parameters
        ----------
        inputs, outputs : list of (str, int, list)
            Name, type and shape of each. Outputs that only pass on what is not of the body get a
            node of their own; a type may be None where the body's nodes tell it.
        """
        made = {name for node in self._nodes for name in node.output}
        values = []
        for name, kind, shape in outputs:
            own = name if name in made else self.op("Identity", name)
            if kind is None:
                value = helper.make_empty_tensor_value_info(own)
            else:
                value = helper.make_tensor_value_info(own, kind, shape)
            values.append(value)
        given = [helper.make_tensor_value_info(*each) for each in inputs]
        return helper.make_graph(self._nodes, self.name("body"), given, values)


def _list_captured(body):
    """Return the names that a body, or a body in it, reads and does not make."""
    own = {value.name for value in body.input}
    own |= {name for node in body.node for name in node.output}
    read = {name for node in body.node for name in node.input if name}
    for node in body.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                read |= _list_captured(attribute.g)
    return read - own
