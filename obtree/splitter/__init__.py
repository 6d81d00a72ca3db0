"""Splitters: classes that propose how to split a node."""

from obtree.splitter.axis import AxisSplitter
from obtree.splitter.axis_random import AxisRandomSplitter
from obtree.splitter.base import Splitter
from obtree.splitter.registry import available, resolve_splitter

__all__ = ["AxisRandomSplitter", "AxisSplitter", "Splitter", "available", "resolve_splitter"]
