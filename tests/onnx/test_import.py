"""Importing the converters, with and without the packages they are for."""

import builtins
import subprocess
import sys

import pytest


def test_message_without_the_packages(monkeypatch):
    monkeypatch.delitem(sys.modules, "obtree.onnx", raising=False)
    genuine = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "skl2onnx":
            raise ImportError("No module named 'skl2onnx'")
        return genuine(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'obtree\[onnx\]'"):
        __import__("obtree.onnx")


def test_obtree_does_not_import_them():
    code = "import obtree, obtree.estimators, sys; assert 'skl2onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_registers():
    pytest.importorskip("skl2onnx")
    code = (
        "import obtree.onnx, skl2onnx, numpy as np\n"
        "from obtree import ObliqueTreeRegressor\n"
        "X = np.eye(4, dtype='float32')\n"
        "model = ObliqueTreeRegressor().fit(X, np.arange(4))\n"
        "assert skl2onnx.to_onnx(model, X[:1]).graph.node\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
