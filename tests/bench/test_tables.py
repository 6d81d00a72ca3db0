"""The experiment ``tables``: its protocol, and what its tables say."""

import csv
import sys

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from obtree.bench import tables
from obtree.bench.folder import TABLES_VARIABLE, load_table
from obtree.bench.results import Result, read_results
from obtree.cli.main import main
from obtree.estimators import ObliqueForestClassifier

FAST = ["--models", "RandomForest", "obtree", "obtree axis"]


def run(folder, output, *options):
    common = ["--tables", str(folder), "--output", str(output), "--n-jobs", "1", "--no-figures"]
    return main(["bench", "tables", *common, *options])


def read_table(output, name):
    with (output / f"tables-{name}.csv").open(newline="") as stream:
        columns, *rows = csv.reader(stream)
    return {row[0]: dict(zip(columns, row, strict=True)) for row in rows}


def make_lines(errors, **figures):
    """Lines of results from errors by table, model and split."""
    return [
        Result("full", data, model, "", 100, seed, error=error, fit_wall_s=1.0, **figures)
        for data, by_model in errors.items()
        for model, found in by_model.items()
        for seed, error in enumerate(found)
    ]


def test_splits_and_models_follow_the_protocol(tiny_tables, tmp_path):
    assert run(tiny_tables, tmp_path, "--splits", "2", *FAST) == 0
    results = read_results(tmp_path / "tables.csv")
    # Models innermost, then splits, then tables.
    assert [(r.data, r.seed, r.model) for r in results[:6]] == [
        ("c_one", seed, model) for seed in (0, 1) for model in ("obtree", *FAST[1::2])
    ]
    assert len(results) == 4 * 2 * 3
    found = {(r.data, r.model, r.seed): r for r in results}
    for data, kind in (("c_one", RandomForestClassifier), ("r_two", RandomForestRegressor)):
        X, y, X_test, y_test = load_table(tiny_tables, data, 1)
        predicted = kind(random_state=1).fit(X, y).predict(X_test)
        if data == "c_one":
            error = np.mean(predicted != y_test)
        else:
            error = np.sqrt(np.mean((predicted - y_test) ** 2)) / np.std(y_test)
        assert found[data, "RandomForest", 1].error == pytest.approx(error)
    assert all(r.fit_wall_s > 0 and r.predict_wall_s > 0 and r.rows == 48 for r in results)


def test_obtree_has_all_its_defaults():
    model = tables.make_model("obtree", False, tables.count_trees("obtree", False), 1, 3)
    assert model.get_params() == ObliqueForestClassifier(n_jobs=1, random_state=3).get_params()
    assert tables.count_trees("obtree TAO", False) == 30
    assert tables.count_trees("CatBoost", True) == 1_000
    assert tables.count_trees("obtree co2", True) == tables.count_trees("LightGBM", True) == 100


def test_some_tables_only(tiny_tables, tmp_path, capsys):
    assert run(tiny_tables, tmp_path, "--quick", "--only", "r_two", *FAST) == 0
    assert {r.data for r in read_results(tmp_path / "tables.csv")} == {"r_two"}
    assert run(tiny_tables, tmp_path, "--only", "r_too") == 2
    message = "tables has no data set 'r_too'; expected one of 'c_one', 'c_two', 'r_one', 'r_two'"
    assert message in capsys.readouterr().err


def test_training_rows_of_the_quick_form(tmp_path):
    X = np.arange(2_000.0)[:, None]
    folder = tmp_path / "tables"
    folder.mkdir()
    np.savez(folder / "c_long.npz", X=X, y=(X[:, 0] > 700).astype(np.int16))
    assert run(folder, tmp_path, "--quick", *FAST[:2]) == 0
    (result,) = read_results(tmp_path / "tables.csv")
    assert result.rows == 1_000


def test_a_run_goes_on(tiny_tables, tmp_path):
    options = ["--splits", "1", "--only", "c_two", *FAST[:2]]
    assert run(tiny_tables, tmp_path, *options) == 0
    before = read_results(tmp_path / "tables.csv")
    assert run(tiny_tables, tmp_path, *options, "obtree") == 0
    after = read_results(tmp_path / "tables.csv")
    assert after[0] == before[0]
    assert [r.model for r in after] == ["RandomForest", "obtree"]


def test_without_tables(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(TABLES_VARIABLE, raising=False)
    monkeypatch.delenv("OBTREE_DATA", raising=False)
    assert main(["bench", "tables", "--output", str(tmp_path / "none")]) == 2
    assert "no folder of tables was given, by --tables or" in capsys.readouterr().err
    assert run(tmp_path, tmp_path / "none") == 2
    assert f"{tmp_path} has no tables; expected a folder" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_report_needs_no_tables(tiny_tables, tmp_path, monkeypatch, capsys):
    assert run(tiny_tables, tmp_path, "--quick", "--only", "c_one", *FAST) == 0
    monkeypatch.delenv(TABLES_VARIABLE, raising=False)
    monkeypatch.delenv("OBTREE_DATA", raising=False)
    shown = capsys.readouterr().out
    report = ["bench", "tables", "--quick", "--report", "--no-figures"]
    assert main([*report, "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out == shown
    assert main([*report, "--output", str(tmp_path / "none")]) == 2


def test_trees_are_not_for_the_user_to_choose(tiny_tables, tmp_path, capsys):
    assert run(tiny_tables, tmp_path, "--trees", "3") == 2
    assert "--trees has no meaning for tables" in capsys.readouterr().err


def test_a_library_that_is_not_installed_is_left_out(tiny_tables, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    assert run(tiny_tables, tmp_path, "--quick", "--only", "c_one", *FAST, "CatBoost") == 0
    errors = read_table(tmp_path, "quick-errors-classification")
    assert errors["c_one"]["CatBoost"] == "catboost is not installed"
    ranking = read_table(tmp_path, "quick-six-classification")
    assert set(ranking) == {"obtree", "RandomForest"}


def test_rankings():
    """Two tables: on one all tie, on the other obtree makes a third of the mistakes."""
    results = make_lines(
        {
            "c_a": {"obtree": [0.0, 0.2], "RandomForest": [0.1, 0.1], "obtree axis": [0.1, 0.1]},
            "c_b": {"obtree": [0.003], "RandomForest": [0.011], "obtree axis": [0.023]},
        }
    )
    among_six, among_all = tables.compare_task(results, regression=False)
    assert tables.list_ranking(among_six, False) == [
        # Ratios 1 and 4 / 12; the worst is the former.
        ["obtree", "1.25", "2", "0.577", "1.000", "c_a", "1", "2"],
        ["RandomForest", "1.75", "1", "1.000", "1.000", "-", "1", "2"],
    ]
    assert tables.list_ranking(among_all, False) == [
        ["obtree", "1.50", "2", "0.577", "1.000", "c_a", "1", "2"],
        ["RandomForest", "2.00", "1", "1.000", "1.000", "-", "1", "2"],
        ["obtree axis", "2.50", "1", "1.414", "2.000", "c_b", "1", "2"],
    ]
    assert tables.compare_task(results, regression=True) == (None, None)


def test_regression_ratios_have_no_offset():
    results = make_lines({"r_a": {"obtree": [0.002], "RandomForest": [0.004]}})
    among_six, _ = tables.compare_task(results, regression=True)
    assert tables.list_ranking(among_six, True)[0][3] == "0.500"


def test_only_what_all_have_is_compared():
    results = make_lines(
        {
            "c_a": {"obtree": [0.1, 0.9], "RandomForest": [0.2], "obtree oc1": [0.3]},
            "c_b": {"obtree": [0.1]},  # an interrupted run
            "c_c": {"obtree": [0.1], "RandomForest": [0.2]},
        }
    )
    among_six, among_all = tables.compare_task(results, regression=False)
    assert among_six.tables == ["c_a", "c_c"]
    np.testing.assert_allclose(among_six.errors, [[0.1, 0.2], [0.1, 0.2]])
    assert among_all.models == ["obtree", "RandomForest"]  # oc1 lacks a table


def test_without_the_random_forest_there_are_no_ratios():
    results = make_lines({"c_a": {"obtree oc1": [0.1], "obtree co2": [0.2]}})
    among_six, among_all = tables.compare_task(results, regression=False)
    assert among_six is None
    assert tables.list_ranking(among_all, False)[0] == ["obtree oc1", "1.00", "1", *"----", "1"]


def test_fit_times_are_compared_split_by_split():
    results = [
        Result("full", "c_a", model, "", 100, seed, error=0.1, fit_wall_s=seconds)
        for model, pair in (("obtree", (1.0, 8.0)), ("RandomForest", (2.0, 1.0)))
        for seed, seconds in enumerate(pair)
    ]
    among_six, _ = tables.compare_task(results, regression=False)
    ranking = {row[0]: row for row in tables.list_ranking(among_six, False)}
    assert ranking["obtree"][6] == "2"  # the geometric mean of a half and eight
