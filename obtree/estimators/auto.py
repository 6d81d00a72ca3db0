"""Forests whose trees may be of several splitters, chosen by a race."""

import numpy as np
from sklearn.base import is_classifier

from obtree.core.hints import Floats
from obtree.core.params import check_param
from obtree.estimators.bagging import BaseObliqueForest
from obtree.estimators.base import PredictorCache
from obtree.estimators.callbacks import is_listened_to, tell_of_trees
from obtree.estimators.chains import Booster
from obtree.estimators.member import make_template
from obtree.estimators.params import predicts_lines
from obtree.estimators.race import Race
from obtree.estimators.settings import (
    AUTO,
    CLASSIFICATION,
    LINEAR_GAUSSIAN,
    REGRESSION,
    is_race,
    list_settings,
    select_settings,
)
from obtree.splitter.registry import resolve_splitter
from obtree.tree.predict import Predictor

# What a race leaves behind, beside the trees.
_TRACES = (
    "race_",
    "_outcome",
    "_shares",
    "_chain_gain",
    "chains_",
    "chain_weights_",
    "_chain_predictors",
)


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
        if predicts_lines(self):
            return LINEAR_GAUSSIAN
        return CLASSIFICATION if is_classifier(self) else REGRESSION

    def _grow_missing(self, plan, grown, entropy, stats):
        """Grow trees up to ``n_estimators`` and return them as estimators."""
        if not grown or not is_race(self.splitter):
            for name in _TRACES:
                vars(self).pop(name, None)
        if not is_race(self.splitter):
            return super()._grow_missing(plan, grown, entropy, stats)
        settings = list_settings(self, self._known_settings())
        constrained = plan.rule.monotonic_cst is not None
        settings = select_settings(settings, self, plan.X, constrained, plan.categorical)
        race = Race(self, plan, settings, entropy, may_boost=not grown)
        known = getattr(self, "_outcome", None)
        if known is not None and len(known.first) == len(settings):
            race.resume(known)
        else:
            race.run()
        race.grow_forest(self.n_estimators, len(grown))
        self._samples = [race.members[number].sample_rows(plan.n_rows) for number in race.owner]
        if not grown:
            self._store_chains(*self._grow_chains(race.booster, plan.target.classes))
        self._outcome = race.outcome
        self.race_ = self._update_table(race.tabulate(), grown)
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
        if is_listened_to(self):
            store = self._store_partly(plan, grown)
            for end in range(1, len(fresh) + 1):
                tell_of_trees(self, fresh[:end], store)
        return fresh

    def _update_table(self, table, grown):
        """Return the table of a race; chains of an earlier fit keep their rows."""
        known = getattr(self, "race_", {}).get("n_trees", [])
        if not grown or len(known) < len(table["n_trees"]):
            return table
        counts = table["n_trees"] + known[len(table["n_trees"]) :]
        return self.race_ | {"n_trees": counts}

    def _grow_chains(self, booster, classes):
        """Return boosted chains as lists of estimators, and their weights."""
        self._shares = np.zeros(0) if booster is None else booster.shares
        self._chain_gain = 1.0 if booster is None else booster.gain
        chains = []
        if booster is not None:
            for trees, seeds, setting in booster.grow():
                template = make_template(self, setting)
                chains.append(
                    self._wrap_trees(trees, seeds, classes, booster.max_features, template)
                )
        return chains, self._shares[self._shares > 0.0]

    def _store_chains(self, chains, weights):
        """Set the fitted attributes of boosted chains."""
        self.chains_ = chains
        self.chain_weights_ = weights
        self._chain_predictors = [PredictorCache(Predictor) for _ in chains]

    def _list_chains(self):
        """Return the trees of each boosted chain."""
        return [[tree.tree_ for tree in chain] for chain in getattr(self, "chains_", ())]

    def _predict_values(self, X):
        """Return predictions of shape (n_samples, n_outputs, n_classes or 1)."""
        if not self._list_chains():
            return super()._predict_values(X)
        X, n_threads = self._read_features(X), self._count_threads()
        predictor = self._predictor.get(self._list_trees())
        values = predictor.predict(X, n_threads=n_threads, combine=self._choose_combine())
        return self._add_chains(X, values)

    def _add_chains(self, X, values):
        """Change predictions of the trees, in place, to those of trees and chains together.

        X has to be checked.
        """
        if self._list_chains():
            values *= 1.0 - self.chain_weights_.sum()
            for weight, own in self._predict_chains(X):
                values += weight * own
        return values

    def _predict_chains(self, X):
        """Generate the weight of each boosted chain and what it predicts for checked features."""
        n_threads = self._count_threads()
        for trees, weight, cache in zip(
            self._list_chains(), self.chain_weights_, self._chain_predictors, strict=True
        ):
            yield (
                weight,
                cache.get(trees).predict(X, n_threads=n_threads, combine=self._chain_combine),
            )

    @property
    def _chain_combine(self):
        """How the trees of a chain are combined."""
        return "product" if is_classifier(self) else "average"

    def _predict_classes(self, X):
        """Return the numbers of the classes with the largest of these values."""
        if not getattr(self, "chains_", ()):
            return super()._predict_classes(X)
        return self._predict_values(X).argmax(axis=2)

    def _predict_out_of_bag(self, plan):
        """Predict each row by the trees and chains that did not see it."""
        values = super()._predict_out_of_bag(plan)
        if len(getattr(self, "_shares", ())) and self._shares.any():
            booster = Booster(self, plan.encode(self._count_threads()), self._entropy)
            booster.shares = self._shares
            rows = slice(None) if plan.rows is None else plan.rows
            values[rows] *= 1.0 - self.chain_weights_.sum()
            left_out = booster.predict_left_out()
            for weight, own in zip(self.chain_weights_, left_out, strict=True):
                values[rows] += weight * own
        return values

    @property
    def feature_importances_(self) -> Floats:
        """Mean over trees of the decrease of impurity by feature, summing to 1."""
        total = super().feature_importances_
        for trees, weight in zip(
            self._list_chains(), getattr(self, "chain_weights_", ()), strict=True
        ):
            own = np.mean([tree.compute_feature_importances() for tree in trees], axis=0)
            total = total + weight * (own / max(own.sum(), np.finfo(float).tiny) - total)
        return total
