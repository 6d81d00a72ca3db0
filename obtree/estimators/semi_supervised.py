"""Forests for few labels: SemiSupervisedForestClassifier.

Criminisi, Shotton and Konukoglu (2011), chapter 7. Trees that see all rows, and the labels of some,
say along which paths labels travel (section 7.3); every row then has a label, and trees grown on
these predict new rows (section 7.4, where they are the same trees: leaves that are large enough
for a Gaussian are too large to predict well). Beyond the paper, a forest of the labels alone has a
say as well, and the last word where hidden labels tell that the unlabelled rows do not help.
"""

import copy
import dataclasses
from typing import Literal, Self

import numpy as np

from obtree.builder.rule import GrowthRule
from obtree.core.hints import ArrayLike, MatrixLike
from obtree.core.names import show
from obtree.core.params import FLAG, Integer, Number, check_param
from obtree.criterion.semi_supervised import SemiSupervisedGain
from obtree.data.validate_target import validate_partial_target
from obtree.estimators import hints
from obtree.estimators.base import draw_entropy, restore_on_error, spawn_seeds
from obtree.estimators.callbacks import report_fit
from obtree.estimators.dense import check_memory, make_dense
from obtree.estimators.forest import ObliqueForestClassifier
from obtree.estimators.geodesics import link_leaf_mates, measure_paths
from obtree.estimators.leaf_rows import find_leaves
from obtree.estimators.params import resolve_max_features
from obtree.estimators.task import Target
from obtree.estimators.transduction import N_FOLDS, Check, clamp, combine, deal_folds
from obtree.splitter.registry import resolve_splitter
from obtree.tree.predict import Predictor

# Splitters that work without a class for every row.
STRUCTURE_SPLITTERS = ("axis", "axis_random", "random_oblique")
# Rows of a leaf that labels travel through: one more than columns, within these bounds.
MIN_LEAF, MAX_LEAF = 20, 33
CHECK_FIELDS = {
    "n_judged": Integer(0),
    "sharpness": Number(0.0),
    "gain": Number(-1e3, 1e3),
    "gain_error": Number(0.0),
    "error": Number(0.0, 1.0),
    "supervised_error": Number(0.0, 1.0),
}


class SemiSupervisedForestClassifier(ObliqueForestClassifier):
    """Forest for classification where most rows have no label.

    Labels travel from the labelled rows to the others, along shortest paths through the leaves of
    trees that separate dense regions and classes. A forest is then grown on all rows. See
    :doc:`/user_guide/semi_supervised`.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees that predict; boosted chains, where a race finds that they help, come on
        top.
    alpha : float, default=1.0
        In trees that labels travel along, what the decrease of the labelled rows' class entropy
        counts for, beside that of all rows' Gaussian entropy.
    structure_splitter : {"random_oblique", "axis", "axis_random"}, default="random_oblique"
        How these trees are split.
    n_structure_trees : int, default=20
        Number of these trees.
    structure_min_samples_leaf : int or "auto", default="auto"
        Rows that each of their leaves needs; "auto" is one more than there are columns, from 20
        to 33.
    n_neighbors : int, default=10
        Steps that lead on from a row, to the nearest of those it shares a leaf with.
    fallback : bool, default=True
        Whether to be content with a forest of the labelled rows where hiding labels does not show
        that unlabelled rows help to guess them.
    splitter : str, Splitter or list of such, default="auto"
        How nodes of the trees that predict are split, as are all parameters that follow; see
        `ObliqueForestClassifier`.
    criterion : {"gini", "entropy", "log_loss", "twoing", "max_minority", "sum_minority", \
            "sum_of_variances"}, default="gini"
        Impurity that splits reduce.
    max_depth : int, default=None
        Greatest depth; None grows until leaves are pure or too small.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a float is a fraction of the rows.
    min_samples_leaf : int or float, default=1
        Rows each child needs; a float is a fraction of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight each child needs.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Candidates per node, in the trees that labels travel along as well.
    max_leaf_nodes : int, default=None
        Grow the most useful splits first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity worth a split.
    bootstrap : bool or "auto", default="auto"
        Whether each tree sees a sample of the rows, drawn with replacement.
    n_jobs : int, default=None
        Number of threads, as in joblib: None is 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Source of all randomness.
    verbose : int, default=0
        1 shows a progress bar.
    max_samples : int or float, default=None
        Bootstrap draws per tree; a float is a fraction of the rows.
    combine : {"average", "product", "vote"}, default="average"
        Mean of the trees' probabilities, their normalised product, or the fraction of trees that
        vote for a class.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The label of each row of `fit`: its own, or the one that has reached it.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes for each row of `fit`; labels of its own are certain.
    fallback_ : bool
        Whether the forest has been grown on the labelled rows alone.
    check_ : dict of str to float
        What hidden labels told: how many there were ("n_judged"); by how many nats they become
        likelier in the mean with the unlabelled rows than by the labels alone ("gain"), the
        standard error of this ("gain_error"); the fractions of wrong guesses ("error",
        "supervised_error"); and how strongly paths count for that ("sharpness"). With fewer than
        10 there is only "n_judged" and "sharpness". Empty if all rows have labels.
    classes_ : ndarray of shape (n_classes,)
        Class labels, without -1.
    estimators_ : list of ObliqueTreeClassifier
        The trees that predict.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had names.

    Notes
    -----
    Everything else that is said of `ObliqueForestClassifier` holds for the forest that predicts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from obtree import SemiSupervisedForestClassifier
    >>> X, truth = make_moons(300, noise=0.05, random_state=0)
    >>> y = np.full(300, -1)
    >>> for c in (0, 1):
    ...     y[np.flatnonzero(truth == c)[0]] = c
    >>> forest = SemiSupervisedForestClassifier(random_state=0).fit(X, y)
    >>> bool((forest.transduction_ == truth).mean() > 0.9)
    True
    """

    # Parameters of ObliqueForestClassifier that this one does not have.
    oob_score = False
    warm_start = False
    class_weight = None
    ccp_alpha = 0.0
    monotonic_cst = None
    rotation = None
    rotation_size = 3
    leaf = "constant"
    leaf_l2 = 1.0
    relevance = "auto"
    categorical_features = None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        alpha: float = 1.0,
        structure_splitter: Literal["random_oblique", "axis", "axis_random"] = "random_oblique",
        n_structure_trees: int = 20,
        structure_min_samples_leaf: int | Literal["auto"] = "auto",
        n_neighbors: int = 10,
        fallback: bool = True,
        splitter: hints.SplitterChoice = "auto",
        criterion: hints.ClassCriterion = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: hints.MaxFeatures = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | Literal["auto"] = "auto",
        n_jobs: int | None = None,
        random_state: hints.Seed = None,
        verbose: int = 0,
        max_samples: int | float | None = None,
        combine: Literal["average", "product", "vote"] = "average",
    ) -> None:
        self.n_estimators = n_estimators
        self.alpha = alpha
        self.structure_splitter = structure_splitter
        self.n_structure_trees = n_structure_trees
        self.structure_min_samples_leaf = structure_min_samples_leaf
        self.n_neighbors = n_neighbors
        self.fallback = fallback
        self.splitter = splitter
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_samples = max_samples
        self.combine = combine

    @report_fit
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Let labels travel to the rows without one, and grow the forest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing; infinity is refused.
        y : array-like of shape (n_samples,)
            Class labels; the number -1 stands for none. Where labels are strings, an array of
            dtype object that holds them and -1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of zero weight is left out.

        Returns
        -------
        self : object
        """
        with restore_on_error(self):
            self._check_forest_params()
            self._check_structure_params()
            entropy = draw_entropy(self.random_state)
            plan = self._plan_growth(X, y, sample_weight)
            codes = plan.target.y[:, 0]
            self._grow_and_store(_take_labelled(plan, codes), [], entropy)
            prior = self._predict_values(X)[:, 0]
            self.fallback_ = False
            self.check_: dict[str, float] = {}
            distributions = clamp(prior, codes)
            if (codes < 0).any() and len(self.classes_) > 1:
                distributions = self._transduce(plan, distributions, prior, entropy)
            self.label_distributions_ = distributions
            self.transduction_ = self.classes_[distributions.argmax(axis=1)]
        return self

    def _check_structure_params(self):
        """Refuse parameters of the trees that labels travel along."""
        check_param("alpha", self.alpha, Number(0.0))
        check_param("structure_splitter", self.structure_splitter, *STRUCTURE_SPLITTERS)
        check_param("n_structure_trees", self.n_structure_trees, Integer(1))
        check_param(
            "structure_min_samples_leaf", self.structure_min_samples_leaf, "auto", Integer(1)
        )
        check_param("n_neighbors", self.n_neighbors, Integer(1))
        check_param("fallback", self.fallback, FLAG)

    def _encode_target(self, y, n_samples):
        """Return class codes, -1 for none, and the labels they stand for."""
        return Target(*validate_partial_target(y, n_samples), partial=True)

    def _transduce(self, plan, known, prior, entropy):
        """Let labels travel, and grow the forest anew on where they arrive if that helps.

        `known` is `prior`, the supervised forest's probabilities, beside labels that are certain;
        returned are the same with what has arrived.
        """
        rows = slice(None) if plan.rows is None else plan.rows
        inside = plan.take_rows()
        codes = inside.target.y[:, 0]
        check_memory(type(self).__name__, inside.X, inside.X.shape[1], 16)
        X = np.ascontiguousarray(make_dense(inside.X, None), dtype=np.float32)
        inside = dataclasses.replace(inside, X=X, offset=None)
        hidden = deal_folds(codes, np.random.default_rng([entropy, 1]))
        leaves = self._find_structure(inside, hidden, entropy)
        verdict = self._check_labels(inside, hidden, leaves, entropy)
        self.fallback_ = bool(verdict.pop("harm") and self.fallback)
        self.check_ = verdict
        if self.fallback_:
            return known
        links = link_leaf_mates(X, leaves, self.n_neighbors)
        distance = measure_paths(links, codes, len(self.classes_))
        together = combine(distance, prior[rows], (codes >= 0).sum(), verdict["sharpness"])
        distributions = known.copy()
        distributions[rows] = clamp(together, codes)
        arrived = distributions.argmax(axis=1).astype(np.int32)[:, np.newaxis]
        target = Target(arrived, plan.target.classes)
        self._grow_and_store(dataclasses.replace(plan, target=target), [], entropy)
        return distributions

    def _find_structure(self, plan, hidden, entropy):
        """Grow trees on all rows; the leaf of each row in each of them.

        Tree t does not know the labels of fold t modulo N_FOLDS (`hidden` is the fold of a row).
        """
        n_features, n_threads = plan.X.shape[1], self._count_threads()
        min_leaf = self.structure_min_samples_leaf
        if min_leaf == "auto":
            min_leaf = min(max(n_features + 1, MIN_LEAF), MAX_LEAF)
        seeds = spawn_seeds(entropy, self.n_estimators, self.n_estimators + self.n_structure_trees)
        plan = dataclasses.replace(
            plan,
            criterion=SemiSupervisedGain(float(self.alpha)),
            splitter=resolve_splitter(self.structure_splitter),
            rule=GrowthRule(
                min_samples_leaf=min_leaf,
                min_samples_split=2 * min_leaf,
                max_features=resolve_max_features(self.max_features, n_features),
            ),
            ccp_alpha=0.0,
        ).encode(n_threads)
        leaves = np.empty((len(hidden), self.n_structure_trees), dtype=np.int32)
        for k in range(min(N_FOLDS, self.n_structure_trees)):
            seen = np.where(hidden == k, -1, plan.target.y[:, 0]).astype(np.int32)
            target = dataclasses.replace(plan.target, y=seen[:, np.newaxis])
            trees = dataclasses.replace(plan, target=target).grow(
                seeds[k::N_FOLDS], n_threads=n_threads, verbose=int(self.verbose)
            )
            leaves[:, k::N_FOLDS] = find_leaves(Predictor(trees), plan.X, n_threads)
        return leaves

    def _check_labels(self, plan, hidden, leaves, entropy):
        """Guess hidden labels by the others, with and without the unlabelled rows."""
        codes = plan.target.y[:, 0]
        check = Check()
        for k in range(min(N_FOLDS, leaves.shape[1])):
            seen = np.where(hidden == k, -1, codes)
            held_out = np.flatnonzero((hidden == k) & np.isin(codes, seen[seen >= 0]))
            if len(held_out) == 0:
                continue
            links = link_leaf_mates(plan.X, leaves[:, k::N_FOLDS], self.n_neighbors)
            distance = measure_paths(links, seen, len(self.classes_))
            prior = self._predict_fold(_take_labelled(plan, seen), plan.X[held_out], entropy)
            check.add(distance[held_out], prior, (seen >= 0).sum(), codes[held_out])
        return check.conclude()

    def _predict_fold(self, plan, X, entropy):
        """Predict rows by a forest of some labels, leaving this one as it is."""
        forest = copy.copy(self)
        forest.verbose = 0
        vars(forest).pop("feature_names_in_", None)
        forest._grow_and_store(plan, [], entropy)
        return forest._predict_values(X)[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _describe_extras(self):
        """Return what a model file keeps of the transduction."""
        header = {"fallback": self.fallback_, "check": self.check_}
        return header, {"label_distributions": self.label_distributions_}

    def _restore_extras(self, header, arrays):
        """Take the transduction from a file, trusting none of it."""
        if header.keys() != {"fallback", "check"} or arrays.keys() != {"label_distributions"}:
            raise ValueError(
                f"its extras are {show([*header, *arrays])}, expected ['fallback', 'check', "
                "'label_distributions']"
            )
        found = arrays["label_distributions"]
        if found.dtype != np.float64 or found.ndim != 2 or found.shape[1] != len(self.classes_):
            raise ValueError(
                f"label_distributions has shape {found.shape} and type {found.dtype}, expected "
                f"float64 with {len(self.classes_)} columns"
            )
        if not ((found >= 0.0).all() and np.allclose(found.sum(axis=1), 1.0)):
            raise ValueError("label_distributions has rows that are no distributions")
        check = header["check"]
        if not isinstance(check, dict) or not check.keys() <= CHECK_FIELDS.keys():
            raise ValueError(f"check is {show(check)}, expected some of {list(CHECK_FIELDS)}")
        for name, rule in CHECK_FIELDS.items():
            if name in check:
                check_param(name, check[name], rule)
        self.fallback_ = check_param("fallback", header["fallback"], FLAG)
        self.check_ = check
        self.label_distributions_ = found
        self.transduction_ = self.classes_[found.argmax(axis=1)]


def _take_labelled(plan, codes):
    """Return the plan of those rows that have a code and take part."""
    rows = np.flatnonzero(codes >= 0)
    weight = plan.weight
    if plan.rows is not None:
        kept = codes[plan.rows] >= 0
        rows, weight = plan.rows[kept], weight[kept]
    elif weight is not None:
        weight = weight[rows]
    if len(rows) == 0:
        raise ValueError(
            "every row with a label has a weight of zero; expected a label in at least one row "
            "with a weight above zero"
        )
    target = Target(plan.target.y[rows], plan.target.classes)
    return dataclasses.replace(plan, X=plan.X[rows], target=target, rows=None, weight=weight)
