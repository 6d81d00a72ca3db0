"""What a density forest has chosen, and checks of what a model file says of it."""

from typing import NamedTuple

import numpy as np

from obtree.core.names import show


class StopRule(NamedTuple):
    """Which nodes of grown trees become leaves, and how their Gaussians are shrunk."""

    leaf_weight: float
    shrinkage: float
    correlation: float
    is_pruned: bool
    is_refined: bool = False


def read_rule(rule):
    """Read the rule that a model file holds, trusting nothing.

    Parameters
    ----------
    rule : object

    Returns
    -------
    rule : StopRule
    """
    expected = "a stop rule of three numbers and two flags"
    types = [type(part) for part in rule] if isinstance(rule, list) else []
    # Files of version 0.5 have one flag.
    if types not in ([float, float, float, bool], [float, float, float, bool, bool]):
        raise ValueError(f"its stop_rule is {show(rule)}, expected {expected}")
    if not all(0.0 < part < np.inf for part in rule[:2]) or not 0.0 <= rule[2] <= 1.0:
        raise ValueError(
            f"its stop_rule is {show(rule)}, expected positive numbers, the third up to 1"
        )
    return StopRule(*rule)


def check_density(tree, is_truncated):
    """Refuse a tree whose leaves are no Gaussians, or whose density does not integrate to 1."""
    if tree.leaf_kind.name != "gaussian":
        raise ValueError(f"a tree of it has {tree.leaf_kind.name} leaves, expected Gaussian ones")
    ends = tree.children_left < 0
    mass = tree.leaf_mass[ends] if is_truncated else np.ones(np.count_nonzero(ends))
    total = np.exp(tree.leaf_log_weight[ends]) @ mass
    if not abs(total - 1.0) < 1e-6:
        raise ValueError(f"the density of a tree of it integrates to {total:g}, expected 1")
