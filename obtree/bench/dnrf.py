"""``dnrf-tables``: Tables 2, 3, 4 and 6 and Figures 4 and 5 of Seyedhosseini and Tasdizen (2015).

Disjunctive normal trees and forests beside the trees and forests they start from. Two-class data
are split at random for each seed, two thirds for training; the others come with a split. The paper
chose numbers of trees, step lengths and numbers of epochs on rows set aside; here every parameter
has its default, and forests of two-class data have 100 trees.
"""

import numpy as np

from obtree.bench.data import load, load_shuffled
from obtree.bench.draw import draw_lines
from obtree.bench.measure import measure_model
from obtree.bench.plan import Cell, Experiment, Limits
from obtree.bench.published import (
    DNRF_BINARY,
    DNRF_FORESTS,
    DNRF_MULTI,
    DNRF_MULTI_ERRORS,
    DNRF_MULTI_TRAIN,
    DNRF_SECONDS,
    DNRF_TREES,
)
from obtree.bench.report import Table
from obtree.bench.summary import OK, Summaries, set_beside
from obtree.estimators import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
)
from obtree.splitter import DiscriminantSplitter

FORESTS = {
    "Random forest": ObliqueForestClassifier,
    "Rotation forest": lambda n, **options: ObliqueForestClassifier(
        n, splitter="axis", rotation="pca", **options
    ),
    "ORF-ridge": lambda n, **options: ObliqueForestClassifier(
        n, splitter=DiscriminantSplitter("ridge"), **options
    ),
    "ORF-log": lambda n, **options: ObliqueForestClassifier(
        n, splitter=DiscriminantSplitter("logistic"), **options
    ),
    "DNRF": DisjunctiveForestClassifier,
}
TREES = {"Decision tree": ObliqueTreeClassifier, "DNDT": DisjunctiveTreeClassifier}
PAIR = ("Random forest", "DNRF")
MULTI_TREES = 20  # the default of disjunctive forests

# Figures 4 and 5, on German credit: columns of noise that are added, and rows a node needs to be
# split.
STUDY = "german_numeric"
NOISE = (0, 10, 20, 30, 40, 50)
NODE_SIZES = (2, 10, 20, 50, 100)


def list_cells(plan):
    """List all models, tables first."""
    cells = []
    multi_size = min(MULTI_TREES, max(plan.trees))
    for data in plan.only:
        for seed in range(plan.seeds):
            if data in DNRF_MULTI:
                cells += [Cell(data, model, seed, (multi_size,)) for model in PAIR]
            else:
                cells += [Cell(data, model, seed) for model in TREES]
                cells += [Cell(data, model, seed, plan.trees[-1:]) for model in FORESTS]
    if STUDY in plan.only:
        settings = [("noise", n) for n in NOISE] + [("node", n) for n in NODE_SIZES]
        cells += [
            Cell(STUDY, model, seed, plan.trees[-1:], (setting,))
            for setting in (settings[:: len(NOISE) - 1] if plan.quick else settings)
            for seed in range(plan.seeds)
            for model in PAIR
        ]
    return cells


def measure(cell, plan):
    """Fit one model."""
    if cell.data in DNRF_MULTI:
        split = load(cell.data, cell.seed, DNRF_MULTI_TRAIN.get(cell.data))
    else:
        split = load_shuffled(cell.data, cell.seed, 2 / 3)
    params = dict(cell.params)
    split = add_noise(split, params.get("noise", 0), cell.seed)
    options = {"random_state": cell.seed, "min_samples_split": params.get("node", 2)}
    if cell.model in TREES:
        model = TREES[cell.model](**options)
    else:
        model = FORESTS[cell.model](cell.sizes[-1], n_jobs=plan.n_jobs, **options)
    return measure_model(cell, plan, model, split)


def add_noise(split, n_columns, seed):
    """Return a split with columns of standard normal noise added."""
    if not n_columns:
        return split
    rng = np.random.default_rng(seed)
    wider = [
        np.column_stack([X, rng.standard_normal((len(X), n_columns))])
        for X in (split.X_train, split.X_test)
    ]
    return split._replace(X_train=wider[0], X_test=wider[1])


def lay_out(found, published, titles, models, trees, **options):
    """Return rows of a table: a method each, a data set a column."""
    rows = []
    for method, figures in published.items():
        row = [method]
        for data, figure in zip(titles, figures, strict=True):
            ours = found.show(data, method, trees, **options) if method in models else "-"
            row.append(set_beside(ours, figure))
        rows.append(row)
    return rows


def make_tables(results, plan):
    """Lay out the paper's tables."""
    found = Summaries(results, plan.seeds)
    binary, multi = ["method", *DNRF_BINARY.values()], ["method", *DNRF_MULTI.values()]
    size, multi_size = plan.trees[-1], min(MULTI_TREES, max(plan.trees))
    note = (
        "Percent of wrong classes; in brackets the paper's figure, a dash where we have no such "
        "method. "
    )
    return [
        Table(
            "trees",
            "Single trees, two classes (Table 2)",
            binary,
            lay_out(found, DNRF_TREES, DNRF_BINARY, TREES, 1),
            note + found.describe_seeds("random splits"),
        ),
        Table(
            "seconds",
            "Seconds of training (Table 3)",
            binary,
            lay_out(found, DNRF_SECONDS, DNRF_BINARY, TREES, 1, field="fit_s", scale=1, digits=3),
            "Processor seconds; the paper's machine was another one.",
        ),
        Table(
            "forests",
            f"Forests of {size} trees, two classes (Table 4)",
            binary,
            lay_out(found, DNRF_FORESTS, DNRF_BINARY, FORESTS, size),
            note + found.describe_seeds("random splits"),
        ),
        Table(
            "classes",
            f"Forests of {multi_size} trees, several classes (Table 6)",
            multi,
            lay_out(found, DNRF_MULTI_ERRORS, DNRF_MULTI, PAIR, multi_size),
            note + found.describe_seeds(),
        ),
    ]


def draw(results, plan):
    """Draw the effects of noise and of the size of trees."""
    found = Summaries(results, plan.seeds)
    panels = {}
    labels = {"noise": "columns of noise added", "node": "rows a node needs to be split"}
    for name, values in (("noise", NOISE), ("node", NODE_SIZES)):
        for model in PAIR:
            points = [
                (value, 100 * summary.mean("error"))
                for value in values
                if (summary := found.find(STUDY, model, plan.trees[-1], f"{name}={value}"))
                and summary.status == OK
            ]
            if points:
                panels.setdefault(labels[name], {})[model] = tuple(zip(*points, strict=True))
    path = plan.output / f"dnrf-tables-{plan.form}-german.png"
    return [draw_lines(path, panels, "number", "test error, %")] if panels else []


EXPERIMENT = Experiment(
    name="dnrf-tables",
    summary="disjunctive normal trees and forests on twelve data sets",
    source="Seyedhosseini, Tasdizen (2015), Disjunctive normal random forests, Tables 2-6, "
    "Figures 4 and 5",
    data=(*DNRF_BINARY, *DNRF_MULTI),
    full=Limits(seeds=50, trees=(100,)),
    quick=Limits(seeds=2, trees=(10,), rows=1_500),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
