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
from functools import partial

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
    """Return the least processor time of a call."""
    seconds = []
    for _ in range(n_runs):
        begin = time.process_time()
        call()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def measure_scores(split, seed):
    """Return coverage and loss of each kind of quantiles, and the likelihoods."""
    X, y = split.X_train, split.y_train
    new, truth = split.X_test, split.y_test
    forest = ObliqueForestRegressor(random_state=seed).fit(X, y)
    peer = RandomForestQuantileRegressor(random_state=seed).fit(X, y)
    return {
        "coverage": score_quantiles(truth, forest.predict(new, quantiles=LEVELS)),
        "exact": score_quantiles(truth, forest.predict_quantiles(new, LEVELS)),
        "peer": score_quantiles(truth, peer.predict(new, quantiles=list(LEVELS))),
        "likelihood": (
            -forest.log_prob(new, truth).mean() - np.log(truth.std()),
            run_ngboost(split, seed),
        ),
    }


def measure_speeds(split, seed, n_runs):
    """Return how many times faster than quantile-forest forests are."""
    models = {
        "default": ObliqueForestRegressor(random_state=seed),
        "axis": ObliqueForestRegressor(splitter="axis", random_state=seed),
        "peer": RandomForestQuantileRegressor(random_state=seed),
    }
    fit, predict = {}, {}
    for k in range(n_runs):
        for name, model in models.items():
            if k == 0 or name != "default":
                seconds = measure_time(partial(model.fit, split.X_train, split.y_train), 1)
                fit[name] = min(seconds, fit.get(name, np.inf))
    calls = {
        name: partial(model.predict, split.X_test, quantiles=list(LEVELS))
        for name, model in models.items()
    }
    calls["exact"] = partial(models["axis"].predict_quantiles, split.X_test, LEVELS)
    for _ in range(n_runs):
        for name, call in calls.items():
            predict[name] = min(measure_time(call, 2), predict.get(name, np.inf))
    return {
        "fit": (fit["peer"] / fit["axis"], fit["peer"] / fit["default"]),
        "predict": tuple(predict["peer"] / predict[k] for k in ("axis", "exact", "default")),
    }


def check_scores(table):
    """Return which of the bars of scores hold, by name."""
    rows = table.values()
    won = sum(row["likelihood"][0] < row["likelihood"][1] for row in rows)
    return {
        "90 % intervals cover 87 to 93 %": all(
            COVERAGE[0] <= row["coverage"][0] <= COVERAGE[1] for row in rows
        ),
        "pinball loss at most 1 % above quantile-forest": all(
            row["coverage"][1] <= PINBALL * row["peer"][1] for row in rows
        ),
        f"likelier than NGBoost on {won} of {len(rows)}": won >= min(WON, len(rows)),
    }


def check_speeds(table):
    """Return which of the bars of speed hold, by name."""
    rows = table.values()
    return {
        "axis forest 3 times faster to fit": all(row["fit"][0] >= SPEED for row in rows),
        "axis forest 3 times faster to predict": all(row["predict"][0] >= SPEED for row in rows),
        "and its plain quantiles": all(row["predict"][1] >= SPEED for row in rows),
    }


def print_scores(name, row):
    """Print one line of scores."""
    kinds = [row["coverage"], row["exact"], row["peer"]]
    print(
        f"{name:20}"
        + "".join(f"{100.0 * kind[0]:8.1f}" for kind in kinds)
        + "".join(f"{kind[1]:8.4f}" for kind in kinds)
        + "".join(f"{figure:11.3f}" for figure in row["likelihood"]),
        flush=True,
    )


def print_speeds(name, row):
    """Print one line of speeds."""
    figures = [*row["fit"], *row["predict"]]
    print(f"{name:20}" + "".join(f"{figure:10.1f}" for figure in figures), flush=True)


HEADS = {
    "scores": (
        f"{'':20}{'90 % intervals cover':>24}{'pinball loss':>24}{'neg. log-likelihood':>22}\n"
        f"{'':20}{'forest':>8}{'plain':>8}{'q-f':>8}{'forest':>8}{'plain':>8}{'q-f':>8}"
        f"{'forest':>11}{'NGBoost':>11}"
    ),
    "speeds": (
        f"{'':20}{'times faster to fit':>20}{'to predict':>30}\n"
        f"{'':20}{'axis':>10}{'default':>10}{'axis':>10}{'plain':>10}{'default':>10}"
    ),
}


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="train on at most so many rows")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--only", choices=HEADS, help="measure one of the two")
    parser.add_argument("--bars", action="store_true", help="say whether the bars hold")
    args = parser.parse_args()
    holds = {}
    for part in HEADS if args.only is None else [args.only]:
        print(HEADS[part], flush=True)
        table = {}
        for name in args.data:
            runs = []
            for seed in range(args.seeds):
                split = load(name, seed)
                split = split._replace(
                    X_train=split.X_train[: args.rows], y_train=split.y_train[: args.rows]
                )
                if part == "scores":
                    runs.append(measure_scores(split, seed))
                else:
                    runs.append(measure_speeds(split, seed, args.runs))
            row = {key: np.mean([run[key] for run in runs], axis=0) for key in runs[0]}
            table[name] = row
            (print_scores if part == "scores" else print_speeds)(name, row)
        holds |= (check_scores if part == "scores" else check_speeds)(table)
    if args.bars:
        for bar, is_held in holds.items():
            print(f"{'holds' if is_held else 'FAILS'}  {bar}")
        raise SystemExit(not all(holds.values()))


if __name__ == "__main__":
    main()
