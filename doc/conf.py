"""Configuration of the documentation."""

import re
import sys
from pathlib import Path

import obtree

sys.path.insert(0, str(Path(__file__).parent))

from draw_guide import draw_pictures
from outside import remove_stale, write_inventory

project = "obtree"
author = "obtree developers"
copyright = "obtree developers"
version = release = obtree.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "README.md", "whats_new/v*.rst", "auto_examples/*.ipynb"]
default_role = "py:obj"
# Every name of ours that is mentioned has to exist.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!obtree\b).*")]

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

remove_stale(Path(__file__).parent / "auto_examples")
# Examples run once: those whose text has not changed since are kept, also by the next builder.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "ignore_pattern": "first_steps",
    "within_subsection_order": "outside.ExampleOrder",
    "reference_url": {"obtree": None},
    "doc_module": ("obtree",),
    "backreferences_dir": "auto_examples/backreferences",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

# Links to scikit-learn need no network: the list of its names is made here.
intersphinx_mapping = {
    "sklearn": ("https://scikit-learn.org/stable/", str(write_inventory(Path(__file__).parent)))
}

html_theme = "pydata_sphinx_theme"
html_title = "obtree"
html_sidebars = {"getting_started": [], "installing": [], "whats_new/index": [], "index": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    # The front page is as wide as the window.
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]


def mend_docstring(app, what, name, obj, options, lines):
    """Make docstrings safe for docutils.

    Methods inherited from scikit-learn refer to its own documentation, which is not at
    hand when this one is built: such references become plain words. And a shape such as
    ``(n_features_in_,)`` is not a link, whatever its underscore says.
    """
    for k, line in enumerate(lines):
        line = re.sub(r":(?:ref|term):`([^`<]+?)\s*(?:<[^>]*>)?`", r"\1", line)
        lines[k] = re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line)


def draw_missing(app):
    """Draw the pictures of the user guide; they are no part of the repository.

    Another builder that follows finds them.
    """
    folder = Path(app.srcdir) / "pictures"
    if app.builder.format == "html" or not folder.exists():
        draw_pictures(folder)


def put_picture_first(app, docname, source):
    """Move the first picture of an example from below the code that draws it to above.

    Whoever reads sees what it is about, and then how it was made.
    """
    found = re.search(r"^\.\. image-sg::.*\n(?: +.*\n)*", source[0], re.MULTILINE)
    if docname.startswith("auto_examples/plot_") and found:
        start = source[0].index(".. GENERATED FROM PYTHON SOURCE LINES")
        parts = source[0][:start], source[0][start : found.start()], source[0][found.end() :]
        source[0] = f"{parts[0]}{found[0]}\n{parts[1]}{parts[2]}"


def setup(app):
    app.connect("source-read", put_picture_first)
    app.connect("builder-inited", draw_missing)
    # After numpydoc, which has the usual priority.
    app.connect("autodoc-process-docstring", mend_docstring, priority=900)
