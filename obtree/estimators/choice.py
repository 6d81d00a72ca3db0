"""``splitter="auto"`` of a tree by itself: the setting that predicts best what trees have not seen.

A single tree cannot mix settings, and has no rows of its own to judge by. Each setting therefore
grows a tree on two thirds of the rows, three times, and predicts the others; the tree is
then grown on all rows by the setting with the least error. Besides splitters it is the size of the
leaves that is chosen: trees that end in single rows repeat the noise, and there are no others to
average it away.
"""

import dataclasses
import time

import numpy as np
from sklearn.base import clone

from obtree.estimators.oob import to_predict_layout
from obtree.estimators.params import resolve_growth_rule, resolve_leaf
from obtree.estimators.settings import Setting, list_settings, select_settings
from obtree.splitter.registry import resolve_splitter
from obtree.tree.predict import Predictor

N_FOLDS = 3

#: Most rows that settings are judged on.
MAX_ROWS = 10_000

#: In the order in which they win ties.
TREES = tuple(
    Setting(f"{splitter}{suffix}", splitter, params)
    for suffix, params in [
        ("", {}),
        (", larger leaves", {"min_samples_leaf": 5}),
        (", large leaves", {"min_samples_leaf": 15}),
    ]
    for splitter in ("axis", "discriminant", "oc1", "co2")
)


def choose_plan(estimator, plan, seed):
    """Judge the settings that a tree may have.

    Parameters
    ----------
    estimator : tree estimator
        With ``splitter`` "auto" or a list.
    plan : GrowthPlan
        Data and parameters of the tree, checked.
    seed : int
        Of the tree; everything random follows from it.

    Returns
    -------
    plan : GrowthPlan
        The same, with splitter and rules of the best setting.
    table : dict of str to list
        What was judged: a column each.
    """
    settings = list_settings(estimator, TREES)
    constrained = plan.rule.monotonic_cst is not None
    settings = select_settings(settings, estimator, plan.X, constrained, plan.categorical)
    growths = [_resolve_setting(estimator, plan, setting) for setting in settings]
    losses, seconds = np.full(len(settings), np.nan), [0.0] * len(settings)
    best = 0
    if len(settings) > 1 and plan.n_rows >= 2 * N_FOLDS:
        losses[:] = 0.0
        judged = plan.take_rows()
        unit = None if judged.target.n_classes is not None else judged.measure_spread()
        for part, X, y, weight in _split_rows(judged, seed):
            for k, growth in enumerate(growths):
                started = time.perf_counter()
                tree = dataclasses.replace(part, **growth).grow(np.array([seed], np.uint32))[0]
                values = Predictor([tree]).predict(X)
                losses[k] += np.average(_measure_loss(values, y, unit), weights=weight)
                seconds[k] += time.perf_counter() - started
        losses /= N_FOLDS
        best = int(losses.argmin())
    table = {
        "setting": [setting.name for setting in settings],
        "error": losses.tolist(),
        "fraction": [float(k == best) for k in range(len(settings))],
        "seconds": [round(spent, 4) for spent in seconds],
    }
    return dataclasses.replace(plan, **growths[best]), table


def _resolve_setting(estimator, plan, setting):
    """Return the fields of the plan that are the setting's own."""
    template = clone(estimator).set_params(**setting.params)
    template.n_features_in_ = plan.X.shape[1]
    splitter = resolve_splitter(setting.splitter)
    constraints = plan.rule.monotonic_cst
    bounded = not splitter.max_features_unbounded
    return {
        "splitter": splitter,
        "rule": resolve_growth_rule(template, plan.n_rows, constraints, bounded),
        "leaf": resolve_leaf(template, constraints),
    }


def _split_rows(plan, seed):
    """Yield a plan for two thirds of the rows, and features, targets and weights of the others."""
    order = np.random.default_rng([seed, 1]).permutation(plan.n_rows)[:MAX_ROWS]
    weight = np.ones(plan.n_rows) if plan.weight is None else plan.weight
    for k in range(N_FOLDS):
        held = np.sort(order[k::N_FOLDS])
        rows = np.setdiff1d(order, held)
        own = None if plan.weight is None else weight[rows]
        part = dataclasses.replace(plan, rows=rows, weight=own)
        yield part, to_predict_layout(plan.X[held]), plan.target.y[held], weight[held]


def _measure_loss(values, y, unit):
    """Return what is wrong of each row's classes or, with a unit, its squared error."""
    if unit is None:
        return (values.argmax(axis=2) != y).mean(axis=1)
    return (((values[:, :, 0] - y) / unit) ** 2).mean(axis=1)
