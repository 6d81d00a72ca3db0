"""Exported C predicts what the package does, to the last bit: every kind of tree and forest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_digits, load_iris

from obtree import (
    NonGreedyForestRegressor,
    NonGreedyTreeClassifier,
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
from obtree.splitter import available
from obtree.tree.predict import Predictor


def with_holes(X):
    """The rows of X, and again with a fifth of their cells missing."""
    X = np.asarray(X)
    holes = X.astype(X.dtype if X.dtype == np.float64 else np.float32)
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return np.concatenate([X, holes])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500].astype(np.float32), y[:500]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X.astype(np.float32), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X.astype(np.float32), y


def make_moments():
    """Moments since 1970 in seconds, of which float32 merges neighbours."""
    rng = np.random.default_rng(0)
    X = 1.7e9 + rng.integers(0, 1000, (300, 3)).astype(np.float64)
    X[:, 2] = rng.normal(size=300)
    return X, (X[:, 0] - X[:, 1]) * 0.37 + X[:, 2]


# ---- splitters -----------------------------------------------------------------------------


@pytest.mark.parametrize("splitter", sorted(available()))
def test_classes(export, digits, splitter):
    X, y = digits
    tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(X, y)
    export(tree).check(with_holes(X))
    export(tree, proba=False).check(with_holes(X), proba=False)
    forest = ObliqueForestClassifier(5, splitter=splitter, random_state=0).fit(X, y)
    export(forest).check(with_holes(X))


@pytest.mark.parametrize("splitter", sorted(available()))
def test_numbers(export, diabetes, splitter):
    X, y = diabetes
    tree = ObliqueTreeRegressor(splitter=splitter, max_depth=6, random_state=0).fit(X, y)
    export(tree).check(with_holes(X))
    forest = ObliqueForestRegressor(5, splitter=splitter, random_state=0).fit(
        with_holes(X), [*y, *y]
    )
    export(forest).check(with_holes(X))


def test_rotated_features(export, digits):
    X, y = digits
    model = ObliqueForestClassifier(5, splitter="axis", rotation="pca", random_state=0).fit(X, y)
    export(model).check(with_holes(X))


# ---- ways to combine -----------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["average", "vote", "product"])
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_combinations(export, iris, combine, leaf, outputs):
    X, y = iris
    if outputs == 2:
        # The second output has fewer classes.
        y = np.stack([y, np.where(y == "setosa", "yes", "no")], axis=1)
    model = ObliqueForestClassifier(
        *(7,),
        **{"splitter": "random_oblique", "combine": combine, "leaf": leaf},
        **{"min_samples_leaf": 12, "random_state": 0},
    ).fit(X, y, sample_weight=np.linspace(0.5, 1.5, len(y)))
    export(model).check(with_holes(X))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("splitter", ["axis", "co2"])
def test_linear_leaves_of_numbers(export, digits, outputs, splitter):
    X, y = digits
    y = y.astype(float) if outputs == 1 else np.stack([y, np.sqrt(y)], axis=1)
    model = ObliqueForestRegressor(3, splitter=splitter, leaf="linear", random_state=0).fit(X, y)
    export(model).check(with_holes(X))


@pytest.mark.parametrize("outputs", [1, 2])
def test_lines_with_noise(export, diabetes, outputs):
    X, y = diabetes
    y = y if outputs == 1 else np.stack([y, np.sqrt(y)], axis=1)
    tree = ObliqueTreeRegressor(criterion="linear_gaussian", random_state=0).fit(X, y)
    # Far from the training rows the bounds of a leaf count.
    far = np.concatenate([with_holes(X), 100.0 * X])
    export(tree).check(far)
    forest = ObliqueForestRegressor(
        3, splitter="random_oblique", criterion="linear_gaussian", random_state=0
    ).fit(X, y)
    export(forest).check(far)


# ---- other estimators ----------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_tao(export, digits, diabetes, leaf):
    X, y = digits
    export(TAOTreeClassifier(leaf=leaf, n_iter=2, random_state=0).fit(X, y)).check(with_holes(X))
    for combine in ("product", "vote"):
        model = TAOForestClassifier(3, leaf=leaf, combine=combine, n_iter=2, random_state=0)
        export(model.fit(X, y)).check(with_holes(X))
    X, y = diabetes
    export(TAOTreeRegressor(leaf=leaf, random_state=0).fit(X, y)).check(with_holes(X))
    export(TAOForestRegressor(3, leaf=leaf, random_state=0).fit(X, y)).check(with_holes(X))


def test_planes_of_all_features_share_their_list(export, digits):
    X, y = digits
    model = TAOTreeClassifier(init="random", max_depth=4, l1=1e-6, random_state=0).fit(X, y)
    program = export(model)
    assert "model_plane_list" in program.source
    program.check(with_holes(X))


def test_other_estimators(export, iris, diabetes):
    X, y = iris
    export(NonGreedyTreeClassifier(random_state=0).fit(X, y)).check(with_holes(X))
    known = np.where(np.arange(len(y)) % 5 == 0, np.unique(y, return_inverse=True)[1], -1)
    model = SemiSupervisedForestClassifier(5, random_state=0)
    export(model.fit(X, known)).check(with_holes(X))
    X, y = diabetes
    export(NonGreedyForestRegressor(3, random_state=0).fit(X, y)).check(with_holes(X))


def test_race_of_numbers_with_sharpened_targets_and_a_chain(export, diabetes):
    X, y = diabetes
    model = ObliqueForestRegressor(30, random_state=0).fit(X, y)
    assert model.chains_
    assert model.race_["fraction"][-1] > 0.0 or len(set(model.race_["n_trees"])) > 2
    program = export(model)
    assert "model_is_plane" in program.source
    program.check(with_holes(X))


def test_race_of_classes_with_a_chain(export):
    X = np.random.default_rng(0).integers(0, 2, (400, 9)).astype(np.float32)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8)]
    y = np.any([X[:, line].all(axis=1) for line in lines], axis=0)
    model = ObliqueForestClassifier(20, random_state=0).fit(X, y)
    assert model.chains_
    export(model).check(with_holes(X))


# ---- numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "conic"])
def test_features_that_are_shifted(export, splitter):
    X, y = make_moments()
    model = ObliqueForestRegressor(4, splitter=splitter, leaf="linear", random_state=0).fit(X, y)
    assert model.estimators_[0].tree_.feature_offset is not None
    program = export(model)
    assert "double model_predict(const double *x);" in program.source
    program.check(with_holes(X))


def test_wide_features_are_rounded_as_the_caller_casts_them(export, diabetes):
    X, y = load_diabetes(return_X_y=True)
    model = ObliqueTreeRegressor(random_state=0).fit(X, y)
    assert model.tree_.feature_offset is None
    export(model).check(X)


@pytest.mark.parametrize("splitter", ["axis", "co2", "conic", "two_probe"])
def test_infinite_features(export, digits, splitter):
    # The estimator refuses them; its trees do not.
    X = with_holes(digits[0])
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.inf
    X[rng.random(X.shape) < 0.1] = -np.inf
    model = ObliqueForestClassifier(5, splitter=splitter, random_state=0).fit(*digits)
    expected = Predictor([tree.tree_ for tree in model.estimators_]).predict(X)[:, 0]
    assert np.array_equal(expected, export(model).predict_proba(X))


def test_no_split_one_class_and_one_feature(export):
    X = np.arange(20.0, dtype=np.float32)[:, None]
    for model in (
        ObliqueTreeClassifier().fit(X, np.zeros(20)),
        ObliqueForestClassifier(3, splitter="axis").fit(X, np.zeros(20)),
        ObliqueTreeRegressor().fit(X, np.full(20, -0.0)),
        ObliqueTreeRegressor(max_depth=1).fit(X, X[:, 0] ** 3),
        ObliqueTreeClassifier(leaf="linear").fit(X, np.zeros(20)),
        # Some trees have no split.
        ObliqueForestClassifier(10, splitter="axis", random_state=0).fit(X, X[:, 0] > 18),
    ):
        export(model).check(with_holes(X))


@pytest.mark.parametrize("flags", [("-O0",), ("-O3",), ("-O3", "-march=native"), ("-Os",)])
def test_optimisation_changes_nothing(export, digits, diabetes, flags):
    # GNU dialects fuse multiplications and additions unless told otherwise.
    loose = ("-std=gnu11", "-Wall", "-Wextra", "-Werror")
    X, y = digits
    model = ObliqueForestClassifier(3, splitter="co2", leaf="linear", min_samples_leaf=30)
    export(model.fit(X, y), *flags, standard=loose).check(with_holes(X))
    X, y = diabetes
    model = ObliqueForestRegressor(3, splitter="co2", leaf="linear").fit(X, y)
    export(model, *flags, standard=loose).check(with_holes(X))


# ---- random models -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:leaf='linear' changed nothing")
@given(st.data())
def test_any_model(export, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = data.draw(st.integers(5, 60)), data.draw(st.integers(1, 20))
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    if data.draw(st.booleans()):
        X = np.round(X)
    if data.draw(st.booleans()):
        X[:, : n_features // 2][rng.random((n_rows, n_features // 2)) < 0.2] = np.nan
    outputs = data.draw(st.integers(1, 3))
    params = {
        "splitter": data.draw(st.sampled_from(sorted(available()))),
        "leaf": data.draw(st.sampled_from(["constant", "linear"])),
        "max_depth": data.draw(st.sampled_from([1, 3, None])),
        "min_samples_leaf": data.draw(st.sampled_from([1, 5])),
        "random_state": data.draw(st.integers(0, 100)),
    }
    n_trees = data.draw(st.integers(1, 4))
    y = X[:, :1] + rng.normal(size=(n_rows, outputs))
    y = np.where(np.isnan(y), 0.0, y)
    if data.draw(st.booleans()):
        n_classes = data.draw(st.integers(1, 4))
        y = np.clip(np.floor(2.0 + y), 0, n_classes)
        params["combine"] = data.draw(st.sampled_from(["average", "vote", "product"]))
        model = ObliqueForestClassifier(n_trees, **params)
    else:
        model = ObliqueForestRegressor(n_trees, **params)
    weight = data.draw(st.sampled_from([None, "whole", "any"]))
    if weight is not None:
        weight = rng.integers(1, 4, n_rows) if weight == "whole" else rng.random(n_rows) + 0.1
    model.fit(X, y if outputs > 1 else y[:, 0], sample_weight=weight)
    rows = np.concatenate([with_holes(X), with_holes(10.0 * X)])
    export(model).check(rows)
