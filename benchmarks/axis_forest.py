"""Axis-aligned forests against scikit-learn's: time, error and peak memory.

    python benchmarks/axis_forest.py                  # four data sets
    python benchmarks/axis_forest.py --only letter --repeats 9
    python benchmarks/axis_forest.py --plain --intelex   # more columns to compare with
    python benchmarks/axis_forest.py --scaling        # fit time against rows
    python benchmarks/axis_forest.py --million        # memory of a large fit

Both sides have default parameters, the same number of trees and of threads. Each
library runs in a process of its own; the processes take turns, and of several runs
the fastest counts, so the ratios can be trusted on a machine that has other work too.
Data are found as ``obtree.bench.data`` describes.
"""

import argparse
import contextlib
import sys
from dataclasses import dataclass

import numpy as np
from client import WorkerError, WorkerProcess

from obtree.bench.report import format_error, format_table

REFERENCE = "scikit-learn"
N_SEEDS = 3
N_PREDICTS = 3  # timed predictions after each fit
MEGABYTE = 2**20


@dataclass(frozen=True)
class Case:
    """A data set and the size of the forest grown on it."""

    label: str
    n_estimators: int
    regression: bool = False


CASES = {
    "letter": Case("Letter, 15,000 x 16", 100),
    "mnist": Case("MNIST, 60,000 x 784", 50),
    "california_housing": Case("California housing, 16,512 x 8", 100, regression=True),
    "covertype": Case("Covertype, 100,000 x 54", 50),
}
SCALING_ROWS = (50_000, 100_000, 200_000, 400_000)
SMALL_FOREST = 10


def compare_case(name, libraries, args):
    """Measure all libraries on one data set.

    Parameters
    ----------
    name : str
        Key of `CASES`.
    libraries : list of str
        Names that `WorkerProcess` knows.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    figures : dict of str to dict
        By library: "fit" and "predict" (best seconds), "error" (mean over seeds) and
        "peak" (bytes).
    """
    params = {"n_estimators": args.trees or CASES[name].n_estimators, "n_jobs": args.n_jobs}
    fits = {library: [] for library in libraries}
    predicts = {library: [] for library in libraries}
    errors = {library: [] for library in libraries}
    with contextlib.ExitStack() as stack:
        workers = {library: stack.enter_context(WorkerProcess(library)) for library in libraries}
        for repeat in range(max(args.repeats, N_SEEDS)):
            seed = repeat % N_SEEDS
            for library, worker in workers.items():
                worker.ask("load", data=name, seed=seed)
                fits[library].append(worker.ask("fit", random_state=seed, **params)["seconds"])
            for _ in range(N_PREDICTS):
                for library, worker in workers.items():
                    predicts[library].append(worker.ask("predict")["seconds"])
            if repeat < N_SEEDS:
                for library, worker in workers.items():
                    errors[library].append(worker.ask("score")["error"])
    return {
        library: {
            "fit": min(fits[library]),
            "predict": min(predicts[library]),
            "error": float(np.mean(errors[library])),
            "peak": measure_fit_memory(library, name, params)["peak_bytes"],
        }
        for library in libraries
    }


def measure_fit_memory(library, name, params):
    """Fit once in a fresh process.

    Parameters
    ----------
    library, name : str
        Library and data set.
    params : dict
        Parameters of the forest.

    Returns
    -------
    figures : dict
        "bytes" of X and "peak_bytes" above what was resident before.
    """
    with WorkerProcess(library) as worker:
        size = worker.ask("load", data=name)
        return {**size, **worker.ask("fit_memory", random_state=0, **params)}


def print_comparison(args):
    """Print time, error and memory of every data set.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    libraries = [REFERENCE, "obtree"]
    libraries += ["obtree plain"] * args.plain + ["intelex"] * args.intelex
    columns = ["data", "trees", "forest", "fit s", "faster", "predict s", "faster"]
    columns += ["test error", "peak MB"]
    rows = []
    for name in args.only or CASES:
        case = CASES[name]
        print(f"measuring {name} ...", file=sys.stderr)
        figures = compare_case(name, libraries, args)
        base = figures[REFERENCE]
        for library, found in figures.items():
            rows.append(
                [
                    case.label,
                    str(args.trees or case.n_estimators),
                    library,
                    f"{found['fit']:.3f}",
                    f"{base['fit'] / found['fit']:.1f}x",
                    f"{found['predict']:.4f}",
                    f"{base['predict'] / found['predict']:.1f}x",
                    format_error(found["error"], case.regression),
                    f"{found['peak'] / MEGABYTE:.0f}",
                ]
            )
    print(format_table(columns, rows, args.markdown))
    print(
        f"\nDefault parameters, {args.n_jobs} threads, libraries in turn, fastest of "
        f"{max(args.repeats, N_SEEDS)} fits; error: mean of {N_SEEDS} seeds; "
        "peak: memory of fit beyond the data."
    )


def print_scaling(args):
    """Print fit time against the number of rows, and the exponent.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    params = {"n_estimators": args.trees or SMALL_FOREST, "n_jobs": args.n_jobs}
    libraries = [REFERENCE, "obtree"]
    seconds = {library: {n: [] for n in SCALING_ROWS} for library in libraries}
    with contextlib.ExitStack() as stack:
        workers = {library: stack.enter_context(WorkerProcess(library)) for library in libraries}
        for worker in workers.values():
            worker.ask("load", data="covertype", n_train=max(SCALING_ROWS))
        for repeat in range(args.repeats):
            for n_rows in SCALING_ROWS:
                for library, worker in workers.items():
                    answer = worker.ask("fit", n_rows=n_rows, random_state=repeat, **params)
                    seconds[library][n_rows].append(answer["seconds"])
    columns = ["forest", *(f"{n:,} rows" for n in SCALING_ROWS), "exponent"]
    rows = []
    for library in libraries:
        best = [min(seconds[library][n]) for n in SCALING_ROWS]
        exponent = np.polyfit(np.log(SCALING_ROWS), np.log(best), 1)[0]
        rows.append([library, *(f"{value:.3f} s" for value in best), f"{exponent:.2f}"])
    print(f"Fit of {params['n_estimators']} trees on Covertype, {args.n_jobs} threads.\n")
    print(format_table(columns, rows, args.markdown))


def print_million(args):
    """Print time and memory of a fit on 1,000,000 x 20 numbers.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    params = {"n_estimators": args.trees or SMALL_FOREST, "n_jobs": args.n_jobs}
    columns = ["forest", "fit s", "test error", "peak MB", "peak / X"]
    rows = []
    for library in ("obtree",) if args.alone else (REFERENCE, "obtree"):
        with WorkerProcess(library) as worker:
            size = worker.ask("load", data="million")
            peak = worker.ask("fit_memory", random_state=0, **params)["peak_bytes"]
            error = worker.ask("score")["error"]
            seconds = [
                worker.ask("fit", random_state=0, **params)["seconds"] for _ in range(args.repeats)
            ]
        rows.append(
            [
                library,
                f"{min(seconds):.2f}",
                format_error(error, regression=False),
                f"{peak / MEGABYTE:.0f}",
                f"{peak / size['bytes']:.2f}",
            ]
        )
    print(
        f"Fit of {params['n_estimators']} trees on 1,000,000 x 20 float32 "
        f"({size['bytes'] / MEGABYTE:.0f} MB), {args.n_jobs} threads.\n"
        "Peak: memory of fit beyond the data, the forest included.\n"
    )
    print(format_table(columns, rows, args.markdown))


def parse_args(argv=None):
    """Read the command line.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None reads those of the process.

    Returns
    -------
    args : argparse.Namespace
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(CASES), help="some data sets only")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--trees", type=int, help="trees, instead of each data set's number")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (default: 2)")
    parser.add_argument("--plain", action="store_true", help="also obtree held to plain C")
    parser.add_argument("--intelex", action="store_true", help="also scikit-learn-intelex")
    parser.add_argument("--scaling", action="store_true", help="fit time against rows")
    parser.add_argument("--million", action="store_true", help="memory of a large fit")
    parser.add_argument(
        "--alone", action="store_true", help="with --million: leave out scikit-learn, which is slow"
    )
    parser.add_argument("--markdown", action="store_true", help="draw tables as Markdown")
    return parser.parse_args(argv)


def main():
    """Print what was asked for."""
    args = parse_args()
    try:
        if args.scaling:
            print_scaling(args)
        if args.million:
            print_million(args)
        if not args.scaling and not args.million:
            print_comparison(args)
    except WorkerError as error:
        sys.exit(f"axis_forest: {error}")


if __name__ == "__main__":
    main()
