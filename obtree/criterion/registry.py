"""Criteria by name."""

from obtree.core.names import unknown_name
from obtree.criterion.absolute_error import AbsoluteError
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


def make_criterion(name, y, n_classes=None):
    """Make the criterion of that name for these targets.

    Parameters
    ----------
    name : str
        One of `CLASSIFICATION` when `n_classes` is given, else of `REGRESSION`.
    y : ndarray of shape (n_samples, n_outputs)
        int32 class codes, or float64 targets; C-contiguous.
    n_classes : int64 ndarray of shape (n_outputs,), optional
        Number of classes of each output.

    Returns
    -------
    Criterion
    """
    known = _VALUES if n_classes is None else _CLASSES
    if name not in known:
        raise ValueError(unknown_name("criterion", name, known))
    return known[name](y) if n_classes is None else known[name](y, n_classes)
