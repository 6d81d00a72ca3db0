"""The grown model: flat arrays, how they are walked, saved, shown and explained."""

from obtree.tree.export import export_text
from obtree.tree.tree import Tree

__all__ = ["Tree", "export_text"]
