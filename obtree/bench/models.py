"""Models of comparisons by name: obtree's, and those of other libraries."""

from obtree.bench.libraries import make_peer
from obtree.estimators import (
    DisjunctiveForestClassifier,
    NonGreedyForestClassifier,
    NonGreedyForestRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    TAOForestClassifier,
    TAOForestRegressor,
)

OBTREE = "obtree"  # the forest with all its defaults; others are called "obtree <name>"
FORESTS = (ObliqueForestClassifier, ObliqueForestRegressor)
REFINED = {
    "TAO": (TAOForestClassifier, TAOForestRegressor),
    "non-greedy": (NonGreedyForestClassifier, NonGreedyForestRegressor),
    "disjunctive": (DisjunctiveForestClassifier, None),
}
REFINED_TREES = 30  # each costs many greedy trees and does their work


def name_model(kind):
    """Return the name of a forest of obtree's.

    Parameters
    ----------
    kind : str
        A splitter, or a key of `REFINED`.

    Returns
    -------
    name : str
    """
    return f"{OBTREE} {kind}"


def is_refined(name):
    """Tell whether a model is one of obtree's whose trees are optimised as a whole.

    Parameters
    ----------
    name : str
        Of a model.

    Returns
    -------
    refined : bool
    """
    return name.removeprefix(f"{OBTREE} ") in REFINED


def make_model(name, regression, n_trees, n_jobs, seed):
    """Return a model, with its default parameters.

    Parameters
    ----------
    name : str
        One of `libraries.PEERS`, `OBTREE`, or what `name_model` returns.
    regression, n_trees, n_jobs, seed
        As in `libraries.make_peer`.

    Returns
    -------
    model : object
        With ``fit`` and ``predict``.
    """
    common = {"n_jobs": n_jobs, "random_state": seed}
    if name == OBTREE:
        return FORESTS[regression](n_trees, **common)
    kind = name.removeprefix(f"{OBTREE} ")
    if kind == name:
        return make_peer(name, regression, n_trees, n_jobs, seed)
    if kind in REFINED:
        return REFINED[kind][regression](n_trees, **common)
    return FORESTS[regression](n_trees, splitter=kind, **common)
