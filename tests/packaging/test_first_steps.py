"""The program on the front page of the documentation does what the page says it does."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from obtree import load_model

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "first_steps.py"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """What the program prints, and the folder that it was run in."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("first_steps")
    found = subprocess.run(
        [sys.executable, PROGRAM],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    return found.stdout, folder


def test_the_front_page_shows_the_program_and_it_has_twenty_lines():
    page = (ROOT / "doc" / "index.rst").read_text(encoding="utf-8")
    assert ".. literalinclude:: ../examples/first_steps.py" in page
    assert "In twenty lines" in page
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) <= 20


def test_models_are_trained(result):
    of_forest, of_tree = map(float, re.findall(r"0\.\d+", result[0].splitlines()[0]))
    assert of_forest > 0.93
    assert of_tree > 0.93


def test_a_row_is_explained(result):
    assert re.search(r"^The class is (malignant|benign), which has [\d.]+", result[0], re.MULTILINE)


def test_the_tree_is_drawn(result):
    picture = (result[1] / "tree.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000


def test_the_forest_is_saved(result):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    _, X_new, _, y_new = train_test_split(X, y, random_state=0)
    forest = load_model(result[1] / "forest.obtree")
    assert f"right: {forest.score(X_new, y_new)} " in result[0]


def test_the_tree_is_exported(result):
    source = result[1] / "tree.c"
    assert "_predict(const float *x)" in source.read_text()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no compiler of C here")
    command = [compiler, "-std=c99", "-Wall", "-Werror", "-c", source, "-o", result[1] / "tree.o"]
    subprocess.run(command, check=True)
