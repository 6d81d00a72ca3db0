"""``obtree bench``: every experiment on tiny data."""

import csv
import sys

import numpy as np
import pytest

from obtree.bench import co2
from obtree.bench.libraries import PEERS, make_peer, measure_size
from obtree.bench.measure import measure_error
from obtree.bench.plan import LibraryNotFoundError
from obtree.bench.results import read_results
from obtree.bench.run import EXPERIMENTS
from obtree.cli.main import main

OPTIONS = {
    "co2-table1": ["--trees", "2", "4"],
    "dnrf-tables": ["--trees", "2"],
    "tao-tables": ["--trees", "2", "3"],
    "nongreedy-figures": [],
    "unified-figures": ["--trees", "2"],
    "peers": ["--trees", "2"],
    "tables": [],
}


def run(output, experiment, *options):
    common = ["--quick", "--seeds", "1", "--n-jobs", "1", "--output", str(output)]
    return main(["bench", experiment, *common, *OPTIONS[experiment], *options])


def read_table(path):
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


@pytest.fixture
def no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


def test_every_experiment_is_tried():
    assert set(OPTIONS) == set(EXPERIMENTS)


@pytest.mark.parametrize("experiment", OPTIONS)
def test_experiment(experiment, tiny_data, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run(tmp_path, experiment) == 0
    results = read_results(tmp_path / f"{experiment}.csv")
    good = [result for result in results if result.status == "ok"]
    assert good
    assert {result.form for result in results} == {"quick"}
    for result in good:
        assert result.error is None or 0.0 <= result.error < 3.0
    tables = sorted(tmp_path.glob(f"{experiment}-quick-*.csv"))
    assert tables
    text = (tmp_path / f"{experiment}-quick.md").read_text()
    printed = capsys.readouterr().out
    for path in tables:
        columns, *rows = read_table(path)
        assert rows
        assert all(len(row) == len(columns) for row in rows)
        assert all(cell in text and cell in printed for row in rows for cell in row)
    pictures = list(tmp_path.glob(f"{experiment}-quick-*.png"))
    assert pictures
    assert all(picture.read_bytes()[:4] == b"\x89PNG" for picture in pictures)


def test_co2_has_all_nine_rows(tiny_data, tmp_path):
    run(tmp_path, "co2-table1", "--only", "letter", "usps", "mnist", "--no-figures")
    columns, *rows = read_table(tmp_path / "co2-table1-quick-errors.csv")
    assert len(rows) == 9
    cells = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
    assert cells["USPS"]["CO2 forest 4"] == "no data (-)"
    assert cells["SatImage"]["CO2 forest 4"] == "not run (-)"
    assert cells["Letter"]["training rows"] == "40 / 15000"
    results = read_results(tmp_path / "co2-table1.csv")
    (mine,) = [r for r in results if (r.data, r.model, r.trees) == ("letter", "co2", 4)]
    assert cells["Letter"]["CO2 forest 4"] == f"{100 * mine.error:.2f} (-)"
    # Each tree of the study has its nu.
    _, *study = read_table(tmp_path / "co2-table1-quick-nu.csv")
    assert [row[:3] for row in study[:3]] == [
        ["co2 tree", "5", "1"],
        ["co2 tree", "15", "1"],
        ["co2 tree", "5", "10"],
    ]
    assert study[-1][:3] == ["axis tree", "15", "-"]
    # Smaller forests are tested too, for the figure.
    assert {r.trees for r in results if r.data == "letter"} == {1, 2, 3, 4}
    assert not list(tmp_path.glob("*.png"))


def test_some_models_only(tiny_data, tmp_path, no_matplotlib):
    assert run(tmp_path, "peers", "--only", "kin8nm", "--models", "obtree axis", "ExtraTrees") == 0
    results = read_results(tmp_path / "peers.csv")
    assert [result.model for result in results] == ["ExtraTrees", "obtree axis"]


def test_published_figures_stand_beside_ours():
    assert co2.find_published("co2", "letter", 1000) == 1.8
    assert co2.find_published("co2", "letter", 100) is None
    assert co2.find_published("oc1", "mnist", 10) is None


def test_an_interrupted_run_goes_on(tiny_data, tmp_path, monkeypatch, no_matplotlib):
    options = ("co2-table1", "--only", "letter")
    measured = []

    def measure_two(cell, plan):
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(cell)
        return co2.measure(cell, plan)

    experiment = EXPERIMENTS["co2-table1"]
    halting = experiment.__class__(**{**vars(experiment), "measure": measure_two})
    monkeypatch.setitem(EXPERIMENTS, "co2-table1", halting)
    assert run(tmp_path, *options) == 130
    assert len(measured) == 2
    before = read_results(tmp_path / "co2-table1.csv")
    assert {result.model for result in before} == {"axis", "oc1"}
    assert "not run" in (tmp_path / "co2-table1-quick.md").read_text()

    rest = []

    def measure_rest(cell, plan):
        rest.append(cell)
        return co2.measure(cell, plan)

    going = experiment.__class__(**{**vars(experiment), "measure": measure_rest})
    monkeypatch.setitem(EXPERIMENTS, "co2-table1", going)
    assert run(tmp_path, *options) == 0
    assert [cell.model for cell in rest] == ["co2"]
    after = read_results(tmp_path / "co2-table1.csv")
    assert after[: len(before)] == before

    rest.clear()
    assert run(tmp_path, *options) == 0
    assert run(tmp_path, "co2-table1", "--report") == 0
    assert rest == []
    assert run(tmp_path, *options, "--fresh") == 0
    assert [cell.model for cell in rest] == ["axis", "oc1", "co2"]


def test_without_matplotlib(tiny_data, tmp_path, capsys, no_matplotlib):
    assert run(tmp_path, "co2-table1", "--only", "letter") == 0
    assert "no figures were drawn: figures need matplotlib" in capsys.readouterr().err
    assert (tmp_path / "co2-table1-quick.md").exists()


def test_without_a_library(tiny_data, tmp_path, monkeypatch, no_matplotlib):
    for name in ("catboost", "lightgbm", "xgboost", "ydf"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run(tmp_path, "peers", "--only", "pendigits") == 0
    results = {result.model: result for result in read_results(tmp_path / "peers.csv")}
    assert results["LightGBM"].status == "lightgbm is not installed"
    assert results["CatBoost"].status == "catboost is not installed"
    assert results["YDF oblique"].status == "ydf is not installed"
    assert results["obtree co2"].status == "ok"
    columns, row = read_table(tmp_path / "peers-quick-errors.csv")
    assert dict(zip(columns, row, strict=True))["XGBoost"] == "xgboost is not installed"


@pytest.mark.parametrize("name", PEERS)
def test_sizes_of_peers(name, tiny_data):
    from obtree.bench.data import load

    X, y, X_test, _ = load("pendigits")
    try:
        model = make_peer(name, False, 3, 1, 0)
    except LibraryNotFoundError as error:
        pytest.skip(str(error))
    size = measure_size(model.fit(X, y))
    assert len(model.predict(X_test)) == len(X_test)
    assert size["n_bytes"] > 100
    assert size["nodes"] >= 3
    if name in ("RandomForest", "ExtraTrees"):
        assert size["nodes"] == sum(tree.tree_.node_count for tree in model.estimators_)


def test_unknown_peers_are_refused():
    with pytest.raises(ValueError, match="unknown library 'H2O'; expected one of"):
        make_peer("H2O", False, 3, 1, 0)


@pytest.mark.parametrize("name", PEERS)
def test_peers_take_classes_that_are_not_numbered_in_turn(name):
    try:
        model = make_peer(name, False, 5, 1, 0)
    except LibraryNotFoundError as error:
        pytest.skip(str(error))
    X = np.repeat(np.eye(3), 40, axis=0) + np.linspace(0, 0.1, 120)[:, None]
    y = np.repeat([1, 3, 4], 40)
    predicted = model.fit(X, y).predict(X)
    assert predicted.shape == y.shape
    assert measure_error(predicted, y) < 0.1


def check_failure(capsys, text):
    """One line on standard error, and no tables."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("obtree: error: ")
    assert err.count("\n") == 1
    assert text in err


def test_without_data(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OBTREE_DATA", str(tmp_path))
    for experiment in ("co2-table1", "tao-tables"):
        assert run(tmp_path / "out", experiment) == 2
        check_failure(capsys, f"{experiment} measured nothing: data set '")


def test_without_the_data_that_were_asked_for(tiny_data, tmp_path, capsys, no_matplotlib):
    assert run(tmp_path, "co2-table1", "--only", "usps") == 2
    check_failure(capsys, "data set 'usps' was not found")
    assert run(tmp_path, "co2-table1", "--only", "usps", "letter") == 2
    out, err = capsys.readouterr()
    assert "Letter" in out  # what there is is measured and shown
    assert err.splitlines()[-1].startswith("obtree: error: data set 'usps' was not found")
    assert run(tmp_path, "co2-table1", "--only", "letter") == 0


def test_without_any_library(tiny_data, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert run(tmp_path, "peers", "--only", "pendigits", "--models", "LightGBM") == 2
    check_failure(capsys, "peers measured nothing: lightgbm is not installed")


def test_report_without_results(tmp_path, capsys):
    assert run(tmp_path, "co2-table1", "--report") == 2
    check_failure(capsys, "has no results of the quick form")


def test_near_names_are_suggested(tmp_path, capsys):
    output = ["--output", str(tmp_path / "none")]
    assert main(["bench", "peers", "--only", "Lettre", *output]) == 2
    check_failure(capsys, "Did you mean 'letter'?")
    assert main(["bench", "co2-table1", "--models", "C02", *output]) == 2
    check_failure(capsys, "Did you mean 'co2'?")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["peers", "--only", "lettre"], "peers has no data set 'lettre'; expected one of '"),
        (["peers", "--seeds", "0"], "--seeds=0 is not valid; expected None or an integer >= 1"),
        (["peers", "--trees", "10", "0"], "--trees=0 is not valid; expected an integer >= 1"),
        (["co2-table1", "--models", "co3"], "co2-table1 has no model 'co3'; expected one of"),
        (["peers", "--fresh", "--report"], "--fresh and --report contradict each other"),
        (["nongreedy-figures", "--trees", "3"], "--trees has no meaning for nongreedy-figures"),
        (["peers", "--tables", "."], "--tables has no meaning for peers; leave it out"),
    ],
)
def test_mistakes(options, message, tmp_path, capsys):
    assert main(["bench", *options, "--output", str(tmp_path / "none")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_unknown_experiments_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "co3"])
    assert "invalid choice: 'co3'" in capsys.readouterr().err
