"""What weights promise (doc/user_guide/weights.rst), for every estimator and splitter.

- Weights times a constant: the same model, bit for bit if it is a power of two.
- Whole-number weights: the model of the rows repeated as often. Sums then round differently,
  and what is compared is the partition of the rows, or predictions.
- Weight zero: the model without the row.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_breast_cancer, make_friedman1

from obtree import (
    DisjunctiveTreeClassifier,
    FernClassifier,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
)
from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.splitter import available
from obtree.testing.growth import find_differences, grow_tree, name_partition

SEEDS = st.integers(0, 2**32 - 1)
POWERS = st.integers(-60, 60)

MODELS = {
    "tree": ObliqueTreeClassifier(random_state=0),
    "tree of numbers": ObliqueTreeRegressor(random_state=0),
    "absolute error": ObliqueTreeRegressor(criterion="absolute_error", random_state=0),
    "linear leaves": ObliqueTreeClassifier(leaf="linear", min_samples_leaf=12, random_state=0),
    "linear leaves of numbers": ObliqueTreeRegressor(
        leaf="linear", min_samples_leaf=12, random_state=0
    ),
    "tao": TAOTreeClassifier(max_depth=3, random_state=0),
    "tao axis": TAOTreeClassifier(init="axis", max_depth=3, random_state=0),
    "tao of numbers": TAOTreeRegressor(max_depth=3, random_state=0),
    "tao linear of numbers": TAOTreeRegressor(leaf="linear", max_depth=2, random_state=0),
}
# These draw rows, batches or bootstraps, by their number.
SAMPLING = {
    "co2": ObliqueTreeClassifier(splitter="co2", random_state=0),
    "co2 of numbers": ObliqueTreeRegressor(splitter="co2", random_state=0),
    "forest": ObliqueForestClassifier(3, random_state=0),
    "ferns": FernClassifier(3, depth=4, random_state=0),
    "linear forest": ObliqueForestRegressor(2, leaf="linear", min_samples_leaf=12, random_state=0),
    "tao linear": TAOTreeClassifier(leaf="linear", max_depth=2, random_state=0),
    "tao forest": TAOForestRegressor(2, random_state=0),
    "non-greedy": NonGreedyTreeClassifier(max_depth=3, n_epochs=3, random_state=0),
    "non-greedy of numbers": NonGreedyTreeRegressor(max_depth=3, n_epochs=3, random_state=0),
    "disjunctive": DisjunctiveTreeClassifier(max_depth=3, n_epochs=3, random_state=0),
}


def draw_problem(seed, n=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    return rng, X, y


def fit(model, X, y, weight=None):
    """A fitted copy, to numbers or to three classes of them."""
    return clone(model).fit(X, y if is_regressor(model) else np.digitize(y, [0, 1.5]), weight)


def predict(model, X):
    return model.predict(X) if is_regressor(model) else model.predict_proba(X)


@pytest.mark.parametrize("criterion", [*CLASSIFICATION, *REGRESSION])
@pytest.mark.parametrize("splitter", available())
@given(seed=SEEDS, power=POWERS, whole=st.booleans())
def test_a_constant_factor_keeps_the_tree(splitter, criterion, seed, power, whole):
    rng, X, y = draw_problem(seed, n=50)
    y = np.exp(y) if criterion in REGRESSION else np.digitize(y, [0, 1.5])
    weight = rng.integers(1, 4, len(y)) if whole else 0.2 + rng.random(len(y))
    weight = weight.astype(float)
    weight[0] = 1.0
    if (splitter == "co2" or criterion == "linear_gaussian") and whole:
        power = min(abs(power), 25)  # fractions, and more rows than fit a table, are no counts
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2, "keep_rows": True}
    one = grow_tree(X, y, criterion, sample_weight=weight, **options)
    other = grow_tree(X, y, criterion, sample_weight=weight * 2.0**power, **options)
    ignored = ["weighted_n_node_samples"]
    if whole and criterion in ("entropy", "log_loss"):
        # Read from a table of x log x, by other x.
        ignored.append("impurity")
        np.testing.assert_allclose(other.impurity, one.impurity, rtol=1e-9, atol=1e-13)
    assert find_differences(one, other, ignore=ignored) == []
    np.testing.assert_array_equal(
        other.weighted_n_node_samples, one.weighted_n_node_samples * 2.0**power
    )


@pytest.mark.parametrize("name", [*MODELS, *SAMPLING])
@given(seed=SEEDS, power=POWERS, equal=st.booleans())
def test_a_constant_factor_keeps_the_model(name, seed, power, equal):
    model = (MODELS | SAMPLING)[name]
    rng, X, y = draw_problem(seed)
    weight = np.ones(len(y)) if equal else 0.2 + rng.random(len(y))
    one = predict(fit(model, X, y, weight), X)
    other = predict(fit(model, X, y, weight * 2.0**power), X)
    np.testing.assert_array_equal(other, one)


@pytest.mark.parametrize("factor", [1 / 300, 1e-6, 3.0, 1000.0, np.pi])
@pytest.mark.parametrize("name", [*MODELS, *SAMPLING])
def test_equal_weights_are_no_weights(name, factor):
    model = (MODELS | SAMPLING)[name]
    _, X, y = draw_problem(0, n=300)
    plain = predict(fit(model, X, y), X)
    weighted = predict(fit(model, X, y, np.full(300, factor)), X)
    # Impurities round differently, and equally good cuts of small nodes may change places.
    if is_regressor(model):
        assert np.mean((plain - weighted) ** 2) < 0.05 * np.var(y)
    else:
        assert np.mean(plain.argmax(axis=1) == weighted.argmax(axis=1)) > 0.97


@pytest.mark.parametrize("factor", [1 / 400, 1e-6, 1000.0])
def test_penalties_are_relative(factor):
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    model = TAOTreeRegressor(leaf="linear", max_depth=4, random_state=0)
    expected = clone(model).fit(X[:400], y[:400]).score(X[400:], y[400:])
    found = model.fit(X[:400], y[:400], np.full(400, factor)).score(X[400:], y[400:])
    assert found == pytest.approx(expected, abs=0.02)


# Rows are drawn by none of these. Those that draw random cuts or centres do so from spans and
# means, which do not change either.
@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("splitter", [name for name in available() if name != "co2"])
@given(seed=SEEDS)
def test_whole_weights_equal_repeated_rows(splitter, criterion, seed):
    rng, X, y = draw_problem(seed, n=50)
    y = np.exp(y) if criterion in REGRESSION else np.digitize(y, [0, 1.5])
    counts = rng.integers(0, 4, len(y))
    counts[np.argsort(y)[[0, -1]]] = 1
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2, "keep_rows": True}
    # A last row may be cut off by one of several planes that are equally good.
    options |= {"min_weight_fraction_leaf": 0.06, "n_classes": [3]}
    weighted = grow_tree(X, y, criterion, sample_weight=counts.astype(float), **options)
    repeated = grow_tree(np.repeat(X, counts, axis=0), np.repeat(y, counts), criterion, **options)
    kept = counts > 0
    np.testing.assert_array_equal(
        name_partition(weighted.apply(X[kept])), name_partition(repeated.apply(X[kept]))
    )
    np.testing.assert_array_equal(
        weighted.weighted_n_node_samples, repeated.weighted_n_node_samples
    )


@pytest.mark.parametrize("name", MODELS)
@given(seed=SEEDS)
def test_models_of_whole_weights_equal_those_of_repeated_rows(name, seed):
    rng, X, y = draw_problem(seed)
    counts = rng.integers(0, 4, len(y))
    counts[np.argsort(y)[[0, 40, -1]]] = 1
    # A leaf of so many rows has more of them when rows are repeated.
    model = clone(MODELS[name]).set_params(min_samples_leaf=1, max_depth=3)
    weighted = fit(model, X, y, counts.astype(float))
    repeated = fit(model, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(predict(weighted, X), predict(repeated, X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["linear leaves", "linear leaves of numbers", "tao axis"])
@given(seed=SEEDS)
def test_rows_that_lack_values_count_by_weight(name, seed):
    # A feature that more than a tenth of a leaf's rows lack is no part of its model.
    rng, X, y = draw_problem(seed)
    counts = rng.integers(1, 4, len(y))
    counts[:3] = 1
    X[rng.random(len(y)) < 0.08, 1] = np.nan
    model = clone(MODELS[name]).set_params(min_samples_leaf=1, max_depth=1)
    weighted = fit(model, X, y, counts.astype(float))
    repeated = fit(model, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(predict(weighted, X), predict(repeated, X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", [*MODELS, *SAMPLING])
@given(seed=SEEDS, whole=st.booleans())
def test_zero_weights_equal_absent_rows(name, seed, whole):
    model = (MODELS | SAMPLING)[name]
    rng, X, y = draw_problem(seed)
    weight = rng.integers(1, 3, len(y)) if whole else 0.2 + rng.random(len(y))
    weight = np.where(rng.random(len(y)) < 0.3, 0, weight).astype(float)
    kept = weight > 0
    X[~kept] *= 100
    y[~kept] = rng.choice(y[kept], (~kept).sum())  # no class that is nowhere else
    one = fit(model, X, y, weight)
    other = fit(model, X[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(predict(one, X), predict(other, X))


def test_balanced_classes_multiply_with_weights():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(y)).astype(float)
    total = np.bincount(y, weights=weight)
    by_hand = weight * (total.sum() / (2 * total))[y]
    for model in (ObliqueTreeClassifier(max_depth=4), TAOTreeClassifier(max_depth=3)):
        model.set_params(random_state=0, class_weight="balanced")
        given = clone(model).fit(X, y, weight)
        plain = clone(model).set_params(class_weight=None).fit(X, y, by_hand)
        np.testing.assert_array_equal(given.predict_proba(X), plain.predict_proba(X))
        root = given.tree_.value[0, 0]
        np.testing.assert_allclose(root, [0.5, 0.5])
        # Counted by weight: repeating rows gives the same balance.
        counts = weight.astype(int)
        repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        np.testing.assert_allclose(repeated.tree_.value[0, 0], root)
