"""Chapter 6 of the unified model: surfaces that are rolled up, laid out flat."""

import functools

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import make_s_curve, make_swiss_roll
from sklearn.manifold import SpectralEmbedding

from obtree.bench.chapter import Chapter, find_figure, list_first, name_picture
from obtree.bench.draw import draw_maps
from obtree.bench.plan import Cell
from obtree.bench.report import Table
from obtree.estimators import ForestEmbedding

SURFACES = {"swiss roll": make_swiss_roll, "S-curve": make_s_curve}
FOREST, SPECTRAL = "forest embedding", "spectral embedding"
AFFINITIES = ("binary", "gaussian", "mahalanobis")
MAX_TREES = 100
N_ROWS, N_QUICK = 2000, 400
SEED = 0  # of the data


def list_cells(plan):
    """List the fits: forests by affinity, and neighbours of rows."""
    trees = min(plan.trees[-1], MAX_TREES)
    n_rows = N_QUICK if plan.quick else N_ROWS
    cells = []
    for data in (name for name in SURFACES if name in plan.only):
        for seed in range(plan.seeds):
            cells += [
                Cell(data, FOREST, seed, (trees,), (("affinity", name), ("rows", n_rows)))
                for name in AFFINITIES
            ]
            cells.append(Cell(data, SPECTRAL, seed, params=(("rows", n_rows),)))
    return cells


def make_rows(cell):
    """Return the rows of a cell and where along the surface they lie."""
    return SURFACES[cell.data](dict(cell.params)["rows"], random_state=SEED)


@functools.cache
def embed(cell):
    """Lay the rows of a cell out; pictures use what was measured."""
    X, _ = make_rows(cell)
    if cell.model == SPECTRAL:
        return SpectralEmbedding(random_state=cell.seed).fit_transform(X)
    affinity = dict(cell.params)["affinity"]
    forest = ForestEmbedding(
        n_estimators=cell.sizes[-1], affinity=affinity, random_state=cell.seed, n_jobs=1
    )
    return forest.fit_transform(X)


def measure(cell, plan):
    """Lay rows out, and see how well a coordinate follows the surface."""
    _, along = make_rows(cell)
    found = max(abs(spearmanr(column, along).statistic) for column in embed(cell).T)
    return [cell.make_result(plan, extra=float(found), rows=len(along))]


def make_tables(found, plan):
    """Lay out the correlations."""
    rows = [
        [
            cell.data,
            cell.model,
            dict(cell.params).get("affinity", "-"),
            str(cell.sizes[-1]) if cell.model == FOREST else "-",
            find_figure(found, cell, "extra", ".4f"),
        ]
        for cell in list_first(list_cells(plan))
    ]
    note = (
        "Largest absolute rank correlation of a coordinate with the position along the surface. "
        f"{found.describe_seeds()}"
    )
    columns = ["data", "model", "affinity", "trees", "correlation"]
    return [Table("manifolds", "Surfaces laid out flat (chapter 6)", columns, rows, note)]


def draw(plan):
    """Draw the surfaces and their maps."""
    panels, last = [], None
    for cell in list_first(list_cells(plan)):
        X, along = make_rows(cell)
        if cell.data != last:
            panels.append((cell.data, X, along))
            last = cell.data
        affinity = dict(cell.params).get("affinity")
        title = f"{cell.model}, {affinity}" if affinity else cell.model
        panels.append((title, np.asarray(embed(cell)), along))
    return [draw_maps(name_picture(plan, "manifolds"), panels, 5)] if panels else []


CHAPTER = Chapter(tuple(SURFACES), list_cells, measure, make_tables, draw)
