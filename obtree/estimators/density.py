"""Density forests: DensityForest."""

import dataclasses
from typing import Literal, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from obtree.builder.rule import NO_LIMIT, GrowthRule
from obtree.core.hints import ArrayLike, Floats
from obtree.core.names import show
from obtree.core.params import FLAG, Integer, Number, check_param
from obtree.data.scale import find_weight_unit
from obtree.data.validate import round_features, validate_fit_features
from obtree.data.validate_target import validate_sample_weight
from obtree.estimators import hints
from obtree.estimators.bagging import BaseForestModel
from obtree.estimators.base import (
    PredictorCache,
    draw_entropy,
    restore_on_error,
    spawn_seeds,
)
from obtree.estimators.callbacks import report_fit
from obtree.estimators.density_data import prepare_data, refuse_sparse
from obtree.estimators.density_race import DensityRace
from obtree.estimators.density_samples import SampleMixin
from obtree.estimators.density_state import check_density, read_rule
from obtree.estimators.density_trees import REFINED_SHRINKAGES, SHRINKAGES
from obtree.estimators.marginals import MarginalMixin
from obtree.estimators.params import (
    VERBOSE,
    resolve_count,
    resolve_max_features,
    resolve_max_samples,
)
from obtree.estimators.plan import GrowthPlan
from obtree.estimators.sampling import RowSample
from obtree.estimators.settings import AUTO
from obtree.estimators.task import Target, UnsupervisedTask
from obtree.forest.calls import run_calls
from obtree.forest.gaussians import FEATURE_LIMIT, add_densities
from obtree.splitter.axis import AxisSplitter
from obtree.splitter.random_oblique import RandomObliqueSplitter
from obtree.splitter.registry import name_splitter, resolve_splitter
from obtree.splitter.rotation import RotationSplitter
from obtree.tree.predict import Predictor

# What splitter="auto" chooses from. The last cuts principal components of the tree's rows.
RACERS = (
    "axis",
    RandomObliqueSplitter(weights="gaussian", feature_combinations=4.0),
    RotationSplitter(AxisSplitter(), group_size=64),
)
# Candidates a column where there may be more than columns.
RANDOM_CANDIDATES = 2
# Rows whose densities are found together.
BLOCK_ROWS = 2048


class DensityTree:
    """One tree of a density forest: `tree_`, with Gaussian leaves, and its seed `random_state`."""

    def __init__(self, tree, seed):
        self.tree_ = tree
        self.random_state = int(seed)


class DensityForest(SampleMixin, MarginalMixin, DensityMixin, UnsupervisedTask, BaseForestModel):
    """Forest that estimates the density of rows, and draws new ones.

    Trees are grown without y: splits lower the log determinant of the covariance of the rows,
    and each leaf has a Gaussian, cut off at the borders of its cell or overlapping with others. The
    density is the mean over the trees. Which of both, how large leaves are, and how far their
    covariances are shrunk, is decided by the likelihood of rows that trees leave out, so that rows
    of a single Gaussian are left in one leaf. See :doc:`/user_guide/density`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splitter : str or Splitter, default="auto"
        How a node is split; see `obtree.splitter`. Those that fit y to split a node cannot be used.
        "auto" chooses by the likelihood of rows that trees leave out: "axis", "random_oblique" with
        Gaussian weights of four features, or "axis" on principal components.
    max_depth : int, default=None
        Greatest depth.
    min_samples_leaf : int, float or None, default=None
        Rows that each child needs while trees grow; a float is a fraction of the rows, None is one
        more than there are columns. Which leaves remain is decided by rows left out.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Candidates per node; None is as many as there are columns, and twice as many of random
        directions.
    truncate : bool or "auto", default="auto"
        Whether a leaf's Gaussian is cut off at the borders of its cell. Otherwise the density of
        a tree is a mixture of all its leaves, refined by a few steps of EM: smoother, but of less
        detail. "auto" chooses by the likelihood of rows left out.
    shrinkage : float or None, default=None
        How many rows a column a leaf borrows, for its covariance, from its sibling and parent, or
        from all leaves where they overlap; None chooses by the likelihood of rows left out, and
        also whether correlations count.
    max_samples : int or float, default=0.632
        Rows that a tree grows on, drawn without replacement; a float is a fraction of the rows.
        With all of them nothing is left out to judge leaves by, and trees stay as they are grown.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    estimators_ : list of DensityTree
        The trees.
    stop_rule_ : StopRule
        What has been chosen: ``leaf_weight``, the least that the rows of a leaf weigh among those
        its tree grew on; ``shrinkage``; ``correlation``, what correlations in leaves are
        multiplied by; ``is_pruned``, whether splits also had to raise the likelihood of the rows
        that their tree left out; and ``is_refined``, whether leaves overlap, refined by EM.
    splitter_ : str
        What split the nodes: the name of the splitter.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.
    max_features_ : int
        Resolved value of `max_features`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from obtree import DensityForest
    >>> X, _ = make_moons(1000, noise=0.1, random_state=0)
    >>> forest = DensityForest(30, random_state=0).fit(X)
    >>> forest.score(X) > -1.5
    True
    >>> forest.sample(3, random_state=0).shape
    (3, 2)
    """

    _mixes_settings = False
    _combine_rules = ("average",)
    combine = "average"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        splitter: hints.SplitterLike = AUTO,
        max_depth: int | None = None,
        min_samples_leaf: int | float | None = None,
        max_features: hints.MaxFeatures = None,
        truncate: bool | Literal["auto"] = "auto",
        shrinkage: float | None = None,
        max_samples: int | float = 0.632,
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.truncate = truncate
        self.shrinkage = shrinkage
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @report_fit
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the density of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of zero weight is left out.

        Returns
        -------
        self : object
        """
        with restore_on_error(self):
            shrinkages, refined = self._check_params()
            plans = self._plan_growth(X, sample_weight)
            plan = plans[0].encode(self._count_threads()) if len(plans) > 1 else plans[0]
            taken = plan.take_rows()
            race = DensityRace(
                prepare_data(np.ascontiguousarray(taken.X, dtype=np.float32), taken.weight),
                RowSample(resolve_max_samples(self.max_samples, plan.n_rows), replace=False),
                spawn_seeds(draw_entropy(self.random_state), 0, self.n_estimators),
                bool(self.truncate),
                shrinkages,
                refined,
                {"n_threads": self._count_threads(), "verbose": int(self.verbose)},
            )
            plans = [dataclasses.replace(taken, splitter=p.splitter, rule=p.rule) for p in plans]
            plan, trees, self.stop_rule_ = race.run(plans)
            seeds = race.seeds
            self.splitter_ = name_splitter(type(plan.splitter)) or type(plan.splitter).__name__
            trees = [tree.with_offset(plan.offset) for tree in trees]
            members = self._wrap_trees(trees, seeds, None, plan.rule.max_features)
            self._store_forest(members, 1, None, plan.rule.max_features)
        return self

    def _check_params(self):
        """Refuse parameters that are not valid; return the shrinkages of both kinds of leaves."""
        check_param("n_estimators", self.n_estimators, Integer(1))
        check_param("truncate", self.truncate, AUTO, FLAG)
        check_param("verbose", self.verbose, *VERBOSE)
        self._count_threads()
        given = check_param("shrinkage", self.shrinkage, None, Number(0.0, 1e6, open_low=True))
        refined = REFINED_SHRINKAGES if given is None else (float(given),)
        shrinkages = SHRINKAGES if given is None else ((float(given), 1.0),)
        return shrinkages, refined if self.truncate == AUTO or not self.truncate else ()

    @property
    def _is_truncated(self):
        """Whether leaves end at their cells."""
        return bool(self.truncate) and not self.stop_rule_.is_refined

    def _list_splitters(self):
        """Return what may split nodes; one of them will."""
        if isinstance(self.splitter, str) and self.splitter == AUTO:
            return [resolve_splitter(racer) for racer in RACERS]
        return [resolve_splitter(self.splitter)]

    def _plan_growth(self, X, sample_weight):
        """Check data and stop rules and return a `GrowthPlan` for each splitter."""
        splitters = self._list_splitters()
        refuse_sparse(X)
        X = validate_fit_features(self, X)
        d = self.n_features_in_
        if d > FEATURE_LIMIT:
            raise ValueError(f"X has {d} columns; expected at most {FEATURE_LIMIT}")
        weight = validate_sample_weight(sample_weight, X.shape[0])
        rows = None
        if weight is not None:
            if not weight.all():
                rows = np.flatnonzero(weight)
                weight = weight[rows]
            weight = weight / find_weight_unit(weight)
        X, offset = round_features(self, X, rows)
        n_rows = X.shape[0] if rows is None else len(rows)
        max_depth = check_param("max_depth", self.max_depth, None, Integer(1))
        smallest = d + 1
        if self.min_samples_leaf is not None:
            smallest = resolve_count("min_samples_leaf", self.min_samples_leaf, n_rows, 1)
        bounded = not all(splitter.max_features_unbounded for splitter in splitters)
        max_features = resolve_max_features(self.max_features, d, bounded)

        def count_candidates(splitter):
            more = self.max_features is None and splitter.max_features_unbounded
            return RANDOM_CANDIDATES * max_features if more else max_features

        return [
            GrowthPlan(
                X=X,
                target=Target(),
                rows=rows,
                weight=weight,
                criterion="gaussian",
                splitter=splitter,
                rule=GrowthRule(
                    max_depth=NO_LIMIT if max_depth is None else min(max_depth, NO_LIMIT),
                    min_samples_split=2 * smallest,
                    min_samples_leaf=smallest,
                    max_features=count_candidates(splitter),
                ),
                ccp_alpha=0.0,
                offset=offset,
            )
            for splitter in splitters
        ]

    def _draws_bootstraps(self):
        """Tell whether trees grow on some of the rows, drawn whatever they weigh."""
        return self.max_samples is not None and self.max_samples != 1.0

    def _wrap_trees(self, trees, seeds, classes, max_features, template=None):
        """Give each tree its seed."""
        return [DensityTree(tree, seed) for tree, seed in zip(trees, seeds, strict=True)]

    def _store_forest(self, estimators, n_outputs, classes, max_features):
        """Set the fitted attributes, other than those that describe X."""
        self.max_features_ = max_features
        self.estimators_ = estimators
        self._predictor = PredictorCache(Predictor)

    def score_samples(self, X: ArrayLike) -> Floats:
        """Find the logarithm of the density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. What is missing (NaN) is integrated out: the density is that of the values
            that are there.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        rows = self._read_rows(X)
        whole = ~np.isnan(rows).any(axis=1)
        values = np.empty(len(rows))
        values[whole] = self._score_whole(rows[whole])
        if not whole.all():
            values[~whole] = self._score_marginals(rows[~whole])
        return values

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Find the mean log density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        score : float
        """
        return float(np.mean(self.score_samples(X)))

    def _read_rows(self, X):
        """Check rows and return them as float32 that trees see."""
        check_is_fitted(self)
        refuse_sparse(X)
        return np.ascontiguousarray(self._read_features(X), dtype=np.float32)

    def _score_whole(self, X):
        """The log density of rows that lack nothing."""
        trees = [member.tree_.shifted for member in self.estimators_]
        leaves = self._predictor.get(self._list_trees())

        def score_block(k):
            rows = X[k * BLOCK_ROWS : (k + 1) * BLOCK_ROWS]
            top, total = np.full(len(rows), -np.inf), np.zeros(len(rows))
            reached = np.asfortranarray(leaves.apply(rows)) if self._is_truncated else None
            for t, tree in enumerate(trees):
                if self._is_truncated:
                    nodes = np.ascontiguousarray(reached[:, t])
                else:
                    nodes = np.flatnonzero(tree.children_left < 0)
                add_densities(
                    rows,
                    nodes,
                    tree.leaf_mean,
                    tree.leaf_factor,
                    tree.leaf_log_weight,
                    top,
                    total,
                    self._is_truncated,
                )
            with np.errstate(divide="ignore"):
                return top + np.log(total) - np.log(len(trees))

        n_blocks = -(-len(X) // BLOCK_ROWS)
        if n_blocks == 0:
            return np.empty(0)
        return np.concatenate(run_calls(score_block, n_blocks, self._count_threads()))

    def _describe_extras(self):
        """Return what has been chosen."""
        return {"stop_rule": list(self.stop_rule_), "splitter": self.splitter_}, {}

    def _restore_extras(self, header, arrays):
        """Take what has been chosen from a file, and refuse trees that are no densities."""
        if header.keys() != {"stop_rule", "splitter"} or arrays:
            raise ValueError(
                f"it holds {show([*header, *arrays])} beside its trees, expected 'stop_rule' and "
                "'splitter'"
            )
        self.stop_rule_ = read_rule(header["stop_rule"])
        self.splitter_ = header["splitter"]
        if not isinstance(self.splitter_, str):
            raise ValueError(f"its splitter is {show(self.splitter_)}, expected a name")
        check_param("truncate", self.truncate, AUTO, FLAG)
        for member in self.estimators_:
            check_density(member.tree_, self._is_truncated)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
