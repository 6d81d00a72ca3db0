"""Why a row gets what a tree predicts, in words: a sentence for each test on its way."""

import numpy as np

from obtree.tree.describe import TreeDescription
from obtree.tree.digits import write_number

#: Digits after the point, at most, by which a value is told from what it is compared with.
MOST_DIGITS = 12
#: Classes that are named beside the predicted one, and what they have at least.
MAX_CLASSES, LEAST_FRACTION = 3, 0.005


def explain_path(
    tree, row, feature_names=None, class_names=None, decimals=2, max_terms=5, categories=None
):
    """Say which tests lead a row to its leaf, and what it gets there.

    Parameters
    ----------
    tree : Tree
    row : ndarray of shape (1, n_features)
        Less the offset of the tree, if it has one.
    feature_names, class_names : sequence, optional
        As `TreeDescription` takes them.
    decimals : int, default=2
        Digits after the point; more where a value would look like what it is compared with.
    max_terms : int, default=5
        Terms of a sum that are named, those that contribute most.
    categories : list of (sequence or None), optional
        As `TreeDescription` takes them.

    Returns
    -------
    str
        A line for each sentence.
    """
    described = TreeDescription(tree, feature_names, class_names, decimals, categories)
    plain = tree.shifted
    leaf = int(plain.apply(row)[0])
    passed = set(plain.decision_path(row).indices.tolist())
    lines, node = [], 0
    while node != leaf:
        left, right = int(plain.children_left[node]), int(plain.children_right[node])
        is_yes = left in passed
        lines.append(_write_test(described, node, row[0], is_yes, max_terms))
        node = left if is_yes else right
    lines += _write_leaf(described, leaf, row, max_terms)
    return "\n".join(lines) + "\n"


def _write_test(described, node, x, is_yes, max_terms):
    """The sentence of a test."""
    test, tree = described.describe_test(node), described.tree.shifted
    terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
    values = x[tree.term_feature[terms]].astype(np.float64)
    lacking = np.isnan(values)
    if tree.term_partner is not None:
        partner = tree.term_partner[terms]
        factors = np.where(partner < 0, 1.0, x[np.maximum(partner, 0)])
        values, lacking = values * factors, lacking | np.isnan(factors)
    if lacking.any():
        names = [test.sum.names[k] for k in np.flatnonzero(lacking)]
        return _write_missing(test, names, is_yes, max_terms)
    if test.members is not None:
        return _write_category(described, test, tree.term_feature[terms][0], values[0], is_yes)
    gives = tree.term_weight[terms] * values
    total = float(gives.sum()) + _find_shift(described, test, node)
    limits = _list_limits(test, total, is_yes)
    digits = _count_digits(total, [limit for _, limit in limits], test.decimals)
    verdict = (
        " and ".join(f"{word} {write_number(limit, digits)}" for word, limit in limits)
        or "not missing"
    )
    if test.is_plain:
        return f"{test.sum.names[0]} is {write_number(total, digits)}, {verdict}."
    order = np.argsort(-np.abs(gives), kind="stable")
    shown = [
        f"{test.sum.names[k]} {write_number(values[k], test.decimals)} gives "
        f"{write_number(gives[k], digits)}"
        for k in order[:max_terms]
    ]
    rest = order[max_terms:]
    if len(rest):
        others = f"{len(rest)} other{'s give' if len(rest) > 1 else ' gives'}"
        shown.append(f"{others} {write_number(gives[rest].sum(), digits)}")
    return f"{', '.join(shown)}: together {write_number(total, digits)}, {verdict}."


def _find_shift(described, test, node):
    """What the numbers of a test are more than those of the tree, which may be shifted ones."""
    if test.has_threshold:
        # So that a value is as far from the threshold as it is in the tree.
        return test.threshold - float(described.tree.shifted.threshold[node])
    if not described.counts_from_zero(node):
        return 0.0
    tree = described.tree
    return float(tree.feature_offset[tree.term_feature[tree.term_ptr[node]]])


def _list_limits(test, total, is_yes):
    """What a number is compared with to get an answer, as pairs of words and numbers."""
    lower, upper = ("at most", test.lower), ("more than", test.threshold)
    if is_yes:
        found = [("more than", test.lower)] * bool(np.isfinite(test.lower))
        return found + [("at most", test.threshold)] * test.has_threshold
    is_low = np.isfinite(test.lower) and (
        not test.has_threshold or abs(total - test.lower) < abs(total - test.threshold)
    )
    return [lower if is_low else upper]


def _write_category(described, test, feature, value, is_yes):
    """The sentence of a test of a category."""
    names = described.list_categories(feature)
    known = names is not None and 0 <= value < len(names)
    name = names[int(value)] if known else f"{value:g}"
    if test.asks_missing:
        return f"{test.sum.names[0]} is {name}, which is known."
    question = test.write_set()
    if not is_yes:
        was_denied = question.startswith("not ")
        question = question.removeprefix("not ") if was_denied else f"not {question}"
    return f"{test.sum.names[0]} is {name}, {question}."


def _write_missing(test, names, is_yes, max_terms):
    """The sentence of a test of which features are missing."""
    what = ", ".join(names[:max_terms])
    if len(names) > max_terms:
        what = f"{what + ' and ' if what else ''}{len(names) - max_terms} more features"
    verb = f"{'is' if len(names) == 1 else 'are'} missing"
    if test.members is not None:
        verb = "is missing or a category that was not known"
    if test.asks_missing:
        return f"{what} {verb}."
    question = test.write_question(test.write_sum(max_terms))
    return f"{what} {verb}, which counts as {'yes' if is_yes else 'no'} to {question}."


def _count_digits(value, limits, decimals):
    """Digits that tell a value from limits that it is not equal to."""
    for digits in range(decimals, MOST_DIGITS):
        shown = {float(write_number(limit, digits)) for limit in limits if limit != value}
        if float(write_number(value, digits)) not in shown:
            return digits
    return MOST_DIGITS


def _write_leaf(described, leaf, row, max_terms):
    """The sentences of a leaf, one for each output."""
    tree, decimals = described.tree, described.decimals
    predicted = tree.shifted.predict(row)[0]
    where = f"in leaf {leaf} (n={tree.n_node_samples[leaf]})"
    model = described.write_model(leaf, max_terms)
    # A model that lacks a feature gives way to the value of the leaf.
    if np.isnan(row).any() and np.array_equal(predicted, tree.value[leaf]):
        model = ""
    if described.predicts_nothing and not model:
        return [f"The row is {where}."]
    if described.predicts_nothing:
        value = float(predicted[0, 0])
        return [
            f"The logarithm of the density is {write_number(value, decimals)} {where}: {model}."
        ]
    lines = []
    many = len(predicted) > 1
    for k, output in enumerate(described.list_outputs(leaf)):
        what = f" of output {k}" if many else ""
        if output.classes is None:
            lines.append(f"The value{what} is {write_number(predicted[k, 0], decimals)} {where}.")
            continue
        fractions = predicted[k, : len(output.classes)]
        order = np.argsort(-fractions, kind="stable")
        best = order[0]
        others = [
            f"{output.classes[c]} has {fractions[c]:.{decimals}f}"
            for c in order[1 : 1 + MAX_CLASSES]
            if fractions[c] >= LEAST_FRACTION
        ]
        line = (
            f"The class{what} is {output.classes[best]}, which has {fractions[best]:.{decimals}f} "
        )
        lines.append("; ".join([line + where, *others]) + ".")
    if model:
        lines.append(f"The model of the leaf is {model}.")
    return lines
