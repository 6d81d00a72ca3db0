"""Splitters by name: those of obtree, and those that other packages declare."""

from collections.abc import Sequence

from obtree.core.names import show
from obtree.core.params import refuse_param
from obtree.core.saved import SavedPart
from obtree.splitter.axis import AxisRandomSplitter, AxisSplitter
from obtree.splitter.base import Splitter
from obtree.splitter.co2 import CO2Splitter
from obtree.splitter.direction import ConicSplitter, TwoProbeSplitter
from obtree.splitter.discriminant import DiscriminantSplitter
from obtree.splitter.oc1 import OC1Splitter
from obtree.splitter.plugins import find_name, find_plugins, load_all, load_plugin
from obtree.splitter.random_oblique import RandomObliqueSplitter

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

#: What scikit-learn's trees call theirs.
_ELSEWHERE = {"best": "axis", "random": "axis_random"}


def available() -> dict[str, str]:
    """Names of the known splitters and what each does, in one line.

    Those of other packages are among them (entry points of the group ``obtree.splitters``).
    One that cannot be imported is left out, with a warning that says why.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> from obtree.splitter import available
    >>> available()["axis"]
    'Exact best split of one feature.'
    """
    known = _SPLITTERS | load_all(_SPLITTERS)
    return {name: _describe(cls) for name, cls in known.items()}


def name_splitter(cls):
    """The name of a splitter class, None when it has none.

    Parameters
    ----------
    cls : subclass of Splitter

    Returns
    -------
    str or None
    """
    for name, known in _SPLITTERS.items():
        if known is cls:
            return name
    return find_name(cls, _SPLITTERS)


def find_splitter(name, what="splitter", others=()):
    """The splitter class of that name.

    Parameters
    ----------
    name : str
    what : str, default="splitter"
        The parameter that holds the name, for the message.
    others : sequence of str, default=()
        Names of what is no splitter that the parameter may hold as well, for the message.

    Returns
    -------
    subclass of Splitter

    Raises
    ------
    ValueError
        When no package has a splitter of that name.
    ImportError
        When one has, and it cannot be used.
    """
    if name in _SPLITTERS:
        return _SPLITTERS[name]
    plugins = find_plugins(_SPLITTERS)
    if name not in plugins:
        if name in _ELSEWHERE and name not in others:
            raise ValueError(
                f"unknown {what} {show(name)}; scikit-learn's {name!r} is {_ELSEWHERE[name]!r} here"
            )
        refuse_param(what, name, *_SPLITTERS, *plugins, *others)
    return load_plugin(name, plugins[name])


def is_plugin(name):
    """Whether a splitter of that name is found in another package, without importing it.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool
    """
    return name not in _SPLITTERS and name in find_plugins(_SPLITTERS)


def _describe(cls):
    """The first line of a class's docstring."""
    lines = (cls.__doc__ or "").strip().splitlines()
    return lines[0] if lines else f"{cls.__module__}.{cls.__qualname__}"


def resolve_splitter(
    splitter: str | Splitter | type[Splitter], what: str = "splitter", others: Sequence[str] = ()
) -> Splitter:
    """Turn what a user passed as ``splitter=`` into a splitter object.

    Parameters
    ----------
    splitter : str, Splitter or subclass of Splitter
    what : str, default="splitter"
        The parameter that it was given as, for the message.
    others : sequence of str, default=()
        Names of what is no splitter that the parameter may hold as well, for the message.

    Returns
    -------
    Splitter

    Examples
    --------
    >>> from obtree.splitter import resolve_splitter
    >>> resolve_splitter("oc1").get_params()["n_restarts"]
    0
    """
    if isinstance(splitter, Splitter):
        return splitter
    if isinstance(splitter, type) and issubclass(splitter, Splitter):
        return splitter()
    if isinstance(splitter, str):
        return find_splitter(splitter, what, others)()
    if isinstance(splitter, SavedPart):
        raise ValueError(splitter.explain([*_SPLITTERS, *find_plugins(_SPLITTERS)]))
    refuse_param(what, splitter, expected="a name, a Splitter object or a Splitter class")
