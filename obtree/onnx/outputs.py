"""What a converted model says: labels and probabilities, or numbers, and of which types.

The conventions are those of skl2onnx: results are float64 where the input is, else float32; a
classifier of several outputs has probabilities (n_outputs, n_rows, max_n_classes).
"""

import numpy as np
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from skl2onnx.common.utils_classifier import get_label_classes
from sklearn.utils.validation import check_is_fitted

from obtree.onnx.graph import DOUBLE, FLOAT

INPUTS = (BooleanTensorType, DoubleTensorType, FloatTensorType, Int64TensorType)


def choose_type(operator):
    """Return the type of what an operator predicts."""
    kinds = {type(variable.type) for variable in operator.inputs}
    return DoubleTensorType if DoubleTensorType in kinds else FloatTensorType


def check_inputs(operator):
    """Refuse inputs that are not the features of the model, and models that are not fitted."""
    model = operator.raw_operator
    name = type(model).__name__
    check_is_fitted(model)
    for variable in operator.inputs:
        if not isinstance(variable.type, INPUTS):
            expected = ", ".join(kind.__name__ for kind in INPUTS)
            raise TypeError(
                f"{name} reads {variable.type!r}; expected inputs of numbers, of the types "
                f"{expected}"
            )
    widths = [variable.type.shape[1:] for variable in operator.inputs]
    # Some converters do not tell how many columns there are.
    if all(len(width) == 1 and isinstance(width[0], int) for width in widths):
        n_features = sum(width[0] for width in widths)
        if n_features != model.n_features_in_:
            raise ValueError(
                f"{name} reads {n_features} features; expected {model.n_features_in_}, as it was "
                "fitted to"
            )


def shape_classifier(operator):
    """Set the types and shapes of labels and probabilities."""
    check_inputs(operator)
    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    labels = list_labels(operator)
    kind = StringTensorType if labels[0].dtype.kind == "O" else Int64TensorType
    n_max = max(len(own) for own in labels)
    single = model.n_outputs_ == 1
    operator.outputs[0].set_type(kind([n_rows] if single else [n_rows, len(labels)]))
    number = choose_type(operator)
    options = operator.scope_inst.get_options(model, {"zipmap": True})
    if options["zipmap"] is True or isinstance(options["zipmap"], dict):
        number = FloatTensorType  # maps of ONNX hold no others
    operator.outputs[1].set_type(
        number([n_rows, n_max] if single else [len(labels), n_rows, n_max])
    )


def shape_regressor(operator):
    """Set the type and shape of predicted numbers."""
    check_inputs(operator)
    n_rows = operator.inputs[0].get_first_dimension()
    kind = choose_type(operator)
    operator.outputs[0].set_type(kind([n_rows, operator.raw_operator.n_outputs_]))


def list_labels(operator):
    """Return the class labels of each output, int64 or strings as objects.

    Parameters
    ----------
    operator : skl2onnx Operator

    Returns
    -------
    list of ndarray
    """
    model = operator.raw_operator
    labels = get_label_classes(operator.scope_inst, model)
    return [_name_labels(own, model) for own in (labels if model.n_outputs_ > 1 else [labels])]


def _name_labels(labels, model):
    """Return labels of one output as ONNX can name them."""
    labels = np.asarray(labels)
    values = labels.tolist()
    if all(isinstance(value, str) for value in values):
        return labels.astype(object)
    if all(isinstance(value, (bool, int, float)) and _is_whole(value) for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    raise ValueError(
        f"classes of {type(model).__name__} are {values[:3]!r}...; expected whole numbers of "
        "64 bits or strings, since ONNX has no other labels"
    )


def _is_whole(value):
    """Whether a number is a whole one of 64 bits."""
    return -(2**63) <= value < 2**63 and value == int(value)


def add_classes(graph, operator, values, n_outputs, n_max, scores=None):
    """Add labels and probabilities.

    Parameters
    ----------
    graph : Graph
    operator : skl2onnx Operator
    values : str
        Probabilities, float64 (n_rows, n_outputs * n_max).
    n_outputs, n_max : int
    scores : str, optional
        What tells the class, of the same shape; the probabilities by default.
    """
    cube = graph.const([-1, n_outputs, n_max], np.int64)
    best = graph.op("Reshape", values if scores is None else scores, cube)
    best = graph.op("ArgMax", best, axis=2, keepdims=0)
    parts = []
    for k, labels in enumerate(list_labels(operator)):
        own = graph.op("Gather", best, graph.const([k], np.int64), axis=1)
        is_text = labels.dtype.kind == "O"
        names = graph.strings(labels) if is_text else graph.const(labels, np.int64)
        parts.append(graph.op("Gather", names, own, axis=0))
    label, proba = (output.full_name for output in operator.outputs[:2])
    to = DOUBLE if isinstance(operator.outputs[1].type, DoubleTensorType) else FLOAT
    if n_outputs == 1:
        graph.op("Reshape", parts[0], graph.const([-1], np.int64), output=label)
    else:
        graph.op("Concat", *parts, axis=1, output=label)
        values = graph.op("Transpose", graph.op("Reshape", values, cube), perm=[1, 0, 2])
    graph.op("Cast", values, to=to, output=proba)


def add_numbers(graph, operator, values):
    """Add predicted numbers, float64 (n_rows, n_outputs)."""
    to = DOUBLE if isinstance(operator.outputs[0].type, DoubleTensorType) else FLOAT
    graph.op("Cast", values, to=to, output=operator.outputs[0].full_name)
