"""Boosted chains of trees beside the trees of a forest, where rows left out say that they help.

Where classes follow rules of several features (if this and that, then such), a forest of deep
trees, each of which has to find the rules by itself, is far behind trees that are boosted. Chains
are judged as the other settings of a race are: some are grown without a part of the rows, which
then say how much of the forest's prediction should be theirs. If it is worth it, one chain of
each kind that has a share grows on all rows.
"""

import dataclasses
import time

import numpy as np

from obtree.builder.rule import GrowthRule
from obtree.estimators.base import spawn_seeds
from obtree.estimators.boosting import ClassCourse, count_values
from obtree.estimators.mixture import Residuals, choose_fractions, measure_products
from obtree.estimators.oob import to_predict_layout
from obtree.estimators.settings import Setting, is_auto, list_changed
from obtree.forest.chain import grow_chains
from obtree.splitter.registry import resolve_splitter

#: What is boosted, and what a share of it has to gain for the time it takes.
BOOSTED = (
    Setting("boosted axis", "axis", cost=0.01),
    Setting("boosted random_oblique", "random_oblique", cost=0.02),
)

#: Trees of a chain, and fewest trees of a forest that is to have chains.
N_ROUNDS = 50
MIN_TREES = 10

#: Learning rate, and how large the trees grow.
RATE = 0.3
SHAPE = {"max_leaf_nodes": 16, "min_samples_leaf": 5}

#: Candidates of a node, as a multiple of the root of the number of features.
MAX_ROOTS = 4

#: One row of so many is left out by the chains that are judged; so many rows, or all, judge.
N_FOLDS = 5
JUDGES = 400

#: Fewest rows, and most numbers for each of them, that chains are tried with.
MIN_ROWS = 40
MAX_VALUES = 64

#: What seeds of chains are numbered from, far from those of the settings.
FIRST_SEED = 1_000_000

#: Least share that is worth a chain.
MIN_SHARE = 0.1

#: Parameters of the forest that leave no room for chains unless they are defaults.
DECISIVE = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
    "combine",
    "rotation",
    "leaf",
)


def can_boost(estimator, plan):
    """Tell whether chains may take part in a race.

    Parameters
    ----------
    estimator : forest
        Its parameters count.
    plan : GrowthPlan
        Its data, checked.

    Returns
    -------
    bool
    """
    target = plan.target
    return (
        target.n_classes is not None
        and target.n_classes.min() > 1
        and count_values(target) <= MAX_VALUES
        and plan.n_rows >= MIN_ROWS
        and estimator.n_estimators >= MIN_TREES
        and is_auto(estimator.splitter)
        and not list_changed(estimator).intersection(DECISIVE)
        and not estimator._balances_subsample()
    )


class Booster:
    """Judges and grows chains for a forest.

    Parameters
    ----------
    estimator : forest
        Not fitted, with its parameters.
    plan : GrowthPlan
        All rows of it take part, encoded.
    entropy : int
        Everything random follows from it.
    """

    def __init__(self, estimator, plan, entropy):
        self._plan = plan
        self._entropy = entropy
        self.n_rounds = N_ROUNDS
        self._n_threads = estimator._count_threads()
        self._verbose = int(estimator.verbose)
        self._X = to_predict_layout(plan.X)
        self._weight = np.ones(plan.n_rows) if plan.weight is None else plan.weight
        rng = np.random.default_rng([entropy, 3])
        # Chains that are judged leave out rows of one number each.
        self._fold = rng.permutation(plan.n_rows) % N_FOLDS
        n_features = plan.X.shape[1]
        self.max_features = int(np.clip(MAX_ROOTS * n_features**0.5, 1, n_features))
        self.shares = np.zeros(len(BOOSTED))
        self.errors = np.full(len(BOOSTED), np.nan)
        self.seconds = [0.0] * len(BOOSTED)

    def judge(self, residuals, fractions, truth, weight):
        """Find the shares that chains should have beside a mixture of forests.

        Parameters
        ----------
        residuals : list of Residuals
            Of the settings of the mixture, on rows that their trees left out.
        fractions : ndarray of shape (n_settings,)
            What each has in it.
        truth : ndarray of shape (n_rows, n_values)
            What is to be predicted.
        weight : ndarray of shape (n_rows,)
            Weights of the rows.
        """
        n_folds = int(np.clip(round(JUDGES * N_FOLDS / self._plan.n_rows), 1, N_FOLDS - 1))
        chains = []
        for number in range(len(BOOSTED)):
            chains.append(Residuals(truth, alone=True))
            _, predicted = self._grow(number, range(n_folds))
            for k in range(n_folds):
                rows = np.flatnonzero(self._fold == k)
                chains[number].add(rows, predicted[k][rows].reshape(len(rows), -1))
        won = np.flatnonzero(fractions > 0.0)
        judged = weight * (self._fold < n_folds)
        products = measure_products([residuals[k] for k in won] + chains, judged)
        # The mixture as it is, and each kind of chain.
        parts = np.zeros((1 + len(chains), len(products)))
        parts[0, : len(won)] = fractions[won]
        parts[1:, len(won) :] = np.eye(len(chains))
        products = np.einsum("ab,bc,dc->ad", parts, products, parts)
        costs = np.array([0.0] + [setting.cost for setting in BOOSTED])
        self.errors = np.diag(products)[1:]
        shares = choose_fractions(products, costs)[1:]
        shares[shares < MIN_SHARE] = 0.0
        self.shares = shares

    def grow(self):
        """Grow one chain of each kind that has a share, on all rows.

        Returns
        -------
        chains : list of (trees, seeds, setting)
        """
        chains = []
        for number in np.flatnonzero(self.shares):
            grown, _ = self._grow(number, [N_FOLDS])
            seeds = self._spawn_seeds(number, N_FOLDS)
            own = {"max_features": self.max_features, **SHAPE}
            setting = dataclasses.replace(BOOSTED[number], params=own)
            chains.append((grown[0], seeds, setting))
        return chains

    def predict_left_out(self):
        """Predict each row by chains that have not seen it.

        Returns
        -------
        values : list of ndarray of shape (n_rows, n_outputs, n_classes)
            For each kind that has a share.
        """
        values = []
        for number in np.flatnonzero(self.shares):
            _, predicted = self._grow(number, range(N_FOLDS))
            values.append(np.choose(self._fold[:, None, None], predicted))
        return values

    def _spawn_seeds(self, number, fold):
        """Return the seeds of the chain of a kind that leaves out a fold."""
        return spawn_seeds((self._entropy, FIRST_SEED + number, int(fold)), 0, self.n_rounds)

    def _grow(self, number, folds):
        """Grow chains that leave out a fold each, or nothing, and predict all rows with them."""
        started = time.perf_counter()
        plan = self._plan
        courses = {}

        def begin(t, goal, care):
            weight = self._weight * (self._fold != folds[t])
            weight /= weight.sum() / np.count_nonzero(weight)
            courses[t] = ClassCourse(plan.target, weight, RATE, goal, care)
            return courses[t]

        chains = grow_chains(
            plan.dataset,
            self._X,
            resolve_splitter(BOOSTED[number].splitter),
            GrowthRule(max_features=self.max_features, **SHAPE),
            seeds=np.array([self._spawn_seeds(number, fold) for fold in folds]),
            begin=begin,
            n_values=count_values(plan.target),
            n_threads=self._n_threads,
            verbose=self._verbose,
            desc=BOOSTED[number].name,
        )
        chains = [[tree.with_offset(plan.offset) for tree in chain] for chain in chains]
        self.seconds[number] += time.perf_counter() - started
        return chains, [courses[t].predict() for t in range(len(folds))]
