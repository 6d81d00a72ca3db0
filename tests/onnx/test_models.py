"""What onnxruntime predicts is what the package predicts, for every estimator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from obtree import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    FernClassifier,
    NonGreedyForestClassifier,
    NonGreedyForestRegressor,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    SemiSupervisedForestClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
)

from .conftest import compare, hide

SPLITTERS = (
    "axis",
    "axis_random",
    "random_oblique",
    "two_probe",
    "conic",
    "oc1",
    "co2",
    "discriminant",
)
CLASSIFIERS = [
    *(ObliqueForestClassifier(4, splitter=name) for name in SPLITTERS),
    *(ObliqueForestClassifier(4, splitter="co2", combine=name) for name in ("product", "vote")),
    *(
        ObliqueForestClassifier(4, splitter="axis", leaf="linear", max_depth=3, combine=name)
        for name in ("average", "product", "vote")
    ),
    ObliqueTreeClassifier(),
    ObliqueTreeClassifier(max_depth=1),
    ObliqueForestClassifier(4, splitter="axis", rotation="pca"),
    ObliqueForestClassifier(12),
    TAOTreeClassifier(max_depth=4),
    TAOForestClassifier(3, max_depth=4),
    TAOForestClassifier(3, max_depth=2, leaf="linear"),
    NonGreedyTreeClassifier(max_depth=4),
    NonGreedyForestClassifier(3, max_depth=3),
    DisjunctiveTreeClassifier(max_depth=3, n_epochs=3),
    DisjunctiveTreeClassifier(max_depth=3, n_epochs=3, shared_weights=True),
    DisjunctiveForestClassifier(3, max_depth=3, n_epochs=3),
    DisjunctiveForestClassifier(3, max_depth=3, n_epochs=3, combine="vote"),
    FernClassifier(5, depth=4),
    FernClassifier(5, depth=3, splitter="axis_random"),
    SemiSupervisedForestClassifier(5, n_structure_trees=3),
]
REGRESSORS = [
    *(ObliqueForestRegressor(4, splitter=name) for name in ("axis", "random_oblique", "conic")),
    ObliqueTreeRegressor(max_depth=4),
    ObliqueForestRegressor(4, splitter="axis", leaf="linear", max_depth=3),
    ObliqueForestRegressor(4, splitter="axis", criterion="linear_gaussian"),
    ObliqueForestRegressor(12),
    TAOTreeRegressor(max_depth=3),
    TAOForestRegressor(3, max_depth=3),
    NonGreedyTreeRegressor(max_depth=3),
    NonGreedyForestRegressor(3, max_depth=3),
]


def describe(model):
    """Name a model by its class and what is not default."""
    return "".join(str(model).split())


def fit(model, X, y):
    return clone(model).set_params(random_state=0).fit(X, y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=describe)
@pytest.mark.parametrize("lacks", [False, True], ids=["whole", "missing"])
def test_classifiers(model, lacks, classes):
    X, y = classes
    compare(fit(model, hide(X) if lacks else X, y), hide(X, seed=1) if lacks else X)


@pytest.mark.parametrize("model", REGRESSORS, ids=describe)
@pytest.mark.parametrize("lacks", [False, True], ids=["whole", "missing"])
def test_regressors(model, lacks, numbers):
    X, y = numbers
    compare(fit(model, hide(X) if lacks else X, y), hide(X, seed=1) if lacks else X)


def test_numbers_in_float64(numbers):
    X, y = numbers
    X = X.astype(np.float64)
    compare(ObliqueForestRegressor(4, random_state=0).fit(X, y), X)


def test_missing_values_that_training_has_not_seen(classes):
    X, y = classes
    for splitter in ("axis", "co2", "conic"):
        model = ObliqueForestClassifier(4, splitter=splitter, random_state=0).fit(X, y)
        compare(model, hide(X, 0.3))


def test_chains_of_numbers():
    X, y = load_diabetes(return_X_y=True)
    model = ObliqueForestRegressor(30, random_state=0).fit(X, y)
    assert model.chains_
    compare(model, X)


def test_chains_of_classes():
    X = np.random.default_rng(0).integers(0, 2, (400, 9)).astype(np.float32)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8)]
    y = np.any([X[:, line].all(axis=1) for line in lines], axis=0)
    model = ObliqueForestClassifier(20, random_state=0).fit(X, y)
    assert model.chains_
    compare(model, X)


@pytest.mark.parametrize(
    "model",
    [
        ObliqueForestClassifier(3, splitter="axis"),
        ObliqueForestClassifier(3, splitter="random_oblique", combine="product"),
        ObliqueForestClassifier(3, splitter="axis", leaf="linear", max_depth=3),
        FernClassifier(4, depth=3),
    ],
    ids=describe,
)
def test_several_outputs(model, classes):
    X, y = classes
    compare(fit(model, X, np.stack([y, X[:, 0] > 0], axis=1)), X)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_several_numbers(leaf, numbers):
    X, y = numbers
    model = ObliqueForestRegressor(3, splitter="co2", leaf=leaf, max_depth=4, random_state=0)
    compare(model.fit(X, np.stack([y, X[:, 0] - y, X[:, 1]], axis=1)), X)


def test_one_class_and_one_leaf(classes):
    X, _ = classes
    compare(ObliqueForestClassifier(3, splitter="co2").fit(X, np.zeros(len(X), dtype=int)), X)
    compare(ObliqueTreeRegressor().fit(X, np.ones(len(X))), X)


@given(data=st.data())
def test_random_models(data):
    """Small whole numbers: sums are exact, many rows are equal, and values are missing."""
    seed = data.draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    n_features = data.draw(st.integers(1, 5))
    X = rng.integers(-3, 4, size=(40, n_features)).astype(np.float32)
    X[rng.random(X.shape) < data.draw(st.sampled_from([0.0, 0.1, 0.4]))] = np.nan
    y = rng.integers(0, data.draw(st.integers(1, 4)), size=40)
    splitter = data.draw(st.sampled_from(SPLITTERS))
    combine = data.draw(st.sampled_from(["average", "vote", "product"]))
    model = ObliqueForestClassifier(3, splitter=splitter, combine=combine, random_state=seed)
    compare(model.fit(X, y), X)
