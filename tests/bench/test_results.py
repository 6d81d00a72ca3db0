"""Results on disk, their means, and tables."""

import csv
import math
from dataclasses import asdict

import pytest

from obtree.bench import published
from obtree.bench.report import Table, write_tables
from obtree.bench.results import COLUMNS, KEY, Result, ResultFile, read_results
from obtree.bench.summary import Summaries, set_beside


def make_result(seed=0, **figures):
    return Result("full", "letter", "co2", "nu=4", 10, seed, **figures)


def test_lines_come_back_as_they_were(tmp_path):
    path = tmp_path / "x.csv"
    lines = [
        make_result(0, error=0.1 + 0.2, rows=15, fit_s=1e-9, fit_wall_s=0.5),
        make_result(1, status='no data, "none"'),
    ]
    store = ResultFile(path)
    for line in lines:
        store.add([line])
    assert read_results(path) == lines
    assert ResultFile(path).select("full") == lines
    assert ResultFile(path).select("quick") == []


def test_only_good_lines_are_done(tmp_path):
    store = ResultFile(tmp_path / "x.csv")
    good, bad = make_result(0, error=0.1), make_result(1, status="no data")
    store.add([good, bad])
    assert store.has([good.key])
    assert not store.has([bad.key])
    assert not store.has([good.key, make_result(2).key])
    store.add([make_result(1, error=0.2)])
    assert ResultFile(store.path).has([good.key, bad.key])


@pytest.mark.parametrize("cut", [1, 5, 12, 40])
def test_half_a_line_is_forgotten(tmp_path, cut):
    path = tmp_path / "x.csv"
    whole = make_result(0, error=0.1)
    ResultFile(path).add([whole, make_result(1, error=0.25)])
    path.write_bytes(path.read_bytes()[:-cut])
    store = ResultFile(path)
    assert store.has([whole.key])
    last = make_result(2, error=0.5)
    store.add([last])
    found = {line.seed: line for line in read_results(path)}
    assert found[0] == whole
    assert found[2] == last


def test_a_fresh_start(tmp_path):
    path = tmp_path / "x.csv"
    ResultFile(path).add([make_result(0, error=0.1)])
    assert ResultFile(path, fresh=True).select("full") == []
    assert not path.exists()


def test_another_table_is_not_overwritten(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has the columns a, b; expected form, data"):
        ResultFile(path)
    assert path.read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize("n_columns", [8, 16])
def test_files_of_older_versions_gain_columns(tmp_path, n_columns):
    path = tmp_path / "x.csv"
    old = make_result(0, error=0.1)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [COLUMNS[:n_columns], list(asdict(old).values())[:n_columns]],
        )
    store = ResultFile(path)
    assert store.has([old.key])
    new = make_result(1, error=0.2, fit_wall_s=3.0)
    store.add([new])
    assert read_results(path) == [old, new]


def test_a_file_without_figures_is_not_an_older_one(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",".join(KEY) + "\n")
    with pytest.raises(ValueError, match="Use --fresh to begin anew"):
        ResultFile(path)


def test_means_over_seeds():
    found = Summaries(
        [
            make_result(0, error=0.1, fit_s=2.0),
            make_result(1, error=0.3),
            make_result(2, status="no data"),
            Result("full", "usps", "co2", "", 10, 0, status="no data"),
        ]
    )
    summary = found.find("letter", "co2", 10, "nu=4")
    assert summary.n_seeds == 2
    assert summary.mean("error") == pytest.approx(0.2)
    assert summary.spread("error") == pytest.approx(math.sqrt(0.02))
    assert summary.mean("fit_s") == 2.0
    assert math.isnan(summary.spread("fit_s"))
    assert math.isnan(summary.mean("nodes"))
    assert found.show("letter", "co2", 10, "nu=4") == "20.00"
    assert found.show("letter", "co2", 10, "nu=4", scale=1, digits=1) == "0.2"
    assert found.show("letter", "co2", 30, "nu=4") == "not run"
    assert found.show("usps", "co2", 10) == "no data"
    assert found.list_curve("letter", "co2", "error", "nu=4") == ([10], [pytest.approx(0.2)])


def test_a_star_marks_missing_seeds():
    results = [make_result(seed, error=0.1) for seed in range(2)]
    assert Summaries(results, 2).show("letter", "co2", 10, "nu=4") == "10.00"
    assert Summaries(results, 3).show("letter", "co2", 10, "nu=4") == "10.00*"
    assert "a star marks those over fewer" in Summaries(results, 3).describe_seeds()


def test_published_figures_stand_in_brackets():
    assert set_beside("3.1", 2.5) == "3.1 (2.5)"
    assert set_beside("3.1", None) == "3.1 (-)"


def test_tables_are_written(tmp_path):
    table = Table("t", "A title", ["data", "error, %"], [["letter", "3.1"], ["u, v", "x"]], "Note.")
    markdown, path = write_tables([table], tmp_path, "stem", "Heading")
    with path.open(newline="") as stream:
        assert list(csv.reader(stream)) == [table.columns, *table.rows]
    text = markdown.read_text()
    assert text.startswith("# Heading\n\n## A title\n\n| data ")
    assert "| letter |" in text
    assert text.endswith("Note.\n")


def test_an_empty_table_says_so(tmp_path):
    _, path = write_tables([Table("t", "T", ["a", "b", "c"], [])], tmp_path, "stem", "Heading")
    with path.open(newline="") as stream:
        assert list(csv.reader(stream)) == [["a", "b", "c"], ["not run", "-", "-"]]


def test_published_tables_are_whole():
    assert len(published.CO2_SHAPES) == 9
    for figures in published.CO2_ERRORS.values():
        assert set(figures) <= set(published.CO2_SHAPES)
        assert {len(errors) for errors in figures.values()} == {3}
    assert set(published.CO2_SHAPES) - set(published.CO2_ERRORS["oc1"]) == {
        "connect4",
        "mnist",
        "sensit",
        "covertype",
    }
    for table in (published.DNRF_TREES, published.DNRF_SECONDS, published.DNRF_FORESTS):
        assert {len(row) for row in table.values()} == {len(published.DNRF_BINARY)}
    assert {len(row) for row in published.DNRF_MULTI_ERRORS.values()} == {len(published.DNRF_MULTI)}
    assert {line.data for line in published.TAO_FORESTS} == set(published.TAO_TITLES)
