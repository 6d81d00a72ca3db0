"""Model files on the command line: places to write to, and files that are no models."""

import io
import os
import zipfile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import FernClassifier, ObliqueTreeClassifier, load_model, save_model
from obtree.cli.main import main
from obtree.export import to_c

pd = pytest.importorskip("pandas")


@pytest.fixture
def table(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    path = tmp_path / "table.csv"
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(y=(X[:, 0] > 0).astype(int)).to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path, table):
    frame = pd.read_csv(table)
    path = tmp_path / "model"
    save_model(ObliqueTreeClassifier(random_state=0).fit(frame[["a", "b"]], frame["y"]), path)
    return path


def check_error(capsys, text, *args):
    """Run a command that must end with one line and exit code 2."""
    assert main([str(arg) for arg in args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("obtree: error: ")
    assert err.count("\n") == 1
    assert text in err


@pytest.mark.parametrize("place", ["folder", "none/model", "pipe"])
def test_fit_looks_at_the_place_before_it_reads_the_table(tmp_path, capsys, place):
    (tmp_path / "folder").mkdir()
    text = {"folder": "is a folder", "none/model": "no such folder", "pipe": "not a regular file"}
    if place == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("there are no pipes with names here")
        os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    # The table does not exist, which is found out second.
    args = ("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / place)
    check_error(capsys, text[place], *args)
    assert sorted(tmp_path.rglob("*")) == before


def test_fit_tries_whether_the_folder_can_be_written(tmp_path, capsys, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("obtree.core.files.open", refuse, raising=False)
    args = ("fit", tmp_path / "none.csv", "--target", "y", "--out", tmp_path / "model")
    check_error(capsys, "Permission denied", *args)


def break_array(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "seeds.npy":
                content = content.replace(b"(0,)", b"((((")
            new.writestr(name, content)
    return stream.getvalue()


def nest_header(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as new:
        new.writestr("header.json", "[" * 10**5)
    return stream.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"PK\1\2", b"PK\1\3"),
        lambda data: b"\n\x1b[2J" * 100,
        break_array,
        nest_header,
    ],
)
def test_predict_with_a_damaged_model(model, table, capsys, damage):
    model.write_bytes(damage(model.read_bytes()))
    check_error(capsys, "is not a readable model: ", "predict", model, table)


def test_predict_takes_the_permission(model, table, capsys):
    plain = main(["predict", str(model), str(table)]), capsys.readouterr()
    allowed = main(["predict", "--allow-plugins", str(model), str(table)]), capsys.readouterr()
    assert plain == allowed
    assert plain[0] == 0


# ---- export-c ----------------------------------------------------------------------------------


def test_export_writes_what_to_c_does(tmp_path, model, capsys):
    expected = to_c(load_model(model))
    assert main(["export-c", str(model)]) == 0
    assert capsys.readouterr().out == expected
    out = tmp_path / "model.c"
    args = ["export-c", str(model), "--out", str(out), "--prefix", "m", "--no-proba"]
    assert main(args) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text() == to_c(load_model(model), prefix="m", proba=False)


def test_export_reports_mistakes_in_one_line(tmp_path, table, model, capsys):
    check_error(capsys, "no such file", "export-c", tmp_path / "none")
    check_error(capsys, "prefix='1' is not valid", "export-c", model, "--prefix", "1")
    check_error(capsys, "is a folder", "export-c", model, "--out", tmp_path)
    ferns = tmp_path / "ferns"
    frame = pd.read_csv(table)
    save_model(FernClassifier(2, depth=2).fit(frame[["a", "b"]], frame["y"]), ferns)
    check_error(capsys, "FernClassifier cannot be exported to C", "export-c", ferns)


def test_predict_reads_pipelines(tmp_path, table, capsys):
    pytest.importorskip("skops")
    frame = pd.read_csv(table)
    features = frame[["a", "b"]]
    pipeline = make_pipeline(StandardScaler(), ObliqueTreeClassifier(max_depth=2, random_state=0))
    pipeline.fit(features, frame["y"])
    save_model(pipeline, tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), str(table), "--proba"]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(found.columns) == ["proba_0", "proba_1"]
    np.testing.assert_allclose(found, pipeline.predict_proba(features))
    check_error(capsys, "Pipeline cannot be exported to C", "export-c", tmp_path / "model")
