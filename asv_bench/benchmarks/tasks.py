"""Tasks beside classes and means: distributions, densities, proximities, embeddings, few labels."""

import numpy as np

from benchmarks.datasets import load_split
from obtree import (
    DensityForest,
    FernClassifier,
    ForestEmbedding,
    ObliqueForestRegressor,
    SemiSupervisedForestClassifier,
)

N_TREES = 20


class PredictQuantiles:
    """Quantiles by the training rows that share leaves."""

    def setup(self):
        X, self.X, y, self.y = load_split("synthetic_regression")
        self.model = ObliqueForestRegressor(N_TREES, splitter="axis", random_state=0).fit(X, y)
        self.model.predict(self.X[:1], quantiles=0.5)

    def time_quantiles(self):
        self.model.predict(self.X, quantiles=[0.05, 0.5, 0.95])

    def time_log_prob(self):
        self.model.log_prob(self.X, self.y)

    def track_coverage(self):
        low, high = self.model.predict(self.X, quantiles=[0.05, 0.95]).T
        return float(np.mean((low <= self.y) & (self.y <= high)))

    track_coverage.unit = "fraction of rows in the 90 % interval"


class FitLinearGaussian:
    """Trees of lines with noise."""

    def setup(self):
        self.X, self.X_test, self.y, self.y_test = load_split("small_regression")
        self.model = ObliqueForestRegressor(
            4, splitter="axis", criterion="linear_gaussian", max_features="sqrt", random_state=0
        )

    def time_fit(self):
        self.model.fit(self.X, self.y)


class FitDensity:
    """Density forests of a table of eight columns."""

    param_names = ("splitter",)
    params = (["axis", "random_oblique"],)

    def setup(self, splitter):
        X, X_test, _, _ = load_split("synthetic_regression")
        self.X, self.X_test = X[:, :8], X_test[:, :8]
        self.model = DensityForest(N_TREES, splitter=splitter, random_state=0)

    def time_fit(self, splitter):
        self.model.fit(self.X)

    def peakmem_fit(self, splitter):
        self.model.fit(self.X)

    def track_score(self, splitter):
        return self.model.fit(self.X).score(self.X_test)

    track_score.unit = "mean log density"


class UseDensity:
    """What a density forest is asked."""

    def setup(self):
        X, self.X, _, _ = load_split("synthetic_regression")
        self.X = self.X[:, :8]
        self.model = DensityForest(N_TREES, random_state=0).fit(X[:, :8])
        self.holes = self.X[:200].copy()
        self.holes[np.random.default_rng(0).random(self.holes.shape) < 0.3] = np.nan

    def time_score_samples(self):
        self.model.score_samples(self.X)

    def time_score_missing(self):
        self.model.score_samples(self.holes)

    def time_sample(self):
        self.model.sample(2_000, random_state=0)


class Proximity:
    """Rows that share leaves."""

    def setup(self):
        self.X, _, y, _ = load_split("small_regression")
        self.model = ObliqueForestRegressor(N_TREES, splitter="axis", random_state=0)
        self.model.fit(self.X, y)

    def time_proximity(self):
        self.model.proximity(self.X)

    def peakmem_proximity(self):
        self.model.proximity(self.X)


class FitEmbedding:
    """Handwritten digits in the plane."""

    def setup(self):
        self.X, _, _, _ = load_split("digits")
        self.model = ForestEmbedding(n_estimators=N_TREES, random_state=0)

    def time_fit(self):
        self.model.fit(self.X)


class FitSemiSupervised:
    """Ten labels of each digit."""

    def setup(self):
        self.X, self.X_test, y, self.y_test = load_split("digits")
        order = np.random.default_rng(0).permutation(len(y))
        self.y = np.full(len(y), -1)
        for label in np.unique(y):
            rows = order[y[order] == label][:10]
            self.y[rows] = label
        self.model = SemiSupervisedForestClassifier(N_TREES, random_state=0)

    def time_fit(self):
        self.model.fit(self.X, self.y)

    def track_score(self):
        return self.model.fit(self.X, self.y).score(self.X_test, self.y_test)

    track_score.unit = "accuracy"


class FitFerns:
    """Ferns, and leaves that go on learning."""

    def setup(self):
        self.X, self.X_test, self.y, self.y_test = load_split("digits")
        self.model = FernClassifier(N_TREES, random_state=0).fit(self.X, self.y)

    def time_fit(self):
        self.model.fit(self.X, self.y)

    def time_update_leaves(self):
        self.model.update_leaves(self.X_test, self.y_test)

    def track_score(self):
        return self.model.score(self.X_test, self.y_test)

    track_score.unit = "accuracy"
