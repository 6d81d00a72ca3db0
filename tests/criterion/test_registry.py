"""Criteria by name."""

import numpy as np
import pytest

from obtree.criterion.base import Criterion
from obtree.criterion.registry import CLASSIFICATION, REGRESSION, find_criterion, make_criterion
from obtree.data.targets import Targets
from obtree.testing.criterion_node import NodeProbe
from obtree.testing.growth import BoundCriterion, bind_criterion


def test_every_name_makes_a_criterion():
    classes = Targets(np.zeros((3, 2)), [2, 4])
    assert (classes.kind, classes.y.dtype, classes.n_classes.tolist()) == ("classes", "i4", [2, 4])
    for name in CLASSIFICATION:
        assert make_criterion(name, classes).target_kind == "classes"
        bound = bind_criterion(name, classes.y, [2, 4])
        assert NodeProbe(bound, [0, 1], np.ones(3)).value_size == 8
    numbers = Targets(np.zeros((3, 2)))
    assert (numbers.kind, numbers.y.dtype, numbers.n_classes) == ("real", "f8", None)
    for name in REGRESSION:
        assert make_criterion(name, numbers).target_kind == "real"
        assert NodeProbe(bind_criterion(name, numbers.y), [0, 1], np.ones(3)).value_size == 2


def test_log_loss_is_another_name_of_entropy():
    assert find_criterion("entropy", "classes") is find_criterion("log_loss", "classes")


def test_targets_of_another_kind_are_refused():
    gini = make_criterion("gini", Targets([[0]], [1]))
    error = make_criterion("poisson", Targets([[1]]))
    message = "Gini takes targets of the kind 'classes', its target_kind, and these are 'real'"
    with pytest.raises(ValueError, match=message):
        NodeProbe(BoundCriterion(gini, Targets([[1.0]])), [0], [1.0])
    with pytest.raises(ValueError, match="the kind 'real', its target_kind, and these are 'none'"):
        NodeProbe(BoundCriterion(error, Targets()), [0], [1.0])


@pytest.mark.parametrize(
    ("y", "n_classes", "message"),
    [
        (None, [2], "without y; expected class codes"),
        (np.zeros(3), None, r"y has shape \(3,\); expected \(n_samples, n_outputs\)"),
        (np.zeros((0, 1)), None, r"y has shape \(0, 1\)"),
        ([[0], [2]], [2], r"codes from 0 to 2; expected 0 to below n_classes=\[2\]"),
        ([[-1], [0]], [2], "codes from -1 to 0"),
        (np.zeros((3, 2)), [2], r"n_classes has shape \(1,\); expected one number for each of 2"),
    ],
)
def test_targets_that_make_no_sense(y, n_classes, message):
    with pytest.raises(ValueError, match=message):
        Targets(y, n_classes)


@pytest.mark.parametrize(
    ("name", "n_classes", "nearest"),
    [("ginni", [2], "gini"), ("squared_eror", None, "squared_error"), ("ginny", None, None)],
)
def test_unknown_names(name, n_classes, nearest):
    known = REGRESSION if n_classes is None else CLASSIFICATION
    with pytest.raises(ValueError, match=f"unknown criterion '{name}'") as error:
        make_criterion(name, Targets(np.zeros((3, 1)), n_classes))
    assert all(repr(other) in str(error.value) for other in known)
    assert ("Did you mean" in str(error.value)) == (nearest is not None)
    assert nearest is None or f"Did you mean {nearest!r}?" in str(error.value)


def test_base_class_takes_no_targets():
    with pytest.raises(ValueError, match="Criterion takes targets of the kind None"):
        NodeProbe(BoundCriterion(Criterion(), Targets()), [0], [1.0])
