"""Two threads against one while other processes have the cores.

    python benchmarks/busy_machine.py
    python benchmarks/busy_machine.py --only predict tao --bars

One process for each core does nothing but keep it busy. Every case runs with ``n_jobs=1`` and with
``n_jobs=2`` in turn; the fastest and the median run of each are compared. A second thread that
has to share the cores with strangers helps little. The question is whether it does harm: with
``--bars`` the program fails when the fastest run of two threads takes more than 1.5 times as
long as that of one.

``--idle`` leaves the cores alone: there, two threads should take about half the time on the cases
marked "large".
"""

import argparse
import functools
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

import obtree

BAR = 1.5
SHORT = 1.0  # seconds, for both, that runs are repeated at least
HOG = """
import time
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    for _ in range(100000):
        pass
"""


def draw_data(n_rows, n_features, n_classes=3, kind=np.float32, seed=0):
    """Classes that a few features tell apart, and the number behind them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X[:, : min(5, n_features)].sum(axis=1) + rng.normal(scale=0.5, size=n_rows)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    if kind == np.uint8:
        X = np.clip(X * 40 + 128, 0, 255).astype(np.uint8)
    if kind == "sparse":
        X[rng.random(X.shape) < 0.95] = 0.0
        X = sp.csr_matrix(X)
    return X, y, score


DATA = {
    "small": functools.partial(draw_data, 200, 10),
    "wide": functools.partial(draw_data, 50, 5000),
    "medium": functools.partial(draw_data, 4000, 20),
    "bytes": functools.partial(draw_data, 1000, 200, kind=np.uint8),
    "sparse": functools.partial(draw_data, 1000, 2000, kind="sparse"),
    "large": functools.partial(draw_data, 40000, 50),
    "large bytes": functools.partial(draw_data, 20000, 400, kind=np.uint8),
}


def list_models():
    """Name, constructor and the data that each is fitted to."""
    forest, partial = obtree.ObliqueForestClassifier, functools.partial
    tables = ("small", "wide", "medium", "bytes", "sparse")
    for splitter in ("axis", "axis_random", "random_oblique", "oc1", "co2", "discriminant"):
        some = tables if splitter in ("axis", "random_oblique") else ("small", "medium")
        yield splitter, partial(forest, 10, splitter=splitter), some
    yield "axis regression", partial(obtree.ObliqueForestRegressor, 10, splitter="axis"), tables
    yield "axis oob", partial(forest, 30, splitter="axis", oob_score=True), ("small", "medium")
    yield "rotation", partial(forest, 10, splitter="axis", rotation="pca"), ("small", "medium")
    linear = partial(forest, 10, splitter="axis", leaf="linear", max_depth=4)
    yield "linear leaves", linear, ("small", "medium")
    yield "one tree", obtree.ObliqueTreeClassifier, ("small", "medium")
    yield "TAO tree", obtree.TAOTreeClassifier, ("small", "medium", "bytes")
    yield "TAO regression", obtree.TAOTreeRegressor, ("small", "medium")
    yield "TAO forest", partial(obtree.TAOForestClassifier, 5), ("small", "medium")
    tree = partial(obtree.NonGreedyTreeClassifier, max_depth=4, n_epochs=3)
    yield "non-greedy tree", tree, ("small", "medium")
    several = partial(obtree.NonGreedyForestClassifier, 4, max_depth=4, n_epochs=3)
    yield "non-greedy forest", several, ("small",)
    yield "disjunctive tree", partial(obtree.DisjunctiveTreeClassifier, n_epochs=3), ("small",)
    several = partial(obtree.DisjunctiveForestClassifier, 4, n_epochs=3)
    yield "disjunctive forest", several, ("small", "medium")
    yield "axis", partial(forest, 50, splitter="axis"), ("large", "large bytes")
    yield "TAO tree", obtree.TAOTreeClassifier, ("large bytes",)


def has_threads(make):
    """Whether the estimator takes ``n_jobs``; a single greedy tree has no use for it."""
    return "n_jobs" in make().get_params()


def list_cases():
    """Yield the name of each case and a function that makes it, by number of threads."""
    for name, make, tables in list_models():
        if not has_threads(make):
            continue
        for table in tables:
            yield f"fit {name}, {table}", functools.partial(prepare_fit, make, table)
    models = {
        "axis": functools.partial(obtree.ObliqueForestClassifier, 100, splitter="axis"),
        "co2": functools.partial(obtree.ObliqueForestClassifier, 20, splitter="co2"),
        "disjunctive": functools.partial(obtree.DisjunctiveForestClassifier, 4, n_epochs=1),
    }
    for name, make in models.items():
        for n_rows in (100, 1000, 10_000):
            case = functools.partial(prepare_predict, make, n_rows, np.float32)
            yield f"predict_proba {name}, {n_rows} rows", case
    for kind, label in ((np.uint8, "bytes"), ("sparse", "sparse")):
        for n_rows in (100, 10_000):
            case = functools.partial(prepare_predict, models["axis"], n_rows, kind)
            yield f"predict_proba axis, {n_rows} rows, {label}", case
    case = functools.partial(prepare_predict, models["axis"], 200_000, np.float32)
    yield "predict_proba axis, large", case


def prepare_fit(make, table):
    """A function of ``n_jobs`` that fits a model."""
    X, y, score = DATA[table]()
    target = score if "Regressor" in type(make()).__name__ else y

    def run(n_jobs):
        make(random_state=0, n_jobs=n_jobs).fit(X, target)

    return run


def prepare_predict(make, n_rows, kind):
    """A function of ``n_jobs`` that predicts some rows."""
    X, y, _ = draw_data(2000, 20, kind=kind)
    model = make(random_state=0).fit(X, y)
    X = draw_data(n_rows, 20, kind=kind, seed=1)[0]

    def run(n_jobs):
        model.set_params(n_jobs=n_jobs).predict_proba(X)

    return run


def measure(run, repeats):
    """Seconds of both, in turn: {n_jobs: list}.

    A run of some milliseconds is either disturbed by a stranger's turn or it is not, so that short
    ones are repeated until the fastest of each is one that was not.
    """
    seconds = {1: [], 2: []}
    run(1)
    end = time.perf_counter() + SHORT
    while len(seconds[1]) < repeats or time.perf_counter() < end:
        for n_jobs in seconds:
            start = time.perf_counter()
            run(n_jobs)
            seconds[n_jobs].append(time.perf_counter() - start)
    return seconds


def start_hogs(limit):
    """One process a core that keeps it busy, and ends by itself after a time."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    command = [sys.executable, "-c", HOG.format(seconds=limit)]
    return [subprocess.Popen(command) for _ in range(n_cores)]


def main():
    """Print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="cases with one of these words")
    parser.add_argument("--repeats", type=int, default=9, help="least runs of each")
    parser.add_argument("--limit", type=float, default=900, help="seconds that it may take")
    parser.add_argument("--idle", action="store_true", help="start no other processes")
    parser.add_argument("--bars", action="store_true", help=f"fail above {BAR}")
    given = parser.parse_args()
    hogs = [] if given.idle else start_hogs(given.limit)
    failed = []
    end = time.monotonic() + given.limit
    try:
        print(f"{'case':44s} {'1 thread':>10s} {'2 threads':>10s} {'best':>6s} {'median':>7s}")
        for name, prepare in list_cases():
            if not any(word in name for word in given.only):
                continue
            if time.monotonic() > end:
                failed.append("the time is over")
                break
            seconds = measure(prepare(), given.repeats)
            best = min(seconds[2]) / min(seconds[1])
            median = statistics.median(seconds[2]) / statistics.median(seconds[1])
            one, two = (f"{1e3 * min(seconds[k]):7.2f} ms" for k in (1, 2))
            print(f"{name:44s} {one:>10s} {two:>10s} {best:6.2f} {median:7.2f}", flush=True)
            # Strangers disturb one run or the other; harm shows in both figures.
            if best > BAR:
                failed.append(name)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    if failed:
        print(f"above {BAR}: {'; '.join(failed)}")
    return 1 if given.bars and failed else 0


if __name__ == "__main__":
    sys.exit(main())
