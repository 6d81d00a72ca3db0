"""Values from orders drawn by chance: they add up, and are right in the long run."""

import numpy as np
import pytest

from obtree import (
    DisjunctiveTreeClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
)
from obtree.explain import expected_value, shap_values
from obtree.splitter import ConicSplitter, RandomObliqueSplitter

RNG = np.random.default_rng(0)
N_FEATURES = 24
X = RNG.normal(size=(400, N_FEATURES)).astype(np.float32)
KNOWN = X.copy()
X[RNG.random(X.shape) < 0.02] = np.nan
SCORE = KNOWN @ np.linspace(-1.0, 1.0, N_FEATURES)
CLASSES = (SCORE > 0).astype(int) + (SCORE > 3)

# Trees of which every node has many features, and the class of what is learnt.
DENSE = RandomObliqueSplitter(dense=True, weights="gaussian")
MODELS = {
    "planes": (ObliqueTreeClassifier(splitter=DENSE, max_depth=6), CLASSES),
    "planes of numbers": (ObliqueTreeRegressor(splitter=DENSE, max_depth=6), SCORE),
    "CO2": (ObliqueTreeClassifier(splitter="co2", max_depth=5), CLASSES),
    "products": (
        ObliqueTreeRegressor(splitter=ConicSplitter(subset_size=6), max_depth=7),
        SCORE,
    ),
    "linear leaves": (
        ObliqueTreeClassifier(splitter="oc1", leaf="linear", max_depth=1),
        CLASSES,
    ),
    "TAO": (TAOTreeClassifier(max_depth=4), CLASSES),
    "whole": (DisjunctiveTreeClassifier(n_epochs=2), CLASSES),
    "whole product": (
        ObliqueForestClassifier(3, splitter="axis", combine="product", max_features=1.0),
        CLASSES,
    ),
}


def fit(name):
    model, y = MODELS[name]
    return model.set_params(random_state=0).fit(X, y)


def measure_miss(model, phi, rows, background):
    predict = getattr(model, "predict_proba", model.predict)
    total = expected_value(model, background) + phi.sum(axis=1)
    return np.abs(total - predict(rows)).max()


@pytest.mark.parametrize("name", MODELS)
def test_values_add_up(name):
    model = fit(name)
    background = X[200:204]
    phi = shap_values(model, X[:6], background, max_exact=5, n_permutations=1)
    assert measure_miss(model, phi, X[:6], background) < 1e-9
    # Orders are what `random_state` says, and do not depend on threads or on other rows.
    options = {"max_exact": 5, "n_permutations": 1}
    again = shap_values(model, X[:6], background, **options, n_jobs=2)
    np.testing.assert_array_equal(again, phi)
    alone = shap_values(model, X[3:4], background, **options)
    np.testing.assert_allclose(alone[0], phi[3], atol=1e-12)
    other = shap_values(model, X[:6], background, **options, random_state=1)
    assert np.abs(other - phi).max() > 1e-6


@pytest.mark.parametrize("name", ["planes", "linear leaves", "whole product"])
def test_many_orders_come_close(name):
    model = fit(name)
    # Rows that differ in 16 features, so that all coalitions can be looked at.
    background = KNOWN[200:202].copy()
    background[:, 16:] = KNOWN[0, 16:]
    exact = shap_values(model, KNOWN[:1], background, max_exact=16)
    few, many = (
        shap_values(model, KNOWN[:1], background, max_exact=0, n_permutations=n) for n in (4, 200)
    )
    miss = [np.sqrt(((phi - exact) ** 2).sum() / (exact**2).sum()) for phi in (few, many)]
    assert 0.0 < miss[1] < 0.25 * miss[0]
    assert miss[1] < 0.25


def test_orders_are_shared_by_the_background():
    # Of ten orders each of twenty rows needs one.
    model = fit("planes")
    options = {"max_exact": 0, "random_state": 3}
    ten = shap_values(model, X[:2], X[200:220], n_permutations=10, **options)
    one = shap_values(model, X[:2], X[200:220], n_permutations=1, **options)
    more = shap_values(model, X[:2], X[200:220], n_permutations=21, **options)
    np.testing.assert_array_equal(ten, one)
    assert (more != one).any()


def test_walks_that_need_no_chance():
    # Two features in a node: exact, though there are more than twelve altogether.
    splitter = RandomObliqueSplitter(feature_combinations=2)
    tree = ObliqueTreeRegressor(splitter=splitter, max_depth=5, random_state=0).fit(X, SCORE)
    assert len(np.unique(tree.tree_.term_feature)) > 12
    options = {"max_exact": 2, "n_permutations": 500}
    phi = [shap_values(tree, X[:4], X[200:210], random_state=s, **options) for s in (0, 1)]
    np.testing.assert_array_equal(*phi)


def test_a_row_against_itself():
    for name in MODELS:
        model = fit(name)
        assert not shap_values(model, X[:2], X[:1])[0].any()
        assert shap_values(model, X[:1], X[:1]).shape[:2] == (1, N_FEATURES)


def test_paths_are_followed_to_the_right_leaf():
    # Each leaf of a deep tree has a value of its own, so that a wrong turn does not add up.
    tree = ObliqueTreeRegressor(splitter=DENSE, random_state=0).fit(KNOWN, SCORE)
    phi = shap_values(tree, KNOWN[:300], KNOWN[300:302], max_exact=0, n_permutations=1)
    assert measure_miss(tree, phi, KNOWN[:300], KNOWN[300:302]) < 1e-9
    # Rounding must not decide either: steps are far larger than what they end in.
    huge = KNOWN * np.where(np.arange(N_FEATURES) % 2, 1e7, 1.0).astype(np.float32)
    tree = ObliqueTreeRegressor(splitter=DENSE, random_state=0).fit(huge, SCORE)
    phi = shap_values(tree, huge[:300], huge[300:302], max_exact=0, n_permutations=1)
    assert measure_miss(tree, phi, huge[:300], huge[300:302]) < 1e-9
