"""``co2-table1``: Table 1 and Figures 1 and 2 of the CO2 paper (Norouzi et al. 2015).

Random forest, OC1 forest and CO2 forest on nine data sets with 10, 30 and 1000 trees, grown until
leaves are pure, with entropy. The paper chose the number of candidates, nu and the learning rate
for each data set on rows set aside; here every parameter has its default. OC1 also runs where
the paper had to leave it out. The effect of nu (Figure 1) is shown by single trees on MNIST; our nu
is measured on rows brought to one unit, so that its values are not the paper's.
"""

from obtree.bench.data import load
from obtree.bench.draw import add_point, draw_lines
from obtree.bench.measure import measure_model
from obtree.bench.plan import Cell, Experiment, Limits
from obtree.bench.published import CO2_ERRORS, CO2_SHAPES, CO2_TREES
from obtree.bench.report import Table
from obtree.bench.summary import NOT_RUN, OK, Summaries, set_beside
from obtree.estimators import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.splitter import CO2Splitter

MODELS = {"axis": "Random forest", "oc1": "OC1 forest", "co2": "CO2 forest"}
CURVE = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)

# Figure 1: single trees by depth and nu, beside axis-aligned ones.
STUDY = "mnist"
STUDY_MODELS = {"co2 tree": "co2", "axis tree": "axis"}
DEPTHS = (5, 10, 15, 20)
NU = (1, 10, 100, 1_000)

# The paper trains on 500,000 rows of Covertype; the half of the set is what a stored part of it
# has room for besides rows to test.
N_TRAIN = {"covertype": 290_506}


def list_cells(plan):
    """List the forests: all sizes of one are the first trees of the largest."""
    sizes = {*plan.trees, *(n for n in CURVE if n < max(plan.trees))}
    cells = [
        Cell(data, model, seed, tuple(sorted(sizes)))
        for data in plan.only
        for seed in range(plan.seeds)
        for model in MODELS
    ]
    if STUDY in plan.only:
        for depth in DEPTHS[::2] if plan.quick else DEPTHS:
            settings = [("co2 tree", (("depth", depth), ("nu", nu))) for nu in NU]
            settings.append(("axis tree", (("depth", depth),)))
            cells += [
                Cell(STUDY, model, seed, params=params)
                for model, params in settings
                for seed in range(plan.seeds)
            ]
    return cells


def measure(cell, plan):
    """Grow one forest, or one tree of the study."""
    split = load(cell.data, cell.seed, None if plan.quick else N_TRAIN.get(cell.data))
    if cell.model in STUDY_MODELS:
        return measure_model(cell, plan, make_tree(cell), split, train=True)
    forest = ObliqueForestClassifier(
        cell.sizes[-1],
        splitter=cell.model,
        criterion="entropy",
        n_jobs=plan.n_jobs,
        random_state=cell.seed,
    )
    return measure_model(cell, plan, forest, split)


def make_tree(cell):
    """Return a tree of the study."""
    params = dict(cell.params)
    splitter = CO2Splitter(nu=params["nu"]) if "nu" in params else STUDY_MODELS[cell.model]
    return ObliqueTreeClassifier(
        splitter=splitter, criterion="entropy", max_depth=params["depth"], random_state=cell.seed
    )


def make_tables(results, plan):
    """Lay out the paper's table, and what a tree costs."""
    found = Summaries(results, plan.seeds)
    sizes = plan.trees
    columns = ["data", "training rows", *(f"{m} {n}" for m in MODELS.values() for n in sizes)]
    rows, costs = [], []
    for data, shape in CO2_SHAPES.items():
        cells = [
            set_beside(found.show(data, model, n), find_published(model, data, n))
            for model in MODELS
            for n in sizes
        ]
        rows.append([shape.title, show_rows(found, data, sizes, shape), *cells])
        costs.append([shape.title, *(show_cost(found, data, model) for model in MODELS)])
    return [
        Table(
            "errors",
            "Test error by number of trees",
            columns,
            rows,
            "Percent of wrong classes; in brackets the paper's figure, a dash where it has none. "
            f"Training rows: ours / the paper's. {found.describe_seeds()}",
        ),
        Table(
            "costs",
            "Seconds and nodes of a tree",
            ["data", *MODELS.values()],
            costs,
            "Processor seconds for growing a tree / nodes of a tree.",
        ),
        Table(
            "nu",
            "The effect of nu on single trees, MNIST (Figure 1)",
            ["tree", "depth", "nu", "test error", "training error"],
            list_study(found),
            f"Percent of wrong classes. {found.describe_seeds()}",
        ),
    ]


def list_study(found):
    """Return the rows of the study of nu."""
    rows = []
    for nu in (*NU, None):
        for depth in DEPTHS:
            model = "axis tree" if nu is None else "co2 tree"
            setting = f"depth={depth}" if nu is None else f"depth={depth} nu={nu}"
            summary = found.find(STUDY, model, 1, setting)
            if summary is not None and summary.status == OK:
                test = found.show(STUDY, model, 1, setting)
                train = found.show(STUDY, model, 1, setting, field="train_error")
                rows.append([model, str(depth), "-" if nu is None else str(nu), test, train])
    return rows


def find_published(model, data, n_trees):
    """Return the paper's figure, or None."""
    figures = CO2_ERRORS[model].get(data)
    return figures[CO2_TREES.index(n_trees)] if figures and n_trees in CO2_TREES else None


def show_rows(found, data, sizes, shape):
    """Return how many rows were trained on, beside the paper's number."""
    for model in MODELS:
        summary = found.find(data, model, sizes[0])
        if summary is not None and summary.status == OK:
            return f"{summary.mean('rows'):.0f} / {shape.n_train}"
    return f"- / {shape.n_train}"


def show_cost(found, data, model):
    """Return seconds and nodes of a tree, from the largest forest."""
    sizes, seconds = found.list_curve(data, model, "fit_s")
    if not sizes:
        return NOT_RUN
    n = max(size for size, value in zip(sizes, seconds, strict=True) if value == value)
    summary = found.find(data, model, n)
    return f"{summary.mean('fit_s') / n:.3f} / {summary.mean('nodes') / n:.0f}"


def draw(results, plan):
    """Draw error against the number of trees, and trees by depth and nu."""
    found = Summaries(results, plan.seeds)
    panels = {}
    for data, shape in CO2_SHAPES.items():
        curves = {}
        for model, label in MODELS.items():
            sizes, errors = found.list_curve(data, model, "error")
            if sizes:
                curves[label] = (sizes, [100 * error for error in errors])
        if curves:
            panels[shape.title] = curves
    paths = []
    if panels:
        path = plan.output / f"co2-table1-{plan.form}-trees.png"
        paths.append(draw_lines(path, panels, "trees", "test error, %", log_x=True))
    study = {}
    for model, depth, nu, test, train in list_study(found):
        label = "axis-aligned" if model == "axis tree" else f"nu = {nu}"
        for title, error in (("training rows", train), ("test rows", test)):
            add_point(study, f"MNIST, {title}", label, int(depth), float(error.rstrip("*")))
    if study:
        path = plan.output / f"co2-table1-{plan.form}-nu.png"
        paths.append(draw_lines(path, study, "depth", "error, %"))
    return paths


EXPERIMENT = Experiment(
    name="co2-table1",
    summary="random forest, OC1 and CO2 on nine data sets by number of trees",
    source="Norouzi, Collins, Fleet, Kohli (2015), CO2 Forest, Table 1, Figures 1 and 2",
    data=tuple(CO2_SHAPES),
    full=Limits(seeds=3, trees=CO2_TREES),
    quick=Limits(seeds=1, trees=(10, 30), rows=3_000),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
