"""A grown tree as plain arrays."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from obtree.core.hints import Array, ArrayLike, Floats, Integers, MatrixLike
from obtree.data.offset import OffsetModel, have_same_offset, shift_features, sum_offsets
from obtree.tree.leaf_models import ConstantLeaf, find_kind, list_leaf_fields
from obtree.tree.path import compute_depths

FIELDS = {
    "children_left": np.int32,
    "children_right": np.int32,
    "threshold": np.float64,
    "term_ptr": np.int64,
    "term_feature": np.int32,
    "term_weight": np.float64,
    "missing_go_left": np.uint8,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
    "value": np.float64,
    "n_classes": np.int64,
}

# Arrays that most trees do without: None when no node needs them. So are those of the leaves,
# of which a tree has all that its kind of leaf keeps, or none.
OPTIONAL_FIELDS = {
    "term_partner": np.int32,
    "lower_threshold": np.float64,
    "term_share": np.float32,
    "feature_offset": np.float64,
    "set_ptr": np.int64,
    "set_categories": np.uint16,
}


class Tree(OffsetModel):
    """A decision tree that has stopped growing.

    Node 0 is the root. Node ``i`` sends a row ``x`` to ``children_left[i]`` when ::

        sum(term_weight[k] * x[term_feature[k]]) <= threshold[i]

    over ``k`` in ``term_ptr[i]:term_ptr[i + 1]``, else to ``children_right[i]``. Values of
    ``x`` are float32; the sum is float64, in the order of the terms when there are fewer than
    16, else in 16 partial sums (term ``k`` into sum ``k % 16``) that are folded in halves.
    When a term's value is missing (NaN) the sum is NaN and the row goes left if
    ``missing_go_left[i]``, else right. An axis split has one term of weight 1. A
    leaf has no terms, threshold 0 and both children -1.

    Three kinds of node are more than planes, and trees that have them have more arrays. Where
    ``term_partner[k]`` is not -1, term ``k`` is the product
    ``term_weight[k] * (x[term_feature[k]] * x[term_partner[k]])``. Where ``lower_threshold[i]``
    is finite, a row goes left only if the sum also exceeds it: when
    ``lower_threshold[i] < sum <= threshold[i]``.

    Where ``set_ptr[i] < set_ptr[i + 1]`` the node tests a category. It has one term, of weight 1,
    whose feature has the numbers of categories, and threshold 0.5. Those that are listed in
    ``set_categories[set_ptr[i]:set_ptr[i + 1]]``, ascending, go to the other side than missing
    values: right if ``missing_go_left[i]``, else left. All others, NaN and those that no training
    row of the node had among them, go where missing values go. What the numbers stand for is known
    to the estimator (``categories_``).

    A row gets ``value[i]`` of the leaf ``i`` that it reaches, unless the leaf is linear and has
    terms ``k`` in ``leaf_ptr[i]:leaf_ptr[i + 1]``. Then the numbers ::

        leaf_intercept[i] + sum(leaf_weight[k] * x[leaf_feature[k]])

    are the predictions of regression, one for each output, or the scores of the classes, which a
    softmax for each output turns into probabilities. The intercept comes first and the terms
    are added in their order; a single output is summed like a split, and then added to the
    intercept. Where such a number is not finite, above all when the row lacks one of the
    features, the row gets ``value[i]`` after all.

    When `feature_offset` is not None, it is subtracted from the features in float64 before they
    become float32 (integers of 64 bits are subtracted as such), and the tree keeps its numbers
    for these shifted features. Those shown here, `threshold`, `lower_threshold` and
    `leaf_intercept`, are for features as they are: the sums above hold for ``x`` in float64, up
    to rounding. Nodes with products are the exception: their numbers are for the shifted
    features.

    The arrays are read-only. Make trees with :meth:`from_arrays`, or from untrusted data
    with ``obtree.tree.state.tree_from_state``.

    Attributes
    ----------
    children_left, children_right : int32 (n_nodes,)
        Children, -1 at leaves.
    threshold : float64 (n_nodes,)
    term_ptr : int64 (n_nodes + 1,)
    term_feature : int32 (n_terms,)
    term_weight : float64 (n_terms,)
    missing_go_left : uint8 (n_nodes,)
    impurity : float64 (n_nodes,)
    n_node_samples : int64 (n_nodes,)
        Training rows that reached the node.
    weighted_n_node_samples : float64 (n_nodes,)
        Their total weight.
    value : float64 (n_nodes, n_outputs, max_n_classes)
        Class fractions, or the predicted number (last axis 1).
    term_partner : int32 (n_terms,) or None
        Second factor of each term, -1 for none. None when all terms are linear.
    lower_threshold : float64 (n_nodes,) or None
        Lower end of a node's interval, minus infinity for none. None when no node has one.
    term_share : float32 (n_terms,) or None
        What part of its node's split each term accounts for, used for importances: the size of
        its weight times the spread of its values in the node, as a fraction of the node's total.
        None when every node has one term.
    leaf_ptr : int64 (n_nodes + 1,) or None
        Where the terms of linear leaves begin. None, as the next three, when all leaves are
        constant.
    leaf_feature : int32 (n_leaf_terms,) or None
    leaf_weight : float64 (n_leaf_terms, n_outputs * max_n_classes) or None
        Zero beyond the classes of an output.
    leaf_intercept : float64 (n_nodes, n_outputs * max_n_classes) or None
        Read at leaves that have terms only.
    set_ptr : int64 (n_nodes + 1,) or None
        Where the categories of each node begin. None, as the next, when no node tests one.
    set_categories : uint16 (n_listed,) or None
        Numbers of categories.
    feature_offset : float64 (n_features,) or None
        What is subtracted from each feature first. None when nothing is.
    leaf_kind : type
        What leaves predict: a `LeafModel`, whose arrays the tree has as attributes, such as the
        four of linear leaves.
    n_features, n_outputs : int
    n_classes : int64 (n_outputs,)
        Classes of each output; 1 in regression.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(X, y).tree_
    >>> tree.node_count
    3
    >>> tree.n_node_samples
    array([150,  50, 100])
    """

    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    threshold: Floats
    term_ptr: Integers
    term_feature: NDArray[np.int32]
    term_weight: Floats
    missing_go_left: NDArray[np.uint8]
    impurity: Floats
    n_node_samples: Integers
    weighted_n_node_samples: Floats
    value: Floats
    n_classes: Integers
    term_partner: NDArray[np.int32] | None
    lower_threshold: Floats | None
    term_share: NDArray[np.float32] | None
    set_ptr: Integers | None
    set_categories: NDArray[np.uint16] | None
    leaf_ptr: Integers | None
    leaf_feature: NDArray[np.int32] | None
    leaf_weight: Floats | None
    leaf_intercept: Floats | None
    leaf_kind: Any  # a subclass of LeafModel
    n_features: int
    n_outputs: int

    @classmethod
    def from_arrays(cls, *, n_features: int, **arrays: Any) -> Self:
        """Make a tree from arrays that are known to be consistent.

        Parameters
        ----------
        n_features : int
        **arrays : array-like
            Every array attribute of the class, by name; those that may be None may be left
            out. Thresholds and intercepts are those of shifted features if a `feature_offset`
            is among the arrays. Arrays that own their memory and have the right type are kept,
            not copied, and become read-only.

        Returns
        -------
        Tree
        """
        given = [name for name, array in arrays.items() if array is not None]
        kind = find_kind(given)
        of_leaves = {name: field.dtype for name, field in list_leaf_fields().items()}
        wrong = (arrays.keys() - OPTIONAL_FIELDS.keys() - of_leaves.keys()) ^ FIELDS.keys()
        if wrong:
            raise TypeError(f"missing or unexpected arrays: {', '.join(sorted(wrong))}")
        kept = of_leaves.keys() & set(given)
        if kept != kind.fields.keys():
            raise TypeError(
                f"{kind.name} leaves need all of {', '.join(kind.fields)}, got {sorted(kept)}"
            )
        tree = cls.__new__(cls)
        tree.n_features = int(n_features)
        tree.leaf_kind = kind
        for name, dtype in (FIELDS | OPTIONAL_FIELDS | of_leaves).items():
            array = arrays.get(name)
            if array is not None:
                array = np.require(array, dtype=dtype, requirements=["C", "O"])
                array.flags.writeable = False
            setattr(tree, name, array)
        tree._drop_unused()
        tree.n_outputs = int(tree.value.shape[1])
        tree._predictor = None
        offset, tree.feature_offset = tree.feature_offset, None
        return tree.with_offset(offset)

    def __init__(self) -> None:
        raise TypeError("make trees with Tree.from_arrays or obtree.tree.state.tree_from_state")

    def _drop_unused(self):
        """Forget optional arrays that say nothing."""
        if self.term_partner is not None and not (self.term_partner >= 0).any():
            self.term_partner = None
        if self.lower_threshold is not None and not np.isfinite(self.lower_threshold).any():
            self.lower_threshold = None
        if self.set_ptr is not None and self.set_ptr[-1] == 0:
            self.set_ptr = self.set_categories = None
        if self.term_share is not None and (np.diff(self.term_ptr) <= 1).all():
            self.term_share = None
        if not self.leaf_kind.is_needed(self):
            for name in self.leaf_kind.fields:
                setattr(self, name, None)
            self.leaf_kind = ConstantLeaf

    def shift_to(self, offset: Floats | None) -> Self:
        """The tree for features from which `offset` has been subtracted.

        Parameters
        ----------
        offset : float64 ndarray of shape (n_features,) or None

        Returns
        -------
        Tree
            Without `feature_offset`. Exact when this tree has the same offset, else up to
            rounding. Nodes with products cannot be moved.
        """
        if have_same_offset(offset, self.feature_offset):
            return self.shifted
        own = 0.0 if self.feature_offset is None else self.feature_offset
        tree = type(self).__new__(type(self))
        vars(tree).update(vars(self.shifted))
        tree._move(own - (0.0 if offset is None else offset))
        return tree

    def _move(self, offset):
        """Rewrite the constants for features that are larger by `offset`."""
        self._predictor = None
        added = sum_offsets(offset, self.term_ptr, self.term_feature, self.term_weight)
        if self.term_partner is not None:
            product = np.flatnonzero(self.term_partner >= 0)
            added[np.searchsorted(self.term_ptr, product, side="right") - 1] = 0.0
        self.threshold = _add(self.threshold, added)
        if self.lower_threshold is not None:
            self.lower_threshold = _add(self.lower_threshold, added)
        for name, array in self.leaf_kind.move(self, offset).items():
            array.flags.writeable = False
            setattr(self, name, array)

    def __reduce__(self):
        from obtree.tree.state import tree_from_state

        return tree_from_state, (self.__getstate__(),)

    # skops asks for the state of an object; what it brings back is checked as well.
    def __getstate__(self):
        from obtree.tree.state import tree_to_state

        return tree_to_state(self)

    def __setstate__(self, state):
        from obtree.tree.state import tree_from_state

        vars(self).update(vars(tree_from_state(state)))

    def __repr__(self):
        return (
            f"Tree(node_count={self.node_count}, n_leaves={self.n_leaves}, "
            f"max_depth={self.max_depth}, n_features={self.n_features})"
        )

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return self.children_left.shape[0]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.children_left < 0))

    @property
    def has_planes_only(self) -> bool:
        """Whether all tests are of sums: there are no products, intervals or sets."""
        return self.term_partner is None and self.lower_threshold is None and self.set_ptr is None

    @property
    def has_linear_leaves(self) -> bool:
        """Whether some leaf predicts by a linear model."""
        return self.leaf_kind.name == "linear"

    @property
    def leaf_arrays(self) -> dict[str, Array]:
        """What the leaves keep besides their value, by name."""
        return {name: getattr(self, name) for name in self.leaf_kind.fields}

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf; 0 when the root is a leaf."""
        return int(self.compute_depths().max())

    @property
    def max_n_classes(self) -> int:
        """Largest number of classes over the outputs."""
        return self.value.shape[2]

    @property
    def feature(self) -> Array:
        """Feature of each node's first term, -2 at leaves."""
        feature = np.full(self.node_count, -2, dtype=np.int64)
        internal = self.children_left >= 0
        feature[internal] = self.term_feature[self.term_ptr[:-1][internal]]
        return feature

    @property
    def missing_go_to_left(self) -> Array:
        """`missing_go_left`, under the name that scikit-learn's trees have for it."""
        return self.missing_go_left

    def compute_depths(self) -> Integers:
        """Depth of every node, int64 (n_nodes,)."""
        return compute_depths(self.children_left, self.children_right)

    def predict(self, X: MatrixLike) -> Floats:
        """What the leaves that the rows of X reach predict.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Read as float32, after `feature_offset` has been subtracted.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, max_n_classes)
        """
        return self._get_predictor().predict(self._shift(X))

    def apply(self, X: MatrixLike) -> Integers:
        """Number of the leaf that each row of X reaches, int64 (n_rows,)."""
        return self._get_predictor().apply(self._shift(X))[:, 0]

    def decision_path(self, X: MatrixLike) -> Any:
        """Indicator of the nodes that each row of X passes, CSR (n_rows, n_nodes)."""
        return self._get_predictor().decision_path(self._shift(X))[0]

    def compute_feature_importances(self, normalize: bool = True) -> Floats:
        """Decrease of impurity that each feature brought; see `compute_importances`."""
        from obtree.tree.importance import compute_importances

        return compute_importances(self, normalize=normalize)

    def compute_partial_dependence(
        self, grid: ArrayLike, target_features: ArrayLike, out: Floats | None = None
    ) -> Floats:
        """Mean prediction where some features are given, by recursion.

        Rows go both ways where a node tests another feature, in the proportion of the training
        weights. For trees whose nodes test one feature each and whose leaves are constant.

        Parameters
        ----------
        grid : array-like of shape (n_rows, n_target_features)
            Values of the features that are given; NaN means missing.
        target_features : array-like of int, shape (n_target_features,)
            Numbers of these features.
        out : float64 ndarray of shape (n_rows,) or (n_rows, n_outputs, max_n_classes), optional
            The means are added to it, and those of the first value if it has one axis: the
            prediction of regression, the probability of the first class.

        Returns
        -------
        out : float64 ndarray of shape (n_rows, n_outputs, max_n_classes), or as given
        """
        from obtree.tree.dependence import compute_partial_dependence

        return compute_partial_dependence(self, grid, target_features, out)

    def _shift(self, X):
        if self.feature_offset is None:
            return X
        from obtree.tree.rows import check_shape

        if not issparse(X):
            X = np.asarray(X)
        check_shape(X, self.n_features)
        return shift_features(X, self.feature_offset)

    def _get_predictor(self):
        if self._predictor is None:
            from obtree.tree.predict import Predictor

            self._predictor = Predictor([self])
        return self._predictor


def is_optional(name):
    """Whether there are trees without an array of this name, and others with it."""
    return name in OPTIONAL_FIELDS or name in list_leaf_fields()


def list_arrays(tree):
    """All arrays of a tree, by name; None where it has none of them."""
    names = (*FIELDS, *OPTIONAL_FIELDS, *tree.leaf_kind.fields)
    return {name: getattr(tree, name) for name in names}


def _add(array, more):
    """The sum of two arrays, read-only."""
    with np.errstate(over="ignore", invalid="ignore"):
        array = array + more
    array.flags.writeable = False
    return array
