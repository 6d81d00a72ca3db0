"""skops writes and reads every estimator, and needs to trust nothing but obtree."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.estimators.io import ESTIMATORS
from obtree.splitter import OC1Splitter

skops_io = pytest.importorskip("skops.io")

SPECIAL = {
    "linear leaves": ObliqueForestClassifier(
        2, splitter="axis", max_depth=2, leaf="linear", random_state=0
    ),
    "gaussian lines": ObliqueForestRegressor(
        2, splitter="axis", leaf="linear_gaussian", random_state=0
    ),
    "splitter object": ObliqueForestClassifier(
        2, splitter=OC1Splitter(n_restarts=1), random_state=0
    ),
    "list of splitters": ObliqueForestClassifier(4, splitter=["axis", "co2"], random_state=0),
    "rotation": ObliqueForestClassifier(2, splitter="axis", rotation="pca", random_state=0),
}


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[::9, 1] = np.nan
    return X, (X[:, 0] + X[:, 2] > 0).astype(int)


def list_outputs(model, X):
    """What a model says about rows, by each of its methods."""
    found = {}
    for name in ("predict", "predict_proba", "transform", "score_samples", "apply"):
        method = getattr(model, name, None)
        if method is not None:
            values = method(X)
            found[name] = values.toarray() if hasattr(values, "toarray") else values
    assert found
    return found


def check_round_trip(model, X):
    expected = list_outputs(model, X)
    data = skops_io.dumps(model)
    types = skops_io.get_untrusted_types(data=data)
    assert types
    assert all(name.startswith("obtree.") for name in types), types
    same = skops_io.loads(data, trusted=types)
    for name, values in list_outputs(same, X).items():
        np.testing.assert_array_equal(values, expected[name])
    return same


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator(name):
    X, y = make_data()
    model = ESTIMATORS[name](random_state=0)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=3)
    if "n_epochs" in model.get_params():
        model.set_params(n_epochs=3)
    if name.startswith("SemiSupervised"):
        y[::3] = -1
    if name == "ForestEmbedding":
        X = np.nan_to_num(X)
    check_round_trip(model.fit(X, y), X)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_settings(name):
    X, y = make_data()
    X = np.nan_to_num(X)
    same = check_round_trip(SPECIAL[name].fit(X, y), X)
    assert same.get_params() == SPECIAL[name].get_params()
    y = -y
    np.testing.assert_array_equal(same.fit(X, y).predict(X), SPECIAL[name].fit(X, y).predict(X))


def test_a_pipeline():
    X, y = make_data()
    forest = ObliqueForestClassifier(3, random_state=0)
    check_round_trip(make_pipeline(StandardScaler(), forest).fit(X, y), X)


def test_false_trees_are_refused():
    X, y = make_data()
    model = ObliqueForestClassifier(2, splitter="axis", random_state=0).fit(X, y)
    tree = model.estimators_[0].tree_
    tree.children_left = tree.children_left.copy()
    tree.children_left[0] = 10**6
    data = skops_io.dumps(model)
    with pytest.raises(ValueError, match="children"):
        skops_io.loads(data, trusted=skops_io.get_untrusted_types(data=data))
