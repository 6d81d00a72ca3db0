"""The command line, end to end."""

import subprocess
import sys

import numpy as np
import pytest

import obtree
from obtree.cli import table
from obtree.cli.main import main
from obtree.cli.target import guess_task
from obtree.splitter import available

pd = pytest.importorskip("pandas")


@pytest.fixture
def model(flowers, tmp_path, capsys):
    """A model file fitted to the flowers."""
    path = tmp_path / "flowers.obtree"
    assert run("fit", flowers, "--target", "species", "--n-estimators", 10, "--out", path) == 0
    capsys.readouterr()
    return path


def run(*args):
    return main([str(arg) for arg in args])


def check_error(capsys, text, *args):
    """Run a command that must fail with one line and exit code 2."""
    assert run(*args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("obtree: error: ")
    assert err.count("\n") == 1
    assert text in err


def test_fit_and_predict_a_class(flowers, tmp_path, capsys):
    path = tmp_path / "model"
    assert run("fit", flowers, "--target", "species", "--n-estimators", 7, "--out", path) == 0
    out, err = capsys.readouterr()
    assert out.startswith("classification of 'species' from 4 columns, 150 rows: 7 trees, ")
    assert err == ""
    assert run("predict", path, flowers) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction"
    species = pd.read_csv(flowers)["species"]
    assert (np.array(lines[1:]) == species).mean() > 0.95


def test_predict_probabilities_to_a_file(model, flowers, tmp_path, capsys):
    path = tmp_path / "proba.csv"
    assert run("predict", model, flowers, "--proba", "--out", path) == 0
    assert capsys.readouterr().out == ""
    frame = pd.read_csv(path)
    assert list(frame.columns) == ["proba_setosa", "proba_versicolor", "proba_virginica"]
    np.testing.assert_allclose(frame.sum(axis=1), 1)


def test_columns_are_found_by_name(model, flowers, tmp_path, capsys):
    run("predict", model, flowers)
    expected = capsys.readouterr().out
    shuffled = tmp_path / "shuffled.tsv"
    frame = pd.read_csv(flowers)
    frame[frame.columns[::-1]].to_csv(shuffled, index=False, sep="\t")
    assert run("predict", model, shuffled) == 0
    assert capsys.readouterr().out == expected


def test_fit_a_quantity(flowers, tmp_path, capsys):
    data, path, out = tmp_path / "n.csv", tmp_path / "model", tmp_path / "out.tsv"
    pd.read_csv(flowers).drop(columns="species").to_csv(data, index=False)
    target = "petal width (cm)"
    args = ("fit", data, "--target", target, "--out", path, "--n-estimators", 5, "--seed", 3)
    assert run(*args, "--splitter", "axis_random", "--n-jobs", 1) == 0
    assert capsys.readouterr().out.startswith("regression of 'petal width (cm)'")
    assert run("predict", path, data, "--out", out) == 0
    frame = pd.read_csv(out, sep="\t")
    assert np.corrcoef(frame["prediction"], pd.read_csv(data)[target])[0, 1] > 0.95
    forest = obtree.load_model(path)
    assert forest.splitter == "axis_random"
    assert forest.random_state == 3
    check_error(capsys, "--proba needs a classifier", "predict", path, data, "--proba")


def test_task_can_be_forced(flowers, tmp_path, capsys):
    data, path = tmp_path / "n.csv", tmp_path / "model"
    frame = pd.read_csv(flowers)
    frame["species"] = frame["species"].map({"setosa": 0, "versicolor": 1, "virginica": 2})
    frame.to_csv(data, index=False)
    args = ("fit", data, "--target", "species", "--out", path, "--n-estimators", 2)
    for task in ("classification", "regression"):
        assert run(*args, "--task", task) == 0
        assert capsys.readouterr().out.startswith(task)
    check_error(
        capsys,
        "column 'species', data row 1: 'setosa' is not a number",
        *("fit", flowers, "--target", "species", "--out", path, "--task", "regression"),
    )


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1, 2, 3], "classification"),
        (list(range(21)), "regression"),
        ([1.0, 2.0], "regression"),
    ],
)
def test_task_is_guessed(values, task):
    assert guess_task(pd.Series(values)) == task


def test_progress_bar(flowers, tmp_path, capsys):
    args = ("fit", flowers, "--target", "species", "--out", tmp_path / "m", "--n-estimators", 3)
    assert run(*args, "--splitter", "axis", "--verbose") == 0
    assert "3/3" in capsys.readouterr().err
    assert run(*args, "--verbose") == 0
    assert "racing" in capsys.readouterr().err


def test_time_stamps(tmp_path, capsys):
    steps = np.random.default_rng(0).permutation(600)
    labels = np.where(steps // 60 % 2, "odd", "even")
    frame = pd.DataFrame({"time": 1_700_000_000 + steps, "size": steps % 7 / 2, "label": labels})
    table, model = tmp_path / "times.csv", tmp_path / "model"
    frame.to_csv(table, index=False)
    assert run("fit", table, "--target", "label", "--n-estimators", 20, "--out", model) == 0
    assert capsys.readouterr().err == ""
    assert run("predict", model, table) == 0
    assert (np.array(capsys.readouterr().out.splitlines()[1:]) == labels).mean() > 0.99


def test_parquet(model, flowers, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    data, out = tmp_path / "flowers.parquet", tmp_path / "out.parquet"
    pd.read_csv(flowers).to_parquet(data)
    assert run("predict", model, data, "--out", out) == 0
    assert list(pd.read_parquet(out).columns) == ["prediction"]


def test_missing_files(model, flowers, tmp_path, capsys):
    fit = ("fit", "none.csv", "--target", "y", "--out", tmp_path / "m")
    check_error(capsys, "no such file: none.csv", *fit)
    check_error(capsys, "no such file: none.csv", "predict", model, "none.csv")
    check_error(capsys, "no such file: none", "predict", "none", flowers)
    nowhere = tmp_path / "nowhere" / "m"
    check_error(capsys, "no such folder", "fit", flowers, "--target", "species", "--out", nowhere)
    check_error(capsys, "nowhere", "predict", model, flowers, "--out", nowhere.with_suffix(".csv"))


def test_missing_columns(model, flowers, tmp_path, capsys):
    fit = ("fit", flowers, "--out", tmp_path / "m", "--target")
    check_error(capsys, "no column 'specis'; did you mean 'species'?", *fit, "specis")
    check_error(capsys, "no column 'q'; it has 'sepal length (cm)'", *fit, "q")
    data = tmp_path / "less.csv"
    pd.read_csv(flowers).drop(columns="petal width (cm)").to_csv(data, index=False)
    check_error(capsys, "has no column 'petal width (cm)'", "predict", model, data)


def test_cells_that_are_no_numbers(model, flowers, tmp_path, capsys):
    data = tmp_path / "text.csv"
    frame = pd.read_csv(flowers).astype({"petal width (cm)": object})
    frame.loc[4, "petal width (cm)"] = "wide"
    frame.to_csv(data, index=False)
    text = "column 'petal width (cm)', data row 5: 'wide' is not a number"
    check_error(capsys, text, "fit", data, "--target", "species", "--out", tmp_path / "m")
    check_error(capsys, text, "predict", model, data)


def test_dates_are_no_numbers():
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01"] * 3), "y": [1, 2, 3]})
    with pytest.raises(table.CommandError, match="column 'when', data row 1"):
        table.to_numbers(frame, "x.csv")


def test_numbers_among_objects():
    frame = pd.DataFrame({"a": np.array([1, None, 2.5], dtype=object), "b": [True, False, True]})
    numbers = table.to_numbers(frame, "x.csv")
    np.testing.assert_array_equal(numbers["a"], [1.0, np.nan, 2.5])


def test_broken_tables(model, flowers, tmp_path, capsys):
    fit = ("--target", "y", "--out", tmp_path / "m")
    for name, text, message in (
        ("empty.csv", "", "cannot read"),
        ("header.csv", "x,y\n", "no rows"),
        ("ragged.csv", "x,y\n1,2\n1,2,3\n", "cannot read"),
        ("alone.csv", "y\n1\n2\n", "no column beside the target"),
        ("gap.csv", "x,y\n1,2\n1,\n", "column 'y', data row 2: the target is missing"),
        ("inf.csv", "x,y\n1,1\ninf,0\n", "infinity"),
        ("table.xlsx", "x", "unknown format '.xlsx'"),
    ):
        path = tmp_path / name
        path.write_text(text)
        check_error(capsys, message, "fit", path, *fit)
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00x,y\n\x81")
    check_error(capsys, "cannot read", "fit", tmp_path / "bad.csv", *fit)


def test_bad_parameters(flowers, tmp_path, capsys):
    fit = ("fit", flowers, "--target", "species", "--out", tmp_path / "m")
    check_error(capsys, "unknown splitter 'axs'", *fit, "--splitter", "axs")
    check_error(capsys, "n_estimators=0 is not valid", *fit, "--n-estimators", 0)
    check_error(capsys, "--repeats=0 is not valid", "demo", "--repeats", 0)
    for args in ((), ("fit",), ("nonsense",), (*fit, "--n-estimators", "many")):
        with pytest.raises(SystemExit) as caught:
            run(*args)
        assert caught.value.code == 2
        err = capsys.readouterr().err
        assert err.startswith("obtree: error: ")
        assert err.count("\n") == 1
        assert "--help" in err


def test_unreadable_models(flowers, tmp_path, capsys):
    path = tmp_path / "model"
    path.write_text("nonsense")
    check_error(capsys, "is not a readable model", "predict", path, flowers)


def test_model_without_names(flowers, tmp_path, capsys):
    frame = pd.read_csv(flowers)
    X, y = frame.drop(columns="species").to_numpy(), frame["species"].to_numpy()
    Y = np.column_stack([y, y])
    path, data = tmp_path / "model", tmp_path / "x.csv"
    obtree.save_model(obtree.ObliqueForestClassifier(3, random_state=0).fit(X, Y), path)
    check_error(capsys, "has 5 columns, the model was fitted on 4", "predict", path, flowers)
    frame.drop(columns="species").to_csv(data, index=False)
    assert run("predict", path, data) == 0
    assert capsys.readouterr().out.startswith("prediction_0,prediction_1\n")
    assert run("predict", path, data, "--proba") == 0
    assert capsys.readouterr().out.startswith("proba_0_setosa,proba_0_versicolor")


def test_without_pandas(flowers, model, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    check_error(capsys, "needs pandas; install it with: pip", "predict", model, flowers)


def test_without_pyarrow(model, flowers, tmp_path, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pd, "read_parquet", fail)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", fail)
    data = tmp_path / "x.parquet"
    data.write_bytes(b"x")
    check_error(capsys, "needs pyarrow", "predict", model, data)
    check_error(capsys, "needs pyarrow", "predict", model, flowers, "--out", data)


def test_demo(capsys):
    assert run("demo", "--n-estimators", 3, "--repeats", 1, "--n-jobs", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines[0].split()) == "data model error trees nodes fit s predict s"
    rows = lines[2:-1]
    assert len(rows) == 4 * (2 + len(available()))
    assert len({len(line) for line in [lines[0], *rows]}) == 1
    for name in available():
        assert sum(f"obtree {name} " in row for row in rows) == 4


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        run("--version")
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"obtree {obtree.__version__}\n"


def test_interruption(capsys, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("obtree.cli.demo.measure_model", interrupt)
    assert run("demo") == 130
    assert capsys.readouterr().err == "obtree: interrupted\n"


def test_reader_of_a_pipe_may_leave(model, flowers):
    program = "import sys; from obtree.cli.main import main; sys.exit(main())"
    child = subprocess.Popen(
        [sys.executable, "-c", program, "predict", model, flowers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(60) == 0
