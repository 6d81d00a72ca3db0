"""The grown model: flat arrays, how they are walked, saved, shown and explained."""

from obtree.tree.export import export_text as export_text  # where it was before obtree.export
from obtree.tree.tree import Tree

__all__ = ["Tree"]
