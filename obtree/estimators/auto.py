"""Forests whose trees may be of several splitters, chosen by a race."""

from sklearn.base import is_classifier

from obtree.core.params import check_param
from obtree.estimators.bagging import BaseObliqueForest
from obtree.estimators.race import Race
from obtree.estimators.settings import (
    AUTO,
    CLASSIFICATION,
    REGRESSION,
    is_race,
    list_settings,
    select_settings,
)
from obtree.splitter.registry import resolve_splitter

# What a race leaves behind, beside the trees.
_TRACES = ("race_", "_fractions")


class BaseAutoForest(BaseObliqueForest):
    """A forest of greedy trees of one splitter, or of those that win a race."""

    _other_starts = (AUTO,)

    def _make_splitter(self):
        """Return the splitter that grows the trees; in a race, one that checks parameters."""
        if not is_race(self.splitter):
            return super()._make_splitter()
        list_settings(self, self._known_settings())
        return self._rotate(resolve_splitter("axis"))

    def _draws_bootstraps(self):
        """Tell whether trees grow on samples; in a race "auto" leaves it to the settings."""
        if not is_race(self.splitter):
            return super()._draws_bootstraps()
        return bool(check_param("bootstrap", self.bootstrap, *self._bootstrap_rules))

    def _known_settings(self):
        """Return what "auto" stands for."""
        return CLASSIFICATION if is_classifier(self) else REGRESSION

    def _grow_missing(self, plan, grown, entropy, stats):
        """Grow trees up to ``n_estimators`` and return them as estimators."""
        if not is_race(self.splitter):
            for name in _TRACES:
                vars(self).pop(name, None)
            return super()._grow_missing(plan, grown, entropy, stats)
        settings = list_settings(self, self._known_settings())
        constrained = plan.rule.monotonic_cst is not None
        settings = select_settings(settings, self, plan.X, constrained)
        race = Race(self, plan, settings, entropy)
        if grown and len(getattr(self, "_fractions", ())) == len(settings):
            race.resume(self._fractions, self.race_["error"])
        else:
            race.run()
        race.grow_forest(self.n_estimators, len(grown))
        self.race_ = race.tabulate()
        self._fractions = race.fractions
        self._samples = [race.members[number].sample_rows(plan.n_rows) for number in race.owner]
        if self.verbose:
            race.report()
        for member in race.members:
            for name, count in member.stats.items():
                stats[name] = stats.get(name, 0) + count
        fresh = []
        for tree, seed, member in race.list_fresh(len(grown)):
            fresh += self._wrap_trees(
                [tree], [seed], plan.target.classes, member.max_features, member.template
            )
        return fresh
