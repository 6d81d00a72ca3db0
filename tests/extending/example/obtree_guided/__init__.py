"""Splits along the line between the means of two classes, and a criterion."""

import obtree_guided.checked  # noqa: F401  first: the others must not load if it refuses
from obtree_guided.guided import GuidedSplitter
from obtree_guided.largest_error import LargestError

__all__ = ["GuidedSplitter", "LargestError"]
