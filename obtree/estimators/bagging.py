"""How a forest is fitted, whatever the task: bootstraps, warm starts, out-of-bag scores."""

import functools
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.utils.validation import check_is_fitted

from obtree.core.advice import advise
from obtree.core.hints import ArrayLike, Floats, Integers, MatrixLike
from obtree.core.names import show
from obtree.core.params import FLAG, Integer, check_param, refuse_param
from obtree.data.validate import check_same_categories
from obtree.estimators.base import (
    BaseModel,
    BaseOblique,
    PredictorCache,
    restore_on_error,
    spawn_seeds,
)
from obtree.estimators.callbacks import grow_in_steps, is_listened_to, report_fit
from obtree.estimators.oob import predict_out_of_bag
from obtree.estimators.params import VERBOSE, resolve_max_samples
from obtree.estimators.proximity import ProximityMixin
from obtree.estimators.relevance import measure_relevance
from obtree.estimators.sampling import Bags, RowSample, count_subsample
from obtree.estimators.settings import is_race
from obtree.estimators.warm import WarmStartMixin
from obtree.splitter.registry import resolve_splitter
from obtree.splitter.rotation import RotationSplitter
from obtree.tree.predict import COMBINE


class BaseForestModel(WarmStartMixin, ProximityMixin, BaseModel):
    """What a fitted forest does, however its trees were made.

    A subclass names the class of its trees (``_tree_class``), the ways to combine them that
    its task allows (``_combine_rules``), and what ``bootstrap`` may be (``_bootstrap_rules``).
    """

    _combine_rules = COMBINE
    _bootstrap_rules: tuple[Any, ...] = (FLAG,)

    def _list_tree_params(self):
        """Return the parameters that the forest's trees have from it."""
        return {
            name: getattr(self, name)
            for name in self._tree_class().get_params(deep=False)
            if name != "class_weight"  # already in the weights of the rows
        }

    def _wrap_trees(self, trees, seeds, classes, max_features, template=None):
        """Make each grown tree an estimator of its own, with the parameters of another."""
        kind, params = self._tree_class, None
        if template is None:
            params = self._list_tree_params()
        else:
            kind, params = type(template), template.get_params(deep=False)
        name = kind._splitter_param
        params[name] = clone(params[name], safe=False)
        estimators = []
        for tree, seed in zip(trees, seeds, strict=True):
            estimator = kind(**{**params, "random_state": int(seed)})
            estimator._adopt_features(self)
            estimator._store_tree(tree, classes, max_features)
            estimators.append(estimator)
        return estimators

    def _store_forest(self, estimators, n_outputs, classes, max_features):
        """Set the fitted attributes, other than those that describe X."""
        self._store_outputs(n_outputs, classes)
        self.max_features_ = max_features
        self.estimators_ = estimators
        self._predictor = PredictorCache(self._predictor_kind)

    def _remember_rows(self, plan):
        """Keep what methods other than `predict` need of the training rows."""

    def _list_trees(self):
        """Return the trees to predict with."""
        return [getattr(estimator, self._tree_attribute) for estimator in self.estimators_]

    @property
    def estimator_(self) -> BaseEstimator:
        """An unfitted tree with the parameters that all trees of the forest have from it."""
        check_is_fitted(self)
        splitter = getattr(self, "splitter", None)
        if self._mixes_settings and is_race(splitter):
            raise AttributeError(
                f"the trees of a forest with splitter={show(splitter)} have parameters of several "
                "settings: each of estimators_ has its own, and race_ counts them"
            )
        return self._tree_class(**self._list_tree_params())

    def _draws_bootstraps(self):
        """Tell whether trees grow on bootstraps; "auto" leaves it to the splitter."""
        bootstrap = check_param("bootstrap", self.bootstrap, *self._bootstrap_rules)
        if bootstrap == "auto":
            splitter = resolve_splitter(self._check_splitter(), others=self._other_starts)
            wanted = splitter.prefers_bootstrap
            return is_regressor(self) if wanted == "regression" else wanted
        return bootstrap

    def _count_draws(self, n_rows):
        """Return how many rows are drawn with replacement for each tree; 0 for no bootstrap."""
        if not self._draws_bootstraps():
            return 0
        return resolve_max_samples(getattr(self, "max_samples", None), n_rows)

    def _sample_rows(self, n_rows):
        """Return how the rows of a tree are drawn from so many."""
        is_judged = getattr(self, "oob_score", False) and self.bootstrap == "auto"
        if is_judged and not self._draws_bootstraps():
            # Some have to be left out; fewer than a bootstrap would.
            return RowSample(count_subsample(n_rows), replace=False)
        return RowSample(self._count_draws(n_rows))

    def _check_bootstrap(self):
        """Refuse parameters of bootstraps where there are none."""
        if self._draws_bootstraps():
            return
        given = "bootstrap=False"
        if isinstance(self.bootstrap, str):
            name, splitter = self._splitter_param, getattr(self, self._splitter_param)
            given = f"bootstrap='auto' means False, as it does with {name}={show(splitter)}"
        elif getattr(self, "oob_score", False):
            raise ValueError(
                f"Out of bag estimation only available if bootstrap=True or 'auto', not if {given}"
            )
        if getattr(self, "max_samples", None) is not None:
            raise ValueError(
                f"max_samples={show(self.max_samples)} cannot be set if {given}; "
                "expected max_samples=None or bootstrap=True"
            )

    def _predict_values(self, X):
        """Return predictions of shape (n_samples, n_outputs, n_classes or 1)."""
        return self._call_predictor("predict", X, combine=self._choose_combine())

    def _predict_classes(self, X):
        """Return the numbers of the classes with the largest of these values."""
        return self._call_predictor("classify", X, combine=self._choose_combine())

    def _choose_combine(self):
        """Return how the predictor is to combine the trees."""
        return check_param("combine", self.combine, *self._combine_rules)

    def apply(self, X: MatrixLike) -> Integers:
        """Return the leaf that each row ends in, for each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        leaves : ndarray of int64, shape (n_samples, n_estimators)
            Numbers of nodes in the ``tree_`` of each tree.
        """
        return self._call_predictor("apply", X)

    def decision_path(self, X: MatrixLike) -> tuple[Any, Integers]:
        """Return the nodes that each row passes, for each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes of all trees)
            Non-zero where the row passes the node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Tree t has the columns ``n_nodes_ptr[t]:n_nodes_ptr[t + 1]``.
        """
        return self._call_predictor("decision_path", X)

    @property
    def feature_importances_(self) -> Floats:
        """Mean over trees of the decrease of impurity by feature, summing to 1."""
        check_is_fitted(self)
        trees = [tree for tree in self._list_trees() if tree.node_count > 1]
        total = np.zeros(self.n_features_in_)
        for tree in trees:
            total += tree.compute_feature_importances()
        return total / total.sum() if total.sum() > 0 else total


class BaseObliqueForest(BaseForestModel, BaseOblique):
    """What a bagged forest of greedy trees does, whatever the task."""

    _bootstrap_rules = (FLAG, "auto")

    @report_fit
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type, or real numbers for regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of zero weight is left out.

        Returns
        -------
        self : object
        """
        with restore_on_error(self):
            self._check_forest_params()
            grown, entropy = self._recall_forest()
            known_offset = [tree.tree_.feature_offset for tree in grown[:1]]
            known = getattr(self, "_encoder", None) if grown else None
            if grown:
                check_same_categories(self, X)
            plan = self._plan_growth(X, y, sample_weight, known_offset, known)
            if grown:
                self._check_same_problem(grown[0], plan)
            if self._grow_and_store(plan, grown, entropy) or not hasattr(self, "oob_score_"):
                self._store_out_of_bag(plan)
        return self

    def _grow_and_store(self, plan, grown, entropy):
        """Set the fitted attributes of a forest that goes on from some trees.

        Returns whether trees have been grown.
        """
        stats = {}
        fresh = []
        vars(self).pop("relevance_", None)
        if len(grown) < self.n_estimators:
            fresh = self._grow_missing(plan, grown, entropy, stats)
            self._bags = Bags(self._samples, plan.X.shape[0], plan.rows, plan.weight)
        else:
            advise(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
            )
        if grown:
            known = getattr(self, "splitter_stats_", {})
            stats = {name: stats.get(name, 0) + known.get(name, 0) for name in known | stats}
        self.splitter_stats_ = stats
        self._entropy = entropy
        self._store_forest(
            grown + fresh, plan.target.n_outputs, plan.target.classes, plan.rule.max_features
        )
        if fresh:
            self._remember_rows(plan)
        return len(fresh) > 0

    @property
    def estimators_samples_(self) -> list[Integers]:
        """Rows that each tree was grown on, in order; a row stands there as often as it counts."""
        check_is_fitted(self)
        if not hasattr(self, "_bags"):
            raise AttributeError(
                f"this {type(self).__name__} comes from a model file, which does not keep the rows "
                "that trees were grown on as a pickle does, or its leaves have been updated"
            )
        counts = (self._bags.count(t, each.random_state) for t, each in enumerate(self.estimators_))
        return [np.repeat(np.arange(len(drawn)), drawn) for drawn in counts]

    def _check_forest_params(self):
        """Refuse parameters that concern the forest and not its trees."""
        check_param("n_estimators", self.n_estimators, Integer(1))
        self._count_threads()
        check_param("verbose", self.verbose, *VERBOSE)
        if not callable(self.oob_score) and not FLAG.has_type(self.oob_score):
            expected = "True, False or a function of the true and the predicted targets"
            refuse_param("oob_score", self.oob_score, expected=expected)
        check_param("combine", self.combine, *self._combine_rules)
        check_param("relevance", self.relevance, FLAG, "auto")
        self._check_bootstrap()

    def _make_splitter(self):
        """Return the splitter that grows the trees, on rotated features if they are."""
        return self._rotate(resolve_splitter(self.splitter, others=self._other_starts))

    def _rotate(self, splitter):
        """Return a splitter for rotated features, if they are."""
        group_size = check_param("rotation_size", self.rotation_size, Integer(2, 64))
        if check_param("rotation", self.rotation, "pca", None) is None:
            return splitter
        return RotationSplitter(splitter, group_size=group_size)

    def _grow_missing(self, plan, grown, entropy, stats):
        """Grow trees up to ``n_estimators`` and return them as estimators."""
        seeds = spawn_seeds(entropy, len(grown), self.n_estimators)
        if self.relevance is True:
            plan = plan.draw_by(self._measure_relevance(plan, entropy))
        sample = self._sample_rows(plan.n_rows)
        self._samples = [sample] * self.n_estimators

        def grow(start, end, plan=plan, verbose=0):
            counts = {}
            trees = plan.grow(
                seeds[start:end],
                **sample.options,
                balance_subsample=self._balances_subsample(),
                n_threads=self._count_threads(),
                verbose=verbose,
                stats=counts,
            )
            for name, count in counts.items():
                stats[name] = stats.get(name, 0) + count
            trees = [tree.with_offset(plan.offset) for tree in trees]
            classes, max_features = plan.target.classes, plan.rule.max_features
            return self._wrap_trees(trees, seeds[start:end], classes, max_features)

        if not is_listened_to(self):
            return grow(0, len(seeds), verbose=int(self.verbose))
        encoded = plan.encode(self._count_threads())
        step = functools.partial(grow, plan=encoded)
        trees = grow_in_steps(self, seeds, step, self._store_partly(plan, grown), self.verbose)
        self._samples = self._samples[: len(grown) + len(trees)]
        return trees

    def _store_partly(self, plan, grown):
        """Return what makes an estimator a forest of these trees and some more."""

        def store(estimator, trees):
            target = plan.target
            estimator._store_forest(
                grown + trees, target.n_outputs, target.classes, plan.rule.max_features
            )

        return store

    def _count_fit_tasks(self):
        """Return of how many trees a fit tells callbacks."""
        return self._count_missing()

    def _measure_relevance(self, plan, entropy):
        """Find out, and show, how often each feature should take part in draws."""
        self.relevance_ = measure_relevance(plan, entropy, self._count_threads())
        return self.relevance_

    def _balances_subsample(self):
        """Tell whether classes are balanced in each bootstrap."""
        return False

    def _store_out_of_bag(self, plan):
        """Set or remove the out-of-bag attributes."""
        for name in ("oob_score_", self._oob_name):
            vars(self).pop(name, None)
        if not self.oob_score:
            return
        values = self._predict_out_of_bag(plan)
        judged = ~np.isnan(values).any(axis=(1, 2))
        if not judged.all():
            advise(
                "Some inputs do not have OOB scores. This probably means too few trees were "
                "used to compute any reliable OOB estimates.",
            )
        if plan.rows is not None:
            absent = np.ones(len(judged), dtype=bool)
            absent[plan.rows] = False
            judged &= ~absent
        setattr(self, self._oob_name, self._shape_out_of_bag(values))
        score = self.oob_score if callable(self.oob_score) else self._score_default
        if judged.any():
            labels = self._target_labels(plan.target)
            self.oob_score_ = score(labels[judged], self._decode(values[judged]))
        else:
            self.oob_score_ = np.nan

    def _predict_out_of_bag(self, plan):
        """Predict each row by the trees that did not see it."""
        return predict_out_of_bag(
            self._list_trees(),
            [estimator.random_state for estimator in self.estimators_],
            self._samples,
            plan,
            self.combine,
            self._count_threads(),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.rotation is None
        return tags
