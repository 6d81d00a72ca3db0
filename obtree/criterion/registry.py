"""Criteria by name."""

from obtree.core.names import list_names, show, unknown_name
from obtree.criterion.absolute_error import AbsoluteError
from obtree.criterion.base import Criterion
from obtree.criterion.classes import ClassCriterion
from obtree.criterion.entropy import Entropy
from obtree.criterion.friedman import FriedmanError
from obtree.criterion.gini import Gini
from obtree.criterion.poisson import Poisson
from obtree.criterion.slots import MaxMinority, SumMinority, SumOfVariances, Twoing
from obtree.criterion.squared_error import SquaredError

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
}

CLASSIFICATION = tuple(_CLASSES)
REGRESSION = tuple(_VALUES)


def find_criterion(criterion, classification):
    """The class of a criterion that was given by name, or as a class of another package.

    Parameters
    ----------
    criterion : str or subclass of Criterion
        For classification a subclass of `ClassCriterion`, which alone knows classes.
    classification : bool

    Returns
    -------
    subclass of Criterion
    """
    known = _CLASSES if classification else _VALUES
    if isinstance(criterion, type) and issubclass(criterion, Criterion):
        if issubclass(criterion, ClassCriterion) == classification:
            return criterion
        expected = "a subclass of ClassCriterion" if classification else "one of real targets"
        raise ValueError(
            f"criterion={show(criterion)} is not valid for {'class' if classification else 'real'} "
            f"targets; expected {expected}, or a name among {list_names(known)}"
        )
    if not isinstance(criterion, str) or criterion not in known:
        raise ValueError(unknown_name("criterion", criterion, known))
    return known[criterion]


def make_criterion(criterion, y, n_classes=None):
    """Make a criterion for these targets.

    Parameters
    ----------
    criterion : str or subclass of Criterion
        One of `CLASSIFICATION` when `n_classes` is given, else of `REGRESSION`; or a class.
    y : ndarray of shape (n_samples, n_outputs)
        int32 class codes, or float64 targets; C-contiguous.
    n_classes : int64 ndarray of shape (n_outputs,), optional
        Number of classes of each output.

    Returns
    -------
    Criterion
    """
    found = find_criterion(criterion, n_classes is not None)
    return found(y) if n_classes is None else found(y, n_classes)
