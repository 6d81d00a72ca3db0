"""Pipelines in model files: our own steps as models, scikit-learn's transformers by skops.

skops writes objects without pickle, and reads back only types that it is told to trust. What it
trusts by default is more than is safe here: the nodes of scikit-learn's own trees are taken as they
come, and predicting with false ones may end the process. So a file is looked through before skops
sees it, and only transformers that compute with NumPy, plain values and arrays of plain types are
let pass. Whatever else a step consists of is named in an error, when it is saved and when it is
read.
"""

import importlib.metadata
import io
import json

import numpy as np
from sklearn import feature_selection
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from obtree.core.names import show
from obtree.estimators.archive import check_size
from obtree.estimators.io import FORMAT, check_format
from obtree.estimators.npy import from_bytes
from obtree.estimators.saved_places import check_places
from obtree.estimators.zip_reader import read_members

PIPELINE = "Pipeline"
HEADER_FIELDS = {"format", "obtree", "estimator", "steps", "transform_input"}
OWN, FOREIGN, NOTHING = "obtree", "skops", "passthrough"

#: Packages of scikit-learn whose transformers may be steps.
PACKAGES = (
    "compose",
    "decomposition",
    "feature_extraction",
    "feature_selection",
    "impute",
    "kernel_approximation",
    "pipeline",
    "preprocessing",
    "random_projection",
)
#: What else an object may be made of. Of NumPy and Python, skops itself trusts plain types only.
MODULES = ("builtins", "numpy", "numpy.core._multiarray_umath")  # the last before NumPy 2
#: Kinds of records of skops that make containers, plain values, arrays, types and objects.
LOADERS = {
    "BytesNode",
    "DTypeNode",
    "DictNode",
    "FunctionNode",
    "JsonNode",
    "ListNode",
    "NdArrayNode",
    "ObjectNode",
    "SetNode",
    "SliceNode",
    "TupleNode",
    "TypeNode",
}
#: What skops does not trust by itself: a name of a type, and scores that only fitting calls.
HARMLESS = [
    "numpy.dtype",
    "sklearn.compose._column_transformer._RemainderColsList",  # before scikit-learn 1.7, a list
    *(
        f"{score.__module__}.{score.__name__}"
        for score in (
            feature_selection.chi2,
            feature_selection.f_classif,
            feature_selection.f_regression,
            feature_selection.mutual_info_classif,
            feature_selection.mutual_info_regression,
        )
    ),
]
SCHEMA = "schema.json"
# skops is told how large a file may be, and does not ask for more than the file has.
_MAX_BYTES = 2**40


def is_pipeline(header):
    """Tell whether the header of a file is that of a pipeline."""
    return header.get("estimator") == PIPELINE


def describe_pipeline(pipeline, to_model):
    """Return what a model file holds of a fitted pipeline.

    Parameters
    ----------
    pipeline : Pipeline
    to_model : callable
        Turns an estimator of ours into the bytes of a model file, and anything else into None.

    Returns
    -------
    header : dict
        For JSON.
    arrays : dict of str to ndarray
        The bytes of each step.
    """
    steps, arrays = [], {}
    for k, (name, step) in enumerate(pipeline.steps):
        kind, data = NOTHING, None
        if step is not None and not (isinstance(step, str) and step == NOTHING):
            kind, data = OWN, to_model(step)
        if kind == OWN and data is None:
            kind, data = FOREIGN, _dump(name, step)
        steps.append([name, kind])
        if data is not None:
            arrays[f"step_{k}"] = np.frombuffer(data, dtype=np.uint8)
    if all(kind != OWN for _, kind in steps):
        raise ValueError(
            "no step of the Pipeline is an estimator of obtree, which a model file is for; "
            "skops.io.dump writes any other"
        )
    header = {
        "format": FORMAT,
        "obtree": importlib.metadata.version("obtree"),
        "estimator": PIPELINE,
        "steps": steps,
        "transform_input": pipeline.transform_input,
    }
    return header, arrays


def restore_pipeline(header, arrays, max_bytes, from_model):
    """Make a pipeline of what a file holds, trusting none of it.

    Parameters
    ----------
    header : dict
    arrays : dict of str to ndarray
    max_bytes : int
        Most bytes that all steps together may take.
    from_model : callable
        Undoes `to_model`: takes the bytes of a file and the most that it may take, and returns
        the estimator and what it takes.

    Returns
    -------
    pipeline : Pipeline
    """
    check_format(header, HEADER_FIELDS)
    steps = []
    if not isinstance(header["steps"], list) or not header["steps"]:
        raise ValueError(f"its steps are {show(header['steps'])}, expected names and kinds")
    for k, entry in enumerate(header["steps"]):
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
            raise ValueError(f"step {k} is {show(entry)}, expected a name and a kind")
        name, kind = entry
        step = kind
        if kind in (OWN, FOREIGN):
            data = arrays.pop(f"step_{k}")
            if data.dtype != "u1" or data.ndim != 1:
                raise ValueError(f"step {show(name)} is not made of bytes")
            read = from_model if kind == OWN else _load
            try:
                step, n_bytes = read(data.tobytes(), max_bytes)
            except ValueError as error:
                raise ValueError(f"its step {show(name)}: {error}") from error
            max_bytes -= n_bytes
        elif kind != NOTHING:
            raise ValueError(f"step {show(name)} is of the unknown kind {show(kind)}")
        steps.append((name, step))
    if arrays:
        raise ValueError(f"it holds {show(next(iter(arrays)))}, which belongs to no step")
    names = header["transform_input"]
    if names is not None and not (
        isinstance(names, list) and all(isinstance(each, str) for each in names)
    ):
        raise ValueError(f"transform_input is {show(names)}, expected None or a list of strings")
    return Pipeline(steps, transform_input=names)


def _dump(name, step):
    """Return a step of scikit-learn's as bytes, or say why it cannot be read again."""
    skops_io = _import_skops()
    try:
        data = skops_io.dumps(step)
        # What could not be read again is noticed now.
        _load(data, _MAX_BYTES)
    except Exception as error:  # skops raises errors of several kinds
        raise ValueError(
            f"step {show(name)} of the Pipeline, {show(step)}, cannot be saved to a model file: "
            f"{error}; skops.io.dump writes any pipeline, for those who trust its types"
        ) from error
    return data


def _load(data, max_bytes):
    """Read a step of scikit-learn's, once it is known to be one; return it and what it takes."""
    skops_io = _import_skops()
    n_bytes = _check_contents(data, max_bytes)
    try:
        step = skops_io.loads(data, trusted=HARMLESS)
    except Exception as error:  # whatever it is, the file was the cause
        raise ValueError(f"skops cannot read it: {error}") from error
    if not isinstance(step, BaseEstimator):
        raise ValueError(f"it is a {type(step).__name__}, expected an estimator")
    check_places(step)
    return step, n_bytes


def _import_skops():
    """Return `skops.io`, or say how to get it."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "model files of pipelines with steps of scikit-learn need skops, which is not "
            "installed; pip install 'obtree[skops]'"
        ) from error
    return skops.io


def _check_contents(data, max_bytes):
    """Refuse what skops wrote if it is more than transformers and plain values; return its size."""
    members = read_members(io.BytesIO(data), max_bytes)
    n_bytes = sum(map(len, members.values()))
    schema = members.pop(SCHEMA, b"")
    for name, member in members.items():
        from_bytes(name, member, any_order=True)
    check_size(schema, max_bytes)
    try:
        waiting = [json.loads(schema)]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its description cannot be parsed: {error}") from error
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
            if "__loader__" in part or "__class__" in part or "__module__" in part:
                _check_type(part)
    return n_bytes


def _check_type(part):
    """Refuse a record of skops that makes something else than a step may consist of."""
    module, kind, loader = (part.get(f"__{key}__") for key in ("module", "class", "loader"))
    if all(isinstance(word, str) for word in (module, kind, loader)) and loader in LOADERS:
        first, _, rest = module.partition(".")
        if module in MODULES or (first == "sklearn" and rest.partition(".")[0] in PACKAGES):
            return
    raise ValueError(
        f"it holds {show(f'{module}.{kind}')}; expected transformers of scikit-learn that consist "
        f"of numbers, text and dense arrays, from sklearn.{', '.join(PACKAGES)}"
    )
