"""Weights of rows and classes."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.forest.grow import bootstrap_counts

ESTIMATORS = [
    ObliqueTreeClassifier(max_features=3, random_state=0),
    ObliqueTreeRegressor(max_features=3, random_state=0),
    ObliqueTreeClassifier(splitter="axis_random", random_state=0),
    ObliqueTreeRegressor(splitter="axis_random", criterion="absolute_error", random_state=0),
    ObliqueForestClassifier(4, splitter="axis", bootstrap=False, max_features=3, random_state=0),
    ObliqueForestRegressor(4, splitter="axis", bootstrap=False, max_features=3, random_state=0),
]


@pytest.fixture
def weights():
    return np.random.default_rng(0).integers(0, 4, size=300)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_weights_equal_repetition(estimator, weights, classes, values):
    X, y = classes if is_classifier(estimator) else values
    estimator = clone(estimator)
    if not is_classifier(estimator):
        # Sums of real numbers in another order differ in their last bits, which decides
        # between equally good splits. Nodes of few rows have those: features often part
        # such rows in the same way.
        estimator.set_params(max_depth=2)
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    repeated = estimator.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.apply(X), repeated.apply(X))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("kind", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_zero_weights_equal_absence(kind, bootstrap, weights, classes):
    X, y = classes
    present = weights > 0
    params = dict(bootstrap=bootstrap, min_samples_leaf=0.02, random_state=0)
    forest = kind(5, **params).fit(X, y, sample_weight=weights)
    absent = kind(5, **params).fit(X[present], y[present], sample_weight=weights[present])
    np.testing.assert_array_equal(forest.apply(X), absent.apply(X))
    np.testing.assert_array_equal(forest.predict(X), absent.predict(X))


def test_zero_weights_in_oob(weights, classes):
    X, y = classes
    present = weights > 0
    params = dict(n_estimators=40, oob_score=True, random_state=0)
    forest = ObliqueForestClassifier(**params).fit(X, y, sample_weight=weights)
    absent = ObliqueForestClassifier(**params).fit(
        X[present], y[present], sample_weight=weights[present]
    )
    np.testing.assert_array_equal(
        forest.oob_decision_function_[present], absent.oob_decision_function_
    )
    assert forest.oob_score_ == absent.oob_score_
    np.testing.assert_array_equal(
        forest.oob_decision_function_[~present], forest.predict_proba(X[~present])
    )


def test_class_without_weight_is_still_a_class(classifier, classes):
    X, y = classes
    classifier.fit(X, y, sample_weight=(y != 1).astype(float))
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert set(classifier.predict(X)) == {0, 2}
    assert (classifier.predict_proba(X)[:, 1] == 0).all()


def test_scale_of_weights_does_not_matter(either, classes):
    X, y = classes
    w = np.random.default_rng(1).uniform(0.5, 2, size=300)
    a = clone(either).fit(X, y, sample_weight=w).apply(X)
    b = clone(either).fit(X, y, sample_weight=1024 * w).apply(X)
    np.testing.assert_array_equal(a, b)


def test_one_number_weighs_all(either, classes):
    X, y = classes
    a = clone(either).fit(X, y).apply(X)
    np.testing.assert_array_equal(either.fit(X, y, sample_weight=4).apply(X), a)


def test_class_weight_equals_sample_weight(classifier, classes):
    X, y = classes
    a = clone(classifier).set_params(class_weight={0: 1, 1: 2, 2: 5}).fit(X, y)
    b = clone(classifier).fit(X, y, sample_weight=np.array([1, 2, 5])[y])
    np.testing.assert_array_equal(a.apply(X), b.apply(X))


def test_balanced(classifier, classes):
    X, y = classes
    a = clone(classifier).set_params(class_weight="balanced").fit(X, y)
    b = clone(classifier).fit(X, y, sample_weight=300 / (3 * np.bincount(y))[y])
    np.testing.assert_array_equal(a.apply(X), b.apply(X))


def test_class_weight_zero_leaves_the_class_out(classifier, classes):
    X, y = classes
    classifier.set_params(class_weight={0: 1, 1: 0, 2: 1}).fit(X, y)
    assert set(classifier.predict(X)) == {0, 2}
    with pytest.raises(ValueError, match="positive finite sum"):
        classifier.set_params(class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)


def test_bootstrap_is_a_weight(classes):
    X, y = classes
    params = {"splitter": "axis", "max_features": 3}
    forest = ObliqueForestClassifier(3, random_state=0, **params).fit(X, y)
    for child in forest.estimators_:
        drawn = bootstrap_counts(child.random_state, 300, 300)
        alone = clone(child).fit(X, y, sample_weight=drawn)
        np.testing.assert_array_equal(alone.apply(X), child.apply(X))


def test_min_weight_fraction_counts_weights(either, classes):
    X, y = classes
    w = np.where(np.arange(300) < 10, 100.0, 1.0)
    either.set_params(min_weight_fraction_leaf=0.3).fit(X, y, sample_weight=w)
    for child in getattr(either, "estimators_", [either]):
        node_weight = child.tree_.weighted_n_node_samples
        assert node_weight.min() >= 0.3 * node_weight[0]
