"""Oblique decision trees and forests behind scikit-learn's interface."""

from importlib.metadata import version

from obtree.estimators import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)

__version__ = version("obtree")

__all__ = [
    "ObliqueForestClassifier",
    "ObliqueForestRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "__version__",
    "load_model",
    "save_model",
]
