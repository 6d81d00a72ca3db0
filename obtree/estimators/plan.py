"""What a fit of greedy trees works with: data and parameters, checked and resolved."""

import dataclasses

import numpy as np

from obtree.builder.prune import prune_tree
from obtree.builder.rule import GrowthRule
from obtree.core.advice import advise
from obtree.criterion.registry import make_criterion
from obtree.data.dataset import Dataset
from obtree.data.targets import Targets
from obtree.estimators.task import Target
from obtree.forest.grow import grow_trees
from obtree.forest.leaf_fitter import MIN_WEIGHT, LeafFitter, LinearFitter, fit_leaf_models


@dataclasses.dataclass(frozen=True, eq=False)
class GrowthPlan:
    """Everything that growing needs, checked and resolved.

    Attributes
    ----------
    X : ndarray or sparse matrix
        Validated features of all rows.
    target : Target
        Targets of all rows.
    rows : ndarray of intp or None
        Rows with a positive weight; None when these are all rows.
    weight : ndarray of float64 or None
        Weights of `rows`; None when all are 1.
    criterion : str or subclass of Criterion
        The impurity.
    splitter : Splitter
        Proposes the splits.
    rule : GrowthRule
        When to stop.
    ccp_alpha : float
        Complexity parameter of pruning.
    leaf : LeafFitter or None
        What fits the leaves; None when they are constant.
    offset : ndarray of float64 or None
        What has been subtracted from the columns of X, for trees to subtract as well.
    categorical : ndarray of bool or None
        Which columns of X have the numbers of categories; None when none has.
    dataset : Dataset or None
        X encoded, where several calls of `grow` share it; all rows take part then.
    """

    X: object
    target: Target
    rows: np.ndarray | None
    weight: np.ndarray | None
    criterion: str
    splitter: object
    rule: GrowthRule
    ccp_alpha: float
    leaf: LeafFitter | None = None
    offset: np.ndarray | None = None
    categorical: np.ndarray | None = None
    dataset: Dataset | None = None

    @property
    def n_rows(self):
        """Number of rows that take part."""
        return self.X.shape[0] if self.rows is None else len(self.rows)

    def take_rows(self):
        """Return the same plan without the rows that do not take part.

        Returns
        -------
        plan : GrowthPlan
        """
        if self.rows is None:
            return self
        target = self.target.take(self.rows)
        return dataclasses.replace(self, X=self.X[self.rows], target=target, rows=None)

    def measure_spread(self):
        """Return the deviation of each output, for plans of numbers whose rows all take part.

        Returns
        -------
        spread : ndarray of shape (n_outputs,)
            1 where there is none.
        """
        y = self.target.y
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        centre = y - np.average(y, axis=0, weights=weight)
        spread = np.sqrt(np.average(centre**2, axis=0, weights=weight))
        return np.where(spread > 0.0, spread, 1.0)

    def draw_by(self, relevance):
        """Return the same plan with features drawn by their relevance.

        Parameters
        ----------
        relevance : float32 ndarray of shape (n_features,) or None

        Returns
        -------
        plan : GrowthPlan
        """
        rule = dataclasses.replace(self.rule, relevance=relevance)
        return dataclasses.replace(self, rule=rule)

    def encode(self, n_threads):
        """Return the same plan with X encoded, for several calls of `grow`.

        Parameters
        ----------
        n_threads : int
            Number of threads.

        Returns
        -------
        plan : GrowthPlan
            Its rows are those that take part.
        """
        plan = self.take_rows()
        dataset = Dataset(plan.X, n_threads=n_threads, keep_rows=True, categorical=self.categorical)
        return dataclasses.replace(plan, dataset=dataset)

    def grow(self, seeds, *, n_threads=1, **options):
        """Grow and prune one tree per seed, and fit its leaves.

        Parameters
        ----------
        seeds : ndarray of uint32
            One seed per tree; a tree depends on nothing but its seed.
        n_threads : int, default=1
            Number of trees grown at the same time.
        **options
            Passed to `grow_trees`.

        Returns
        -------
        trees : list of Tree
            For features from which `offset` has been subtracted.
        """
        # A row of zero weight is an absent row, in bootstraps as well.
        taken = self.take_rows()
        X, y = taken.X, taken.target.y
        targets = Targets(y, self.target.n_classes, self.target.partial)
        dataset = self.dataset
        if dataset is None:
            keep_rows = getattr(self.splitter, "needs_rows", False)
            dataset = Dataset(
                X, n_threads=n_threads, keep_rows=keep_rows, categorical=self.categorical
            )
        trees = grow_trees(
            dataset,
            targets,
            make_criterion(self.criterion, targets),
            self.splitter,
            self.rule,
            seeds=seeds,
            sample_weight=self.weight,
            n_threads=n_threads,
            **options,
        )
        if self.ccp_alpha > 0:
            trees = [prune_tree(tree, self.ccp_alpha) for tree in trees]
        if self.leaf is not None:
            for name in ("stats", "desc"):
                options.pop(name, None)
            trees = fit_leaf_models(
                trees,
                X,
                y,
                self.target.n_classes,
                fitter=self.leaf,
                seeds=seeds,
                sample_weight=self.weight,
                n_threads=n_threads,
                categorical=self.categorical,
                **options,
            )
            if isinstance(self.leaf, LinearFitter):
                _warn_of_constant_leaves(trees)
        return trees


def _warn_of_constant_leaves(trees):
    """Tell the user of linear leaves when there is not a single one."""
    if any(tree.node_count > 1 for tree in trees) and not any(
        tree.leaf_kind.fields for tree in trees
    ):
        advise(
            "leaf='linear' changed nothing: every leaf is pure or has less than "
            f"{MIN_WEIGHT:g} rows (counted by weight); grow larger leaves with max_depth, "
            "max_leaf_nodes or min_samples_leaf",
        )
