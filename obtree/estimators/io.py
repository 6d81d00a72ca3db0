"""Saving and loading fitted estimators without pickle.

A model file holds plain arrays and a JSON header with a format number, so that it can
be loaded from people one does not know: a damaged or hostile file raises ValueError
and can neither run code nor make predict read outside its arrays.

The nodes of all trees are laid end to end, one array per field, with the length that
each tree takes; a forest of a thousand trees is still some thirty arrays.

What is saved is what prediction needs, and the parameters. ``n_jobs`` belongs to the
machine and not to the model, and is not saved; a callable ``oob_score`` becomes True,
a RandomState instance None, and a fitted tree to start from the name of the default start.
"""

import importlib.metadata
import numbers

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obtree.core.names import show
from obtree.data.offset import have_same_offset
from obtree.estimators.archive import read_archive, write_archive
from obtree.estimators.bagging import BaseForestModel
from obtree.estimators.base import BaseModel
from obtree.estimators.disjunctive import (
    BaseDisjunctive,
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
)
from obtree.estimators.forest import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.estimators.nongreedy import NonGreedyTreeClassifier, NonGreedyTreeRegressor
from obtree.estimators.nongreedy_forest import NonGreedyForestClassifier, NonGreedyForestRegressor
from obtree.estimators.tao import TAOTreeClassifier, TAOTreeRegressor
from obtree.estimators.tao_forest import TAOForestClassifier, TAOForestRegressor
from obtree.estimators.tree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.optim.normal_form import form_from_state, form_to_state
from obtree.splitter.registry import find_splitter, name_splitter
from obtree.tree.state import tree_from_state, tree_to_state
from obtree.tree.tree import OPTIONAL_FIELDS, Tree

FORMAT = 1
MAX_BYTES = 2**32

ESTIMATORS = {
    kind.__name__: kind
    for kind in (
        ObliqueTreeClassifier,
        ObliqueTreeRegressor,
        ObliqueForestClassifier,
        ObliqueForestRegressor,
        DisjunctiveTreeClassifier,
        DisjunctiveForestClassifier,
        NonGreedyTreeClassifier,
        NonGreedyTreeRegressor,
        NonGreedyForestClassifier,
        NonGreedyForestRegressor,
        TAOTreeClassifier,
        TAOTreeRegressor,
        TAOForestClassifier,
        TAOForestRegressor,
    )
}


def save_model(path, estimator):
    """Write a fitted estimator to a file.

    Parameters
    ----------
    path : str or path-like
        File to write; replaced when it exists.
    estimator : estimator object
        A fitted obtree estimator. Class labels must be numbers, booleans or strings.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.obtree")
    ...     save_model(path, tree)
    ...     same = load_model(path)
    >>> bool((same.predict(X) == tree.predict(X)).all())
    True
    """
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise ValueError(
            f"{name} cannot be saved to a model file; expected one of {', '.join(ESTIMATORS)}"
        )
    check_is_fitted(estimator)
    classes, kinds = _encode_classes(estimator._list_classes() or [])
    names = getattr(estimator, "feature_names_in_", None)
    header = {
        "format": FORMAT,
        "obtree": importlib.metadata.version("obtree"),
        "estimator": name,
        "params": _encode_params(estimator),
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else [str(column) for column in names],
        "max_features": estimator.max_features_,
        "class_kinds": kinds,
    }
    seeds = [child.random_state for child in getattr(estimator, "estimators_", ())]
    arrays = {f"classes_{k}": found for k, found in enumerate(classes)}
    arrays["seeds"] = np.array(seeds, dtype=np.uint32)
    to_state = form_to_state if isinstance(estimator, BaseDisjunctive) else tree_to_state
    arrays.update(_pack_states([to_state(tree) for tree in estimator._list_trees()]))
    write_archive(path, header, arrays)


def load_model(path, *, max_bytes=MAX_BYTES):
    """Read a fitted estimator from a file written by `save_model`.

    Parameters
    ----------
    path : str or path-like
        File to read.
    max_bytes : int, default=2**32
        Refuse a file whose contents take more memory.

    Returns
    -------
    estimator : estimator object
        Ready to predict.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.obtree"
    ...     save_model(path, ObliqueTreeClassifier(random_state=0).fit(X, y))
    ...     tree = load_model(path)
    >>> tree.predict(X[:2])
    array([0, 0])
    """
    header, arrays = read_archive(path, max_bytes)
    try:
        return _build_estimator(header, arrays)
    except (KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        text = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is not a valid model: {text}") from error


def _build_estimator(header, arrays):
    """Make an estimator of what the file holds, trusting none of it."""
    if header["format"] != FORMAT:
        raise ValueError(
            f"it has format {header['format']!r}, this version of obtree reads format {FORMAT}"
        )
    kind = ESTIMATORS.get(header["estimator"])
    if kind is None:
        raise ValueError(f"unknown estimator {header['estimator']!r}")
    estimator = kind(**_decode_params(header["params"], kind))
    _restore_features(estimator, header)
    seeds = arrays.pop("seeds")
    classes = _decode_classes(header["class_kinds"], arrays)
    soft = isinstance(estimator, BaseDisjunctive)
    from_state, check = (form_from_state, _check_form) if soft else (tree_from_state, _check_tree)
    trees = [from_state(state) for state in _unpack_states(arrays)]
    for tree in trees:
        check(tree, trees[0], estimator.n_features_in_, classes)
    max_features = _check_count("max_features", header["max_features"])
    if not isinstance(estimator, BaseForestModel):
        (tree,) = trees
        estimator._store_tree(tree, classes, max_features)
        return estimator
    if not trees or seeds.shape != (len(trees),) or seeds.dtype != np.uint32:
        raise ValueError(f"{len(trees)} trees with {seeds.size} seeds")
    estimator._store_forest(
        estimator._wrap_trees(trees, seeds, classes, max_features),
        trees[0].n_outputs,
        classes,
        max_features,
    )
    # A warm start continues with trees of fresh seeds.
    estimator._entropy = int(np.random.SeedSequence(seeds).generate_state(1)[0])
    return estimator


def _restore_features(estimator, header):
    """Set the fitted attributes that describe X."""
    estimator.n_features_in_ = _check_count("n_features", header["n_features"])
    names = header["feature_names"]
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("feature names must be strings")
    if len(names) != estimator.n_features_in_:
        raise ValueError(f"{len(names)} feature names for {estimator.n_features_in_} features")
    estimator.feature_names_in_ = np.array(names, dtype=object)


def _check_count(name, value):
    """Return a positive integer from the header."""
    if type(value) is not int or not 0 < value < 2**31:
        raise ValueError(f"{name} is {value!r}, expected a positive integer")
    return value


def _check_tree(tree, first, n_features, classes):
    """Refuse a tree that does not fit the estimator or the other trees."""
    n_classes = [1] * tree.n_outputs if classes is None else [len(found) for found in classes]
    if (
        tree.n_features != n_features
        or list(tree.n_classes) != n_classes
        or tree.value.shape[1:] != first.value.shape[1:]
        or not have_same_offset(tree.feature_offset, first.feature_offset)
    ):
        raise ValueError("its trees disagree with each other or with its header")


def _check_form(form, first, n_features, classes):
    """Refuse a disjunctive normal form that does not fit the estimator."""
    if classes is None or [form.n_classes] != [len(found) for found in classes]:
        raise ValueError("its forms and its class labels disagree")
    same_offset = have_same_offset(form.feature_offset, first.feature_offset)
    if form.n_features != n_features or not same_offset:
        raise ValueError("its forms disagree with its header")


def _pack_states(states):
    """Lay the arrays of all trees end to end.

    Parameters
    ----------
    states : list of dict
        Values are arrays or integers. An array that some states lack has length 0 there.

    Returns
    -------
    arrays : dict of str to ndarray
        ``tree.<key>`` and, for arrays, ``length.<key>`` with one entry per tree.
    """
    arrays = {}
    examples = {key: value for state in states for key, value in state.items()}
    for key, example in examples.items():
        if isinstance(example, np.ndarray):
            column = [state.get(key, example[:0]) for state in states]
            arrays[f"tree.{key}"] = np.concatenate(column)
            arrays[f"length.{key}"] = np.array([len(values) for values in column], dtype=np.int64)
        else:
            arrays[f"tree.{key}"] = np.array([state[key] for state in states], dtype=np.int64)
    return arrays


def _unpack_states(arrays):
    """Undo `_pack_states`."""
    columns = {}
    for name, values in arrays.items():
        part, _, key = name.partition(".")
        if part == "tree":
            columns[key] = _split_column(key, values, arrays.get(f"length.{key}"))
    n_trees = {len(column) for column in columns.values()}
    if len(n_trees) != 1:
        raise ValueError("its arrays describe different numbers of trees")
    return [
        {
            key: column[t]
            for key, column in columns.items()
            if key not in OPTIONAL_FIELDS or len(column[t])
        }
        for t in range(n_trees.pop())
    ]


def _split_column(key, values, lengths):
    """Cut one field into trees."""
    if lengths is None:
        return values.tolist()
    if lengths.ndim != 1 or lengths.dtype.kind != "i" or values.ndim == 0 or (lengths < 0).any():
        raise ValueError(f"the lengths of {key} are not valid")
    # Python integers, which do not overflow.
    if sum(lengths.tolist()) != len(values):
        raise ValueError(f"the lengths of {key} do not add up to {len(values)}")
    return np.split(values, np.cumsum(lengths)[:-1])


def _encode_classes(classes):
    """Return labels as plain arrays, and whether each was an array of objects."""
    plain, kinds = [], []
    for found in classes:
        labels = found
        if found.dtype.kind == "O":
            labels = np.array(found.tolist())
        if (
            labels.dtype.kind not in "biufU"
            or labels.shape != found.shape
            or labels.tolist() != found.tolist()
            or any(map(_differ_in_type, labels.tolist(), found.tolist()))
        ):
            raise ValueError(
                f"class labels such as {show(found.flat[0])} of type "
                f"{type(found.flat[0]).__name__} cannot be saved; expected numbers, booleans "
                "or strings, all of one type"
            )
        plain.append(labels)
        kinds.append("object" if found.dtype.kind == "O" else "plain")
    return plain, kinds


def _differ_in_type(a, b):
    """Tell whether two equal labels would print differently, as 1 and True do."""
    return type(a) is not type(b)


def _decode_classes(kinds, arrays):
    """Undo `_encode_classes`; None when there are no classes."""
    classes = []
    for k, kind in enumerate(kinds):
        found = arrays[f"classes_{k}"]
        if found.ndim != 1 or len(np.unique(found)) != len(found) or len(found) == 0:
            raise ValueError("its class labels are not distinct")
        classes.append(found.astype(object) if kind == "object" else found.copy())
    return classes or None


def _encode_params(estimator):
    """Return the parameters in a form that JSON can hold."""
    params = estimator.get_params(deep=False)
    params.pop("n_jobs", None)
    given = estimator._splitter_param
    splitter = params.pop(given)
    if isinstance(splitter, (Tree, BaseModel)):
        splitter = getattr(type(estimator)(), given)
    if callable(params.get("oob_score")):
        params["oob_score"] = True
    if not isinstance(params["random_state"], numbers.Integral):
        params["random_state"] = None
    plain = {name: _encode_value(name, value) for name, value in params.items()}
    return plain | {given: _encode_splitter(splitter)}


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


def _decode_value(value):
    """Undo `_encode_value`."""
    if isinstance(value, list):
        return [_decode_value(item) for item in value]
    if isinstance(value, dict):
        return {_decode_value(key): _decode_value(item) for key, item in value["pairs"]}
    return value


def _decode_params(params, kind):
    """Return keyword arguments of the estimator."""
    known = set(kind().get_params(deep=False)) - {"n_jobs"}
    unknown = sorted(set(params) - known)
    if unknown:
        raise ValueError(f"unknown parameter {unknown[0]!r}")
    given = kind._splitter_param
    splitter = _decode_splitter(params[given])
    plain = {name: _decode_value(value) for name, value in params.items() if name != given}
    return plain | {given: splitter}


def _encode_splitter(splitter):
    """Return the name of a splitter and, for an object, its parameters."""
    if isinstance(splitter, str):
        return splitter
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


def _decode_splitter(splitter):
    """Undo `_encode_splitter`; a splitter that is not installed here stays a name."""
    if isinstance(splitter, str):
        return splitter
    name = splitter["name"]
    if not isinstance(name, str):
        raise ValueError(f"the name of the splitter is {name!r}")
    try:
        kind = find_splitter(name)
    except (ValueError, ImportError):
        return name
    params = {key: _decode_value(value) for key, value in splitter["params"].items()}
    return kind(**params)
