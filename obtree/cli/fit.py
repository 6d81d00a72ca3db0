"""``obtree fit``: train a forest on a table and save it."""

import os
import time

from obtree.cli.table import CommandError, pick_column, read_table, to_numbers
from obtree.estimators import ObliqueForestClassifier, ObliqueForestRegressor, save_model

# Whole numbers with more distinct values than this are taken for a quantity.
MAX_CLASSES = 20


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
        "fit",
        help="train a forest on a CSV or Parquet file",
        description="Train a forest on a table of numbers and save it. Empty cells are "
        "missing values. The saved model is a plain file of arrays, safe to load.",
    )
    parser.add_argument("data", help="file of the training table (.csv, .tsv, .parquet)")
    parser.add_argument("--target", required=True, help="column to predict")
    parser.add_argument("--out", required=True, help="file to write the model to")
    parser.add_argument("--splitter", default="axis", help="how nodes are split (default: axis)")
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="auto: classification for text and for at most "
        f"{MAX_CLASSES} different whole numbers (default: auto)",
    )
    parser.add_argument("--n-estimators", type=int, default=100, help="trees (default: 100)")
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--verbose", action="store_true", help="show a progress bar")
    return parser


def run(args):
    """Train and save.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    folder = os.path.dirname(os.path.abspath(args.out))
    if not os.path.isdir(folder):  # known before hours of training, not after
        raise CommandError(f"no such folder: {folder}")
    frame = read_table(args.data)
    target = pick_column(frame, args.target, args.data)
    missing = target.isna().to_numpy(dtype=bool)
    if missing.any():
        raise CommandError(
            f"{args.data}: column {args.target!r}, data row {missing.argmax() + 1}: "
            "the target is missing"
        )
    features = to_numbers(frame.drop(columns=args.target), args.data)
    if features.shape[1] == 0:
        raise CommandError(f"{args.data} has no column beside the target {args.target!r}")
    task = guess_task(target) if args.task == "auto" else args.task
    if task == "regression":
        target = to_numbers(target.to_frame(), args.data)[args.target]
    kind = ObliqueForestClassifier if task == "classification" else ObliqueForestRegressor
    forest = kind(
        args.n_estimators,
        splitter=args.splitter,
        n_jobs=args.n_jobs,
        random_state=args.seed,
        verbose=int(args.verbose),
    )
    start = time.perf_counter()
    forest.fit(features, target.to_numpy())
    seconds = time.perf_counter() - start
    save_model(args.out, forest)
    nodes = sum(child.tree_.node_count for child in forest.estimators_)
    print(
        f"{task} of {args.target!r} from {features.shape[1]} columns, {len(features)} rows: "
        f"{args.n_estimators} trees, {nodes} nodes, {seconds:.2f} s -> {args.out}"
    )


def guess_task(target):
    """Tell whether a column holds classes or quantities.

    Parameters
    ----------
    target : pandas.Series
        Column to predict.

    Returns
    -------
    task : {"classification", "regression"}
    """
    if target.dtype.kind in "iu" and target.nunique() <= MAX_CLASSES:
        return "classification"
    return "regression" if target.dtype.kind in "iuf" else "classification"
