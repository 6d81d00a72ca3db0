"""What cannot be explained is refused with a reason."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import (
    DensityForest,
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
)
from obtree.explain import expected_value, shap_values, to_shap_dict

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
FOREST = ObliqueForestClassifier(3, splitter="oc1", random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3),
        make_pipeline(StandardScaler(), ObliqueForestClassifier(3)),
        DensityForest(3),
        ForestEmbedding(3),
        "forest",
    ],
)
def test_models(model):
    if hasattr(model, "fit"):
        model.fit(X, Y)
    for function in (
        lambda: shap_values(model, X, X),
        lambda: expected_value(model, X),
        lambda: to_shap_dict(model),
    ):
        with pytest.raises(TypeError, match=r"expected a fitted tree or forest of obtree"):
            function()


def test_models_that_are_not_fitted():
    with pytest.raises(NotFittedError):
        shap_values(ObliqueForestClassifier(), X, X)
    with pytest.raises(NotFittedError):
        to_shap_dict(ObliqueForestClassifier())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_exact": 21}, "max_exact=21 is not valid; expected an integer from 0 to 20"),
        ({"n_permutations": 0}, "n_permutations=0 is not valid; expected an integer >= 1"),
        ({"random_state": -1}, "random_state=-1"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"output": "log_scores"}, "unknown output 'log_scores'"),
        ({"output": "log_score"}, "is for forests of classes with combine='product'"),
        ({"background_weight": [1.0]}, r"background_weight has shape \(1,\), expected \(60,\)"),
        ({"background_weight": np.full(60, -1.0)}, "Negative values in background_weight"),
        ({"background_weight": np.zeros(60)}, "weights of the rows sum to 0.0"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        shap_values(FOREST, X, X, **options)


def test_log_scores_are_for_classes():
    forest = ObliqueForestRegressor(3, splitter="axis").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expected output='prediction' for this ObliqueForestR"):
        expected_value(forest, X, output="log_score")


def test_rows():
    with pytest.raises(ValueError, match=r"^X has 2 features"):
        shap_values(FOREST, X[:, :2], X)
    with pytest.raises(ValueError, match=r"^background: X has 2 features"):
        shap_values(FOREST, X, X[:, :2])
    with pytest.raises(ValueError, match=r"^background: .*0 sample"):
        shap_values(FOREST, X, X[:0])
    with pytest.raises(ValueError, match=r"^background: X contains infinity"):
        shap_values(FOREST, X, np.full((1, 3), np.inf))
