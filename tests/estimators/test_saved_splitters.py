"""Splitters of other packages in model files: not imported unless the caller allows it."""

import json
import pickle
import sys
import zipfile

import numpy as np
import pytest
from sklearn.base import clone

from obtree import ObliqueForestClassifier, TAOTreeClassifier, load_model, save_model
from obtree.core.saved import SavedPart
from obtree.splitter import AxisSplitter, available

PACKAGE = """
import pathlib
from obtree.splitter import PythonSplitter

MADE = []

class Middle(PythonSplitter):
    '''Cuts the first feature at a fraction of its range.'''

    def __init__(self, share=0.5):
        MADE.append(share)
        if share == "crash":
            raise RuntimeError("no such share")
        self.share = share

    def split(self, X, y, sample_weight, rng):
        low, high = X[:, 0].min(), X[:, 0].max()
        return [1.0] + [0.0] * (X.shape[1] - 1), low + self.share * (high - low)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a splitter on the path, not imported."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "plug_saved.py").write_text(PACKAGE, encoding="utf-8")
    info = folder / "plug_saved-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug_saved\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[obtree.splitters]\nmiddle = plug_saved:Middle\n")
    monkeypatch.syspath_prepend(str(folder))
    yield
    sys.modules.pop("plug_saved", None)


@pytest.fixture
def data():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return X, (X[:, 0] > 0.2).astype(int)


def save_with(path, data, splitter, model=None):
    """Save a model whose header names another splitter than the one that grew it."""
    model = model or ObliqueForestClassifier(3, splitter="axis", random_state=0)
    save_model(model.fit(*data), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents["header.json"])
    header["params"][model._splitter_param] = splitter
    contents["header.json"] = json.dumps(header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


OBJECT = {"name": "middle", "params": {"share": 0.25}}


@pytest.mark.parametrize(
    "model", [ObliqueForestClassifier(3, random_state=0), TAOTreeClassifier(random_state=0)]
)
@pytest.mark.parametrize("splitter", ["middle", OBJECT], ids=["name", "object"])
def test_nothing_is_imported(package, tmp_path, data, splitter, model):
    path = tmp_path / "model"
    model = clone(model)
    save_with(path, data, splitter, model)
    expected = model.predict_proba(data[0])
    model = load_model(path)
    np.testing.assert_array_equal(model.predict_proba(data[0]), expected)
    for other in (model, clone(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match=r"'middle' .* was not imported .*allow_plugins=True"):
            other.fit(*data)
    with pytest.raises(ValueError, match="was not imported"):
        model.set_params(**{f"{model._splitter_param}__share": 0.1})
    assert "plug_saved" not in sys.modules


def test_name_and_parameters_survive(package, tmp_path, data):
    path, again = tmp_path / "model", tmp_path / "again"
    for splitter in ("middle", OBJECT):
        save_with(path, data, splitter)
        model = load_model(path)
        params = None if splitter == "middle" else {"share": 0.25}
        assert model.splitter == SavedPart("splitter", "middle", params)
        assert model.estimators_[0].splitter == model.splitter
        assert "middle" in repr(model)
        save_model(model, again)
        assert load_model(again).splitter == model.splitter
    assert "plug_saved" not in sys.modules
    model = load_model(again, allow_plugins=True)
    assert type(model.splitter).__name__ == "Middle"
    assert model.splitter.share == 0.25
    assert sys.modules["plug_saved"].MADE[0] == 0.25
    assert model.fit(*data).score(*data) > 0.5


def test_a_name_is_a_name_when_allowed(package, tmp_path, data):
    save_with(tmp_path / "model", data, "middle")
    model = load_model(tmp_path / "model", allow_plugins=True)
    assert model.splitter == "middle"


def test_a_splitter_that_cannot_be_made(package, tmp_path, data):
    path = tmp_path / "model"
    save_with(path, data, {"name": "middle", "params": {"share": "crash"}})
    with pytest.raises(ValueError, match=r"splitter 'middle' cannot be made: no such share"):
        load_model(path, allow_plugins=True)
    assert load_model(path).predict(data[0]).shape == (80,)


def test_a_splitter_that_cannot_be_imported(package, tmp_path, data):
    path = tmp_path / "model"
    save_with(path, data, OBJECT)
    (tmp_path / "site" / "plug_saved.py").write_text("1 / 0", encoding="utf-8")
    model = load_model(path, allow_plugins=True)
    assert model.splitter == SavedPart("splitter", "middle", {"share": 0.25})


def test_own_splitters_need_no_permission(tmp_path, data):
    path = tmp_path / "model"
    for name in available():
        save_with(path, data, {"name": name, "params": {}})
        assert load_model(path).splitter.get_params() is not None
    save_with(path, data, {"name": "axis", "params": {}})
    assert load_model(path).splitter == AxisSplitter()


def test_permission_is_a_flag(tmp_path):
    with pytest.raises(ValueError, match="allow_plugins='yes' is not valid"):
        load_model(tmp_path / "model", allow_plugins="yes")
    with pytest.raises(TypeError, match="positional"):
        load_model(tmp_path / "model", 100, True)
