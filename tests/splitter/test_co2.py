"""CO2: parameters, counters, and what the planes of a node are good for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.splitter import CO2Splitter
from obtree.testing.growth import find_differences, grow_forest, grow_tree, hash_trees
from obtree.testing.probe_rules import ChangedCO2Splitter

UNITS = np.exp2([0, 7, -5, 3, -9, 1]).astype(np.float32)


def draw_classes(n=400, m=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)).astype(np.float32)
    return X, np.digitize(X @ rng.normal(size=m), [-1.0, 1.0])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"preset": "quick"}, "preset"),
        ({"nu": 0}, "nu=0 is not valid; expected 'auto' or a number > 0"),
        ({"nu": "large"}, "unknown nu 'large'; expected 'auto' or a number > 0"),
        ({"max_rows": 1}, "max_rows=1 is not valid; expected None or an integer >= 2"),
        ({"max_columns": 0}, "max_columns=0 is not valid; expected 'auto' or an integer >= 1"),
        ({"max_columns": "half"}, "unknown max_columns 'half'; expected 'auto' or"),
        ({"nu": np.nan}, "nu=nan"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0"),
        ({"n_epochs": 0}, "n_epochs=0 is not valid; expected None or an integer >= 1"),
        ({"min_steps": 2.5}, "min_steps=2.5"),
        ({"batch_size": True}, "batch_size=True"),
        ({"n_candidates": 0}, "n_candidates=0"),
        ({"held_out": 1.0}, "held_out=1.0 is not valid; expected a number"),
        ({"min_rows": 1}, "min_rows=1 is not valid; expected 'auto' or an integer >= 2"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        CO2Splitter(**params)
    with pytest.raises(ValueError, match=message):
        CO2Splitter().set_params(**params)


def test_what_is_given_overrides_the_preset():
    fast = CO2Splitter(preset="fast").settings_in_use()
    assert fast != CO2Splitter(preset="full").settings_in_use()
    assert CO2Splitter(preset="fast", n_epochs=7).settings_in_use() == {**fast, "n_epochs": 7}
    forest = ObliqueForestClassifier(splitter="co2").set_params(splitter__nu=30)
    assert clone(forest).splitter == CO2Splitter(nu=30)


def test_one_plane_separates_two_classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 10))
    y = X @ rng.normal(size=10) > 0
    tree = ObliqueTreeClassifier(splitter="co2", max_depth=1, random_state=0).fit(X, y)
    axis = ObliqueTreeClassifier(max_depth=1).fit(X, y)
    assert tree.score(X, y) > max(0.9, axis.score(X, y) + 0.1)


def test_forest_is_better_than_one_of_axis_splits():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    forest = ObliqueForestClassifier(10, splitter="axis", random_state=0)
    axis = forest.fit(X_train, y_train).score(X_test, y_test)
    assert forest.set_params(splitter="co2").fit(X_train, y_train).score(X_test, y_test) > axis


def test_regression_never_gains_less_than_its_axis_start():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 5))
    y = np.sin(X @ rng.normal(size=5)) + 0.1 * rng.normal(size=300)
    params = {"max_depth": 1, "random_state": 0}
    oblique = ObliqueTreeRegressor(splitter="co2", **params).fit(X, y)
    assert oblique.score(X, y) >= ObliqueTreeRegressor(**params).fit(X, y).score(X, y)


def test_counters():
    X, y = draw_classes()
    tree = ObliqueTreeClassifier(splitter="co2", random_state=0).fit(X, y)
    stats = tree.splitter_stats_
    assert set(stats) == {"optimised", "collapsed", "rejected"}
    n_inner = (tree.tree_.node_count - 1) // 2
    assert n_inner == stats["optimised"] > stats["collapsed"]
    assert ObliqueTreeClassifier().fit(X, y).splitter_stats_ == {}
    forest = ObliqueForestClassifier(4, splitter="co2", random_state=0, warm_start=True)
    half = dict(forest.fit(X, y).splitter_stats_)
    whole = forest.set_params(n_estimators=8).fit(X, y).splitter_stats_
    at_once = ObliqueForestClassifier(8, splitter="co2", random_state=0, n_jobs=2).fit(X, y)
    assert whole == at_once.splitter_stats_
    assert whole["optimised"] > half["optimised"]


@pytest.mark.parametrize("kind", ["classes", "numbers", "two outputs", "units"])
def test_weights_equal_repeated_rows(kind):
    X, y = draw_classes(60)
    if kind == "units":
        X *= UNITS
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, len(y))
    criterion = "gini"
    if kind == "numbers":
        criterion, y = "squared_error", X[:, 0] + rng.normal(size=len(y))
    elif kind == "two outputs":
        y = np.stack([y, rng.integers(0, 2, len(y))], axis=1)
    # Rows are set aside by their number.
    options = {"splitter": CO2Splitter(held_out=0), "seeds": [3]}
    weighted = grow_tree(X, y, criterion, sample_weight=counts.astype(float), **options)
    repeated = grow_tree(
        np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0), criterion, **options
    )
    # Sums of equal rows round in another order, so planes agree but for the last digits.
    np.testing.assert_array_equal(weighted.children_left, repeated.children_left)
    np.testing.assert_allclose(weighted.threshold, repeated.threshold, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("power", [-8, 5, 20])
@pytest.mark.parametrize("criterion", ["entropy", "squared_error"])
@pytest.mark.parametrize("units", [1, UNITS], ids=["one unit", "units"])
def test_powers_of_two_change_nothing(power, criterion, units):
    X, y = draw_classes()
    X *= units
    one = grow_tree(X, y, criterion, splitter=CO2Splitter(), seeds=[1])
    other = grow_tree(X * np.float32(2.0**power), y, criterion, splitter=CO2Splitter(), seeds=[1])
    np.testing.assert_array_equal(one.children_left, other.children_left)
    np.testing.assert_array_equal(one.value, other.value)


@pytest.mark.parametrize("large", [slice(7, 8), slice(1, 8)])
def test_large_numbers_do_not_drown_small_ones(large):
    """One feature without a meaning, or all but the one that means most."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 8)).astype(np.float32)
    y = np.digitize(2 * X[:, 0] + X[:, 1:7] @ rng.normal(size=6) / 4, [-1.0, 1.0])
    forest = ObliqueForestClassifier(20, splitter="co2", random_state=0)
    plain = forest.fit(X[:600], y[:600]).score(X[600:], y[600:])
    X[:, large] *= 1000
    assert forest.fit(X[:600], y[:600]).score(X[600:], y[600:]) > plain - 0.05


@pytest.mark.parametrize("criterion", ["entropy", "squared_error"])
@pytest.mark.parametrize("units", [1, UNITS], ids=["one unit", "units"])
def test_sparse_input_and_threads_change_nothing(criterion, units):
    X, y = draw_classes(700)
    X *= units
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    options = {"splitter": CO2Splitter(), "seeds": [1, 2, 3], "max_features": 2}
    dense = grow_forest(X, y, criterion, **options)
    spread = grow_forest(sparse.csr_array(X), y, criterion, n_threads=3, **options)
    for one, other in zip(dense, spread, strict=True):
        assert find_differences(one, other) == []
    columns = grow_forest(np.asfortranarray(X), y, criterion, n_threads=2, **options)
    assert hash_trees(dense) == hash_trees(columns)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("units", [1, UNITS], ids=["one unit", "units"])
def test_missing_values(criterion, units):
    X, y = draw_classes(300)
    X *= units
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    tree = grow_tree(X, y, criterion, splitter=CO2Splitter(), seeds=[0])
    assert np.diff(tree.term_ptr).max() > 1
    X[:, :] = np.nan
    assert grow_tree(X, y, criterion, splitter=CO2Splitter(), seeds=[0]).node_count == 1


def test_small_nodes_of_two_valued_columns_are_split_along_an_axis():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (150, 12)).astype(np.float32)
    y = rng.integers(0, 2, 150)
    options = {"seeds": [0]}
    assert np.diff(grow_tree(X, y, splitter=CO2Splitter(), **options).term_ptr).max() == 1
    oblique = grow_tree(X, y, splitter=CO2Splitter(min_rows=2), **options)
    assert np.diff(oblique.term_ptr).max() > 1


def count_terms(X, y, criterion="gini", **params):
    tree = grow_tree(X, y, criterion, splitter=CO2Splitter(**params), seeds=[0])
    return np.diff(tree.term_ptr)[tree.children_left >= 0]


def test_planes_of_wide_data_use_half_of_the_columns():
    X, y = draw_classes(m=40)
    terms = count_terms(X, y)
    assert 19 <= terms.max() <= 21
    assert count_terms(X, y, max_columns=5).max() in (5, 6)
    assert count_terms(X, y, max_columns=40).max() == 40
    assert count_terms(X, y.astype(float), "squared_error").max() == 40
    assert count_terms(X[:, :16], y).max() == 16


def test_planes_of_two_valued_columns_use_all_of_them():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 40)).astype(np.float32)
    assert count_terms(X, (X @ rng.normal(size=40) > 0).astype(int)).max() == 40


def test_different_columns_are_drawn_for_each_node():
    X, y = draw_classes(m=40)
    forest = grow_forest(X, y, "gini", splitter=CO2Splitter(max_columns=10), seeds=range(20))
    roots = {tuple(tree.term_feature[: tree.term_ptr[1]]) for tree in forest}
    assert len(roots) > 15
    assert len({feature for root in roots for feature in root}) > 35


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_rows_of_large_nodes_are_drawn(criterion):
    X, y = draw_classes(3000)
    options = {"splitter": CO2Splitter(max_rows=150), "seeds": [1, 2]}
    drawn = grow_forest(X, y, criterion, **options)
    # More rows than there are change nothing; fewer do.
    whole, more = (
        grow_forest(X, y, criterion, splitter=CO2Splitter(max_rows=n), seeds=[1, 2])
        for n in (3000, 10**12)
    )
    assert hash_trees(whole) == hash_trees(more) != hash_trees(drawn)
    spread = grow_forest(sparse.csr_array(X), y, criterion, n_threads=2, **options)
    assert hash_trees(drawn) == hash_trees(spread)
    assert drawn[0].n_node_samples[0] == 3000


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e37])
def test_extreme_scales(scale):
    X, y = draw_classes()
    X = X.astype(np.float64) * scale
    tree = ObliqueTreeClassifier(splitter="co2", random_state=0).fit(X, y)
    assert tree.score(X, y) == 1.0


def test_dense_copies_of_huge_sparse_data_are_refused():
    entries = np.arange(600)
    # Few columns: they are spread out however little is stored.
    shape = (2_700_000, 200)
    X = sparse.csr_array((np.ones(600), (4_000 * entries, entries % 200)), shape=shape)
    with pytest.raises(ValueError, match="more than 2 GiB"):
        ObliqueTreeClassifier(splitter="co2").fit(X, np.arange(shape[0]) % 2)


def test_presets_bootstrap_in_regression_only():
    X, y = draw_classes()
    assert not ObliqueForestClassifier(splitter="co2")._draws_bootstraps()
    forest = ObliqueForestRegressor(30, splitter="co2", oob_score=True, random_state=0)
    assert forest.fit(X, y.astype(float)).oob_score_ > 0.5


def test_axis_splits_are_taken_where_they_predict_rows_set_aside_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2)
    forest = ObliqueForestClassifier(10, splitter="co2", random_state=0).fit(X, y)
    assert forest.splitter_stats_["rejected"] > 0.2 * forest.splitter_stats_["optimised"]
    plain = clone(forest).set_params(splitter=CO2Splitter(held_out=0)).fit(X, y)
    assert plain.splitter_stats_["rejected"] == 0


def test_many_columns_in_one_unit_are_no_table():
    X, y = draw_classes(m=20)
    one, other = (
        grow_tree(X, y, splitter=CO2Splitter(held_out=fraction), seeds=[0])
        for fraction in (0.0, 0.3)
    )
    assert find_differences(one, other) == []


def test_irrelevant_columns_count_for_little():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 12)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    tree = grow_tree(X, y, splitter=CO2Splitter(held_out=0), seeds=[0])
    weight = np.abs(tree.term_weight[: tree.term_ptr[1]])
    assert weight[2:].max() < 0.3 * weight[:2].min()


def test_rules_can_be_changed_to_ask_whether_they_pay():
    X, y = load_digits(return_X_y=True)
    options = {"seeds": [1], "max_features": 8}
    plain = grow_tree(X, y, splitter=CO2Splitter(), **options)
    same = grow_tree(X, y, splitter=ChangedCO2Splitter(), **options)
    other = grow_tree(
        X, y, splitter=ChangedCO2Splitter(rules={"min_nu": 2, "max_nu": 2}), **options
    )
    np.testing.assert_array_equal(same.threshold, plain.threshold)
    assert not np.array_equal(other.threshold, plain.threshold)
    with pytest.raises(ValueError, match=r"unknown rule 'nothing'; expected one of .*'max_nu'"):
        ChangedCO2Splitter(rules={"nothing": 1})
