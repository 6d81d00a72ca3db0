"""One way to check parameters, for estimators, splitters and optimisers alike.

What a parameter may be is written down as a tuple of alternatives: None, a name, `FLAG`, an
`Integer`, a `Number` or a `Fraction`. A value of another type raises a `ParameterTypeError`,
one of a right type out of range a ValueError, and an unknown name a ValueError that says which
was probably meant. Every message gives the parameter, the value and what was expected.

>>> from obtree.core.params import Integer, check_param
>>> check_param("max_depth", 3, None, Integer(1))
3
>>> check_param("max_depth", 0, None, Integer(1))
Traceback (most recent call last):
    ...
ValueError: max_depth=0 is not valid; expected None or an integer >= 1
"""

import math
import numbers
from dataclasses import dataclass

import numpy as np

from obtree.core.names import ask_if_meant, list_names, show


class ParameterTypeError(TypeError, ValueError):
    """A parameter of a wrong type.

    A ValueError as well, as scikit-learn's InvalidParameterError is: who catches the errors of
    bad parameters needs not tell the two apart.
    """


class _Flag:
    """True or False."""

    words = ("True", "False")

    def has_type(self, value):
        return isinstance(value, (bool, np.bool_))

    def allows(self, value):
        return True

    convert = staticmethod(bool)


FLAG = _Flag()


@dataclass(frozen=True)
class Integer:
    """An integer from `low` to `high`, or of any size if `high` is None; no boolean."""

    low: int
    high: int | None = None

    @property
    def words(self):
        if self.high is None:
            return (f"an integer >= {self.low}",)
        return (f"an integer from {self.low} to {self.high}",)

    def has_type(self, value):
        return isinstance(value, numbers.Integral) and not FLAG.has_type(value)

    def allows(self, value):
        return self.low <= value and (self.high is None or value <= self.high)

    convert = staticmethod(int)


@dataclass(frozen=True)
class Number:
    """A finite real number from `low` to `high`, which are themselves refused if they are open."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @property
    def words(self):
        if self.high == math.inf:
            return (f"a number {'>' if self.open_low else '>='} {self.low:g}",)
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return (f"a number in {left}{self.low:g}, {self.high:g}{right}",)

    def has_type(self, value):
        return isinstance(value, numbers.Real) and not FLAG.has_type(value)

    def allows(self, value):
        above = self.low < value if self.open_low else self.low <= value
        open_high = self.open_high or self.high == math.inf
        return above and (value < self.high if open_high else value <= self.high)

    convert = staticmethod(float)


@dataclass(frozen=True)
class Fraction(Number):
    """A real number that is not written as an integer, beside which it means something else."""

    def has_type(self, value):
        return super().has_type(value) and not isinstance(value, numbers.Integral)


def check_param(name, value, *kinds):
    """Return a parameter as a plain value, or raise an error that names it.

    Parameters
    ----------
    name : str
        Name of the parameter, for the message.
    value : object
        What the user gave.
    *kinds : None, str, FLAG, Integer, Number or Fraction
        What it may be; the first that fits counts.

    Returns
    -------
    value : None, str, bool, int or float

    Raises
    ------
    ParameterTypeError
        If the value is of none of the types.
    ValueError
        If it is of one, but not allowed.
    """
    has_type = False
    for kind in kinds:
        if kind is None or isinstance(kind, str):
            if value is None if kind is None else isinstance(value, str) and value == kind:
                return kind
        elif kind.has_type(value):
            has_type = True
            if kind.allows(value):
                return kind.convert(value)
    refuse_param(name, value, *kinds, wrong_type=not has_type)


def check_params(rules, /, **values):
    """Check several parameters.

    Parameters
    ----------
    rules : dict of str to tuple
        What each parameter may be, as for `check_param`.
    **values : object
        What the user gave.
    """
    for name, value in values.items():
        check_param(name, value, *rules[name])


def refuse_param(name, value, *kinds, expected=None, wrong_type=True):
    """Raise the error of a parameter that is not what it may be.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        What the user gave.
    *kinds : None, str, FLAG, Integer, Number or Fraction
        What it may be.
    expected : str, default=None
        The same in words, where `kinds` do not say it.
    wrong_type : bool, default=True
        Whether the type of the value is wrong, and not the value.
    """
    known = [kind for kind in kinds if isinstance(kind, str)]
    expected = expected or _describe(kinds, known)
    if known and isinstance(value, str):
        meant = ask_if_meant(value, known)
        raise ValueError(f"unknown {name} {show(value)}; expected {expected}{meant}")
    error = ParameterTypeError if wrong_type else ValueError
    raise error(f"{name}={show(value)} is not valid; expected {expected}")


def _describe(kinds, known):
    """Put what a parameter may be into words."""
    if len(known) == len(kinds):
        return f"{'one of ' if len(known) > 1 else ''}{list_names(known)}"
    words = []
    for kind in kinds:
        words += kind.words if hasattr(kind, "words") else [show(kind)]
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
