"""Disjunctive normal forms: soft decisions, level by level.

A unit passes a part of a row on to its right child, the logistic function of a sum, and the rest
to its left one; see `obtree.tree.normal_form.NormalForm`. Parts are float32 in the package, and
float64 here.
"""

import numpy as np

from obtree.onnx.graph import DOUBLE

#: As in tree/normal_predict.pyx: branches that less of a row reaches are left out, and what a leaf
#: has of a row is less than all of it.
PROB_FLOOR = float(np.float32(1e-3))
PROB_CEILING = float(np.float32(0.999999))
CELL_LIMIT = 1e30


def add_forms(graph, features, forms, combine):
    """Add what forms predict together.

    Parameters
    ----------
    graph : Graph
    features : Features
    forms : list of NormalForm
    combine : {"average", "vote"}

    Returns
    -------
    str
        Probabilities, float64 (n_rows, n_classes).
    """
    forms = [form.shifted for form in forms]
    n_classes = forms[0].n_classes
    total = None
    for form in forms:
        values = _add_form(graph, features, form)
        if combine == "vote":
            best = graph.op("ArgMax", values, axis=1, keepdims=1)
            values = graph.op("Equal", best, graph.const(np.arange(n_classes)))
            values = graph.cast(values, DOUBLE)
        total = values if total is None else graph.op("Add", total, values)
    whole = graph.op("ReduceSum", total, graph.const([1]), keepdims=1)
    positive = graph.op("Greater", whole, graph.const(0.0, np.float64))
    equal = graph.const(1.0 / n_classes, np.float64)
    return graph.op("Where", positive, graph.op("Div", total, whole), equal)


def _add_form(graph, features, form):
    """Add the value of each class, float64 (n_rows, n_classes)."""
    sides = _add_sides(graph, features, form) if form.n_units else None
    # Codes of what rows arrive at, and the name of which parts of them do.
    codes = form.root.astype(np.int64)
    parts = features.full(graph, 1.0, len(codes), np.float64)
    leaves, arrived = [], []
    while len(codes):
        at_leaf = np.flatnonzero(codes <= -2)
        if len(at_leaf):
            leaves.append(-2 - codes[at_leaf])
            arrived.append(graph.op("Gather", parts, graph.const(at_leaf, np.int64), axis=1))
        at_unit = np.flatnonzero(codes >= 0)
        units = codes[at_unit]
        codes = np.concatenate([form.child_left[units], form.child_right[units]]).astype(np.int64)
        if not len(units):
            break
        # Both sides of a unit get their part of what it has.
        twice = graph.const(np.tile(at_unit, 2), np.int64)
        below = graph.const(np.concatenate([units, form.n_units + units]), np.int64)
        parts = graph.op(
            "Mul",
            graph.op("Gather", parts, twice, axis=1),
            graph.op("Gather", sides, below, axis=1),
        )
        follows = graph.op("GreaterOrEqual", parts, graph.const(PROB_FLOOR, np.float64))
        parts = graph.op("Where", follows, parts, graph.const(0.0, np.float64))
    return _join_leaves(graph, features, form, leaves, arrived)


def _add_sides(graph, features, form):
    """Add what units pass on to the left, and behind it to the right: (n_rows, 2 * n_units)."""
    zero = graph.const(0.0, np.float64)
    z = graph.op("Sub", features.clean(graph), graph.const(form.mean, np.float64))
    z = graph.op("Mul", z, graph.const(form.scale, np.float64))
    limits = graph.const(-CELL_LIMIT, np.float64), graph.const(CELL_LIMIT, np.float64)
    z = graph.op("Max", graph.op("Min", z, limits[1]), limits[0])
    z = graph.op("Where", features.missing(graph), zero, z)
    weight = graph.cast(graph.const(form.weight[:, :-1].T), DOUBLE)
    score = graph.op("MatMul", z, weight)
    score = graph.op("Add", score, graph.cast(graph.const(form.weight[:, -1]), DOUBLE))
    one = graph.const(1.0, np.float64)
    parts = []
    for signed in (score, graph.op("Neg", score)):
        power = graph.op("Exp", signed)
        parts.append(graph.op("Div", one, graph.op("Add", one, power)))
    return graph.op("Concat", *parts, axis=1)


def _join_leaves(graph, features, form, leaves, arrived):
    """Add 1 - prod(1 - part) over the leaves of each class."""
    one = graph.const(1.0, np.float64)
    rest = [features.full(graph, 1.0, 1, np.float64) for _ in range(form.n_classes)]
    if leaves:
        parts = arrived[0] if len(arrived) == 1 else graph.op("Concat", *arrived, axis=1)
        parts = graph.op("Min", parts, graph.const(PROB_CEILING, np.float64))
        without = graph.op("Sub", one, parts)
        owner = np.concatenate(leaves)
        for k in np.unique(owner).tolist():
            own = graph.const(np.flatnonzero(owner == k), np.int64)
            own = graph.op("Gather", without, own, axis=1)
            rest[k] = graph.op("ReduceProd", own, graph.const([1]), keepdims=1)
    values = [graph.op("Sub", one, own) for own in rest]
    if form.complement:
        values[0] = rest[1]
    return graph.op("Concat", *values, axis=1)
