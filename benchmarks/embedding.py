"""Embeddings by forests against scikit-learn's, and the memory that proximities take.

Rolls: the Swiss roll and the S-curve of scikit-learn, 2,000 rows each, in two dimensions; printed
is the largest absolute rank correlation of a coordinate with the position along the roll. Tables:
the accuracy of five nearest neighbours, cross-validated in the two dimensions, for
`ForestEmbedding` and for scikit-learn's `SpectralEmbedding`, both with default parameters and
without labels; of the rows as they are, since the forest does without scaling, and for the peer
also of standardised ones. Proximities: of the first 50,000 rows of covertype with forests of 100
trees, axis and default, by kind; printed is by how much memory rises at most, in a process that
does nothing else.

    python benchmarks/embedding.py --bars
    python benchmarks/embedding.py --only tables --tables optdigits letter --rows 2000
    python benchmarks/embedding.py --only memory --bars

--bars says for each figure that has to be reached whether it is, and fails if one is not: a
correlation of 0.98, on digits more than the peer, and less than 2 GB.
"""

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from memory import measure_peak
from scipy.stats import spearmanr
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_s_curve,
    make_swiss_roll,
)
from sklearn.manifold import SpectralEmbedding
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from obtree import ForestEmbedding, ObliqueForestClassifier
from obtree.bench.data import load

ROLLS = {"swiss roll": make_swiss_roll, "s-curve": make_s_curve}
BUNDLED = {
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
}
KINDS = ("leaf", "oob", "gap")
PARTS = ("rolls", "tables", "memory")
LEAST_CORRELATION, MOST_BYTES = 0.98, 2 * 10**9


class Bars:
    """Collects what has to hold."""

    def __init__(self, wanted):
        self._wanted = wanted
        self.n_missed = 0

    def check(self, text, holds):
        """Print whether a bar holds."""
        if self._wanted:
            print(f"    {'reached' if holds else 'MISSED '}  {text}", flush=True)
            self.n_missed += not holds


def load_table(name, n_rows, seed):
    """Return rows and labels of a table, at most so many."""
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    data = load(name)
    rows = np.random.default_rng(seed).permutation(len(data.X_train))[:n_rows]
    return data.X_train[rows].astype(np.float64), data.y_train[rows]


def judge(embedding, y):
    """Return the accuracy of five neighbours in an embedding."""
    return cross_val_score(KNeighborsClassifier(5), embedding, y, cv=5).mean()


def run_rolls(bars, seeds, params):
    """Print correlations with the position along rolls."""
    for name, make in ROLLS.items():
        found = []
        for seed in seeds:
            X, position = make(2000, random_state=seed)
            started = time.perf_counter()
            embedding = ForestEmbedding(random_state=seed, **params).fit_transform(X)
            seconds = time.perf_counter() - started
            found.append(max(abs(spearmanr(column, position)[0]) for column in embedding.T))
        print(f"{name:14} correlation {' '.join(f'{x:.4f}' for x in found)}  {seconds:.1f} s")
        bars.check(
            f"{name}: {min(found):.4f} >= {LEAST_CORRELATION}", min(found) >= LEAST_CORRELATION
        )


def run_tables(bars, names, seeds, n_rows, params):
    """Print accuracies of neighbours in two dimensions."""
    for name in names:
        own, peer, scaled = [], [], []
        for seed in seeds:
            X, y = load_table(name, n_rows, seed)
            own.append(judge(ForestEmbedding(random_state=seed, **params).fit_transform(X), y))
            peer.append(judge(SpectralEmbedding(random_state=seed).fit_transform(X), y))
            Z = StandardScaler().fit_transform(X)
            scaled.append(judge(SpectralEmbedding(random_state=seed).fit_transform(Z), y))
        columns = (("forest", own), ("spectral", peer), ("standardised", scaled))
        text = "  ".join(f"{label} {np.mean(values):.4f}" for label, values in columns)
        print(f"{name:14} {text}", flush=True)
        if name == "digits":
            best = max(*peer, *scaled)
            bars.check(f"digits: {min(own):.4f} > {best:.4f}", min(own) > best)


def run_memory(bars):
    """Print what proximities take, each kind in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for splitter in ("axis", "auto"):
            file = Path(folder) / f"{splitter}.pickle"
            call_self("--fit", splitter, "--file", file)
            for kind in KINDS:
                n_bytes, n_entries, seconds = call_self("--measure", kind, "--file", file).split()
                size = int(n_bytes) / 1e6
                print(
                    f"splitter={splitter:5} kind={kind:5} {size:6.0f} MB for {n_entries} entries "
                    f"in {float(seconds):.1f} s",
                    flush=True,
                )
                bars.check(f"{size:.0f} MB < 2000 MB", int(n_bytes) < MOST_BYTES)


def call_self(*args):
    """Run this program in another process and return what it prints."""
    command = [sys.executable, __file__, *map(str, args)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def fit_forest(splitter, file):
    """Write a forest of 50,000 rows, and the rows."""
    data = load("covertype")
    X, y = data.X_train[:50_000], data.y_train[:50_000]
    forest = ObliqueForestClassifier(100, splitter=splitter, random_state=0).fit(X, y)
    file.write_bytes(pickle.dumps((forest, X)))


def measure(kind, file):
    """Print bytes, entries and seconds of the proximities of these rows."""
    forest, X = pickle.loads(file.read_bytes())
    found = []
    started = time.perf_counter()
    n_bytes = measure_peak(lambda: found.append(forest.proximity(X, kind=kind)))
    print(n_bytes, found[0].nnz, time.perf_counter() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=list(BUNDLED))
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    parser.add_argument("--bars", action="store_true")
    for name in ("--fit", "--measure", "--file"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit:
        fit_forest(args.fit, Path(args.file))
        return 0
    if args.measure:
        measure(args.measure, Path(args.file))
        return 0
    params = dict(item.split("=") for item in args.set)
    params = {name: int(text) if text.isdigit() else text for name, text in params.items()}
    bars = Bars(args.bars)
    if "rolls" in args.only:
        run_rolls(bars, range(args.seeds), params)
    if "tables" in args.only:
        run_tables(bars, args.tables, range(args.seeds), args.rows, params)
    if "memory" in args.only:
        run_memory(bars)
    return int(bars.n_missed > 0)


if __name__ == "__main__":
    sys.exit(main())
