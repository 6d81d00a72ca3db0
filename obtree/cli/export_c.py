"""``obtree export-c``: write a saved model as C."""

import os
import sys

from obtree.cli.source import CommandError
from obtree.core.files import replace_file
from obtree.estimators import load_model
from obtree.export import to_c


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
        "export-c",
        help="write a saved model as one file of C",
        description="Write a saved tree or forest as one file of C99 that predicts the same, "
        "without dependencies and without allocating memory.",
    )
    parser.add_argument("model", help="file written by 'obtree fit' or obtree.save_model")
    parser.add_argument("--out", help="file to write to (default: standard output)")
    parser.add_argument(
        "--prefix", default="obtree", help="what all names begin with (default: obtree)"
    )
    parser.add_argument(
        "--no-proba", action="store_true", help="classes only, which takes less memory"
    )
    parser.add_argument(
        "--allow-plugins",
        action="store_true",
        help="import a splitter of another package that the model names; see 'obtree predict'",
    )
    return parser


def run(args):
    """Load, and write.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    if not os.path.isfile(args.model):
        raise CommandError(f"no such file: {args.model}")
    model = load_model(args.model, allow_plugins=args.allow_plugins)
    try:
        source = to_c(model, prefix=args.prefix, proba=not args.no_proba)
    except TypeError as error:
        raise CommandError(f"{args.model}: {error}") from None
    if args.out is None:
        sys.stdout.write(source)
        return
    with replace_file(args.out) as stream:
        stream.write(source.encode("ascii"))
