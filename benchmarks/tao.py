"""Accuracy of TAO trees and forests on the canonical splits, beside the figures they must reach.

    OBTREE_DATA=... python benchmarks/tao.py --seeds 3
    OBTREE_DATA=... python benchmarks/tao.py --only letter30 kin8nm --seeds 1

Test error in per cent, or the root mean squared error as a fraction of that of scikit-learn's
random forest of 100 trees; means over seeds. Every estimator has its default parameters, apart
from what the name of the line says.
"""

import argparse
import time

import numpy as np

from obtree import TAOForestClassifier, TAOForestRegressor, TAOTreeClassifier
from obtree.bench.data import load
from obtree.bench.report import format_table

# name: data, estimator, parameters, bar
TASKS = {
    "mnist_tree": ("mnist", TAOTreeClassifier, {"max_depth": 8}, 5.0),
    "mnist_linear_tree": ("mnist", TAOTreeClassifier, {"leaf": "linear", "max_depth": 5}, 4.8),
    "mnist30": ("mnist", TAOForestClassifier, {"n_estimators": 30}, 2.0),
    "mnist30_linear": ("mnist", TAOForestClassifier, {"n_estimators": 30, "leaf": "linear"}, 2.1),
    "letter30": ("letter", TAOForestClassifier, {"n_estimators": 30}, 2.8),
    "letter100": ("letter", TAOForestClassifier, {"n_estimators": 100}, 2.4),
    "kin8nm": ("kin8nm", TAOForestRegressor, {"n_estimators": 30}, 0.75),
    "elevators": ("elevators", TAOForestRegressor, {"n_estimators": 30}, 0.75),
    "cpuact": ("cpuact", TAOForestRegressor, {"n_estimators": 30}, 1.0),
    "abalone": ("abalone", TAOForestRegressor, {"n_estimators": 30}, 1.01),
}
SECONDS = {"mnist_tree": 2.5}  # per tree on one core


def measure_task(name, seed, n_jobs, rows):
    """Fit once.

    Parameters
    ----------
    name : str
        Key of `TASKS`.
    seed : int
        Seed of the split, where it is random, and of the model.
    n_jobs : int
        Threads.
    rows : int or None
        Train on the first so many rows only.

    Returns
    -------
    error : float
        Per cent, or fraction of the reference.
    seconds : float
        Processor time per tree.
    """
    data, make, params, _ = TASKS[name]
    split = load(data, seed=seed)
    X, y = split.X_train[:rows], split.y_train[:rows]
    model = make(**params, random_state=seed, n_jobs=n_jobs)
    started = time.process_time()
    model.fit(X, y)
    seconds = (time.process_time() - started) / params.get("n_estimators", 1)
    predicted = model.predict(split.X_test)
    if not split.regression:
        return 100.0 * np.mean(predicted != split.y_test), seconds
    from sklearn.ensemble import RandomForestRegressor

    reference = RandomForestRegressor(100, random_state=seed, n_jobs=n_jobs).fit(X, y)
    error, beside = (
        np.sqrt(np.mean((found - split.y_test) ** 2))
        for found in (predicted, reference.predict(split.X_test))
    )
    return error / beside, seconds


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", nargs="+", default=list(TASKS), choices=list(TASKS))
    add("--seeds", type=int, default=3, help="models to average over (default: 3)")
    add("--rows", type=int, help="train on the first so many rows only")
    add("--n-jobs", type=int, default=1, help="threads (default: 1)")
    args = parser.parse_args()
    lines = []
    for name in args.only:
        found = [measure_task(name, seed, args.n_jobs, args.rows) for seed in range(args.seeds)]
        error = np.mean([pair[0] for pair in found])
        seconds = min(pair[1] for pair in found)
        bar, limit = TASKS[name][3], SECONDS.get(name)
        lines.append(
            [
                name,
                f"{error:.3f}",
                f"{np.std([pair[0] for pair in found]):.3f}",
                f"{'ok' if error <= bar else 'ABOVE'} {bar}",
                f"{seconds:.3f}",
                "-" if limit is None else f"{'ok' if seconds <= limit else 'ABOVE'} {limit}",
            ]
        )
        print("  ".join(lines[-1]), flush=True)
    columns = ["task", "test error", "s.d.", "bar", "s/tree", "bar"]
    print("\n" + format_table(columns, lines, False))


if __name__ == "__main__":
    main()
