"""Errors of a splitter's settings inside the training rows of many tables.

    python benchmarks/rules.py FOLDER --splitter co2 --set held_out=0

Each ``c_*.npz`` of the folder holds ``X`` and ``y``. Three quarters of its rows, at most 4,000, are
for training; only these are used, and split once more in the same way. Printed are, for each
table, the errors of scikit-learn's random forest, of the splitter, and of the splitter with
what is set, and the geometric mean of their ratios to the forest's.
"""

import argparse
from pathlib import Path

import numpy as np
from accuracy import parse_setting
from sklearn.ensemble import RandomForestClassifier

from obtree import ObliqueForestClassifier
from obtree.bench.measure import measure_error
from obtree.splitter.registry import resolve_splitter

MAX_ROWS = 4000


def split_rows(rows, seed):
    """Return three quarters of the rows, drawn at random, and the others.

    Parameters
    ----------
    rows : ndarray
        Numbers of rows.
    seed : int
        Of the draw.

    Returns
    -------
    first, rest : ndarray
    """
    order = np.random.default_rng(seed).permutation(rows)
    n_first = 3 * len(rows) // 4
    return order[:n_first], order[n_first:]


def measure_table(path, models, seeds):
    """Return the mean error of each model.

    Parameters
    ----------
    path : Path
        The table.
    models : list of estimators
        Unfitted.
    seeds : int
        Splits of the training rows.

    Returns
    -------
    errors : ndarray
    """
    with np.load(path) as table:
        X, y = table["X"], table["y"]
    rows = split_rows(np.arange(len(y)), 1000)[0][:MAX_ROWS]
    errors = np.zeros(len(models))
    for seed in range(seeds):
        train, test = split_rows(rows, seed)
        for k, model in enumerate(models):
            model.set_params(random_state=seed).fit(X[train], y[train])
            errors[k] += measure_error(model.predict(X[test]), y[test]) / seeds
    return errors


def main():
    """Print a line for each table, and the means of ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splitter", default="co2")
    parser.add_argument("--set", nargs="+", type=parse_setting, default=[], metavar="NAME=VALUE")
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    changed = resolve_splitter(args.splitter).set_params(**dict(args.set))
    models = [RandomForestClassifier(100)]
    models += [ObliqueForestClassifier(args.trees, splitter=s) for s in (args.splitter, changed)]
    errors = []
    for path in sorted(args.folder.glob("c_*.npz")):
        errors.append(measure_table(path, models, args.seeds))
        shown = "".join(f"{100 * error:9.2f}" for error in errors[-1])
        print(f"{path.stem:32}{shown}", flush=True)
    ratios = np.log(np.array(errors) + 0.001)
    means = np.exp((ratios - ratios[:, :1]).mean(axis=0))
    print(f"{'ratio':32}" + "".join(f"{mean:9.3f}" for mean in means))


if __name__ == "__main__":
    main()
