"""What a model file holds of a `ForestEmbedding` beside its trees."""

import numpy as np

from obtree.core.names import show
from obtree.estimators.affinity import Scaler

#: Type and number of dimensions of each array.
ARRAYS = {
    "leaves": (np.int32, 2),
    "rows": (np.float32, 2),
    "weight": (np.float64, 1),
    "mean": (np.float64, 1),
    "deviation": (np.float64, 1),
    "coordinates": (np.float64, 2),
    "embedding": (np.float64, 2),
    "eigenvalues": (np.float64, 1),
}


def describe_embedding(model):
    """Return a header and arrays from which `restore_embedding` makes the same model.

    Parameters
    ----------
    model : ForestEmbedding

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray
    """
    graph = model._graph
    arrays = {
        "leaves": graph.leaves,
        "rows": graph.Z,
        "weight": graph.weight,
        "mean": model._scaler.mean,
        "deviation": model._scaler.deviation,
        "coordinates": model._coordinates,
        "embedding": model.embedding_,
        "eigenvalues": model.eigenvalues_,
    }
    return {"n_parts": int(model.n_parts_)}, arrays


def restore_embedding(model, header, arrays):
    """Set the fitted attributes that `describe_embedding` gave, or raise ValueError.

    Parameters
    ----------
    model : ForestEmbedding
        Its trees are there already.
    header : dict
        From a file.
    arrays : dict of str to ndarray
        From a file.
    """
    n_parts = header.get("n_parts")
    if header.keys() != {"n_parts"} or type(n_parts) is not int or n_parts < 1:
        raise ValueError(f"its extras are {show(header)}, expected n_parts, 1 or more")
    if arrays.keys() != ARRAYS.keys():
        raise ValueError(f"its extras hold {sorted(arrays)}, expected {sorted(ARRAYS)}")
    for name, (dtype, ndim) in ARRAYS.items():
        array = arrays[name]
        if array.dtype != dtype or array.ndim != ndim:
            raise ValueError(
                f"{name} has type {array.dtype} and {array.ndim} dimensions, expected "
                f"{np.dtype(dtype)} and {ndim}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")
    _check_shapes(model, arrays)
    _check_values(arrays)
    for t, tree in enumerate(model.trees_):
        leaf = arrays["leaves"][:, t]
        if leaf.min() < 0 or leaf.max() >= tree.node_count or (tree.children_left[leaf] >= 0).any():
            raise ValueError(f"leaves has nodes that are no leaves of tree {t}")
    model._check_own_params()
    model.n_parts_ = n_parts
    # Arrays of a file may not be written to.
    own = {name: array.copy() for name, array in arrays.items()}
    model._scaler = Scaler(own["mean"], own["deviation"])
    model._store_graph(own["leaves"], own["rows"], own["weight"])
    model._coordinates = own["coordinates"]
    model.embedding_ = own["embedding"]
    model.eigenvalues_ = own["eigenvalues"]


def _check_shapes(model, arrays):
    """Refuse arrays that do not belong together."""
    n_rows = len(arrays["weight"])
    n_components = len(arrays["eigenvalues"])
    n_features = model.n_features_in_
    expected = {
        "leaves": (n_rows, len(model.trees_)),
        "rows": (n_rows, n_features),
        "mean": (n_features,),
        "deviation": (n_features,),
        "coordinates": (n_rows, n_components),
    }
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    embedding = arrays["embedding"]
    if embedding.shape[1] != n_components or len(embedding) < n_rows:
        raise ValueError(f"embedding has shape {embedding.shape}, expected more rows or columns")
    if not 0 < n_components < n_rows or n_components != model.n_components:
        raise ValueError(f"{n_components} components of {n_rows} rows")


def _check_values(arrays):
    """Refuse values that no fit has."""
    if (arrays["weight"] <= 0.0).any() or (arrays["deviation"] <= 0.0).any():
        raise ValueError("weight and deviation must be positive")
    values = arrays["eigenvalues"]
    if (values < 0.0).any() or (values > 1.0 + 1e-6).any():
        raise ValueError("eigenvalues must be between 0 and 1")
