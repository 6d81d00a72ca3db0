"""``obtree demo``: our forests beside scikit-learn's random forest, in one table.

Data come with scikit-learn, so nothing is downloaded. The default and every splitter
that is installed get a row per data set; figures are means over a few random splits, and both
sides use the same splits, number of trees and number of threads.
"""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import root_mean_squared_error, zero_one_loss
from sklearn.model_selection import train_test_split

from obtree.core.params import Integer, check_param
from obtree.estimators import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.splitter import available

CLASSIFICATION = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
REGRESSION = {"diabetes": load_diabetes}
COLUMNS = ("data", "model", "error", "trees", "nodes", "fit s", "predict s")
LAYOUT = "{:<14} {:<26} {:>11} {:>6} {:>8} {:>8} {:>10}"


def add_parser(subparsers):
    """Describe the arguments.

    Parameters
    ----------
    subparsers : argparse subparsers
        Where the command is added.

    Returns
    -------
    parser : argparse.ArgumentParser
    """
    parser = subparsers.add_parser(
        "demo",
        help="compare our forests with scikit-learn's on small real data",
        description="Train forests on data shipped with scikit-learn and print error (fraction "
        "of wrong classes, or root mean squared error), size and time.",
    )
    parser.add_argument("--n-estimators", type=int, default=100, help="trees (default: 100)")
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--repeats", type=int, default=3, help="random splits (default: 3)")
    return parser


def run(args):
    """Print the table, line by line as results arrive.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    check_param("--repeats", args.repeats, Integer(1))
    header = LAYOUT.format(*COLUMNS)
    print(header, "-" * len(header), sep="\n")
    for name, loader in {**CLASSIFICATION, **REGRESSION}.items():
        X, y = loader(return_X_y=True)
        for label, make_model in list_models(name in REGRESSION):
            results = [
                measure_model(make_model, X, y, name in REGRESSION, args, seed)
                for seed in range(args.repeats)
            ]
            print(format_row(name, label, np.mean(results, axis=0), args, name in REGRESSION))
    print(f"Means over {args.repeats} random splits, 70 % for training.")


def list_models(regression):
    """List what is compared.

    Parameters
    ----------
    regression : bool
        Whether the task is regression.

    Returns
    -------
    models : list of (str, callable)
        Label, and a function of keyword arguments that makes an estimator.
    """
    ours, theirs = (
        (ObliqueForestRegressor, RandomForestRegressor)
        if regression
        else (ObliqueForestClassifier, RandomForestClassifier)
    )

    def make_ours(splitter):
        return lambda **params: ours(splitter=splitter, **params)

    return [("scikit-learn RandomForest", theirs), ("obtree", ours)] + [
        (f"obtree {splitter}", make_ours(splitter)) for splitter in available()
    ]


def measure_model(make_model, X, y, regression, args, seed):
    """Fit and predict once.

    Parameters
    ----------
    make_model : callable
        Makes an estimator of keyword arguments.
    X, y : ndarray
        Features and targets.
    regression : bool
        Whether the task is regression.
    args : argparse.Namespace
        Parsed arguments.
    seed : int
        Seed of split and forest.

    Returns
    -------
    figures : tuple of float
        Error, number of nodes, seconds of fit, seconds of predict.
    """
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=None if regression else y
    )
    model = make_model(n_estimators=args.n_estimators, n_jobs=args.n_jobs, random_state=seed)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    predicted = model.predict(X_test)
    end = time.perf_counter()
    measure = root_mean_squared_error if regression else zero_one_loss
    nodes = sum(child.tree_.node_count for child in model.estimators_)
    return measure(y_test, predicted), nodes, fitted - start, end - fitted


def format_row(name, label, figures, args, regression):
    """Return one line of the table.

    Parameters
    ----------
    name, label : str
        Data set and model.
    figures : sequence of float
        Result of `measure_model`.
    args : argparse.Namespace
        Parsed arguments.
    regression : bool
        Whether the task is regression.

    Returns
    -------
    line : str
    """
    error, nodes, fit_seconds, predict_seconds = figures
    shown = f"{error:.1f} RMSE" if regression else f"{100 * error:.1f} %"
    return LAYOUT.format(
        name,
        label,
        shown,
        args.n_estimators,
        round(nodes),
        f"{fit_seconds:.3f}",
        f"{predict_seconds:.3f}",
    )
