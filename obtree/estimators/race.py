"""``splitter="auto"``: a race between settings, judged on rows that trees leave out.

Every tree of such a forest leaves some rows out. The race grows a few trees of each setting, finds
out from the left-out rows which mixture of settings has the least squared error (of class
fractions, the Brier score), drops what is far from having a part in it, grows a few trees more of
the others, and looks again. Trees of the forest are then dealt out as the mixture says; those of
the race are among them. No time is measured for any decision, so that the same seed always gives
the same forest.
"""

import dataclasses
import sys
import time

import numpy as np
from tqdm.auto import tqdm

from obtree.estimators.member import Member
from obtree.estimators.mixture import Residuals, choose_fractions, deal_out, measure_products
from obtree.estimators.oob import to_predict_layout
from obtree.tree.predict import Predictor

#: Heats: how many units of trees each setting grows, and by which fraction of the least error its
#: own may be larger for it to stay although it has no part in the mixture. To look earlier, after
#: half as many trees, sends away too many that would have won.
HEATS = ((2, 0.1), (2, 0.1))

#: Trees of a unit: so many that they see about UNIT_ROWS rows together, since few rows take little
#: time and judge badly, within limits.
UNIT_ROWS = 4_000
MIN_UNIT = 4
MAX_UNIT = 10

#: Most rows that the race looks at; trees of the race are part of the forest if there are no more.
MAX_ROWS = 10_000


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
    """

    def __init__(self, estimator, plan, settings, entropy):
        self._n_threads = estimator._count_threads()
        self._verbose = int(estimator.verbose)
        self._plan = plan.take_rows()
        self._entropy = entropy
        relevance = None
        if any(setting.relevant for setting in settings):
            relevance = estimator._measure_relevance(self._plan, entropy)
        self.members = [
            Member(estimator, self._plan, setting, (entropy, number), relevance)
            for number, setting in enumerate(settings)
        ]
        self.fractions = np.eye(len(settings))[0]
        self.errors = np.full(len(settings), np.nan)
        self.owner = None

    def run(self):
        """Find the fractions that settings should have in the forest."""
        if len(self.members) == 1:
            self.resume(self.fractions, self.errors)
            return
        arena = Arena(self._choose_rows(), self._n_threads)
        residuals = [Residuals(arena.truth) for _ in self.members]
        racing = np.arange(len(self.members))
        unit = int(np.clip(UNIT_ROWS // arena.plan.n_rows, MIN_UNIT, MAX_UNIT))
        for n_units, slack in HEATS:
            for number in tqdm(racing, desc="racing", unit="setting", disable=not self._verbose):
                self._race(arena, self.members[number], residuals[number], n_units * unit)
            products = measure_products([residuals[number] for number in racing], arena.weight)
            costs = np.array([self.members[number].setting.cost for number in racing])
            fractions = choose_fractions(products, costs)
            self.fractions = np.zeros(len(self.members))
            self.fractions[racing] = fractions
            own = np.diag(products)
            self.errors[racing] = own
            near = own <= (1.0 + slack) * np.min(own, initial=np.inf, where=np.isfinite(own))
            racing = racing[near | (fractions > 0.0)]
            if len(racing) == 1:
                break
        saw_all = arena.plan.n_rows == self._plan.n_rows
        if saw_all:
            self._plan = arena.plan
        for member in self.members:
            member.end_race(keep=saw_all)

    def resume(self, fractions, errors):
        """Take over what an earlier race has found.

        Parameters
        ----------
        fractions, errors : ndarray of shape (n_settings,)
        """
        self.fractions, self.errors = fractions, np.asarray(errors)
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

    def _race(self, arena, member, residuals, n_trees):
        """Grow some trees of a setting and judge them by the rows they leave out."""
        member.grow(arena.plan, n_trees, self._n_threads)
        started = time.perf_counter()
        for tree, seed in zip(member.trees[-n_trees:], member.seeds[-n_trees:], strict=True):
            counts = member.sample_rows(arena.plan.n_rows).count(seed, arena.plan.n_rows)
            rows = np.flatnonzero(counts == 0)
            residuals.add(rows, arena.judge(tree, rows))
        member.seconds += time.perf_counter() - started

    def grow_forest(self, n_trees, n_known):
        """Grow what the forest lacks, and set the owner of each of its trees.

        Parameters
        ----------
        n_trees : int
            Trees of the forest.
        n_known : int
            Trees that are there already, of an earlier fit.
        """
        self.owner = deal_out(self.fractions, n_trees)
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
        counts = np.bincount(self.owner, minlength=len(self.members))
        return {
            "setting": [member.setting.name for member in self.members],
            "error": self.errors.tolist(),
            "fraction": self.fractions.tolist(),
            "n_trees": counts.tolist(),
            "seconds": [round(member.seconds, 4) for member in self.members],
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
            centre = y - np.average(y, axis=0, weights=self.weight)
            spread = np.sqrt(np.average(centre**2, axis=0, weights=self.weight))
            self._unit = np.where(spread > 0.0, spread, 1.0)
            self.truth = y / self._unit
        else:
            self._unit = 1.0
            labels = np.arange(plan.target.n_classes.max())
            self.truth = (y[:, :, None] == labels).reshape(len(y), -1).astype(np.float64)

    def judge(self, tree, rows):
        """Return what a tree predicts for some rows.

        Parameters
        ----------
        tree : Tree
        rows : ndarray of intp

        Returns
        -------
        values : ndarray of shape (len(rows), n_values)
            In the units of `truth`.
        """
        values = Predictor([tree]).predict(self._X[rows], n_threads=self._n_threads)
        return values.reshape(len(rows), self.truth.shape[1]) / self._unit
