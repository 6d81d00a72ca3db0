"""Does a splitter keep the contract that the rest of obtree relies on?"""

import pickle
from collections.abc import Sequence

import numpy as np
import scipy.sparse
from sklearn.base import clone

from obtree.data.dataset import Dataset
from obtree.estimators import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.splitter.base import Splitter
from obtree.splitter.registry import resolve_splitter
from obtree.testing.contract import SplitterBench
from obtree.testing.growth import bind_criterion, find_differences
from obtree.testing.situations import TASKS, Task, make_situations

SEEDS = (0, 1, 2)


class ContractError(AssertionError):
    """A class does not keep obtree's contract; the message says how, and where.

    Examples
    --------
    >>> from obtree.splitter import PythonSplitter
    >>> from obtree.testing import ContractError, check_splitter
    >>> class Careless(PythonSplitter):
    ...     '''Ignores the generator it is given.'''
    ...
    ...     def split(self, X, y, sample_weight, rng):
    ...         return np.random.default_rng().normal(size=X.shape[1]), 0.0
    >>> try:
    ...     check_splitter(Careless())
    ... except ContractError:
    ...     print("refused")
    refused
    """


def check_splitter(
    splitter: str | Splitter | type[Splitter],
    *,
    tasks: Sequence[Task] = TASKS,
) -> None:
    """Test every property of a splitter that obtree relies on.

    Parameters are copied, pickled and changed; small nodes are split, of dense and sparse
    data, with missing values, constant columns, weights and several outputs; what the splitter
    reads is compared before and after; and trees and forests are grown on one thread and on
    two. Use it in the tests of a package that has a splitter.

    Parameters
    ----------
    splitter : Splitter, subclass of Splitter or str
        What one would pass as ``splitter=``. Check once for each set of parameters that makes
        a difference.
    tasks : sequence of {"classification", "regression"}
        What the splitter is made for; both unless told otherwise.

    Raises
    ------
    ContractError
        An AssertionError that says what is wrong, on which data, and what was expected.

    Examples
    --------
    >>> from obtree.testing import check_splitter
    >>> check_splitter("axis")
    """
    unknown = sorted(set(tasks) - set(TASKS))
    if unknown or not tasks:
        raise ValueError(f"tasks={tasks!r} is not valid; expected some of {TASKS}")
    splitter = resolve_splitter(splitter)
    name = type(splitter).__name__
    try:
        _check_parameters(splitter)
        _check_attributes(splitter)
        found = [_check_nodes(splitter, situation) for situation in make_situations(tasks)]
        if not any(found):
            raise ContractError("it proposed no split for any node, of all data tried")
        for task in tasks:
            _check_trees(splitter, task)
    except ContractError as error:
        raise ContractError(f"{name}: {error}") from error.__cause__
    except NotImplementedError as error:
        raise ContractError(f"{name} is not complete: {error}") from error


def _check_parameters(splitter):
    """Parameters survive copies of every kind, and threads get copies."""
    params = splitter.get_params()
    cls = type(splitter)
    copies = {
        "clone()": splitter.clone,
        "sklearn.base.clone": lambda: clone(splitter),
        "pickle": lambda: pickle.loads(pickle.dumps(splitter)),
        "set_params(**get_params())": lambda: splitter.clone().set_params(**params),
    }
    for how, copy in copies.items():
        try:
            other = copy()
        except Exception as error:
            raise ContractError(f"{how} fails with {type(error).__name__}: {error}") from error
        if other is splitter:
            raise ContractError(
                f"{how} returned the object itself; expected a new one, since every thread "
                "works in the memory of its own copy"
            )
        if type(other) is not cls:
            raise ContractError(f"{how} made a {type(other).__name__}; expected {cls.__name__}")
        for key, value in params.items():
            if not _same(value, getattr(other, key, None)):
                raise ContractError(
                    f"parameter {key!r} is {value!r}, and {getattr(other, key, None)!r} after "
                    f"{how}; expected __init__ to keep what it is given"
                )
        for key in _list_values(splitter):
            if not _same(getattr(splitter, key), getattr(other, key, None)):
                raise ContractError(
                    f"attribute {key!r} is {getattr(splitter, key)!r}, and "
                    f"{getattr(other, key, None)!r} after {how}; if it is a parameter, list it in "
                    "parameter_names (a compiled class) or among the arguments of __init__"
                )
    try:
        splitter.clone().set_params(**{"no such parameter": 1})
    except ValueError:
        pass
    else:
        raise ContractError("set_params accepts a parameter that does not exist")


def _list_values(splitter):
    """Public attributes that are plain values."""
    names = [name for name in dir(splitter) if not name.startswith("_")]
    plain = bool, int, float, str, tuple, type(None)
    return [name for name in names if isinstance(getattr(splitter, name), plain)]


def _same(one, other):
    """Whether two parameters are equal; arrays and NaN may be among them."""
    if one is other:
        return True
    try:
        return bool(np.all(one == other)) or bool(one != one and other != other)
    except (TypeError, ValueError):
        return repr(one) == repr(other)


def _check_attributes(splitter):
    """What the class says about itself is something obtree understands."""
    allowed = {
        "needs_rows": (False, True, "wide"),
        "supports_monotonic": (False, True),
        "reads_whole_nodes": (False, True),
        "max_features_unbounded": (False, True),
        "prefers_bootstrap": (False, True, "regression"),
    }
    for name, values in allowed.items():
        value = getattr(splitter, name)
        if not any(type(value) is type(known) and value == known for known in values):
            raise ContractError(f"{name} is {value!r}; expected one of {values}")
    names = splitter.counter_names
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ContractError(f"counter_names is {names!r}; expected a tuple of names")


def _check_nodes(splitter, situation):
    """Ask about several nodes; whether any could be split."""
    X = situation.X
    kept = X.copy()
    dataset = Dataset(X, keep_rows=splitter.needs_rows)
    criterion = bind_criterion(situation.criterion, situation.y)
    n = X.shape[0]
    rows = np.arange(n, dtype=np.int32)
    nodes = [rows] if n < 20 else [rows, rows[::2].copy(), rows[:5].copy()]
    found = False
    used = SplitterBench(dataset, criterion, splitter, dataset.n_features)
    for seed in SEEDS:
        fresh = SplitterBench(dataset, criterion, splitter, dataset.n_features, used)
        answers = []
        for bench in (fresh, used):
            bench.begin_tree(seed, rows, situation.weight)
            answers.append(
                [
                    _ask(bench, node, situation, seed, leaf)
                    for node in nodes
                    for leaf in (1, max(1, len(node) // 5))
                ]
            )
        if answers[0] != answers[1]:
            raise ContractError(
                f"two trees of seed {seed} are split differently ({situation.name}): everything "
                "random has to come from the generator that begin_tree is given, and nothing may "
                "be remembered from the tree before, nor written to what prepare returned"
            )
        found |= any(answer is not None for answer in answers[0])
        same = (kept != X).nnz == 0 if scipy.sparse.issparse(X) else np.array_equal(X, kept, True)
        if not same:
            raise ContractError(f"it changed X, which it may only read ({situation.name})")
    return found


def _ask(bench, rows, situation, seed, min_samples_leaf):
    """Ask about one node, check the answer, and return it in a form that can be compared."""
    where = f"({situation.name}, {len(rows)} rows, seed {seed})"
    proposal = bench.ask(rows, situation.weight, min_samples_leaf=min_samples_leaf)
    if proposal.problems:
        raise ContractError(f"{proposal.problems[0]} {where}")
    if not proposal.split:
        return None
    n_features = situation.X.shape[1]
    _check_plane(proposal, n_features, where)
    left = bench.route(rows)
    n_left, n_right = int(left.sum()), int((~left).sum())
    if min(n_left, n_right) == 0:
        hint = "" if situation.divisible else "; all rows are equal here, so that it must be LEAF"
        raise ContractError(
            f"the plane sends {n_left} rows left and {n_right} right: an empty side is no split, "
            f"return LEAF {where}{hint}"
        )
    if min(n_left, n_right) < min_samples_leaf:
        raise ContractError(
            f"the plane sends {n_left} rows left and {n_right} right, and task.limits asks for "
            f"{min_samples_leaf}: the builder would make the node a leaf {where}"
        )
    if proposal.rank_cut >= 0:
        if len(proposal.features) != 1 or proposal.weights[0] != 1.0:
            raise ContractError(
                f"rank_cut is {proposal.rank_cut} for a plane that is no axis split; expected -1 "
                f"unless there is one term of weight 1 {where}"
            )
        n_ranked = int(bench.route_by_rank(rows).sum())
        if not np.array_equal(bench.route_by_rank(rows), left):
            raise ContractError(
                f"wrong counts: rank_cut={proposal.rank_cut} sends {n_ranked} rows left and the "
                f"threshold {proposal.threshold:g} sends {n_left}; both have to send the same "
                f"rows, or rank_cut be -1 {where}"
            )
    return proposal.key()


def _check_plane(proposal, n_features, where):
    """Terms and thresholds that a tree can hold."""
    for name, features, low in (
        ("feature", proposal.features, 0),
        ("partner", proposal.partners, -1),
    ):
        for j in features:
            if not low <= j < n_features:
                raise ContractError(
                    f"{name} {j} of the plane is out of range; expected {low} to "
                    f"{n_features - 1} {where}"
                )
    bad = np.flatnonzero(~np.isfinite(proposal.weights))
    if len(bad):
        raise ContractError(
            f"the weight of feature {proposal.features[bad[0]]} is {proposal.weights[bad[0]]}; "
            f"expected finite numbers {where}"
        )
    if not np.isfinite(proposal.threshold):
        raise ContractError(
            f"the threshold is {proposal.threshold}; expected a finite number {where}"
        )
    if not proposal.lower < proposal.threshold:
        raise ContractError(
            f"plane.lower is {proposal.lower} and the threshold {proposal.threshold}; expected it "
            f"to be smaller, and minus infinity for a plain plane {where}"
        )


def _check_trees(splitter, task):
    """Trees and forests: counts are right, and threads change nothing."""
    tree, forest = (
        (ObliqueTreeClassifier, ObliqueForestClassifier)
        if task == "classification"
        else (ObliqueTreeRegressor, ObliqueForestRegressor)
    )
    for situation in make_situations([task]):
        if situation.X.shape[0] < 20:
            continue
        y = situation.y[:, 0] if situation.y.shape[1] == 1 else situation.y
        data = situation.X, y, situation.weight
        for limit in (None, 6):
            fitted = tree(splitter=splitter, max_leaf_nodes=limit, random_state=0).fit(*data)
            _check_counts(fitted.tree_, fitted.apply(situation.X), situation.name)
        grown = [
            forest(4, splitter=splitter, max_features=2, random_state=0, n_jobs=n_jobs).fit(*data)
            for n_jobs in (1, 2)
        ]
        for one, other in zip(*(model.estimators_ for model in grown), strict=True):
            if find_differences(one.tree_, other.tree_):
                raise ContractError(
                    f"a forest grown on two threads differs from one grown on one "
                    f"({situation.name}): nothing may be kept outside the object, nor be "
                    "remembered from one tree to the next"
                )


def _check_counts(tree, leaves, where):
    """Prediction sends the training rows where training did."""
    counts = np.bincount(leaves, minlength=tree.node_count)
    at_leaves = tree.children_left == -1
    if not np.array_equal(counts[at_leaves], tree.n_node_samples[at_leaves]):
        raise ContractError(
            f"prediction sends {np.abs(counts - tree.n_node_samples)[at_leaves].sum()} training "
            f"rows to other leaves than training did ({where}); projections have to be those of "
            "obtree.data.project.project_rows"
        )
