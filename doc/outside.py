"""What the documentation needs to know of things outside of it: names of scikit-learn, examples."""

import zlib
from inspect import isclass
from pathlib import Path

from sklearn.utils.discovery import all_displays, all_estimators, all_functions

#: Examples in the order in which they are best read; new ones are added here.
EXAMPLES = (
    "plot_why_oblique",
    "plot_splitters",
    "plot_race",
    "plot_first_tree",
    "plot_trees_needed",
    "plot_categories",
    "plot_shap",
    "plot_imbalanced",
    "plot_quantiles",
    "plot_density",
    "plot_few_labels",
    "plot_embedding",
    "plot_onnx",
    "plot_microcontroller",
    "plot_own_splitter",
)


class ExampleOrder:
    """Key by which sphinx-gallery sorts the examples of a folder.

    Parameters
    ----------
    folder : str
        Not needed.
    """

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return EXAMPLES.index(Path(name).stem)


def remove_stale(folder):
    """Remove the pages of examples that are gone, which a former build has made.

    Parameters
    ----------
    folder : Path
        Where the pages are, if there are any.
    """
    for path in folder.glob("plot_*"):
        if path.name.split(".")[0] not in EXAMPLES:
            path.unlink()


def write_inventory(folder):
    """Write the file by which Sphinx links to scikit-learn's reference.

    The file that scikit-learn publishes would have to be fetched whenever the documentation is
    built. Its pages are named after what they describe, so that the installed library knows them.

    Parameters
    ----------
    folder : Path
        Where ``sklearn.inv`` goes.

    Returns
    -------
    path : Path
    """
    lines = []
    for _, item in [*all_estimators(), *all_displays(), *all_functions()]:
        public = []
        for part in item.__module__.split("."):
            if part.startswith("_"):
                break
            public.append(part)
        name = ".".join([*public, item.__name__])
        role = "class" if isclass(item) else "function"
        lines.append(f"{name} py:{role} 1 modules/generated/{name}.html#$ -\n")
    head = "# Sphinx inventory version 2\n# Project: scikit-learn\n# Version:\n"
    head += "# The remainder of this file is compressed using zlib.\n"
    path = folder / "sklearn.inv"
    path.write_bytes(head.encode() + zlib.compress("".join(sorted(set(lines))).encode()))
    return path
