"""Splitters of other packages, found by their entry points.

A package that declares entry points in the group ``obtree.splitters`` adds names to those
obtree knows. Nothing of it is imported before its name, or the list of all names, is asked
for, and a package that cannot be imported does no harm to the others.
"""

import sys
import warnings
from importlib.metadata import entry_points

from obtree.splitter.base import Splitter

GROUP = "obtree.splitters"


class PluginError(ImportError):
    """A splitter of another package that cannot be used, and why."""


def find_plugins(taken):
    """Find what other packages declare, without importing anything.

    Parameters
    ----------
    taken : collection of str
        Names that are not to be had.

    Returns
    -------
    dict of str to list of EntryPoint
        By name, which more than one package may claim.
    """
    found = {}
    for entry in entry_points(group=GROUP):
        claims = found.setdefault(entry.name, [])
        # A package that is on the path twice is still one package.
        if entry.name not in taken and entry not in claims:
            claims.append(entry)
    return {name: claims for name, claims in sorted(found.items()) if claims}


def load_plugin(name, claims):
    """Import the splitter class of that name.

    Parameters
    ----------
    name : str
    claims : list of EntryPoint
        As found by `find_plugins`.

    Returns
    -------
    type
        A subclass of `Splitter`.

    Raises
    ------
    PluginError
        Naming the package and what is wrong with it.
    """
    packages = [_name_package(entry) for entry in claims]
    if len(claims) > 1:
        raise PluginError(
            f"splitter {name!r} is ambiguous: {' and '.join(sorted(packages))} both have one; "
            "uninstall one of them, or pass an object of the class that is meant"
        )
    label = f"splitter {name!r} of {packages[0]} ({claims[0].value})"
    try:
        found = claims[0].load()
    except Exception as error:
        raise PluginError(f"{label} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(found, type) or not issubclass(found, Splitter):
        raise PluginError(
            f"{label} is {found!r}; expected a subclass of obtree.splitter.base.Splitter"
        )
    return found


def load_all(taken):
    """Import every splitter that other packages declare; warn of those that cannot be used.

    Parameters
    ----------
    taken : collection of str
        Names that are not to be had: a package that claims one is told so by a warning.

    Returns
    -------
    dict of str to type
    """
    for entry in entry_points(group=GROUP):
        if entry.name in taken:
            warnings.warn(
                f"splitter {entry.name!r} of {_name_package(entry)} is left out: obtree has one "
                "of that name",
                stacklevel=3,
            )
    loaded = {}
    for name, claims in find_plugins(taken).items():
        try:
            loaded[name] = load_plugin(name, claims)
        except PluginError as error:
            warnings.warn(str(error), stacklevel=3)
    return loaded


def find_name(cls, taken):
    """The name under which a package declares this class; None when there is none.

    Only packages that are imported already are looked at: one of them made the class.
    """
    for name, claims in find_plugins(taken).items():
        if len(claims) == 1 and claims[0].module in sys.modules:
            try:
                if load_plugin(name, claims) is cls:
                    return name
            except PluginError:
                continue
    return None


def _name_package(entry):
    """The package an entry point belongs to, as pip calls it."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
