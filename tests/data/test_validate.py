"""User data: what is accepted, what it becomes, and what is said when it is refused."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from obtree.data import validate
from obtree.data.validate import (
    round_features,
    validate_fit_features,
    validate_predict_features,
)
from obtree.data.validate_target import (
    check_poisson_target,
    validate_class_target,
    validate_real_target,
    validate_sample_weight,
)


class Holder(BaseEstimator):
    """Receives the number and names of features."""


def fit_features(X):
    holder = Holder()
    return round_features(holder, validate_fit_features(holder, X))[0]


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8", "uint16", "int16", "bool"])
def test_narrow_types_are_not_copied(dtype):
    X = np.ones((5, 3), dtype=dtype)
    assert fit_features(X) is X


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64", "uint32", ">f4", object])
def test_other_types_become_float32(dtype):
    X = np.arange(6).reshape(3, 2).astype(dtype)
    checked = fit_features(X)
    assert checked.dtype == np.float32
    np.testing.assert_array_equal(checked, np.arange(6).reshape(3, 2))


def test_order_is_kept_and_strides_are_not():
    X = np.asfortranarray(np.ones((4, 3), dtype=np.float32))
    assert fit_features(X) is X
    wide = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2]
    checked = fit_features(wide)
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, wide)


def test_predict_features_are_float32_in_c_order():
    holder = Holder()
    X = np.asfortranarray(np.arange(12, dtype=np.float64).reshape(4, 3))
    validate_fit_features(holder, X)
    checked = validate_predict_features(holder, X)
    assert checked.dtype == np.float32
    assert checked.flags.c_contiguous
    assert np.array_equal(checked, X)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_small_whole_numbers_are_read_in_place(dtype):
    holder = Holder()
    X = np.asfortranarray(np.arange(12, dtype=dtype).reshape(4, 3))
    validate_fit_features(holder, X)
    assert validate_predict_features(holder, X) is X


def test_nan_is_kept():
    X = np.array([[np.nan, 1.0], [2.0, np.nan]])
    assert np.isnan(fit_features(X)).sum() == 2


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_array])
def test_infinity_is_refused_with_its_column(bad, convert):
    X = np.ones((6, 4))
    X[0, 0] = np.nan
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"infinity.*column 2, first at row 3"):
        fit_features(convert(X))


def test_infinity_is_refused_with_its_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 1.0]})
    with pytest.raises(ValueError, match=r"column 1 \('b'\), first at row 0"):
        fit_features(frame)


def test_sum_may_overflow_without_infinity():
    X = np.full((4, 2), 3e38, dtype=np.float32)
    assert fit_features(X) is X


def test_text_is_refused_with_its_column():
    X = np.array([[1.0, 2.0], [3.0, "red"]], dtype=object)
    with pytest.raises(ValueError, match=r"column 1, row 1, value 'red'"):
        fit_features(X)
    with pytest.raises(ValueError, match=r"column 0, row 0, value 'red'"):
        fit_features([["red", "1"]])


def test_text_column_of_a_frame_is_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1, 2], "colour": ["red", "blue"]})
    with pytest.raises(ValueError, match=r"column 1 \('colour'\), row 0, value 'red'"):
        fit_features(frame)


def test_objects_that_are_no_numbers_are_refused():
    X = np.array([[1.0, {"a": 1}]], dtype=object)
    with pytest.raises(TypeError, match=r"column 1, row 0"):
        fit_features(X)


def test_dates_are_no_numbers():
    dates = np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]")
    for X in (dates, dates - dates):
        with pytest.raises(ValueError, match=r"numbers only, got .*\[D\] \(column 0\)"):
            fit_features(X)
    with pytest.raises(ValueError, match="y must hold numbers for regression: got datetime64"):
        validate_real_target(dates[:, 0], 2)
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"\(column 1 \('b'\)\)"):
        fit_features(pd.DataFrame({"a": [1, 2], "b": dates[:, 0]}))


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="inhomogeneous"):
        fit_features([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros(3), "Expected 2D array"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((2, 2), dtype=complex), "Complex data"),
        (sp.csr_matrix(np.zeros((2, 2), dtype=complex)), "Complex data"),
    ],
)
def test_shapes_and_types_that_are_refused(X, text):
    with pytest.raises(ValueError, match=text):
        fit_features(X)


def test_sizes_beyond_32_bits_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=rf"X has {2**31 - 1} columns, more than"):
        fit_features(sp.csr_matrix((1, 2**31 - 1)))
    monkeypatch.setattr(validate, "MAX_SIZE", 10)
    assert fit_features(np.zeros((10, 10))).shape == (10, 10)
    with pytest.raises(ValueError, match="X has 11 rows, more than the supported 10"):
        fit_features(np.zeros((11, 2)))
    with pytest.raises(ValueError, match="X has 11 rows"):
        fit_features([[0.0]] * 11)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array])
def test_sparse_becomes_canonical_and_the_users_stays(kind):
    dense = np.array([[0, 2.0, 3.0], [4.0, 0, 0]])
    X = kind(dense)
    checked = fit_features(X)
    assert checked.format in ("csr", "csc")
    assert checked.dtype == np.float32
    assert checked.has_canonical_format
    np.testing.assert_array_equal(checked.toarray(), dense)


def test_unsorted_duplicates_are_summed_in_a_copy():
    data = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    indices = np.array([2, 0, 2])
    X = sp.csr_matrix((data, indices, np.array([0, 3])), shape=(1, 3))
    checked = fit_features(X)
    np.testing.assert_array_equal(checked.toarray(), [[2.0, 0.0, 4.0]])
    np.testing.assert_array_equal(X.indices, [2, 0, 2])
    assert X.nnz == 3


def test_duplicates_may_not_overflow():
    data = np.array([3e38, 3e38], dtype=np.float32)
    X = sp.csr_matrix((data, np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    with pytest.raises(ValueError, match=r"infinity.*column 1"):
        fit_features(X)


def test_sparse_indices_out_of_range_are_refused():
    X = sp.csr_matrix(np.eye(3))
    X.indices[1] = 7
    with pytest.raises(ValueError, match="must be < 3"):
        fit_features(X)


def test_long_sparse_indices_are_accepted():
    X = sp.csr_matrix(np.eye(3, dtype=np.float32))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(fit_features(X).toarray(), np.eye(3))


def test_readonly_and_unaligned_input():
    X = np.ones((3, 2), dtype=np.float32)
    X.flags.writeable = False
    assert fit_features(X) is X
    packed = np.zeros(3 * 2 * 4 + 1, dtype=np.uint8)[1:].view(np.float32).reshape(3, 2)
    assert fit_features(packed).flags.aligned


def test_nullable_columns_of_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [0.5, 1.5, 2.5]})
    checked = fit_features(frame)
    np.testing.assert_array_equal(checked, [[1.0, 0.5], [np.nan, 1.5], [3.0, 2.5]])


def test_polars_frames():
    pl = pytest.importorskip("polars")
    holder = Holder()
    frame = pl.DataFrame({"a": [1, None, 3], "b": [0.5, 1.5, 2.5]})
    checked = validate_fit_features(holder, frame)
    np.testing.assert_array_equal(checked, [[1.0, 0.5], [np.nan, 1.5], [3.0, 2.5]])
    assert list(holder.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match=r"column 0 \('c'\), row 0, value 'x'"):
        fit_features(pl.DataFrame({"c": ["x", "y"]}))


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"], dtype=object),
        [True, False, True],
        [3, -1, 3],
        [2.0, 1.0, 2.0],
        np.array([5, 2, 5], dtype=object),
        np.array(["2020-01-02", "2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
        np.array([b"b", b"a", b"b"]),
        np.array([3, 1, 3], dtype=np.uint64),
    ],
)
def test_labels_of_any_type(labels):
    codes, classes = validate_class_target(labels, 3)
    assert codes.dtype == np.int32
    assert codes.flags.c_contiguous
    np.testing.assert_array_equal(codes[:, 0], [1, 0, 1])
    assert classes[0][1] == labels[0]
    assert classes[0].dtype == np.asarray(labels).dtype


def test_labels_that_are_tuples():
    labels = np.empty(3, dtype=object)
    labels[:] = [(1, "b"), (1, "a"), (1, "b")]
    codes, classes = validate_class_target(labels, 3)
    np.testing.assert_array_equal(codes[:, 0], [1, 0, 1])
    assert classes[0][0] == (1, "a")


def test_labels_that_are_lists_of_different_lengths():
    labels = np.empty(3, dtype=object)
    labels[:] = [(1, 2), (1,), (1, 2)]
    codes, _ = validate_class_target(labels, 3)
    np.testing.assert_array_equal(codes[:, 0], [1, 0, 1])


def test_labels_of_pandas_and_polars():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    for y in (
        pd.Categorical(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"]),
        pd.Series([2, 1, 2], dtype="Int64"),
        pl.Series(["b", "a", "b"]),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
    ):
        codes, _ = validate_class_target(y, 3)
        np.testing.assert_array_equal(codes[:, 0], [1, 0, 1])


def test_one_class_and_many_outputs():
    codes, classes = validate_class_target([7, 7], 2)
    assert len(classes[0]) == 1
    assert not codes.any()
    codes, classes = validate_class_target([["a", "x"], ["b", "x"]], 2)
    assert codes.shape == (2, 2)
    assert [len(found) for found in classes] == [2, 1]


@pytest.mark.parametrize("validate_target", [validate_class_target, validate_real_target])
@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([1.0, np.nan, 2.0], "y contains NaN in 1 row.*first at row 1"),
        ([1.0, 2.0, np.inf], "y contains infinity in 1 row.*first at row 2"),
        ([1, 2], "y has 2 entries but X has 3 rows"),
        ([1, 2, 3, 4], "y has 4 entries but X has 3 rows"),
        (None, "requires y to be passed"),
        (np.zeros((3, 2, 2)), "dim 3"),
        (np.zeros((3, 0)), "0 outputs"),
        (np.array([1j, 2j, 3j]), "Complex data"),
        (sp.csr_matrix(np.eye(3)), "sparse"),
        (np.array([None, 1, 2], dtype=object), "y contains NaN"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[D]"), "y contains NaN"),
    ],
)
def test_targets_that_are_refused(validate_target, y, text):
    with pytest.raises(ValueError, match=text):
        validate_target(y, 3)


def test_missing_labels_of_pandas():
    pd = pytest.importorskip("pandas")
    for y in (
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
    ):
        with pytest.raises(ValueError, match="y contains NaN in 1 row"):
            validate_class_target(y, 3)


def test_real_numbers_are_no_labels():
    for y in (np.array([0.5, 1.5, 2.5]), np.array([0.5, 1.5, 2.5], dtype=object)):
        with pytest.raises(ValueError, match="Unknown label type"):
            validate_class_target(y, 3)


def test_labels_of_mixed_types_are_refused():
    with pytest.raises(ValueError, match="mixes labels of types int, str"):
        validate_class_target(np.array([1, "a", 2], dtype=object), 3)


def test_text_is_no_regression_target():
    with pytest.raises(ValueError, match=r"y must hold numbers for regression.*red"):
        validate_real_target(["red", "blue"], 2)


def test_regression_targets():
    y = validate_real_target(np.array([1, 2, 3], dtype=np.int8), 3)
    assert y.dtype == np.float64
    assert y.shape == (3, 1)


def test_column_vector_warns():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        validate_real_target(np.ones((3, 1)), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        validate_real_target(np.ones((3, 2)), 3)


def test_poisson_targets():
    check_poisson_target(np.array([[0.0], [1.0]]))
    with pytest.raises(ValueError, match=r"needs y >= 0, got .*-1.0.* at row 1"):
        check_poisson_target(np.array([[2.0], [-1.0]]))
    with pytest.raises(ValueError, match="positive sum"):
        check_poisson_target(np.zeros((3, 1)))


def test_weights():
    assert validate_sample_weight(None, 3) is None
    np.testing.assert_array_equal(validate_sample_weight(2, 3), [2.0, 2.0, 2.0])
    weight = validate_sample_weight([0, 1, 2], 3)
    assert weight.dtype == np.float64


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        ([1.0, -2.0, 1.0], r"Negative values in sample_weight: .*-2.0.* at row 1"),
        ([0.0, 0.0, 0.0], "sum to .*0.0.*expected a positive finite sum"),
        ([1e308, 1e308, 1e308], "expected a positive finite sum"),
        ([1.0, np.nan, 1.0], "sample_weight contains NaN in 1 row.*first at row 1"),
        ([1.0, np.inf, 1.0], "sample_weight contains infinity"),
        ([1.0, 1.0], r"shape \(2,\), expected \(3,\)"),
        (np.ones((3, 1)), r"shape \(3, 1\), expected \(3,\)"),
        (["a", "b", "c"], "could not convert"),
    ],
)
def test_weights_that_are_refused(weight, text):
    with pytest.raises(ValueError, match=text):
        validate_sample_weight(weight, 3)
