"""``splitter="auto"``: forests of several settings."""

import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine, make_classification, make_friedman1
from sklearn.model_selection import train_test_split

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    load_model,
    save_model,
)
from obtree.estimators import chains, mixture, race, settings
from obtree.splitter import OC1Splitter, PythonSplitter
from obtree.testing.probe_team import Observer

TABLE = {"setting", "error", "fraction", "n_trees", "seconds"}


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def smooth():
    """A smooth function of 5 of 12 features."""
    return make_friedman1(300, 12, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def forest(smooth):
    """A forest of which every setting has some trees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture, "DOUBT", 100.0)
        return ObliqueForestRegressor(40, random_state=0).fit(*smooth)


@pytest.fixture
def doubtful(monkeypatch):
    """Other forests of the same kind."""
    monkeypatch.setattr(mixture, "DOUBT", 100.0)


def test_the_default_is_a_race(wine):
    forest = ObliqueForestClassifier(25, random_state=0).fit(*wine)
    assert forest.splitter == "auto"
    assert forest.race_.keys() == TABLE
    able = [s for s in settings.CLASSIFICATION if s.min_features <= wine[0].shape[1]]
    names = [s.name for s in able if "category" not in s.name]
    assert forest.race_["setting"] == [*names, *(s.name for s in chains.BOOSTED)]
    assert sum(forest.race_["fraction"]) == pytest.approx(1.0)
    assert sum(forest.race_["n_trees"][: len(names)]) == len(forest.estimators_) == 25
    assert np.isfinite(forest.race_["error"]).all()


def test_trees_are_of_the_settings_that_won(forest):
    table = forest.race_
    kinds = {type(tree).__name__ for tree in forest.estimators_}
    assert kinds == {"ObliqueTreeRegressor", "TAOTreeRegressor"}
    n_refined = sum(type(tree).__name__ == "TAOTreeRegressor" for tree in forest.estimators_)
    named = [name.startswith("TAO") for name in table["setting"]]
    assert n_refined == np.dot(named, table["n_trees"])
    splitters = {str(getattr(tree, "splitter", "axis")) for tree in forest.estimators_}
    pairs = zip(table["setting"], table["n_trees"], strict=True)
    won = {name.split(",")[0] for name, n_trees in pairs if n_trees}
    assert splitters - {"axis"} == won - {"axis", "TAO"}


def test_trees_split_as_their_parameters_say(forest):
    for tree in forest.estimators_:
        is_axis = getattr(tree, "splitter", "refined") == "axis"
        assert (np.diff(tree.tree_.term_ptr).max() == 1) == is_axis


def test_threads_change_nothing(smooth, forest, wine, doubtful):
    other = ObliqueForestRegressor(40, random_state=0, n_jobs=3).fit(*smooth)
    assert np.array_equal(other.predict(smooth[0]), forest.predict(smooth[0]))
    pair = [ObliqueForestClassifier(15, random_state=0, n_jobs=n).fit(*wine) for n in (1, 2)]
    assert np.array_equal(*(one.predict_proba(wine[0]) for one in pair))
    assert pair[0].race_["fraction"] == pair[1].race_["fraction"]


def test_one_file(forest, smooth, tmp_path):
    path = tmp_path / "model"
    save_model(forest, path)
    same = load_model(path)
    assert np.array_equal(same.predict(smooth[0]), forest.predict(smooth[0]))
    for one, other in zip(forest.estimators_, same.estimators_, strict=True):
        assert type(one) is type(other)
        assert one.get_params() == other.get_params()
        assert np.array_equal(one.predict(smooth[0]), other.predict(smooth[0]))
        assert one.max_features_ == other.max_features_
    save_model(same, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert np.array_equal(
        pickle.loads(pickle.dumps(forest)).predict(smooth[0]), forest.predict(smooth[0])
    )


def test_a_warm_start_goes_on_as_one_fit_would(smooth, forest, doubtful):
    X, y = smooth
    some = ObliqueForestRegressor(15, random_state=0, warm_start=True).fit(X, y)
    before = some.race_
    some.set_params(n_estimators=40).fit(X, y)
    assert some.race_["fraction"] == before["fraction"]
    assert some.race_["error"] == before["error"]
    assert sum(some.race_["n_trees"]) == 40
    assert np.array_equal(some.predict(X), forest.predict(X))


def test_out_of_bag_errors_are_those_of_new_rows():
    X, y = make_friedman1(1500, 8, noise=1.0, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.6, random_state=0)
    forest = ObliqueForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    # Fewer trees judge a row that a tree may have seen: never much better, a little worse.
    assert -0.01 < forest.score(X_test, y_test) - forest.oob_score_ < 0.04
    X, y = make_classification(1500, 10, n_informative=6, flip_y=0.1, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.6, random_state=0)
    forest = ObliqueForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert -0.02 < forest.score(X_test, y_test) - forest.oob_score_ < 0.05


def test_errors_in_the_table_are_those_of_the_settings():
    X, y = make_friedman1(1200, 5, noise=1.0, random_state=1)
    forest = ObliqueForestRegressor(5, random_state=0).fit(X[:600], y[:600])
    plain = ObliqueForestRegressor(100, splitter="axis", random_state=0).fit(X[:600], y[:600])
    error = np.mean((plain.predict(X[600:]) - y[600:]) ** 2) / y[:600].var()
    assert forest.race_["error"][0] == pytest.approx(error, rel=0.15)


class Halves(PythonSplitter):
    """Median of a random direction."""

    def split(self, X, y, sample_weight, rng):
        weights = rng.normal(size=X.shape[1]) / (X.std(axis=0) + 1e-9)
        return weights, np.median(X @ weights)


def test_a_splitter_in_python_takes_part(wine):
    forest = ObliqueForestClassifier(9, splitter=["axis", Halves()], random_state=0).fit(*wine)
    assert forest.race_["setting"] == ["axis", "Halves()"]
    assert forest.race_["error"][1] > forest.race_["error"][0] > 0.0


@pytest.mark.parametrize("own", ["oc1", OC1Splitter(n_jumps=1)], ids=str)
def test_own_splitters_take_part(own, wine, tmp_path):
    forest = ObliqueForestClassifier(12, splitter=["axis", own], random_state=0).fit(*wine)
    assert forest.race_["setting"] == ["axis", "oc1"]
    save_model(forest, tmp_path / "model")
    same = load_model(tmp_path / "model")
    assert np.array_equal(same.predict_proba(wine[0]), forest.predict_proba(wine[0]))
    everything = ObliqueForestClassifier(splitter=["auto", own])
    assert len(settings.list_settings(everything, settings.CLASSIFICATION)) == 1 + len(
        settings.CLASSIFICATION
    )


@pytest.mark.parametrize("bad", [[], ["axis", "no_such"], ["axis", 3], "no_such"])
def test_bad_lists(bad, wine):
    with pytest.raises((ValueError, TypeError), match="splitter"):
        ObliqueForestClassifier(splitter=bad).fit(*wine)


def list_names(forest, X, **facts):
    known = list(forest._known_settings())
    return [setting.name for setting in settings.select_settings(known, forest, X, **facts)]


def test_settings_vary_only_what_is_at_its_default():
    X = np.zeros((10, 4))
    names = list_names(ObliqueForestClassifier(max_features=2), X)
    assert names == [
        "axis",
        "axis, entropy",
        "discriminant",
        "discriminant, entropy",
        "random_oblique",
        "axis, larger leaves",
        "discriminant, larger leaves",
        "axis, large leaves",
        "discriminant, large leaves",
    ]
    assert "co2" in list_names(ObliqueForestClassifier(), np.zeros((10, 16)))
    assert "axis, entropy" not in list_names(ObliqueForestClassifier(criterion="gini "), X)
    refined = "TAO, relevant features"
    assert refined not in list_names(ObliqueForestRegressor(max_leaf_nodes=5), X)
    assert refined not in list_names(ObliqueForestRegressor(criterion="friedman_mse"), X)
    assert refined in list_names(ObliqueForestRegressor(), X)


def test_settings_that_cannot_stay_away():
    X = np.zeros((10, 4))
    forest = ObliqueForestRegressor()
    wide = sp.csr_matrix((10, 2000))
    assert not any(name.startswith("TAO") for name in list_names(forest, wide))
    assert list_names(forest, X, constrained=True) == [
        "axis",
        "axis, third of the features",
        "axis, larger leaves",
    ]
    assert all(name.startswith("axis") for name in list_names(forest, X[:, :1]))
    assert not any("all" in name for name in list_names(ObliqueForestClassifier(), wide))


def test_relevance_can_be_left_out_or_be_everywhere(smooth):
    X, y = smooth
    assert not any("relevant" in s for s in list_names(ObliqueForestRegressor(), X[:, :1]))
    without = ObliqueForestRegressor(5, relevance=False, random_state=0).fit(X, y)
    assert not hasattr(without, "relevance_")
    names = [name for name in without.race_["setting"] if not name.endswith("sharpened")]
    assert len(names) == len(set(names)) == 11
    forest = ObliqueForestRegressor(20, splitter="oc1", relevance=True, random_state=0).fit(X, y)
    assert forest.relevance_.shape == (12,)
    plain = ObliqueForestRegressor(20, splitter="oc1", random_state=0).fit(X, y)
    used, before = (m.feature_importances_[5:].sum() for m in (forest, plain))
    assert used < 0.5 * before


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 30])
def test_few_rows(n_rows, wine, smooth):
    X, y = wine[0][::5], wine[1][::5]
    model = ObliqueForestClassifier(6, random_state=0).fit(X[:n_rows], y[:n_rows])
    assert np.isfinite(model.predict_proba(X)).all()
    model = ObliqueForestRegressor(6, random_state=0).fit(smooth[0][:n_rows], smooth[1][:n_rows])
    assert np.isfinite(model.predict(smooth[0])).all()


def test_one_class_and_constant_targets(wine):
    model = ObliqueForestClassifier(6, random_state=0).fit(wine[0], np.full(len(wine[1]), "a"))
    assert (model.predict(wine[0]) == "a").all()
    model = ObliqueForestRegressor(6, random_state=0).fit(wine[0], np.full(len(wine[1]), 2.5))
    assert (model.predict(wine[0]) == 2.5).all()


def test_all_kinds_of_data(smooth):
    X, y = smooth
    rough = np.where(X > 0.5, X, 0.0)
    rough[::7, 3] = np.nan
    both = np.stack([y, -y], axis=1)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    dense = ObliqueForestRegressor(10, random_state=0).fit(rough, both, weight)
    assert dense.score(rough, both) > 0.6
    sparse = ObliqueForestRegressor(10, random_state=0).fit(sp.csr_matrix(rough), both, weight)
    assert sparse.score(rough, both) > 0.6
    labels = np.stack([y > 15, y > 10], axis=1)
    model = ObliqueForestClassifier(10, class_weight="balanced_subsample", random_state=0)
    assert model.fit(rough, labels, weight).score(rough, labels) > 0.7


def test_rows_without_weight_are_absent(smooth):
    X, y = smooth
    weight = np.ones(len(y))
    weight[::3] = 0.0
    kept = weight > 0.0
    one = ObliqueForestRegressor(10, random_state=0).fit(X, y, weight)
    other = ObliqueForestRegressor(10, random_state=0).fit(X[kept], y[kept])
    assert np.array_equal(one.predict(X), other.predict(X))


def test_large_data_race_on_some_rows(monkeypatch, smooth):
    monkeypatch.setattr(race, "MAX_ROWS", 150)
    X, y = smooth
    forest = ObliqueForestRegressor(10, random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.8
    # Trees of the race, which know only half of the rows, are not among those of the forest.
    rows = {int(tree.tree_.n_node_samples[0]) for tree in forest.estimators_}
    assert min(rows) > 0.5 * len(y)


def test_all_rows_when_there_is_no_bootstrap(wine):
    forest = ObliqueForestClassifier(10, bootstrap=False, random_state=0).fit(*wine)
    assert {int(tree.tree_.n_node_samples[0]) for tree in forest.estimators_} == {len(wine[1])}


def test_the_table_is_printed(wine, capsys):
    forest = ObliqueForestClassifier(5, random_state=0, verbose=1).fit(*wine)
    lines = capsys.readouterr().err
    assert all(name in lines for name in forest.race_["setting"])


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_interrupted_in_the_race(smooth):
    X, y = smooth
    forest = ObliqueForestRegressor(5, random_state=0)
    with Observer() as observer:
        forest.fit(X, y)
    n_items = observer.n_items
    before = dict(vars(forest))
    with pytest.raises(KeyboardInterrupt), Observer(interrupt_at=n_items // 2) as observer:
        forest.fit(X, y)
    assert observer.n_items < n_items
    assert vars(forest) == before
