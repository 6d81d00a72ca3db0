"""Trees as text."""

import math

import numpy as np

from obtree.core.params import Integer, check_param, refuse_param
from obtree.tree.tree import Tree


def export_text(tree, feature_names=None, class_names=None, max_depth=10, decimals=2, max_terms=6):
    """Write a tree as indented lines, one test or leaf each.

    Parameters
    ----------
    tree : Tree or fitted estimator with a ``tree_``
    feature_names : sequence of str, optional
        Names of the columns; ``x[0]``, ``x[1]``, ... by default, or the estimator's
        ``feature_names_in_``.
    class_names : sequence of str, optional
        Names of the classes of a tree with one output; by default the estimator's ``classes_``,
        or their numbers.
    max_depth : int or None, default=10
        Deeper parts are summed up in one line each; None shows everything.
    decimals : int, default=2
        Digits after the point.
    max_terms : int, default=6
        Terms of a linear combination that are shown, those with the largest weights.

    Returns
    -------
    str

    Examples
    --------
    A split on a combination of features reads ::

        0.71*width - 0.70*height <= 1.30
        |-- yes: class b (n=50, 0.96)
        `-- no: ...

    Features from which the tree subtracts a number (``feature_offset``) show it in sums:
    ``0.71*(time - 1700000000)``. A test of one feature is in the numbers of the feature, with as
    many digits as tell its thresholds apart.

    After a leaf that is linear stands its model: the sum, intercept last, of each output of a
    regression, or the features of which a softmax makes the probabilities.

    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.tree import export_text
    >>> iris = load_iris()
    >>> tree = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(iris.data, iris.target)
    >>> print(export_text(tree, feature_names=["a", "b", "c", "d"]).splitlines()[0])
    c <= 2.45
    """
    check_param("decimals", decimals, Integer(0))
    check_param("max_terms", max_terms, Integer(0))
    max_depth = check_param("max_depth", max_depth, None, Integer(0))
    limit = math.inf if max_depth is None else max_depth
    estimator = None if isinstance(tree, Tree) else tree
    if estimator is not None:
        if not isinstance(getattr(estimator, "tree_", None), Tree):
            refuse_param("tree", tree, expected="a Tree or a fitted tree estimator")
        tree = estimator.tree_
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        if class_names is None and tree.n_outputs == 1:
            class_names = getattr(estimator, "classes_", None)
    feature_names = _check_names(
        "feature_names", feature_names, tree.n_features, [f"x[{j}]" for j in range(tree.n_features)]
    )
    if class_names is not None and tree.n_outputs != 1:
        raise ValueError(f"class_names cannot be used with {tree.n_outputs} outputs")
    is_classifier = tree.max_n_classes > 1 or class_names is not None
    class_names = _check_names(
        "class_names", class_names, tree.max_n_classes, list(range(tree.max_n_classes))
    )
    marked = _mark_offsets(feature_names, tree.feature_offset)
    digits = _count_digits(tree, decimals)

    lines = []
    # (node, depth, text before the node's own, text before its children's)
    stack = [(0, 0, "", "")]
    while stack:
        node, depth, lead, indent = stack.pop()
        if tree.children_left[node] < 0:
            text = _describe_leaf(tree, node, class_names if is_classifier else None, decimals)
            model = tree.leaf_kind.describe(tree.shifted, node, marked, decimals, max_terms)
            text += f": {model}" if model else ""
        elif depth >= limit:
            text = f"... (n={tree.n_node_samples[node]})"
        else:
            feature = tree.term_feature[tree.term_ptr[node]]
            if feature in digits and _is_axis(tree, node):
                text = _describe_split(tree, node, feature_names, digits[feature], max_terms)
            else:
                text = _describe_split(tree.shifted, node, marked, decimals, max_terms)
            left, right = tree.children_left[node], tree.children_right[node]
            stack.append((right, depth + 1, f"{indent}`-- no: ", f"{indent}    "))
            stack.append((left, depth + 1, f"{indent}|-- yes: ", f"{indent}|   "))
        lines.append(lead + text)
    return "\n".join(lines) + "\n"


def _check_names(what, names, n_expected, default):
    if names is None:
        return default
    if not hasattr(names, "__len__"):
        refuse_param(what, names, expected=f"None or {n_expected} names")
    if len(names) != n_expected:
        raise ValueError(f"{what} has {len(names)} names; expected {n_expected}")
    return names


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


def _describe_split(tree, node, feature_names, decimals, max_terms):
    terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
    features, weights = tree.term_feature[terms], tree.term_weight[terms]
    names = [str(feature_names[j]) for j in features]
    if tree.term_partner is not None:
        for k, j in enumerate(tree.term_partner[terms]):
            if j >= 0:
                same = j == features[k]
                names[k] = f"{names[k]}^2" if same else f"{names[k]}*{feature_names[j]}"
    if len(weights) == 1 and weights[0] == 1.0:
        text = names[0]
    else:
        text = describe_sum(names, weights, decimals, max_terms)
    text += f" <= {tree.threshold[node]:.{decimals}f}"
    if tree.lower_threshold is not None and np.isfinite(tree.lower_threshold[node]):
        text = f"{tree.lower_threshold[node]:.{decimals}f} < {text}"
    return text + (" or missing" if tree.missing_go_left[node] else "")


def describe_sum(names, weights, decimals, max_terms):
    """A weighted sum as text, its largest terms only."""
    shown = np.sort(np.argsort(-np.abs(weights), kind="stable")[:max_terms])
    text = ""
    for k in shown:
        size = f"{abs(weights[k]):.{decimals}f}*{names[k]}"
        if not text:
            text = f"-{size}" if weights[k] < 0 else size
        else:
            text += f" {'-' if weights[k] < 0 else '+'} {size}"
    n_hidden = len(weights) - len(shown)
    if n_hidden:
        text += f"{' + ' if text else ''}({n_hidden} smaller terms)"
    return text


def _describe_leaf(tree, node, class_names, decimals):
    count = f"n={tree.n_node_samples[node]}"
    value = tree.value[node]
    if class_names is None:
        numbers = ", ".join(f"{v:.{decimals}f}" for v in value[:, 0])
        return f"value {numbers} ({count})"
    best = value.argmax(axis=1)
    fraction = ", ".join(f"{value[k, c]:.{decimals}f}" for k, c in enumerate(best))
    names = ", ".join(str(class_names[c]) for c in best)
    return f"class {names} ({count}, {fraction})"
