"""Targets in any unit are learnt alike: metres or nanometres, from zero or from a million.

A power of two rounds nothing, so that the tree must ask the same questions, bit for bit, and
give the same answers times that power. Other factors, and offsets, round; the fit then has to
be as good as before.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1

from obtree import (
    NonGreedyTreeRegressor,
    ObliqueForestRegressor,
    ObliqueTreeRegressor,
    TAOForestRegressor,
    TAOTreeRegressor,
)
from obtree.criterion.registry import REGRESSION
from obtree.splitter import available
from obtree.testing.growth import find_differences, grow_tree

SEEDS = st.integers(0, 2**32 - 1)
POWERS = st.integers(-60, 60)
# How an impurity grows with the unit.
DEGREE = {"squared_error": 2, "friedman_mse": 2, "absolute_error": 1, "poisson": 1}
DEGREE["linear_gaussian"] = 0  # logarithms
SCALED = ("value", "impurity", "leaf_weight", "leaf_intercept")


def draw_problem(seed, n=60, n_outputs=1):
    """Smooth targets that are positive, with some that are equal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = np.exp(0.5 * X[:, :n_outputs] + 0.3 * X[:, [2]] ** 2 + 0.2 * rng.normal(size=(n, 1)))
    y[: n // 4] = np.round(y[: n // 4], 1) + 0.1
    return X, y


def check_scaled(one, other, factor, degree):
    """The second tree is the first one with its answers times the factor."""
    # Where impurities are logarithms leaves are large, and cuts may be declined.
    assert one.node_count > (3 if degree else 0)
    assert find_differences(one, other, ignore=SCALED) == []
    np.testing.assert_array_equal(other.value, one.value * factor)
    np.testing.assert_array_equal(other.impurity, one.impurity * factor**degree)
    for name in ("leaf_weight", "leaf_intercept"):
        if getattr(one, name) is not None:
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name) * factor)


@pytest.mark.parametrize("criterion", REGRESSION)
@pytest.mark.parametrize("splitter", available())
@given(seed=SEEDS, power=POWERS, n_outputs=st.integers(1, 2))
def test_a_power_of_two_scales_the_answers(splitter, criterion, seed, power, n_outputs):
    X, y = draw_problem(seed, n_outputs=n_outputs)
    options = {"splitter": splitter, "seeds": [seed], "max_features": 2, "keep_rows": True}
    one = grow_tree(X, y, criterion, **options)
    other = grow_tree(X, y * 2.0**power, criterion, **options)
    check_scaled(one, other, 2.0**power, DEGREE[criterion])


MODELS = {
    "best first": ObliqueTreeRegressor(max_leaf_nodes=12, random_state=0),
    "monotonic": ObliqueTreeRegressor(monotonic_cst=[1, 0, -1, 0], random_state=0),
    "linear leaves": ObliqueTreeRegressor(leaf="linear", min_samples_leaf=12, random_state=0),
    "tao": TAOTreeRegressor(random_state=0),
    "tao random start": TAOTreeRegressor(init="random", max_depth=3, random_state=0),
    "tao linear": TAOTreeRegressor(leaf="linear", max_depth=2, random_state=0),
    "non-greedy": NonGreedyTreeRegressor(max_depth=3, n_epochs=3, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
@given(seed=SEEDS, power=POWERS)
def test_a_power_of_two_scales_the_model(name, seed, power):
    X, y = draw_problem(seed, n=120)
    one = MODELS[name].fit(X, y[:, 0]).tree_
    other = MODELS[name].fit(X, y[:, 0] * 2.0**power).tree_
    check_scaled(one, other, 2.0**power, 2)


@given(seed=SEEDS, power=POWERS)
def test_thresholds_of_the_user_are_in_the_unit_of_the_impurity(seed, power):
    X, y = draw_problem(seed, n=120)
    least = float(0.01 * y.var())
    for name in ("min_impurity_decrease", "ccp_alpha"):
        one = ObliqueTreeRegressor(random_state=0, **{name: least}).fit(X, y[:, 0])
        other = ObliqueTreeRegressor(random_state=0, **{name: least * 4.0**power})
        other.fit(X, y[:, 0] * 2.0**power)
        assert one.get_n_leaves() < ObliqueTreeRegressor().fit(X, y[:, 0]).get_n_leaves()
        assert find_differences(one.tree_, other.tree_, ignore=SCALED) == []


# On the training rows alone, and far from the figure of a constant, which is 0.
FORESTS = {
    **{name: ObliqueForestRegressor(5, splitter=name, random_state=0) for name in available()},
    **{name: ObliqueForestRegressor(5, criterion=name, random_state=0) for name in REGRESSION},
    "tao": TAOForestRegressor(3, random_state=0),
    "linear": ObliqueForestRegressor(3, leaf="linear", min_samples_leaf=20, random_state=0),
    "non-greedy": NonGreedyTreeRegressor(max_depth=5, n_epochs=5, random_state=0),
}


@pytest.mark.parametrize("factor", [1e-30, 1e-9, 1e12, 1e30, 1e-100, 1e100])
@pytest.mark.parametrize("name", FORESTS)
def test_any_unit_is_learnt(name, factor):
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    expected = FORESTS[name].fit(X, y).score(X, y)
    assert FORESTS[name].fit(X, y * factor).score(X, y * factor) > expected - 0.05 > 0.5


# Deviances are differences of logarithms, which resolve spreads of 1e-7 of the mean at best.
@pytest.mark.parametrize("name", [name for name in FORESTS if name != "poisson"])
def test_a_large_offset_is_learnt(name):
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    y *= 1e-3
    expected = FORESTS[name].fit(X, y).score(X, y)
    assert FORESTS[name].fit(X, y + 1e6).score(X, y + 1e6) > expected - 0.05 > 0.5


def test_an_outlier_hides_nothing():
    # Of this spread the others' is a billionth: pure is what is equal but for rounding.
    X, y = make_friedman1(300, noise=0.1, random_state=0)
    y[17] = 1e9
    found = ObliqueTreeRegressor(random_state=0).fit(X, y)
    rest = np.arange(300) != 17
    assert found.score(X[rest], y[rest]) > 0.99


@pytest.mark.parametrize("criterion", REGRESSION)
@pytest.mark.parametrize("factor", [1.0, 1e-12, 1e12])
def test_what_differs_by_rounding_is_equal(criterion, factor):
    X = np.arange(40.0)[:, None]
    y = np.where(np.arange(40) % 2, 0.1 + 0.2, 0.3) * factor
    assert len(set(y)) == 2
    assert grow_tree(X.astype(np.float32), y, criterion).node_count == 1


@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_units_beyond_float64_are_refused(factor):
    X, y = make_friedman1(50, random_state=0)
    with pytest.raises(ValueError, match="squares leave the range of float64"):
        ObliqueTreeRegressor().fit(X, y * factor)
