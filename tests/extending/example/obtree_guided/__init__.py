"""Splits along the line between the means of two classes."""

import obtree_guided.checked  # noqa: F401  first: the others must not load if it refuses
from obtree_guided.guided import GuidedSplitter

__all__ = ["GuidedSplitter"]
