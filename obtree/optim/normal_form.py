"""Where pickles of versions before 0.3 look for what rebuilds their normal forms."""

from obtree.tree.normal_form import form_from_state

__all__ = ["form_from_state"]
