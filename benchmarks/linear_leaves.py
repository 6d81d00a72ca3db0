"""Constant against linear leaves: test error by smallest leaf.

    python benchmarks/linear_leaves.py
    python benchmarks/linear_leaves.py --data kin8nm --trees 1 --leaf-sizes 20 50 100

Prints a table for each data set: percent of wrong classes, or root mean squared error, mean
over the seeds, and the seconds of a fit on one core.
"""

import argparse
import time

import numpy as np

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.bench.data import SOURCES, load


def measure(split, is_regression, options, seed):
    """Return test error and seconds of a fit."""
    kind = ObliqueForestRegressor if is_regression else ObliqueForestClassifier
    forest = kind(random_state=seed, **options)
    begin = time.perf_counter()
    forest.fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - begin
    found = forest.predict(split.X_test)
    if is_regression:
        return np.sqrt(np.mean((found - split.y_test) ** 2)), seconds
    return 100.0 * np.mean(found != split.y_test), seconds


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["kin8nm", "cpuact", "pendigits"])
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--leaf-sizes", nargs="+", type=int, default=[1, 20, 50])
    parser.add_argument("--l2", type=float, default=1.0)
    parser.add_argument("--splitter", default="axis")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for name in args.data:
        unit = "RMSE" if SOURCES[name].regression else "error %"
        print(f"{name}, {args.trees} trees, splitter {args.splitter}, {args.seeds} seeds")
        print(f"{'leaf size':>10}{'constant':>14}{'linear':>14}{'s':>8}{'s':>8}   ({unit})")
        for size in args.leaf_sizes:
            results = []
            for leaf in ("constant", "linear"):
                if leaf == "linear" and size < 10:
                    results.append((np.nan, np.nan))
                    continue
                options = {
                    "n_estimators": args.trees,
                    "splitter": args.splitter,
                    "min_samples_leaf": size,
                    "leaf": leaf,
                    "leaf_l2": args.l2,
                }
                runs = [
                    measure(load(name, seed), SOURCES[name].regression, options, seed)
                    for seed in range(args.seeds)
                ]
                results.append(np.mean(runs, axis=0))
            (constant, before), (linear, after) = results
            print(f"{size:>10}{constant:>14.4g}{linear:>14.4g}{before:>8.2f}{after:>8.2f}")


if __name__ == "__main__":
    main()
