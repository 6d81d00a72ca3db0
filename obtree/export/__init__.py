"""Fitted models in the form that other programs and people read."""

from obtree.export.c_source import to_c
from obtree.export.graphviz import export_graphviz
from obtree.tree.export import export_text

__all__ = ["export_graphviz", "export_text", "to_c"]
