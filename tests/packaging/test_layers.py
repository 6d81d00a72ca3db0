"""The check of imports: the sources pass it, and it finds what it is for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "check_layers.py"

MESON = """
parallel = ['grow']
foreach name : parallel
  py.extension_module(name, name + '.pyx', dependencies: [numpy, openmp_dep])
endforeach
foreach name : ['plain', 'other']
  py.extension_module(name, name + '.pyx')
endforeach
py.extension_module(
  'alone',
  'alone.pyx',
  dependencies: openmp_dep,
)
"""
LOOP = "for i in prange(n, nogil=True,\n        num_threads=max(1, k)):\n    pass\n"


def run(root):
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True, check=False
    )


def write(root, files):
    for name, text in files.items():
        path = root / "obtree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_sources_are_in_order():
    result = run(ROOT)
    assert result.returncode == 0, result.stdout


def test_a_good_tree_passes(tmp_path):
    write(
        tmp_path,
        {
            "__init__.py": "from obtree.estimators import x\n",
            "core/types.pxd": "from libc.stdint cimport int8_t\n",
            "tree/nodes.pyx": "from obtree.data.hyperplane cimport (\n    a,  # b\n    c,\n)\n",
            "tree/other.pyx": "from obtree.data cimport hyperplane\n",
            "data/hyperplane.pxd": '"""from obtree.forest import x"""\ncimport obtree.core.types\n',
            "cli/main.py": "from obtree import __version__\nimport sklearn.tree\n",
            "testing/probe.pyx": "from obtree.forest.grow cimport x\n",
            "forest/meson.build": MESON,
            "forest/grow.pyx": LOOP,
            "forest/alone.pyx": LOOP,
            "forest/plain.pyx": 'include "part.pxi"\n',
            "forest/part.pxi": "x = 1\n",
        },
    )
    result = run(tmp_path)
    assert result.returncode == 0, result.stdout
    assert result.stdout == "layers: ok\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("core/a.pyx", "from obtree.data.dataset cimport X\n", "core may not import obtree.data"),
        ("core/a.py", "def f():\n    import obtree.forest\n", "core may not import obtree.forest"),
        ("data/a.py", "import os, obtree.criterion\n", "data may not import obtree.criterion"),
        ("splitter/a.pyx", "from obtree.tree import t\n", "splitter may not import obtree.tree"),
        ("tree/a.pxd", "cimport obtree.data.dataset\n", "tree may not import obtree.data.dataset"),
        ("tree/a.pyx", "from obtree.data cimport hyperplane, dataset\n", "obtree.data.dataset"),
        ("builder/a.py", "from obtree.forest import x\n", "builder may not import obtree.forest"),
        ("estimators/a.py", "from obtree.cli import x\n", "estimators may not import obtree.cli"),
        ("estimators/a.py", "from obtree import x\n", "estimators may not import obtree.x"),
        ("cli/a.py", "from obtree.testing import x\n", "cli may not import obtree.testing"),
        ("__init__.py", "import obtree.testing\n", "obtree may not import obtree.testing"),
        ("core/a.pyx", "from .b cimport c\n", "relative import of '.b'"),
        ("core/a.py", "from . import c\n", "relative import of '.'"),
        ("core/a.py", "from sklearn.tree._tree import Tree\n", "private name 'sklearn.tree._tree'"),
        ("core/a.pyx", "cimport sklearn.tree._tree\n", "private name 'sklearn.tree._tree'"),
        ("core/a.py", "from sklearn.utils import _safe\n", "private name '_safe'"),
        ("extra/a.py", "x = 1\n", "'extra' is not a known layer"),
        ("core/a.pyx", LOOP, "uses prange but is not linked with OpenMP"),
        ("core/meson.build", MESON, "is linked with OpenMP but uses no prange"),
        ("core/a.pxi", "from obtree.data.dataset cimport X\n", "core may not import obtree.data"),
        ("core/a.pxi", "x = 1\n", "a.pxi: is included 0 times"),
        ("core/a.pyx", "for i in prange(f(2), nogil=True):\n", "prange without num_threads"),
    ],
)
def test_violations_are_found(tmp_path, name, text, message):
    write(tmp_path, {"core/types.pxd": "", name: text})
    result = run(tmp_path)
    assert result.returncode == 1
    assert message in result.stdout
