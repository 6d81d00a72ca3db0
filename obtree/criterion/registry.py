"""Criteria by name."""

from obtree.core.names import list_names, show
from obtree.core.params import check_param
from obtree.criterion.absolute_error import AbsoluteError
from obtree.criterion.base import Criterion
from obtree.criterion.classes import Entropy, Gini, MaxMinority, SumMinority, SumOfVariances, Twoing
from obtree.criterion.gaussian import GaussianGain
from obtree.criterion.linear_gaussian import LinearGaussian
from obtree.criterion.moments import FriedmanError, Poisson, SquaredError
from obtree.criterion.semi_supervised import SemiSupervisedGain

_CLASSES = {
    "gini": Gini,
    "entropy": Entropy,
    "log_loss": Entropy,
    "twoing": Twoing,
    "max_minority": MaxMinority,
    "sum_minority": SumMinority,
    "sum_of_variances": SumOfVariances,
}
_VALUES = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "friedman_mse": FriedmanError,
    "poisson": Poisson,
    "linear_gaussian": LinearGaussian,
}

_ROWS = {
    "gaussian": GaussianGain,
}
_PARTIAL = {"semi_supervised": SemiSupervisedGain}

#: What scikit-learn called criteria before it renamed them.
_FORMER = {"mse": "squared_error", "mae": "absolute_error"}

_NAMED = {"classes": _CLASSES, "real": _VALUES, "none": _ROWS, "partial": _PARTIAL}

CLASSIFICATION = tuple(_CLASSES)
REGRESSION = tuple(_VALUES)
PARTIAL = tuple(_PARTIAL)


def find_criterion(criterion, kind):
    """The class of a criterion that was given by name, or as a class of another package.

    Parameters
    ----------
    criterion : str or subclass of Criterion
        A class says by its ``target_kind`` which targets it takes.
    kind : {"classes", "real", "none", "partial"}
        What the targets are.

    Returns
    -------
    subclass of Criterion
    """
    known = _NAMED[kind]
    if isinstance(criterion, type) and issubclass(criterion, Criterion):
        if criterion.target_kind == kind:
            return criterion
        raise ValueError(
            f"criterion={show(criterion)} is not valid for targets of the kind {kind!r}, since its "
            f"target_kind is {criterion.target_kind!r}; expected a class whose target_kind is "
            f"{kind!r}" + (f", or a name among {list_names(known)}" if known else "")
        )
    if not known:
        raise ValueError(
            f"criterion={show(criterion)} is not valid for targets of the kind {kind!r}; expected "
            f"a subclass of Criterion whose target_kind is {kind!r}"
        )
    if isinstance(criterion, str) and criterion not in known:
        _refuse_name(criterion, kind)
    return known[check_param("criterion", criterion, *known)]


def _refuse_name(name, kind):
    """Say of a name that there was once, or that other targets have, what takes its place."""
    if name in _FORMER and _FORMER[name] in _NAMED[kind]:
        raise ValueError(f"unknown criterion {show(name)}; it is called {show(_FORMER[name])} now")
    for other, meaning in (("classes", "classification"), ("real", "regression")):
        if name in _NAMED[other]:
            raise ValueError(
                f"unknown criterion {show(name)} here, it is for {meaning}; expected "
                f"one of {list_names(_NAMED[kind])}"
            )


def make_criterion(criterion, targets):
    """Make a criterion for these targets.

    Parameters
    ----------
    criterion : str, subclass of Criterion or Criterion
        One of `CLASSIFICATION` for classes, one of `REGRESSION` for real targets; a class; or a
        criterion with parameters, of which this is a copy.
    targets : Targets
        What it is going to be bound to.

    Returns
    -------
    Criterion
    """
    if isinstance(criterion, Criterion):
        find_criterion(type(criterion), targets.kind)
        return criterion.clone()
    return find_criterion(criterion, targets.kind)()
