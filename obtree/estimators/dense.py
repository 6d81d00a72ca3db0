"""Features as optimisers read them: dense, without columns that hold nothing but zeros.

Whole-tree optimisers move planes over all features at once, and so they read rows in full. A
sparse matrix is made dense for them if there is memory for that, which is asked for before any is
taken. If most columns hold nothing but zeros, they are left out, whether X is sparse or not, so
that both give the same model.
"""

import numpy as np
import scipy.sparse as sp

from obtree.core.available import find_available_memory
from obtree.tree.normal_form import NormalForm
from obtree.tree.tree import FIELDS, Tree, list_arrays

#: Part of the memory that may be taken: scratch, and other programs, need some as well.
USABLE_FRACTION = 0.75

#: Bytes that may be taken when nobody knows how much memory there is.
UNKNOWN_MEMORY = 2**34

#: Bytes for a weight of a plane: in float32 with what moves it, and as a term of a tree.
BYTES_OF_WEIGHT = 32


def find_filled(X):
    """Mark the columns that have a value other than zero; NaN is one.

    Parameters
    ----------
    X : ndarray, or csr_matrix or csc_matrix, of shape (n_rows, n_features)

    Returns
    -------
    filled : ndarray of bool, shape (n_features,)
    """
    if not sp.issparse(X):
        return X.any(axis=0)
    columns = X.indices
    if X.format == "csc":
        columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    filled = np.zeros(X.shape[1], dtype=bool)
    filled[columns[X.data != 0]] = True
    return filled


def choose_columns(filled, starts=()):
    """List the columns that are worth reading.

    Parameters
    ----------
    filled : ndarray of bool, shape (n_features,)
        What `find_filled` found.
    starts : sequence of Tree or None
        Trees of planes. A column without which one of them had no terms is listed as well.

    Returns
    -------
    columns : ndarray of intp, or None
        Ascending; None for all, unless more than half of the columns hold nothing but zeros.
    """
    used = filled.copy()
    for tree in starts:
        if tree is not None:
            n_terms = np.diff(tree.term_ptr)
            node = np.repeat(np.arange(tree.node_count), n_terms)
            n_left = np.bincount(node[filled[tree.term_feature]], minlength=tree.node_count)
            used[tree.term_feature[n_left[node] == 0]] = True
    n_used = int(np.count_nonzero(used))
    if 2 * n_used >= len(used) or n_used == 0:
        return None
    return np.flatnonzero(used)


def make_dense(X, columns):
    """Return some columns of X, or all, as an array in C order.

    Parameters
    ----------
    X : ndarray or sparse matrix
    columns : ndarray of intp, or None for all

    Returns
    -------
    ndarray
    """
    if columns is not None:
        X = X[:, columns]
    return X.toarray(order="C") if sp.issparse(X) else X


def check_memory(name, X, n_columns, bytes_of_cell, n_planes=0):
    """Refuse sparse features that there is no memory for.

    Parameters
    ----------
    name : str
        Of the estimator.
    X : ndarray or sparse matrix
        Nothing is refused unless it is sparse.
    n_columns : int
        Columns of a dense copy.
    bytes_of_cell : int
        What each cell of it takes.
    n_planes : int, default=0
        Planes that all models have together.

    Raises
    ------
    MemoryError
        Before anything is allocated.
    """
    if not sp.issparse(X):
        return
    needed = n_columns * (X.shape[0] * bytes_of_cell + n_planes * BYTES_OF_WEIGHT)
    available = find_available_memory()
    known = available is not None
    if needed <= (USABLE_FRACTION * available if known else UNKNOWN_MEMORY):
        return
    there = "it is not known to be there"
    if known:
        there = (
            f"{USABLE_FRACTION:.0%} of the {available / 1e9:.3g} GB that are available can be had"
        )
    raise MemoryError(
        f"{name} reads rows in full, and X is sparse: {X.shape[0]} x {n_columns} values need "
        f"{needed / 1e9:.3g} GB of memory, and {there}; expected fewer columns "
        "(sklearn.decomposition.TruncatedSVD, feature selection) or rows, or a greedy forest "
        "such as ObliqueForestClassifier, which keeps sparse features sparse"
    )


def narrow_tree(tree, columns):
    """Return the planes of a tree with features numbered by their places in `columns`.

    Parameters
    ----------
    tree : Tree or None
        Terms of other columns are left out: they are zero in all rows.
    columns : ndarray of intp, or None for all

    Returns
    -------
    Tree or None
    """
    if tree is None or columns is None:
        return tree
    place = np.full(tree.n_features, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    here = place[tree.term_feature] >= 0
    arrays = {name: getattr(tree, name) for name in FIELDS}
    arrays["term_ptr"] = np.concatenate([[0], np.cumsum(here)])[tree.term_ptr]
    arrays["term_feature"] = place[tree.term_feature[here]]
    arrays["term_weight"] = tree.term_weight[here]
    return Tree.from_arrays(n_features=len(columns), **arrays)


def widen_model(model, columns, n_features):
    """Return a model of some columns as one of all features.

    Parameters
    ----------
    model : Tree or NormalForm
    columns : ndarray of intp, or None for all
    n_features : int

    Returns
    -------
    Tree or NormalForm
    """
    if columns is None:
        return model
    if isinstance(model, Tree):
        arrays = list_arrays(model)
        arrays["term_feature"] = columns[arrays["term_feature"]]
        for name, field in model.leaf_kind.fields.items():
            if field.is_feature:
                arrays[name] = columns[arrays[name]]
        return Tree.from_arrays(n_features=n_features, **arrays)
    weight = np.zeros((model.n_units, n_features + 1), dtype=np.float32)
    weight[:, columns] = model.weight[:, :-1]
    weight[:, -1] = model.weight[:, -1]
    mean, scale = np.zeros(n_features), np.zeros(n_features)
    mean[columns], scale[columns] = model.mean, model.scale
    return NormalForm.from_arrays(
        n_features=n_features,
        n_classes=model.n_classes,
        root=model.root,
        child_left=model.child_left,
        child_right=model.child_right,
        weight=weight,
        mean=mean,
        scale=scale,
    )
