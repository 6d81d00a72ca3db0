"""Test error of forests by splitter, data set and number of trees.

    python benchmarks/accuracy.py --splitter co2 oc1 --data letter pendigits --bars
    python benchmarks/accuracy.py --splitter oc1 --data regression --trees 100 --bars
    python benchmarks/accuracy.py --splitter co2 --set preset=fast nu=30 --data letter
    python benchmarks/accuracy.py --splitter axis --forest rotation=pca --data classification

One forest is grown for each seed, with the largest number of trees; smaller ones are the
first trees of it. Data come with the split that is theirs, else a random fifth of the rows
(other for each seed) is for testing. Parameters are the defaults but for what is given;
classification uses entropy unless told otherwise. Data are found as ``obtree.bench.data``
describes.
"""

import argparse
import ast
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from bars import RMSE_BEST, RMSE_TREES, SECONDS, TIME, find_bar
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.bench.data import SOURCES, DataNotFoundError, load
from obtree.bench.measure import measure_error
from obtree.bench.report import format_error, format_table
from obtree.splitter.registry import resolve_splitter

REFERENCE = "scikit-learn"
CLASSIFICATION = ["letter", "pendigits", "satimage", "optdigits", "mnist", "connect4", "covertype"]
REGRESSION = [name for name, source in SOURCES.items() if source.regression]
GROUPS = {"classification": CLASSIFICATION, "regression": REGRESSION}


@dataclass
class Figures:
    """What was measured for one forest on one data set, a list entry for each seed."""

    errors: dict = field(default_factory=dict)  # by number of trees
    seconds: list = field(default_factory=list)  # of all cores together, per tree
    nodes: list = field(default_factory=list)  # per tree

    def error(self, n_trees):
        """Return the mean error at a number of trees."""
        return float(np.mean(self.errors[n_trees]))


def make_forest(splitter, regression, seed, args):
    """Return an unfitted forest.

    Parameters
    ----------
    splitter : str
        Name of a splitter, or "scikit-learn".
    regression : bool
        The task.
    seed : int
        Its random state.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    forest : estimator
    """
    common = {"n_estimators": max(args.trees), "n_jobs": args.n_jobs, "random_state": seed}
    if splitter == REFERENCE:
        return (RandomForestRegressor if regression else RandomForestClassifier)(**common)
    chosen = resolve_splitter(splitter)
    known = chosen.get_params()
    chosen.set_params(**{name: value for name, value in args.set if name in known})
    criterion = args.criterion or ("squared_error" if regression else "entropy")
    options = {"criterion": criterion, **common, **dict(args.forest)}
    forest = ObliqueForestRegressor if regression else ObliqueForestClassifier
    return forest(splitter=chosen, **options)


def measure_forest(splitter, data, args):
    """Fit a forest for each seed and test it at every size.

    Parameters
    ----------
    splitter, data : str
        Names.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    figures : Figures
    """
    figures = Figures({n_trees: [] for n_trees in args.trees})
    for seed in range(args.seeds):
        split = load(data, seed)
        forest = make_forest(splitter, split.regression, seed, args)
        start = time.process_time()
        forest.fit(split.X_train[: args.rows], split.y_train[: args.rows])
        figures.seconds.append((time.process_time() - start) / forest.n_estimators)
        trees = forest.estimators_
        figures.nodes.append(np.mean([tree.tree_.node_count for tree in trees]))
        for n_trees in args.trees:
            forest.estimators_ = trees[:n_trees]
            predicted = forest.predict(split.X_test)
            figures.errors[n_trees].append(measure_error(predicted, split.y_test))
        print(
            f"{data}, {splitter}, seed {seed}: "
            + ", ".join(
                f"{n} trees {format_error(figures.errors[n][-1], split.regression)}"
                for n in args.trees
            )
            + f", {figures.seconds[-1]:.4f} s/tree",
            file=sys.stderr,
        )
    return figures


def describe(data, splitter, n_trees, figures, reference, args):
    """Return the cells of one row of the table.

    Parameters
    ----------
    data, splitter : str
        Names.
    n_trees : int
        Size of the forest.
    figures : Figures
        What was measured.
    reference : Figures or None
        The same of scikit-learn's forest.
    args : argparse.Namespace
        Parsed arguments.

    Returns
    -------
    cells : list of str
    """
    regression = SOURCES[data].regression
    error = figures.error(n_trees)
    cells = [
        data,
        splitter,
        str(n_trees),
        format_error(error, regression),
        f"{np.std(figures.errors[n_trees]) * (1 if regression else 100):.2g}",
        f"{min(figures.seconds):.4f}",
        f"{np.mean(figures.nodes):.0f}",
    ]
    if reference is not None:
        cells.append(f"{error / reference.error(n_trees):.3f}x")
        cells.append(f"{min(figures.seconds) / min(reference.seconds):.2f}x")
    if args.bars:
        beside = reference.error(n_trees) if regression else None
        bar = find_bar(splitter, data, n_trees, beside)
        cells.append("-" if bar is None else judge(error, bar, format_error(bar, regression)))
    return cells


def judge(value, bar, shown):
    """Return whether a figure passes, in words.

    Parameters
    ----------
    value, bar : float
        The figure, and the largest that passes.
    shown : str
        The bar as people read it.

    Returns
    -------
    verdict : str
    """
    # A mean that equals the bar may be a rounding above it.
    return f"{'ok' if value <= bar * (1.0 + 1e-9) else 'ABOVE'} {shown}"


def describe_best(data, found):
    """Return a sentence on the bar that the best splitter has to reach, or None.

    Parameters
    ----------
    data : str
        Name.
    found : dict of str to Figures
        By splitter.

    Returns
    -------
    sentence : str or None
    """
    ours = {
        name: figures.error(RMSE_TREES)
        for name, figures in found.items()
        if name != REFERENCE and RMSE_TREES in figures.errors
    }
    if data not in RMSE_BEST or not ours:
        return None
    best = min(ours, key=ours.get)
    ratio = ours[best] / found[REFERENCE].error(RMSE_TREES)
    verdict = judge(ratio, RMSE_BEST[data], f"{RMSE_BEST[data]}x")
    return f"{data}: best is {best} at {ratio:.3f}x scikit-learn; {verdict}"


def describe_times(data, found):
    """Return sentences on the bars of time per tree.

    Parameters
    ----------
    data : str
        Name.
    found : dict of str to Figures
        By splitter.

    Returns
    -------
    sentences : list of str
    """
    sentences = []
    for splitter, figures in found.items():
        limit = SECONDS.get(splitter, {}).get(data)
        if limit is not None:
            seconds = min(figures.seconds)
            verdict = judge(seconds, limit, f"{limit} s")
            sentences.append(f"{data}: a tree of {splitter} takes {seconds:.1f} s; {verdict}")
        bar = TIME.get(splitter, {}).get(data)
        if bar is not None and REFERENCE in found:
            ratio = min(figures.seconds) / min(found[REFERENCE].seconds)
            verdict = judge(ratio, bar, f"{bar}x")
            sentences.append(
                f"{data}: a tree of {splitter} takes {ratio:.2f}x scikit-learn's; {verdict}"
            )
    return sentences


def parse_setting(text):
    """Split ``name=value``; the value is a Python literal, else a string.

    Parameters
    ----------
    text : str
        What stood on the command line.

    Returns
    -------
    setting : tuple of (str, object)
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


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
    add = parser.add_argument
    add("--splitter", nargs="+", default=["axis"], help="names (default: axis)")
    add("--data", nargs="+", default=["letter"], choices=[*GROUPS, *CLASSIFICATION, *REGRESSION])
    add("--trees", nargs="+", type=int, default=[10, 30, 100], help="sizes of the forest")
    add("--seeds", type=int, default=3, help="forests to average over (default: 3)")
    add("--criterion", help="impurity (default: entropy or squared_error)")
    add(
        "--set",
        nargs="+",
        type=parse_setting,
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the splitters that have them",
    )
    add(
        "--forest",
        nargs="+",
        type=parse_setting,
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the forests",
    )
    add("--rows", type=int, help="train on the first so many rows only")
    add("--n-jobs", type=int, default=1, help="threads (default: 1)")
    add("--reference", action="store_true", help="also scikit-learn's random forest")
    add("--bars", action="store_true", help="compare with the figures of bars.py")
    add("--markdown", action="store_true", help="draw the table as Markdown")
    args = parser.parse_args(argv)
    args.data = list(dict.fromkeys(name for key in args.data for name in GROUPS.get(key, [key])))
    return args


def print_accuracy(args):
    """Measure and print everything asked for.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    known = [resolve_splitter(splitter).get_params() for splitter in args.splitter]
    for name, _ in args.set:
        if not any(name in params for params in known):
            raise ValueError(f"none of the splitters has a parameter {name!r}")
    with_reference = args.reference or (
        args.bars and any(SOURCES[data].regression for data in args.data)
    )
    columns = ["data", "splitter", "trees", "test error", "s.d.", "s/tree", "nodes/tree"]
    columns += ["error ratio", "time ratio"] * with_reference + ["bar"] * args.bars
    rows, sentences = [], []
    for data in args.data:
        names = [REFERENCE] * with_reference + args.splitter
        found = {splitter: measure_forest(splitter, data, args) for splitter in names}
        for splitter, figures in found.items():
            for n_trees in args.trees:
                cells = describe(data, splitter, n_trees, figures, found.get(REFERENCE), args)
                rows.append(cells)
        if args.bars:
            sentences += describe_times(data, found)
            sentences += filter(None, [describe_best(data, found)])
    print(format_table(columns, rows, args.markdown))
    print(
        f"\nMeans of {args.seeds} seeds; s.d. of the seeds' errors; "
        "s/tree: processor time of the fastest fit."
    )
    for sentence in sentences:
        print(sentence)


def main():
    """Print what was asked for."""
    try:
        print_accuracy(parse_args())
    except (DataNotFoundError, ValueError) as error:
        sys.exit(f"accuracy: {error}")


if __name__ == "__main__":
    main()
