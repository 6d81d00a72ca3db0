"""Random ferns against forests of extremely randomised trees: test error and seconds.

    python benchmarks/ferns.py
    python benchmarks/ferns.py --data pendigits --ferns 200 --depth 14

Prints a table for each data set: percent of wrong classes, mean over the seeds, the seconds of a
fit on one core, and those of counting the training rows once more (`update_leaves`).
"""

import argparse
import time

import numpy as np

from obtree import FernClassifier, ObliqueForestClassifier
from obtree.bench.data import load


def list_models(n_ferns, depth, seed):
    """Return what is compared, by name."""
    models = {
        "axis_random forest": ObliqueForestClassifier(
            n_ferns, splitter="axis_random", random_state=seed
        )
    }
    for splitter in ("axis_random", "random_oblique"):
        for n_candidates in (1, 5):
            models[f"ferns, {splitter}, {n_candidates} drawn"] = FernClassifier(
                n_ferns,
                depth=depth,
                splitter=splitter,
                n_candidates=n_candidates,
                random_state=seed,
            )
    return models


def measure(model, split):
    """Return error, seconds of a fit and seconds of an update."""
    begin = time.perf_counter()
    model.fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - begin
    error = 100.0 * np.mean(model.predict(split.X_test) != split.y_test)
    begin = time.perf_counter()
    model.update_leaves(split.X_train, split.y_train)
    return error, seconds, time.perf_counter() - begin


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = ["letter", "optdigits", "pendigits", "satimage"]
    parser.add_argument("--data", nargs="+", default=data)
    parser.add_argument("--ferns", type=int, default=100, help="ferns, and trees")
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for name in args.data:
        print(f"{name}, {args.ferns} ferns of depth {args.depth}, {args.seeds} seeds")
        print(f"{'':>32}{'error %':>10}{'fit s':>8}{'update s':>10}")
        runs = {}
        for seed in range(args.seeds):
            for label, model in list_models(args.ferns, args.depth, seed).items():
                runs.setdefault(label, []).append(measure(model, load(name, seed)))
        for label, found in runs.items():
            error = np.mean([run[0] for run in found])
            fit, update = (min(run[k] for run in found) for k in (1, 2))
            print(f"{label:>32}{error:10.2f}{fit:8.2f}{update:10.2f}", flush=True)


if __name__ == "__main__":
    main()
