"""Columns of categories: which they are, what is learnt of them, and where they may not be."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeRegressor,
    load_model,
    save_model,
)
from obtree.data.categories import MAX_CATEGORIES, CategoryEncoder, find_categorical
from obtree.estimators import race
from obtree.estimators.io import describe_estimator, restore_estimator

pandas = pytest.importorskip("pandas")

SHADES = ["red", "green", "blue", "grey"]


def draw_table(n=200, seed=0):
    """A frame of all kinds of columns, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    shade = rng.choice(SHADES, n).astype(object)
    shade[rng.random(n) < 0.1] = None
    frame = pandas.DataFrame(
        {
            "size": np.round(rng.normal(size=n), 2),
            "shade": shade,
            "sold": rng.random(n) < 0.5,
            "town": pandas.Categorical(rng.choice([f"t{k}" for k in range(20)], n)),
            "age": rng.integers(0, 50, n),
        }
    )
    y = (
        2.0 * frame["shade"].isin(["red", "grey"]).to_numpy()
        + frame["size"].to_numpy()
        + (frame["town"].cat.codes % 3 == 0).to_numpy()
        - frame["sold"].to_numpy()
    )
    return frame, y


FRAME, Y = draw_table()
LABELS = np.where(np.digitize(Y, [0.3, 1.5]) == 0, "low", np.where(Y > 1.5, "high", "middle"))


def make_forest(kind=ObliqueForestRegressor, **params):
    return kind(**{"n_estimators": 5, "splitter": "axis", "random_state": 0, **params})


def test_types_say_which_columns_are_categories():
    forest = make_forest().fit(FRAME, Y)
    assert forest.is_categorical_.tolist() == [False, True, True, True, False]
    assert forest.categories_[0] is None
    assert forest.categories_[1].tolist() == sorted(SHADES)
    assert forest.categories_[2].tolist() == [False, True]
    assert forest.estimators_[0].categories_ is forest.categories_
    assert forest.feature_names_in_.tolist() == list(FRAME.columns)


@pytest.mark.parametrize(
    "given",
    [
        ["shade", "sold", "town"],
        [1, 2, 3],
        np.array([3, 1, 2]),
        [False, True, True, True, False],
        np.array(["town", "shade", "sold"]),
    ],
)
def test_a_mask_numbers_and_names_are_the_same(given):
    expected = make_forest().fit(FRAME, Y).predict(FRAME)
    found = make_forest(categorical_features=given).fit(FRAME, Y).predict(FRAME)
    np.testing.assert_array_equal(found, expected)


def test_numbers_may_be_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 100) * 1.5, rng.normal(size=100)])
    y = np.isin(X[:, 0], [1.5, 4.5, 9.0]).astype(float)
    tree = ObliqueTreeRegressor(categorical_features=[0], max_depth=1).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y)
    X[:5, 0] = np.nan
    assert np.isfinite(tree.predict(X)).all()
    plain = ObliqueTreeRegressor(max_depth=1).fit(X, y)
    assert plain.is_categorical_ is None
    assert plain.tree_.set_ptr is None


def test_arrays_of_objects():
    cells = FRAME.to_numpy(dtype=object)
    expected = make_forest().fit(FRAME, Y).predict(FRAME)
    forest = make_forest(categorical_features=[1, 2, 3]).fit(cells, Y)
    np.testing.assert_array_equal(forest.predict(cells), expected)
    np.testing.assert_array_equal(forest.predict(cells.tolist()), expected)


def test_objects_that_are_numbers_are_numbers():
    frame = pandas.DataFrame({"a": np.array([1, 2.5, None, 4] * 5, dtype=object)})
    assert find_categorical(frame, "from_dtype").tolist() == [False]
    frame["b"] = np.array([True, None, False, True] * 5, dtype=object)
    frame["c"] = pandas.array(["x", None, "y", "z"] * 5, dtype="string")
    frame["d"] = pandas.array([True, None, False, True] * 5, dtype="boolean")
    assert find_categorical(frame, "from_dtype").tolist() == [False, True, True, True]
    tree = ObliqueTreeRegressor().fit(frame, np.arange(20.0))
    assert tree.categories_[3].tolist() == [False, True]


def test_polars():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(
        {
            "size": FRAME["size"].to_list(),
            "shade": [None if name != name else name for name in FRAME["shade"]],
            "sold": FRAME["sold"].to_list(),
            "town": FRAME["town"].astype(str).to_list(),
            "age": FRAME["age"].to_list(),
        }
    ).with_columns(town=polars.col("town").cast(polars.Categorical))
    expected = make_forest().fit(FRAME, Y)
    found = make_forest().fit(table, Y)
    assert found.is_categorical_.tolist() == expected.is_categorical_.tolist()
    np.testing.assert_array_equal(found.predict(table), expected.predict(FRAME))
    np.testing.assert_array_equal(found.predict(FRAME), expected.predict(FRAME))
    towns = polars.Enum([f"t{k}" for k in range(20)])
    as_enum = table.with_columns(town=polars.col("town").cast(polars.String).cast(towns))
    np.testing.assert_array_equal(found.predict(as_enum), expected.predict(FRAME))
    found = make_forest().fit(as_enum, Y)
    np.testing.assert_array_equal(found.predict(as_enum), expected.predict(FRAME))


def test_what_was_not_seen_is_missing():
    forest = make_forest().fit(FRAME, Y)
    new, missing = FRAME.copy(), FRAME.copy()
    new["shade"] = "violet"
    missing["shade"] = None
    np.testing.assert_array_equal(forest.predict(new), forest.predict(missing))


def test_rows_of_no_weight_do_not_matter():
    weight = np.ones(len(FRAME))
    weight[FRAME["town"] == "t3"] = 0.0
    kept = weight > 0
    found = make_forest().fit(FRAME, Y, sample_weight=weight)
    expected = make_forest().fit(FRAME[kept], Y[kept])
    np.testing.assert_array_equal(found.predict(FRAME), expected.predict(FRAME))


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "discriminant", "oc1"])
@pytest.mark.parametrize("kind", [ObliqueForestRegressor, ObliqueForestClassifier])
def test_threads_change_nothing(splitter, kind):
    y = Y if kind is ObliqueForestRegressor else LABELS
    one = make_forest(kind, splitter=splitter).fit(FRAME, y)
    two = make_forest(kind, splitter=splitter, n_jobs=2).fit(FRAME, y)
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        np.testing.assert_array_equal(a.tree_.set_categories, b.tree_.set_categories)
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)


@pytest.mark.parametrize("kind", [ObliqueForestRegressor, ObliqueForestClassifier])
def test_a_race_takes_them(kind):
    y = Y if kind is ObliqueForestRegressor else LABELS
    forest = kind(20, random_state=0, oob_score=True).fit(FRAME, y)
    assert forest.oob_score_ > 0.6
    assert not any(name.startswith("TAO") for name in forest.race_["setting"])
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict(FRAME), forest.predict(FRAME))
    tree = kind._tree_class(splitter="auto", random_state=0).fit(FRAME, y)
    assert tree.race_["error"]


def test_boosted_chains_take_them():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({f"c{j}": rng.choice(list("abcdef"), 400) for j in range(4)})
    y = sum(frame[name].isin(list("ace")) for name in frame) % 2
    forest = ObliqueForestClassifier(random_state=0).fit(frame[:300], y[:300])
    with_chains = [chain[0].tree_.set_ptr is not None for chain in forest.chains_]
    assert all(with_chains)
    assert np.isfinite(forest.predict_proba(frame)).all()
    assert forest.feature_importances_.sum() == pytest.approx(1.0)


def draw_towns(n=1200, n_towns=40, seed=0):
    """Towns with a level each, and a column of noise."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, n_towns, n)
    frame = pandas.DataFrame({"town": [f"t{k}" for k in town], "noise": rng.normal(size=n)})
    return frame, rng.normal(size=n_towns)[town] + 0.1 * rng.normal(size=n)


def test_winners_of_a_race_on_some_rows_compete_on_all(monkeypatch):
    frame, y = draw_towns()
    monkeypatch.setattr(race, "MAX_ROWS", 80)
    forest = ObliqueForestRegressor(20, random_state=0).fit(frame, y)
    table = pandas.DataFrame(forest.race_)
    # Two rows of a town say nothing, thirty of them all.
    assert table["error"][table["fraction"] > 0.1].max() < 0.3
    rows = {int(tree.tree_.n_node_samples[0]) for tree in forest.estimators_}
    assert min(rows) > 0.5 * len(y)
    assert len(forest.estimators_) == 20
    other = ObliqueForestRegressor(20, n_jobs=2, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(forest.predict(frame), other.predict(frame))


@pytest.mark.parametrize("bootstrap", ["auto", False])
def test_a_warm_start_goes_on_where_the_second_look_ended(monkeypatch, bootstrap):
    frame, y = draw_towns(400)
    monkeypatch.setattr(race, "MAX_ROWS", 80)
    # Too few trees for chains, which have to be there from the beginning.
    params = {"bootstrap": bootstrap, "random_state": 0}
    once = ObliqueForestRegressor(9, **params).fit(frame, y)
    twice = ObliqueForestRegressor(4, warm_start=True, **params).fit(frame, y)
    twice.set_params(n_estimators=9).fit(frame, y)
    np.testing.assert_array_equal(once.predict(frame), twice.predict(frame))
    if bootstrap is False:
        assert {int(t.tree_.n_node_samples[0]) for t in once.estimators_} == {len(y)}


def test_one_category_at_a_time_takes_part_where_there_are_categories():
    forest = ObliqueForestRegressor(10, random_state=0).fit(FRAME, Y)
    assert sum("one category" in name for name in forest.race_["setting"]) >= 2
    numbers = FRAME[["size", "age"]]
    forest = ObliqueForestRegressor(10, random_state=0).fit(numbers, Y)
    assert not any("category" in name for name in forest.race_["setting"])


@pytest.mark.parametrize("leaf", ["linear", "linear_gaussian"])
def test_models_of_leaves_know_numbers_only(leaf):
    forest = make_forest(
        leaf=leaf, min_samples_leaf=20, **({"criterion": "linear_gaussian"} if "_" in leaf else {})
    ).fit(FRAME, Y)
    for member in forest.estimators_:
        for name, array in member.tree_.leaf_arrays.items():
            if name.endswith("feature"):
                assert not forest.is_categorical_[array].any()
    assert np.isfinite(forest.predict(FRAME)).all()


def test_what_forests_do_besides():
    forest = make_forest(n_estimators=10).fit(FRAME, Y)
    low, high = forest.predict(FRAME, quantiles=[0.1, 0.9]).T
    assert (low <= high).all()
    assert (forest.predict(FRAME, return_std=True)[1] >= 0).all()
    assert forest.proximity(FRAME[:5]).shape == (5, 5)
    before = forest.predict(FRAME)
    forest.update_leaves(FRAME, Y + 1.0)
    assert (forest.predict(FRAME) > before).mean() > 0.9
    assert forest.feature_importances_[1] > forest.feature_importances_[4]
    assert forest.decision_path(FRAME)[0].shape[0] == len(FRAME)


def test_pruning():
    path = ObliqueTreeRegressor(random_state=0).cost_complexity_pruning_path(FRAME, Y)
    alpha = path.ccp_alphas[len(path.ccp_alphas) // 2]
    full = ObliqueTreeRegressor(random_state=0).fit(FRAME, Y)
    pruned = ObliqueTreeRegressor(random_state=0, ccp_alpha=alpha).fit(FRAME, Y)
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves()
    tree = pruned.tree_
    assert len(tree.set_ptr) == tree.node_count + 1
    assert not np.diff(tree.set_ptr)[tree.children_left < 0].any()
    assert pruned.score(FRAME, Y) > 0.5


def test_a_warm_start_keeps_the_numbers():
    forest = make_forest(warm_start=True).fit(FRAME, Y)
    before = forest.estimators_[0].predict(FRAME)
    categories = forest.categories_
    forest.set_params(n_estimators=8).fit(FRAME[FRAME["town"] != "t0"], Y[FRAME["town"] != "t0"])
    assert forest.categories_ is categories
    np.testing.assert_array_equal(forest.estimators_[0].predict(FRAME), before)
    assert len(forest.estimators_) == 8


@pytest.mark.filterwarnings("ignore:X .* feature names")
def test_a_warm_start_refuses_other_columns_of_categories():
    numbers = pandas.DataFrame({"a": [10.0, 20.0, 30.0, 40.0] * 20})
    text = numbers.astype(int).astype(str)
    y = (numbers["a"] > 25).to_numpy(float)
    more = {"n_estimators": 6}
    forest = make_forest(warm_start=True).fit(numbers, y)
    with pytest.raises(ValueError, match=r"column 0 \('a'\) holds categories .* held numbers"):
        forest.set_params(**more).fit(text, y)
    with pytest.raises(ValueError, match="holds categories"):
        forest.set_params(categorical_features=["a"]).fit(numbers, y)
    forest = make_forest(warm_start=True, categorical_features=[0]).fit(numbers, y)
    with pytest.raises(ValueError, match=r"holds numbers .* held categories"):
        forest.set_params(**more, categorical_features=None).fit(numbers, y)
    forest.set_params(categorical_features=["a"]).fit(numbers, y)
    forest = make_forest(warm_start=True).fit(text, y)
    forest.set_params(**more).fit(text.to_numpy(dtype=object), y)
    np.testing.assert_array_equal(forest.predict(text), y)


@pytest.mark.parametrize(
    "estimator",
    [
        make_forest(),
        make_forest(ObliqueForestClassifier, splitter="random_oblique"),
        ObliqueTreeClassifier(random_state=0),
        ObliqueForestRegressor(12, random_state=0),
    ],
)
def test_files(estimator, tmp_path):
    y = LABELS if hasattr(estimator, "class_weight") else Y
    fitted = clone(estimator).fit(FRAME, y)
    save_model(fitted, tmp_path / "model.obtree")
    again = load_model(tmp_path / "model.obtree")
    np.testing.assert_array_equal(again.predict(FRAME), fitted.predict(FRAME))
    for known, found in zip(fitted.categories_, again.categories_, strict=True):
        assert (known is None) == (found is None)
        if known is not None:
            assert found.tolist() == known.tolist()
            assert found.dtype == known.dtype


def test_files_with_fewer_categories_than_their_trees_are_refused():
    tree = ObliqueTreeRegressor(random_state=0).fit(FRAME, Y)
    header, arrays = describe_estimator(tree)
    for known in header["categories"]:
        if known is not None:
            dropped = known.pop()
            with pytest.raises(ValueError, match="trees and its categories disagree"):
                restore_estimator(header, dict(arrays), 10**6, False)
            known.append(dropped)
    assert restore_estimator(header, arrays, 10**6, False).predict(FRAME).tolist() == list(
        tree.predict(FRAME)
    )


def test_mixed_categories_keep_their_types(tmp_path):
    frame = pandas.DataFrame({"a": np.array(["x", 1, 2.5, True, None] * 8, dtype=object)})
    y = np.arange(40.0) % 5
    tree = ObliqueTreeRegressor().fit(frame, y)
    save_model(tree, tmp_path / "model.obtree")
    again = load_model(tmp_path / "model.obtree")
    assert list(map(type, again.categories_[0])) == list(map(type, tree.categories_[0]))
    np.testing.assert_array_equal(again.predict(frame), tree.predict(frame))


@pytest.mark.parametrize(
    "categories",
    [
        "abc",
        [None, None],
        [["a", "a"], None],
        [["a", ["b"]], None],
        [[float("inf")], None],
        [[str(k) for k in range(MAX_CATEGORIES + 1)], None],
        [{"a": 0}, None],
        [[2**70], None],
    ],
)
def test_categories_of_a_file_are_checked(categories):
    with pytest.raises(ValueError, match="categories"):
        CategoryEncoder.from_lists(categories)


def test_infinite_categories():
    frame = pandas.DataFrame({"a": pandas.Categorical([1.0, float("inf")] * 10)})
    tree = ObliqueTreeRegressor().fit(frame, np.arange(20.0) % 2)
    np.testing.assert_array_equal(tree.predict(frame), np.arange(20.0) % 2)


def test_mistakes_are_named():
    bad = [
        ("from_type", ValueError, "from_type"),
        (3, TypeError, "categorical_features"),
        ([True, False], ValueError, "mask of 2 columns; X has 5"),
        (["shadow"], ValueError, r"names 'shadow', which is no column .* mean 'shade'\?"),
        ([5], ValueError, "from 0 to 4"),
        ([-1], ValueError, "from 0 to 4"),
        ([0.5], TypeError, "categorical_features"),
        ([[0]], TypeError, "categorical_features"),
        ({"a": 1}, TypeError, "categorical_features"),
    ]
    for given, kind, message in bad:
        with pytest.raises(kind, match=message):
            make_forest(categorical_features=given).fit(FRAME, Y)
    with pytest.raises(ValueError, match="no column names"):
        make_forest(categorical_features=["a"]).fit(FRAME[["size"]].to_numpy(), Y)
    with pytest.raises(ValueError, match="sparse"):
        make_forest(categorical_features=[0]).fit(sparse.csr_array(np.eye(len(Y))), Y)
    forest = make_forest().fit(FRAME, Y)
    with pytest.raises(ValueError, match="sparse"):
        forest.predict(sparse.csr_array(np.ones((2, 5))))
    with pytest.raises(ValueError, match="4 features"):
        forest.predict(FRAME.to_numpy()[:, :4])
    with pytest.raises(ValueError, match="constrains column 1"):
        make_forest(monotonic_cst=[0, 1, 0, 0, 0]).fit(FRAME, Y)
    make_forest(monotonic_cst=[1, 0, 0, 0, 0]).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["shade", "size", "sold", "town", "age"], "must be in the same order"),
        (["size", "shade", "sold", "town"], "seen at fit time, yet now missing:\n- age"),
        (["size", "shade", "sold", "town", "age", "sold_"], "unseen at fit time:\n- sold_"),
    ],
)
def test_columns_are_compared_before_cells_are_read(columns, said):
    """What a column of another place holds is not called a wrong cell."""
    tree = ObliqueTreeRegressor(random_state=0).fit(FRAME, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=said) as raised:
            tree.predict(FRAME.assign(sold_=1)[columns])
    assert str(raised.value).startswith("The feature names should match")
    assert "numbers only" not in str(raised.value)


def test_columns_of_numbers_are_compared_before_cells_are_read():
    forest = TAOTreeRegressor(max_depth=2, random_state=0).fit(FRAME[["size", "age"]], Y)
    with pytest.raises(ValueError, match=r"^The feature names should match"):
        forest.predict(FRAME[["shade", "age"]])


def test_too_many_categories_are_refused():
    names = [f"n{k}" for k in range(MAX_CATEGORIES + 1)]
    frame = pandas.DataFrame({"a": names})
    with pytest.raises(ValueError, match=r"column 0 \('a'\) has 10001 categories.*10000"):
        ObliqueTreeRegressor().fit(frame, np.arange(float(len(names))))


def test_cells_that_cannot_be_categories():
    frame = pandas.DataFrame({"a": [["x"], ["y"]] * 5})
    with pytest.raises((TypeError, ValueError), match="column 0"):
        ObliqueTreeRegressor(categorical_features=["a"]).fit(frame, np.arange(10.0))
    frame = pandas.DataFrame({"a": pandas.date_range("2020-01-01", periods=10)})
    with pytest.raises((TypeError, ValueError), match="column 0"):
        ObliqueTreeRegressor(categorical_features=["a"]).fit(frame, np.arange(10.0))


def test_others_say_that_they_take_numbers():
    with pytest.raises(ValueError, match=r"numbers only.*shade.*ObliqueForest"):
        TAOTreeRegressor().fit(FRAME, Y)
    with pytest.raises(ValueError, match="numbers only"):
        ObliqueTreeRegressor(categorical_features=None).fit(FRAME, Y)


def test_the_table_is_left_as_it_is():
    before = FRAME.copy(deep=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_forest().fit(FRAME, Y).predict(FRAME)
    pandas.testing.assert_frame_equal(FRAME, before)


@pytest.mark.filterwarnings("ignore:X .* feature names")
def test_a_list_of_text_and_truth_values_is_explained():
    frame = pandas.DataFrame({"a": ["x", "y"] * 20, "b": [True, True, False, False] * 10})
    tree = ObliqueTreeRegressor(max_depth=2, random_state=0).fit(frame, np.arange(40.0) % 4)
    assert tree.explain_row(["x", False]) == tree.explain_row(frame.iloc[[2]])
    assert "b is False" in tree.explain_row(("x", False))


def test_text_of_trees():
    from obtree import export_text

    tree = ObliqueTreeRegressor(max_depth=1, random_state=0).fit(FRAME[["shade"]], Y)
    first = export_text(tree).splitlines()[0]
    assert first == "shade not in {grey, red} or missing"
    row = FRAME[["shade"]].iloc[[int(np.flatnonzero(FRAME["shade"] == "red")[0])]]
    assert tree.explain_row(row).startswith("shade is red, in {grey, red}.")
    unknown = pandas.DataFrame({"shade": ["violet"]})
    assert "missing or a category that was not known" in tree.explain_row(unknown)
    assert export_text(tree.tree_).startswith("x[0] not in {2, 3} or missing")
