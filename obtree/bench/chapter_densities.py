"""Chapter 5 of the unified model: densities in the plane, and rows drawn from them.

What depth and the number of trees do to a density forest, beside a kernel density estimate and a
mixture of Gaussians whose sizes are chosen from the rows.
"""

import functools

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from obtree.bench.chapter import Chapter, find_figure, list_first, name_picture
from obtree.bench.draw import draw_densities
from obtree.bench.plan import Cell
from obtree.bench.report import Table
from obtree.bench.toys import CLOUDS, SPAN
from obtree.estimators import DensityForest

FOREST, KERNEL, MIXTURE = "density forest", "kernel density", "Gaussian mixture"
DEPTHS = (2, 4, None)
MAX_TREES = 100
MOST_PARTS = 20
N_DRAWN = 1000
SEED = 0  # of the data


def list_cells(plan):
    """List the fits: forests by depth and of one tree, and two other ways."""
    trees = min(plan.trees[-1], MAX_TREES)
    cells = []
    for data in (name for name in CLOUDS if name in plan.only):
        for seed in range(plan.seeds):
            cells.append(Cell(data, FOREST, seed, (1,), (("depth", None),)))
            cells += [Cell(data, FOREST, seed, (trees,), (("depth", depth),)) for depth in DEPTHS]
            cells += [Cell(data, model, seed) for model in (KERNEL, MIXTURE)]
    return list(dict.fromkeys(cells))


@functools.cache
def fit_model(data, model, trees, depth, seed):
    """Fit one model; pictures use those that were measured."""
    X = CLOUDS[data](SEED)
    if model == KERNEL:
        widths = {"bandwidth": np.geomspace(0.01, 1.0, 15)}
        return GridSearchCV(KernelDensity(), widths).fit(X)
    if model == MIXTURE:
        sizes = range(1, MOST_PARTS + 1)
        fits = [GaussianMixture(size, random_state=seed).fit(X) for size in sizes]
        return min(fits, key=lambda fit: fit.bic(X))
    return DensityForest(trees, max_depth=depth, truncate=True, random_state=seed, n_jobs=1).fit(X)


def find_model(cell):
    """Return the model of a cell."""
    depth = dict(cell.params).get("depth")
    return fit_model(cell.data, cell.model, cell.sizes[-1], depth, cell.seed)


def measure(cell, plan):
    """Fit one model and judge it by new points."""
    X = CLOUDS[cell.data](SEED + 1)
    loss = -np.mean(find_density(find_model(cell), X))
    return [cell.make_result(plan, extra=float(loss), rows=len(X))]


def find_density(model, X):
    """Return the logarithm of the density at each row."""
    model = getattr(model, "best_estimator_", model)
    return model.score_samples(X)


def make_tables(found, plan):
    """Lay out densities of new points."""
    rows = [
        [
            cell.data,
            cell.model,
            str(dict(cell.params).get("depth") or "-"),
            str(cell.sizes[-1]) if cell.model == FOREST else "-",
            find_figure(found, cell, "extra", ".3f"),
        ]
        for cell in list_first(list_cells(plan))
    ]
    note = (
        "On as many new points; - for the depth of a forest means that rows left out of its trees "
        f"decide. {found.describe_seeds()}"
    )
    columns = ["data", "model", "depth", "trees", "-log density"]
    return [Table("densities", "Densities in the plane (chapter 5)", columns, rows, note)]


def draw(plan):
    """Draw densities, and rows drawn from the last forest."""
    panels, span, nothing = [], ((-SPAN, SPAN), (-SPAN, SPAN)), np.empty((0, 2))
    for data in (name for name in CLOUDS if name in plan.only):
        X = CLOUDS[data](SEED)
        panels.append((f"{data}: {len(X)} rows", span, None, X))
        for cell in list_first(list_cells(plan)):
            if cell.data != data:
                continue
            model, title = find_model(cell), cell.model
            if cell.model == FOREST:
                depth = dict(cell.params)["depth"]
                title += f", T={cell.sizes[-1]}" + (f", D={depth}" if depth else "")
            density = functools.partial(describe_plane, model=model)
            panels.append((title, span, density, nothing))
            if cell.model == FOREST and cell.sizes[-1] > 1 and not depth:
                drawn = model.sample(N_DRAWN, random_state=cell.seed)
                panels.append((f"{N_DRAWN} rows drawn", span, None, drawn))
    path = name_picture(plan, "densities")
    return [draw_densities(path, panels, 4)] if panels else []


def describe_plane(points, model):
    """Return the density at points of the plane."""
    return np.exp(find_density(model, points))


CHAPTER = Chapter(tuple(CLOUDS), list_cells, measure, make_tables, draw)
