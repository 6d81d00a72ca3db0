"""``nongreedy-figures``: Figures 2, 3 and 4 of Norouzi et al. (2015), Efficient Non-greedy
Optimization of Decision Trees.

Accuracy of single trees against their depth, for axis-aligned, OC1, random oblique, CO2 and
non-greedy trees; the effect of nu on leaves and accuracy; seconds of an epoch against depth for
both kinds of inference. The paper tunes nu and the step for each depth and starts from axis-aligned
trees by way of CO2; here trees start from CO2 and parameters are defaults. Our nu is measured on
rows brought to one unit, so that its values are not the paper's.
"""

from obtree.bench.data import load
from obtree.bench.draw import add_point, draw_lines
from obtree.bench.measure import measure_model, time_call
from obtree.bench.plan import Cell, Experiment, Limits
from obtree.bench.report import Table
from obtree.bench.summary import NOT_RUN, OK, Summaries
from obtree.estimators import NonGreedyTreeClassifier, ObliqueTreeClassifier

TITLES = {"sensit": "SensIT", "connect4": "Connect4", "protein": "Protein", "mnist": "MNIST"}
GREEDY = {"axis": "axis-aligned", "random_oblique": "random", "oc1": "OC1", "co2": "CO2"}
NONGREEDY = "non-greedy"
DEPTHS = (6, 8, 10, 12, 14, 16, 18)
QUICK_DEPTHS = (6, 10, 14)
NU_DATA = "mnist"
NU_DEPTHS = (10, 13, 16)
NU = (20, 60, 200, 600, 2_000, 6_000, 20_000)
TIME_DATA = "connect4"
INFERENCE = ("fast", "full")
N_EPOCHS = 4  # that are timed
REPEATS = 3


def list_cells(plan):
    """List all trees, figure by figure."""
    depths = QUICK_DEPTHS if plan.quick else DEPTHS
    seeds = range(plan.seeds)
    cells = [
        Cell(data, model, seed, params=(("depth", depth),))
        for data in plan.only
        for depth in depths
        for seed in seeds
        for model in (*GREEDY, NONGREEDY)
    ]
    if NU_DATA in plan.only:
        cells += [
            Cell(NU_DATA, NONGREEDY, seed, params=(("depth", depth), ("nu", nu)))
            for depth in (NU_DEPTHS[:1] if plan.quick else NU_DEPTHS)
            for nu in (NU[::2] if plan.quick else NU)
            for seed in seeds
        ]
    if TIME_DATA in plan.only:
        cells += [
            Cell(TIME_DATA, inference, 0, params=(("depth", depth), ("time", "epoch")))
            for depth in depths
            for inference in INFERENCE
        ]
    return cells


def measure(cell, plan):
    """Fit one tree, or time epochs of one."""
    split = load(cell.data, cell.seed)
    params = dict(cell.params)
    depth = params["depth"]
    if "time" in params:
        return [time_epoch(cell, plan, plan.shorten(split), depth)]
    if cell.model == NONGREEDY:
        chosen = {"nu": params["nu"]} if "nu" in params else {}
        tree = NonGreedyTreeClassifier(
            max_depth=depth, n_jobs=plan.n_jobs, random_state=cell.seed, **chosen
        )
    else:
        tree = make_greedy(cell.model, depth, cell.seed)
    return measure_model(cell, plan, tree, split, train=True)


def make_greedy(splitter, depth, seed):
    """Return a greedy tree of the paper's kind."""
    return ObliqueTreeClassifier(
        splitter=splitter, criterion="entropy", max_depth=depth, random_state=seed
    )


def time_epoch(cell, plan, split, depth):
    """Return the seconds of an epoch: those of a fit with some less those of one with none."""
    X, y = split.X_train, split.y_train
    start = make_greedy("co2", depth, cell.seed).fit(X, y)

    def time_fit(n_epochs):
        tree = NonGreedyTreeClassifier(
            init=start, inference=cell.model, n_epochs=n_epochs, n_jobs=1, random_state=0
        )
        return time_call(lambda: tree.fit(X, y)).processor

    seconds = min(time_fit(N_EPOCHS) - time_fit(0) for _ in range(REPEATS)) / N_EPOCHS
    return cell.make_result(plan, rows=len(y), leaves=start.get_n_leaves(), extra=seconds)


def make_tables(results, plan):
    """Lay out what the figures show."""
    found = Summaries(results, plan.seeds)
    return [make_accuracy(found, plan), make_nu(found), make_times(found)]


def make_accuracy(found, plan):
    """Return the table of accuracies by depth."""
    rows = []
    for data, title in TITLES.items():
        depths = QUICK_DEPTHS if plan.quick else DEPTHS
        for depth in depths:
            cells = []
            for model in (*GREEDY, NONGREEDY):
                summary = found.find(data, model, 1, f"depth={depth}")
                if summary is None or summary.status != OK:
                    cells.append(NOT_RUN if summary is None else summary.status)
                    continue
                test, train = (100 - 100 * summary.mean(f) for f in ("error", "train_error"))
                cells.append(f"{test:.2f} / {train:.2f}{found.mark(summary)}")
            rows.append([title, str(depth), *cells])
    return Table(
        "accuracy",
        "Accuracy by depth",
        ["data", "depth", *GREEDY.values(), NONGREEDY],
        rows,
        f"Percent of right classes, test / training rows. {found.describe_seeds()}",
    )


def make_nu(found):
    """Return the table of the effect of nu."""
    rows = []
    for depth in NU_DEPTHS:
        for nu in NU:
            summary = found.find(NU_DATA, NONGREEDY, 1, f"depth={depth} nu={nu}")
            if summary is not None and summary.status == OK:
                test, train = (100 - 100 * summary.mean(f) for f in ("error", "train_error"))
                leaves = f"{summary.mean('leaves'):.0f}"
                rows.append(
                    [
                        str(depth),
                        str(nu),
                        leaves,
                        f"{test:.2f}{found.mark(summary)}",
                        f"{train:.2f}",
                    ]
                )
    return Table(
        "nu",
        "The effect of nu on MNIST",
        ["depth", "nu", "active leaves", "test accuracy", "training accuracy"],
        rows,
        f"Active leaves: those that a training row reaches in the end. {found.describe_seeds()}",
    )


def make_times(found):
    """Return the table of seconds by depth."""
    rows = []
    for depth in DEPTHS:
        cells = []
        for inference in INFERENCE:
            summary = found.find(TIME_DATA, inference, 1, f"depth={depth} time=epoch")
            if summary is None or summary.status != OK:
                break
            cells.append(f"{summary.mean('extra'):.3f}")
            leaves, n_rows = (f"{summary.mean(name):.0f}" for name in ("leaves", "rows"))
        else:
            rows.append([str(depth), leaves, n_rows, *cells])
    return Table(
        "seconds",
        "Seconds of an epoch on Connect4",
        ["depth", "leaves", "rows", *INFERENCE],
        rows,
        "Processor time, one thread.",
    )


def draw(results, plan):
    """Draw the three figures."""
    found = Summaries(results, plan.seeds)
    stem = f"nongreedy-figures-{plan.form}"
    accuracy, nu, times = {}, {}, {}
    for (data, model, setting, _), summary in sorted(found.groups.items(), key=_read_depth):
        if summary.status != OK:
            continue
        params = dict(part.split("=") for part in setting.split())
        depth = int(params["depth"])
        if "time" in params:
            add_point(times, "Connect4", model, depth, summary.mean("extra"))
        elif "nu" in params:
            title = f"depth {depth}"
            add_point(nu, f"{title}: accuracy, %", "test", float(params["nu"]), _accuracy(summary))
            add_point(
                nu, f"{title}: active leaves", "leaves", float(params["nu"]), summary.mean("leaves")
            )
        else:
            label = GREEDY.get(model, model)
            add_point(accuracy, TITLES[data], label, depth, _accuracy(summary))
            training = 100 - 100 * summary.mean("train_error")
            add_point(accuracy, TITLES[data], f"{label} (training)", depth, training)
    paths = []
    for name, panels, x_label, y_label, logs in (
        ("depth", accuracy, "depth", "accuracy, %", {}),
        ("nu", nu, "nu", "", {"log_x": True}),
        ("seconds", times, "depth", "seconds of an epoch", {"log_y": True}),
    ):
        if panels:
            path = plan.output / f"{stem}-{name}.png"
            paths.append(draw_lines(path, panels, x_label, y_label, **logs))
    return paths


def _read_depth(item):
    """Order settings by their numbers, not by their text."""
    (data, model, setting, _), _ = item
    parts = dict(part.split("=") for part in setting.split())
    return data, model, int(parts["depth"]), float(parts.get("nu", 0))


def _accuracy(summary):
    """Return the percent of right classes among test rows."""
    return 100 - 100 * summary.mean("error")


EXPERIMENT = Experiment(
    name="nongreedy-figures",
    summary="single trees by depth, the effect of nu, time by depth",
    source="Norouzi, Collins, Johnson, Fleet, Kohli (2015), Efficient Non-greedy Optimization of "
    "Decision Trees, Figures 2, 3 and 4",
    data=tuple(TITLES),
    full=Limits(seeds=3, trees=None),
    quick=Limits(seeds=1, trees=None, rows=3_000),
    list_cells=list_cells,
    measure=measure,
    make_tables=make_tables,
    draw=draw,
)
