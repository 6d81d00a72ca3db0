"""A process that holds one library and one data set, and measures on request.

Comparisons run each library in a process of its own, so that neither sees the other's
threads or memory, and ask the processes in turn, so that both sides meet the same load
of the machine. A request is one line of JSON on standard input, the answer one line of
JSON on what was standard output::

    {"do": "load", "data": "letter", "seed": 0}     -> {"rows": 15000, ...}
    {"do": "fit", "n_estimators": 100, "n_jobs": 2, "seed": 0} -> {"seconds": ...}
    {"do": "predict"}                               -> {"seconds": ...}
    {"do": "score"}                                 -> {"error": ...}

Run as a script, with the name of the library and the folder of ``obtree.bench`` as arguments.
It needs NumPy, scikit-learn and the library, nothing else: what it uses of that folder is read
file by file, since the environment of another library has no obtree.
"""

import functools
import gc
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from memory import measure_peak

WARM_UP_ROWS = 100


def read_module(name):
    """Load a file of ``obtree.bench`` that needs nothing of obtree.

    Parameters
    ----------
    name : str
        Name of the module.

    Returns
    -------
    module : module
    """
    spec = importlib.util.spec_from_file_location(name, Path(sys.argv[2]) / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def import_forests(library):
    """Return the forest classes of a library.

    Parameters
    ----------
    library : {"obtree", "random oblique", "scikit-learn", "intelex", "treeple", "ydf"}
        What to import. "random oblique" is obtree with that splitter.

    Returns
    -------
    classes : tuple of (classifier class, regressor class)
    """
    if library == "obtree":
        from obtree import ObliqueForestClassifier, ObliqueForestRegressor

        return tuple(
            functools.partial(kind, splitter="axis")
            for kind in (ObliqueForestClassifier, ObliqueForestRegressor)
        )
    if library == "scikit-learn":
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        return RandomForestClassifier, RandomForestRegressor
    if library == "intelex":
        from sklearnex.ensemble import RandomForestClassifier, RandomForestRegressor

        return RandomForestClassifier, RandomForestRegressor
    if library == "random oblique":
        from obtree import ObliqueForestClassifier, ObliqueForestRegressor

        return (
            functools.partial(ObliqueForestClassifier, splitter="random_oblique"),
            functools.partial(ObliqueForestRegressor, splitter="random_oblique"),
        )
    if library == "treeple":
        from treeple.ensemble import ObliqueRandomForestClassifier, ObliqueRandomForestRegressor

        return ObliqueRandomForestClassifier, ObliqueRandomForestRegressor
    if library == "ydf":
        return read_module("ydf_forest").YdfForest, None
    raise ValueError(f"unknown library {library!r}")


class Bench:
    """What a worker can be asked; each public method is a request.

    Parameters
    ----------
    library : str
        See `import_forests`.
    """

    def __init__(self, library):
        self.classes = import_forests(library)
        self.loader = read_module("data")
        self.loaded = None
        self.split = None
        self.forest = None

    def load(self, data, seed=0, n_train=None):
        """Load a data set, unless it is the one at hand."""
        if self.loaded != (data, seed, n_train):
            self.forest = self.split = None
            self.split = self.loader.load(data, seed, n_train)
            self.loaded = (data, seed, n_train)
        return {
            "rows": len(self.split.y_train),
            "test_rows": len(self.split.y_test),
            "columns": self.split.X_train.shape[1],
            "bytes": self.split.X_train.nbytes,
        }

    def fit(self, n_rows=None, **params):
        """Fit a forest on the first rows and keep it."""
        X, y = self.split.X_train[:n_rows], self.split.y_train[:n_rows]
        self.forest = None
        gc.collect()
        forest = self.classes[self.split.regression](**params)
        start = time.perf_counter()
        forest.fit(X, y)
        seconds = time.perf_counter() - start
        self.forest = forest
        return {"seconds": seconds}

    def fit_memory(self, **params):
        """Fit once and tell how far memory rose above what it was before.

        A tiny fit comes first: code that is loaded on first use counts for nobody.
        """
        self.fit(n_rows=WARM_UP_ROWS, **{**params, "n_estimators": 1})
        peak = measure_peak(lambda: self.fit(**params))
        return {"peak_bytes": peak}

    def predict(self):
        """Predict the test rows."""
        start = time.perf_counter()
        self.forest.predict(self.split.X_test)
        return {"seconds": time.perf_counter() - start}

    def score(self):
        """Return the test error: a fraction of wrong classes, or the RMSE."""
        predicted = self.forest.predict(self.split.X_test)
        if self.split.regression:
            error = np.sqrt(np.mean((predicted - self.split.y_test) ** 2))
        else:
            error = np.mean(predicted != self.split.y_test)
        return {"error": float(error)}


def main():
    """Answer requests until standard input ends."""
    # Libraries may print; the channel of answers must hold answers only.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    bench = Bench(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(bench, request.pop("do"))(**request)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=channel, flush=True)


if __name__ == "__main__":
    main()
