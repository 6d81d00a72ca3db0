"""Does a criterion keep the contract that the rest of obtree relies on?"""

from itertools import pairwise
from typing import Literal

import numpy as np

from obtree.core.params import check_param
from obtree.criterion.base import Criterion
from obtree.criterion.registry import find_criterion
from obtree.estimators import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.testing.check_splitter import ContractError
from obtree.testing.criterion_node import NodeProbe, scan_flips
from obtree.testing.growth import bind_criterion, find_differences, grow_forest

KINDS = {
    "classification": "classes",
    "regression": "real",
    "unsupervised": "none",
    "semi-supervised": "partial",
}
LAYOUTS = ("gathered", "column", "rows")
N_ROWS = 40


def check_criterion(
    criterion: str | type[Criterion],
    *,
    task: Literal["classification", "regression", "unsupervised", "semi-supervised"],
    n_outputs: tuple[int, ...] = (1, 2),
) -> None:
    """Test every property of a criterion that obtree relies on.

    Nodes are loaded and cut. The cut that ``scan`` finds is compared with every single cut of
    the column, with the other ways of asking, and with the limits on leaves; weights are
    compared with repeated rows; and forests are grown on one thread and on two.

    Parameters
    ----------
    criterion : subclass of Criterion or str
        What one would pass as ``criterion=``.
    task : {"classification", "regression", "unsupervised", "semi-supervised"}
        What the criterion is for; without targets it measures the rows of X, and where some rows
        lack a class it may do both.
    n_outputs : tuple of int, default=(1, 2)
        Numbers of outputs that the criterion is made for.

    Raises
    ------
    ContractError
        An AssertionError that says what is wrong and what was expected.

    Examples
    --------
    >>> from obtree.testing import check_criterion
    >>> check_criterion("gini", task="classification")
    """
    check_param("task", task, *KINDS)
    name = find_criterion(criterion, KINDS[task]).__name__
    try:
        for outputs in n_outputs if task in ("classification", "regression") else (1,):
            for seed in range(3):
                _check_node(criterion, task, outputs, seed)
        _check_forests(criterion, task)
    except ContractError as error:
        raise ContractError(f"{name}: {error}") from error.__cause__
    except NotImplementedError as error:
        raise ContractError(f"{name} is not complete: {error}") from error


def _check_node(criterion, task, n_outputs, seed):
    """One node of random rows."""
    rng = np.random.default_rng(seed)
    y, n_classes = _draw_targets(rng, task, n_outputs)
    X = None
    if y is None or find_criterion(criterion, KINDS[task]).reads_rows:
        X = rng.integers(0, 9, (N_ROWS, 3)).astype(np.float32)
    made = bind_criterion(criterion, y, n_classes, X)
    rows = np.flatnonzero(rng.random(N_ROWS) < 0.7).astype(np.int32)
    weight = rng.integers(1, 4, N_ROWS).astype(np.float64)
    where = f"({n_outputs} outputs, seed {seed})"
    _check_copy(made.criterion)
    probe = NodeProbe(made, rows, weight)
    _check_stats(probe, made, X, y, n_classes, rows, weight, where)
    codes = rng.integers(0, 8, len(rows)).astype(np.uint32)
    best = _check_scan(probe, made.criterion, codes, where)
    _check_layouts(probe, codes, best, where)
    _check_limits(probe, codes, weight[rows], where)
    if not np.array_equal(_scan(probe, codes), best):
        raise ContractError(
            f"the same column has another best cut when it is asked about again {where}: "
            "something of the scan before was left behind"
        )
    _check_goal(made, y, rows, weight, codes, where)
    if n_outputs == 1:
        _check_order(made, probe, rows, weight, codes, where)
    _check_flips(made, probe, rows, weight, rng, where)


def _draw_targets(rng, task, n_outputs):
    """Targets of N_ROWS rows, if there are any, and the numbers of classes."""
    if task == "unsupervised":
        return None, None
    if task in ("classification", "semi-supervised"):
        least = 0 if task == "classification" else -1
        y = rng.integers(least, 3, (N_ROWS, n_outputs)).astype(np.int32)
        return y, np.full(n_outputs, 3, dtype=np.int64)
    return rng.integers(0, 9, (N_ROWS, n_outputs)).astype(np.float64), None


def _check_copy(made):
    """Every thread has a criterion of its own."""
    copy = made.clone()
    if copy is made:
        raise ContractError("clone() returned the object itself; expected a new one per thread")
    if type(copy) is not type(made):
        raise ContractError(f"clone() made a {type(copy).__name__}; expected {type(made).__name__}")


def _check_stats(probe, made, X, y, n_classes, rows, weight, where):
    """What load_node says about the node; X or y may be None."""
    n_outputs, value_size = probe.n_outputs, probe.value_size
    if n_outputs < 1 or value_size < n_outputs:
        raise ContractError(
            f"n_outputs is {n_outputs} and value_size {value_size}; expected bind to set both, to "
            f"1 or more {where}"
        )
    total = float(weight[rows].sum())
    if not np.isclose(probe.weight, total, rtol=1e-12):
        raise ContractError(
            f"load_node says that the node weighs {probe.weight}; expected {total}, the sum of "
            f"its rows' weights {where}"
        )
    if not np.isfinite(probe.impurity) or probe.impurity < -1e-12:
        raise ContractError(f"the impurity is {probe.impurity}; expected 0 or more {where}")
    value = probe.value
    if not np.isfinite(value).all():
        raise ContractError(
            f"node_value writes {value[~np.isfinite(value)][0]}, or leaves out some of the "
            f"{value_size} numbers; expected finite ones {where}"
        )
    if n_classes is not None and ((value < 0).any() or not np.isclose(value.sum(), n_outputs)):
        raise ContractError(
            f"node_value writes {value}; expected the fraction of each class, from 0 to 1 {where}"
        )
    # A weight of 2 is two rows.
    order = np.repeat(rows, weight[rows].astype(int))
    X_again, y_again = (None if part is None else part[order] for part in (X, y))
    twice = bind_criterion(type(made.criterion), y_again, n_classes, X_again)
    again = NodeProbe(twice, np.arange(len(order), dtype=np.int32), np.ones(len(order)))
    if not np.isclose(again.impurity, probe.impurity, rtol=1e-9, atol=1e-12):
        raise ContractError(
            f"the impurity is {probe.impurity} with weights and {again.impurity} with as many "
            f"repeated rows; expected the same {where}"
        )
    if not np.allclose(again.value, value, rtol=1e-9, atol=1e-12):
        raise ContractError(f"node_value differs between weights and as many repeated rows {where}")
    measured = X if y is None else y
    if made.targets.kind == "partial" and X is not None:
        measured = np.column_stack([X, y])
    same = rows[(measured[rows] == measured[rows[0]]).all(axis=1)]
    pure = NodeProbe(made, same, weight)
    if pure.impurity > 1e-12:
        raise ContractError(
            f"the impurity of a node of equal targets is {pure.impurity}; expected 0 {where}"
        )


def _scan(probe, codes, **options):
    """A best cut as three numbers; minus infinity when there is none."""
    found = probe.scan(codes, **options)
    return (-np.inf, 0, 0) if found is None else found


def _check_scan(probe, made, codes, where):
    """The best cut is between two neighbours, and no other cut is better."""
    best = _scan(probe, codes)
    values = np.unique(codes)
    alone = [_scan(probe, (codes > low).astype(np.uint32))[0] for low in values[:-1]]
    if not np.isfinite(best[0]) and made.may_decline and not np.isfinite(alone).any():
        return best
    if not np.isfinite(best[0]):
        raise ContractError(f"scan found no cut of a column of {len(values)} values {where}")
    if (best[1], best[2]) not in set(pairwise(values)):
        raise ContractError(
            f"scan cut between the keys {best[1]} and {best[2]}; expected two neighbours among "
            f"{values.tolist()} {where}"
        )
    if not np.isclose(best[0], max(alone), rtol=1e-9, atol=1e-9):
        raise ContractError(
            f"scan found a cut of score {best[0]:.9g}, and the best of all single cuts has "
            f"{max(alone):.9g}; expected the same {where}"
        )
    if probe.scan(codes, best_score=best[0] + abs(best[0]) * 1e-6 + 1e-6) is not None:
        raise ContractError(
            f"scan replaced a better cut by one of score {best[0]:.9g}; expected `best` to "
            f"change only for a higher score {where}"
        )
    return best


def _check_layouts(probe, codes, best, where):
    """Bins and words give the same cut."""
    layouts = []
    if probe.scans_above:
        layouts += ["above", "around"]
    if any(probe.prefers_bins(n_bins) for n_bins in range(1, 9)):
        layouts += LAYOUTS
    for layout in layouts:
        other = _scan(probe, codes, layout=layout)
        if other[1:] != best[1:] or not np.isclose(other[0], best[0], rtol=1e-9, atol=1e-9):
            method = "scan_above" if layout in ("above", "around") else "scan_bins"
            raise ContractError(
                f"{method} found the cut {other[1:]} of score {other[0]:.9g}, and scan "
                f"{best[1:]} of {best[0]:.9g}; expected the same {where}"
            )


def _check_limits(probe, codes, weight, where):
    """Cuts that leave too small a side are not found."""
    for options in ({"min_samples_leaf": len(codes) // 3}, {"min_weight_leaf": weight.sum() / 3}):
        score, low, _ = _scan(probe, codes, **options)
        if score == -np.inf:
            continue
        left = codes <= low
        rows = min(left.sum(), (~left).sum())
        heavy = min(weight[left].sum(), weight[~left].sum())
        if rows < options.get("min_samples_leaf", 0) or heavy < options.get("min_weight_leaf", 0):
            raise ContractError(
                f"scan found a cut with a side of {rows} rows and weight {heavy:g}, which "
                f"{options} forbids {where}"
            )


def _check_goal(made, y, rows, weight, codes, where):
    """A score that reaches the goal means that both sides are pure."""
    probe = NodeProbe(made, rows, weight)
    for low in np.unique(codes)[:-1]:
        left = codes <= low
        score = _scan(probe, (codes > low).astype(np.uint32))[0]
        sides = [NodeProbe(made, rows[side], weight).impurity for side in (left, ~left)]
        if score >= probe.goal and max(sides) > 1e-9:
            raise ContractError(
                f"a cut of score {score:.9g} reaches the goal {probe.goal:.9g}, and a side of it "
                f"has impurity {max(sides):.9g}; expected a goal that only pure sides reach, or "
                f"infinity {where}"
            )


def _check_order(made, probe, rows, weight, codes, where):
    """Monotonic constraints hold in what scan finds."""
    for sign in (-1, 1):
        score, low, _ = _scan(probe, codes, monotone=sign)
        if score == -np.inf:
            continue
        left = codes <= low
        levels = [NodeProbe(made, rows[side], weight).level for side in (left, ~left)]
        if sign * (levels[1] - levels[0]) < -1e-9:
            raise ContractError(
                f"limits.monotone is {sign}, and scan found a cut with level {levels[0]:.6g} left "
                f"and {levels[1]:.6g} right {where}"
            )


def _check_flips(made, probe, rows, weight, rng, where):
    """The best plane on a line, for a criterion that can search there (``oc1`` asks for it)."""
    distance = rng.normal(size=len(rows))
    x = rng.normal(size=len(rows)).astype(np.float32)
    try:
        found = scan_flips(made, rows, weight, distance, x)
    except NotImplementedError:
        return
    steps = np.sort(-distance / x.astype(np.float64))
    sides = [distance + step * x >= 0 for step in (steps[1:] + steps[:-1]) / 2]
    best = max(
        _scan(probe, right.astype(np.uint32))[0] for right in sides if 0 < right.sum() < len(rows)
    )
    if found is None and made.criterion.may_decline and not np.isfinite(best):
        return
    if found is None or not np.isclose(found[0], best, rtol=1e-9, atol=1e-9):
        raise ContractError(
            f"scan_flips found {'no plane' if found is None else f'a score of {found[0]:.9g}'}, "
            f"and the best of all planes on the line has {best:.9g} by scan {where}"
        )


def _check_forests(criterion, task):
    """Forests grow, and threads change nothing."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(80, 4)).astype(np.float32)
    for one, other in zip(*_grow_twice(criterion, task, X, rng), strict=True):
        if find_differences(one, other):
            raise ContractError("a forest grown on two threads differs from one grown on one")
        if one.node_count < 3 and not find_criterion(criterion, KINDS[task]).may_decline:
            raise ContractError("a tree of 80 rows was not split at all")


def _grow_twice(criterion, task, X, rng):
    """The trees of a forest, grown on one thread and on two."""
    if task in ("unsupervised", "semi-supervised"):
        y = None if task == "unsupervised" else rng.integers(-1, 3, len(X))
        options = {"seeds": range(4), "n_bootstrap": len(X)}
        return [grow_forest(X, y, criterion, n_threads=n, **options) for n in (1, 2)]
    forest = ObliqueForestRegressor
    y = X[:, 0] + X[:, 1] + rng.random(80)
    if task == "classification":
        forest = ObliqueForestClassifier
        y = (y > np.median(y)).astype(int)
    grown = [
        forest(4, criterion=criterion, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    ]
    return [[tree.tree_ for tree in model.estimators_] for model in grown]
