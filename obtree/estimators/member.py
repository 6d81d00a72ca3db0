"""The trees that one setting contributes to a forest of several."""

import dataclasses
import time

from sklearn.base import is_classifier

from obtree.estimators.base import spawn_seeds
from obtree.estimators.params import resolve_growth_rule, resolve_leaf, resolve_max_samples
from obtree.estimators.refined import refine_sampled
from obtree.estimators.sampling import RowSample
from obtree.estimators.tao import TAOTreeClassifier, TAOTreeRegressor
from obtree.splitter.registry import resolve_splitter
from obtree.splitter.rotation import RotationSplitter


class Member:
    """Grows the trees of a setting and makes estimators of them.

    Parameters
    ----------
    forest : forest estimator
        Its parameters hold where the setting has none.
    plan : GrowthPlan
        Data and parameters of the forest, checked.
    setting : Setting
        How the trees grow.
    entropy : int or tuple of int
        Seeds of the trees follow from it.
    relevance : ndarray of float32 or None
        Of the features, if some setting asks for it.
    """

    def __init__(self, forest, plan, setting, entropy, relevance):
        self.setting = setting
        self.seconds = 0.0
        self.trees = []
        self.seeds = []
        self.stats = {}
        self._entropy = entropy
        self._is_racing = True
        self.n_begun = 0
        self.n_skipped = 0
        self.target = None
        self._forest = forest
        self.template = make_template(forest, setting)
        self._growth = self._plan_growth(forest, plan, relevance if setting.relevant else None)

    def _plan_growth(self, forest, plan, relevance):
        """Return the fields of the plan that are the setting's own."""
        grower = self.template._make_starter() if self.setting.refined else self.template
        grower.n_features_in_ = forest.n_features_in_
        splitter = resolve_splitter(self.setting.splitter)
        if forest.rotation is not None and not self.setting.refined:
            splitter = RotationSplitter(splitter, group_size=forest.rotation_size)
        monotonic_cst = plan.rule.monotonic_cst
        rule = resolve_growth_rule(
            grower, plan.n_rows, monotonic_cst, not splitter.max_features_unbounded
        )
        return {
            "criterion": grower.criterion,
            "splitter": splitter,
            "rule": dataclasses.replace(rule, relevance=relevance),
            "leaf": None if self.setting.refined else resolve_leaf(grower, monotonic_cst),
        }

    @property
    def max_features(self):
        """Candidates per node."""
        return self._growth["rule"].max_features

    def sample_rows(self, n_rows):
        """Return how the rows of a tree are drawn from so many."""
        forest = self._forest
        if forest.bootstrap is False and not self._is_racing:
            return RowSample()
        max_draws = resolve_max_samples(forest.max_samples, n_rows)
        return self.setting.sample_rows(n_rows, forest.bootstrap, max_draws)

    def skip(self, n_trees):
        """Begin behind the first trees, which are there already."""
        self.n_begun = self.n_skipped = n_trees

    def begin_again(self):
        """Forget the trees."""
        self.trees, self.seeds, self.n_begun = [], [], 0

    def end_race(self, keep):
        """Go on with all rows; trees of the race stay if they saw as many as others will."""
        self._is_racing = False
        if not keep or self._forest.bootstrap is False:
            self.begin_again()

    def grow(self, plan, n_trees, n_threads, verbose=0):
        """Grow some trees more.

        Parameters
        ----------
        plan : GrowthPlan
            All of its rows take part; criterion, splitter and rule are the setting's.
        n_trees : int
            Trees; none if not positive.
        n_threads : int
            Number of threads.
        verbose : int, default=0
            1 shows a progress bar.

        """
        if n_trees <= 0:
            return
        started = time.perf_counter()
        seeds = spawn_seeds(self._entropy, self.n_begun, self.n_begun + n_trees)
        plan = dataclasses.replace(plan, **self._growth)
        if self.target is not None:
            plan = dataclasses.replace(plan, target=self.target)
        sample = self.sample_rows(plan.n_rows)
        stats = {}
        trees = plan.grow(
            seeds,
            n_threads=n_threads,
            verbose=verbose,
            balance_subsample=self._forest._balances_subsample(),
            stats=stats,
            desc=self.setting.name,
            **sample.options,
        )
        if self.setting.refined:
            trees = refine_sampled(
                plan, trees, seeds, sample, self.template, n_threads=n_threads, verbose=verbose
            )
        trees = [tree.with_offset(plan.offset) for tree in trees]
        self.n_begun += n_trees
        self.trees += trees
        self.seeds += seeds.tolist()
        for name, count in stats.items():
            self.stats[name] = self.stats.get(name, 0) + count
        self.seconds += time.perf_counter() - started


def make_template(forest, setting):
    """Return an estimator with the parameters of a setting's trees.

    Parameters
    ----------
    forest : forest estimator
        Its parameters hold where the setting has none.
    setting : Setting
        How the trees grow.

    Returns
    -------
    estimator : tree estimator
        Not fitted.
    """
    if setting.refined:
        kind = TAOTreeClassifier if is_classifier(forest) else TAOTreeRegressor
        fraction = forest.min_weight_fraction_leaf
        return kind(init=setting.splitter, min_weight_fraction_leaf=fraction, **setting.params)
    params = {**forest._list_tree_params(), **setting.params, "splitter": setting.splitter}
    return forest._tree_class(**params)
