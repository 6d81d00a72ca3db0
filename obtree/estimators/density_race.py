"""Which splitter grows a density forest: the one whose first trees give rows left out most."""

from obtree.estimators.density_trees import DensityFitter

#: Trees by which splitters are compared: of fewer, coarse ones seem better than they are in a large
#: forest. And the places of the shrinkages that are tried for it: all would take twice the time.
RACE_TREES = 20
RACE_SHRINKAGES = (1, 3)


class DensityRace:
    """Grows forests with several splitters and goes on with the one that is best.

    Parameters
    ----------
    data : DensityData
    sample : RowSample
    seeds : ndarray of uint32
        Of all trees.
    truncate : bool
    shrinkages : tuple of (float, float)
    refined : tuple of float
    options : dict
        ``n_threads`` and ``verbose``.
    """

    def __init__(self, data, sample, seeds, truncate, shrinkages, refined, options):
        self._data = data
        self._sample = sample
        self.seeds = seeds
        self._truncate = truncate
        self._shrinkages = shrinkages
        self._refined = refined
        some = tuple(shrinkages[k] for k in RACE_SHRINKAGES if k < len(shrinkages))
        self._race_shrinkages = some or shrinkages
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
                fitter = self._make_fitter(plan, some, self._race_shrinkages)
                found.append((fitter.choose_rule()[1], some))
            # The first of equals, as where nothing could be judged.
            winner = max(range(len(plans)), key=lambda k: (found[k][0], -k))
            best, trees = plans[winner], found[winner][1]
        trees = trees + self._grow(best, self.seeds[len(trees) :])
        fitter = self._make_fitter(best, trees, self._shrinkages, self._refined)
        rule, _ = fitter.choose_rule()
        return best, fitter.finish(rule), rule

    def _grow(self, plan, seeds):
        """Grow trees without models in their leaves."""
        if not len(seeds):
            return []
        return plan.grow(seeds, **self._sample.options, **self._options)

    def _make_fitter(self, plan, trees, shrinkages, refined=()):
        """What judges trees and fits their leaves."""
        return DensityFitter(
            trees,
            self.seeds[: len(trees)],
            self._data,
            self._sample,
            float(plan.rule.min_samples_leaf),
            self._truncate,
            shrinkages,
            refined,
            **self._options,
        )
