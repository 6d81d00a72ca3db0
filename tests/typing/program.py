"""What a type checker makes of programs that use obtree; mypy reads this, nobody runs it.

A line with ``type: ignore`` holds a mistake that has to be found: mypy complains when it is not.
"""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import obtree.splitter
from obtree import (
    DensityForest,
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    export_text,
    load_model,
    save_model,
    tao_path,
)
from obtree.export import export_graphviz, to_c
from obtree.plot import plot_tree
from obtree.splitter import CO2Splitter, OC1Splitter, PythonSplitter
from obtree.testing import check_splitter
from obtree.tree import Tree

X = np.random.default_rng(0).normal(size=(50, 3))
y = X[:, 0] > 0


class Median(PythonSplitter):
    """A splitter of one's own."""

    def __init__(self, feature: int = 0) -> None:
        self.feature = feature

    def split(
        self,
        X: npt.NDArray[np.float64],
        y: npt.NDArray[Any],
        sample_weight: npt.NDArray[np.float64],
        rng: np.random.Generator,
    ) -> tuple[npt.NDArray[np.float64], float] | None:
        weights = np.zeros(X.shape[1])
        weights[self.feature] = 1.0
        return weights, float(np.median(X[:, self.feature]))


# Forests, from arrays and from lists.
forest = ObliqueForestClassifier(20, splitter=OC1Splitter(n_jumps=3), n_jobs=2, random_state=0)
assert_type(forest.fit(X, y), ObliqueForestClassifier)
forest.fit([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], sample_weight=[1, 2])
assert_type(forest.apply(X), npt.NDArray[np.int64])
column = forest.predict_proba(X)[:, 1]
accuracy: float = forest.score(X, y)
forest.set_params(n_estimators=30, splitter__n_jumps=5).fit(X, y)
ObliqueForestClassifier(splitter=["axis", CO2Splitter, Median(1)], class_weight="balanced")
ObliqueForestClassifier(max_depth="deep")  # type: ignore[arg-type]
ObliqueForestClassifier(splitter=3)  # type: ignore[arg-type]
ObliqueForestClassifier(combine="mean")  # type: ignore[arg-type]
ObliqueForestClassifier(20, "oc1")  # type: ignore[call-arg]
ObliqueForestClassifier(n_tree=20)  # type: ignore[call-arg]
forest.fit(X)  # type: ignore[call-arg]

# Regression: what predict returns depends on what it is asked for.
numbers = ObliqueForestRegressor(criterion="absolute_error").fit(X, X[:, 1])
assert_type(numbers.predict(X), npt.NDArray[np.float64])
mean, deviation = numbers.predict(X, return_std=True)
assert_type(deviation, npt.NDArray[np.float64])
assert_type(numbers.predict(X, quantiles=[0.1, 0.9]), npt.NDArray[np.float64])
ObliqueForestRegressor(criterion="gini")  # type: ignore[arg-type]
numbers.predict(X, return_std=True, quantiles=[0.1])  # type: ignore[call-overload]

# Trees, text, pictures and files.
tree = ObliqueTreeClassifier(splitter=Median, max_features=0.5).fit(X, y)
arrays: Tree = tree.tree_
assert_type(arrays.threshold, npt.NDArray[np.float64])
assert_type(arrays.node_count, int)
assert_type(export_text(tree, feature_names=["a", "b", "c"]), str)
assert_type(to_c(forest, prefix="model"), str)
export_graphviz(arrays, "tree.dot", max_depth=3)
plot_tree(tree, class_names=["no", "yes"])
save_model(forest, "forest.obtree")
loaded = load_model("forest.obtree", max_bytes=2**20).predict(X)
export_text(tree, max_depth="all")  # type: ignore[arg-type]

# Splitters.
assert_type(OC1Splitter().n_restarts, int)
assert_type(obtree.splitter.available(), dict[str, str])
check_splitter(Median(), tasks=["classification"])
CO2Splitter(preset="quick")  # type: ignore[arg-type]
OC1Splitter(n_jumps=0.5)  # type: ignore[arg-type]

# The others.
models = tao_path(TAOForestClassifier(leaf="linear"), X, y, [0.1, 1.0])
assert_type(models, list[TAOForestClassifier])
assert_type(DensityForest().fit(X).score_samples(X), npt.NDArray[np.float64])
assert_type(ForestEmbedding(n_components=3).fit_transform(X), npt.NDArray[np.float64])
