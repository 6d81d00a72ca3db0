"""From grown trees to densities: where to stop, the Gaussians of leaves, and their masses.

A tree grows on some of the rows, until its nodes have few of them. Every node has a Gaussian,
shrunk towards those of its sibling and parent. How far to go back, and how much to shrink, is
decided for the forest as a whole: each of a list of rules is judged by the log likelihood that the
forest gives to rows, each by the trees that left it out. A rule is the least that the rows of a
leaf weigh, how much covariances and their correlations are shrunk, and whether a split must also
raise the likelihood of the rows that its tree left out. Many small leaves are poor in one tree and
good in the mean of a hundred, which is why trees cannot decide alone; on rows of one Gaussian
nothing beats the tree that does not split.

Then the leaves are fitted again, to all rows. In its own cell the density of a leaf is
pi N(x; mu, Lambda) / Z with Z the sum over the leaves of pi times the mass that the Gaussian has
inside its cell. The weights are chosen so that a cell gets the fraction of the rows that it has:
pi is that fraction divided by the mass. Masses are found by drawing from the Gaussians and
sending the draws down the tree, so they serve cells of any shape.

Where the density is smooth, borders of cells are too sharp. So there are also rules by which leaves
overlap: their Gaussians are not cut off, and refined by a few steps of EM (`density_mixture.py`).
These are tried from few leaves to many.

Everything is computed for columns of mean 0 and deviation 1, so that units do not matter.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from obtree.builder.prune import cut_branches
from obtree.estimators.density_mixture import Expansion, measure_mixture, refine_mixture
from obtree.estimators.density_nodes import NodeGaussians, find_lower
from obtree.estimators.density_state import StopRule
from obtree.forest.calls import run_calls
from obtree.forest.gaussians import choose_leaves, trace_densities
from obtree.tree.tree import Tree, list_arrays

#: What the rows of a leaf weigh at least, in units of the smallest leaf that may grow.
LEAF_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: Rows that leaves borrow for their covariance, in units of the number of columns, and what
#: their correlations are multiplied by.
SHRINKAGES = ((0.25, 1.0), (2.0, 1.0), (4.0, 0.5), (1.0, 0.0))
#: The same where leaves overlap: rows borrowed from the mean of all leaves. And the most leaves
#: that there may be of a tree, which bounds the time.
REFINED_SHRINKAGES, MOST_REFINED = (0.25, 2.0), 128
#: Of more columns the refinement takes too long: leaves do not overlap.
WIDE = 64
#: Rows by which rules are judged, and trees that give them a density, at most.
MAX_JUDGED, MAX_JUDGES = 4000, 36
#: Rows without missing values from which on the others are not asked.
MIN_JUDGED = 50
#: Standard errors by which the likelihood has to rise for splits to stay.
SURE = 3.0
#: A Gaussian of which less lies inside its cell describes nothing: no leaf has such a one.
MIN_MASS = 0.02
#: Draws by which the masses of a finished tree begin, and the most there may be of a leaf.
MORE_DRAWS, MOST_DRAWS = 256, 2**16
#: Draws that must have landed inside before a mass is believed.
MIN_HITS = 64
#: Standard error wanted of the integral of the forest's density.
INTEGRAL_ERROR = 0.002


class Nodes(NamedTuple):
    """What of a tree's `NodeGaussians` is kept while rules are judged."""

    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    total: np.ndarray
    leaf_of: np.ndarray


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
    shrinkages : tuple of (float, float)
        What to choose from.
    refined : tuple of float
        The same where leaves overlap; without any they do not.
    n_threads, verbose : int
    """

    def __init__(
        self,
        trees,
        seeds,
        data,
        sample,
        min_weight,
        truncate,
        shrinkages,
        refined=(),
        n_threads=1,
        verbose=0,
    ):
        self._trees = trees
        self._seeds = seeds
        self._data = data
        self._sample = sample
        self._truncate = truncate
        self._refined = refined if data.Z.shape[1] <= WIDE else ()
        self._min_weight = min_weight
        self._options = {"n_threads": n_threads, "verbose": verbose}
        # Values that were filled in lie where they are likeliest: such rows are no judges.
        self._may_judge = np.ones(len(data.X), dtype=bool)
        if data.extra_of is not None and np.count_nonzero(data.extra_of < 0) >= MIN_JUDGED:
            self._may_judge = data.extra_of < 0
        total = data.weight.sum()
        weights = [k * min_weight for k in LEAF_WEIGHTS if k * min_weight <= 0.5 * total]
        self._rules = [
            StopRule(least, *shrinkage, is_pruned)
            for shrinkage in shrinkages
            for least in weights
            for is_pruned in (True, False)
        ]
        # No split at all.
        self._rules.append(StopRule(2.0 * total, *shrinkages[0], False))

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
        self._judged &= self._may_judge
        self._nodes = {}
        self._n_judges = min(len(self._trees), MAX_JUDGES)
        self._drawn = float(self._data.weight.sum()) * self._sample.n_draws / n_rows
        density = self._average(self._judge, len(self._rules))
        judged = np.flatnonzero(np.isfinite(density[-1]))
        if not len(judged):
            return self._rules[-1], -np.inf
        weight = self._data.weight[judged]
        density = density[:, judged]
        likelihood = density @ weight / weight.sum()
        # The last is no split at all.
        best, last = int(np.argmax(likelihood)), density[-1]
        rule, density, likelihood = self._rules[best], density[best], likelihood[best]
        least = 0.25 * self._drawn
        if self._refined:
            self._expansion = Expansion(self._data)
        for shrinkage in self._refined:
            found = self._refine(shrinkage, judged, least)
            if found is None:
                break
            least = min(least, 2.0 * found[0].leaf_weight)
            if found[2] > likelihood:
                rule, density, likelihood = found
        # Splits have to be worth it: among many rules one is better than no split by chance.
        gain = density - last
        error = np.sqrt(weight**2 @ (gain - gain @ weight / weight.sum()) ** 2) / weight.sum()
        if gain @ weight / weight.sum() < SURE * error:
            rule = self._rules[-1]
        return rule, float(likelihood)

    def _average(self, judge, n_rules):
        """The log density of rows, by the trees that left them out; NaN where none did."""
        found = run_calls(judge, self._n_judges, desc="choosing leaves", **self._options)
        n_rows = len(self._data.X)
        top = np.full((n_rules, n_rows), -np.inf)
        total = np.zeros((n_rules, n_rows))
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
        with np.errstate(divide="ignore", invalid="ignore"):
            return top + np.log(total) - np.log(n_known)

    def _refine(self, shrinkage, judged, least):
        """Find how large leaves that overlap should be, trying smaller ones while they are better.

        Returns
        -------
        rule, density, likelihood : StopRule, ndarray of shape (n_judged,), float
            None where there is nothing to try.
        """
        weight, best = self._data.weight[judged], None
        while least >= max(self._min_weight, self._drawn / MOST_REFINED):
            rule = StopRule(least, shrinkage, 1.0, False, True)
            with threadpool_limits(1, user_api="blas"):
                density = self._average(partial(self._judge_refined, rule), 1)[0, judged]
            likelihood = float(density @ weight / weight.sum())
            if best is not None and likelihood < best[2]:
                break
            best = rule, density, likelihood
            least *= 0.5
        return best

    def finish(self, rule):
        """Return the trees with the Gaussian leaves that follow from a rule."""
        self._rule = rule
        with threadpool_limits(1, user_api="blas"):
            return run_calls(self._finish, len(self._trees), desc="fitting leaves", **self._options)

    # ---- judging rules ------------------------------------------------------------------------

    def _judge(self, t):
        """Return rows that tree t left out, and their log density under each rule."""
        drawn = self._sample.count(self._seeds[t], len(self._data.X))
        gaussians = NodeGaussians(self._trees[t], self._data, drawn * self._data.weight)
        if self._refined:
            self._nodes[t] = Nodes(*(getattr(gaussians, name) for name in Nodes._fields))
        rows = np.flatnonzero((drawn == 0) & self._judged)
        values = np.empty((len(self._rules), len(rows)))
        for shrinkage in {rule[1:3]: None for rule in self._rules}:
            masses = self._weigh(gaussians.fit(*shrinkage), t)
            traced = self._trace(gaussians, masses[1], rows)
            for r, rule in enumerate(self._rules):
                if rule[1:3] == shrinkage:
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

    def _judge_refined(self, rule, t):
        """The same for a rule by which leaves overlap."""
        weight = self._sample.count(self._seeds[t], len(self._data.X)) * self._data.weight
        rows = np.flatnonzero((weight == 0) & self._judged)
        nodes = self._nodes[t]
        leaf, is_leaf = self._stop(nodes, None, rule, None)
        owner = np.searchsorted(np.flatnonzero(is_leaf), leaf[nodes.leaf_of])
        mixture = refine_mixture(self._expansion, weight, owner, int(is_leaf.sum()), rule.shrinkage)
        return rows, measure_mixture(self._expansion, rows, mixture)[np.newaxis]

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
        grown = NodeGaussians(tree, data, drawn * data.weight)
        own = masses = None
        if not rule.is_refined:
            masses = self._weigh(grown.fit(*rule[1:3]), t)
            rows = np.flatnonzero((drawn == 0) & self._may_judge)
            if rule.is_pruned and len(rows):
                own = self._add_up(grown, masses, self._trace(grown, masses[1], rows), rows)
        _, is_leaf = self._stop(grown, masses and masses[0], rule, own)
        if (is_leaf & (tree.children_left >= 0)).any():
            tree = cut_branches(tree, is_leaf & (tree.children_left >= 0))
        ends = np.flatnonzero(tree.children_left < 0)
        if rule.is_refined:
            owner = np.searchsorted(ends, tree.apply(data.X))
            mixture = refine_mixture(self._expansion, data.weight, owner, len(ends), rule.shrinkage)
            weight, mass = mixture.weight, np.ones(len(ends))
            factor = np.linalg.cholesky(mixture.covariance)[:, *np.tril_indices(data.Z.shape[1])]
            gaussians = mixture.mean, factor
        else:
            leaves = NodeGaussians(tree, data, data.weight).fit(*rule[1:3])
            fraction = leaves.total[ends] / leaves.total[0]
            mass = np.ones(len(ends))
            if self._truncate and len(ends) > 1:
                mass = self._measure_masses(leaves, ends, fraction, t)
            weight = fraction / np.maximum(mass, MIN_MASS)
            weight /= weight @ mass
            gaussians = leaves.mean[ends], leaves.factor[ends]
        arrays = _arrange(tree.node_count, data, ends, *gaussians, weight, mass)
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


def _arrange(n_nodes, data, ends, mean, factor, weight, mass):
    """The arrays of Gaussian leaves, for rows as trees see them."""
    arrays = {
        "leaf_mean": np.zeros((n_nodes, mean.shape[1])),
        "leaf_factor": np.zeros((n_nodes, factor.shape[1])),
        "leaf_log_weight": np.zeros(n_nodes),
        "leaf_mass": np.zeros(n_nodes),
    }
    arrays["leaf_mean"][ends] = data.centre + data.scale * mean
    arrays["leaf_factor"][ends] = find_lower(data.scale) * factor
    arrays["leaf_log_weight"][ends] = np.log(weight)
    arrays["leaf_mass"][ends] = mass
    return arrays
