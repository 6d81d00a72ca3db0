"""What ``splitter="auto"`` chooses from: ways to grow the trees of a forest.

A setting is a splitter with parameters of the tree, a way to draw its rows, and whether its planes
draw features by relevance or are refined as a whole. Settings vary only what the user left at its
default, and only those take part that can do what the data and the other parameters ask for. Which
ones stand here, and what was tried besides, is told in the benchmarks of the documentation.
"""

import dataclasses

from sklearn.base import clone

from obtree.core.names import show
from obtree.core.params import refuse_param
from obtree.estimators.sampling import RowSample, count_subsample
from obtree.splitter.axis import AxisSplitter, OneCategorySplitter
from obtree.splitter.base import Splitter
from obtree.splitter.registry import name_splitter, resolve_splitter

AUTO = "auto"

#: Columns, and values of X, up to which settings take part that look at all features in every
#: node or, as refined ones do, keep the rows of each tree in full, whether X is sparse or not.
MANY_FEATURES = 1000
MANY_VALUES = 2**27


@dataclasses.dataclass(frozen=True)
class Setting:
    """One way to grow trees.

    Parameters
    ----------
    name : str
        What the table of the race calls it.
    splitter : str or Splitter
        Proposes the splits.
    params : dict
        Parameters of the tree, in place of the forest's.
    replace : bool
        Whether rows are drawn with replacement (bootstrap), or a part of them without.
    relevant : bool
        Whether features are drawn by their relevance.
    refined : bool
        Whether trees are refined by alternating optimisation.
    strength : float
        How many times what a first forest lacks is added to the targets; see ``sharpen.py``.
    min_features : int
        Columns that X has at least for the setting to take part.
    cost : float
        By which fraction of the least error it has to be better than the cheapest to be worth
        its time.
    """

    name: str
    splitter: str | Splitter
    params: dict = dataclasses.field(default_factory=dict)
    replace: bool = False
    relevant: bool = False
    refined: bool = False
    strength: float = 0.0
    min_features: int = 0
    cost: float = 0.0

    def sample_rows(self, n_rows, bootstrap, max_draws):
        """Return how the rows of a tree are drawn.

        Parameters
        ----------
        n_rows : int
            Rows to draw from.
        bootstrap : bool or "auto"
            Whether to draw with replacement; "auto" leaves it to the setting.
        max_draws : int
            Most rows to draw.

        Returns
        -------
        sample : RowSample
        """
        replace = self.replace if bootstrap == AUTO else bool(bootstrap)
        n_draws = n_rows if replace else count_subsample(n_rows)
        return RowSample(min(n_draws, max_draws), replace)


#: In the order in which they win ties; the first one is taken where nothing can be judged.
CLASSIFICATION = (
    Setting("axis", "axis", replace=True),
    Setting("axis, entropy", "axis", {"criterion": "entropy"}, replace=True),
    Setting("axis, all features", "axis", {"max_features": None}, replace=True),
    Setting("discriminant", "discriminant", cost=0.003),
    Setting("discriminant, entropy", "discriminant", {"criterion": "entropy"}, cost=0.003),
    Setting("discriminant, all features", "discriminant", {"max_features": None}, cost=0.004),
    Setting(
        "discriminant, all features, entropy",
        "discriminant",
        {"max_features": None, "criterion": "entropy"},
        cost=0.004,
    ),
    Setting("random_oblique", "random_oblique"),
    # With few features planes that are fitted find as much in a third of the time.
    Setting("co2", "co2", min_features=16, cost=0.01),
    # Where classes overlap, small leaves repeat chance.
    Setting("axis, larger leaves", "axis", {"min_samples_leaf": 5}, replace=True),
    Setting("discriminant, larger leaves", "discriminant", {"min_samples_leaf": 5}, cost=0.003),
    Setting("axis, large leaves", "axis", {"min_samples_leaf": 15}, replace=True),
    Setting("discriminant, large leaves", "discriminant", {"min_samples_leaf": 15}, cost=0.003),
    Setting("axis, one category at a time", OneCategorySplitter(), replace=True),
)

_THIRD = {"max_features": 1 / 3}

REGRESSION = (
    Setting("axis", "axis", replace=True),
    Setting("axis, third of the features", "axis", _THIRD, replace=True),
    Setting("random_oblique", "random_oblique", replace=True),
    Setting("random_oblique, relevant features", "random_oblique", replace=True, relevant=True),
    Setting("random_oblique, relevant features, no bootstrap", "random_oblique", relevant=True),
    Setting("discriminant", "discriminant", _THIRD, replace=True, cost=0.003),
    Setting("co2, no bootstrap", "co2", cost=0.01),
    Setting("co2, relevant features", "co2", replace=True, relevant=True, cost=0.01),
    Setting("co2, relevant features, no bootstrap", "co2", relevant=True, cost=0.01),
    Setting(
        "TAO, relevant features",
        "axis",
        {"max_depth": 10, "min_samples_leaf": 5, "max_features": "sqrt", "n_iter": 3},
        relevant=True,
        refined=True,
        cost=0.015,
    ),
    # Where y is noisy, small leaves repeat the noise.
    Setting("axis, larger leaves", "axis", {**_THIRD, "min_samples_leaf": 5}, replace=True),
    Setting(
        "random_oblique, larger leaves", "random_oblique", {"min_samples_leaf": 5}, replace=True
    ),
    Setting(
        "discriminant, larger leaves",
        "discriminant",
        {**_THIRD, "min_samples_leaf": 5},
        replace=True,
        cost=0.003,
    ),
    Setting("axis, one category at a time", OneCategorySplitter(), replace=True),
    Setting(
        "axis, one category at a time, larger leaves",
        OneCategorySplitter(),
        {"min_samples_leaf": 5},
        replace=True,
    ),
)

#: What "auto" stands for where leaves are lines with Gaussian noise: a race is won by the least
#: squared error, and what is wanted are distributions.
LINEAR_GAUSSIAN = (Setting("random_oblique", "random_oblique"),)

#: Parameters of the forest with which refined trees cannot be grown, unless they are defaults.
NOT_REFINED = (
    "min_samples_split",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
    "rotation",
    "leaf",
    "leaf_l2",
)


def is_race(splitter):
    """Tell whether a parameter asks for a choice among settings.

    Parameters
    ----------
    splitter : object
        What the user gave.

    Returns
    -------
    bool
    """
    return isinstance(splitter, (list, tuple)) or (isinstance(splitter, str) and splitter == AUTO)


def is_auto(splitter):
    """Tell whether a parameter asks for a choice among the settings that are known.

    Parameters
    ----------
    splitter : object
        What the user gave.

    Returns
    -------
    bool
    """
    given = [splitter] if isinstance(splitter, str) else splitter
    return is_race(splitter) and any(isinstance(item, str) and item == AUTO for item in given)


def list_settings(estimator, known):
    """Return the settings that the user named.

    Parameters
    ----------
    estimator : forest or tree
        With ``splitter`` "auto", or a list of "auto", names, classes and splitters.
    known : tuple of Setting
        What "auto" stands for.

    Returns
    -------
    settings : list of Setting
    """
    given = estimator.splitter
    if isinstance(given, str):
        return list(known)
    if not given:
        refuse_param("splitter", given, expected="a splitter, 'auto', or a list of such")
    settings = []
    for item in given:
        if isinstance(item, str) and item == AUTO:
            settings += known
            continue
        splitter = resolve_splitter(item)
        name = item if isinstance(item, str) else name_splitter(type(splitter)) or show(splitter)
        wanted = splitter.prefers_bootstrap
        replace = not hasattr(estimator, "class_weight") if wanted == "regression" else wanted
        settings.append(Setting(name, clone(splitter, safe=False), replace=bool(replace)))
    return settings


def select_settings(settings, estimator, X, constrained=False, categorical=None):
    """Return the settings that can do what is asked for.

    Parameters
    ----------
    settings : list of Setting
        Result of `list_settings`.
    estimator : forest or tree
        Its other parameters count.
    X : ndarray or sparse matrix
        Features.
    constrained : bool, default=False
        Whether some feature has a monotonic constraint.
    categorical : ndarray of bool, shape (n_features,), optional
        Which features are categories.

    Returns
    -------
    settings : list of Setting
        At least one.
    """
    changed = list_changed(estimator)
    facts = {
        "other criterion": "criterion" in changed,
        "constrained": constrained,
        "categories": categorical is not None,
        "no categories": categorical is None,
        "many values": X.shape[0] * X.shape[1] > MANY_VALUES,
        "one feature": X.shape[1] == 1,
        "many features": X.shape[1] > MANY_FEATURES,
    }
    asked = {name for name, holds in facts.items() if holds}
    relevance = getattr(estimator, "relevance", AUTO)
    if relevance != AUTO:
        settings = _set_relevance(settings, relevance)
    chosen = [
        setting
        for setting in settings
        if not changed & setting.params.keys()
        and not (setting.refined and changed.intersection(NOT_REFINED))
        and not asked & _list_limits(setting)
        and X.shape[1] >= setting.min_features
    ]
    return chosen or settings[:1]


def list_changed(estimator):
    """Return the names of the parameters that are not at their defaults.

    Parameters
    ----------
    estimator : estimator object

    Returns
    -------
    names : set of str
    """
    defaults = type(estimator)().get_params(deep=False)
    return {
        name
        for name, value in estimator.get_params(deep=False).items()
        if name in defaults and not _is_same(value, defaults[name])
    }


def _set_relevance(settings, relevant):
    """Let all settings draw features by relevance, or none; those that become twins are one."""
    found = {}
    for setting in settings:
        same = dataclasses.replace(setting, relevant=relevant)
        key = same.splitter, str(same.params), same.replace, same.refined
        found.setdefault(key, same)
    return list(found.values())


def _list_limits(setting):
    """Return what a setting is no good for."""
    splitter = resolve_splitter(setting.splitter)
    limits = set()
    if setting.refined:
        limits |= {"many features", "many values", "other criterion", "categories"}
    if isinstance(splitter, OneCategorySplitter):
        limits.add("no categories")
    if "leaf" in setting.params:
        limits |= {"constrained", "other criterion"}
    if setting.refined or not isinstance(splitter, AxisSplitter):
        limits.add("one feature")
    if not splitter.supports_monotonic or setting.refined:
        limits.add("constrained")
    if setting.params.get("max_features", "") is None:
        limits.add("many features")
    return limits


def _is_same(value, default):
    """Tell whether a parameter has its default; arrays never do."""
    return value is default or (type(value) is type(default) and value == default)
