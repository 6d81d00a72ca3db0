"""Where tables come from: standard input, pipes, separators, encodings, missing labels."""

import gzip
import io
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from obtree import load_model

pd = pytest.importorskip("pandas")


@pytest.fixture
def give(monkeypatch):
    """Make bytes what standard input gives."""

    def put(data):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return put


@pytest.fixture
def fit(tmp_path, obtree):
    """Fit a small forest to a file and return its output and the model."""

    def run(data, target="y", *args):
        out = tmp_path / "m"
        code, text, err = obtree(
            *("fit", data, "--target", target, "--out", out, "--n-estimators", 5), *args
        )
        assert (code, err) == (0, "")
        return text, load_model(out)

    return run


def make_rows(labels, header="x,z,y", n=40):
    """Lines of a table whose label follows from its first column."""
    rows = [f"{i},{(7 * i) % 5},{labels[i * len(labels) // n]}" for i in range(n)]
    return "\n".join([header, *rows, ""])


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(compress, flowers, tmp_path, fit, give, obtree):
    text, _ = fit(flowers, "species")
    _, expected, _ = obtree("predict", tmp_path / "m", flowers)
    give(compress(flowers.read_bytes()))
    assert fit("-", "species")[0].split(", ")[:3] == text.split(", ")[:3]
    give(compress(flowers.read_bytes()))
    code, out, _ = obtree("predict", tmp_path / "m", "-", "--out", "-")
    assert (code, out) == (0, expected)


def test_parquet_on_standard_input(flowers, fit, give):
    pytest.importorskip("pyarrow")
    buffer = io.BytesIO()
    pd.read_csv(flowers).to_parquet(buffer)
    give(buffer.getvalue())
    assert fit("-", "species")[0].startswith("classification of 'species' from 4 columns, 150")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_read_once(flowers, tmp_path, fit, obtree):
    # The label NA needs a second look at the target.
    data = make_rows(["NA", "red"]).encode()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(data))
    writer.start()
    text, model = fit(pipe)
    writer.join()
    assert "40 rows" in text
    assert model.classes_.tolist() == ["NA", "red"]


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="pipes have no paths")
def test_process_substitution(flowers, tmp_path):
    read, write = os.pipe()
    program = "import sys; from obtree.cli.main import main; sys.exit(main())"
    command = ["fit", f"/dev/fd/{read}", "--target", "q", "--out", str(tmp_path / "m")]
    child = subprocess.Popen(
        [sys.executable, "-c", program, *command],
        pass_fds=[read],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(read)
    with os.fdopen(write, "wb") as stream:
        stream.write(flowers.read_bytes())
    out, err = child.communicate(timeout=120)
    assert (child.returncode, out) == (2, "")
    # The shell's name of the pipe means nothing to the user.
    assert err.startswith("obtree: error: the pipe has no column 'q'; it has 'sepal length (cm)'")


def test_errors_of_standard_input(give, fail, tmp_path):
    args = ("fit", "-", "--out", tmp_path / "m", "--target")
    give(b"x,y\n1,2\n")
    assert "standard input has no column 'q'" in fail(*args, "q")
    give(b"x,y\nwide,2\n3,4\n")
    assert "standard input: column 'x', data row 1: 'wide' is not" in fail(*args, "y")
    give(b"")
    assert "cannot read standard input" in fail(*args, "y")
    assert "is a folder; expected a file" in fail("fit", tmp_path, *args[2:], "y")


@pytest.mark.parametrize(
    ("separator", "option"),
    [(";", ";"), ("\t", "tab"), ("\t", "\\t"), ("|", "pipe"), (" ", "space")],
)
def test_separators(separator, option, tmp_path, fit, obtree):
    path = tmp_path / "t.csv"
    path.write_text(make_rows(["a", "b"]).replace(",", separator))
    _, model = fit(path, "y", "--separator", option)
    assert model.feature_names_in_.tolist() == ["x", "z"]
    code, out, _ = obtree("predict", tmp_path / "m", path, "--separator", option)
    assert (code, out.split()[1]) == (0, "a")


def test_decimal_commas(tmp_path, fit, fail):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"{i},5;{2 * i},25\n" for i in range(30)))
    _, model = fit(path, "y", "--separator", ";", "--decimal", ",")
    assert model.predict(pd.DataFrame({"x": [29.5]}))[0] > 40
    args = ("fit", path, "--target", "y", "--out", tmp_path / "m")
    assert "'0,5' is not a number; give --decimal ," in fail(*args, "--separator", ";")
    assert "',' separates the cells and marks decimals" in fail(*args, "--decimal", ",")


@pytest.mark.parametrize(("separator", "shown"), [(";", "';'"), ("\t", "tab"), ("|", "'|'")])
def test_hint_for_other_separators(separator, shown, tmp_path, fit, fail):
    hint = f"; its cells look separated by {shown}: add --separator {shown}\n"
    good, path = tmp_path / "g.csv", tmp_path / "t.csv"
    good.write_text(make_rows(["a", "b"]))
    fit(good)
    fit_args = ("fit", path, "--target", "y", "--out", tmp_path / "m2")
    path.write_text(make_rows(["a", "b"]).replace(",", separator))
    assert fail(*fit_args).endswith(hint)
    assert fail("predict", tmp_path / "m", path).endswith(hint)
    # With commas inside, rows have more cells than the header.
    path.write_text(f"x{separator}y\n1{separator}2\n1,5{separator}2,5,1\n")
    assert fail(*fit_args).endswith(hint)
    # And the other way round.
    assert fail("predict", tmp_path / "m", good, "--separator", separator).endswith(
        "; its cells look separated by ',': add --separator ','\n"
    )


def test_no_hint_where_there_is_no_reason(tmp_path, fail):
    path = tmp_path / "t.csv"
    path.write_text("a;b,c,d\n1,2,3\n")
    text = fail("fit", path, "--target", "q", "--out", tmp_path / "m")
    assert text.endswith("has no column 'q'; it has 'a;b', 'c', 'd'\n")


def test_rows_longer_than_the_header(tmp_path, fail):
    path = tmp_path / "t.csv"
    for rows in ("1,2,3\n4,5,6\n", "0,2,3\n1,5,6\n", "a,2,3\nb,5,6\n"):
        path.write_text(f"x,y\n{rows}")
        text = fail("fit", path, "--target", "y", "--out", tmp_path / "m")
        assert "t.csv have more cells than its first line; expected a name" in text


def test_encodings(tmp_path, fit, fail):
    path = tmp_path / "t.csv"
    text = make_rows(["grün", "weiß"], header="größe,z,y")
    args = ("fit", path, "--target", "y", "--out", tmp_path / "m")
    for encoding in ("latin-1", "utf-16"):
        path.write_bytes(text.encode(encoding))
        assert "give its --encoding, such as latin-1 or utf-16" in fail(*args)
        _, model = fit(path, "y", "--encoding", encoding)
        assert model.classes_.tolist() == ["grün", "weiß"]
        assert model.feature_names_in_[0] == "größe"
    path.write_bytes(text.encode("utf-8-sig"))  # as spreadsheets write it
    assert fit(path)[1].feature_names_in_[0] == "größe"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--separator", ";;"), "argument --separator: ';;' is not valid; expected one character"),
        (("--separator", '"'), "is not valid; expected one character"),
        (("--encoding", "utf-9"), "argument --encoding: 'utf-9' is not an encoding"),
        (("--encoding", "hex"), "argument --encoding: 'hex' is not an encoding"),
        (("--decimal", "x"), "argument --decimal: invalid choice: 'x'"),
    ],
)
def test_bad_options(args, text, flowers, tmp_path, fail):
    line = fail("fit", flowers, "--target", "species", "--out", tmp_path / "m", *args)
    assert text in line


@pytest.mark.parametrize("mark", ["NA", "None", "null", "nan", "NaN", "N/A", "n/a", "NULL", "<NA>"])
def test_a_label_that_looks_missing(mark, tmp_path, fit, obtree):
    path = tmp_path / "t.csv"
    path.write_text(make_rows(["EU", mark, "US"], n=60))
    text, model = fit(path)
    assert text.startswith("classification of 'y' from 2 columns, 60 rows")
    assert sorted(model.classes_) == sorted(["EU", mark, "US"])
    _, out, _ = obtree("predict", tmp_path / "m", path)
    assert abs(out.split().count(mark) - 20) <= 2
    _, out, _ = obtree("predict", tmp_path / "m", path, "--proba")
    assert f"proba_{mark}" in out.splitlines()[0].split(",")


def test_two_labels_that_look_missing(tmp_path, fit, fail):
    path = tmp_path / "t.csv"
    path.write_text(make_rows(["NA", "None"]))
    assert fit(path)[1].classes_.tolist() == ["NA", "None"]
    path.write_text(make_rows(["NA"]))
    args = ("fit", path, "--target", "y", "--out", tmp_path / "m2")
    assert "column 'y', data row 1: the target is missing ('NA')" in fail(*args)


def test_missing_cells_of_a_target(tmp_path, fit, fail):
    path = tmp_path / "t.csv"
    args = ("fit", path, "--target", "y", "--out", tmp_path / "m2")
    path.write_text(make_rows(["a", "NA", ""]))
    assert "column 'y', data row 28: the target is missing\n" in fail(*args)
    path.write_text(make_rows(["1.5", "NA", "3.5"]))
    text = fail(*args)
    assert "column 'y', data row 15: the target is missing ('NA'); remove the row, or" in text
    assert "data row 15: the target is missing ('NA')" in fail(*args, "--task", "regression")
    _, model = fit(path, "y", "--task", "classification")
    assert sorted(model.classes_) == ["1.5", "3.5", "NA"]
    path.write_text(make_rows(["True", "NA", "False"]))
    assert sorted(fit(path)[1].classes_) == ["False", "NA", "True"]


def test_features_still_have_missing_cells(tmp_path, fit):
    path = tmp_path / "t.csv"
    path.write_text(make_rows(["NA", "b"]).replace("\n3,", "\nNA,").replace("\n5,", "\n,"))
    _, model = fit(path)
    assert model.n_features_in_ == 2
    assert model.classes_.tolist() == ["NA", "b"]


def test_labels_of_parquet(tmp_path, fit, fail):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"x": np.arange(40.0), "y": ["NA"] * 20 + ["b"] * 20})
    frame.to_parquet(path)
    assert fit(path)[1].classes_.tolist() == ["NA", "b"]
    frame.loc[3, "y"] = None
    frame.to_parquet(path)
    text = fail("fit", path, "--target", "y", "--out", tmp_path / "m")
    assert "column 'y', data row 4: the target is missing" in text


def test_a_file_without_a_suffix_is_looked_into(flowers, tmp_path, fit):
    plain = tmp_path / "data"
    plain.write_bytes(gzip.compress(flowers.read_bytes()))
    assert "150 rows" in fit(plain, "species")[0]
    other = tmp_path / "flowers.dat"
    other.write_text(flowers.read_text().replace(",", ";"))
    assert "150 rows" in fit(other, "species", "--separator", ";")[0]
