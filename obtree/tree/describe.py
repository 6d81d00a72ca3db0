"""What nodes of a tree say, with names: the one description that text and pictures read.

Numbers are those of the user. Where features are counted from an offset, a test of one feature
is in the numbers of the feature, with as many digits as tell its thresholds apart, and sums
show what is subtracted: ``0.71*(time - 1700000000)``.
"""

import math
import re
from dataclasses import dataclass

import numpy as np

from obtree.core.params import refuse_param
from obtree.tree.category_sets import list_categories
from obtree.tree.digits import write_number
from obtree.tree.parts import WeightedSum

#: Categories of a set that are named.
MAX_MEMBERS = 6

#: What no line of text and no picture can hold: control characters and halves of surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, eq=False)
class Test:
    """What a node asks.

    Attributes
    ----------
    sum : WeightedSum
        What is compared. An axis-aligned test has one term of weight 1.
    threshold, lower : float
        The answer is yes when ``lower < sum <= threshold``; `lower` may be minus infinity.
    decimals : int
        Digits that thresholds need.
    missing_is_yes : bool
        Whether rows for which the sum cannot be known count as yes.
    members : list of str or None
        Categories for which the answer is yes, or no where `is_negated`, if it is these that the
        test is about; all others have the other answer. None otherwise.
    is_negated : bool
    has_threshold : bool
        Whether there are numbers above the threshold: those against missing values are the
        largest that there are.
    """

    __test__ = False  # its name is not that of a test of pytest

    sum: WeightedSum
    threshold: float
    lower: float
    decimals: int
    missing_is_yes: bool
    members: list | None = None
    is_negated: bool = False
    has_threshold: bool = True

    @property
    def asks_missing(self):
        """Whether the answer depends on nothing but what is missing, or not known."""
        if self.members is not None:
            return not self.members
        return not (self.has_threshold or math.isfinite(self.lower))

    @property
    def is_plain(self):
        """Whether a single feature, or product, is compared as it is."""
        return len(self.sum.names) == 1 and self.sum.weights[0] == 1.0

    def write_sum(self, max_terms):
        """What is compared, as text."""
        return self.sum.names[0] if self.is_plain else self.sum.write(self.decimals, max_terms)

    def write_set(self):
        """Which categories count as yes, as text."""
        return f"{'not ' if self.is_negated else ''}in {_write_members(self.members)}"

    def write_question(self, what):
        """What must hold for a yes where nothing is missing, as text.

        Parameters
        ----------
        what : str
            Stands for what is compared.
        """
        if self.members is not None:
            # Either all categories are meant or none.
            known = f"is {'' if self.is_negated else 'not '}known"
            return f"{what} {self.write_set() if self.members else known}"
        if self.asks_missing:
            return f"{what} is not missing"
        lower, upper = (
            write_number(limit, self.decimals) for limit in (self.lower, self.threshold)
        )
        if not self.has_threshold:
            return f"{what} > {lower}"
        return f"{lower} < {what} <= {upper}" if math.isfinite(self.lower) else f"{what} <= {upper}"

    def write_about(self, what):
        """The test as text, with a word for what is compared."""
        question = self.write_question(what)
        return f"{question} or missing" if self.missing_is_yes and self.members != [] else question

    def write(self, max_terms):
        """The test as text, with so many terms of its sum."""
        return self.write_about(self.write_sum(max_terms))


@dataclass(frozen=True, eq=False)
class Output:
    """What the rows of a node say about one output.

    Attributes
    ----------
    value : float64 ndarray
        A fraction for each class, or one number.
    classes : list of str or None
        Names of the classes; None for a number.
    """

    value: np.ndarray
    classes: list | None

    @property
    def best(self):
        """Number of the class with the largest fraction."""
        return int(self.value.argmax())


@dataclass(frozen=True)
class Place:
    """A node that is shown.

    Attributes
    ----------
    node : int
    parent : int
        -1 for the root.
    is_yes : bool
        Which child it is.
    depth : int
    is_cut : bool
        Whether what is below is not shown.
    """

    node: int
    parent: int
    is_yes: bool
    depth: int
    is_cut: bool


class TreeDescription:
    """A tree with names for its features, their categories, and classes.

    Parameters
    ----------
    tree : Tree
    feature_names : sequence of str, optional
        ``x[0]``, ``x[1]``, ... by default.
    class_names : sequence, optional
        Names of the classes, or such a sequence for each of several outputs; numbers by default.
    decimals : int, default=2
        Digits after the point.
    categories : list of (sequence or None), optional
        What the numbers of categories stand for, by feature; the numbers themselves by default.

    Attributes
    ----------
    predicts_nothing : bool
        Whether values of nodes have no meaning, as in trees of densities.
    """

    def __init__(self, tree, feature_names=None, class_names=None, decimals=2, categories=None):
        self.tree = tree
        self.decimals = decimals
        n_features = tree.n_features
        names = _check_names("feature_names", feature_names, n_features)
        if names is None:
            names = [f"x[{j}]" for j in range(n_features)]
        self.feature_names = names
        self._categories = categories
        self.marked = _mark_offsets(names, tree.feature_offset)
        self.class_names = _check_classes(tree, class_names)
        self._digits = _count_digits(tree, decimals)
        # Trees without targets have zeros. One of numbers that are all zero does not split.
        nothing = tree.node_count > 1 and self.class_names is None and not tree.value.any()
        self.predicts_nothing = nothing or tree.leaf_kind.name == "gaussian"

    def is_leaf(self, node):
        """Whether a node has no children."""
        return bool(self.tree.children_left[node] < 0)

    def list_places(self, max_depth=None):
        """Go through the nodes that are shown, a parent before its children, yes before no.

        Parameters
        ----------
        max_depth : int, optional
            Nodes of this depth that are no leaves are cut; none by default.

        Yields
        ------
        place : Place
        """
        limit = math.inf if max_depth is None else max_depth
        left, right = self.tree.children_left, self.tree.children_right
        stack = [(0, -1, True, 0)]
        while stack:
            node, parent, is_yes, depth = stack.pop()
            is_inner = left[node] >= 0
            is_cut = bool(is_inner and depth >= limit)
            yield Place(int(node), parent, is_yes, depth, is_cut)
            if is_inner and not is_cut:
                stack.append((right[node], int(node), False, depth + 1))
                stack.append((left[node], int(node), True, depth + 1))

    def describe_test(self, node):
        """What a node that is no leaf asks.

        Parameters
        ----------
        node : int

        Returns
        -------
        Test
        """
        tree, names, decimals = self.tree.shifted, self.marked, self.decimals
        most = np.finfo(np.float32 if _is_axis(tree, node) else np.float64).max
        has_threshold = bool(tree.threshold[node] < most)
        if self.counts_from_zero(node):
            feature = tree.term_feature[tree.term_ptr[node]]
            tree, names, decimals = self.tree, self.feature_names, self._digits[feature]
        terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
        features = tree.term_feature[terms]
        named = [names[j] for j in features]
        if tree.term_partner is not None:
            for k, j in enumerate(tree.term_partner[terms]):
                if j >= 0:
                    named[k] += "^2" if j == features[k] else f"*{names[j]}"
        lower = -math.inf if tree.lower_threshold is None else tree.lower_threshold[node]
        members, is_negated = self.list_members(node)
        return Test(
            sum=WeightedSum(named, tree.term_weight[terms]),
            threshold=float(tree.threshold[node]),
            lower=float(lower),
            decimals=decimals,
            missing_is_yes=bool(tree.missing_go_left[node]),
            members=members,
            is_negated=is_negated,
            has_threshold=has_threshold,
        )

    def counts_from_zero(self, node):
        """Whether a test is in the numbers of a feature that the tree counts from an offset.

        Parameters
        ----------
        node : int

        Returns
        -------
        bool
        """
        feature = self.tree.term_feature[self.tree.term_ptr[node]]
        return feature in self._digits and _is_axis(self.tree, node)

    def list_members(self, node):
        """The categories that a node tests, the fewer ones of yes and no where all are known.

        Parameters
        ----------
        node : int

        Returns
        -------
        members : list of str or None
            None for a node without a set.
        is_negated : bool
            Whether these are the ones for which it says no.
        """
        tree = self.tree
        if tree.set_ptr is None or tree.set_ptr[node] == tree.set_ptr[node + 1]:
            return None, False
        missing_left = bool(tree.missing_go_left[node])
        names = self.list_categories(tree.term_feature[tree.term_ptr[node]])
        if names is None:
            return [str(number) for number in list_categories(tree, node)], missing_left
        listed = np.isin(np.arange(len(names)), list_categories(tree, node))
        is_fewer = 2 * np.count_nonzero(listed) <= len(names)
        chosen = [name for name, own in zip(names, listed == is_fewer, strict=True) if own]
        return chosen, missing_left == is_fewer

    def list_categories(self, feature):
        """What the numbers of a feature's categories stand for, as text; None if not known."""
        names = None if self._categories is None else self._categories[feature]
        return None if names is None else [clean_name(name) for name in names]

    def list_outputs(self, node):
        """What the rows of a node say about each output.

        Parameters
        ----------
        node : int

        Returns
        -------
        list of Output
        """
        value = self.tree.value[node]
        if self.class_names is None:
            return [Output(row[:1], None) for row in value]
        return [
            Output(row[: len(names)], names)
            for row, names in zip(value, self.class_names, strict=True)
        ]

    def list_parts(self, node):
        """What the model of a leaf is made of; nothing for constant leaves.

        Parameters
        ----------
        node : int

        Returns
        -------
        list of WeightedSum or Spread
        """
        return self.tree.leaf_kind.list_parts(self.tree.shifted, node, self.marked)

    def write_model(self, node, max_terms):
        """The model of a leaf as text.

        Parameters
        ----------
        node : int
        max_terms : int
            Terms of a sum that are written.

        Returns
        -------
        str
            Empty for constant leaves.
        """
        tree = self.tree.shifted
        return tree.leaf_kind.describe(tree, node, self.marked, self.decimals, max_terms)


def clean_name(name):
    """A name as one line of text that every picture can hold.

    Parameters
    ----------
    name : object

    Returns
    -------
    str
        White space is single blanks; other control characters are replaced.
    """
    return _UNPRINTABLE.sub("\ufffd", " ".join(str(name).split()))


def _write_members(names):
    """The first categories of a set, as text."""
    shown = names[:MAX_MEMBERS] if len(names) > MAX_MEMBERS + 1 else names
    rest = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"{{{', '.join(shown)}{rest}}}"


def _check_names(what, names, n_expected):
    """Names as text, or None when there are none."""
    if names is None:
        return None
    if not hasattr(names, "__len__") or isinstance(names, str):
        refuse_param(what, names, expected=f"None or {n_expected} names")
    if len(names) != n_expected:
        raise ValueError(f"{what} has {len(names)} names; expected {n_expected}")
    return [clean_name(name) for name in names]


def _check_classes(tree, class_names):
    """Names of the classes of each output, or None for regression."""
    n_classes = tree.n_classes.tolist()
    if class_names is None:
        if tree.max_n_classes == 1:
            return None
        return [[str(c) for c in range(n)] for n in n_classes]
    if tree.n_outputs == 1:
        return [_check_names("class_names", class_names, n_classes[0])]
    nested = hasattr(class_names, "__len__") and len(class_names) == tree.n_outputs
    if not nested or any(isinstance(some, str) for some in class_names):
        raise ValueError(
            f"class_names cannot be used with {tree.n_outputs} outputs unless it is a list of "
            f"{tree.n_outputs} sequences of names"
        )
    return [_check_names("class_names", *pair) for pair in zip(class_names, n_classes, strict=True)]


def _mark_offsets(names, offset):
    """Names of the features with what is subtracted from them."""
    if offset is None:
        return names
    marked = list(names)
    for j in np.flatnonzero(offset):
        size = np.format_float_positional(abs(offset[j]), trim="-")
        marked[j] = f"({names[j]} {'-' if offset[j] > 0 else '+'} {size})"
    return marked


def _count_digits(tree, decimals):
    """Digits after the point that thresholds of shifted features need, by feature."""
    if tree.feature_offset is None:
        return {}
    axis = np.flatnonzero([_is_axis(tree, node) for node in range(tree.node_count)])
    feature = tree.term_feature[tree.term_ptr[axis]]
    digits = {}
    for j in np.flatnonzero(tree.feature_offset):
        thresholds = np.unique(tree.threshold[axis[feature == j]])
        digits[j] = decimals
        if len(thresholds) > 1:
            gap = np.diff(thresholds).min()
            digits[j] = max(decimals, math.ceil(-math.log10(gap)) + 1)
    return digits


def _is_axis(tree, node):
    """Whether a node tests one feature as it is."""
    k = tree.term_ptr[node]
    return (
        tree.term_ptr[node + 1] == k + 1
        and tree.term_weight[k] == 1.0
        and (tree.term_partner is None or tree.term_partner[k] < 0)
    )
