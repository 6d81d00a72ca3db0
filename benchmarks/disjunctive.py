"""Test error of disjunctive normal forests, beside the forests they start from.

    python benchmarks/disjunctive.py                          # everything
    python benchmarks/disjunctive.py --data pendigits sonar   # some of it
    python benchmarks/disjunctive.py --data letter --set n_estimators=10 n_epochs=10

Data with a split of their own (Letter: the first 16,000 rows are for training) are fitted once
for each seed with the default parameters. The small two-class sets are split at random, two
thirds for training, and both forests have 100 trees; what counts there is the difference
between the two on the same split. Data are found as ``obtree.bench.data`` describes.
"""

import argparse
import ast
import sys
import time

import numpy as np

from obtree import DisjunctiveForestClassifier, ObliqueForestClassifier
from obtree.bench.data import DataNotFoundError, load, load_shuffled
from obtree.bench.report import format_table

# Percent of wrong classes, mean over seeds, that the default setting has to reach.
BARS = {"pendigits": 2.1, "optdigits": 2.0, "satimage": 8.8, "letter": 2.0}
N_TRAIN = {"letter": 16_000}

# The mean difference has to be negative over all of these, and on none above MOST.
SMALL = [
    "wdbc",
    "sonar",
    "pima",
    "german_numeric",
    "heart_statlog",
    "ionosphere",
    "australian",
]
SMALL_TREES = 100
MOST = 1.0


def measure_error(model, data):
    """Fit a model and return its test error in percent."""
    return 100.0 * (1.0 - model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test))


def compare(name, args):
    """Return a row of the first table and whether it passes."""
    data = load(name, n_train=N_TRAIN.get(name))
    errors, starts, seconds = [], [], []
    for seed in range(args.seeds):
        model = DisjunctiveForestClassifier(n_jobs=args.n_jobs, random_state=seed, **dict(args.set))
        start = ObliqueForestClassifier(
            model.n_estimators, splitter="axis", n_jobs=args.n_jobs, random_state=seed
        )
        starts.append(measure_error(start, data))
        began = time.process_time()
        errors.append(measure_error(model, data))
        seconds.append((time.process_time() - began) / model.n_estimators)
    good = np.mean(errors) <= BARS[name]
    return [
        name,
        str(model.n_estimators),
        f"{np.mean(starts):.2f}",
        f"{np.mean(errors):.2f}",
        " ".join(f"{error:.2f}" for error in errors),
        f"{BARS[name]:.2f}",
        "yes" if good else "NO",
        f"{np.mean(seconds):.2f}",
    ], good


def pair(name, args):
    """Return a row of the second table and the mean difference."""
    starts, errors = [], []
    for seed in range(args.splits):
        data = load_shuffled(name, seed, 2 / 3)
        common = {"n_jobs": args.n_jobs, "random_state": seed}
        starts.append(
            measure_error(ObliqueForestClassifier(SMALL_TREES, splitter="axis", **common), data)
        )
        options = {**common, **dict(args.set), "n_estimators": SMALL_TREES}
        errors.append(measure_error(DisjunctiveForestClassifier(**options), data))
    difference = np.subtract(errors, starts)
    spread = difference.std(ddof=1) / np.sqrt(len(difference)) if args.splits > 1 else 0.0
    return [
        name,
        f"{np.mean(starts):.2f}",
        f"{np.mean(errors):.2f}",
        f"{difference.mean():+.2f} +- {spread:.2f}",
        "yes" if difference.mean() <= MOST else "NO",
    ], difference.mean()


def parse_setting(text):
    """Read ``name=value``."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def main():
    """Print both tables; status 1 when a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=[*BARS, *SMALL], choices=[*BARS, *SMALL])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--set", nargs="+", type=parse_setting, default=[])
    args = parser.parse_args()
    passed = True
    try:
        rows = []
        for name in filter(BARS.__contains__, args.data):
            row, good = compare(name, args)
            rows.append(row)
            passed &= good
        if rows:
            heads = ["data", "trees", "start", "error", "by seed", "bar", "reached", "s/tree"]
            print(format_table(heads, rows))
        rows, differences = [], []
        for name in filter(SMALL.__contains__, args.data):
            row, difference = pair(name, args)
            rows.append(row)
            differences.append(difference)
    except DataNotFoundError as error:
        sys.exit(str(error))
    if rows:
        mean = float(np.mean(differences))
        rows.append(["mean", "", "", f"{mean:+.2f}", "yes" if mean < 0 else "NO"])
        print(format_table(["data", "start", "error", "difference", "reached"], rows))
        passed &= mean < 0 and max(differences) <= MOST
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
