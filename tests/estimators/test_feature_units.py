"""Features of any scale, without scaling by the user."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import (
    DisjunctiveTreeClassifier,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
)
from obtree.data.scale import have_different_units

# All but "two_probe", which compares features as they are.
CLASSIFIERS = {
    "axis": ObliqueTreeClassifier(),
    "axis_random": ObliqueTreeClassifier(splitter="axis_random"),
    "random_oblique": ObliqueTreeClassifier(splitter="random_oblique"),
    "conic": ObliqueTreeClassifier(splitter="conic"),
    "oc1": ObliqueTreeClassifier(splitter="oc1"),
    "discriminant": ObliqueTreeClassifier(splitter="discriminant"),
    "co2": ObliqueTreeClassifier(splitter="co2"),
    "nongreedy": NonGreedyTreeClassifier(n_epochs=4),
    "tao": TAOTreeClassifier(),
    "tao, linear": TAOTreeClassifier(leaf="linear", max_depth=3),
    "linear leaves": ObliqueTreeClassifier(leaf="linear", max_depth=1),
    "disjunctive": DisjunctiveTreeClassifier(n_epochs=4),
}
REGRESSORS = {
    "co2": ObliqueTreeRegressor(splitter="co2", max_depth=5),
    "nongreedy": NonGreedyTreeRegressor(n_epochs=4, max_depth=5),
    "tao": TAOTreeRegressor(max_depth=5),
}


def draw_rows(seed):
    """Features of which three matter, and their sum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 5)).astype(np.float32)
    X[:, 4] = X[:, 4] > 0
    return X, X[:, 0] - X[:, 1] + X[:, 4]


@pytest.mark.parametrize("name", CLASSIFIERS)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    one=st.lists(st.integers(-12, 12), min_size=5, max_size=5),
    other=st.lists(st.integers(-12, 12), min_size=5, max_size=5),
)
def test_units_that_are_powers_of_two_change_no_prediction(name, seed, one, other):
    X, score = draw_rows(seed)
    y = np.digitize(score, [-1.0, 1.0])
    # What a tree says of rows that it has not seen: training rows are alone in their leaves.
    fresh, _ = draw_rows(seed + 1)
    tables = [(X * np.exp2(powers)).astype(np.float32) for powers in (one, other)]
    if name in ("co2", "nongreedy"):
        # What seems to be in common units is left in them.
        assume(all(have_different_units(table, np.ones(len(table))) for table in tables))
    found = [
        clone(CLASSIFIERS[name]).set_params(random_state=seed % 1000).fit(table, y)
        for table in tables
    ]
    np.testing.assert_array_equal(
        *(
            model.predict_proba((fresh * np.exp2(powers)).astype(np.float32))
            for model, powers in zip(found, (one, other), strict=True)
        )
    )


@pytest.mark.parametrize("name", REGRESSORS)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    powers=st.lists(st.integers(-12, 12), min_size=5, max_size=5),
)
def test_regression_does_not_see_units_at_all(name, seed, powers):
    X, y = draw_rows(seed)
    fresh, _ = draw_rows(seed + 1)
    scaled, fresh_scaled = ((rows * np.exp2(powers)).astype(np.float32) for rows in (X, fresh))
    model = clone(REGRESSORS[name]).set_params(random_state=seed % 1000)
    np.testing.assert_array_equal(
        clone(model).fit(X, y).predict(fresh), clone(model).fit(scaled, y).predict(fresh_scaled)
    )


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_nobody_has_to_standardise(name, load):
    """The same accuracy, to two of a hundred rows, in the mean of three times five folds."""
    X, y = load(return_X_y=True)
    scores = {"raw": [], "standardised": []}
    for seed in range(3):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        model = clone(CLASSIFIERS[name]).set_params(random_state=seed)
        scores["raw"].extend(cross_val_score(model, X, y, cv=folds))
        model = make_pipeline(StandardScaler(), model)
        scores["standardised"].extend(cross_val_score(model, X, y, cv=folds))
    raw, standardised = np.mean(scores["raw"]), np.mean(scores["standardised"])
    assert raw > standardised - 0.02
    assert raw > 0.85
