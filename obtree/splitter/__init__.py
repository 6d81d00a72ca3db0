"""Splitters: classes that propose how to split a node."""

from obtree.splitter.axis import AxisSplitter
from obtree.splitter.axis_random import AxisRandomSplitter
from obtree.splitter.base import Splitter
from obtree.splitter.co2 import CO2Splitter
from obtree.splitter.conic import ConicSplitter
from obtree.splitter.discriminant import DiscriminantSplitter
from obtree.splitter.oc1 import OC1Splitter
from obtree.splitter.python import PythonSplitter
from obtree.splitter.random_oblique import RandomObliqueSplitter
from obtree.splitter.registry import available, resolve_splitter
from obtree.splitter.rotation import RotationSplitter
from obtree.splitter.two_probe import TwoProbeSplitter

__all__ = [
    "AxisRandomSplitter",
    "AxisSplitter",
    "CO2Splitter",
    "ConicSplitter",
    "DiscriminantSplitter",
    "OC1Splitter",
    "PythonSplitter",
    "RandomObliqueSplitter",
    "RotationSplitter",
    "Splitter",
    "TwoProbeSplitter",
    "available",
    "resolve_splitter",
]
