"""The gallery of examples: all have a place in it, and begin as sphinx-gallery wants them to."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def test_every_example_has_a_place_in_the_gallery():
    text = (ROOT / "doc" / "outside.py").read_text(encoding="utf-8")
    order = re.search(r"EXAMPLES = \(([^)]*)\)", text)[1]
    assert sorted(re.findall(r'"(\w+)"', order)) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_a_title_and_text_between_its_cells(path):
    text = path.read_text(encoding="utf-8")
    title, line = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert re.fullmatch("=+", line)
    assert len(line) == len(title)
    assert text.count("\n# %%\n") >= 2


def test_the_changelog_and_the_documentation_name_the_same_versions():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    page = (ROOT / "doc" / "whats_new" / "index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.*?)\]\(doc/whats_new/v\1\.rst\)", changes, re.MULTILINE)
    assert [f"v{version}.rst" for version in listed] == re.findall(r"v[\d.]+\.rst", page)
    assert all((ROOT / "doc" / "whats_new" / f"v{version}.rst").exists() for version in listed)
