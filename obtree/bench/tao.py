"""``tao-tables``: tables and figures of Carreira-Perpinan and Zharmagambetov (2020).

Trees and forests by alternating optimisation on MNIST and Char74k beside the published ones; error
against the number of trees on MNIST and Letter; depth, iterations and trees on cpuact. Lines of the
table have the depth, the random start and the number of trees of the paper; TAO forests have no
more trees than the largest size asked for. "TAO forest" has our defaults: each tree starts from one
that was grown.
"""

from obtree.bench.data import load
from obtree.bench.draw import add_point, draw_lines
from obtree.bench.libraries import make_peer
from obtree.bench.measure import measure_model
from obtree.bench.plan import Cell, Experiment, Limits
from obtree.bench.published import TAO_FORESTS, TAO_TITLES
from obtree.bench.report import Table
from obtree.bench.summary import OK, Summaries
from obtree.estimators import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
)

OURS = ("CART", "RF", "TAO-c", "TAO-l", "TAO forest", "XGBoost")
CURVES = ("mnist", "letter")
CURVE = (1, 2, 5, 10, 20, 30, 50, 100)
STUDY = "cpuact"
DEPTHS = (3, 5, 7, 9, 11)
ITERATIONS = (1, 2, 5, 10, 20)
XGBOOST_ROUNDS = 100


def list_cells(plan):
    """List all models, the table's first."""
    cells = []
    largest = max(plan.trees)
    for data in plan.only:
        for seed in range(plan.seeds):
            for line in TAO_FORESTS:
                if line.data == data and line.model in OURS[:4]:
                    size = min(line.trees, 1000 if line.model == "RF" else largest)
                    if plan.quick:
                        size = min(size, largest)
                    cells.append(Cell(data, line.model, seed, (size,), find_params(line)))
            if data in CURVES:
                sizes = tuple(sorted({*plan.trees, *(n for n in CURVE if n < largest)}))
                cells += [Cell(data, model, seed, sizes) for model in ("RF", "TAO forest")]
                cells.append(Cell(data, "XGBoost", seed, (min(XGBOOST_ROUNDS, largest),)))
            if data == STUDY:
                depths = DEPTHS[::2] if plan.quick else DEPTHS
                iterations = ITERATIONS[::2] if plan.quick else ITERATIONS
                cells += [
                    Cell(data, "TAO forest", seed, plan.trees, (("depth", d), ("iterations", i)))
                    for d in depths
                    for i in iterations
                ]
    return cells


def find_params(line):
    """Return the parameters of a line that the paper states."""
    return (("depth", line.depth),) if line.model.startswith("TAO") else ()


def measure(cell, plan):
    """Fit one model."""
    split = load(cell.data, cell.seed)
    model = make_model(cell, plan, split.regression)
    return measure_model(cell, plan, model, split, train=cell.data in (*CURVES, STUDY))


def make_model(cell, plan, regression):
    """Return the model of a cell."""
    params = dict(cell.params)
    common = {"n_jobs": plan.n_jobs, "random_state": cell.seed}
    size = cell.sizes[-1]
    if cell.model == "CART":
        return ObliqueTreeClassifier(random_state=cell.seed)
    if cell.model == "RF":
        return ObliqueForestClassifier(size, splitter="axis", **common)
    if cell.model == "XGBoost":
        return make_peer("XGBoost", regression, size, plan.n_jobs, cell.seed)
    if cell.model == "TAO forest":
        chosen = {}
        if params:
            chosen = {"max_depth": params["depth"], "n_iter": params["iterations"]}
        forest = TAOForestRegressor if regression else TAOForestClassifier
        return forest(size, **chosen, **common)
    leaf = "linear" if cell.model == "TAO-l" else "constant"
    if size == 1:
        return TAOTreeClassifier(init="random", leaf=leaf, max_depth=params["depth"], **common)
    return TAOForestClassifier(
        size, init="random", leaf=leaf, max_depth=params["depth"], combine="vote", **common
    )


def make_tables(results, plan):
    """Lay out the published lines with ours beside them, and our defaults below."""
    found = Summaries(results, plan.seeds)
    largest = max(plan.trees)
    rows = []
    for line in TAO_FORESTS:
        ours = "-"
        if line.model in OURS[:4]:
            size = min(line.trees, 1000 if line.model == "RF" and not plan.quick else largest)
            setting = " ".join(f"{name}={value}" for name, value in find_params(line))
            ours = found.show(line.data, line.model, size, setting)
            if line.data == "imagenet":
                ours = "no data"
            elif size != line.trees and ours[:1].isdigit():
                ours = f"{ours} with {size} trees"
        rows.append(
            [TAO_TITLES[line.data], line.model, str(line.trees), str(line.depth), line.error, ours]
        )
    for data in CURVES:
        for model in ("RF", "TAO forest", "XGBoost"):
            for size in plan.trees:
                if found.find(data, model, size):
                    shown = found.show(data, model, size)
                    name = f"{model}, defaults"
                    rows.append([TAO_TITLES.get(data, data), name, str(size), "", "", shown])
    return [
        Table(
            "errors",
            "Test error of trees and forests",
            ["data", "forest", "trees", "depth", "paper", "ours"],
            rows,
            "Percent of wrong classes; a dash where we have no such method. ImageNet's features "
            f"are not at hand. {found.describe_seeds()}",
        ),
        Table(
            "cpuact",
            "Depth, iterations and trees on cpuact",
            ["depth", "iterations", "trees", "training RMSE", "test RMSE"],
            list_study(found, plan),
            f"TAO forests with constant leaves. {found.describe_seeds()}",
        ),
    ]


def list_study(found, plan):
    """Return the rows of the study on cpuact."""
    rows = []
    for depth in DEPTHS:
        for iterations in ITERATIONS:
            for size in plan.trees:
                setting = f"depth={depth} iterations={iterations}"
                summary = found.find(STUDY, "TAO forest", size, setting)
                if summary is not None and summary.status == OK:
                    errors = [f"{summary.mean(name):.4g}" for name in ("train_error", "error")]
                    rows.append([str(depth), str(iterations), str(size), *errors])
    return rows


def draw(results, plan):
    """Draw error by number of trees, and the study on cpuact."""
    found = Summaries(results, plan.seeds)
    panels = {}
    for data in CURVES:
        for model in ("RF", "TAO forest"):
            for field, suffix in (("error", ""), ("train_error", " (training)")):
                sizes, errors = found.list_curve(data, model, field)
                if sizes:
                    title = TAO_TITLES.get(data, data.capitalize())
                    curve = (sizes, [100 * error for error in errors])
                    panels.setdefault(title, {})[model + suffix] = curve
    paths = []
    if panels:
        path = plan.output / f"tao-tables-{plan.form}-trees.png"
        paths.append(draw_lines(path, panels, "trees", "error, %", log_x=True))
    study = {}
    for depth, iterations, size, train, test in list_study(found, plan):
        for suffix, value in ((" (training)", train), ("", test)):
            label = f"depth {depth}{suffix}"
            add_point(study, f"{size} trees", label, int(iterations), float(value))
    if study:
        path = plan.output / f"tao-tables-{plan.form}-cpuact.png"
        paths.append(draw_lines(path, study, "iterations", "RMSE"))
    return paths


EXPERIMENT = Experiment(
    name="tao-tables",
    summary="trees and forests by alternating optimisation",
    source="Carreira-Perpinan, Zharmagambetov (2020), Ensembles of Bagged TAO Trees, tables and "
    "figures of the slides",
    data=("mnist", "char74k", "letter", "cpuact"),
    full=Limits(seeds=3, trees=(30, 100)),
    quick=Limits(seeds=1, trees=(10,), rows=2_000),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
