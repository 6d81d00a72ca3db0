"""How trees and forests are fitted that are optimised as a whole.

``fit`` runs through the steps of the greedy estimators, with two more in between: plan,
grow what to start from, set rows aside for early stopping if that is wanted, optimise
(compiled, trees in parallel), store. A subclass names its parameters and its optimiser, which
is made of those it knows; others make the starter: an unfitted greedy tree, whose plan checks
the data and grows the trees to start from.
"""

import dataclasses
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from obtree.core.advice import advise
from obtree.core.hints import ArrayLike, MatrixLike
from obtree.core.names import show
from obtree.core.params import Integer, Number, check_param, refuse_param
from obtree.estimators.bagging import BaseForestModel
from obtree.estimators.base import BaseModel, restore_on_error, spawn_seeds
from obtree.estimators.callbacks import grow_in_steps, is_listened_to, report_fit
from obtree.estimators.dense import (
    check_memory,
    choose_columns,
    find_filled,
    make_dense,
    narrow_tree,
    widen_model,
)
from obtree.estimators.params import VERBOSE
from obtree.estimators.tree import (
    BaseTreeModel,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    resolve_tree_seed,
)
from obtree.forest.refine import refine_trees
from obtree.optim.base import Problem
from obtree.splitter.co2 import CO2Splitter
from obtree.splitter.registry import resolve_splitter
from obtree.tree.tree import Tree

#: Parameters of greedy trees with which an estimator grows what it starts from, if it has them.
START_PARAMS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "class_weight",
)


@dataclasses.dataclass(frozen=True, eq=False)
class Refinement:
    """Outcome of a fit: models and what is reported about them.

    Attributes
    ----------
    plan : GrowthPlan
        What was resolved from parameters and data.
    seeds : ndarray of uint32
        One for each model.
    models : list
        What the optimiser made, in the order of the seeds.
    reports : list of dict
        For each model its ``objective`` after each iteration, and what else the optimiser says.
    """

    plan: object
    seeds: np.ndarray
    models: list
    reports: list


class BaseOptimised(BaseModel):
    """What all optimised estimators do.

    A subclass has the parameters ``init``, ``validation_fraction``, ``n_iter_no_change``,
    ``verbose``, ``n_jobs`` and ``random_state``, those of `START_PARAMS` that it wants, and those
    of its optimiser (``_optimiser_class``).
    """

    _splitter_param = "init"

    #: Names that stand for a start that the optimiser makes itself.
    _own_starts: tuple[str, ...] = ()

    @report_fit
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree, or those of a forest, and optimise each as a whole.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused. Sparse
            features are made dense, for which there must be memory.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type, or real numbers for regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of zero weight is left out.

        Returns
        -------
        self : object
        """
        with restore_on_error(self):
            known, seeds = self._choose_seeds()
            check_param("verbose", self.verbose, *VERBOSE)
            self._count_threads()
            if not len(seeds):
                advise("Warm-start fitting without increasing n_estimators does not fit new trees.")
                return self
            self._store_outcome(known, self._refine(X, y, sample_weight, known, seeds))
        return self

    def _make_starter(self):
        """Return the greedy tree that checks the data and grows the start."""
        kind = ObliqueTreeClassifier if is_classifier(self) else ObliqueTreeRegressor
        params = {name: getattr(self, name) for name in START_PARAMS if hasattr(self, name)}
        return kind(splitter=self._check_splitter(), categorical_features=None, **params)

    def _make_optimiser(self, problem):
        """Return the `Optimiser` that the parameters describe."""
        params = {name: getattr(self, name) for name in self._optimiser_class.parameter_names}
        return self._optimiser_class(**{**params, "n_iter_no_change": self.n_iter_no_change or 1})

    def _refine(self, X, y, sample_weight, known, seeds):
        """Check everything, grow starts for these seeds and optimise them; others are known.

        Returns
        -------
        Refinement
        """
        known_offset = [getattr(tree, tree._tree_attribute).feature_offset for tree in known[:1]]
        plan = self._plan(X, y, sample_weight, known_offset)
        if known:
            self._check_same_problem(known[0], plan)
        if is_classifier(self) and plan.target.n_outputs > 1:
            raise ValueError(
                f"y has {plan.target.n_outputs} outputs; {type(self).__name__} expects one, "
                "fit one model for each (sklearn.multioutput.MultiOutputClassifier does)"
            )
        first = known[0].random_state if known else seeds[0]
        train, valid = self._set_aside(plan, first)
        if len(valid):
            part = dataclasses.replace(plan, rows=train, weight=_take(plan, train))
        else:
            part = plan
        rows = np.concatenate([train, valid])
        X = plan.X if len(rows) == plan.X.shape[0] and not len(valid) else plan.X[rows]
        filled = find_filled(X)
        self._check_memory(X, choose_columns(filled), 0)
        starts = self._start_trees(part, seeds, len(known))
        columns = choose_columns(filled, starts)
        self._check_memory(X, columns, self._count_planes(plan, starts))
        problem = self._pose_problem(plan, make_dense(X, columns), rows, len(train))
        starts = [narrow_tree(tree, columns) for tree in starts]

        def refine(start, end, verbose=0):
            results = refine_trees(
                problem,
                self._make_optimiser(problem),
                starts[start:end],
                seeds[start:end],
                n_threads=self._count_threads(),
                verbose=verbose,
            )
            n_columns = plan.X.shape[1]
            return [
                (widen_model(model, columns, n_columns).with_offset(plan.offset), report)
                for model, report in results
            ]

        def gather(results):
            return Refinement(plan, seeds[: len(results)], *map(list, zip(*results, strict=True)))

        if not self._count_fit_tasks() or not is_listened_to(self):
            return gather(refine(0, len(seeds), int(self.verbose)))

        def store(estimator, results):
            estimator._store_refined(known, gather(results))

        return gather(grow_in_steps(self, seeds, refine, store, self.verbose))

    def _plan(self, X, y, sample_weight, known_offset=()):
        """Let the starter check the data, and take over what it learnt of them."""
        starter = self._make_starter()
        plan = starter._plan_growth(X, y, sample_weight, known_offset)
        self._adopt_features(starter)
        return plan

    def _set_aside(self, plan, seed):
        """Return the rows to learn from and those that tell when to stop (maybe none)."""
        rows = np.arange(plan.X.shape[0]) if plan.rows is None else plan.rows
        fraction = check_param(
            "validation_fraction", self.validation_fraction, Number(0.0, 1.0, open_low=True)
        )
        if check_param("n_iter_no_change", self.n_iter_no_change, None, Integer(1)) is None:
            return rows, rows[:0]
        n_valid = int(np.ceil(fraction * len(rows)))
        if not 0 < n_valid < len(rows):
            raise ValueError(
                f"validation_fraction={show(self.validation_fraction)} leaves "
                f"{len(rows) - n_valid} of {len(rows)} rows to learn from; expected some of both"
            )
        order = np.random.default_rng(int(seed)).permutation(len(rows))
        return rows[np.sort(order[n_valid:])], rows[np.sort(order[:n_valid])]

    def _start_trees(self, plan, seeds, n_known):
        """Return one tree to start from for each seed, of those beyond some that are there."""
        if isinstance(self.init, (Tree, BaseModel)):
            return self._use_fitted(plan, n_known + len(seeds))[n_known:]
        trees = plan.grow(
            seeds,
            n_threads=self._count_threads(),
            n_bootstrap=self._count_draws(plan.n_rows),
            verbose=int(self.verbose),
        )
        for tree in trees:
            _check_start(tree)
        return trees

    def _use_fitted(self, plan, n_trees):
        """Check that fitted trees belong to the same problem, and return them."""
        if isinstance(self.init, Tree):
            trees, classes = [self.init], None
        else:
            check_is_fitted(self.init)
            trees, classes = self.init._list_trees(), self.init._list_classes()
        if len(trees) not in (1, n_trees):
            raise ValueError(f"init holds {len(trees)} trees; expected {n_trees}, or one")
        n_classes = plan.target.n_classes
        for tree in trees:
            _check_start(tree)
            expected = [1] * plan.target.n_outputs if n_classes is None else n_classes.tolist()
            if tree.n_features != self.n_features_in_ or tree.n_classes.tolist() != expected:
                raise ValueError(
                    f"init is a tree of {tree.n_features} features and {tree.n_classes.tolist()} "
                    f"classes an output; X has {self.n_features_in_} and y {expected}"
                )
        if classes is not None and not all(map(np.array_equal, classes, plan.target.classes)):
            raise ValueError("init was fitted to other class labels than those of y")
        trees = [tree.shift_to(plan.offset) for tree in trees]
        return trees if len(trees) == n_trees else trees * n_trees

    def _pose_problem(self, plan, X, rows, n_train):
        """Return what the optimiser learns from, X being the features of these rows."""
        return Problem(
            X,
            plan.target.y[rows],
            _take(plan, rows),
            0 if plan.target.n_classes is None else int(plan.target.n_classes[0]),
            n_train,
            as_bytes=self._reads_bytes(X.shape[1]),
        )

    def _reads_bytes(self, n_features):
        """Whether the optimiser can do with features of bytes as they are."""
        return False

    def _check_memory(self, X, columns, n_planes):
        """Refuse sparse features that there is no memory for."""
        n_columns = X.shape[1] if columns is None else len(columns)
        check_memory(type(self).__name__, X, n_columns, self._count_bytes(n_columns), n_planes)

    def _count_bytes(self, n_features):
        """Return how many bytes a value of the features takes."""
        return 4

    def _count_planes(self, plan, starts):
        """Return how many planes of all features the models have."""
        return sum(tree.node_count - tree.n_leaves for tree in starts)

    def _check_splitter(self):
        """Return ``init`` as what the starter's ``splitter`` may be."""
        is_own = isinstance(self.init, str) and self.init in self._own_starts
        if is_own or isinstance(self.init, (Tree, BaseModel)):
            return "axis"
        if isinstance(self.init, BaseEstimator):
            expected = "the name of a splitter, a splitter, or a fitted tree or forest of obtree"
            refuse_param("init", self.init, expected=expected)
        # Checked here, where the parameter has its name.
        resolve_splitter(self.init, "init", self._other_starts)
        if self.init == "co2":
            # Rows set aside by number would make a weight of two differ from two rows.
            return CO2Splitter(held_out=0)
        return self.init

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not isinstance(self, ClassifierMixin)
        return tags


class BaseOptimisedTree(BaseOptimised, BaseTreeModel):
    """One optimised tree."""

    def _choose_seeds(self):
        """Return that no tree is there, and the seed of the one to be."""
        return [], np.array([resolve_tree_seed(self.random_state)], dtype=np.uint32)

    def _count_draws(self, n_rows):
        """A tree by itself learns from all rows."""
        return 0

    def _store_outcome(self, known, outcome):
        """Set the fitted attributes, other than those that describe X."""
        plan = outcome.plan
        self._store_tree(outcome.models[0], plan.target.classes, plan.rule.max_features)
        _store_report(self, outcome.reports[0])


class BaseOptimisedForest(BaseOptimised, BaseForestModel):
    """A forest of trees, each optimised by itself."""

    def _choose_seeds(self):
        """Check what concerns the forest and not its trees; return those there are, and seeds."""
        check_param("n_estimators", self.n_estimators, Integer(1))
        check_param("combine", self.combine, *self._combine_rules)
        self._check_bootstrap()
        known, self._entropy = self._recall_forest()
        return known, spawn_seeds(self._entropy, len(known), self.n_estimators)

    def _count_fit_tasks(self):
        """Return of how many trees a fit tells callbacks."""
        return self._count_missing()

    def _store_outcome(self, known, outcome):
        """Set the fitted attributes, other than those that describe X."""
        self._store_refined(known, outcome)
        self._remember_rows(outcome.plan)
        self._gather_reports()

    def _store_refined(self, known, outcome):
        """Set what predicting takes."""
        target, max_features = outcome.plan.target, outcome.plan.rule.max_features
        trees = self._wrap_trees(outcome.models, outcome.seeds, target.classes, max_features)
        for tree, report in zip(trees, outcome.reports, strict=True):
            _store_report(tree, report)
        self._store_forest(known + trees, target.n_outputs, target.classes, max_features)

    def _gather_reports(self):
        """Show what the optimiser has said of each tree; of trees from a file nobody knows."""
        names = {name for tree in self.estimators_ for name in getattr(tree, "_reported", ())}
        for name in names:
            values = [getattr(tree, f"{name}_", None) for tree in self.estimators_]
            # Curves differ in length.
            is_curve = any(value is None or np.ndim(value) for value in values)
            setattr(self, f"{name}_", values if is_curve else np.array(values))


def _store_report(estimator, report):
    """Show what an optimiser reports about a tree as fitted attributes."""
    estimator._reported = tuple(report)
    for name, value in report.items():
        setattr(estimator, f"{name}_", value)


def _check_start(tree):
    """Refuse trees whose nodes are more than planes."""
    if not tree.has_planes_only:
        raise ValueError(
            "init has nodes with products of features, intervals or sets of categories; expected "
            "a tree of planes, such as one grown by 'axis', 'random_oblique', 'oc1' or 'co2'"
        )


def _take(plan, rows):
    """Weights of some rows of X; None when all weigh 1."""
    if plan.weight is None:
        return None
    if plan.rows is None:
        return plan.weight[rows]
    # plan.rows is ascending, and so rows can be found in it.
    return plan.weight[np.searchsorted(plan.rows, rows)]
