"""Estimators with scikit-learn's interface."""

from obtree.estimators.density import DensityForest
from obtree.estimators.disjunctive import DisjunctiveForestClassifier, DisjunctiveTreeClassifier
from obtree.estimators.embedding import ForestEmbedding
from obtree.estimators.ferns import FernClassifier
from obtree.estimators.forest import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.estimators.model_files import load_model, save_model
from obtree.estimators.nongreedy import NonGreedyTreeClassifier, NonGreedyTreeRegressor
from obtree.estimators.nongreedy_forest import NonGreedyForestClassifier, NonGreedyForestRegressor
from obtree.estimators.semi_supervised import SemiSupervisedForestClassifier
from obtree.estimators.tao import TAOTreeClassifier, TAOTreeRegressor
from obtree.estimators.tao_forest import TAOForestClassifier, TAOForestRegressor
from obtree.estimators.tao_path import tao_path
from obtree.estimators.tree import ObliqueTreeClassifier, ObliqueTreeRegressor

__all__ = [
    "DensityForest",
    "DisjunctiveForestClassifier",
    "DisjunctiveTreeClassifier",
    "FernClassifier",
    "ForestEmbedding",
    "NonGreedyForestClassifier",
    "NonGreedyForestRegressor",
    "NonGreedyTreeClassifier",
    "NonGreedyTreeRegressor",
    "ObliqueForestClassifier",
    "ObliqueForestRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "SemiSupervisedForestClassifier",
    "TAOForestClassifier",
    "TAOForestRegressor",
    "TAOTreeClassifier",
    "TAOTreeRegressor",
    "load_model",
    "save_model",
    "tao_path",
]
