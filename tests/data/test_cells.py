"""Cells that are no numbers, whatever library the table comes from."""

import datetime as dt

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from obtree import ObliqueForestClassifier, ObliqueTreeRegressor, TAOTreeClassifier
from obtree.data.validate import (
    round_features,
    validate_fit_features,
    validate_predict_features,
)
from obtree.data.validate_target import validate_real_target, validate_sample_weight

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 6
NUMBERS = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
WHEN = {
    "date": [dt.date(2020, 1, 1 + i) for i in range(N)],
    "datetime": [dt.datetime(2020, 1, 1 + i, 12) for i in range(N)],
    "duration": [dt.timedelta(days=i) for i in range(N)],
    "time": [dt.time(i) for i in range(N)],
}
NA_CELLS = [1.0, pd.NA, 3.0, None, 5.0, float("nan")]


class Holder(BaseEstimator):
    """Receives the number and names of features."""


def to_categories(values):
    return pd.DataFrame({"when": pd.Categorical(values)})


def make_object_array(values):
    cells = np.empty((N, 2), dtype=object)
    cells[:, 0], cells[:, 1] = NUMBERS, values
    return cells


MAKERS = {
    "polars": lambda v: pl.DataFrame({"x": NUMBERS, "when": v}),
    "polars alone": lambda v: pl.DataFrame({"when": v}),
    "polars objects": lambda v: pl.DataFrame({"x": NUMBERS, "w": pl.Series(v, dtype=pl.Object)}),
    "arrow": lambda v: pa.table({"x": NUMBERS, "when": v}),
    "arrow dictionary": lambda v: pa.table({"x": NUMBERS, "when": pa.array(v).dictionary_encode()}),
    "pandas": lambda v: pd.DataFrame({"x": NUMBERS, "when": pd.Series(v)}),
    "pandas objects": lambda v: pd.DataFrame({"x": NUMBERS, "when": pd.Series(v, dtype=object)}),
    "pandas of arrow": lambda v: MAKERS["arrow"](v).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": to_categories,
    "objects": make_object_array,
    "lists": lambda v: [list(row) for row in zip(NUMBERS, v, strict=True)],
    "lists alone": lambda v: [[value] for value in v],
}
MORE = {
    "time zone of pandas": lambda: pd.DataFrame(
        {"when": pd.to_datetime(WHEN["datetime"]).tz_localize("UTC")}
    ),
    "time zone of polars": lambda: pl.DataFrame(
        {"when": pl.Series(WHEN["datetime"]).dt.replace_time_zone("UTC")}
    ),
    "period": lambda: pd.DataFrame({"when": pd.period_range("2020-01", periods=N, freq="M")}),
    "periods among objects": lambda: pd.DataFrame(
        {"when": pd.Series(pd.period_range("2020-01", periods=N, freq="M"), dtype=object)}
    ),
    "categories of dates": lambda: to_categories(pd.to_datetime(WHEN["date"])),
    "categories of durations": lambda: to_categories(pd.to_timedelta(WHEN["duration"])),
    "datetime64": lambda: np.array(WHEN["datetime"], dtype="M8[s]").reshape(-1, 1),
    "timedelta64": lambda: np.array(WHEN["duration"], dtype="m8[s]").reshape(-1, 1),
    "list of datetime64": lambda: [[np.datetime64(v)] for v in WHEN["datetime"]],
    "list of timedelta64": lambda: [[np.timedelta64(i, "D")] for i in range(N)],
    "timedelta64 among objects": lambda: make_object_array(
        [np.timedelta64(i, "D") for i in range(N)]
    ),
    "durations late in a column": lambda: make_object_array(
        [1.0, None, 2.0, 3.0, 4.0, np.timedelta64(1, "D")]
    ),
    "timestamps in a list": lambda: [[pd.Timestamp(v)] for v in WHEN["datetime"]],
}


def refuse_everywhere(X):
    """Check that neither fit nor predict takes X, and that both say what to do."""
    match = r"X must hold numbers only, got .*column \d.*turn dates and times into numbers first"
    with pytest.raises(ValueError, match=match):
        validate_fit_features(Holder(), X)
    holder = Holder()
    n_columns = X.shape[1] if hasattr(X, "shape") else len(X[0])
    validate_fit_features(holder, np.zeros((N, n_columns)))
    with pytest.raises(ValueError, match=match):
        validate_predict_features(holder, X)


@pytest.mark.parametrize("kind", WHEN)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_dates_and_times_are_refused(maker, kind):
    refuse_everywhere(MAKERS[maker](WHEN[kind]))


@pytest.mark.parametrize("case", MORE)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_other_dates_and_times_are_refused(case):
    refuse_everywhere(MORE[case]())


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_the_column_of_dates_is_named(make):
    X = make({"x": NUMBERS, "when": WHEN["datetime"]})
    for estimator in (ObliqueForestClassifier(2), ObliqueTreeRegressor(), TAOTreeClassifier()):
        with pytest.raises(ValueError, match=r"got .*\(column 1 \('when'\)\); turn dates"):
            estimator.fit(X, [0, 1, 0, 1, 0, 1])


def test_dates_are_no_targets_of_a_regression_and_no_weights():
    for kind in ("date", "datetime", "duration"):
        for values in (
            pl.Series(WHEN[kind]),
            pd.Series(WHEN[kind], dtype=object),
            np.asarray(pl.Series(WHEN[kind])),
            pa.array(WHEN[kind]).to_numpy(zero_copy_only=False),
        ):
            with pytest.raises(ValueError, match=r"y must hold numbers for regression: got .*turn"):
                validate_real_target(values, N)
            with pytest.raises(ValueError, match=r"sample_weight must hold numbers: got .*turn"):
                validate_sample_weight(values, N)
    durations = np.array([np.timedelta64(1, "D")] * N, dtype=object)
    with pytest.raises(ValueError, match="sample_weight must hold numbers: got 1 days"):
        validate_sample_weight(durations, N)


EXPECTED = np.array([[0.5, 1], [1.5, np.nan], [2.5, 3], [3.5, np.nan], [4.5, 5], [5.5, np.nan]])
MISSING = {
    "objects of pandas": lambda: pd.DataFrame(
        {"x": NUMBERS, "y": pd.Series(NA_CELLS, dtype=object)}
    ),
    "object array": lambda: make_object_array(NA_CELLS),
    "lists": lambda: [list(row) for row in zip(NUMBERS, NA_CELLS, strict=True)],
    "NaT": lambda: make_object_array([1.0, pd.NaT, 3.0, pd.NaT, 5.0, pd.NaT]),
    "text of pandas": lambda: pd.DataFrame(
        {"x": NUMBERS, "y": pd.array(["1", pd.NA, "3", None, "5", pd.NA], dtype="string")}
    ),
    "categories": lambda: pd.DataFrame(
        {"x": NUMBERS, "y": pd.Categorical([1, None, 3, None, 5, None])}
    ),
    "polars": lambda: pl.DataFrame({"x": NUMBERS, "y": [1, None, 3, None, 5, None]}),
    "arrow": lambda: pa.table({"x": NUMBERS, "y": [1, None, 3, None, 5, None]}),
    **{
        dtype: lambda dtype=dtype: pd.DataFrame(
            {"x": NUMBERS, "y": pd.array([1, None, 3, None, 5, None], dtype=dtype)}
        )
        for dtype in ("Int64", "Float64", "UInt8", "int64[pyarrow]", "double[pyarrow]")
    },
}


@pytest.mark.parametrize("case", MISSING)
def test_marks_of_missing_values(case):
    X = MISSING[case]()
    holder = Holder()
    np.testing.assert_array_equal(validate_fit_features(holder, X), EXPECTED)
    np.testing.assert_array_equal(validate_predict_features(holder, X), EXPECTED)
    has_names = hasattr(X, "columns")
    assert hasattr(holder, "feature_names_in_") == has_names
    if has_names:
        assert list(holder.feature_names_in_) == ["x", "y"]


def test_marks_of_missing_values_do_not_change_the_model():
    X = MISSING["objects of pandas"]()
    before = X.copy()
    y = [0, 1, 0, 1, 0, 1]
    forest = ObliqueForestClassifier(5, random_state=0).fit(X, y)
    plain = ObliqueForestClassifier(5, random_state=0).fit(EXPECTED, y)
    np.testing.assert_array_equal(forest.predict_proba(X), plain.predict_proba(EXPECTED))
    np.testing.assert_array_equal(forest.apply(X), plain.apply(EXPECTED))
    assert X.loc[1, "y"] is pd.NA
    pd.testing.assert_frame_equal(X, before)


def test_text_beside_missing_values_is_still_refused():
    X = pd.DataFrame({"a": pd.Series([pd.NA, "red"], dtype=object)})
    with pytest.raises(ValueError, match=r"column 0 \('a'\), row 1, value 'red'"):
        validate_fit_features(Holder(), X)


def test_cells_that_are_lists_are_refused():
    X = pl.DataFrame({"x": NUMBERS, "list": [[1.0, 2.0]] * N})
    with pytest.raises((TypeError, ValueError), match=r"column 1 \('list'\), row 0"):
        validate_fit_features(Holder(), X)


def test_missing_weights_are_refused():
    for weights in (
        np.array([pd.NA, 1, 1, 1, 1, 1], dtype=object),
        pd.array([None, 1, 1, 1, 1, 1], dtype="Int64"),
        pd.Series([pd.NA, 1, 1, 1, 1, 1], dtype=object),
    ):
        with pytest.raises(ValueError, match="sample_weight contains NaN in 1 row"):
            validate_sample_weight(weights, N)


def test_numbers_of_numpy_are_shown_plainly():
    holder = Holder()
    X = validate_fit_features(holder, pd.DataFrame({3: [1.0, np.inf]}))
    with pytest.raises(ValueError, match=r"in column 0, first"):
        round_features(holder, X)
    X = pd.DataFrame({np.int64(3): ["a", "b"]})
    with pytest.raises(ValueError, match=r"column 0 \(3\), row 0, value 'a'"):
        validate_fit_features(Holder(), X)
    with pytest.raises(ValueError, match=r"sample_weight: -2.0 at row 1"):
        validate_sample_weight([1.0, -2.0], 2)
    with pytest.raises(ValueError, match=r"sum to 0.0; expected"):
        validate_sample_weight([0.0, 0.0], 2)
