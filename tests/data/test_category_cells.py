"""What stands in columns of categories: text of arrays, tables of Arrow, odd objects."""

import tracemalloc

import numpy as np
import pytest

from obtree import ObliqueTreeRegressor, load_model, save_model
from obtree.data.categories import CategoryEncoder, find_categorical

pandas = pytest.importorskip("pandas")


def test_arrays_of_text():
    cells = np.array([["a", "1"], ["b", "2"], ["c", "1"], ["d", "2"]] * 10)
    y = np.arange(40.0) % 4
    tree = ObliqueTreeRegressor(categorical_features=[0]).fit(cells, y)
    assert tree.is_categorical_.tolist() == [True, False]
    np.testing.assert_array_equal(tree.predict(cells), y)
    new = np.array([["longer", "1"], ["a", "1"]])
    np.testing.assert_array_equal(tree.predict(new)[1], 0.0)


def test_arrow():
    arrow = pytest.importorskip("pyarrow")
    shades = ["red", "green", None, "blue"] * 10
    sold = [True, False] * 20
    y = np.arange(40.0) % 4
    text, truth = arrow.array(shades), arrow.array(sold)
    columns = {"size": np.ones(40), "shade": text, "sold": truth, "name": text.dictionary_encode()}
    table = arrow.table(columns)
    tree = ObliqueTreeRegressor(random_state=0).fit(table, y)
    assert tree.is_categorical_.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(tree.predict(table), y)
    frame = pandas.DataFrame({"size": np.ones(40), "shade": shades, "sold": sold, "name": shades})
    np.testing.assert_array_equal(tree.predict(frame), y)
    kind = pandas.ArrowDtype(arrow.dictionary(arrow.int32(), arrow.string()))
    typed = frame.assign(name=pandas.array(shades, dtype=kind))
    assert find_categorical(typed, "from_dtype").tolist() == [False, True, True, True]
    np.testing.assert_array_equal(tree.predict(typed), y)

    batch = table.to_batches()[0]
    np.testing.assert_array_equal(ObliqueTreeRegressor().fit(batch, y).predict(batch), y)


def test_text_of_numpy_is_text():
    cells = np.empty(40, dtype=object)
    cells[:] = list(np.array(["a", "b", "c", "d"] * 10))
    assert {type(cell) for cell in cells} == {np.str_}
    frame = pandas.DataFrame({"a": cells})
    y = np.arange(40.0) % 4
    np.testing.assert_array_equal(ObliqueTreeRegressor().fit(frame, y).predict(frame), y)


def test_columns_may_have_any_name():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"self": ["a", "b"] * 10, "exprs": ["x", "x", "y", "y"] * 5})
    y = np.arange(20.0) % 4
    np.testing.assert_array_equal(ObliqueTreeRegressor().fit(table, y).predict(table), y)


def test_arrays_of_halves():
    values = np.repeat(np.arange(4000, dtype=np.uint16).view(np.float16), 20)
    y = np.repeat(np.arange(4000.0) % 2, 20)
    tree = ObliqueTreeRegressor(categorical_features=[0]).fit(values[:, None], y)
    np.testing.assert_array_equal(tree.predict(values[:, None]), y)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="a long double holds no int64")
def test_wide_integers_beside_categories_keep_their_digits():
    X = np.column_stack([np.arange(40) % 2, 2**60 + np.arange(40)])
    tree = ObliqueTreeRegressor(categorical_features=[0]).fit(X, np.arange(40.0))
    np.testing.assert_array_equal(tree.predict(X), np.arange(40.0))


def test_text_in_the_place_of_numbers_is_told():
    numbers = pandas.DataFrame({"a": [1, 2] * 10, "b": [True, False] * 10})
    text = numbers.astype(str)
    y = np.arange(20.0) % 2
    tree = ObliqueTreeRegressor(categorical_features=["a", "b"]).fit(numbers, y)
    with pytest.warns(UserWarning, match="none is known, and all count as missing") as told:
        tree.predict(text)
    assert len(told) == 2
    assert "column 1 ('b') holds text, such as 'True', and held numbers or" in str(told[1].message)
    tree = ObliqueTreeRegressor().fit(text, y)
    with pytest.warns(
        UserWarning, match=r"column 0 \('a'\) holds numbers or truth values, such as 1"
    ):
        tree.predict(numbers.assign(b=text["b"]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cells", [["new"], [None], ["new", None]])
def test_new_categories_are_no_mistake(cells):
    tree = ObliqueTreeRegressor().fit(pandas.DataFrame({"a": ["x", "y"] * 10}), np.arange(20.0))
    tree.predict(pandas.DataFrame({"a": np.array(cells, dtype=object)}))


@pytest.mark.parametrize("given", ["from_dtype", ["town"]])
def test_records_are_refused(given):
    arrow = pytest.importorskip("pyarrow")
    kind = pandas.ArrowDtype(arrow.struct([("x", arrow.int64())]))
    frame = pandas.DataFrame({"town": pandas.array([{"x": 1}, {"x": 2}] * 10, dtype=kind)})
    with pytest.raises((TypeError, ValueError), match=r"column 0 \('town'\)"):
        ObliqueTreeRegressor(categorical_features=given).fit(frame, np.arange(20.0))


def test_categories_without_an_order_are_refused():
    for cells in ([object(), object()], [1j, 2j]):
        frame = pandas.DataFrame({"a": np.array(cells * 5, dtype=object)})
        with pytest.raises(TypeError, match=r"text, truth values or numbers, got .*column 0"):
            ObliqueTreeRegressor(categorical_features=["a"]).fit(frame, np.arange(10.0))


def test_cells_of_numpy_types_can_be_saved(tmp_path):
    cells = np.array(["x", np.int64(1), np.float32(2.5), np.bool_(False)] * 10, dtype=object)
    frame = pandas.DataFrame({"a": cells})
    tree = ObliqueTreeRegressor().fit(frame, np.arange(40.0) % 4)
    save_model(tree, tmp_path / "model.obtree")
    again = load_model(tmp_path / "model.obtree")
    np.testing.assert_array_equal(again.predict(frame), np.arange(40.0) % 4)


def test_text_and_tuples():
    cells = np.empty(4, dtype=object)
    cells[:] = ["x", ("x", 1), "y", ("y", 2)]
    frame = pandas.DataFrame({"a": np.tile(cells, 10)})
    y = np.arange(40.0) % 4
    np.testing.assert_array_equal(ObliqueTreeRegressor().fit(frame, y).predict(frame), y)


def test_one_long_text_takes_its_own_room_only():
    texts = ["x" * 100_000, *map(str, range(500))]
    tracemalloc.start()
    try:
        CategoryEncoder.from_lists([texts])
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_series_is_no_table():
    with pytest.raises(ValueError, match=r"could not convert|2-dimensional"):
        ObliqueTreeRegressor().fit(pandas.Series(["a", "b"], dtype="string"), [0.0, 1.0])
