"""``obtree bench``: experiments of the papers, and our forests beside other libraries'."""

from obtree.bench.run import EXPERIMENTS, NothingMeasuredError, run_experiment
from obtree.cli.source import CommandError


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
        "bench",
        help="re-run experiments of the papers, beside their published figures",
        description="Measure, print and write tables (CSV and Markdown) and figures. Results are "
        "written as they come; the same command goes on where an interrupted one stopped. Data "
        "come from the folder that OBTREE_DATA names (<name>.npz), else from OpenML; those of "
        "the experiment tables from the folder --tables.",
    )
    parser.add_argument(
        "experiment",
        choices=EXPERIMENTS,
        metavar="experiment",
        help="; ".join(f"{name}: {each.summary}" for name, each in EXPERIMENTS.items()),
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="few rows, trees and seeds: minutes, not hours")
    add("--output", default="bench", metavar="DIR", help="folder of results (default: bench)")
    add("--seeds", "--splits", type=int, help="models, or random splits, to average over")
    add(
        "--trees",
        type=int,
        nargs="+",
        help="sizes of the forests; dnrf-tables, unified-figures and peers use the largest",
    )
    add(
        "--tables",
        metavar="DIR",
        help="folder of c_*.npz and r_*.npz for the experiment tables (default: the one that "
        "OBTREE_TABLES names, else the folder suite beside the one that OBTREE_DATA names)",
    )
    add("--only", nargs="+", metavar="DATASET", help="data sets (default: all)")
    add("--models", nargs="+", metavar="MODEL", help="models, as in the tables (default: all)")
    add("--n-jobs", type=int, default=-1, help="threads (default: all cores)")
    add("--report", action="store_true", help="measure nothing; show what earlier runs found")
    add("--fresh", action="store_true", help="throw earlier results in the folder away")
    add("--no-figures", action="store_true", help="tables only")
    return parser


def run(args):
    """Run one experiment.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    experiment = EXPERIMENTS[args.experiment]
    plan = experiment.make_plan(
        args.output,
        args.quick,
        args.seeds,
        args.trees,
        args.only,
        args.n_jobs,
        args.tables,
        measuring=not args.report,
    )
    if args.fresh and args.report:
        raise CommandError("--fresh and --report contradict each other; expected one of them")
    try:
        paths = run_experiment(
            experiment,
            plan,
            models=args.models,
            fresh=args.fresh,
            figures=not args.no_figures,
            only_report=args.report,
            required=args.only or (),
        )
    except NothingMeasuredError as error:
        raise CommandError(str(error)) from error
    print("written: " + ", ".join(str(path) for path in paths))
