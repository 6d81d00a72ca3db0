"""Forests of random oblique trees against other packages: time and error.

    python benchmarks/oblique_peers.py                        # Letter, two threads
    python benchmarks/oblique_peers.py --data letter pendigits --repeats 9
    python benchmarks/oblique_peers.py --libraries scikit-learn "random oblique" --n-jobs 1

Compared are scikit-learn's random forest, our ``random_oblique`` splitter, treeple's
ObliqueRandomForestClassifier and the sparse oblique splits of YDF with as many projections
as there are features. All have default parameters otherwise, the same number of trees and
of threads. Each runs in a process of its own; the processes take turns, and of several runs
the fastest counts. treeple, which needs an older scikit-learn, and YDF are installed into
virtual environments in the user's cache folder on first use.
Data are found as ``obtree.bench.data`` describes.
"""

import argparse
import contextlib
import sys

import numpy as np
from client import WorkerError, WorkerProcess

from obtree.bench.report import format_error, format_table

OURS = "random oblique"
LIBRARIES = ["scikit-learn", OURS, "treeple", "ydf"]
N_SEEDS = 3


def compare(data, args):
    """Measure all libraries on one data set.

    Parameters
    ----------
    data : str
        A name that ``obtree.bench.data`` knows.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    figures : dict of str to tuple of float
        By library: best seconds to fit, mean error.
    """
    seconds = {library: [] for library in args.libraries}
    errors = {library: [] for library in args.libraries}
    params = {"n_estimators": args.trees, "n_jobs": args.n_jobs}
    with contextlib.ExitStack() as stack:
        workers = {
            library: stack.enter_context(WorkerProcess(library)) for library in args.libraries
        }
        for worker in workers.values():  # what is loaded on first use counts for nobody
            worker.ask("load", data=data)
            worker.ask("fit", n_rows=500, random_state=0, **{**params, "n_estimators": 2})
        for repeat in range(max(args.repeats, N_SEEDS)):
            seed = repeat % N_SEEDS
            for library, worker in workers.items():
                worker.ask("load", data=data, seed=seed)
                answer = worker.ask("fit", random_state=seed, **params)
                seconds[library].append(answer["seconds"])
                if repeat < N_SEEDS:
                    errors[library].append(worker.ask("score")["error"])
    return {
        library: (min(seconds[library]), float(np.mean(errors[library])))
        for library in args.libraries
    }


def make_parser():
    """Return the parser of the command line."""
    description, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", nargs="+", default=["letter"], help="data sets")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--trees", type=int, default=100, help="trees (default: 100)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads (default: 2)")
    parser.add_argument("--markdown", action="store_true", help="draw the table as Markdown")
    return parser


def main():
    """Print one row for each data set and library."""
    args = make_parser().parse_args()
    rows = []
    try:
        for data in args.data:
            print(f"measuring {data} ...", file=sys.stderr)
            figures = compare(data, args)
            ours = figures.get(OURS, (np.nan, np.nan))[0]
            for library, (fit, error) in figures.items():
                ratio = f"{fit / ours:.2f}x"
                rows.append([data, library, f"{fit:.3f}", ratio, format_error(error, False)])
    except WorkerError as error:
        sys.exit(f"oblique_peers: {error}")
    print(format_table(["data", "forest", "fit s", "of ours", "test error"], rows, args.markdown))
    print(
        f"\n{args.trees} trees, {args.n_jobs} threads, libraries in turn, fastest of "
        f"{max(args.repeats, N_SEEDS)} fits; error: mean of {N_SEEDS} seeds."
    )


if __name__ == "__main__":
    main()
