"""Seconds from Ctrl-C to KeyboardInterrupt, in every phase that may take long.

    python benchmarks/interrupt.py
    python benchmarks/interrupt.py --only rotation predict --bars

A process of its own runs each phase on large data, is sent the signal of Ctrl-C several times, at
other moments of the phase, and then has to fit and predict as if nothing had happened. With
``--bars`` the program fails when the exception takes more than a second to come. The largest
phase needs about 3 GB of memory. POSIX only.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import scipy.sparse as sp

import obtree
from obtree.data.dataset import Dataset
from obtree.tree.predict import Predictor

BAR = 1.0
DELAYS = (0.1, 0.4, 1.0, 2.5)


def draw(n_rows, n_features, kind=np.float32):
    """Random cells and two classes."""
    rng = np.random.default_rng(0)
    if kind == np.uint8:
        X = rng.integers(0, 256, size=(n_rows, n_features), dtype=np.uint8)
    else:
        X = rng.random(size=(n_rows, n_features), dtype=np.float32)
    return X, rng.integers(0, 2, size=n_rows)


def fit_small(**params):
    """A forest that predicts large data slowly."""
    X, y = draw(5000, 10)
    return obtree.ObliqueForestClassifier(100, random_state=0, n_jobs=2, **params).fit(X, y)


def encode_dense():
    X = draw(1_000_000, 200)[0]
    return lambda: Dataset(X, n_threads=2, keep_rows=True)


def encode_doubles():
    X = draw(1_000_000, 100)[0].astype(np.float64)
    return lambda: Dataset(X)


def encode_bytes():
    X = draw(2_000_000, 500, np.uint8)[0]
    return lambda: Dataset(X)


def encode_sparse():
    rng = np.random.default_rng(0)
    n_rows, n_columns, n_drawn = 2**24, 2000, 30_000
    rows = [np.unique(rng.integers(0, n_rows, size=n_drawn)) for _ in range(n_columns)]
    pointer = np.concatenate([[0], np.cumsum([len(some) for some in rows])])
    cells = rng.random(pointer[-1], dtype=np.float32)
    shape = (n_rows, n_columns)
    X = sp.csc_matrix((cells, np.concatenate(rows).astype(np.int32), pointer), shape=shape)
    return lambda: Dataset(X)


def fit(n_rows, n_features, make, kind=np.float32, **params):
    X, y = draw(n_rows, n_features, kind)
    model = make(random_state=0, n_jobs=2, **params)
    return lambda: model.fit(X, y)


def fit_forest(n_rows, n_features, **params):
    return fit(n_rows, n_features, obtree.ObliqueForestClassifier, n_estimators=10, **params)


def predict(method, n_rows=5_000_000, dtype=np.float32, **params):
    model = fit_small(**params)
    X = draw(n_rows, 10)[0].astype(dtype)
    return lambda: getattr(model, method)(X)


def predict_bytes():
    X, y = draw(5000, 50, np.uint8)
    model = obtree.ObliqueForestClassifier(200, splitter="axis", random_state=0).fit(X, y)
    X = draw(4_000_000, 50, np.uint8)[0]
    return lambda: model.predict_proba(X)


def predict_sparse():
    X, y = draw(5000, 20)
    X[X < 0.8] = 0.0
    model = obtree.ObliqueForestClassifier(200, splitter="axis", random_state=0).fit(X, y)
    X = draw(3_000_000, 20)[0]
    X[X < 0.8] = 0.0
    X = sp.csr_matrix(X)
    return lambda: model.predict_proba(X)


def predict_disjunctive():
    X, y = draw(2000, 10)
    model = obtree.DisjunctiveForestClassifier(5, n_epochs=1, random_state=0).fit(X, y)
    X = draw(2_000_000, 10)[0]
    return lambda: model.predict_proba(X)


def pack_forest():
    X, y = draw(60_000, 5)
    model = obtree.ObliqueForestClassifier(400, splitter="axis_random", random_state=0, n_jobs=2)
    trees = [tree.tree_ for tree in model.fit(X, y).estimators_]
    return lambda: Predictor(trees)


PHASES = {
    "encode, float32": encode_dense,
    "encode, float64": encode_doubles,
    "encode, bytes": encode_bytes,
    "encode, sparse": encode_sparse,
    "fit axis": lambda: fit_forest(1_000_000, 100, splitter="axis"),
    "fit random_oblique": lambda: fit_forest(1_000_000, 100, splitter="random_oblique"),
    "fit oc1": lambda: fit_forest(1_000_000, 50, splitter="oc1"),
    "fit co2": lambda: fit_forest(1_000_000, 100, splitter="co2"),
    "fit discriminant": lambda: fit_forest(1_000_000, 100, splitter="discriminant"),
    "rotation": lambda: fit_forest(1_000_000, 100, splitter="axis", rotation="pca"),
    "linear leaves": lambda: fit_forest(500_000, 50, splitter="axis", max_depth=3, leaf="linear"),
    "out-of-bag": lambda: fit_forest(
        1_000_000, 5, splitter="axis", max_depth=8, bootstrap=True, oob_score=True
    ),
    "fit TAO": lambda: fit(500_000, 100, obtree.TAOTreeClassifier),
    "fit TAO, wide": lambda: fit(200_000, 400, obtree.TAOForestClassifier, n_estimators=4),
    "fit non-greedy": lambda: fit(500_000, 100, obtree.NonGreedyTreeClassifier),
    "fit disjunctive": lambda: fit(500_000, 50, obtree.DisjunctiveTreeClassifier),
    "packing a forest": pack_forest,
    "predict_proba": lambda: predict("predict_proba", splitter="axis"),
    "predict_proba, float64": lambda: predict("predict_proba", dtype=np.float64, splitter="axis"),
    "predict_proba, co2": lambda: predict("predict_proba", splitter="co2"),
    "predict_proba, product": lambda: predict("predict_proba", combine="product"),
    "predict_proba, linear leaves": lambda: predict(
        "predict_proba", splitter="axis", leaf="linear", max_depth=5
    ),
    "predict_proba, bytes": predict_bytes,
    "predict_proba, sparse": predict_sparse,
    "predict": lambda: predict("predict", splitter="co2"),
    "apply": lambda: predict("apply", n_rows=2_000_000, splitter="co2"),
    "decision_path": lambda: predict("decision_path", n_rows=100_000, splitter="axis"),
    "disjunctive predict_proba": predict_disjunctive,
}


def run_phase(name):
    """In the child: say when the phase begins, and when the exception came."""
    run = PHASES[name]()
    for _ in DELAYS:
        try:
            print("begin", flush=True)
            run()
            print("ended", flush=True)
            # The signal may still be on its way.
            time.sleep(5)
        except KeyboardInterrupt:
            print(f"caught {time.monotonic()!r}", flush=True)
    X, y = draw(300, 5)
    model = obtree.ObliqueForestClassifier(3, splitter="axis", n_jobs=2, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (300, 2)
    assert not [thread for thread in threading.enumerate() if "obtree" in thread.name]
    print("healthy", flush=True)


def measure(name):
    """Seconds to the exception, for each delay; None where the phase was over by then."""
    command = [sys.executable, os.path.abspath(__file__), "--phase", name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = []
    try:
        for delay in DELAYS:
            if child.stdout.readline() != "begin\n":
                raise RuntimeError(f"{name}: the process failed")
            time.sleep(delay)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            line = child.stdout.readline().split()
            if line == ["ended"]:
                child.stdout.readline()
                found.append(None)
            else:
                found.append(float(line[1]) - sent)
        if child.communicate(timeout=120)[0] != "healthy\n" or child.returncode != 0:
            raise RuntimeError(f"{name}: not usable after an interruption")
    finally:
        child.kill()
        child.wait()
    return found


def main():
    """Print the seconds of each phase."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="phases with one of these words")
    parser.add_argument("--bars", action="store_true", help=f"fail above {BAR:g} s")
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.phase:
        run_phase(given.phase)
        return 0
    failed = []
    print(f"{'phase':30s}" + "".join(f" after {delay:3.1f} s" for delay in DELAYS))
    for name in PHASES:
        if not any(word in name for word in given.only):
            continue
        found = measure(name)
        cells = "".join("      over " if s is None else f"{s:9.2f} s" for s in found)
        print(f"{name:30s}{cells}", flush=True)
        if max((s for s in found if s is not None), default=0.0) > BAR:
            failed.append(name)
    if failed:
        print(f"above {BAR:g} s: {'; '.join(failed)}")
    return 1 if given.bars and failed else 0


if __name__ == "__main__":
    sys.exit(main())
