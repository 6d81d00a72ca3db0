"""Splitters: classes that propose how to split a node."""

from obtree.splitter.axis import AxisRandomSplitter, AxisSplitter, OneCategorySplitter
from obtree.splitter.base import Splitter
from obtree.splitter.co2 import CO2Splitter
from obtree.splitter.direction import ConicSplitter, TwoProbeSplitter
from obtree.splitter.discriminant import DiscriminantSplitter
from obtree.splitter.oc1 import OC1Splitter
from obtree.splitter.python import PythonSplitter
from obtree.splitter.random_oblique import RandomObliqueSplitter
from obtree.splitter.registry import available, resolve_splitter
from obtree.splitter.rotation import RotationSplitter

__all__ = [
    "AxisRandomSplitter",
    "AxisSplitter",
    "CO2Splitter",
    "ConicSplitter",
    "DiscriminantSplitter",
    "OC1Splitter",
    "OneCategorySplitter",
    "PythonSplitter",
    "RandomObliqueSplitter",
    "RotationSplitter",
    "Splitter",
    "TwoProbeSplitter",
    "available",
    "resolve_splitter",
]
