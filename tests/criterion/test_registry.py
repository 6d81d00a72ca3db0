"""Criteria by name."""

import numpy as np
import pytest

from obtree.criterion.base import Criterion
from obtree.criterion.registry import CLASSIFICATION, REGRESSION, make_criterion


def test_every_name_makes_a_criterion():
    for name in CLASSIFICATION:
        y = np.zeros((3, 2), dtype=np.int32)
        assert make_criterion(name, y, np.array([2, 4])).value_size == 8
    for name in REGRESSION:
        assert make_criterion(name, np.zeros((3, 2))).value_size == 2


def test_log_loss_is_another_name_of_entropy():
    y = np.zeros((3, 1), dtype=np.int32)
    one, other = (make_criterion(name, y, np.array([2])) for name in ("entropy", "log_loss"))
    assert type(one) is type(other)


@pytest.mark.parametrize(
    ("name", "n_classes", "nearest"),
    [("ginni", [2], "gini"), ("squared_eror", None, "squared_error"), ("gini", None, None)],
)
def test_unknown_names(name, n_classes, nearest):
    known = REGRESSION if n_classes is None else CLASSIFICATION
    with pytest.raises(ValueError, match=f"unknown criterion '{name}'") as error:
        make_criterion(name, np.zeros((3, 1)), n_classes)
    assert all(repr(other) in str(error.value) for other in known)
    assert ("Did you mean" in str(error.value)) == (nearest is not None)
    assert nearest is None or f"Did you mean {nearest!r}?" in str(error.value)


def test_base_class_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="Criterion must implement clone"):
        Criterion().clone()
