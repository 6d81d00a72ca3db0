"""``splitter="auto"`` of a single tree."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine, make_classification, make_friedman1

from obtree import ObliqueTreeClassifier, ObliqueTreeRegressor, load_model, save_model
from obtree.estimators import choice
from obtree.splitter import OC1Splitter

TABLE = {"setting", "error", "fraction", "seconds"}


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def smooth():
    return make_friedman1(300, 8, noise=1.0, random_state=0)


def find_winner(tree):
    """The setting that the table says was taken."""
    assert set(tree.race_) == TABLE
    assert sum(tree.race_["fraction"]) == 1.0
    return tree.race_["setting"][tree.race_["fraction"].index(1.0)]


def test_the_tree_is_that_of_the_best_setting(wine, smooth):
    for kind, (X, y) in ((ObliqueTreeClassifier, wine), (ObliqueTreeRegressor, smooth)):
        tree = kind(splitter="auto", random_state=3).fit(X, y)
        winner = find_winner(tree)
        assert tree.race_["error"][tree.race_["setting"].index(winner)] == min(tree.race_["error"])
        setting = next(s for s in choice.TREES if s.name == winner)
        alone = kind(splitter=setting.splitter, random_state=3, **setting.params).fit(X, y)
        np.testing.assert_array_equal(tree.tree_.value, alone.tree_.value)
        np.testing.assert_array_equal(tree.tree_.threshold, alone.tree_.threshold)


@pytest.mark.parametrize("max_rows", [90, 10_000])
def test_errors_are_those_of_rows_set_aside(smooth, max_rows, monkeypatch):
    # Repeated by hand: thirds of a permutation, trees of the seed, squared errors in units of y.
    monkeypatch.setattr(choice, "MAX_ROWS", max_rows)
    X, y = smooth
    tree = ObliqueTreeRegressor(splitter=["axis", "oc1"], random_state=5).fit(X, y)
    order = np.random.default_rng([5, 1]).permutation(len(y))[:max_rows]
    assert tree.tree_.n_node_samples[0] == len(y)
    for splitter, error in zip(("axis", "oc1"), tree.race_["error"], strict=True):
        expected = []
        for k in range(3):
            held = order[k::3]
            rows = np.setdiff1d(order, held)
            part = ObliqueTreeRegressor(splitter=splitter, random_state=5).fit(X[rows], y[rows])
            expected.append(np.mean((part.predict(X[held]) - y[held]) ** 2) / y.var())
        assert error == pytest.approx(np.mean(expected), rel=1e-9)


def test_noise_asks_for_larger_leaves():
    X, y = make_friedman1(600, 5, noise=6.0, random_state=1)
    winner = find_winner(ObliqueTreeRegressor(splitter="auto", random_state=0).fit(X, y))
    assert winner.endswith("large leaves")


def test_planes_win_where_the_boundary_is_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = X @ rng.normal(size=6) > 0
    tree = ObliqueTreeClassifier(splitter="auto", random_state=0).fit(X, y)
    assert not find_winner(tree).startswith("axis")
    assert tree.get_n_leaves() < ObliqueTreeClassifier(random_state=0).fit(X, y).get_n_leaves()


def test_only_what_is_at_its_default_is_varied(wine):
    tree = ObliqueTreeClassifier(splitter="auto", min_samples_leaf=7, random_state=0).fit(*wine)
    assert tree.race_["setting"] == ["axis", "discriminant", "oc1", "co2"]
    leaves = tree.tree_.children_left < 0
    assert tree.tree_.n_node_samples[leaves].min() >= 7


def test_constraints_leave_splitters_that_know_them(smooth):
    X, y = smooth
    tree = ObliqueTreeRegressor(splitter="auto", monotonic_cst=[1] + [0] * 7, random_state=0)
    assert all(name.startswith("axis") for name in tree.fit(X, y).race_["setting"])


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_too_few_rows_to_judge(n_rows, smooth):
    X, y = smooth
    tree = ObliqueTreeRegressor(splitter="auto", random_state=0).fit(X[:n_rows], y[:n_rows])
    assert find_winner(tree) == "axis"
    assert np.isnan(tree.race_["error"]).all()


def test_all_kinds_of_data(wine):
    X, y = wine
    dense = np.where(np.random.default_rng(0).random(X.shape) < 0.6, 0.0, X)
    trees = [
        ObliqueTreeClassifier(splitter="auto", random_state=0).fit(data, y)
        for data in (dense, sp.csr_array(dense), sp.csc_matrix(dense))
    ]
    for tree in trees[1:]:
        assert tree.race_["error"] == trees[0].race_["error"]
        np.testing.assert_array_equal(tree.predict_proba(dense), trees[0].predict_proba(dense))
    with_gaps = np.where(dense == 0.0, np.nan, dense)
    several = np.column_stack([y, y == 1])
    tree = ObliqueTreeClassifier(splitter="auto", class_weight="balanced", random_state=0)
    assert np.mean(tree.fit(with_gaps, several).predict(with_gaps) == several) > 0.7


def test_weights_count_in_the_choice():
    # Two halves with a boundary of their own; rows of the second hardly count.
    rng = np.random.default_rng(1)
    X, y = make_classification(400, 6, n_informative=4, random_state=0)
    y[200:] = rng.permutation(y[200:])
    weight = np.where(np.arange(400) < 200, 1.0, 1e-9)
    tree = ObliqueTreeClassifier(splitter="auto", random_state=0).fit(X, y, weight)
    other = ObliqueTreeClassifier(splitter="auto", random_state=0).fit(X, y)
    assert min(tree.race_["error"]) < min(other.race_["error"]) - 0.1


def test_rows_without_weight_are_absent(smooth):
    X, y = smooth
    weight = np.ones(len(y))
    weight[::3] = 0.0
    tree = ObliqueTreeRegressor(splitter="auto", random_state=0).fit(X, y, weight)
    kept = weight > 0.0
    other = ObliqueTreeRegressor(splitter="auto", random_state=0).fit(X[kept], y[kept])
    assert tree.race_["error"] == other.race_["error"]
    np.testing.assert_array_equal(tree.predict(X), other.predict(X))


def test_own_splitters_and_bad_lists(wine):
    X, y = wine
    tree = ObliqueTreeClassifier(splitter=["axis", OC1Splitter(n_jumps=3)], random_state=0)
    assert tree.fit(X, y).race_["setting"] == ["axis", "oc1"]
    with pytest.raises(ValueError, match="splitter"):
        tree.set_params(splitter=[]).fit(X, y)
    with pytest.raises(ValueError, match="'axes'"):
        tree.set_params(splitter=["axes"]).fit(X, y)
    with pytest.raises(ValueError, match="'auto' has no parameters"):
        tree.set_params(splitter="auto", splitter__n_jumps=3)


def test_another_splitter_leaves_no_table_behind(wine):
    tree = ObliqueTreeClassifier(splitter="auto", random_state=0).fit(*wine)
    assert not hasattr(tree.set_params(splitter="axis").fit(*wine), "race_")


def test_saved_and_pickled(wine, tmp_path):
    X, y = wine
    tree = ObliqueTreeClassifier(splitter="auto", random_state=0).fit(X, y)
    save_model(tree, tmp_path / "tree.obtree")
    for other in (load_model(tmp_path / "tree.obtree"), pickle.loads(pickle.dumps(tree))):
        assert other.splitter == "auto"
        np.testing.assert_array_equal(other.predict_proba(X), tree.predict_proba(X))
