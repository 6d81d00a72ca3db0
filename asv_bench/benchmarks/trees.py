"""Single trees."""

from benchmarks.common import FitBenchmark, make_tree
from benchmarks.datasets import load_split
from obtree.splitter import OC1Splitter


class FitClassificationTree(FitBenchmark):
    """All features as candidates, grown until pure."""

    param_names = ("data", "criterion")
    params = (["digits", "synthetic"], ["gini", "entropy"])

    def make_model(self, data, criterion):
        return make_tree(data, criterion=criterion)


class FitRegressionTree(FitBenchmark):
    """Every criterion for regression, with leaves of five rows."""

    param_names = ("data", "criterion")
    params = (["small_regression"], ["squared_error", "friedman_mse", "absolute_error"])

    def make_model(self, data, criterion):
        return make_tree(data, criterion=criterion, min_samples_leaf=5)


class FitOC1Tree(FitBenchmark):
    """Planes by coordinate descent, by the way of searching."""

    param_names = ("data", "setting")
    params = (["small"], ["oc1", "best", "cart-lc"])

    def make_model(self, data, setting):
        parameters = {"best": {"order": "best"}, "cart-lc": {"mode": "cart-lc"}}
        return make_tree(data, splitter=OC1Splitter(**parameters.get(setting, {})))


class FitBestFirst(FitBenchmark):
    """The best leaf first, up to a number of leaves."""

    param_names = ("data", "max_leaf_nodes")
    params = (["synthetic", "synthetic_regression"], [64])

    def make_model(self, data, max_leaf_nodes):
        return make_tree(data, max_leaf_nodes=max_leaf_nodes)


class PruneTree:
    """Minimal cost-complexity pruning, the growth included."""

    def setup(self):
        self.X_train, _, self.y_train, _ = load_split("synthetic")

    def time_pruning_path(self):
        make_tree("synthetic").cost_complexity_pruning_path(self.X_train, self.y_train)
