"""Forests: by splitter, by threads, on sparse and on incomplete data."""

import numpy as np
import scipy.sparse as sp

from benchmarks.common import FitBenchmark, make_forest
from benchmarks.datasets import LARGE, load_split
from obtree.splitter import DiscriminantSplitter, available

AXIS = ["axis", "axis_random"]
# What takes longer for a node gets fewer rows and trees, so that all of it stays quick.
FEW_TREES = 4


class FitForest(FitBenchmark):
    """Default parameters, axis splits."""

    param_names = ("data", "splitter")
    params = (["digits", "synthetic_regression"], AXIS)

    def make_model(self, data, splitter):
        return make_forest(data, splitter=splitter)


class FitObliqueForest(FitBenchmark):
    """Default parameters, every other splitter there is."""

    param_names = ("data", "splitter")
    params = (["digits", "small_regression"], sorted(set(available()) - set(AXIS)))

    def make_model(self, data, splitter):
        return make_forest(data, FEW_TREES, splitter=splitter)


class FitNodeModels(FitBenchmark):
    """Every model of the discriminant splitter."""

    param_names = ("data", "method")
    params = (["digits"], ["ridge", "lda", "logistic"])

    def make_model(self, data, method):
        return make_forest(data, FEW_TREES, splitter=DiscriminantSplitter(method))


class FitRotationForest(FitBenchmark):
    """Axis splits of rotated features."""

    param_names = ("data",)
    params = (["digits"],)

    def make_model(self, data):
        return make_forest(data, rotation="pca")


class FitForestThreads:
    """The same forest by one thread and by two."""

    param_names = ("n_jobs",)
    params = ([1, 2],)

    def setup(self, n_jobs):
        self.X_train, _, self.y_train, _ = load_split("synthetic")
        self.model = make_forest("synthetic", n_jobs=n_jobs)

    def time_fit(self, n_jobs):
        self.model.fit(self.X_train, self.y_train)


class FitForestLarge(FitBenchmark):
    """Larger data, when there are any."""

    param_names = ("data",)
    params = (list(LARGE),)
    timeout = 900

    def make_model(self, data):
        return make_forest(data, n_jobs=2)


class FitForestSparse:
    """A table with five percent of non-zeros, as sparse and as dense matrix."""

    param_names = ("layout",)
    params = (["dense", "csc"],)

    def setup(self, layout):
        rng = np.random.default_rng(0)
        table = sp.random(5_000, 400, 0.05, format=layout if layout != "dense" else "csr", rng=rng)
        table = table.astype(np.float32)
        weight = rng.standard_normal(400)
        self.y = (table @ weight > 0).astype(int)
        self.X = table.toarray() if layout == "dense" else table
        self.model = make_forest("sparse")

    def time_fit(self, layout):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, layout):
        self.model.fit(self.X, self.y)


class FitForestMissing:
    """A fifth of all cells missing."""

    def setup(self):
        self.X, _, self.y, _ = load_split("synthetic")
        self.X = self.X.copy()
        self.X[np.random.default_rng(0).random(self.X.shape) < 0.2] = np.nan
        self.model = make_forest("synthetic")

    def time_fit(self):
        self.model.fit(self.X, self.y)
