"""Trees as text."""

from obtree.core.hints import Names
from obtree.core.params import Integer, check_param
from obtree.tree.describe import TreeDescription
from obtree.tree.digits import write_number
from obtree.tree.members import find_categories, find_tree, list_members
from obtree.tree.summary import summarise_forest


def export_text(
    model: object,
    feature_names: Names | None = None,
    class_names: Names | None = None,
    max_depth: int | None = 10,
    decimals: int = 2,
    max_terms: int = 6,
    *,
    member: int | None = None,
) -> str:
    """Write a tree as indented lines, one test or leaf each, or sum up a forest.

    Parameters
    ----------
    model : Tree, fitted tree or fitted forest
    feature_names : sequence of str, optional
        Names of the columns; ``x[0]``, ``x[1]``, ... by default, or the estimator's
        ``feature_names_in_``.
    class_names : sequence of str, optional
        Names of the classes, or such a sequence for each of several outputs; by default the
        estimator's ``classes_``, or their numbers.
    max_depth : int or None, default=10
        Deeper parts are summed up in one line each; None shows everything.
    decimals : int, default=2
        Digits after the point; more where all would be zero.
    max_terms : int, default=6
        Terms of a linear combination that are shown, those with the largest weights.
    member : int, optional
        Which tree of a forest to write; negative numbers count from the last. By default a forest
        is summed up: the sizes of its trees, the settings that its race has chosen, and the
        features that matter most.

    Returns
    -------
    str

    See Also
    --------
    obtree.export.export_graphviz : A tree for Graphviz.
    obtree.plot.plot_tree : A tree as a picture.

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
    >>> from obtree import ObliqueTreeClassifier, export_text
    >>> iris = load_iris()
    >>> tree = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(iris.data, iris.target)
    >>> print(export_text(tree, feature_names=["a", "b", "c", "d"]).splitlines()[0])
    c <= 2.45
    """
    check_param("decimals", decimals, Integer(0))
    check_param("max_terms", max_terms, Integer(0))
    max_depth = check_param("max_depth", max_depth, None, Integer(0))
    members = list_members(model)
    if members is not None and member is None:
        return summarise_forest(model, members, feature_names, decimals)
    tree, feature_names, class_names = find_tree(model, member, feature_names, class_names)
    described = TreeDescription(tree, feature_names, class_names, decimals, find_categories(model))
    lines = []
    indents = [""]  # of the nodes on the path to the next, by depth
    for place in described.list_places(max_depth):
        del indents[place.depth + 1 :]
        indent, lead, more = indents[-1], "", ""
        if place.depth:
            lead, more = ("|-- yes: ", "|   ") if place.is_yes else ("`-- no: ", "    ")
        indents.append(indent + more)
        lines.append(indent + lead + _write_node(described, place, max_terms))
    return "\n".join(lines) + "\n"


def _write_node(described, place, max_terms):
    """The line of a node, without what stands before it."""
    if place.is_cut:
        return f"... (n={described.tree.n_node_samples[place.node]})"
    if not described.is_leaf(place.node):
        return described.describe_test(place.node).write(max_terms)
    text = _write_leaf(described, place.node)
    model = described.write_model(place.node, max_terms)
    return f"{text}: {model}" if model else text


def _write_leaf(described, node):
    """What the rows of a leaf say."""
    outputs, decimals = described.list_outputs(node), described.decimals
    count = f"n={described.tree.n_node_samples[node]}"
    if described.predicts_nothing:
        return f"leaf ({count})"
    if described.class_names is None:
        numbers = ", ".join(write_number(output.value[0], decimals) for output in outputs)
        return f"value {numbers} ({count})"
    fractions = ", ".join(f"{output.value[output.best]:.{decimals}f}" for output in outputs)
    names = ", ".join(output.classes[output.best] for output in outputs)
    return f"class {names} ({count}, {fractions})"
