"""Leaf models: what leaves keep in a tree, and what they make of rows.

A kind of leaf is a subclass of `LeafModel`, in Cython, that lists the arrays it keeps and predicts
blocks of rows; ``leaf_models.pxd`` has the contract. Trees, their states and files, predictors and
the text of a tree know nothing else of it. What fits such leaves stands elsewhere
(``forest/leaf_fitter.pyx``, ``optim/tao_leaves.pxi``), so that a model loads without it.
"""

from dataclasses import dataclass

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t

from obtree.core.types cimport X_t, idx_t
from obtree.tree.linear_leaf cimport LinearModels, predict_leaf

from obtree.data.offset import sum_offsets
from obtree.tree.parts import WeightedSum


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
    columns : callable, optional
        Where an entry is a row of another width: ``columns(n_features, n_values)`` numbers,
        finite ones.
    """

    dtype: type
    by: str
    wide: bool = False
    is_feature: bool = False
    columns: object = None

    @property
    def is_row(self):
        """Whether an entry is more than one number."""
        return self.wide or self.columns is not None

    def find_shape(self, n_entries, n_features, n_values):
        """The shape of the array."""
        if self.columns is not None:
            return n_entries, self.columns(n_features, n_values)
        return (n_entries, n_values) if self.wide else (n_entries,)


cdef class LeafModel:
    """What the leaves of one tree predict. Subclasses say what they keep, and predict."""

    #: What the kind is called.
    name = None

    #: Arrays that it keeps, `LeafArray` by name; no two kinds have a name in common. Only
    #: constant leaves keep none.
    fields = {}

    #: Whether it predicts variances as well.
    has_variance = False

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
    def is_needed(tree):
        """Whether the arrays of the tree say more than the values of its leaves do."""
        fields = tree.leaf_kind.fields.items()
        return all(field.by != "term" or len(getattr(tree, name)) for name, field in fields)

    @staticmethod
    def move(tree, offset):
        """Arrays that change when all features grow by `offset`, float64 (n_features,).

        Models that read features, and mean the same then, give theirs back.
        """
        return {}

    @staticmethod
    def check_values(arrays, is_leaf):
        """Raise ValueError for numbers that no such leaf can have, though shapes are right.

        All are finite; `is_leaf` is True for nodes that are leaves, (n_nodes,).
        """

    @staticmethod
    def list_parts(tree, node, feature_names):
        """What the model of a leaf is made of, for text and pictures: see `obtree.tree.parts`."""
        return []

    @classmethod
    def describe(cls, tree, node, feature_names, decimals, max_terms):
        """The model of a leaf as a short text; empty when the leaf has none."""
        parts = cls.list_parts(tree, node, feature_names)
        return ", ".join(part.write(decimals, max_terms) for part in parts)

    @staticmethod
    def estimate_work(tree):
        """Nanoseconds, roughly, that a row takes at a leaf once it is there."""
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

    cdef void predict_variance(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                               double* variance) noexcept nogil:
        """Predict the means and variances of a block of rows; kinds that have them implement it."""
        cdef idx_t k
        for k in range(n * self.n_values):
            values[k] = variance[k] = NAN


cdef class ConstantLeaf(LeafModel):
    """The value of the leaf, which trees have in any case: nothing is kept beside it."""

    name = "constant"

    @staticmethod
    def estimate_work(tree):
        """Nothing is left to do."""
        return 0.0


cdef class LinearLeaf(LeafModel):
    """Linear models of leaves; `obtree.tree.tree.Tree` says what their arrays mean."""

    cdef LinearModels _models

    name = "linear"

    fields = {
        "leaf_ptr": LeafArray(np.int64, "pointer"),
        "leaf_feature": LeafArray(np.int32, "term", is_feature=True),
        "leaf_weight": LeafArray(np.float64, "term", wide=True),
        "leaf_intercept": LeafArray(np.float64, "node", wide=True),
    }

    @staticmethod
    def move(tree, offset):
        """The intercepts for features that are larger by `offset`."""
        added = sum_offsets(offset, tree.leaf_ptr, tree.leaf_feature, tree.leaf_weight)
        with np.errstate(over="ignore", invalid="ignore"):
            return {"leaf_intercept": tree.leaf_intercept + -added}

    @staticmethod
    def list_parts(tree, node, feature_names):
        """The sum of each output, or the features that tell classes apart."""
        terms = slice(tree.leaf_ptr[node], tree.leaf_ptr[node + 1])
        names = [str(feature_names[j]) for j in tree.leaf_feature[terms]]
        weight, intercept = tree.leaf_weight[terms], tree.leaf_intercept[node]
        if not names:
            return []
        if tree.max_n_classes == 1:
            return [
                WeightedSum(names, weight[:, output], float(intercept[output]))
                for output in range(tree.n_outputs)
            ]
        # Only differences between classes matter.
        return [WeightedSum(names, np.ptp(weight, axis=1), is_softmax=True)]

    @staticmethod
    def estimate_work(tree):
        """Nanoseconds, roughly, that a row takes at a leaf once it is there."""
        return 2.0 * tree.leaf_weight.size / (tree.node_count + 1.0)

    cdef int bind(self, object tree) except -1:
        cdef const int64_t[::1] ptr = tree.leaf_ptr
        cdef const int32_t[::1] feature = tree.leaf_feature
        cdef const double[:, ::1] weight = tree.leaf_weight
        cdef const double[:, ::1] intercept = tree.leaf_intercept
        self._models.ptr = &ptr[0]
        self._models.feature = &feature[0]
        self._models.weight = &weight[0, 0]
        self._models.intercept = &intercept[0, 0]
        return 0

    cdef void predict(self, const int32_t* node, const X_t* x, idx_t n, double* values,
                      uint8_t* is_known) noexcept nogil:
        cdef idx_t r
        for r in range(n):
            is_known[r] = predict_leaf(&self._models, node[r], self.n_classes, self.n_outputs,
                                       self.max_n_classes, x + r * self.n_features,
                                       values + r * self.n_values)


include "gaussian_leaf.pxi"
include "linear_gaussian_leaf.pxi"

#: The kinds that trees may have, by name.
_KINDS = {
    kind.name: kind for kind in (ConstantLeaf, LinearLeaf, GaussianLeaf, LinearGaussianLeaf)
}
_OWN = tuple(_KINDS)


def register_leaf(kind):
    """Let trees keep, and files hold, the leaves of another package.

    Parameters
    ----------
    kind : type
        A subclass of `LeafModel` with a name and arrays of its own.

    Returns
    -------
    type
        The same.

    Raises
    ------
    ValueError
        When another kind has the name, or one of the names of its arrays.
    """
    if not isinstance(kind, type) or not issubclass(kind, LeafModel):
        raise TypeError(f"expected a subclass of LeafModel, got {kind!r}")
    if not isinstance(kind.name, str):
        raise ValueError(f"{kind.__name__}.name is {kind.name!r}; expected a string")
    others = [other for name, other in _KINDS.items() if name != kind.name]
    taken = {name for other in others for name in other.fields}
    if kind.name in _OWN or _KINDS.get(kind.name, kind).__name__ != kind.__name__:
        raise ValueError(f"there are leaves called {kind.name!r} already")
    if not kind.fields or not all(name.startswith("leaf_") for name in kind.fields):
        raise ValueError(f"the arrays of {kind.name!r} leaves need names that begin with 'leaf_'")
    if taken & kind.fields.keys():
        raise ValueError(f"other leaves keep {', '.join(sorted(taken & kind.fields.keys()))}")
    _KINDS[kind.name] = kind
    return kind


def is_registered(kind):
    """Whether trees may keep leaves of this kind."""
    return _KINDS.get(getattr(kind, "name", None)) is kind


def find_kind(names):
    """The kind of leaf that keeps one of these arrays; `ConstantLeaf` if none does.

    Parameters
    ----------
    names : collection of str

    Returns
    -------
    type
    """
    for kind in _KINDS.values():
        if any(name in names for name in kind.fields):
            return kind
    return ConstantLeaf


def list_leaf_fields():
    """What the leaves of any kind keep, `LeafArray` by name."""
    return {name: field for kind in _KINDS.values() for name, field in kind.fields.items()}


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
        shape = field.find_shape(lengths[field.by], n_features, n_values)
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
    kind.check_values(arrays, is_leaf)


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
