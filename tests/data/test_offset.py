"""Constants that are subtracted from columns: the arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from obtree.data.offset import have_same_offset, shift_features, sum_offsets


def round_exactly(number):
    """The float32 that is nearest to a fraction; ties go to the even one."""
    value = np.float32(float(number))
    around = [
        np.nextafter(value, np.float32(-np.inf)),
        value,
        np.nextafter(value, np.float32(np.inf)),
    ]
    return min(
        around,
        key=lambda near: (abs(Fraction(float(near)) - number), int(near.view(np.uint32)) & 1),
    )


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@given(data=st.data())
def test_wide_integers_are_subtracted_exactly(dtype, far, data):
    """Beyond 2**53, where float64 would merge neighbours, and where differences overflow."""
    limits = np.iinfo(dtype)
    middle = data.draw(st.integers(2**53, int(limits.max) - 10_000))
    if dtype is np.int64 and data.draw(st.booleans()):
        middle = -middle
    near = st.integers(middle - 3000, middle + 3000)
    numbers = st.integers(int(limits.min), int(limits.max)) if far else near
    X = np.array([[data.draw(numbers)] for _ in range(3)], dtype=dtype)
    origin = float(data.draw(near))
    assert limits.min <= int(origin) <= limits.max
    shifted = shift_features(X, np.array([origin]))
    assert shifted.dtype == np.float32
    expected = [round_exactly(Fraction(int(x)) - Fraction(origin)) for x in X[:, 0]]
    assert shifted[:, 0].tolist() == [float(value) for value in expected]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, np.uint8, np.int32, bool])
def test_other_types_are_subtracted_in_float64(dtype, order):
    X = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype, order=order)
    offset = np.array([0.0, 1.7e9])
    shifted = shift_features(X, offset)
    assert shifted.dtype == np.float32
    assert shifted.flags.c_contiguous == (order == "C")
    np.testing.assert_array_equal(shifted, (X.astype(np.float64) - offset).astype(np.float32))


def test_time_stamps_stay_apart_and_missing_ones_stay_missing():
    X = np.array([[1.7e9], [1.7e9 + 1], [np.nan], [0.0]])
    shifted = shift_features(X, np.array([1.7e9]))[:, 0]
    np.testing.assert_array_equal(shifted, np.float32([0, 1, np.nan, -1.7e9]))


def test_offsets_that_do_not_fit_a_type_of_integers():
    X = np.array([[5, 7]], dtype=np.int64)
    shifted = shift_features(X, np.array([0.5, 2.0**63]))
    np.testing.assert_array_equal(shifted, np.float32([[4.5, 7 - 2.0**63]]))


def test_objects_are_numbers_and_text_is_not():
    X = np.array([[1, None]], dtype=object)
    np.testing.assert_array_equal(shift_features(X, np.ones(2)), [[0, np.nan]])
    with pytest.raises(ValueError, match="X has dtype <U1; expected real numbers"):
        shift_features(np.array([["a"]]), np.ones(1))


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array])
def test_sparse_features_are_shifted_like_dense_ones(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 5)) < 0.4, 1.7e9 + rng.integers(0, 9, (30, 5)), 0.0)
    X[3, 1] = X[4, 2] = np.nan
    offset = np.array([0.0, 1.7e9, 0.0, -2.5, 1.7e9])
    shifted = shift_features(kind(X), offset)
    assert shifted.dtype == np.float32
    assert shifted.has_canonical_format
    np.testing.assert_array_equal(shifted.toarray(), shift_features(X, offset))


def test_repeated_entries_are_added_before_they_are_shifted():
    X = sp.csr_matrix(([1.7e9, 3.0, 2.0, 2.0], [0, 0, 1, 1], [0, 4]), shape=(1, 2))
    shifted = shift_features(X, np.array([1.7e9, 0.0]))
    assert X.nnz == 4
    np.testing.assert_array_equal(shifted.toarray(), [[3.0, 4.0]])


def test_damaged_matrices_are_refused():
    X = sp.csr_matrix(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match=r"indices|index values"):
        shift_features(X, np.ones(3))


def test_sums_of_offsets():
    offset = np.array([10.0, 0.0, 1000.0])
    ptr, feature = np.array([0, 2, 2, 3]), np.array([0, 2, 2])
    weight = np.array([1.0, 2.0, -3.0])
    np.testing.assert_array_equal(sum_offsets(offset, ptr, feature, weight), [2010, 0, -3000])
    both = sum_offsets(offset, ptr, feature, np.stack([weight, -weight], axis=1))
    np.testing.assert_array_equal(both, [[2010, -2010], [0, 0], [-3000, 3000]])


def test_same_offsets():
    assert have_same_offset(None, None)
    assert have_same_offset(np.ones(2), np.ones(2))
    assert not have_same_offset(np.ones(2), None)
    assert not have_same_offset(None, np.ones(2))
    assert not have_same_offset(np.ones(2), np.zeros(2))
