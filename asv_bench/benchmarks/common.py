"""What the benchmark classes have in common."""

from abc import ABC, abstractmethod

from benchmarks.datasets import REGRESSION, load_split
from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)


class FitBenchmark(ABC):
    """Time, peak memory and test score of fitting one estimator.

    A subclass names its parameters and writes ``make_model``. The first parameter is
    the data set. asv leaves abstract classes alone, so this one is not run by itself.
    """

    @abstractmethod
    def make_model(self, data, *params):
        """Return the estimator to measure."""

    def setup(self, data, *params):
        self.X_train, self.X_test, self.y_train, self.y_test = load_split(data)
        self.model = self.make_model(data, *params)

    def time_fit(self, *params):
        self.model.fit(self.X_train, self.y_train)

    def peakmem_fit(self, *params):
        self.model.fit(self.X_train, self.y_train)

    def track_score(self, *params):
        self.model.fit(self.X_train, self.y_train)
        return self.model.score(self.X_test, self.y_test)

    track_score.unit = "accuracy or R2"


def make_tree(data, **params):
    """Return a tree for the task of a data set."""
    kind = ObliqueTreeRegressor if data in REGRESSION else ObliqueTreeClassifier
    return kind(random_state=0, **params)


def make_forest(data, n_estimators=20, **params):
    """Return a forest for the task of a data set."""
    kind = ObliqueForestRegressor if data in REGRESSION else ObliqueForestClassifier
    return kind(n_estimators, random_state=0, **params)
