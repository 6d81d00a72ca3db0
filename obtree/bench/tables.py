"""``tables``: every model at its defaults on a folder of tables nobody tuned for.

Tables may be any (see ``folder``). Each is split at random several times, and each model is fitted
to every split once. Models of one table and split follow each other, so that a machine that gets
slower or faster does so for all of them.
"""

from dataclasses import replace

import numpy as np
from scipy.stats import gmean

from obtree.bench.comparison import compare
from obtree.bench.draw import draw_ranks
from obtree.bench.folder import is_regression, load_table
from obtree.bench.measure import measure_model
from obtree.bench.models import (
    FORESTS,
    OBTREE,
    REFINED_TREES,
    is_refined,
    make_model,
    name_model,
)
from obtree.bench.plan import Cell, Experiment, Limits
from obtree.bench.ranking import count_wins, find_critical_difference, rank_models, relate_to
from obtree.bench.report import Table
from obtree.bench.summary import Summaries

BASE = "RandomForest"  # what errors and times are multiples of
SIX = (OBTREE, BASE, "ExtraTrees", "LightGBM", "XGBoost", "CatBoost")
SPLITTERS = ("axis", "axis_random", "random_oblique", "oc1", "co2", "discriminant")
MODELS = (*SIX, "YDF oblique", *map(name_model, (*SPLITTERS, "TAO")))
TREES = 100  # the default of all libraries but those below, and what YDF's forest gets
CATBOOST_ROUNDS = 1_000

OFFSET = 0.001  # of the ratios of fractions of wrong classes


def count_trees(model, regression):
    """Return the number of trees of a model, which is its default.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    regression : bool
        The task.

    Returns
    -------
    n_trees : int
    """
    if model == OBTREE:
        return FORESTS[regression]().n_estimators
    if is_refined(model):
        return REFINED_TREES
    return CATBOOST_ROUNDS if model == "CatBoost" else TREES


def list_cells(plan):
    """List all models on all tables, those of one table and split in turn."""
    return [
        Cell(data, model, seed, (count_trees(model, is_regression(data)),))
        for data in plan.only
        for seed in range(plan.seeds)
        for model in MODELS
    ]


def measure(cell, plan):
    """Fit one model; errors of regressions are fractions of the spread of the test targets."""
    split = load_table(plan.tables, cell.data, cell.seed)
    (n_trees,) = cell.sizes
    model = make_model(cell.model, split.regression, n_trees, plan.n_jobs, cell.seed)
    (result,) = measure_model(cell, plan, model, split)
    if split.regression:
        spread = float(split.y_test.std()) or 1.0  # without any, the error itself has to do
        result = replace(result, error=result.error / spread)
    return [result]


def compare_task(results, regression):
    """Compare the six, and then all models that were measured wherever these were."""
    return compare([r for r in results if is_regression(r.data) == regression], SIX, MODELS)


def make_tables(results, plan):
    """Lay out ranks and ratios among the six and among all, then the errors of every table."""
    tables = []
    for regression in (False, True):
        among_six, among_all = compare_task(results, regression)
        tables += [
            make_ranking(among_six, "six", "Among the six", regression),
            make_ranking(among_all, "all", "Among all models", regression),
        ]
    found = Summaries(results, plan.seeds)
    return [*tables, *(make_errors(found, regression) for regression in (False, True))]


def name_task(regression):
    """Return the word for a task."""
    return "regression" if regression else "classification"


def make_ranking(comparison, name, title, regression):
    """Return the table of a comparison, the model with the lowest mean rank first."""
    added = "" if regression else f", {OFFSET} being added to both"
    return Table(
        f"{name}-{name_task(regression)}",
        f"{title}, {name_task(regression)}",
        [
            "model",
            "mean rank",
            "wins",
            "error ratio",
            "worst ratio",
            "worst table",
            "fit time ratio",
            "tables",
        ],
        [] if comparison is None else list_ranking(comparison, regression),
        f"Ranks and wins are those of mean errors over splits; models that tie share ranks, and "
        f"all win. Ratios are to {BASE}: of mean errors{added}, a geometric mean over tables; of "
        f"the time that passed in fits, over tables and splits.",
    )


def list_ranking(comparison, regression):
    """Return the rows of `make_ranking`."""
    ranks, wins = rank_models(comparison.errors), count_wins(comparison.errors)
    if BASE in comparison.models:
        base = comparison.models.index(BASE)
        offset = 0.0 if regression else OFFSET
        ratios = relate_to(comparison.errors, base, offset)
        times = gmean(relate_to(comparison.seconds, base), axis=0)
    rows = []
    for k in np.argsort(ranks, kind="stable"):
        model = comparison.models[k]
        row = [model, f"{ranks[k]:.2f}", str(wins[k])]
        if BASE in comparison.models:
            worst = int(ratios[:, k].argmax())
            row += [f"{gmean(ratios[:, k]):.3f}", f"{ratios[worst, k]:.3f}"]
            row += ["-" if model == BASE else comparison.tables[worst], f"{times[k]:.3g}"]
        else:
            row += ["-"] * 4
        rows.append([*row, str(len(comparison.tables))])
    return rows


def make_errors(found, regression):
    """Return the table of the errors of every model on every table."""
    tried = {(data, model) for data, model, *_ in found.groups if is_regression(data) == regression}
    models = [name for name in MODELS if any(model == name for _, model in tried)]
    layout = {"scale": 1.0, "digits": 4} if regression else {}
    rows = [
        [
            data,
            *(found.show(data, name, count_trees(name, regression), **layout) for name in models),
        ]
        for data in sorted({data for data, _ in tried})
    ]
    what = (
        "Root mean squared error over the standard deviation of the test targets"
        if regression
        else "Percent of wrong classes"
    )
    return Table(
        f"errors-{name_task(regression)}",
        f"Test errors, {name_task(regression)}",
        ["data", *models],
        rows,
        f"{what}. {found.describe_seeds('splits')}",
    )


def draw(results, plan):
    """Draw mean ranks and the differences that may be chance, a picture for each task."""
    paths = []
    for regression in (False, True):
        panels = {}
        for title, comparison in zip(
            ("the six", "all models"), compare_task(results, regression), strict=True
        ):
            if comparison is not None and len(comparison.models) > 1:
                size = (len(comparison.models), len(comparison.tables))
                ranks = dict(zip(comparison.models, rank_models(comparison.errors), strict=True))
                label = f"{name_task(regression)}, {title}: mean ranks on {size[1]} tables"
                panels[label] = (ranks, find_critical_difference(*size))
        if panels:
            path = plan.output / f"tables-{plan.form}-ranks-{name_task(regression)}.png"
            paths.append(draw_ranks(path, panels))
    return paths


EXPERIMENT = Experiment(
    name="tables",
    summary="every model at its defaults on a folder of tables",
    source="obtree, scikit-learn, LightGBM, XGBoost, CatBoost and YDF",
    data=None,
    full=Limits(seeds=5, trees=None),
    quick=Limits(seeds=1, trees=None, rows=1_000),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
