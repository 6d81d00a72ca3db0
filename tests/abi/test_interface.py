"""What other packages compile against changes only together with its version number."""

import copy
import importlib.util
import json
import re
from pathlib import Path

import pytest

from obtree.core.abi import ABI_VERSION, get_include
from obtree.splitter.base import ABI_VERSION as SPLITTER_VERSION

TOOL = Path(__file__).resolve().parents[2] / "tools" / "read_abi.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("read_abi", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def interface(tool):
    if not list(Path(get_include(), "obtree").rglob("*.pxd")):
        pytest.skip("an editable install has no .pxd files")
    return tool.read_interface(get_include())


def test_the_stored_description_is_right(tool, interface):
    stored = json.loads(tool.STORED.read_text(encoding="utf-8"))
    assert tool.judge(stored, interface) is None


def test_one_version(interface):
    assert interface["abi_version"] == ABI_VERSION == SPLITTER_VERSION


def test_what_is_read(interface):
    base = interface["modules"]["obtree/splitter/base.pxd"]
    assert base["cdef struct NodeTask"][:3] == ["const row_t* rows", "idx_t n", "idx_t depth"]
    head, *parts = base["cdef class Splitter"]
    assert head == "cdef class Splitter(Parametrised)"
    methods = [part for part in parts if "(" in part]
    assert [part.split("(")[0] for part in methods] == [
        "cdef object prepare",
        "cdef object prepare_own",
        "cdef int bind",
        "cdef int begin_tree",
        "cdef int node_split",
    ]
    assert methods[4].endswith("except -1 nogil")
    word = interface["modules"]["obtree/core/random.pxd"]["next_word"]
    assert word == ["cdef inline uint64_t next_word(RandState* rng) noexcept nogil"]


def swap(parts):
    parts[0], parts[1] = parts[1], parts[0]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "cdef struct NodeTask",
            lambda parts: parts.append("idx_t extra"),
            "NodeTask: .* extra",
        ),
        ("cdef struct NodeTask", swap, "NodeTask: the order changed"),
        ("cdef class Splitter", lambda parts: parts.insert(5, "cdef int more(self)"), "more"),
        ("cdef class Splitter", lambda parts: parts.pop(), "node_split"),
        ("cdef struct SplitResult", lambda parts: parts.clear(), "SplitResult"),
    ],
)
def test_changes_need_a_new_version(tool, interface, name, change, message):
    changed = copy.deepcopy(interface)
    change(changed["modules"]["obtree/splitter/base.pxd"][name])
    text = tool.judge(interface, changed)
    assert f"Raise ABI_VERSION ({ABI_VERSION})" in text
    assert re.search(message, text)
    changed["abi_version"] += 1
    assert "tools/read_abi.py --write" in tool.judge(interface, changed)
    assert "Raise" not in tool.judge(interface, changed)


def test_additions_do_not(tool, interface):
    more = copy.deepcopy(interface)
    more["modules"]["obtree/splitter/new.pxd"] = {"f": ["cdef int f()"]}
    more["modules"]["obtree/splitter/base.pxd"]["cdef struct New"] = ["int x"]
    assert tool.find_changes(interface, more) == []
    assert "does not describe" in tool.judge(interface, more)


def test_what_is_gone_and_what_goes_back(tool, interface):
    fewer = copy.deepcopy(interface)
    del fewer["modules"]["obtree/core/memory.pxd"]
    assert "obtree/core/memory.pxd is gone" in tool.judge(interface, fewer)
    older = copy.deepcopy(interface)
    older["abi_version"] -= 1
    assert "down to" in tool.judge(interface, older)


def test_reading(tool):
    text = '''
from x cimport y

cdef enum:
    A = 1   # why
cdef class C(B):
    cdef int x
    cdef int f(self, int a,
               int b) except -1
cdef inline int g(int a,
                  int b) nogil:
    """Doc."""
    return a
'''
    assert tool.read_declarations(text) == {
        "enum of A": ["A = 1"],
        "cdef class C": [
            "cdef class C(B)",
            "cdef int x",
            "cdef int f(self, int a, int b) except -1",
        ],
        "g": ["cdef inline int g(int a, int b) nogil"],
    }
