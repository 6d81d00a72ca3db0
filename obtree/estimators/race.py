"""``splitter="auto"``: a race between settings, judged on rows that trees leave out.

Every tree of such a forest leaves some rows out. The race grows a few trees of each setting, and
finds out from the left-out rows which mixture of settings has the least squared error (of class
fractions, the Brier score). A second stage then asks what that mixture lacks: for numbers the
best settings grow trees on sharpened targets (``sharpen.py``), for classes boosted chains compete
with it (``chains.py``). Trees of the forest are dealt out as the mixture says; those of the race
are among them. No time is measured for any decision, so that the same seed always gives the
same forest.
"""

import dataclasses
import sys
import time

import numpy as np
from tqdm.auto import tqdm

from obtree.estimators.boosting import N_ROUNDS
from obtree.estimators.chains import BOOSTED, Booster, can_boost
from obtree.estimators.member import Member
from obtree.estimators.mixture import Residuals, choose_fractions, deal_out, measure_products
from obtree.estimators.oob import to_predict_layout
from obtree.estimators.sharpen import (
    can_sharpen,
    measure_lack,
    sharpen_settings,
    sharpen_target,
)
from obtree.tree.predict import Predictor

#: Units of trees that each setting grows in the first stage, and each sharpened one in the second.
UNITS = 2
SHARP_UNITS = 4

#: Trees that those that won the first stage have together before the second begins.
N_FIRST = 100

#: Trees of a unit: so many that they see about UNIT_ROWS rows together, since few rows take little
#: time and judge badly, within limits.
UNIT_ROWS = 4_000
MIN_UNIT = 4
MAX_UNIT = 7

#: Most rows that the race looks at; trees of the race are part of the forest if there are no more.
#: Where columns are categories, winners compete once more on all rows, and those trees are.
MAX_ROWS = 10_000


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """What a race has found, for a warm start to go on with.

    Parameters
    ----------
    first : ndarray of shape (n_settings,)
        Fractions of the settings after the first stage.
    n_trees : ndarray of int, shape (n_settings,)
        Trees that each of them had grown then.
    fractions, errors : ndarray of shape (n_settings + n_sharpened,)
        Fractions in the end, and squared errors.
    """

    first: np.ndarray
    n_trees: np.ndarray
    fractions: np.ndarray
    errors: np.ndarray


class Race:
    """Settings that compete, and the trees they have grown.

    Parameters
    ----------
    estimator : forest
        Not fitted, with its parameters.
    plan : GrowthPlan
        Data and parameters of the forest, checked.
    settings : list of Setting
        What competes.
    entropy : int
        Everything random follows from it.
    may_boost : bool, default=True
        Whether boosted chains may take part.
    """

    def __init__(self, estimator, plan, settings, entropy, may_boost=True):
        self._estimator = estimator
        self._n_threads = estimator._count_threads()
        self._verbose = int(estimator.verbose)
        self._plan = plan.take_rows()
        self._entropy = entropy
        self._relevance = None
        if any(setting.relevant for setting in settings):
            self._relevance = estimator._measure_relevance(self._plan, entropy)
        self._n_settings = len(settings)
        self.members = [self._make_member(k, setting) for k, setting in enumerate(settings)]
        self._may_boost = may_boost and can_boost(estimator, self._plan)
        self.booster = None
        self.outcome = None
        self.owner = None

    def _make_member(self, number, setting):
        """Return what grows the trees of a setting; its number decides their seeds."""
        seed = (self._entropy, int(number))
        return Member(self._estimator, self._plan, setting, seed, self._relevance)

    def run(self):
        """Find the fractions that settings should have in the forest."""
        if len(self.members) == 1:
            self.resume(Outcome(np.ones(1), np.zeros(1, int), np.ones(1), np.full(1, np.nan)))
            return
        arena = Arena(self._choose_rows(), self._n_threads)
        saw_all = arena.plan.n_rows == self._plan.n_rows
        unit = int(np.clip(UNIT_ROWS // arena.plan.n_rows, MIN_UNIT, MAX_UNIT))
        residuals = self._run_stage(arena, self.members, UNITS * unit)
        products = measure_products(residuals, arena.weight)
        first = self._choose(products)
        # Trees that the forest will have anyway say more about those that won.
        for number in np.flatnonzero(first):
            missing = int(N_FIRST * first[number]) - UNITS * unit
            arena.race(self.members[number], missing, residuals[number])
        products = measure_products(residuals, arena.weight)
        first = self._choose(products)
        counts = np.array([len(member.trees) for member in self.members])
        self.outcome = Outcome(first, counts, first, np.diag(products))
        if can_sharpen(self._estimator, self._plan):
            residuals += self._sharpen(arena, residuals, SHARP_UNITS * unit)
        if saw_all:
            self._judge_chains(arena, residuals, self.outcome.fractions)
            self._plan = arena.plan
        else:
            self._find_targets()
        looks_again = not saw_all and self._plan.categorical is not None
        if looks_again:
            self._look_again()
        for member in self.members:
            member.end_race(keep=saw_all or looks_again)

    def _look_again(self):
        """Let the winners compete once more, with a few trees each that saw all rows.

        A column of categories says more the more rows there are of each: on a part of the rows
        settings that make little of it win too easily.
        """
        won = np.flatnonzero(self.outcome.fractions > 0.0)
        members = [self.members[number] for number in won]
        for member in self.members:
            member.begin_again()
        arena = Arena(self._plan, self._n_threads)
        self._plan = arena.plan
        residuals = self._run_stage(arena, members, MIN_UNIT)
        products = measure_products(residuals, arena.weight)
        costs = np.array([member.setting.cost for member in members])
        fractions, errors = self.outcome.fractions.copy(), self.outcome.errors.copy()
        fractions[won], errors[won] = choose_fractions(products, costs), np.diag(products)
        self.outcome = dataclasses.replace(self.outcome, fractions=fractions, errors=errors)
        self._judge_chains(arena, residuals, fractions[won])

    def _judge_chains(self, arena, residuals, fractions):
        """Find out whether boosted chains are worth it beside the mixture."""
        if self._may_boost:
            self.booster = Booster(self._estimator, arena.plan, self._entropy)
            self.booster.judge(residuals, fractions, arena.truth, arena.unit, arena.weight)

    def _run_stage(self, arena, members, n_trees):
        """Let members grow trees, and return their residuals."""
        found = []
        counts = np.broadcast_to(n_trees, len(members)).tolist()
        racing = zip(members, counts, strict=True)
        for member, count in tqdm(
            racing, total=len(members), desc="racing", unit="setting", disable=not self._verbose
        ):
            found.append(arena.race(member, count, Residuals(arena.truth)))
        return found

    def _choose(self, products):
        """Return the fractions of least error."""
        return choose_fractions(products, np.array([m.setting.cost for m in self.members]))

    def _sharpen(self, arena, residuals, n_trees):
        """Let the best settings compete once more, on sharpened targets; return residuals."""
        self._add_sharpened()
        self._set_targets(arena, measure_lack(residuals, self.outcome.first))
        sharpened = self._run_stage(arena, self.members[self._n_settings :], n_trees)
        products = measure_products(residuals + sharpened, arena.weight)
        self.outcome = dataclasses.replace(
            self.outcome, fractions=self._choose(products), errors=np.diag(products)
        )
        return sharpened

    def _add_sharpened(self):
        """Let sharpened settings follow those that they come from."""
        settings = [member.setting for member in self.members]
        sharpened = sharpen_settings(settings, self.outcome.first)
        self.members += [
            self._make_member(number, setting)
            for number, setting in enumerate(sharpened, self._n_settings)
        ]

    def _set_targets(self, arena, lack):
        """Tell the sharpened settings what to learn."""
        for member in self.members[self._n_settings :]:
            member.target = sharpen_target(
                arena.plan.target, arena.unit * lack, member.setting.strength
            )

    def _find_targets(self):
        """Find what sharpened settings learn from all rows, with trees that are not kept."""
        n_settings = self._n_settings
        if not self.outcome.fractions[n_settings:].any():
            return
        arena = Arena(self._plan, self._n_threads)
        won = np.flatnonzero(self.outcome.first > 0.0)
        judges = [self._make_member(number, self.members[number].setting) for number in won]
        residuals = self._run_stage(arena, judges, self.outcome.n_trees[won])
        self._set_targets(arena, measure_lack(residuals, self.outcome.first[won]))
        self._plan = arena.plan

    def resume(self, outcome):
        """Take over what an earlier race has found.

        Parameters
        ----------
        outcome : Outcome
        """
        self.outcome = outcome
        if len(outcome.fractions) > self._n_settings:
            self._add_sharpened()
            self._find_targets()
        for member in self.members:
            member.end_race(keep=False)

    def _choose_rows(self):
        """Return the plan for the rows that the race looks at."""
        if self._plan.n_rows <= MAX_ROWS:
            return self._plan
        rng = np.random.default_rng([self._entropy, 2])
        rows = np.sort(rng.choice(self._plan.n_rows, MAX_ROWS, replace=False))
        weight = None if self._plan.weight is None else self._plan.weight[rows]
        return dataclasses.replace(self._plan, rows=rows, weight=weight)

    def grow_forest(self, n_trees, n_known):
        """Grow what the forest lacks, and set the owner of each of its trees.

        Parameters
        ----------
        n_trees : int
            Trees of the forest.
        n_known : int
            Trees that are there already, of an earlier fit.
        """
        self.owner = deal_out(self.outcome.fractions, n_trees)
        wanted = np.bincount(self.owner, minlength=len(self.members))
        known = np.bincount(self.owner[:n_known], minlength=len(self.members))
        if self._plan.dataset is None and np.count_nonzero(wanted > known) > 1:
            self._plan = self._plan.encode(self._n_threads)
        for member, count, there in zip(self.members, wanted, known, strict=True):
            if n_known and not member.trees:
                member.skip(there)
            missing = count - member.n_begun
            member.grow(self._plan, missing, self._n_threads, verbose=self._verbose)

    def list_fresh(self, n_known):
        """Go through the trees of the forest that are not there already.

        Parameters
        ----------
        n_known : int
            As `grow_forest` was told.

        Yields
        ------
        tree : Tree
        seed : int
        member : Member
        """
        place = [0] * len(self.members)
        for t, number in enumerate(self.owner):
            member = self.members[number]
            at = place[number] - member.n_skipped
            place[number] += 1
            if t >= n_known:
                yield member.trees[at], member.seeds[at], member

    def tabulate(self):
        """Return the table of the race.

        Returns
        -------
        table : dict of str to list
            A column each.
        """
        counts = np.bincount(self.owner, minlength=len(self.members)).tolist()
        names = [member.setting.name for member in self.members]
        seconds = [member.seconds for member in self.members]
        errors, fractions = self.outcome.errors.tolist(), self.outcome.fractions
        if self.booster is not None:
            shares = self.booster.shares
            names += [setting.name for setting in BOOSTED]
            errors += self.booster.errors.tolist()
            seconds += self.booster.seconds
            fractions = np.append((1.0 - shares.sum()) * fractions, shares)
            counts += np.where(shares > 0.0, N_ROUNDS, 0).tolist()
        return {
            "setting": names,
            "error": errors,
            "fraction": fractions.tolist(),
            "n_trees": counts,
            "seconds": [round(spent, 4) for spent in seconds],
        }

    def report(self):
        """Print the table."""
        table = self.tabulate()
        width = max(map(len, table["setting"]))
        print(f"{'setting':{width}}    error  fraction  trees  seconds", file=sys.stderr)
        for row in zip(*table.values(), strict=True):
            line = "{:{}} {:8.4f} {:9.3f} {:6d} {:8.2f}".format(row[0], width, *row[1:])
            print(line, file=sys.stderr)


class Arena:
    """Rows of a race in the form that judging takes.

    Parameters
    ----------
    plan : GrowthPlan
        For the rows of the race.
    n_threads : int
        Threads to judge with.
    """

    def __init__(self, plan, n_threads):
        self._n_threads = n_threads
        # Columns are encoded once for all settings.
        self.plan = plan = plan.encode(n_threads)
        self._X = to_predict_layout(plan.X)
        self.weight = np.ones(plan.n_rows) if plan.weight is None else plan.weight
        y = plan.target.y
        if plan.target.n_classes is None:
            self.unit = plan.measure_spread()
            self.truth = y / self.unit
        else:
            self.unit = 1.0
            labels = np.arange(plan.target.n_classes.max())
            self.truth = (y[:, :, None] == labels).reshape(len(y), -1).astype(np.float64)

    def race(self, member, n_trees, residuals):
        """Let a member grow some trees, and judge them by the rows they leave out.

        Parameters
        ----------
        member : Member
        n_trees : int
            None if not positive.
        residuals : Residuals
            Those of the member's other trees; get those of the new ones as well.

        Returns
        -------
        residuals : Residuals
            The same, in the units of `truth`.
        """
        if n_trees <= 0:
            return residuals
        member.grow(self.plan, n_trees, self._n_threads)
        started = time.perf_counter()
        sample = member.sample_rows(self.plan.n_rows)
        trees, seeds = member.trees[-n_trees:], member.seeds[-n_trees:]
        leaves = Predictor(trees).apply(self._X, n_threads=self._n_threads)
        for tree, leaf, seed in zip(trees, leaves.T, seeds, strict=True):
            rows = np.flatnonzero(sample.count(seed, self.plan.n_rows) == 0)
            if tree.leaf_kind.fields:
                values = Predictor([tree]).predict(self._X[rows], n_threads=self._n_threads)
            else:
                values = tree.value[leaf[rows]]
            residuals.add(rows, values.reshape(len(rows), self.truth.shape[1]) / self.unit)
        member.seconds += time.perf_counter() - started
        return residuals
