"""``peers``: our forests beside those of other libraries.

Error, size, and processor time of fit and predict, every model with its defaults and the same
number of trees (rounds, for boosting).
"""

import math

from obtree.bench.data import SOURCES, load
from obtree.bench.draw import draw_lines
from obtree.bench.libraries import PEERS, measure_size
from obtree.bench.measure import measure_model
from obtree.bench.models import REFINED, REFINED_TREES, is_refined, make_model, name_model
from obtree.bench.plan import Cell, Experiment, Limits
from obtree.bench.report import Table
from obtree.bench.summary import OK, Summaries

DATA = (
    "letter",
    "pendigits",
    "satimage",
    "optdigits",
    "spambase",
    "kin8nm",
    "cpuact",
    "elevators",
    "abalone",
    "california_housing",
    "bike_hour",
    "connect4",
    "mnist",
)
GREEDY = ("axis", "axis_random", "random_oblique", "oc1", "co2")


def list_models(regression, quick):
    """List the models of a task.

    Parameters
    ----------
    regression : bool
        The task.
    quick : bool
        Whether the slow ones are left out.

    Returns
    -------
    models : list of str
    """
    refined = [] if quick else [name for name, pair in REFINED.items() if pair[regression]]
    return [*PEERS, *map(name_model, (*GREEDY, *refined))]


def count_trees(model, plan):
    """Return the number of trees of a model."""
    return min(REFINED_TREES, plan.trees[-1]) if is_refined(model) else plan.trees[-1]


def list_cells(plan):
    """List all models on all data."""
    return [
        Cell(data, model, seed, (count_trees(model, plan),))
        for data in plan.only
        for seed in range(plan.seeds)
        for model in list_models(SOURCES[data].regression, plan.quick)
    ]


def measure(cell, plan):
    """Fit one model."""
    split = load(cell.data, cell.seed)
    (n_trees,) = cell.sizes
    model = make_model(cell.model, split.regression, n_trees, plan.n_jobs, cell.seed)
    (result,) = measure_model(cell, plan, model, split)
    figures = {"leaves": None, **measure_size(model)}
    return [result.__class__(**{**vars(result), **figures})]


def make_tables(results, plan):
    """Lay out errors by data set, then all figures of every model."""
    found = Summaries(results, plan.seeds)
    ratios = [make_ratios(found, plan, regression) for regression in (False, True)]
    return [make_errors(found, plan), *ratios, make_details(found, plan)]


def find_models(found):
    """List the models that were tried, in the usual order."""
    known = list_models(False, False)
    return [model for model in known if any(key[1] == model for key in found.groups)]


def find_data(found):
    """List the data sets that were tried, in the usual order."""
    return [data for data in DATA if any(key[0] == data for key in found.groups)]


def show_error(found, data, model, plan):
    """Return an error as percent, or as RMSE with four digits."""
    summary = found.find(data, model, count_trees(model, plan))
    regression = SOURCES[data].regression
    if summary is not None and summary.status == OK and regression:
        return f"{summary.mean('error'):.4g}{found.mark(summary)}"
    if summary is None and model not in list_models(regression, False):
        return "-"
    return found.show(data, model, count_trees(model, plan))


def make_errors(found, plan):
    """Return the table of errors."""
    models, data = find_models(found), find_data(found)
    rows = [[name, *(show_error(found, name, model, plan) for model in models)] for name in data]
    return Table(
        "errors",
        "Test errors",
        ["data", *models],
        rows,
        f"Percent of wrong classes, or root mean squared error. {plan.trees[-1]} trees or rounds "
        f"each, {REFINED_TREES} at most for TAO, non-greedy and disjunctive forests; parameters "
        f"are defaults. {found.describe_seeds()}",
    )


def make_ratios(found, plan, regression):
    """Return the table of ratios to scikit-learn's random forest, a geometric mean over data."""
    rows = []
    data = [name for name in find_data(found) if SOURCES[name].regression == regression]
    for model in find_models(found):
        pairs = [
            (found.find(name, model, count_trees(model, plan)), find_base(found, name, plan))
            for name in data
        ]
        pairs = [
            pair
            for pair in pairs
            if all(summary is not None and summary.status == OK for summary in pair)
        ]
        if pairs:
            fields = ("error", "nodes", "n_bytes", "fit_s", "predict_s")
            cells = [average_ratio(pairs, field) for field in fields]
            rows.append([model, *cells, str(len(pairs))])
    task = "regression" if regression else "classification"
    return Table(
        f"ratios-{task}",
        f"Multiples of scikit-learn's random forest, {task}",
        ["model", "error", "nodes", "bytes", "fit time", "predict time", "data sets"],
        rows,
        "Geometric means over the data sets on which both were run. Times are processor time of "
        "all threads.",
    )


def find_base(found, data, plan):
    """Return the figures of scikit-learn's random forest."""
    return found.find(data, PEERS[0], count_trees(PEERS[0], plan))


def average_ratio(pairs, field):
    """Return the geometric mean of ratios, leaving out those that nobody could measure."""
    ratios = [ours.mean(field) / max(theirs.mean(field), 1e-9) for ours, theirs in pairs]
    ratios = [ratio for ratio in ratios if ratio > 0.0]
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3g}" if ratios else "-"


def make_details(found, plan):
    """Return the table of everything."""
    rows = []
    for data in find_data(found):
        for model in find_models(found):
            size = count_trees(model, plan)
            summary = found.find(data, model, size)
            if summary is None:
                continue
            row = [data, model, str(size), show_error(found, data, model, plan)]
            if summary.status == OK:
                row += [
                    "-"
                    if summary.mean("nodes") != summary.mean("nodes")
                    else f"{summary.mean('nodes'):.0f}",
                    f"{summary.mean('n_bytes') / 1e6:.2f}",
                    f"{summary.mean('fit_s'):.2f}",
                    f"{summary.mean('predict_s'):.3f}",
                ]
            else:
                row += ["-"] * 4
            rows.append(row)
    columns = ["data", "model", "trees", "error", "nodes", "MB", "fit s", "predict s"]
    return Table("details", "All figures", columns, rows, "Seconds are processor time.")


def draw(results, plan):
    """Draw error against fit time, a panel for each data set."""
    found = Summaries(results, plan.seeds)
    panels = {}
    for data in find_data(found):
        scale = 1 if SOURCES[data].regression else 100
        for model in find_models(found):
            summary = found.find(data, model, count_trees(model, plan))
            if summary is not None and summary.status == OK:
                point = ([summary.mean("fit_s")], [scale * summary.mean("error")])
                panels.setdefault(data, {})[model] = point
    path = plan.output / f"peers-{plan.form}-time.png"
    label = "processor seconds of fit"
    return [draw_lines(path, panels, label, "error", log_x=True)] if panels else []


EXPERIMENT = Experiment(
    name="peers",
    summary="our forests beside those of other libraries",
    source="scikit-learn, LightGBM, XGBoost, CatBoost and YDF",
    data=DATA,
    full=Limits(seeds=3, trees=(100,)),
    quick=Limits(seeds=1, trees=(20,), rows=2_000),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
