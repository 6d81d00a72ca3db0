"""Semi-supervised gain against the sum of its two parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.criterion.registry import find_criterion, make_criterion
from obtree.criterion.semi_supervised import SemiSupervisedGain
from obtree.data.targets import Targets
from obtree.testing import check_criterion
from obtree.testing.criterion_node import NodeProbe
from obtree.testing.growth import bind_criterion, find_differences, grow_tree

UNSUPERVISED = bind_criterion("gaussian", X=np.zeros((2, 1), np.float32)).criterion


def load_node(criterion, X, y=None, weight=None, n_classes=3):
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    bound = bind_criterion(criterion, y, None if y is None else [n_classes], X=X)
    return NodeProbe(bound._replace(criterion=criterion), np.arange(len(X)), weight)


def weigh_entropy(y, weight):
    """Entropy in nats of the classes of those that have one, times their weight."""
    counts = np.array([weight[y == c].sum() for c in range(y.max() + 1)])
    counts = counts[counts > 0]
    return -np.sum(counts * np.log(counts / counts.sum()))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 20.0])
def test_a_cut_is_worth_both_gains(alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)).astype(np.float32)
    y = rng.integers(-1, 3, 40)
    weight = rng.integers(1, 4, 40).astype(float)
    partial = load_node(SemiSupervisedGain(alpha), X, y, weight)
    rows_alone = load_node(UNSUPERVISED, X, None, weight)
    known = weight[y >= 0].sum()
    np.testing.assert_allclose(
        partial.impurity, rows_alone.impurity + alpha * weigh_entropy(y, weight) / known
    )
    fractions = [weight[y == c].sum() / known for c in range(3)]
    np.testing.assert_allclose(partial.value, fractions)
    for codes in rng.integers(0, 2, (8, 40)):
        left = codes == 0
        entropy = weigh_entropy(y[left], weight[left]) + weigh_entropy(y[~left], weight[~left])
        expected = rows_alone.scan(codes)[0] - alpha * entropy / known
        np.testing.assert_allclose(partial.scan(codes)[0], expected)


@given(seed=st.integers(0, 1000), n_cuts=st.integers(2, 6))
def test_the_best_of_several_cuts_in_any_order_of_directions(seed, n_cuts):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2)).astype(np.float32)
    y = rng.integers(-1, 2, 20)
    partial = load_node(SemiSupervisedGain(3.0), X, y)
    for _ in range(3):
        codes = rng.integers(0, n_cuts, 20)
        single = [partial.scan((codes > k).astype(int))[0] for k in np.unique(codes)[:-1]]
        np.testing.assert_allclose(partial.scan(codes)[0], max(single))


def test_without_labels_only_the_rows_count():
    X = np.random.default_rng(1).integers(0, 7, size=(60, 3)).astype(np.float32)
    absent = grow_tree(X, np.full((60, 1), -1), SemiSupervisedGain, n_classes=[2], max_depth=3)
    rows_alone = grow_tree(X, None, type(UNSUPERVISED), max_depth=3)
    assert absent.node_count > 5
    assert find_differences(absent, rows_alone, ignore=("value", "n_classes")) == []
    assert (absent.value == 0.5).all()


def test_labels_decide_where_alpha_is_large():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    X[:, 0] += np.where(rng.random(200) < 0.5, -4, 4)
    y = np.where(np.arange(200) % 5 == 0, X[:, 1] > 0, -1)
    first = [
        grow_tree(X, y, SemiSupervisedGain(alpha), max_depth=1).term_feature[0]
        for alpha in (0.01, 100.0)
    ]
    assert first == [0, 1]


def test_a_criterion_with_parameters_is_copied():
    given = SemiSupervisedGain(alpha=7.0)
    made = make_criterion(given, Targets([[0], [-1]], [1], partial=True))
    assert made is not given
    assert made.alpha == 7.0
    assert find_criterion("semi_supervised", "partial") is SemiSupervisedGain
    with pytest.raises(ValueError, match="partial"):
        make_criterion(given, Targets([[0], [1]], [2]))


def test_it_keeps_the_contract():
    check_criterion("semi_supervised", task="semi-supervised")
