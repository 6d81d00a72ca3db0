"""Prediction, and what precedes it."""

import pickle

from benchmarks.common import make_forest
from benchmarks.datasets import load_split


class PredictForest:
    """Many rows at once."""

    param_names = ("data", "n_jobs")
    params = (["synthetic", "synthetic_regression"], [1, 2])

    def setup(self, data, n_jobs):
        X_train, self.X, y_train, _ = load_split(data)
        self.model = make_forest(data, n_jobs=n_jobs).fit(X_train, y_train)
        self.model.predict(self.X[:1])  # packs the nodes

    def time_predict(self, data, n_jobs):
        self.model.predict(self.X)

    def time_apply(self, data, n_jobs):
        self.model.apply(self.X)

    def peakmem_predict(self, data, n_jobs):
        self.model.predict(self.X)


class PredictOblique:
    """Trees whose nodes have several terms: a few, all features, or products."""

    param_names = ("splitter",)
    params = (["two_probe", "oc1", "conic"],)

    def setup(self, splitter):
        X_train, self.X, y_train, _ = load_split("digits")
        self.model = make_forest("digits", splitter=splitter).fit(X_train, y_train)
        self.model.predict(self.X[:1])

    def time_apply(self, splitter):
        self.model.apply(self.X)


class PredictOneRow:
    """One row a call, as a service would."""

    param_names = ("data",)
    params = (["digits"],)

    def setup(self, data):
        X_train, X_test, y_train, _ = load_split(data)
        self.model = make_forest(data).fit(X_train, y_train)
        self.row = X_test[:1]
        self.model.predict(self.row)

    def time_predict(self, data):
        self.model.predict(self.row)


class LoadForest:
    """A forest from its bytes to the first prediction; and the number of bytes."""

    def setup(self):
        X_train, X_test, y_train, _ = load_split("synthetic")
        self.saved = pickle.dumps(make_forest("synthetic").fit(X_train, y_train))
        self.row = X_test[:1]

    def time_load_and_predict(self):
        pickle.loads(self.saved).predict(self.row)

    def track_bytes(self):
        return len(self.saved)

    track_bytes.unit = "bytes"
