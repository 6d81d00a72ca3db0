"""Whether a constant of density forests pays: with it and without it, inside training rows only.

    python benchmarks/density_rules.py --tables FOLDER --change RACE_TREES=10 max_samples=0.8
    python benchmarks/density_rules.py --shapes moons heaps5 --change RACERS=axis+sign SURE=1
    python benchmarks/density_rules.py --data kin8nm abalone --change RANDOM_CANDIDATES=1

``--change`` names parameters of `DensityForest`, and in capitals constants of
``obtree/estimators/density.py`` and the ``density_*.py`` beside it. ``RACERS`` are some of "axis",
"sign", "gaussian" and "rotated", with "+" between them, as between the numbers of
``RACE_SHRINKAGES`` and ``REFINED_SHRINKAGES``. Changes are tried one after the other; ``a=1,b=2``
are made together.

Rows of tables are taken as in ``rules.py``: those for training, at most ``--rows`` of them, three
quarters to fit and the others to judge. Of their columns those are used that lack no values and
have a hundred different ones, or a fifth as many as there are rows: others have no density. Tables
with fewer than two such columns, or more than ``--columns``, are left out. Shapes are drawn anew
for each seed.
A change is judged by the mean log density of rows held out. Printed are the median over tables and
shapes of its rise, the mean of rises cut off at half a nat either way, with the standard error of
that, on how many the rise or the fall is more than 0.01, and the geometric mean of the ratio of
times.
"""

import argparse
import csv
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
from density import COVARIANCES, draw_spirals, score_kernels, score_mixtures
from rules import describe_change, load_training, parse_change, split_rows
from sklearn.datasets import make_circles, make_moons, make_swiss_roll

from obtree import DensityForest
from obtree.bench.data import SOURCES
from obtree.bench.report import format_table
from obtree.estimators import density, density_mixture, density_race, density_trees
from obtree.splitter import AxisSplitter, RandomObliqueSplitter, RotationSplitter

COLUMNS = ["change", "median", "mean, cut", "s.e.", "better", "worse", "time", "tables"]
HOMES = (density, density_mixture, density_race, density_trees)
LISTS = {"RACE_SHRINKAGES": int, "REFINED_SHRINKAGES": float}
LEAST_VALUES, LEAST_SHARE = 100, 0.2
#: Rises smaller than this are none, larger ones than that count as that: columns with few
#: different values give any number of nats.
SAME, MOST = 0.01, 0.5
RACERS = {
    "axis": "axis",
    "sign": "random_oblique",
    "gaussian": RandomObliqueSplitter(weights="gaussian", feature_combinations=4.0),
    "rotated": RotationSplitter(AxisSplitter(), group_size=64),
}


def draw_heaps(n_rows, rng, d, n_heaps, spread):
    """Gaussians of all shapes."""
    middle = spread * rng.normal(size=(n_heaps, d))
    factor = 0.5 * rng.normal(size=(n_heaps, d, d))
    heap = rng.integers(0, n_heaps, n_rows)
    return middle[heap] + np.einsum("nij,nj->ni", factor[heap], rng.normal(size=(n_rows, d)))


def draw_skewed(n_rows, rng):
    """Log-normal columns, each correlated with the one before it."""
    z = rng.normal(size=(n_rows, 6))
    z[:, 1:] += 0.6 * z[:, :-1]
    return np.exp(0.5 * z)


def draw_arms(n_rows, rng):
    """Five bent arms of different widths."""
    arm, place = rng.integers(0, 5, n_rows), rng.random(n_rows)
    angle = 2 * np.pi * arm / 5 + 1.5 * place
    rows = (1 + 4 * place)[:, np.newaxis] * np.column_stack([np.cos(angle), np.sin(angle)])
    return rows + 0.1 * (1 + arm)[:, np.newaxis] * rng.normal(size=(n_rows, 2))


SHAPES = {
    "spirals": draw_spirals,
    "arms": draw_arms,
    "moons": lambda n, rng: make_moons(n, noise=0.12, random_state=int(rng.integers(2**31)))[0],
    "circles": lambda n, rng: make_circles(
        n, noise=0.08, factor=0.5, random_state=int(rng.integers(2**31))
    )[0],
    "roll": lambda n, rng: make_swiss_roll(n, noise=0.4, random_state=int(rng.integers(2**31)))[0],
    "heaps5": lambda n, rng: draw_heaps(n, rng, 5, 6, 2.0),
    "heaps12": lambda n, rng: draw_heaps(n, rng, 12, 4, 1.2),
    "tails": lambda n, rng: rng.standard_t(4, size=(n, 4)) @ rng.normal(size=(4, 4)),
    "skewed": draw_skewed,
}


def load_rows(source, seed, args):
    """Return standardised rows to fit and rows to judge, None if there are not enough columns."""
    if source in SHAPES:
        X = SHAPES[source](args.rows, np.random.default_rng([1000 + seed, *source.encode()]))
    else:
        X = np.asarray(load_training(source, seed, args.rows)[0], dtype=np.float64)
        least = min(LEAST_VALUES, LEAST_SHARE * len(X))
        X = X[:, [not np.isnan(x).any() and len(np.unique(x)) >= least for x in X.T]]
    if not 2 <= X.shape[1] <= args.columns:
        return None
    train, test = (X[rows] for rows in split_rows(len(X), seed))
    scale = train.std(axis=0)
    scale[scale == 0] = 1
    return (train - train.mean(axis=0)) / scale, (test - train.mean(axis=0)) / scale


def measure_change(change, rows, seed, n_trees):
    """Return the mean log density of rows held out, and the seconds of the fit."""
    train, test = rows
    params = {name: value for name, value in change if not name.isupper()}
    with ExitStack() as stack:
        for name, value in change:
            if name.isupper():
                homes = [module for module in HOMES if hasattr(module, name)]
                if name == "RACERS":
                    value = tuple(RACERS[racer] for racer in value.split("+"))
                elif name in LISTS:
                    value = tuple(LISTS[name](part) for part in str(value).split("+"))
                for home in homes:
                    stack.enter_context(mock.patch.object(home, name, value))
        start = time.process_time()
        forest = DensityForest(n_trees, random_state=seed, **params).fit(train)
        seconds = time.process_time() - start
        return forest.score(test), seconds


def measure_source(source, args):
    """Return the log densities and the seconds, (n_changes, 2), the first change being none."""
    found = []
    for seed in range(args.seeds):
        rows = load_rows(source, seed, args)
        if rows is None:
            return None
        found.append([measure_change(c, rows, seed, args.trees) for c in [[], *args.change]])
        if args.peers:
            figures = (found[-1][0][0], score_kernels(*rows), score_mixtures(*rows, COVARIANCES))
            text = "".join(f"{figure:10.3f}" for figure in figures)
            print(f"{getattr(source, 'stem', source):32}{text}", flush=True)
    found = np.array(found)
    return np.stack([found[..., 0].mean(axis=0), np.exp(np.log(found[..., 1]).mean(axis=0))], 1)


def list_rows(found, args):
    """Return the lines of the table."""
    rows = []
    for k, change in enumerate(args.change, start=1):
        rise = np.array([figures[k, 0] - figures[0, 0] for figures in found])
        cut = np.clip(rise, -MOST, MOST)
        slower = np.exp(np.mean([np.log(figures[k, 1] / figures[0, 1]) for figures in found]))
        rows.append(
            [
                describe_change(change),
                f"{np.median(rise):.3f}",
                f"{cut.mean():.3f}",
                f"{cut.std() / np.sqrt(len(cut)):.3f}",
                str(np.count_nonzero(rise > SAME)),
                str(np.count_nonzero(rise < -SAME)),
                f"{slower:.2f}",
                str(len(rise)),
            ]
        )
    return rows


def main():
    """Measure all changes and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--tables", type=Path, help="folder of tables")
    add("--skip", nargs="*", default=[], metavar="NAME", help="tables that are left out")
    add("--data", nargs="*", default=[], choices=SOURCES, help="data of the papers")
    add("--shapes", nargs="*", default=[], choices=SHAPES, help="synthetic densities")
    add("--change", nargs="+", type=parse_change, default=[], metavar="NAME=VALUE")
    add("--trees", type=int, default=100)
    add("--rows", type=int, default=4000, help="most rows of a table (default: 4000)")
    add("--columns", type=int, default=50, help="most columns (default: 50)")
    add("--seeds", type=int, default=1, help="splits of the training rows (default: 1)")
    add("--peers", action="store_true", help="print log densities of forest, kernels, mixture")
    add("--each", action="store_true", help="also the rises of each table")
    add("--output", type=Path, help="CSV file to add lines to")
    args = parser.parse_args()
    sources = sorted(args.tables.glob("[cr]_*.npz")) if args.tables else []
    sources = [source for source in sources if source.stem not in args.skip]
    sources += [*args.data, *args.shapes]
    if not sources:
        parser.error("expected --tables, --data or --shapes")
    found = []
    for source in sources:
        figures = measure_source(source, args)
        if figures is None:
            continue
        found.append(figures)
        if args.each:
            rises = "".join(f"{rise:9.3f}" for rise in figures[1:, 0] - figures[0, 0])
            print(f"{getattr(source, 'stem', source):32}{figures[0, 0]:9.3f}{rises}", flush=True)
    rows = list_rows(found, args)
    print(format_table(COLUMNS, rows))
    if args.output:
        is_new = not args.output.exists()
        with args.output.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS] * is_new + rows)


if __name__ == "__main__":
    sys.exit(main())
