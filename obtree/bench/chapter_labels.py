"""Chapter 7 of the unified model: two moons, and one label in each."""

import functools

import numpy as np
from sklearn.datasets import make_moons
from sklearn.semi_supervised import LabelSpreading

from obtree.bench.chapter import Chapter, find_figure, list_first, name_picture
from obtree.bench.draw import draw_posteriors
from obtree.bench.measure import measure_error
from obtree.bench.plan import Cell
from obtree.bench.report import Table
from obtree.estimators import ObliqueForestClassifier, SemiSupervisedForestClassifier

MOONS = "moons"
SEMI, SPREADING, SUPERVISED = "semi-supervised forest", "label spreading", "forest of two rows"
MAX_TREES = 100
N_ROWS, NOISE, SPAN = 400, 0.06, 1.8
SEED = 0  # of the data


def make_rows(seed):
    """Return rows around the middle of the plane, and their classes."""
    X, y = make_moons(N_ROWS, noise=NOISE, random_state=seed)
    return X - [0.5, 0.25], y


def hide_labels(X, y):
    """Return the classes with all but one row of each hidden: the one at its far end."""
    shown = np.full(len(y), -1)
    for label, end in ((0, X[:, 0].argmin()), (1, X[:, 0].argmax())):
        shown[end] = label
    return shown


def list_cells(plan):
    """List the fits."""
    trees = min(plan.trees[-1], MAX_TREES)
    if MOONS not in plan.only:
        return []
    return [
        Cell(MOONS, model, seed, (1 if model == SPREADING else trees,))
        for seed in range(plan.seeds)
        for model in (SEMI, SUPERVISED, SPREADING)
    ]


@functools.cache
def fit_model(cell):
    """Fit one model; pictures use those that were measured."""
    X, y = make_rows(SEED)
    shown = hide_labels(X, y)
    if cell.model == SPREADING:
        return LabelSpreading().fit(X, shown)
    options = {"n_estimators": cell.sizes[-1], "random_state": cell.seed, "n_jobs": 1}
    if cell.model == SEMI:
        return SemiSupervisedForestClassifier(**options).fit(X, shown)
    return ObliqueForestClassifier(**options).fit(X[shown >= 0], y[shown >= 0])


def measure(cell, plan):
    """Fit one model and count what it gets wrong: new rows, and those it saw without a label."""
    model = fit_model(cell)
    X, y = make_rows(SEED + 1)
    seen, truth = make_rows(SEED)
    known = getattr(model, "transduction_", None)
    known = model.predict(seen) if known is None else known
    return [
        cell.make_result(
            plan,
            error=measure_error(model.predict(X), y),
            train_error=measure_error(known, truth),
            rows=len(y),
        )
    ]


def make_tables(found, plan):
    """Lay out the errors."""
    rows = [
        [
            cell.model,
            "-" if cell.model == SPREADING else str(cell.sizes[-1]),
            find_figure(found, cell, "train_error", ".2%").removesuffix("%"),
            find_figure(found, cell, "error", ".2%").removesuffix("%"),
        ]
        for cell in list_first(list_cells(plan))
    ]
    note = f"Two labels and {N_ROWS - 2} rows without. {found.describe_seeds()}"
    columns = ["model", "trees", "error % of the rows without a label", "error % of new rows"]
    return [Table("labels", "Two moons with two labels (chapter 7)", columns, rows, note)]


def draw(plan):
    """Draw what each model makes of the plane."""
    X, y = make_rows(SEED)
    panels = [
        (cell.model, fit_model(cell).predict_proba, X, hide_labels(X, y))
        for cell in list_first(list_cells(plan))
    ]
    return [draw_posteriors(name_picture(plan, "labels"), panels, SPAN, 3)] if panels else []


CHAPTER = Chapter((MOONS,), list_cells, measure, make_tables, draw)
