"""Chapter 4 of the unified model: numbers, and how sure a forest is of them.

What depth and the number of trees do to the density of y given x, and where a Gaussian process
differs: it takes the noise to be the same everywhere, and there to be one answer.
"""

import functools
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from obtree.bench.chapter import Chapter, find_figure, list_first, name_picture
from obtree.bench.draw import draw_densities
from obtree.bench.plan import Cell
from obtree.bench.report import Table
from obtree.bench.toys import CURVES
from obtree.estimators import ObliqueForestRegressor

FOREST, PROCESS = "forest", "Gaussian process"
DEPTHS = (1, 3, 5)
DEPTH = 3
SIZES = (1, 8)
MAX_TREES = 200
SPANS = {"curve": ((-1.3, 1.3), (-2.2, 2.2)), "fork": ((-1.3, 1.3), (-1.5, 1.5))}
SEED = 0  # of the data


def list_cells(plan):
    """List the fits: forests by depth and by size, and the Gaussian process."""
    trees = min(plan.trees[-1], MAX_TREES)
    cells = []
    for data in (name for name in CURVES if name in plan.only):
        for seed in range(plan.seeds):
            sizes = sorted({min(size, trees) for size in SIZES})
            cells += [Cell(data, FOREST, seed, (size,), (("depth", DEPTH),)) for size in sizes]
            cells += [Cell(data, FOREST, seed, (trees,), (("depth", depth),)) for depth in DEPTHS]
            cells.append(Cell(data, PROCESS, seed))
    return cells


@functools.cache
def fit_model(data, model, trees, depth, seed):
    """Fit one model; pictures use those that were measured."""
    X, y = CURVES[data](SEED)
    if model == PROCESS:
        kernel = ConstantKernel() * RBF() + WhiteKernel(0.1)
        process = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=seed)
        with warnings.catch_warnings():
            # Where the mean is the same everywhere, all else is noise, and its size does not end.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return process.fit(X, y)
    forest = ObliqueForestRegressor(
        trees,
        splitter="axis_random",
        criterion="linear_gaussian",
        max_depth=depth,
        random_state=seed,
        n_jobs=1,
    )
    return forest.fit(X, y)


def find_density(X, y, cell):
    """Return the logarithm of the density of y at each row of X, and the predicted mean."""
    model = fit_model(
        cell.data, cell.model, cell.sizes[-1], dict(cell.params).get("depth"), cell.seed
    )
    if cell.model == FOREST:
        return model.log_prob(X, y), model.predict(X)
    mean, spread = model.predict(X, return_std=True)
    return -0.5 * ((y - mean) / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi)), mean


def measure(cell, plan):
    """Fit one model and judge it by new points."""
    X, y = CURVES[cell.data](SEED + 1)
    log_density, mean = find_density(X, y, cell)
    error = float(np.sqrt(np.mean((y - mean) ** 2)))
    return [cell.make_result(plan, error=error, extra=float(-log_density.mean()), rows=len(y))]


def make_tables(found, plan):
    """Lay out errors and densities of new points."""
    rows = [
        [
            cell.data,
            cell.model,
            str(dict(cell.params).get("depth", "-")),
            str(cell.sizes[-1]) if cell.model == FOREST else "-",
            find_figure(found, cell, "error", ".3f"),
            find_figure(found, cell, "extra", ".3f"),
        ]
        for cell in list_first(list_cells(plan))
    ]
    note = f"On as many new points: RMSE, and -log p(y | x). {found.describe_seeds()}"
    columns = ["data", "model", "depth", "trees", "RMSE", "-log density"]
    return [Table("numbers", "Numbers with their uncertainty (chapter 4)", columns, rows, note)]


def draw(plan):
    """Draw the density of y at every x."""
    panels = []
    for cell in list_first(list_cells(plan)):
        title = f"{cell.data}: {cell.model}"
        if cell.model == FOREST:
            title += f", D={dict(cell.params)['depth']}, T={cell.sizes[-1]}"
        X, y = CURVES[cell.data](SEED)
        points = np.column_stack([X[:, 0], y])
        density = functools.partial(describe_plane, cell=cell)
        panels.append((title, SPANS[cell.data], density, points))
    path = name_picture(plan, "numbers")
    return [draw_densities(path, panels, 3, connect=True)] if panels else []


def describe_plane(points, cell):
    """Return the density of y given x at points of the plane."""
    return np.exp(find_density(points[:, :1], points[:, 1], cell)[0])


CHAPTER = Chapter(tuple(CURVES), list_cells, measure, make_tables, draw)
