"""Forests of linear Gaussian leaves against NGBoost: how likely held-out targets are.

    python benchmarks/linear_gaussian.py
    python benchmarks/linear_gaussian.py --bars
    python benchmarks/linear_gaussian.py --data kin8nm --seeds 1 --trees 20 --no-peer

Prints, for each data set, the mean over the seeds of the negative log-likelihood of the test rows
in units of the deviation of the training targets, the root mean squared error in the same unit,
what 90 % intervals cover, and the seconds of a fit, on one thread. Both sides get their defaults
and the same splits. With ``--bars`` it says whether the forest is ahead on at least five of six.
NGBoost has to be installed (``pip install ngboost``), unless ``--no-peer`` is given.
"""

import argparse
import time

import numpy as np

from obtree import ObliqueForestRegressor
from obtree.bench.data import load

DATA = ["kin8nm", "cpuact", "california_housing", "abalone", "bike_hour", "elevators"]
NEEDED = 5


def measure_forest(X, y, X_test, y_test, seed, n_trees):
    """Return negative log-likelihood, error, coverage and seconds of a forest."""
    forest = ObliqueForestRegressor(n_trees, criterion="linear_gaussian", random_state=seed)
    begin = time.perf_counter()
    forest.fit(X, y)
    seconds = time.perf_counter() - begin
    low, high = forest.predict(X_test, quantiles=[0.05, 0.95]).T
    return summarise(
        forest.log_prob(X_test, y_test), forest.predict(X_test), low, high, y_test, seconds
    )


def measure_ngboost(X, y, X_test, y_test, seed):
    """Return the same of NGBoost with a normal distribution, its default."""
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=seed)
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    found = model.pred_dist(X_test)
    low, high = found.ppf(0.05), found.ppf(0.95)
    return summarise(found.logpdf(y_test), found.mean(), low, high, y_test, seconds)


def summarise(log_density, mean, low, high, y, seconds):
    """Return what the table shows of one run."""
    error = np.sqrt(np.mean((mean - y) ** 2))
    inside = (low <= y) & (y <= high)
    return -np.mean(log_density), error, 100.0 * np.mean(inside), seconds


def main():
    """Print the table, and whether the bar holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--no-peer", action="store_true", help="leave NGBoost out")
    parser.add_argument("--bars", action="store_true", help="say whether the figures are reached")
    args = parser.parse_args()
    print(f"{'':20}{'forest, linear Gaussian leaves':^34}{'NGBoost':^34}")
    columns = f"{'-log p':>9}{'RMSE':>8}{'90 %':>8}{'s':>8} "
    print(f"{'data':20}{columns}{'' if args.no_peer else columns}")
    n_ahead = 0
    for name in args.data:
        runs = []
        for seed in range(args.seeds):
            split = load(name, seed)
            X, X_test = (np.asarray(part, float) for part in (split.X_train, split.X_test))
            unit = split.y_train.std()
            y, y_test = split.y_train / unit, split.y_test / unit
            runs.append([measure_forest(X, y, X_test, y_test, seed, args.trees)])
            if not args.no_peer:
                runs[-1].append(measure_ngboost(X, y, X_test, y_test, seed))
        sides = np.mean(runs, axis=0)
        shown = "".join("{:9.3f}{:8.3f}{:8.1f}{:8.1f} ".format(*side) for side in sides)
        print(f"{name:20}{shown}", flush=True)
        n_ahead += len(sides) > 1 and sides[0][0] < sides[1][0]
    if args.bars and not args.no_peer:
        holds = "holds" if n_ahead >= NEEDED else "does NOT hold"
        print(
            f"likelihood above NGBoost's on {n_ahead} of {len(args.data)}, {NEEDED} wanted: {holds}"
        )


if __name__ == "__main__":
    main()
