"""``obtree fit``: train a tree or forest on a table and save it."""

import time

from obtree.cli.features import read_features
from obtree.cli.models import ESTIMATORS, check_estimator, make_estimator
from obtree.cli.source import CommandError
from obtree.cli.table import add_reading_options, read_table
from obtree.cli.target import MAX_CLASSES, read_target
from obtree.core.files import check_target
from obtree.estimators import save_model


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
        help="train a tree or forest on a CSV or Parquet file",
        description="Train a tree or forest on a table and save it. Columns of text are categories "
        "(for tree and forest), empty cells are missing values. The saved model is a plain file of "
        "arrays, safe to load.",
    )
    parser.add_argument(
        "data", help="file of the training table (.csv, .tsv, .parquet), or - for standard input"
    )
    parser.add_argument("--target", required=True, help="column to predict")
    parser.add_argument("--out", required=True, help="file to write the model to")
    parser.add_argument(
        "--estimator",
        default="forest",
        metavar="NAME",
        help=f"what to train: {', '.join(ESTIMATORS)} (default: forest)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a parameter of the estimator, or of its splitter as splitter__NAME; may be given "
        "again and again. Values are read as Python writes them, other text as it is",
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="auto: classification for text and for at most "
        f"{MAX_CLASSES} different whole numbers (default: auto)",
    )
    parser.add_argument(
        "--splitter",
        help="how nodes are split; for estimators that improve a tree, how that is grown "
        "(default: the estimator's own, auto for forest: several race)",
    )
    parser.add_argument(
        "--n-estimators", type=int, help="trees (default: the estimator's own, 100 for forest)"
    )
    parser.add_argument("--n-jobs", type=int, help="threads (default: all cores)")
    parser.add_argument("--seed", type=int, help="random seed (default: 0)")
    parser.add_argument("--verbose", action="store_true", help="show a progress bar")
    add_reading_options(parser)
    return parser


def run(args):
    """Train and save.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    check_target(args.out)  # known before hours of training, not after
    check_estimator(args.estimator)
    table = read_table(args.data, args.separator, args.encoding, args.decimal)
    task, target = read_target(table, args.target, args.task)
    features = table.frame.drop(columns=args.target)
    if features.shape[1] == 0:
        raise CommandError(
            f"{table.label} has no column beside the target {args.target!r}{table.hint()}"
        )
    options = {
        "--splitter": args.splitter,
        "--n-estimators": args.n_estimators,
        "--n-jobs": args.n_jobs,
        "--seed": args.seed,
        "--verbose": 1 if args.verbose else None,
    }
    model = make_estimator(args.estimator, task, options, args.settings)
    features = read_features(features, table.label, model)
    start = time.perf_counter()
    model.fit(features, target)
    seconds = time.perf_counter() - start
    save_model(model, args.out)
    print(
        f"{task} of {args.target!r} from {features.shape[1]} columns, {len(features)} rows: "
        f"{describe_size(model)}, {seconds:.2f} s -> {args.out}"
    )


def describe_size(model):
    """Put the size of a model into words.

    Parameters
    ----------
    model : estimator object
        Fitted.

    Returns
    -------
    text : str
    """
    trees = model._list_trees()
    text = "1 tree" if len(trees) == 1 else f"{len(trees)} trees"
    counts = [getattr(tree, "node_count", None) for tree in trees]
    return text if None in counts else f"{text}, {sum(counts)} nodes"
