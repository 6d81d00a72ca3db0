"""What the user guide shows of other packages runs, each program as it stands there."""

import re
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from obtree import ObliqueForestClassifier, ObliqueForestRegressor

GUIDE = Path(__file__).resolve().parents[2] / "doc" / "user_guide"

#: By name: the page, and the packages without which it cannot run.
RECIPES = {
    "pipeline": ("model_files", ["skops"]),
    "skops": ("model_files", ["skops"]),
    "mlflow": ("model_files", ["mlflow", "skops"]),
    "callbacks": ("from_scikit_learn", ["sklearn.callback"]),
    "mapie": ("conformal", ["mapie"]),
    "crepes": ("conformal", ["crepes"]),
}


def list_programs():
    """The named programs of all pages, by name."""
    programs = {}
    for page in sorted(GUIDE.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(
            r"^\.\. code-block:: python\n   :name: recipe-(\w+)\n\n((?:   .*\n|\n)+)", text, re.M
        ):
            programs[match[1]] = (page.stem, textwrap.dedent(match[2]))
    return programs


def test_every_program_is_run():
    assert {name: page for name, (page, _) in list_programs().items()} == {
        name: page for name, (page, _) in RECIPES.items()
    }


@pytest.mark.parametrize("name", RECIPES)
def test_programs(name, tmp_path, monkeypatch):
    for package in RECIPES[name][1]:
        pytest.importorskip(package)
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    if name == "mlflow":
        import mlflow

        mlflow.set_tracking_uri(tmp_path.as_uri())
        mlflow.set_experiment("recipe")
    exec(compile(list_programs()[name][1], name, "exec"), {})


@pytest.mark.parametrize("kind", ["pickle", "cloudpickle", "skops"])
@pytest.mark.parametrize("model", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_mlflow_brings_back_the_same_bits(kind, model, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    X, y = make_classification(80, random_state=0)
    model = model(5, random_state=0).fit(X, y)
    trusted = None
    if kind == "skops":
        skops_io = pytest.importorskip("skops.io")
        trusted = skops_io.get_untrusted_types(data=skops_io.dumps(model))
    mlflow.sklearn.save_model(
        model, tmp_path / "model", serialization_format=kind, skops_trusted_types=trusted
    )
    same = mlflow.sklearn.load_model(str(tmp_path / "model"))
    method = "predict_proba" if hasattr(model, "classes_") else "predict"
    np.testing.assert_array_equal(getattr(same, method)(X), getattr(model, method)(X))


def test_mapie_keeps_its_promise():
    mapie = pytest.importorskip("mapie.regression")
    X, y = make_regression(900, 5, noise=30.0, random_state=0)
    forest = ObliqueForestRegressor(20, splitter="axis", random_state=0).fit(X[:300], y[:300])
    wrapped = mapie.SplitConformalRegressor(forest, confidence_level=0.8, prefit=True)
    wrapped.conformalize(X[300:600], y[300:600])
    values, intervals = wrapped.predict_interval(X[600:])
    np.testing.assert_array_equal(values, forest.predict(X[600:]))
    inside = (intervals[:, 0, 0] <= y[600:]) & (y[600:] <= intervals[:, 1, 0])
    assert 0.7 < inside.mean() < 0.9


def test_crepes_keeps_its_promise_with_rows_left_out():
    crepes = pytest.importorskip("crepes")
    X, y = make_regression(900, 5, noise=30.0, random_state=0)
    forest = ObliqueForestRegressor(60, splitter="axis", oob_score=True, random_state=0)
    wrapped = crepes.WrapRegressor(forest.fit(X[:600], y[:600]))
    wrapped.calibrate(X[:600], y[:600], oob=True)
    intervals = wrapped.predict_int(X[600:], confidence=0.8)
    inside = (intervals[:, 0] <= y[600:]) & (y[600:] <= intervals[:, 1])
    assert 0.7 < inside.mean() < 0.9
