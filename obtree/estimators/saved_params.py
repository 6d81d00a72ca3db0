"""Parameters of estimators in the header of a model file, and back.

What comes back is not trusted. Only splitters of obtree are made with parameters from the
file, unless the caller allows it: those of other packages run code of theirs when they
are imported and made.
"""

import numbers

import numpy as np

from obtree.core.names import show
from obtree.estimators.base import BaseModel
from obtree.forest.leaves import LeafFitter
from obtree.splitter.registry import find_splitter, is_plugin, name_splitter
from obtree.splitter.saved import SavedSplitter
from obtree.tree.tree import Tree


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
    splitter = params.pop(given)
    if isinstance(splitter, (Tree, BaseModel)):
        splitter = getattr(type(estimator)(), given)
    if isinstance(params.get("leaf"), LeafFitter):
        # Prediction does not need it, and a refit will say that the name is not known.
        params["leaf"] = params["leaf"].kind.name
    if callable(params.get("oob_score")):
        params["oob_score"] = True
    if not isinstance(params["random_state"], numbers.Integral):
        params["random_state"] = None
    plain = {name: _encode_value(name, value) for name, value in params.items()}
    return plain | {given: _encode_splitter(splitter)}


def decode_params(params, kind, allow_plugins):
    """Undo `encode_params`.

    Parameters
    ----------
    params : object
        From a file.
    kind : type
        Class of the estimator.
    allow_plugins : bool
        Whether splitters of other packages may be imported and made.

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
    splitter = params[given]
    if splitter not in (defaults[given], *getattr(kind, "_own_starts", ())):
        splitter = _decode_splitter(given, splitter, allow_plugins)
    plain = {name: _decode_value(name, value) for name, value in params.items() if name != given}
    return plain | {given: splitter}


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


def _encode_splitter(splitter):
    """Return the name of a splitter and, for an object, its parameters."""
    if isinstance(splitter, str):
        return splitter
    if isinstance(splitter, SavedSplitter):
        name, params = splitter.name, splitter.params
        if params is None:
            return name
    else:
        kind = splitter if isinstance(splitter, type) else type(splitter)
        name = name_splitter(kind)
        if name is None:
            # Prediction does not need it, and a refit will say that the name is not known.
            return kind.__name__
        if kind is splitter:
            return name
        params = splitter.get_params()
    return {
        "name": name,
        "params": {key: _encode_value(key, value) for key, value in params.items()},
    }


def _decode_splitter(given, splitter, allow_plugins):
    """Undo `_encode_splitter`; one that may not be made, or cannot, stays a name."""
    name, params = splitter, None
    if isinstance(splitter, dict):
        name, params = splitter["name"], splitter["params"]
        if not isinstance(name, str):
            raise ValueError(f"the name of the splitter is {show(name)}")
        if not isinstance(params, dict):
            raise ValueError(f"the parameters of splitter {show(name)} are {show(params)}")
        params = {key: _decode_value(key, value) for key, value in params.items()}
    if not isinstance(name, str):
        raise ValueError(f"{given} is {show(name)}, expected a name, or a name and parameters")
    if is_plugin(name) and not allow_plugins:
        return SavedSplitter(name, params)
    if params is None:
        return name
    try:
        kind = find_splitter(name)
    except (ValueError, ImportError):
        return SavedSplitter(name, params)
    try:
        return kind(**params)
    except Exception as error:  # whatever another package raises, the file was the cause
        raise ValueError(f"splitter {name!r} cannot be made: {error}") from error
