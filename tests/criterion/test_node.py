"""A loaded node: its impurity, weight, level and value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.criterion.registry import CLASSIFICATION, REGRESSION
from obtree.testing.criterion_node import NodeProbe
from obtree.testing.growth import bind_criterion
from obtree.testing.reference import RATED, compute_impurity, compute_level, compute_value

CRITERIA = list(RATED)


def draw_targets(rng, name, n, n_outputs, n_classes=4):
    """Targets and, for classes, how many each output has."""
    if name in CLASSIFICATION:
        y = rng.integers(0, n_classes, (n, n_outputs))
        return y, [n_classes - (k > 0) for k in range(n_outputs)]
    y = np.round(rng.gamma(1.0, size=(n, n_outputs)), 1)
    if name == "poisson":
        y[0] += 0.5
    return y, None


def draw_weights(rng, n, whole):
    return rng.integers(1, 5, n).astype(float) if whole else rng.random(n) + 0.05


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    n_outputs=st.integers(1, 3),
    whole=st.booleans(),
)
def test_against_reference(name, seed, n, n_outputs, whole):
    rng = np.random.default_rng(seed)
    y, n_classes = draw_targets(rng, name, 2 * n, n_outputs)
    y = y if n_classes is None else y % np.array(n_classes)
    weight = draw_weights(rng, 2 * n, whole)
    rows = np.sort(rng.choice(2 * n, n, replace=False))
    rows[0] = 0  # a Poisson node needs a positive sum
    node = NodeProbe(bind_criterion(name, y, n_classes), rows, weight)
    args = name, y[rows], weight[rows], n_classes
    assert node.weight == pytest.approx(weight[rows].sum(), rel=1e-13)
    assert node.impurity == pytest.approx(compute_impurity(*args), rel=1e-10, abs=1e-13)
    assert node.level == pytest.approx(compute_level(*args), rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(node.value, compute_value(*args).ravel(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("whole", [True, False])
def test_pure_nodes_have_no_impurity(name, whole):
    # Not even a rounding error: such a node must not be split.
    rng = np.random.default_rng(0)
    weight = draw_weights(rng, 50, whole)
    for n in (1, 2, 3, 7, 50):
        y = np.full((50, 1), 1 if name in CLASSIFICATION else 0.1)
        assert NodeProbe(bind_criterion(name, y), np.arange(n), weight).impurity == 0.0


@pytest.mark.parametrize("name", ["squared_error", "friedman_mse", "absolute_error"])
def test_a_large_offset_loses_no_digits(name):
    rng = np.random.default_rng(0)
    y = np.round(rng.normal(size=(200, 1)) * 1024) / 1024  # exact also after the shift
    weight = rng.random(200) + 0.5
    near = NodeProbe(bind_criterion(name, y), np.arange(200), weight)
    far = NodeProbe(bind_criterion(name, y + 2.0**32), np.arange(200), weight)
    assert far.impurity == pytest.approx(near.impurity, rel=1e-9)
    codes = np.argsort(np.argsort(y[:, 0] + rng.normal(size=200)))
    assert far.scan(codes)[1:] == near.scan(codes)[1:]


@pytest.mark.parametrize("name", CRITERIA)
def test_whole_weights_equal_repeated_rows(name):
    rng = np.random.default_rng(0)
    y, n_classes = draw_targets(rng, name, 30, 1)
    counts = rng.integers(1, 5, 30)
    weighted = NodeProbe(bind_criterion(name, y, n_classes), np.arange(30), counts)
    copies = np.repeat(y, counts, axis=0)
    n = len(copies)
    repeated = NodeProbe(bind_criterion(name, copies, n_classes), np.arange(n), np.ones(n))
    assert weighted.weight == repeated.weight
    assert weighted.impurity == pytest.approx(repeated.impurity, rel=1e-13)
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-14)
    if name in CLASSIFICATION:  # counts are exact
        assert weighted.impurity == repeated.impurity
        np.testing.assert_array_equal(weighted.value, repeated.value)


def test_median_between_two_targets():
    y = np.array([[1.0], [2.0], [10.0], [20.0]])
    criterion = bind_criterion("absolute_error", y)
    assert NodeProbe(criterion, [0, 1, 2, 3], np.ones(4)).value == [6.0]
    assert NodeProbe(criterion, [0, 1, 2, 3], [1.0, 1.0, 1.0, 1.5]).value == [10.0]
    assert NodeProbe(criterion, [0, 1, 3], np.ones(4)).value == [2.0]


def test_clipping():
    shares = NodeProbe(bind_criterion("gini", [0, 1, 1, 1]), np.arange(4), np.ones(4))
    assert shares.clip(shares.value, 0.0, 0.5).tolist() == [0.5, 0.5]
    assert shares.clip(shares.value, -np.inf, np.inf).tolist() == [0.25, 0.75]
    for name in REGRESSION:
        mean = NodeProbe(bind_criterion(name, [1.0, 3.0]), np.arange(2), np.ones(2))
        assert mean.clip(mean.value, 2.5, 9.0).tolist() == [2.5]
        assert mean.clip(mean.value, 0.0, 1.5).tolist() == [1.5]


def test_clipping_one_class_changes_nothing():
    node = NodeProbe(bind_criterion("gini", [0, 0]), np.arange(2), np.ones(2))
    assert node.clip([1.0, 7.0], 0.0, 0.5).tolist() == [1.0, 7.0]
