"""Every public name has a docstring with an example. The build of the docs runs them."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

API = Path(__file__).resolve().parents[2] / "doc" / "api" / "index.rst"
MODULES = [
    "obtree",
    "obtree.export",
    "obtree.plot",
    "obtree.splitter",
    "obtree.tree",
    "obtree.testing",
    "obtree.core.abi",
]


def list_public(module):
    """Names that a module offers, without plain values."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", ["check_abi", "get_include"])
    return [name for name in names if callable(getattr(found, name))]


def list_pages():
    """Names on the page of the API, by module."""
    pages, module = {}, None
    for line in API.read_text(encoding="utf-8").splitlines():
        start = re.match(r"\.\. currentmodule:: (\S+)", line)
        if start:
            module = start[1]
        elif re.fullmatch(r"   \w+", line):
            pages.setdefault(module, []).append(line.strip())
    return pages


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_page(module):
    assert sorted(list_pages()[module]) == sorted(list_public(module))


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module in MODULES for name in list_public(module)]
)
def test_every_public_name_has_an_example(module, name):
    text = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    assert "Examples\n--------\n" in text
    assert ">>> " in text
