"""Estimators and small data for all tests of this folder."""

import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_regression

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)

CLASSIFIERS = [
    ObliqueTreeClassifier(random_state=0),
    ObliqueForestClassifier(5, random_state=0),
]
REGRESSORS = [
    ObliqueTreeRegressor(random_state=0),
    ObliqueForestRegressor(5, random_state=0),
]


def name_class(estimator):
    """Return the name that a test id shows."""
    return type(estimator).__name__


@pytest.fixture(params=CLASSIFIERS, ids=name_class)
def classifier(request):
    """An unfitted classifier: one tree, then a forest."""
    return clone(request.param)


@pytest.fixture(params=REGRESSORS, ids=name_class)
def regressor(request):
    """An unfitted regressor: one tree, then a forest."""
    return clone(request.param)


@pytest.fixture(params=CLASSIFIERS + REGRESSORS, ids=name_class)
def either(request):
    """Each of the four estimators in turn, unfitted."""
    return clone(request.param)


@pytest.fixture(scope="session")
def iris():
    """150 rows, 4 columns, 3 classes."""
    return load_iris(return_X_y=True)


@pytest.fixture(scope="session")
def diabetes():
    """442 rows, 10 columns, a real target."""
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="session")
def classes():
    """300 rows, 8 columns, 3 overlapping classes, no ties."""
    return make_classification(300, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)


@pytest.fixture(scope="session")
def values():
    """300 rows, 8 columns, a noisy linear target, no ties."""
    return make_regression(300, 8, noise=10.0, random_state=0)
