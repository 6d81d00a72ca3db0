"""A forest as a few lines of text."""

import numpy as np

from obtree.tree.describe import clean_name
from obtree.tree.members import get_tree

#: Features that are listed.
MAX_FEATURES = 10


def summarise_forest(model, members, feature_names, decimals):
    """Write what the trees of a forest have in common.

    Parameters
    ----------
    model : fitted forest
    members : list
        Its trees.
    feature_names : sequence of str or None
    decimals : int
        Digits after the point.

    Returns
    -------
    str
    """
    trees = [get_tree(member) for member in members]
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    n_features = trees[0].n_features
    if feature_names is None:
        feature_names = [f"x[{j}]" for j in range(n_features)]
    elif len(feature_names) != n_features:
        raise ValueError(f"feature_names has {len(feature_names)} names; expected {n_features}")
    lines = [f"{type(model).__name__}: {len(trees)} trees, {n_features} features"]
    rows = {
        "leaves": [tree.n_leaves for tree in trees],
        "depth": [tree.max_depth for tree in trees],
        "terms of a test": [
            len(tree.term_feature) / max(tree.node_count - tree.n_leaves, 1) for tree in trees
        ],
    }
    kinds = sorted({tree.leaf_kind.name for tree in trees})
    lines[0] += f", {' and '.join(kinds)} leaves"
    lines += _tabulate(
        ["each tree", "mean", "least", "most"],
        [[name, np.mean(found), min(found), max(found)] for name, found in rows.items()],
        decimals,
    )
    lines += _list_race(model, decimals)
    importance = getattr(model, "feature_importances_", None)
    if importance is not None:
        order = np.argsort(-importance, kind="stable")[:MAX_FEATURES]
        found = [[clean_name(feature_names[j]), float(importance[j])] for j in order]
        lines += _tabulate(["feature", "importance"], found, decimals)
        if n_features > MAX_FEATURES:
            lines.append(f"({n_features - MAX_FEATURES} more features)")
    return "\n".join(lines) + "\n"


def _list_race(model, decimals):
    """Lines about the settings that a race has dealt the trees to."""
    race = getattr(model, "race_", None)
    if race is None:
        return []
    columns = (race["setting"], race["n_trees"], race["fraction"], race["error"])
    won = [list(row) for row in zip(*columns, strict=True) if row[2] > 0.0]
    won.sort(key=lambda row: -row[2])
    return _tabulate(["setting", "trees", "fraction", "error"], won, decimals)


def _tabulate(head, rows, decimals):
    """Lines of a table; the first column is text, the others are numbers."""
    cells = [head]
    for row in rows:
        numbers = (f"{x:.{decimals}f}" if isinstance(x, float) else str(x) for x in row[1:])
        cells.append([row[0], *numbers])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [""]
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    return lines
