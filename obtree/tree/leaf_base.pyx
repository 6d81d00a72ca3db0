"""Base class of leaf models: what leaves keep in a tree, and what they make of rows.

A kind of leaf is a subclass of `LeafModel`, in Cython, that lists the arrays it keeps and predicts
blocks of rows; ``leaf_base.pxd`` has the contract. Trees, their states and files, predictors and
the text of a tree know nothing else of it. What fits such leaves stands elsewhere
(``forest/leaves.pyx``, ``optim/leaves.pxi``), so that a model loads without it.
"""

from dataclasses import dataclass

from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, idx_t

import numpy as np


@dataclass(frozen=True)
class LeafArray:
    """One array that a kind of leaf keeps.

    Parameters
    ----------
    dtype : type
        Numbers of NumPy.
    by : {"node", "pointer", "term"}
        What it has an entry for: each node; each node and one more, where the terms of each
        begin; each term. There is one array of pointers at most, and only leaves have terms.
    wide : bool, default=False
        Whether an entry is a row of ``n_outputs * max_n_classes`` numbers, finite ones, and
        zero beyond the classes of an output.
    is_feature : bool, default=False
        Whether entries are numbers of features.
    """

    dtype: type
    by: str
    wide: bool = False
    is_feature: bool = False


cdef class LeafModel:
    """What the leaves of one tree predict. Subclasses say what they keep, and predict."""

    #: What the kind is called.
    name = None

    #: Arrays that it keeps, `LeafArray` by name; no two kinds have a name in common.
    fields = {}

    def __init__(self, tree):
        cdef const int64_t[::1] n_classes = tree.n_classes
        self.tree = tree
        self.n_features = tree.n_features
        self.n_outputs = tree.n_outputs
        self.max_n_classes = tree.max_n_classes
        self.n_values = self.n_outputs * self.max_n_classes
        self.n_classes = &n_classes[0]
        self.bind(tree)

    @staticmethod
    def move(tree, offset):
        """Arrays that change when all features grow by `offset`, float64 (n_features,).

        Models that read features, and mean the same then, give theirs back.
        """
        return {}

    @staticmethod
    def describe(tree, node, feature_names, decimals, max_terms):
        """The model of a leaf as a short text; empty when the leaf has none."""
        return ""

    @staticmethod
    def estimate_work(tree):
        """Nanoseconds, roughly, that a row takes at a leaf."""
        return 1.0

    cdef int bind(self, object tree) except -1:
        """Take pointers to the arrays of the tree, which have been checked."""
        return 0

    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil:
        """Predict a block of rows; subclasses implement it."""
        cdef idx_t r
        for r in range(n):
            is_known[r] = 0


def check_leaf_shapes(kind, arrays, n_nodes, n_values, n_features):
    """Refuse arrays of leaves that would be read outside.

    Parameters
    ----------
    kind : type
        A subclass of `LeafModel`.
    arrays : mapping of str to ndarray
    n_nodes, n_values, n_features : int

    Raises
    ------
    ValueError
        Naming the array.
    """
    n_terms = None
    for name, field in kind.fields.items():
        if field.by == "term" and n_terms is None:
            n_terms = len(arrays[name])
    lengths = {"node": n_nodes, "pointer": n_nodes + 1, "term": n_terms}
    for name, field in kind.fields.items():
        shape = (lengths[field.by], n_values) if field.wide else (lengths[field.by],)
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}; expected {shape}")
    for name, field in kind.fields.items():
        array = arrays[name]
        if field.by == "pointer":
            check_ranges(name, array, n_terms)
        if field.is_feature and ((array < 0).any() or (array >= n_features).any()):
            raise ValueError(f"{name} must be in 0..{n_features - 1}")


def check_ranges(name, ptr, n_terms):
    """Every node has its terms, one range after the other."""
    if ptr[0] != 0 or ptr[len(ptr) - 1] != n_terms:
        raise ValueError(f"{name} must run from 0 to the {n_terms} terms")
    if (ptr[1:] < ptr[:len(ptr) - 1]).any():
        raise ValueError(f"{name} must not decrease")


def check_leaf_values(kind, arrays, is_leaf, n_classes):
    """Refuse numbers that no leaf can have; the shapes have been checked.

    Parameters
    ----------
    kind : type
    arrays : mapping of str to ndarray
    is_leaf : bool ndarray of shape (n_nodes,)
    n_classes : int64 ndarray of shape (n_outputs,)
    """
    for name, field in kind.fields.items():
        array = arrays[name]
        if field.by == "pointer" and (np.diff(array)[~is_leaf] > 0).any():
            raise ValueError(f"{name} must give terms to leaves only")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
        if field.wide:
            check_classes(name, array.reshape(len(array), len(n_classes), n_classes.max()),
                          n_classes)


def check_classes(name, by_output, n_classes):
    """An output with fewer classes than others has zeros in place of those it lacks."""
    beyond = np.arange(by_output.shape[2]) >= n_classes[:, np.newaxis]
    if beyond.any():
        wrong = (by_output.any(axis=0) & beyond).any(axis=1)
        if wrong.any():
            output = int(wrong.argmax())
            raise ValueError(
                f"{name} of output {output} goes beyond its n_classes = {n_classes[output]}"
            )
