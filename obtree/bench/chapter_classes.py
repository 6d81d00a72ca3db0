"""Chapter 3 of the unified model: Figures 3.3 and 3.6 to 3.12.

Posteriors of forests on four spirals by weak learner, depth and randomness, and where the boundary
between separated classes falls. The data are made here after the paper's pictures. Tables tell
what pictures show: the error on new points, the mean of the largest posterior, and how far the
boundary is from the middle of the gap, as a fraction of its width.
"""

import functools

import numpy as np

from obtree.bench.chapter import Chapter, find_figure, list_first, name_picture
from obtree.bench.draw import draw_lines, draw_posteriors
from obtree.bench.measure import measure_error
from obtree.bench.plan import Cell
from obtree.bench.report import Table
from obtree.bench.toys import GAP, SPAN, TOYS
from obtree.bench.weak_learners import LEARNERS, RandomTests, expand
from obtree.estimators import ObliqueForestClassifier

DEPTHS = (5, 13)
RHOS = (500, 5)  # Figures 3.6 and 3.7
MARGIN_RHOS = (500, 50, 5, 2)  # Figures 3.8 and 3.9
MARGIN_DEPTH = 2
SIZES = (1, 8, 200)  # Figure 3.3
SEED = 0  # of the data


def list_cells(plan):
    """List all forests."""
    (trees,) = plan.trees[-1:]
    cells = []
    for seed in range(plan.seeds):
        if "spirals" in plan.only:
            cells += [
                _make_cell("spirals", learner, seed, trees, depth, rho)
                for rho in RHOS
                for depth in DEPTHS
                for learner in LEARNERS
            ]
            sizes = sorted({min(size, trees) for size in SIZES})
            cells += [_make_cell("spirals", "axis", seed, size, DEPTHS[0], 50) for size in sizes]
        if "gap" in plan.only:
            cells += [
                _make_cell("gap", "axis", seed, trees, MARGIN_DEPTH, rho) for rho in MARGIN_RHOS
            ]
            cells += [
                _make_cell("gap", learner, seed, trees, MARGIN_DEPTH, 50)
                for learner in LEARNERS[1:]
            ]
            cells.append(_make_cell("gap", "axis", seed, trees, MARGIN_DEPTH, 500, bagging=True))
        if "four" in plan.only:
            cells += [_make_cell("four", name, seed, trees, 3, 50) for name in LEARNERS[1:]]
    return cells


def _make_cell(data, learner, seed, trees, depth, rho, bagging=False):
    params = (("depth", depth), ("rho", rho), *((("bagging", True),) if bagging else ()))
    return Cell(data, learner, seed, (trees,), params)


@functools.cache
def fit_forest(data, learner, trees, depth, rho, bagging, seed):
    """Grow one of the paper's forests; figures use those that were measured."""
    X, y = TOYS[data](SEED)
    forest = ObliqueForestClassifier(
        trees,
        splitter=RandomTests(learner == "axis", rho),
        criterion="entropy",
        max_depth=depth,
        bootstrap=bagging,
        max_samples=0.5 if bagging else None,
        random_state=seed,
        n_jobs=1,  # Python has one thread at a time anyway
    )
    return forest.fit(expand(X, learner), y)


def predict(points, cell):
    """Return the posteriors of a cell's forest."""
    params = dict(cell.params)
    forest = fit_forest(
        cell.data,
        cell.model,
        cell.sizes[-1],
        params["depth"],
        params["rho"],
        params.get("bagging", False),
        cell.seed,
    )
    return forest.predict_proba(expand(points, cell.model))


def measure(cell, plan):
    """Grow one forest and look at it."""
    X, y = TOYS[cell.data](SEED + 1)
    proba = predict(X, cell)
    extra = find_boundary(cell) if cell.data == "gap" else float(proba.max(axis=1).mean())
    error = measure_error(proba.argmax(axis=1), y)
    return [cell.make_result(plan, error=error, extra=extra, rows=len(y))]


def read_line(cell):
    """Return the posterior of the second class along the horizontal line through the middle."""
    x = np.linspace(-SPAN, SPAN, 601)
    return x, predict(np.column_stack([x, np.zeros_like(x)]), cell)[:, 1]


def find_boundary(cell):
    """Return where the posteriors are equal, as a fraction of the gap from its middle."""
    x, proba = read_line(cell)
    above = np.flatnonzero(proba >= 0.5)
    first = above[0] if len(above) else len(x) - 1
    last = np.flatnonzero(proba <= 0.5)
    last = last[-1] if len(last) else 0
    return float((x[first] + x[last]) / 2 / GAP)


def make_tables(found, plan):
    """Lay out what the pictures show."""
    learners, margins = [], []
    for cell in list_first(list_cells(plan)):
        params = dict(cell.params)
        error = find_figure(found, cell, "error", ".2%").removesuffix("%")
        extra = find_figure(found, cell, "extra", ".3f")
        row = [cell.data, cell.model, str(params["depth"]), str(params["rho"]), str(cell.sizes[-1])]
        if cell.data == "gap":
            way = "bagging" if "bagging" in params else "node optimisation"
            margins.append([*row[1:], way, extra])
        else:
            learners.append([*row, error, extra])
    head = ["weak learner", "depth", "rho", "trees"]
    return [
        Table(
            "learners",
            "Weak learners, depth and randomness (Figures 3.3, 3.6, 3.7 and 3.11)",
            ["data", *head, "error %", "mean confidence"],
            learners,
            f"Error on as many new points. {found.describe_seeds()}",
        ),
        Table(
            "margins",
            "Where the boundary falls (Figures 3.8, 3.9, 3.10 and 3.12)",
            [*head, "randomness", "distance from the middle"],
            margins,
            "As a fraction of the gap between the classes: 0 is the maximum-margin boundary, -0.5 "
            "and 0.5 are the nearest points of the classes.",
        ),
    ]


def draw(plan):
    """Draw posteriors and their sections."""
    cells = list_first(list_cells(plan))
    paths = []
    for name, chosen, n_columns in (
        (
            "learners",
            [c for c in cells if c.data == "spirals" and dict(c.params)["rho"] in RHOS],
            3,
        ),
        ("trees", [c for c in cells if c.data == "spirals" and dict(c.params)["rho"] == 50], 3),
        ("margins", [c for c in cells if c.data == "gap" and dict(c.params)["rho"] == 50], 3),
        ("classes", [c for c in cells if c.data == "four"], 2),
    ):
        if chosen:
            panels = [describe_panel(cell) for cell in chosen]
            path = name_picture(plan, name)
            paths.append(draw_posteriors(path, panels, SPAN, n_columns))
    lines = {}
    for cell in cells:
        if cell.data == "gap" and cell.model == "axis":
            params = dict(cell.params)
            bagged = "bagging" in params
            label = "bagging" if bagged else f"rho = {params['rho']}"
            title = "bagging and node optimisation" if bagged else "randomness"
            lines.setdefault(title, {})[label] = read_line(cell)
            if params["rho"] == MARGIN_RHOS[0] and not bagged:
                other = lines.setdefault("bagging and node optimisation", {})
                other["node optimisation"] = read_line(cell)
    if lines:
        path = name_picture(plan, "sections")
        paths.append(draw_lines(path, lines, "first coordinate", "posterior of the second class"))
    return paths


def describe_panel(cell):
    """Return title, posterior and rows of a panel."""
    params = dict(cell.params)
    title = f"{cell.model}, D={params['depth']}, ρ={params['rho']}, T={cell.sizes[-1]}"
    X, y = TOYS[cell.data](SEED)
    return title, functools.partial(predict, cell=cell), X, y


CHAPTER = Chapter(tuple(TOYS), list_cells, measure, make_tables, draw)
