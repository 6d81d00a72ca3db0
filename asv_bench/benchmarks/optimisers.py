"""Optimisation of whole trees: alternating, non-greedy, disjunctive."""

from benchmarks.common import FitBenchmark
from benchmarks.datasets import REGRESSION, load_split
from obtree import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    NonGreedyForestClassifier,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOTreeClassifier,
    TAOTreeRegressor,
)

FEW_TREES = 4
TREES = {
    "tao": TAOTreeClassifier,
    "nongreedy": NonGreedyTreeClassifier,
    "disjunctive": DisjunctiveTreeClassifier,
}
REGRESSION_TREES = {"tao": TAOTreeRegressor, "nongreedy": NonGreedyTreeRegressor}
FORESTS = {
    "tao": TAOForestClassifier,
    "nongreedy": NonGreedyForestClassifier,
    "disjunctive": DisjunctiveForestClassifier,
}


class FitOptimisedTree(FitBenchmark):
    """Default parameters, the start included."""

    param_names = ("data", "optimiser")
    params = (["digits", "small_regression"], list(TREES))

    def make_model(self, data, optimiser):
        kinds = REGRESSION_TREES if data in REGRESSION else TREES
        if optimiser not in kinds:
            raise NotImplementedError(f"{optimiser} has no regression trees")
        return kinds[optimiser](random_state=0)


class FitLinearLeaves(FitBenchmark):
    """TAO with linear leaves."""

    param_names = ("data",)
    params = (["digits"],)

    def make_model(self, data):
        return TAOTreeClassifier(leaf="linear", max_depth=4, random_state=0)


class FitOptimisedForest(FitBenchmark):
    """A few trees of each kind."""

    param_names = ("data", "optimiser")
    params = (["digits"], list(FORESTS))

    def make_model(self, data, optimiser):
        return FORESTS[optimiser](FEW_TREES, random_state=0)


class Descend:
    """The descent alone, from a tree that is there, by kind of inference."""

    param_names = ("inference",)
    params = (["fast", "full"],)

    def setup(self, inference):
        self.X, _, self.y, _ = load_split("digits")
        start = ObliqueTreeClassifier(max_depth=8, random_state=0).fit(self.X, self.y)
        self.model = NonGreedyTreeClassifier(
            init=start, inference=inference, n_epochs=5, random_state=0
        )

    def time_fit(self, inference):
        self.model.fit(self.X, self.y)
