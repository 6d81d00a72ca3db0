"""Estimators with scikit-learn's interface."""

from obtree.estimators.forest import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.estimators.io import load_model, save_model
from obtree.estimators.tao import (
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    tao_path,
)
from obtree.estimators.tree import ObliqueTreeClassifier, ObliqueTreeRegressor

__all__ = [
    "ObliqueForestClassifier",
    "ObliqueForestRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "TAOForestClassifier",
    "TAOForestRegressor",
    "TAOTreeClassifier",
    "TAOTreeRegressor",
    "load_model",
    "save_model",
    "tao_path",
]
