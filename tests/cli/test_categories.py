"""Tables with text and empty cells through the command line."""

import numpy as np
import pytest

from obtree import ObliqueForestClassifier, load_model
from obtree.cli.main import main

pd = pytest.importorskip("pandas")


@pytest.fixture
def people(tmp_path):
    """A file of people: numbers, text, truth values, empty cells."""
    rng = np.random.default_rng(0)
    n = 150
    job = rng.choice(["cook", "clerk", "smith", "1", "2"], n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n).astype(float),
            "job": job.astype(object),
            "member": (rng.random(n) < 0.5).astype(object),
            "town": rng.choice(list("ABCDEFG"), n),
        }
    )
    frame["pays"] = np.where(np.isin(job, ["cook", "1"]) ^ (frame["age"] > 40), "yes", "no")
    frame.loc[::9, "age"] = np.nan
    frame.loc[::11, "job"] = None
    frame.loc[::13, "member"] = None
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def run(*args):
    return main([str(arg) for arg in args])


def fit(path, out, *more):
    return run("fit", path, "--target", "pays", "--n-estimators", 10, "--out", out, *more)


def test_text_needs_no_preparation(people, tmp_path, capsys):
    model = tmp_path / "model.obtree"
    assert fit(people, model) == 0
    capsys.readouterr()
    assert run("predict", model, people) == 0
    found = capsys.readouterr().out.splitlines()[1:]
    frame = pd.read_csv(people)
    assert np.mean(frame["pays"] == found) > 0.9
    features = frame.drop(columns="pays")
    same = ObliqueForestClassifier(10, random_state=0).fit(features, frame["pays"])
    np.testing.assert_array_equal(found, same.predict(features))
    loaded = load_model(model)
    assert loaded.is_categorical_.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(found, loaded.predict(features))


def test_text_that_looks_like_numbers_stays_text(people, tmp_path, capsys):
    model = tmp_path / "model.obtree"
    fit(people, model)
    capsys.readouterr()
    frame = pd.read_csv(people)
    digits = frame["job"].isin(["1", "2"]).to_numpy()
    part = tmp_path / "part.csv"
    frame[digits].to_csv(part, index=False)
    assert pd.read_csv(part)["job"].dtype.kind in "if"
    run("predict", model, people)
    everything = np.array(capsys.readouterr().out.splitlines()[1:])
    assert run("predict", model, part) == 0
    found = np.array(capsys.readouterr().out.splitlines()[1:])
    np.testing.assert_array_equal(found, everything[digits])


def test_values_that_became_text_are_known(people, tmp_path, capsys):
    frame = pd.read_csv(people)
    frame["floor"] = np.arange(len(frame)) % 7
    path = tmp_path / "more.csv"
    frame.to_csv(path, index=False)
    model = tmp_path / "model.obtree"
    names = "categorical_features=['job', 'member', 'town', 'floor']"
    assert fit(path, model, "--set", names) == 0
    capsys.readouterr()
    run("predict", model, path)
    expected = capsys.readouterr().out.splitlines()[2:]
    # One cell that is no number, and no truth value, makes text of its column.
    for column, cell in (("floor", "cellar"), ("member", "?")):
        other = frame.astype({column: object})
        other.loc[0, column] = cell
        other.to_csv(path, index=False)
        assert run("predict", model, path) == 0
        assert capsys.readouterr().out.splitlines()[2:] == expected


def test_truth_values_that_were_text_stay_text(people, tmp_path, capsys):
    frame = pd.read_csv(people)
    frame["member"] = frame["member"].astype(object)
    frame.loc[0, "member"] = "perhaps"
    path = tmp_path / "more.csv"
    frame.to_csv(path, index=False)
    model = tmp_path / "model.obtree"
    fit(path, model)
    capsys.readouterr()
    run("predict", model, path)
    expected = capsys.readouterr().out.splitlines()[2:]
    frame[1:].to_csv(path, index=False)
    assert {type(cell) for cell in pd.read_csv(path)["member"]} == {bool, float}
    assert run("predict", model, path) == 0
    assert capsys.readouterr().out.splitlines()[1:] == expected


def test_new_categories_and_empty_columns(people, tmp_path, capsys):
    model = tmp_path / "model.obtree"
    fit(people, model)
    capsys.readouterr()
    path = tmp_path / "new.csv"
    path.write_text("age,job,member,town\n30,judge,True,A\n,,,\n50,,False,Z\n")
    assert run("predict", model, path) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    path.write_text("age,job,member,town\n30,,,\n")
    assert run("predict", model, path) == 0


def test_numbers_with_a_mistake_are_named(people, tmp_path, capsys):
    path = tmp_path / "bad.csv"
    frame = pd.read_csv(people)
    frame["age"] = frame["age"].map("{:.0f}".format).replace("nan", "?")
    frame.to_csv(path, index=False)
    assert fit(path, tmp_path / "model") == 2
    err = capsys.readouterr().err
    assert "column 'age', data row 1: '?' is not a number" in err
    assert "categorical_features" in err
    names = "categorical_features=['age', 'job', 'town']"
    assert fit(path, tmp_path / "model", "--set", names) == 0


def test_others_take_numbers(people, tmp_path, capsys):
    args = ("--estimator", "tao-tree", "--set", "max_depth=3")
    assert run("fit", people, "--target", "pays", "--out", tmp_path / "model", *args) == 2
    assert "'tree' and 'forest' take categories" in capsys.readouterr().err
