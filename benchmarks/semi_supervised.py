"""Semi-supervised forests against what there is for few labels.

Ten labels a class are drawn from the training rows, all other training rows have none, and the
error on the test rows is printed: of the default forest on the labels alone, of scikit-learn's
SelfTrainingClassifier around a random forest, of its LabelSpreading (on standardised columns, with
default parameters and with kernel="knn"), and of SemiSupervisedForestClassifier. Then the same,
without the peers, on tables of a folder (--tables): the first twelve in alphabetical order of those
named c_*.npz that have at least 500 rows. They hold X and y; a quarter of the rows, drawn at random
by seed, is for testing, and at most 4,000 others are for training.

    python benchmarks/semi_supervised.py --bars --tables FOLDER

--bars says for each figure that has to be reached whether it is, and fails if one is not.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from obtree import ObliqueForestClassifier, SemiSupervisedForestClassifier
from obtree.bench.data import Split, load

DATA = ("optdigits", "pendigits", "letter", "satimage")
LABELS = 10
N_TABLES, MIN_ROWS, MAX_TRAIN = 12, 500, 4000
#: Points of error that a table may lose against the forest on the labels alone.
MAX_LOSS = 1.0


def draw_labels(y, seed):
    """Return y with all labels hidden but some of each class."""
    rng = np.random.default_rng(seed)
    known = np.full(len(y), -1)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))[:LABELS]
        known[rows] = label
    return known


def list_models(seed):
    """Return a maker for each model, by name."""
    return {
        "supervised forest": lambda: ObliqueForestClassifier(random_state=seed),
        "self-training": lambda: SelfTrainingClassifier(RandomForestClassifier(random_state=seed)),
        "label spreading": lambda: make_pipeline(StandardScaler(), LabelSpreading()),
        "label spreading, knn": lambda: make_pipeline(
            StandardScaler(), LabelSpreading(kernel="knn")
        ),
        "semi-supervised": lambda: SemiSupervisedForestClassifier(random_state=seed),
    }


def measure(split, seed, names):
    """Fit models to few labels; return the test error of each in percent, and the last model."""
    known = draw_labels(split.y_train, seed)
    X, X_test = split.X_train.astype(np.float64), split.X_test.astype(np.float64)
    errors = {}
    for name in names:
        model = list_models(seed)[name]()
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == "supervised forest":
                model.fit(X[known >= 0], known[known >= 0])
            else:
                model.fit(X, known)
        errors[name] = 100.0 * np.mean(model.predict(X_test) != split.y_test)
        print(f"    {name:22}{errors[name]:7.2f} %{time.perf_counter() - start:8.1f} s", flush=True)
    return errors, model


def load_table(path, seed):
    """Split a table at random."""
    with np.load(path) as stored:
        X, y = stored["X"], stored["y"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = len(y) // 4
    test, train = order[:n_test], order[n_test:][:MAX_TRAIN]
    return Split(X[train], y[train], X[test], y[test])


def list_tables(folder):
    """Return the tables that the rule in the head of this file names."""
    found = sorted(Path(folder).glob("c_*.npz"), key=lambda path: path.stem.lower())
    large = []
    for path in found:
        with np.load(path) as stored:
            if len(stored["y"]) >= MIN_ROWS:
                large.append(path)
    return large[:N_TABLES]


def print_row(label, values):
    """Print a line of a table."""
    print(f"{label:26}" + "".join(f"{value:>22}" for value in values), flush=True)


def run_data(seeds):
    """Compare all models; return their mean errors over data sets and seeds."""
    names = list(list_models(0))
    means = {}
    for data in DATA:
        rows = []
        for seed in range(seeds):
            print(f"{data}, seed {seed}", flush=True)
            errors, model = measure(load(data, seed=seed), seed, names)
            print(f"    fallback {model.fallback_}, check {model.check_}", flush=True)
            rows.append([errors[name] for name in names])
        means[data] = np.mean(rows, axis=0)
    print()
    print_row("mean error in %", names)
    for data, mean in means.items():
        print_row(data, [f"{value:.2f}" for value in mean])
    overall = np.mean(list(means.values()), axis=0)
    print_row("mean", [f"{value:.2f}" for value in overall])
    return dict(zip(names, overall, strict=True))


def run_tables(folder, seeds):
    """Compare with the supervised forest on tables; return by how much each is worse."""
    names = ("supervised forest", "semi-supervised")
    losses, lines = {}, []
    for path in list_tables(folder):
        rows, n_fallbacks = [], 0
        for seed in range(seeds):
            print(f"{path.stem}, seed {seed}", flush=True)
            errors, model = measure(load_table(path, seed), seed, names)
            rows.append([errors[name] for name in names])
            n_fallbacks += model.fallback_
        before, after = np.mean(rows, axis=0)
        losses[path.stem] = after - before
        numbers = [f"{before:.2f}", f"{after:.2f}", f"{after - before:+.2f}"]
        lines.append((path.stem, [*numbers, f"{n_fallbacks} of {seeds}"]))
    print()
    print_row("mean error in %", [*names, "difference", "fallbacks"])
    for line in lines:
        print_row(*line)
    return losses


def judge(means, losses):
    """Print whether each bar holds; return whether all do."""
    holds = []
    ours = means.get("semi-supervised")
    for name, mean in means.items():
        if name != "semi-supervised":
            holds.append(ours < mean)
            print(f"{'holds' if holds[-1] else 'FAILS'}: {ours:.2f} below {mean:.2f} of {name}")
    for table, loss in losses.items():
        holds.append(loss <= MAX_LOSS)
        print(f"{'holds' if holds[-1] else 'FAILS'}: {table} {loss:+.2f}, at most {MAX_LOSS:+.2f}")
    return all(holds)


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--tables", metavar="FOLDER", help="folder of tables to compare on")
    parser.add_argument("--only-tables", action="store_true", help="leave out the data sets")
    parser.add_argument("--bars", action="store_true", help="say whether each bar holds")
    args = parser.parse_args()
    if args.only_tables and not args.tables:
        parser.error("--only-tables needs --tables")
    means = {} if args.only_tables else run_data(args.seeds)
    losses = run_tables(args.tables, args.seeds) if args.tables else {}
    if args.bars:
        print()
        sys.exit(0 if judge(means, losses) else 1)


if __name__ == "__main__":
    main()
