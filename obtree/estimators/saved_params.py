"""Parameters of estimators in the header of a model file, and back.

What comes back is not trusted. Only splitters and leaf fitters of obtree are made with parameters
from the file, unless the caller allows it: those of other packages run code of theirs when they
are imported and made.
"""

import numbers

import numpy as np

from obtree.core.names import show
from obtree.core.saved import SavedPart
from obtree.estimators.base import BaseModel
from obtree.forest import leaf_fitter
from obtree.splitter import registry
from obtree.tree.tree import Tree

# What parameters may hold that is made of a class: how its name, its class and whether another
# package has it are found.
_PARTS = {
    "splitter": (registry.name_splitter, registry.find_splitter, registry.is_plugin),
    "leaf": (leaf_fitter.name_fitter, leaf_fitter.FITTERS.__getitem__, leaf_fitter.is_plugin),
}


def encode_params(estimator):
    """Return the parameters of an estimator in a form that JSON can hold.

    Parameters
    ----------
    estimator : estimator object

    Returns
    -------
    params : dict
    """
    params = estimator.get_params(deep=False)
    params.pop("n_jobs", None)
    given = estimator._splitter_param
    if isinstance(params[given], (Tree, BaseModel)):
        params[given] = getattr(type(estimator)(), given)
    if callable(params.get("oob_score")):
        params["oob_score"] = True
    if not isinstance(params["random_state"], numbers.Integral):
        params["random_state"] = None
    parts = {given: "splitter", "leaf": "leaf"}
    return {
        name: _encode_part(parts[name], value) if name in parts else _encode_value(name, value)
        for name, value in params.items()
    }


def decode_params(params, kind, allow_plugins):
    """Undo `encode_params`.

    Parameters
    ----------
    params : object
        From a file.
    kind : type
        Class of the estimator.
    allow_plugins : bool
        Whether splitters and leaf fitters of other packages may be imported and made.

    Returns
    -------
    params : dict
        Keyword arguments of the class.
    """
    if not isinstance(params, dict):
        raise ValueError(f"its parameters are {show(params)}, expected names and values")
    defaults = kind().get_params(deep=False)
    unknown = sorted(params.keys() - (defaults.keys() - {"n_jobs"}))
    if unknown:
        raise ValueError(f"unknown parameter {show(unknown[0])}")
    given = kind._splitter_param
    parts = {given: "splitter", "leaf": "leaf"}
    if params[given] in (defaults[given], *getattr(kind, "_own_starts", ())):
        parts.pop(given)
    return {
        name: _decode_part(name, parts[name], value, allow_plugins)
        if name in parts
        else _decode_value(name, value)
        for name, value in params.items()
    }


def _encode_value(name, value):
    """Return one parameter in a form that JSON can hold; dicts become pairs."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_encode_value(name, item) for item in value]
    if isinstance(value, dict):
        pairs = [[_encode_value(name, part) for part in item] for item in value.items()]
        return {"pairs": pairs}
    raise ValueError(
        f"{name}={show(value)} cannot be saved; expected numbers, strings, lists or dicts"
    )


def _decode_value(name, value):
    """Undo `_encode_value`; how deep values go was checked when the header was parsed."""
    if isinstance(value, list):
        return [_decode_value(name, item) for item in value]
    if not isinstance(value, dict):
        return value
    pairs = value["pairs"]
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], (list, dict))
        for pair in pairs
    ):
        raise ValueError(f"{name} has pairs {show(pairs)}, expected keys and values")
    return {key: _decode_value(name, item) for key, item in pairs}


def _encode_part(what, part):
    """Return the name of a part and, for an object, its parameters; of several, a list."""
    if isinstance(part, str):
        return part
    if isinstance(part, (list, tuple)):
        return [_encode_part(what, item) for item in part]
    if isinstance(part, SavedPart):
        name, params = part.name, part.params
        if params is None:
            return name
    else:
        kind = part if isinstance(part, type) else type(part)
        name = _PARTS[what][0](kind)
        if name is None:
            # Prediction does not need it, and a refit will say that the name is not known.
            return kind.__name__
        if kind is part:
            return name
        params = part.get_params()
    return {
        "name": name,
        "params": {key: _encode_value(key, value) for key, value in params.items()},
    }


def _decode_part(given, what, part, allow_plugins):
    """Undo `_encode_part`; one that may not be made, or cannot, stays a name."""
    if isinstance(part, list):
        return [_decode_part(given, what, item, allow_plugins) for item in part]
    name, params = part, None
    if isinstance(part, dict):
        name, params = part["name"], part["params"]
        if not isinstance(name, str):
            raise ValueError(f"the name of the {what} is {show(name)}")
        if not isinstance(params, dict):
            raise ValueError(f"the parameters of {what} {show(name)} are {show(params)}")
        params = {key: _decode_value(key, value) for key, value in params.items()}
    if not isinstance(name, str):
        raise ValueError(f"{given} is {show(name)}, expected a name, or a name and parameters")
    _, find, is_plugin = _PARTS[what]
    if is_plugin(name) and not allow_plugins:
        return SavedPart(what, name, params)
    if params is None:
        return name
    try:
        kind = find(name)
    except (LookupError, ValueError, ImportError):
        return SavedPart(what, name, params)
    try:
        return kind(**params)
    except Exception as error:  # whatever another package raises, the file was the cause
        raise ValueError(f"{what} {name!r} cannot be made: {error}") from error
