"""From grown trees to densities: where to stop, the Gaussians of leaves, and their masses.

A tree grows on some of the rows, until its nodes have few of them. Every node has a Gaussian,
shrunk towards that of its parent. How far to go back, and how much to shrink, is decided for the
forest as a whole: each of a list of rules is judged by the log likelihood that the forest gives
to rows, each by the trees that left it out. A rule is the least that the rows of a leaf weigh,
how much is shrunk, and whether a split must also raise the likelihood of the rows that its tree
left out. Many small leaves are poor in one tree and good in the mean of a hundred, which is why
trees cannot decide alone; on rows of one Gaussian nothing beats the tree that does not split.

Then the leaves are fitted again, to all rows. In its own cell the density of a leaf is
pi N(x; mu, Lambda) / Z with Z the sum over the leaves of pi times the mass that the Gaussian has
inside its cell. The weights are chosen so that a cell gets the fraction of the rows that it has:
pi is that fraction divided by the mass. Masses are found by drawing from the Gaussians and
sending the draws down the tree, so they serve cells of any shape.

Everything is computed for columns of mean 0 and deviation 1, so that units do not matter.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from obtree.builder.prune import cut_branches
from obtree.core.names import show
from obtree.forest.gaussians import (
    choose_leaves,
    draw_rows,
    fit_gaussians,
    number_branches,
    run_calls,
    sum_moments,
    trace_densities,
)
from obtree.tree.path import find_parents
from obtree.tree.tree import Tree, list_arrays

#: Variance added to each column, as a fraction of its own in all rows.
FLOOR = 1e-6
#: What the rows of a leaf weigh at least, in units of the smallest leaf that may grow.
LEAF_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: Rows that vary as the parent's, in units of the number of columns.
SHRINKAGES = (0.25, 1.0, 4.0)
#: Rows by which rules are judged, and trees that give them a density, at most.
MAX_JUDGED, MAX_JUDGES = 4000, 50
#: Standard errors by which the likelihood has to rise for splits to stay.
SURE = 3.0
#: Trees by which splitters are compared.
RACE_TREES = 12
#: A Gaussian of which less lies inside its cell describes nothing: no leaf has such a one.
MIN_MASS = 0.02
#: Draws by which a rule's leaves are told, and by which the masses of a finished tree begin.
FEW_DRAWS, MORE_DRAWS, MOST_DRAWS = 48, 256, 2**16
#: Draws that must have landed inside before a mass is believed.
MIN_HITS = 64
#: Standard error wanted of the integral of the forest's density.
INTEGRAL_ERROR = 0.002


class StopRule(NamedTuple):
    """Which nodes of grown trees become leaves, and how their Gaussians are shrunk."""

    leaf_weight: float
    shrinkage: float
    is_pruned: bool


def read_rule(rule):
    """Read the rule that a model file holds, trusting nothing.

    Parameters
    ----------
    rule : object

    Returns
    -------
    rule : StopRule
    """
    expected = "a stop rule of two numbers and a flag"
    if not isinstance(rule, list) or [type(part) for part in rule] != [float, float, bool]:
        raise ValueError(f"its stop_rule is {show(rule)}, expected {expected}")
    if not all(0.0 < part < np.inf for part in rule[:2]):
        raise ValueError(f"its stop_rule is {show(rule)}, expected positive numbers")
    return StopRule(*rule)


@dataclass(frozen=True, eq=False)
class DensityData:
    """What the Gaussians are fitted to.

    Attributes
    ----------
    X : float32 ndarray of shape (n_rows, d)
        Rows as trees see them; NaN where a value is missing.
    Z : float64 ndarray of shape (n_rows, d)
        The same with mean 0 and deviation 1, what is missing being filled in.
    weight : float64 ndarray of shape (n_rows,)
    centre, scale : float64 ndarray of shape (d,)
        What was subtracted from X, and what it was then divided by.
    extra, extra_of : ndarray or None
        How uncertain the values filled in are; see `obtree.forest.gaussians.sum_moments`.
    """

    X: np.ndarray
    Z: np.ndarray
    weight: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    extra: np.ndarray | None = None
    extra_of: np.ndarray | None = None


class NodeGaussians:
    """The Gaussians of all nodes of a tree, for standardised columns."""

    def __init__(self, tree, data, weight, leaf_of=None):
        self.tree = tree
        self.left = tree.children_left.astype(np.int64)
        self.right = tree.children_right.astype(np.int64)
        self.parent = find_parents(self.left, self.right)
        self.leaf_of = tree.apply(data.X) if leaf_of is None else leaf_of
        self._data = data
        self._moments = sum_moments(
            data.Z, self.leaf_of, weight, self.parent, data.extra, data.extra_of
        )
        self.total = self._moments[0]
        self._ranges = number_branches(self.left, self.right)

    def fit(self, shrinkage):
        """Fit the Gaussians, each with so many rows a column of its parent's kind."""
        prior = shrinkage * self._data.Z.shape[1]
        self.mean, self.factor = fit_gaussians(*self._moments, self.parent, prior, FLOOR)
        return self

    def count_hits(self, seed, nodes, counts, stream=0, shared=False):
        """Draw from the Gaussians of some nodes and count what lands in their cells."""
        data = self._data
        d = data.Z.shape[1]
        hits = np.zeros(len(nodes), dtype=np.int64)
        scale = _find_lower(data.scale)
        # Some nodes at a time, so that draws take little room.
        limit = max(2**20 // d, 1)
        part = np.cumsum(counts) // limit
        for k in np.unique(part):
            some = np.flatnonzero(part == k)
            here, n_draws = nodes[some], counts[some]
            mean = data.centre + data.scale * self.mean[here]
            factor = scale * self.factor[here]
            x = draw_rows(seed, here, n_draws, mean, factor, stream, shared)
            owner = np.repeat(np.arange(len(here)), n_draws)
            first, last = self._ranges
            place = first[self.tree.apply(x)]
            inside = (first[here][owner] <= place) & (place < last[here][owner])
            hits[some] = np.bincount(owner[inside], minlength=len(here))
        return hits

    def estimate_masses(self, seed, stream):
        """What each node's Gaussian has inside its cell, roughly.

        One more hit than there were: so the inverse, by which densities are multiplied, is right
        in the mean.
        """
        nodes = np.arange(1, len(self.parent))
        counts = np.full(len(nodes), FEW_DRAWS)
        hits = self.count_hits(seed, nodes, counts, stream, shared=True)
        return np.append(1.0, (hits + 1.0) / (FEW_DRAWS + 1.0))


def _find_lower(scale):
    """What each number of a lower triangle by rows is to be multiplied by."""
    return np.repeat(scale, np.arange(1, len(scale) + 1))


class DensityFitter:
    """Turns grown trees into densities.

    Parameters
    ----------
    trees : list of Tree
    seeds : ndarray of uint32
    data : DensityData
    sample : RowSample
        How each tree's rows were drawn.
    min_weight : float
        What the rows of the smallest leaf weigh.
    truncate : bool
        Whether a leaf counts inside its cell only.
    shrinkages : tuple of float
        What to choose from.
    n_threads, verbose : int
    """

    def __init__(
        self, trees, seeds, data, sample, min_weight, truncate, shrinkages, n_threads=1, verbose=0
    ):
        self._trees = trees
        self._seeds = seeds
        self._data = data
        self._sample = sample
        self._truncate = truncate
        self._options = {"n_threads": n_threads, "verbose": verbose}
        total = data.weight.sum()
        weights = [k * min_weight for k in LEAF_WEIGHTS if k * min_weight <= 0.5 * total]
        self._rules = [
            StopRule(least, shrinkage, is_pruned)
            for shrinkage in shrinkages
            for least in weights
            for is_pruned in (True, False)
        ]
        # No split at all.
        self._rules.append(StopRule(2.0 * total, shrinkages[0], False))

    def choose_rule(self):
        """Find the rule under which the forest is best on rows that trees left out.

        Returns
        -------
        rule : StopRule
        likelihood : float
            Mean log density of those rows; minus infinity when there are none.
        """
        n_rows = len(self._data.X)
        if len(self._rules) == 1 or self._sample.n_draws in (0, n_rows):
            # Nothing was left out, so nothing can be judged.
            return self._rules[min(1, len(self._rules) - 1)], -np.inf
        step = max(1, -(-n_rows // MAX_JUDGED))
        self._judged = np.zeros(n_rows, dtype=bool)
        self._judged[::step] = True
        n_trees = min(len(self._trees), MAX_JUDGES)
        found = run_calls(self._judge, n_trees, desc="choosing leaves", **self._options)
        top = np.full((len(self._rules), n_rows), -np.inf)
        total = np.zeros((len(self._rules), n_rows))
        n_known = np.zeros(n_rows)
        for rows, values in found:
            n_known[rows] += 1
            higher = np.maximum(top[:, rows], values)
            with np.errstate(invalid="ignore"):
                kept = np.where(
                    top[:, rows] > -np.inf, total[:, rows] * np.exp(top[:, rows] - higher), 0.0
                )
            total[:, rows] = kept + np.exp(values - higher)
            top[:, rows] = higher
        judged = np.flatnonzero(n_known)
        if not len(judged):
            return self._rules[-1], -np.inf
        density = top[:, judged] + np.log(total[:, judged]) - np.log(n_known[judged])
        weight = self._data.weight[judged]
        likelihood = density @ weight / weight.sum()
        best = int(np.argmax(likelihood))
        # Splits have to be worth it: among many rules one is better than no split by chance.
        gain = density[best] - density[-1]
        error = np.sqrt(weight**2 @ (gain - gain @ weight / weight.sum()) ** 2) / weight.sum()
        if likelihood[best] - likelihood[-1] < SURE * error:
            best = len(self._rules) - 1
        return self._rules[best], float(likelihood[best])

    def finish(self, rule):
        """Return the trees with the Gaussian leaves that follow from a rule."""
        self._rule = rule
        return run_calls(self._finish, len(self._trees), desc="fitting leaves", **self._options)

    # ---- judging rules ------------------------------------------------------------------------

    def _judge(self, t):
        """Return rows that tree t left out, and their log density under each rule."""
        drawn = self._sample.count(self._seeds[t], len(self._data.X))
        gaussians = NodeGaussians(self._trees[t], self._data, drawn * self._data.weight)
        rows = np.flatnonzero((drawn == 0) & self._judged)
        values = np.empty((len(self._rules), len(rows)))
        for shrinkage in {rule.shrinkage: None for rule in self._rules}:
            masses = self._weigh(gaussians.fit(shrinkage), t)
            traced = self._trace(gaussians, masses[1], rows)
            for r, rule in enumerate(self._rules):
                if rule.shrinkage == shrinkage:
                    values[r] = self._judge_rule(gaussians, masses, traced, rows, rule)
        return rows, values

    def _weigh(self, gaussians, t):
        """What nodes have inside their cells; all of it when cells do not count.

        Twice, by different draws: where leaves are chosen by masses, those that happen to be too
        small are preferred, and would also make the density of the leaves too large.
        """
        if not self._truncate:
            return (np.ones(len(gaussians.total)),) * 2
        return [gaussians.estimate_masses(self._seeds[t], stream) for stream in (0, 5)]

    def _trace(self, gaussians, mass, rows):
        """The log densities of rows in the nodes that they pass."""
        with np.errstate(divide="ignore"):
            log_weight = np.log(gaussians.total / gaussians.total[0]) - np.log(mass)
        return trace_densities(
            self._data.Z,
            rows,
            gaussians.leaf_of,
            gaussians.parent,
            gaussians.mean,
            gaussians.factor,
            np.maximum(log_weight, -1e3),
        )

    def _judge_rule(self, gaussians, masses, traced, rows, rule):
        """The log density of rows under one rule."""
        start, node, value = traced
        owner = np.repeat(np.arange(len(rows)), np.diff(start))
        values = np.empty(len(rows))
        # What a row says about splits must not be what it is judged by.
        halves = (owner % 2 == 0, owner % 2 == 1) if rule.is_pruned else (np.ones_like(owner) > 0,)
        for half in halves:
            own = None
            if rule.is_pruned:
                own = self._add_up(gaussians, masses, traced, rows, ~half)
            leaf, _ = self._stop(gaussians, masses[0], rule, own)
            reached = half & (node == leaf[gaussians.leaf_of[rows]][owner])
            values[owner[reached]] = value[reached]
        return values

    def _add_up(self, gaussians, masses, traced, rows, used=True):
        """The log likelihood of rows in each node, by the first of the masses."""
        start, node, value = traced
        weight = np.repeat(self._data.weight[rows], np.diff(start)) * used
        value = value + np.log(masses[1] / masses[0])[node]
        return np.bincount(node, weights=value * weight, minlength=len(gaussians.total))

    def _stop(self, gaussians, mass, rule, own):
        """Which nodes become leaves."""
        return choose_leaves(
            gaussians.parent,
            gaussians.left,
            gaussians.right,
            gaussians.total,
            rule.leaf_weight * (1.0 - 1e-9),
            own,
            mass,
            MIN_MASS,
        )

    # ---- the leaves of one tree ---------------------------------------------------------------

    def _finish(self, t):
        """Return tree t cut back by the rule, with Gaussians fitted to all rows."""
        data, rule, tree = self._data, self._rule, self._trees[t]
        drawn = self._sample.count(self._seeds[t], len(data.X))
        grown = NodeGaussians(tree, data, drawn * data.weight).fit(rule.shrinkage)
        masses = self._weigh(grown, t)
        own = None
        rows = np.flatnonzero(drawn == 0)
        if rule.is_pruned and len(rows):
            own = self._add_up(grown, masses, self._trace(grown, masses[1], rows), rows)
        _, is_leaf = self._stop(grown, masses[0], rule, own)
        if (is_leaf & (tree.children_left >= 0)).any():
            tree = cut_branches(tree, is_leaf & (tree.children_left >= 0))
        leaves = NodeGaussians(tree, data, data.weight).fit(rule.shrinkage)
        ends = np.flatnonzero(tree.children_left < 0)
        fraction = leaves.total[ends] / leaves.total[0]
        mass = np.ones(len(ends))
        if self._truncate and len(ends) > 1:
            mass = self._measure_masses(leaves, ends, fraction, t)
        weight = fraction / np.maximum(mass, MIN_MASS)
        arrays = _arrange(leaves, data, ends, weight / (weight @ mass), mass)
        return Tree.from_arrays(n_features=tree.n_features, **(list_arrays(tree) | arrays))

    def _measure_masses(self, leaves, ends, fraction, t):
        """What the leaves have inside their cells, as exactly as the integral is wanted."""
        seed = self._seeds[t]
        counts = np.full(len(ends), MORE_DRAWS)
        hits = leaves.count_hits(seed, ends, counts, stream=1)
        # Leaves that are seldom hit get sixteen times as many draws.
        few = np.flatnonzero(hits < MIN_HITS)
        if len(few):
            more = np.full(len(few), 15 * MORE_DRAWS)
            hits[few] += leaves.count_hits(seed, ends[few], more, stream=2)
            counts[few] += more
        # The rest so that the standard error is what is wanted, with the fewest draws in all.
        mass = (hits + 1.0) / (counts + 1.0)
        spread = fraction * np.sqrt((1.0 - mass) / mass)
        error = INTEGRAL_ERROR * np.sqrt(len(self._trees))
        wanted = np.minimum(np.ceil(spread * spread.sum() / error**2), MOST_DRAWS).astype(np.int64)
        short = np.flatnonzero(wanted > counts)
        if len(short):
            more = wanted[short] - counts[short]
            hits[short] += leaves.count_hits(seed, ends[short], more, stream=3)
            counts[short] += more
        return np.where(hits > 0, (hits + 1.0) / (counts + 1.0), 0.0)


def _arrange(leaves, data, ends, weight, mass):
    """The arrays of Gaussian leaves, for rows as trees see them."""
    n_nodes, d = len(leaves.parent), data.Z.shape[1]
    arrays = {
        "leaf_mean": np.zeros((n_nodes, d)),
        "leaf_factor": np.zeros((n_nodes, d * (d + 1) // 2)),
        "leaf_log_weight": np.zeros(n_nodes),
        "leaf_mass": np.zeros(n_nodes),
    }
    arrays["leaf_mean"][ends] = data.centre + data.scale * leaves.mean[ends]
    arrays["leaf_factor"][ends] = _find_lower(data.scale) * leaves.factor[ends]
    arrays["leaf_log_weight"][ends] = np.log(weight)
    arrays["leaf_mass"][ends] = mass
    return arrays


class DensityRace:
    """Grows forests with several splitters and goes on with the one that is best.

    Parameters
    ----------
    data : DensityData
    sample : RowSample
    seeds : ndarray of uint32
        Of all trees.
    truncate : bool
    shrinkages : tuple of float
    options : dict
        ``n_threads`` and ``verbose``.
    """

    def __init__(self, data, sample, seeds, truncate, shrinkages, options):
        self._data = data
        self._sample = sample
        self.seeds = seeds
        self._truncate = truncate
        self._shrinkages = shrinkages
        self._options = options

    def run(self, plans):
        """Grow the forest.

        Parameters
        ----------
        plans : list of GrowthPlan
            All of their rows take part.

        Returns
        -------
        plan : GrowthPlan
            The best of them.
        trees : list of Tree
            With Gaussian leaves.
        rule : StopRule
        """
        n_trees = min(RACE_TREES, len(self.seeds))
        best, trees = plans[0], []
        if len(plans) > 1:
            found = []
            for plan in plans:
                some = self._grow(plan, self.seeds[:n_trees])
                found.append((self._make_fitter(plan, some).choose_rule()[1], some))
            # The first of equals, as where nothing could be judged.
            winner = max(range(len(plans)), key=lambda k: (found[k][0], -k))
            best, trees = plans[winner], found[winner][1]
        trees = trees + self._grow(best, self.seeds[len(trees) :])
        fitter = self._make_fitter(best, trees)
        rule, _ = fitter.choose_rule()
        return best, fitter.finish(rule), rule

    def _grow(self, plan, seeds):
        """Grow trees without models in their leaves."""
        if not len(seeds):
            return []
        return plan.grow(seeds, **self._sample.options, **self._options)

    def _make_fitter(self, plan, trees):
        """What judges trees and fits their leaves."""
        return DensityFitter(
            trees,
            self.seeds[: len(trees)],
            self._data,
            self._sample,
            float(plan.rule.min_samples_leaf),
            self._truncate,
            self._shrinkages,
            **self._options,
        )
