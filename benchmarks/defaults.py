"""Test error of default forests on the data of the papers.

    python benchmarks/defaults.py --bars
    python benchmarks/defaults.py --data letter kin8nm --seeds 1

``ObliqueForestClassifier()`` and ``ObliqueForestRegressor()`` as they come, 100 trees (30 on
MNIST), beside scikit-learn's random forest of 100 trees. Errors are percent of wrong classes, or
the root mean squared error as a multiple of the random forest's; means over seeds. Data are found
as ``obtree.bench.data`` describes.
"""

import argparse
import sys
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.bench.data import load
from obtree.bench.measure import measure_error
from obtree.bench.report import format_table

# What each has to reach: percent, or a multiple of the random forest.
BARS = {
    "letter": 1.9,
    "pendigits": 1.9,
    "satimage": 8.6,
    "optdigits": 2.2,
    "mnist": 2.1,
    "kin8nm": 0.66,
    "elevators": 0.78,
    "cpuact": 1.0,
    "ailerons": 1.0,
    "abalone": 1.0,
    "california_housing": 1.0,
    "bike_hour": 1.0,
}
TREES = {"mnist": 30}


def measure_data(name, args):
    """Fit a forest for each seed, and the random forest beside it.

    Parameters
    ----------
    name : str
        Data set.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    figures : dict of str to float
        Mean errors and seconds.
    """
    errors, others, seconds = [], [], []
    for seed in range(args.seeds):
        split = load(name, seed)
        kinds = ObliqueForestClassifier, RandomForestClassifier
        if split.regression:
            kinds = ObliqueForestRegressor, RandomForestRegressor
        common = {"n_jobs": args.n_jobs, "random_state": seed}
        started = time.perf_counter()
        forest = kinds[0](TREES.get(name, 100), **common).fit(split.X_train, split.y_train)
        seconds.append(time.perf_counter() - started)
        errors.append(measure_error(forest.predict(split.X_test), split.y_test))
        other = kinds[1](100, **common).fit(split.X_train, split.y_train)
        others.append(measure_error(other.predict(split.X_test), split.y_test))
        print(f"{name}, seed {seed}: {errors[-1]:.5g}, {others[-1]:.5g}", file=sys.stderr)
    error = np.mean(errors) / np.mean(others) if split.regression else 100.0 * np.mean(errors)
    return {"error": error, "other": np.mean(others), "seconds": np.mean(seconds)}


def main():
    """Measure, print, and compare with the bars."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", nargs="+", default=list(BARS), choices=list(BARS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--bars", action="store_true", help="fail when a figure is not reached")
    args = parser.parse_args()
    rows, missed = [], []
    for name in args.data:
        figures = measure_data(name, args)
        if figures["error"] > BARS[name]:
            missed.append(name)
        rows.append(
            [
                name,
                f"{figures['error']:.3f}",
                f"{BARS[name]:.2f}",
                f"{figures['other']:.5g}",
                f"{figures['seconds']:.2f}",
            ]
        )
    print(format_table(["data", "error", "to reach", "random forest", "fit s"], rows))
    if args.bars and missed:
        sys.exit(f"not reached: {', '.join(missed)}")


if __name__ == "__main__":
    main()
