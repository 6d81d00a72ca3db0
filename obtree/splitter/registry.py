"""Splitters by name."""

from obtree.core.names import unknown_name
from obtree.splitter.axis import AxisSplitter
from obtree.splitter.axis_random import AxisRandomSplitter
from obtree.splitter.base import Splitter
from obtree.splitter.co2 import CO2Splitter
from obtree.splitter.conic import ConicSplitter
from obtree.splitter.discriminant import DiscriminantSplitter
from obtree.splitter.oc1 import OC1Splitter
from obtree.splitter.random_oblique import RandomObliqueSplitter
from obtree.splitter.two_probe import TwoProbeSplitter

_SPLITTERS = {
    "axis": AxisSplitter,
    "axis_random": AxisRandomSplitter,
    "co2": CO2Splitter,
    "oc1": OC1Splitter,
    "discriminant": DiscriminantSplitter,
    "conic": ConicSplitter,
    "random_oblique": RandomObliqueSplitter,
    "two_probe": TwoProbeSplitter,
}


def available():
    """Names of the known splitters and what each does, in one line.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from obtree.splitter import available
    >>> available()["axis"]
    'Exact best split of one feature.'
    """
    return {name: cls.__doc__.strip().splitlines()[0] for name, cls in _SPLITTERS.items()}


def resolve_splitter(splitter):
    """Turn what a user passed as ``splitter=`` into a splitter object.

    Parameters
    ----------
    splitter : str, Splitter or subclass of Splitter

    Returns
    -------
    Splitter
    """
    if isinstance(splitter, Splitter):
        return splitter
    if isinstance(splitter, type) and issubclass(splitter, Splitter):
        return splitter()
    if isinstance(splitter, str):
        if splitter not in _SPLITTERS:
            raise ValueError(unknown_name("splitter", splitter, _SPLITTERS))
        return _SPLITTERS[splitter]()
    raise TypeError(
        f"splitter must be a name, a Splitter object or a Splitter class, got {splitter!r} "
        f"of type {type(splitter).__name__}"
    )
