"""What one row weighs, of weights of all kinds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from obtree.data.scale import find_weight_unit


def test_whole_numbers_are_counts():
    assert find_weight_unit(np.array([3.0, 1.0, 0.0, 2.0])) == 1.0


def test_a_common_factor_is_left_out():
    assert find_weight_unit(np.array([6.0, 0.0, 4.0])) == 2.0


def test_other_weights_are_one_on_average():
    assert find_weight_unit(np.array([0.5, 0.0, 1.0])) == 0.75


def test_the_mean_of_equal_weights_is_exact():
    assert find_weight_unit(np.full(1000, 0.1)) == 0.1


def test_numbers_beyond_any_table_are_no_counts():
    weight = np.array([1.5, 2.25]) * 2.0**60
    assert find_weight_unit(weight) == 1.875 * 2.0**60


def test_nothing_weighs_one():
    assert find_weight_unit(None) == find_weight_unit(np.zeros(3)) == 1.0


@given(weight=st.lists(st.floats(0, 1e3), min_size=1), power=st.integers(-60, 60))
def test_a_power_of_two_scales_the_unit(weight, power):
    weight = np.array(weight)
    weight[weight < 1e-200] = 0
    unit = find_weight_unit(weight + np.pi * (weight > 0))
    scaled = find_weight_unit((weight + np.pi * (weight > 0)) * 2.0**power)
    assert scaled == (unit * 2.0**power if weight.any() else 1.0)
