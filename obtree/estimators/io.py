"""Fitted estimators as plain arrays and a header, and back.

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

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from obtree.core.names import show
from obtree.core.params import check_param
from obtree.data.categories import CategoryEncoder
from obtree.data.offset import have_same_offset
from obtree.data.validate import set_categories
from obtree.estimators.bagging import BaseForestModel
from obtree.estimators.density import DensityForest
from obtree.estimators.disjunctive import (
    BaseDisjunctive,
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
)
from obtree.estimators.embedding import ForestEmbedding
from obtree.estimators.ferns import FernClassifier
from obtree.estimators.forest import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.estimators.nongreedy import NonGreedyTreeClassifier, NonGreedyTreeRegressor
from obtree.estimators.nongreedy_forest import NonGreedyForestClassifier, NonGreedyForestRegressor
from obtree.estimators.npy import can_store
from obtree.estimators.packed_states import pack_states, unpack_states
from obtree.estimators.saved_members import decode_members, encode_members, split_chains
from obtree.estimators.saved_params import decode_params, encode_params
from obtree.estimators.semi_supervised import SemiSupervisedForestClassifier
from obtree.estimators.settings import is_race
from obtree.estimators.tao import TAOTreeClassifier, TAOTreeRegressor
from obtree.estimators.tao_forest import TAOForestClassifier, TAOForestRegressor
from obtree.estimators.tree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.tree.normal_form import form_from_state, form_to_state
from obtree.tree.state import tree_from_state, tree_to_state

FORMAT = 1
HEADER_FIELDS = {
    "format",
    "obtree",
    "estimator",
    "params",
    "n_features",
    "feature_names",
    "categories",
    "max_features",
    "class_kinds",
    "members",
    "chain_lengths",
    "extras",
}
#: What arrays are called that an estimator keeps beside its trees.
EXTRA = "extra."
CLASS_KINDS = ("plain", "object")

ESTIMATORS = {
    kind.__name__: kind
    for kind in (
        ObliqueTreeClassifier,
        ObliqueTreeRegressor,
        ObliqueForestClassifier,
        ObliqueForestRegressor,
        DisjunctiveTreeClassifier,
        DisjunctiveForestClassifier,
        FernClassifier,
        NonGreedyTreeClassifier,
        NonGreedyTreeRegressor,
        NonGreedyForestClassifier,
        NonGreedyForestRegressor,
        TAOTreeClassifier,
        TAOTreeRegressor,
        TAOForestClassifier,
        TAOForestRegressor,
        DensityForest,
        SemiSupervisedForestClassifier,
        ForestEmbedding,
    )
}


def describe_estimator(estimator):
    """Return what a model file holds of a fitted estimator.

    Parameters
    ----------
    estimator : estimator object
        Of a class in `ESTIMATORS`.

    Returns
    -------
    header : dict
        For JSON.
    arrays : dict of str to ndarray
    """
    check_is_fitted(estimator)
    classes, kinds = _encode_classes(estimator._list_classes() or [])
    names = getattr(estimator, "feature_names_in_", None)
    header = {
        "format": FORMAT,
        "obtree": importlib.metadata.version("obtree"),
        "estimator": type(estimator).__name__,
        "params": encode_params(estimator),
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else [str(column) for column in names],
        "max_features": estimator.max_features_,
        "class_kinds": kinds,
    }
    encoder = getattr(estimator, "_encoder", None)
    if encoder is not None:
        header["categories"] = encoder.to_lists()
    children = list(getattr(estimator, "estimators_", ()))
    trees = estimator._list_trees()
    chains = getattr(estimator, "chains_", ())
    for chain in chains:
        children += chain
        trees += [child.tree_ for child in chain]
    seeds = [child.random_state for child in children]
    arrays = {f"classes_{k}": found for k, found in enumerate(classes)}
    if _has_members(estimator):
        header["members"], arrays["member"] = encode_members(children)
        if chains:
            header["chain_lengths"] = [len(chain) for chain in chains]
            arrays["chain_weights"] = estimator.chain_weights_
    arrays["seeds"] = np.array(seeds, dtype=np.uint32)
    to_state = form_to_state if isinstance(estimator, BaseDisjunctive) else tree_to_state
    arrays.update(pack_states([to_state(tree) for tree in trees]))
    extras, more = estimator._describe_extras()
    if extras:
        header["extras"] = extras
    arrays.update({EXTRA + key: array for key, array in more.items()})
    return header, arrays


def restore_estimator(header, arrays, max_bytes, allow_plugins):
    """Make an estimator of what a file holds, trusting none of it.

    Parameters
    ----------
    header : dict
    arrays : dict of str to ndarray
        What is read is taken out.
    max_bytes : int
        Most bytes of memory that trees may take.
    allow_plugins : bool
        Whether splitters and leaf fitters of other packages may be imported.

    Returns
    -------
    estimator : estimator object
        Ready to predict.
    """
    check_format(header, HEADER_FIELDS)
    name = header["estimator"]
    kind = ESTIMATORS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"unknown estimator {show(name)}")
    estimator = kind(**decode_params(header["params"], kind, allow_plugins))
    _restore_features(estimator, header)
    seeds, member = arrays.pop("seeds"), arrays.pop("member", None)
    chain_weights = arrays.pop("chain_weights", None)
    classes = _decode_classes(header["class_kinds"], arrays)
    extras = header.get("extras", {}), _pop_extras(arrays)
    if not isinstance(extras[0], dict):
        raise ValueError(f"its extras are {show(extras[0])}, expected a JSON object")
    soft = isinstance(estimator, BaseDisjunctive)
    from_state, check = (form_from_state, _check_form) if soft else (tree_from_state, _check_tree)
    trees = [from_state(state) for state in unpack_states(arrays, max_bytes)]
    for tree in trees:
        check(tree, trees[0], estimator.n_features_in_, classes)
        if not soft:
            _check_sets(tree, estimator)
    max_features = _check_count("max_features", header["max_features"])
    is_forest = isinstance(estimator, BaseForestModel)
    if seeds.shape != (len(trees) if is_forest else 0,) or seeds.dtype != np.uint32:
        raise ValueError(f"{len(trees)} trees with {seeds.size} seeds of type {seeds.dtype}")
    if not is_forest:
        if len(trees) != 1 and not isinstance(estimator, ForestEmbedding):
            raise ValueError(f"{name} with {len(trees)} trees, expected one")
        if isinstance(estimator, ForestEmbedding):
            estimator._store_trees(trees, classes, max_features)
        else:
            estimator._store_tree(trees[0], classes, max_features)
        estimator._restore_extras(*extras)
        return estimator
    check_param("combine", estimator.combine, *estimator._combine_rules)
    if not _has_members(estimator):
        split_chains([], header.get("chain_lengths", []), chain_weights)
        children = estimator._wrap_trees(trees, seeds, classes, max_features)
    else:
        kinds = {name: ESTIMATORS[name] for name in _list_member_kinds(estimator)}
        members = decode_members(header["members"], member, len(trees), kinds, allow_plugins)
        children = [
            estimator._wrap_trees([tree], [seed], classes, candidates, template)[0]
            for tree, seed, (template, candidates) in zip(trees, seeds, members, strict=True)
        ]
        chains = split_chains(children, header.get("chain_lengths", []), chain_weights)
        children = children[: len(children) - sum(map(len, chains))]
        estimator._store_chains(chains, np.zeros(0) if chain_weights is None else chain_weights)
    estimator._store_forest(
        children,
        trees[0].n_outputs,
        classes,
        max_features,
    )
    # A warm start continues with trees of fresh seeds.
    estimator._entropy = int(np.random.SeedSequence(seeds).generate_state(1)[0])
    estimator._restore_extras(*extras)
    return estimator


def check_format(header, fields):
    """Refuse a header of another format, and one with fields that no model has.

    Parameters
    ----------
    header : dict
    fields : set of str
        Those that there may be.
    """
    if type(header["format"]) is not int or header["format"] != FORMAT:
        raise ValueError(
            f"it has format {show(header['format'])}, this version of obtree reads format {FORMAT}"
        )
    unknown = sorted(header.keys() - fields)
    if unknown:
        raise ValueError(f"its header holds {show(unknown[0])}, which no model has")


def _pop_extras(arrays):
    """Take the arrays that are not of trees out of those of a file."""
    names = [name for name in arrays if name.startswith(EXTRA)]
    return {name.removeprefix(EXTRA): arrays.pop(name) for name in names}


def _has_members(estimator):
    """Tell whether trees may be of several settings, each with parameters of its own."""
    return estimator._mixes_settings and is_race(getattr(estimator, "splitter", None))


def _list_member_kinds(estimator):
    """Return the names of what a forest of several settings may consist of."""
    greedy = type(estimator)._tree_class.__name__
    return greedy, "TAOTreeClassifier" if is_classifier(estimator) else "TAOTreeRegressor"


def _restore_features(estimator, header):
    """Set the fitted attributes that describe X."""
    estimator.n_features_in_ = _check_count("n_features", header["n_features"])
    if "categories" in header and not hasattr(estimator, "categorical_features"):
        raise ValueError("it has categories, which no such model knows")
    if hasattr(estimator, "categorical_features"):
        known = header.get("categories")
        encoder = None if known is None else CategoryEncoder.from_lists(known)
        if encoder is not None and len(encoder.categories) != estimator.n_features_in_:
            raise ValueError("it does not have categories, or none, for each feature")
        set_categories(estimator, encoder)
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
        raise ValueError(f"{name} is {show(value)}, expected a positive integer")
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


def _check_sets(tree, estimator):
    """Refuse sets of what are no categories, and sums of what are some."""
    is_categorical = getattr(estimator, "is_categorical_", None)
    if is_categorical is None:
        is_categorical = np.zeros(tree.n_features, dtype=bool)
    by_set = np.zeros(tree.node_count, dtype=bool)
    if tree.set_ptr is not None:
        by_set = np.diff(tree.set_ptr) > 0
    of_set = np.repeat(by_set, np.diff(tree.term_ptr))
    agree = (is_categorical[tree.term_feature] == of_set).all()
    if agree and by_set.any():
        n_known = np.array([0 if known is None else len(known) for known in estimator.categories_])
        highest = tree.set_categories[tree.set_ptr[1:][by_set] - 1]
        agree = (highest < n_known[tree.term_feature[of_set]]).all()
    if not agree:
        raise ValueError("its trees and its categories disagree")


def _check_form(form, first, n_features, classes):
    """Refuse a disjunctive normal form that does not fit the estimator."""
    if classes is None or [form.n_classes] != [len(found) for found in classes]:
        raise ValueError("its forms and its class labels disagree")
    same_offset = have_same_offset(form.feature_offset, first.feature_offset)
    if form.n_features != n_features or not same_offset:
        raise ValueError("its forms disagree with its header")


def _encode_classes(classes):
    """Return labels as plain arrays, and whether each was an array of objects."""
    plain, kinds = [], []
    for found in classes:
        labels = found
        if found.dtype.kind == "O":
            labels = np.array(found.tolist())
        if (
            not can_store(labels.dtype)
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
    if not isinstance(kinds, list) or not all(kind in CLASS_KINDS for kind in kinds):
        raise ValueError(f"class_kinds is {show(kinds)}, expected a list of {CLASS_KINDS}")
    classes = []
    for k, kind in enumerate(kinds):
        found = arrays.pop(f"classes_{k}")
        if found.ndim != 1 or len(np.unique(found)) != len(found) or len(found) == 0:
            raise ValueError("its class labels are not distinct")
        classes.append(found.astype(object) if kind == "object" else found.copy())
    return classes or None
