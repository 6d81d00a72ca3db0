"""Boosted chains of trees beside the trees of a forest, where rows left out say that they help.

Where classes follow rules of several features (if this and that, then such), a forest of deep
trees, each of which has to find the rules by itself, is far behind trees that are boosted. Chains
are judged as the other settings of a race are: some are grown without a part of the rows, which
then say how much of the forest's prediction should be theirs. If it is worth it, one chain of
each kind that has a share grows on all rows.
"""

import dataclasses
import itertools
import time

import numpy as np

from obtree.builder.rule import GrowthRule
from obtree.estimators.base import spawn_seeds
from obtree.estimators.boosting import N_ROUNDS, ClassCourse, NumberCourse, count_values
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

#: Fewest trees of a forest that is to have chains.
MIN_TREES = 10

#: Trees after which chains are looked at. Those are sent away whose error is so many times that of
#: the forest, more at the first look than later, and those that still have so much of the error
#: of the last look and are so far behind the forest: less for classes, whose trees take longer.
LOOKS = (0, 8, 16, N_ROUNDS)
HOPELESS = (5.0, 2.5, 2.5)
MOVES = 0.9
BEHIND_CLASSES = 1.0
BEHIND_NUMBERS = 1.15

#: See `choose_fractions`; less than among settings, since the forest is a mixture already.
DOUBT = 0.1

#: How large the trees grow.
SHAPE = {"max_leaf_nodes": 16, "min_samples_leaf": 5}

#: Candidates of a node: so many, and the root of the number of features.
ALL_FEATURES = 12

#: One row of so many is left out by the chains that are judged; so many rows, or all, judge.
N_FOLDS = 5
JUDGES = 400

#: Fewest rows, and most numbers for each of them, that chains are tried with.
MIN_ROWS = 40
MAX_VALUES = 64

#: What seeds of chains are numbered from, far from those of the settings.
FIRST_SEED = 1_000_000

#: Least share that is worth a chain, and that all chains need together: classes that a forest tells
#: apart better by itself are not told apart any better with a little of something worse, though
#: their probabilities are.
MIN_SHARE = 0.1
MIN_CLASSES = 0.4
MIN_NUMBERS = 0.1

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
        (target.n_classes is None or target.n_classes.min() > 1)
        and count_values(target) <= MAX_VALUES
        and plan.n_rows >= MIN_ROWS
        and estimator.n_estimators >= MIN_TREES
        and is_auto(estimator.splitter)
        and not list_changed(estimator).intersection(DECISIVE)
        and not estimator._balances_subsample()
    )


class Chain:
    """A chain that grows.

    Parameters
    ----------
    number : int
        Which of `BOOSTED` it is.
    fold : int
        The rows that it leaves out.
    course : ClassCourse or NumberCourse
        Where it stands.
    seeds : ndarray of uint32
        Of its trees.
    """

    def __init__(self, number, fold, course, seeds):
        self.number = number
        self.fold = fold
        self.course = course
        self.seeds = seeds
        self.trees = []


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

    Attributes
    ----------
    gain : float
        Squared error of forest and chains together, as a fraction of that of the forest alone.
    """

    def __init__(self, estimator, plan, entropy):
        self._plan = plan
        self._entropy = entropy
        self._n_threads = estimator._count_threads()
        self._verbose = int(estimator.verbose)
        self._X = to_predict_layout(plan.X)
        self._weight = np.ones(plan.n_rows) if plan.weight is None else plan.weight
        rng = np.random.default_rng([entropy, 3])
        # Chains that are judged leave out the rows of one number.
        self._fold = rng.permutation(plan.n_rows) % N_FOLDS
        n_features = plan.X.shape[1]
        self.max_features = int(min(n_features, ALL_FEATURES + n_features**0.5))
        self._course_kind = NumberCourse if plan.target.n_classes is None else ClassCourse
        self.shares = np.zeros(len(BOOSTED))
        self.gain = 1.0
        self.errors = np.full(len(BOOSTED), np.nan)
        self.seconds = [0.0] * len(BOOSTED)

    def judge(self, residuals, fractions, truth, unit, weight):
        """Find the shares that chains should have beside a mixture of forests.

        Parameters
        ----------
        residuals : list of Residuals
            Of the settings of the mixture, on rows that their trees left out.
        fractions : ndarray of shape (n_settings,)
            What each has in it.
        truth : ndarray of shape (n_rows, n_values)
            What is to be predicted.
        unit : float or ndarray
            What it has been divided by.
        weight : ndarray of shape (n_rows,)
            Weights of the rows.
        """
        n_folds = int(np.clip(round(JUDGES * N_FOLDS / self._plan.n_rows), 1, N_FOLDS - 1))
        won = np.flatnonzero(fractions > 0.0)
        known = [residuals[number] for number in won], fractions[won]
        judged = weight * (self._fold < n_folds)
        chains = self._start(range(len(BOOSTED)), range(n_folds))
        behind = BEHIND_NUMBERS if self._plan.target.n_classes is None else BEHIND_CLASSES
        for (start, end), hopeless in zip(itertools.pairwise(LOOKS), HOPELESS, strict=True):
            before = self.errors.copy()
            self._extend(chains, end - start)
            numbers = sorted({chain.number for chain in chains})
            products = _compare(known, chains, truth, unit, judged)
            self.errors[numbers] = np.diag(products)[1:]
            # Whoever is far behind early on, or behind and hardly any better than before, does
            # not win in the end.
            least = products[0, 0]
            stays = self.errors <= np.where(self.errors > MOVES * before, behind, hopeless) * least
            chains = [chain for chain in chains if stays[chain.number]]
            if not chains:
                return
        costs = np.array([0.0] + [BOOSTED[number].cost for number in numbers])
        shares = choose_fractions(products, costs, DOUBT)[1:]
        shares = np.where(shares < MIN_SHARE, 0.0, shares)
        if shares.sum() >= (MIN_NUMBERS if self._plan.target.n_classes is None else MIN_CLASSES):
            self.shares[numbers] = shares
            parts = np.append(1.0 - shares.sum(), shares)
            if products[0, 0] > 0.0:
                self.gain = float((parts[:, None] * parts * products).sum() / products[0, 0])

    def grow(self):
        """Grow one chain of each kind that has a share, on all rows.

        Returns
        -------
        chains : list of (trees, seeds, setting)
        """
        chains = self._start(np.flatnonzero(self.shares), [N_FOLDS])
        self._extend(chains, N_ROUNDS)
        own = {"max_features": self.max_features, **SHAPE}
        return [
            (chain.trees, chain.seeds, dataclasses.replace(BOOSTED[chain.number], params=own))
            for chain in chains
        ]

    def predict_left_out(self):
        """Predict each row by chains that have not seen it.

        Returns
        -------
        values : list of ndarray of shape (n_rows, n_outputs, n_classes)
            For each kind that has a share.
        """
        values = []
        for number in np.flatnonzero(self.shares):
            chains = self._start([number], range(N_FOLDS))
            self._extend(chains, N_ROUNDS)
            chances = [chain.course.predict() for chain in chains]
            values.append(np.choose(self._fold[:, None, None], chances))
        return values

    def _start(self, numbers, folds):
        """Return chains of some kinds, without trees, that leave out a fold each."""
        chains = []
        for number in numbers:
            for fold in folds:
                weight = self._weight * (self._fold != fold)
                weight *= np.count_nonzero(weight) / weight.sum()
                entropy = self._entropy, FIRST_SEED + int(number), int(fold)
                course = self._course_kind(self._plan.target, weight)
                chains.append(Chain(number, fold, course, spawn_seeds(entropy, 0, N_ROUNDS)))
        return chains

    def _extend(self, chains, n_trees):
        """Let chains grow by some trees."""
        if not chains:
            return
        started = time.perf_counter()
        first = len(chains[0].trees)
        grown = grow_chains(
            self._plan.dataset,
            self._X,
            [resolve_splitter(setting.splitter) for setting in BOOSTED],
            GrowthRule(max_features=self.max_features, **SHAPE),
            seeds=np.array([chain.seeds[first : first + n_trees] for chain in chains]),
            kind=[chain.number for chain in chains],
            begin=lambda t, goal, care: chains[t].course.begin(goal, care),
            n_values=count_values(self._plan.target),
            n_threads=self._n_threads,
            verbose=self._verbose,
        )
        passed = time.perf_counter() - started
        for chain, trees in zip(chains, grown, strict=True):
            chain.trees += [tree.with_offset(self._plan.offset) for tree in trees]
            self.seconds[chain.number] += passed / len(chains)


def _compare(known, chains, truth, unit, weight):
    """Return the products of residuals of a mixture of forests and of each kind of chain."""
    residuals, fractions = known
    numbers = sorted({chain.number for chain in chains})
    own = [Residuals(truth, alone=True) for _ in numbers]
    for chain in chains:
        rows = chain.course.list_left_out()
        values = chain.course.predict()[rows].reshape(len(rows), -1)
        own[numbers.index(chain.number)].add(rows, values / unit)
    products = measure_products(residuals + own, weight)
    parts = np.zeros((1 + len(own), len(products)))
    parts[0, : len(fractions)] = fractions
    parts[1:, len(fractions) :] = np.eye(len(own))
    return (parts[:, None, :, None] * parts[None, :, None, :] * products).sum(axis=(2, 3))
