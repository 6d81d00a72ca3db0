"""Oblique decision trees and forests behind scikit-learn's interface."""

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING


def _leave_source_folder():
    """Use the installed package when Python was started beside the source of this one.

    ``python -m`` and ``pytest`` put the folder they are started in first on the path.
    In a checkout that finds this file, but not the compiled modules.
    """
    here = Path(__file__).resolve().parent
    # An editable install runs from the source folder and finds the compiled modules itself.
    if not (here / "meson.build").exists() or "_obtree_editable_loader" in sys.modules:
        return
    elsewhere = [entry for entry in sys.path if Path(entry).resolve() != here.parent]
    spec = PathFinder.find_spec(__name__, elsewhere)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(
            f"{here} holds the source of obtree, which has to be compiled: run `pip install .` "
            "there first"
        )
    __path__[:] = list(spec.submodule_search_locations)


_leave_source_folder()

from obtree.estimators import (  # noqa: E402
    DensityForest,
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    FernClassifier,
    ForestEmbedding,
    NonGreedyForestClassifier,
    NonGreedyForestRegressor,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    SemiSupervisedForestClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    load_model,
    save_model,
    tao_path,
)
from obtree.export import export_text  # noqa: E402

__version__ = version("obtree")

__all__ = [
    "DensityForest",
    "DisjunctiveForestClassifier",
    "DisjunctiveTreeClassifier",
    "FernClassifier",
    "ForestEmbedding",
    "NonGreedyForestClassifier",
    "NonGreedyForestRegressor",
    "NonGreedyTreeClassifier",
    "NonGreedyTreeRegressor",
    "ObliqueForestClassifier",
    "ObliqueForestRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "SemiSupervisedForestClassifier",
    "TAOForestClassifier",
    "TAOForestRegressor",
    "TAOTreeClassifier",
    "TAOTreeRegressor",
    "__version__",
    "export_text",
    "load_model",
    "save_model",
    "tao_path",
]

# Imported when they are asked for: `import obtree` is enough for `obtree.plot.plot_tree`, and
# does not load matplotlib.
_LATER = ("explain", "onnx", "plot")

# Whoever checks types still hears of names that do not exist.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _LATER:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
