"""Predictive distributions: forests of this package, of quantile-forest, and NGBoost.

    python benchmarks/distributions.py
    python benchmarks/distributions.py --bars
    python benchmarks/distributions.py --data kin8nm --seeds 1 --rows 2000

All models have default parameters. For every data set it prints, as means over seeds, the coverage
of 90 % intervals and the pinball loss (mean over five levels, as a fraction of the deviation of
y) of the forest's distribution, of the plain quantiles of its training rows (Meinshausen, 2006),
and of quantile-forest; the negative log-likelihood of the forest and of NGBoost, for y divided by
its deviation; and how many times faster than quantile-forest a forest of axis splits and the
default one are to fit, and to predict when they have predicted before. Times are processor times
on one thread, the best of several runs that take turns. ``--bars`` says whether the bars hold.
"""

import argparse
import time

import numpy as np
from quantile_forest import RandomForestQuantileRegressor

from obtree import ObliqueForestRegressor
from obtree.bench.data import load

DATA = ("kin8nm", "cpuact", "california_housing", "abalone", "bike_hour", "elevators")
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])

COVERAGE = (0.87, 0.93)
PINBALL = 1.01
SPEED = 3.0
WON = 5


def score_quantiles(y, found):
    """Return coverage of the outer quantiles, and pinball loss."""
    error = y[:, None] - found
    inside = (y >= found[:, 0]) & (y <= found[:, -1])
    return inside.mean(), np.maximum(LEVELS * error, (LEVELS - 1.0) * error).mean() / y.std()


def run_ngboost(split, seed):
    """Return the negative log-likelihood of NGBoost."""
    from ngboost import NGBRegressor

    model = NGBRegressor(random_state=seed, verbose=False)
    density = model.fit(split.X_train, split.y_train).pred_dist(split.X_test)
    return -density.logpdf(split.y_test).mean() - np.log(split.y_test.std())


def measure_time(call, n_runs):
    """Return what a call returns and its least processor time."""
    seconds = []
    for _ in range(n_runs):
        begin = time.process_time()
        result = call()
        seconds.append(time.process_time() - begin)
    return result, min(seconds)


def compare(split, seed, n_runs):
    """Return all figures of one split and one seed."""
    X, y = split.X_train, split.y_train
    new, truth = split.X_test, split.y_test
    models = {
        "default": ObliqueForestRegressor(random_state=seed),
        "axis": ObliqueForestRegressor(splitter="axis", random_state=seed),
        "peer": RandomForestQuantileRegressor(random_state=seed),
    }
    fit, predict, found = {}, {}, {}
    for k in range(n_runs):
        for name, model in models.items():
            if k == 0 or name != "default":
                seconds = measure_time(lambda model=model: model.fit(X, y), 1)[1]
                fit[name] = min(seconds, fit.get(name, np.inf))
    for _ in range(n_runs):
        for name, model in models.items():
            found[name], seconds = measure_time(
                lambda model=model: model.predict(new, quantiles=list(LEVELS)), 2
            )
            predict[name] = min(seconds, predict.get(name, np.inf))
        _, seconds = measure_time(lambda: models["axis"].predict_quantiles(new, LEVELS), 2)
        predict["exact"] = min(seconds, predict.get("exact", np.inf))
    forest = models["default"]
    return {
        "coverage": score_quantiles(truth, found["default"]),
        "exact": score_quantiles(truth, forest.predict_quantiles(new, LEVELS)),
        "peer": score_quantiles(truth, found["peer"]),
        "likelihood": (
            -forest.log_prob(new, truth).mean() - np.log(truth.std()),
            run_ngboost(split, seed),
        ),
        "fit": (fit["peer"] / fit["axis"], fit["peer"] / fit["default"]),
        "predict": tuple(predict["peer"] / predict[k] for k in ("axis", "exact", "default")),
    }


def check_bars(table):
    """Print each bar and whether it holds; return whether all do."""
    bars = {
        "90 % intervals cover 87 to 93 %": [
            COVERAGE[0] <= row["coverage"][0] <= COVERAGE[1] for row in table.values()
        ],
        "pinball loss at most 1 % above quantile-forest": [
            row["coverage"][1] <= PINBALL * row["peer"][1] for row in table.values()
        ],
        "axis forest 3 times faster to fit": [row["fit"][0] >= SPEED for row in table.values()],
        "axis forest 3 times faster to predict": [
            row["predict"][0] >= SPEED for row in table.values()
        ],
        "and its plain quantiles": [row["predict"][1] >= SPEED for row in table.values()],
    }
    holds = {bar: all(each) for bar, each in bars.items()}
    won = sum(row["likelihood"][0] < row["likelihood"][1] for row in table.values())
    wanted = min(WON, len(table))
    holds[f"likelier than NGBoost on {won} of {len(table)}"] = won >= wanted
    for bar, is_held in holds.items():
        print(f"{'holds' if is_held else 'FAILS'}  {bar}")
    return all(holds.values())


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="train on at most so many rows")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--bars", action="store_true", help="say whether the bars hold")
    args = parser.parse_args()
    print(
        f"{'':20}{'90 % intervals cover':>24}{'pinball loss':>24}{'neg. log-likelihood':>22}"
        f"{'times faster to fit':>22}{'to predict':>24}"
    )
    print(
        f"{'':20}{'forest':>8}{'plain':>8}{'q-f':>8}{'forest':>8}{'plain':>8}{'q-f':>8}"
        f"{'forest':>11}{'NGBoost':>11}{'axis':>11}{'default':>11}"
        f"{'axis':>8}{'plain':>8}{'default':>8}"
    )
    table = {}
    for name in args.data:
        runs = []
        for seed in range(args.seeds):
            split = load(name, seed)
            if args.rows is not None:
                split = split._replace(
                    X_train=split.X_train[: args.rows], y_train=split.y_train[: args.rows]
                )
            runs.append(compare(split, seed, args.runs))
        row = table[name] = {key: np.mean([run[key] for run in runs], axis=0) for key in runs[0]}
        kinds = [row["coverage"], row["exact"], row["peer"]]
        print(
            f"{name:20}"
            + "".join(f"{100.0 * kind[0]:8.1f}" for kind in kinds)
            + "".join(f"{kind[1]:8.4f}" for kind in kinds)
            + "".join(f"{figure:11.3f}" for figure in row["likelihood"])
            + "".join(f"{figure:11.1f}" for figure in row["fit"])
            + "".join(f"{figure:8.1f}" for figure in row["predict"]),
            flush=True,
        )
    if args.bars:
        raise SystemExit(not check_bars(table))


if __name__ == "__main__":
    main()
