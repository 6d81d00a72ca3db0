"""Whether a rule pays: forests with it and without it, inside training rows of many tables.

    python benchmarks/rules.py --tables FOLDER --model co2 --change held_out=0
    python benchmarks/rules.py --data letter kin8nm --model co2 --change eval_steps=8 patience=99
    python benchmarks/rules.py --tables FOLDER --model tao --change l1=0.1 l1=0.001

``--model`` is a splitter, of which a forest is grown, "tao", a TAO forest, or "tree", an axis tree.
``--change`` names parameters of these; of CO2 also numbers of its policy
(``obtree/splitter/co2_policy.pxd``), which needs a build with ``-Dprobes=true``. Changes are tried
one after the other; ``a=1,b=2`` are made together.

Each ``c_*.npz`` (classes) and ``r_*.npz`` (numbers) of the folder holds ``X`` and ``y``; three
quarters of its rows, at most 4,000, are for training. Data of the papers (``--data``) have a split
of their own. Only rows for training are used, at most ``--rows`` of them: three quarters to
fit, the others to judge. Printed for each change, and for classes and numbers, is the geometric
mean over tables and seeds of the error as a multiple of that without the change, its standard
error, the same of the Brier score (numbers: of the mean squared error), which varies less, and of
the time to fit.
"""

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from accuracy import parse_setting

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOForestClassifier,
    TAOForestRegressor,
)
from obtree.bench.data import SOURCES, load
from obtree.bench.measure import measure_error
from obtree.bench.report import format_table
from obtree.splitter.registry import resolve_splitter

TABLE_ROWS = 4000  # of a table that are for training
LEAST_ERROR = 0.001  # added to the fraction of wrong classes: some tables are easy
COLUMNS = ["model", "data", "change", "error", "s.e.", "score", "s.e.", "time", "tables"]


def split_rows(n, seed):
    """Return three quarters of the rows, drawn at random, and the others.

    Parameters
    ----------
    n : int
        Number of rows.
    seed : int
        Of the draw.

    Returns
    -------
    first, rest : ndarray
    """
    order = np.random.default_rng(seed).permutation(n)
    return order[: 3 * n // 4], order[3 * n // 4 :]


def load_training(source, seed, max_rows):
    """Load the rows of a table that are for training.

    Parameters
    ----------
    source : Path or str
        A table of a folder, or data of the papers.
    seed : int
        Split of data without one of their own.
    max_rows : int
        Most rows of the latter.

    Returns
    -------
    X, y : ndarray
    """
    if not isinstance(source, Path):
        split = load(source, seed)
        return split.X_train[:max_rows], split.y_train[:max_rows]
    with np.load(source) as table:
        X, y = table["X"], table["y"]
    rows = split_rows(len(y), 1000)[0][: min(TABLE_ROWS, max_rows)]
    return X[rows], y[rows]


def make_model(model, change, regression, trees, seed):
    """Return an unfitted forest or tree.

    Parameters
    ----------
    model : str
        A splitter, "tao" or "tree".
    change : list of (str, object)
        Parameters that are not defaults.
    regression : bool
        The task.
    trees : int
        How many.
    seed : int
        Its random state.

    Returns
    -------
    forest : estimator
    """
    change = dict(change)
    if model == "tao":
        kind = TAOForestRegressor if regression else TAOForestClassifier
        return kind(trees, random_state=seed, **change)
    if model == "tree":
        kind = ObliqueTreeRegressor if regression else ObliqueTreeClassifier
        return kind(random_state=seed, **change)
    kind = ObliqueForestRegressor if regression else ObliqueForestClassifier
    forest = kind(trees, splitter="axis", random_state=seed)
    forest.set_params(**{k: change.pop(k) for k in list(change) if k in forest.get_params()})
    splitter = resolve_splitter(model)
    splitter.set_params(**{k: change.pop(k) for k in list(change) if k in splitter.get_params()})
    if change and model == "co2":
        from obtree.testing.probe_rules import ChangedCO2Splitter

        splitter = ChangedCO2Splitter(rules=change, **splitter.get_params())
    elif change:
        raise ValueError(f"{model} has no {', '.join(change)}")
    return forest.set_params(splitter=splitter)


def measure_source(job):
    """Return the error, the score and the seconds of a forest for each change.

    Parameters
    ----------
    job : tuple of (Path or str, int, argparse.Namespace)
        Data, seed, parsed arguments.

    Returns
    -------
    regression : bool
        The task.
    figures : ndarray of shape (n_changes, 3)
        The first change is none.
    """
    source, seed, args = job
    X, y = load_training(source, seed, args.rows)
    regression = is_regression(source)
    train, test = split_rows(len(y), seed)
    figures = []
    for change in [[], *args.change]:
        forest = make_model(args.model, change, regression, args.trees, seed)
        start = time.process_time()
        forest.fit(X[train], y[train])
        seconds = time.process_time() - start
        error = measure_error(forest.predict(X[test]), y[test])
        if regression:
            figures.append([error, error**2, seconds])
            continue
        is_class = y[test][:, None] == forest.classes_
        score = np.mean(np.sum((forest.predict_proba(X[test]) - is_class) ** 2, axis=1))
        figures.append([error + LEAST_ERROR, score + LEAST_ERROR, seconds])
    return regression, np.array(figures)


def is_regression(source):
    """Return whether the targets of a table are numbers.

    Parameters
    ----------
    source : Path or str
        A table of a folder, or data of the papers.

    Returns
    -------
    regression : bool
    """
    return source.name[0] == "r" if isinstance(source, Path) else SOURCES[source].regression


def parse_change(text):
    """Split ``name=value,name=value``.

    Parameters
    ----------
    text : str
        What stood on the command line.

    Returns
    -------
    change : list of (str, object)
    """
    return [parse_setting(part) for part in text.split(",")]


def describe_change(change):
    """Return the opposite of `parse_change`.

    Parameters
    ----------
    change : list of (str, object)
        What was changed.

    Returns
    -------
    text : str
    """
    return ", ".join(f"{name}={value}" for name, value in change)


def list_rows(found, args):
    """Return the lines of the table.

    Parameters
    ----------
    found : list of (bool, ndarray)
        What `measure_source` returned.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    rows : list of list of str
    """
    rows = []
    for regression in (False, True):
        logs = np.log([figures for kind, figures in found if kind == regression])
        if not len(logs):
            continue
        place = "tables" if args.tables else "papers"
        for k, change in enumerate(args.change, start=1):
            # Splits of one table are no independent witnesses.
            ratio = (logs[:, k] - logs[:, 0]).reshape(-1, args.seeds, 3).mean(axis=1)
            mean, error = np.exp(ratio.mean(axis=0)), ratio.std(axis=0) / np.sqrt(len(ratio))
            rows.append(
                [
                    args.model,
                    f"{place}, {'numbers' if regression else 'classes'}",
                    describe_change(change),
                    *(f"{mean[0]:.3f}", f"{error[0]:.3f}", f"{mean[1]:.3f}", f"{error[1]:.3f}"),
                    f"{mean[2]:.2f}",
                    str(len(ratio)),
                ]
            )
    return rows


def print_each(sources, found, args):
    """Print the error without a change and, for each change, its ratio to that.

    Parameters
    ----------
    sources : list of Path or str
        The tables.
    found : list of (bool, ndarray)
        What `measure_source` returned.
    args : argparse.Namespace
        Parsed arguments.
    """
    errors = np.log([figures[:, 0] for _, figures in found])
    errors = errors.reshape(len(sources), args.seeds, -1).mean(axis=1)
    for source, line in zip(sources, errors, strict=True):
        ratios = "".join(f"{ratio:8.3f}" for ratio in np.exp(line[1:] - line[0]))
        print(f"{getattr(source, 'stem', source):32}{np.exp(line[0]):9.4g}{ratios}")


def main():
    """Measure all changes and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--tables", type=Path, help="folder of tables")
    add("--kind", choices=["classes", "numbers"], help="of the tables; both by default")
    add("--data", nargs="+", default=[], choices=SOURCES, help="data of the papers")
    add("--model", default="co2", help="splitter, tao or tree (default: co2)")
    add("--change", nargs="+", type=parse_change, required=True, metavar="NAME=VALUE")
    add("--trees", type=int, default=50)
    add("--seeds", type=int, default=2, help="splits of the training rows (default: 2)")
    add("--rows", type=int, default=10_000, help="most rows of a table (default: 10000)")
    add("--processes", type=int, default=os.cpu_count())
    add("--each", action="store_true", help="also the errors' ratios of each table")
    add("--output", type=Path, help="CSV file to add lines to")
    args = parser.parse_args()
    if bool(args.tables) == bool(args.data):
        parser.error("expected either --tables or --data")
    sources = args.data or sorted(args.tables.glob("[cr]_*.npz"))
    if args.kind:
        sources = [name for name in sources if is_regression(name) == (args.kind == "numbers")]
    jobs = [(source, seed, args) for source in sources for seed in range(args.seeds)]
    with ProcessPoolExecutor(args.processes) as pool:
        found = list(pool.map(measure_source, jobs))
    rows = list_rows(found, args)
    print(format_table(COLUMNS, rows))
    if args.each:
        print_each(sources, found, args)
    if args.output:
        is_new = not args.output.exists()
        with args.output.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS] * is_new + rows)


if __name__ == "__main__":
    sys.exit(main())
