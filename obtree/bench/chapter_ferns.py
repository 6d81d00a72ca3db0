"""Chapter 8 of the unified model: posteriors of ferns, whose levels have one test each."""

import functools

from obtree.bench.chapter import Chapter, find_figure, list_first, name_picture
from obtree.bench.draw import draw_posteriors
from obtree.bench.measure import measure_error
from obtree.bench.plan import Cell
from obtree.bench.report import Table
from obtree.bench.toys import SPAN, make_spirals
from obtree.estimators import FernClassifier, ObliqueForestClassifier

ARMS = "spirals by ferns"
LEARNERS = {"axis": "axis_random", "line": "random_oblique"}
FERNS, TREES = "ferns", "trees"
DEPTHS = (4, 8)
MAX_TREES = 200
SEED = 0  # of the data


def list_cells(plan):
    """List the fits: ferns and extremely randomised trees of the same depths."""
    trees = min(plan.trees[-1], MAX_TREES)
    if ARMS not in plan.only:
        return []
    return [
        Cell(ARMS, model, seed, (trees,), (("learner", learner), ("depth", depth)))
        for seed in range(plan.seeds)
        for learner in LEARNERS
        for model in (FERNS, TREES)
        for depth in DEPTHS
    ]


@functools.cache
def fit_model(cell):
    """Fit one model; pictures use those that were measured."""
    X, y = make_spirals(SEED)
    params = dict(cell.params)
    options = {"random_state": cell.seed, "n_jobs": 1}
    if cell.model == FERNS:
        splitter = LEARNERS[params["learner"]]
        ferns = FernClassifier(cell.sizes[-1], depth=params["depth"], splitter=splitter, **options)
        return ferns.fit(X, y)
    forest = ObliqueForestClassifier(
        cell.sizes[-1],
        splitter=LEARNERS[params["learner"]],
        max_depth=params["depth"],
        bootstrap=False,
        **options,
    )
    return forest.fit(X, y)


def measure(cell, plan):
    """Fit one model and judge it by new points."""
    X, y = make_spirals(SEED + 1)
    proba = fit_model(cell).predict_proba(X)
    error = measure_error(proba.argmax(axis=1), y)
    sure = float(proba.max(axis=1).mean())
    return [cell.make_result(plan, error=error, extra=sure, rows=len(y))]


def make_tables(found, plan):
    """Lay out the errors."""
    rows = [
        [
            cell.model,
            dict(cell.params)["learner"],
            str(dict(cell.params)["depth"]),
            str(cell.sizes[-1]),
            find_figure(found, cell, "error", ".2%").removesuffix("%"),
            find_figure(found, cell, "extra", ".3f"),
        ]
        for cell in list_first(list_cells(plan))
    ]
    note = f"Error on as many new points. {found.describe_seeds()}"
    columns = ["model", "weak learner", "depth", "trees", "error %", "mean confidence"]
    return [Table("ferns", "Ferns and trees (chapter 8)", columns, rows, note)]


def draw(plan):
    """Draw the posteriors."""
    X, y = make_spirals(SEED)
    panels = []
    for cell in list_first(list_cells(plan)):
        params = dict(cell.params)
        title = f"{cell.model}, {params['learner']}, D={params['depth']}"
        panels.append((title, fit_model(cell).predict_proba, X, y))
    return [draw_posteriors(name_picture(plan, "ferns"), panels, SPAN, 4)] if panels else []


CHAPTER = Chapter((ARMS,), list_cells, measure, make_tables, draw)
