"""Configuration of the documentation."""

import re
import sys
from pathlib import Path

import obtree

sys.path.insert(0, str(Path(__file__).parent))

from draw_active import draw_active
from draw_boundaries import draw_all
from draw_convergence import draw_convergence
from draw_density import draw_density
from draw_distributions import draw_distributions
from draw_embedding import draw_embedding
from draw_ferns import draw_ferns
from draw_lines import draw_lines
from draw_pictures import draw_pictures as draw_models
from draw_semi_supervised import draw_semi_supervised

project = "obtree"
author = "obtree developers"
copyright = "obtree developers"
version = release = obtree.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "README.md", "whats_new/v*.rst"]
default_role = "py:obj"
nitpicky = False

autosummary_generate = True
# The docstrings say what types mean; signatures stay short.
autodoc_typehints = "none"
autodoc_default_options = {
    "members": True,
    "inherited-members": True,
    "exclude-members": "get_metadata_routing, set_fit_request, set_score_request",
}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Examples run as written, with NumPy 2's way of printing numbers.
doctest_global_setup = f"""
import numpy as np
EXTENDING = {str(Path(__file__).resolve().parents[1] / "tests" / "extending")!r}
"""
doctest_test_doctest_blocks = "default"

html_theme = "pydata_sphinx_theme"
html_title = "obtree"
html_sidebars = {"getting_started": [], "whats_new/index": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_show_sourcelink = False


def mend_docstring(app, what, name, obj, options, lines):
    """Make docstrings safe for docutils.

    Methods inherited from scikit-learn refer to its own documentation, which is not at
    hand when this one is built: such references become plain words. And a shape such as
    ``(n_features_in_,)`` is not a link, whatever its underscore says.
    """
    for k, line in enumerate(lines):
        line = re.sub(r":(?:ref|term):`([^`<]+?)\s*(?:<[^>]*>)?`", r"\1", line)
        lines[k] = re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line)


def draw_pictures(app):
    """Draw the pictures of the user guide; they are no part of the repository."""
    draw_all(Path(app.srcdir) / "pictures")
    draw_convergence(Path(app.srcdir) / "pictures")
    draw_active(Path(app.srcdir) / "pictures")
    draw_density(Path(app.srcdir) / "pictures")
    draw_ferns(Path(app.srcdir) / "pictures")
    draw_distributions(Path(app.srcdir) / "pictures")
    draw_embedding(Path(app.srcdir) / "pictures")
    draw_semi_supervised(Path(app.srcdir) / "pictures")
    draw_lines(Path(app.srcdir) / "pictures")
    draw_models(Path(app.srcdir) / "pictures")


def setup(app):
    app.connect("builder-inited", draw_pictures)
    # After numpydoc, which has the usual priority.
    app.connect("autodoc-process-docstring", mend_docstring, priority=900)
