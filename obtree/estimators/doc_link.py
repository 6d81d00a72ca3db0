"""Where scikit-learn's pictures of estimators in notebooks link to.

Pages are below the address that the package says its documentation has, or that the environment
variable ``OBTREE_DOCS`` gives, for documentation one has built oneself. Without either there is
no link.
"""

import functools
import importlib.metadata
import os

#: Of a class on the page of the API, below the address of the documentation.
PAGE = "/api/generated/obtree.{estimator_name}.html"


class DocLinkMixin:
    """What scikit-learn asks of an estimator of another package to link to its documentation."""

    _doc_link_module = "obtree"

    @property
    def _doc_link_template(self):
        address = os.environ.get("OBTREE_DOCS") or _find_address()
        return address.rstrip("/") + PAGE if address else ""


@functools.cache
def _find_address():
    """Return the address in the description of the installed package, or an empty text."""
    for entry in importlib.metadata.metadata("obtree").get_all("Project-URL", []):
        label, _, address = entry.partition(",")
        if label.strip().lower() == "documentation":
            return address.strip()
    return ""
