"""Semi-supervised forests: labels, their absence, and what comes of them."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_moons

from obtree import (
    ObliqueForestClassifier,
    SemiSupervisedForestClassifier,
    load_model,
    save_model,
)
from obtree.testing.probe_team import Observer

RNG = np.random.default_rng(0)
#: Quick ones: no race.
QUICK = {"splitter": "random_oblique", "random_state": 0}
SMALL = {"n_estimators": 5, "n_structure_trees": 5, **QUICK}


def make_blobs(n_rows=120, n_labels=6, seed=0):
    """Three clouds, some rows of each with labels."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 4)) + 4.0 * np.eye(3, 4)[truth]
    y = np.where(np.arange(n_rows) < 3 * n_labels, truth, -1)
    return X.astype(np.float32), y, truth


X, Y, TRUTH = make_blobs()


def hide(truth, labels):
    return np.where(np.isin(np.arange(len(truth)), labels), truth, -1)


def test_two_moons_with_two_labels():
    X, truth = make_moons(300, noise=0.06, random_state=1)
    y = hide(truth, [np.flatnonzero(truth == c)[0] for c in (0, 1)])
    forest = SemiSupervisedForestClassifier(random_state=0).fit(X, y)
    assert not forest.fallback_
    assert (forest.transduction_ == truth).mean() > 0.99
    new, new_truth = make_moons(300, noise=0.06, random_state=2)
    assert forest.score(new, new_truth) > 0.98
    alone = ObliqueForestClassifier(random_state=0).fit(X[y >= 0], y[y >= 0])
    assert alone.score(new, new_truth) < 0.9


def test_digits_with_ten_labels_a_class():
    X, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    labels = np.concatenate([order[truth[order] == c][:10] for c in range(10)])
    y = hide(truth, labels)
    quick = {"splitter": "random_oblique", "n_estimators": 30, "random_state": 0}
    forest = SemiSupervisedForestClassifier(**quick).fit(X, y)
    alone = ObliqueForestClassifier(**quick).fit(X[y >= 0], y[y >= 0])
    assert not forest.fallback_
    assert forest.check_["n_judged"] == 100
    assert forest.check_["error"] < forest.check_["supervised_error"]
    rest = y < 0
    assert (forest.transduction_ != truth)[rest].mean() < (alone.predict(X) != truth)[rest].mean()


def test_labels_of_rows_are_kept_and_the_others_are_distributions():
    forest = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(X, Y)
    assert forest.label_distributions_.shape == (120, 3)
    np.testing.assert_allclose(forest.label_distributions_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(forest.transduction_[Y >= 0], Y[Y >= 0])
    np.testing.assert_array_equal(forest.transduction_, forest.label_distributions_.argmax(axis=1))
    assert (forest.transduction_ == TRUTH).mean() > 0.95
    np.testing.assert_array_equal(forest.classes_, [0, 1, 2])


@pytest.mark.parametrize("splitter", ["random_oblique", "auto"])
def test_without_unlabelled_rows_it_is_a_forest(splitter):
    weight = RNG.integers(0, 3, 120)
    params = {"n_estimators": 5, "splitter": splitter, "random_state": 3}
    forest = SemiSupervisedForestClassifier(**params).fit(X, TRUTH, weight)
    same = ObliqueForestClassifier(**params).fit(X, TRUTH, weight)
    np.testing.assert_array_equal(forest.predict_proba(X), same.predict_proba(X))
    assert forest.fallback_ is False
    assert forest.check_ == {}


def test_unlabelled_rows_that_do_harm_are_left_alone():
    # Classes cross the clouds, and labels by labels there are no paths between them.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    truth = (X[:, 0] > 0).astype(int)
    X[:, 1:] += 6 * rng.integers(0, 2, (300, 5))
    y = hide(truth, np.arange(40))
    forest = SemiSupervisedForestClassifier(**SMALL).fit(X, y)
    assert forest.fallback_ is True
    params = {"n_estimators": 5, **QUICK}
    alone = ObliqueForestClassifier(**params).fit(X[:40], y[:40])
    np.testing.assert_array_equal(forest.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(forest.label_distributions_[40:], alone.predict_proba(X)[40:])
    stubborn = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(X, y)
    assert stubborn.fallback_ is False
    assert stubborn.check_ == forest.check_


def test_labels_of_any_type():
    numbers = SemiSupervisedForestClassifier(**SMALL).fit(X, Y)
    text = np.array(["ant", "bee", "cow", -1], dtype=object)[Y]
    forest = SemiSupervisedForestClassifier(**SMALL).fit(X, text)
    np.testing.assert_array_equal(forest.classes_, ["ant", "bee", "cow"])
    np.testing.assert_array_equal(forest.transduction_, forest.classes_[numbers.transduction_])
    np.testing.assert_array_equal(forest.predict(X), forest.classes_[numbers.predict(X)])
    floats = SemiSupervisedForestClassifier(**SMALL).fit(X, Y.astype(float))
    np.testing.assert_array_equal(floats.transduction_, numbers.transduction_)
    # Every string is a label.
    words = SemiSupervisedForestClassifier(**SMALL).fit(X, np.array(["a", "b", "c"])[TRUTH])
    np.testing.assert_array_equal(words.transduction_, np.array(["a", "b", "c"])[TRUTH])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(120, -1), "y is -1, no label, in all 120 rows"),
        (np.array(["a", "-1"])[RNG.integers(0, 2, 120)], "dtype object"),
        (np.stack([Y, Y], axis=1), "y has 2 outputs"),
        (np.where(Y < 0, -1, 0.5), "continuous"),
        (np.where(Y < 0, np.nan, Y), "y contains NaN"),
        (Y[1:], "y has 119 entries"),
    ],
)
def test_refused_labels(y, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedForestClassifier(**SMALL).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"alpha": np.inf}, "alpha=inf"),
        ({"n_structure_trees": 0}, "n_structure_trees=0"),
        ({"structure_splitter": "co2"}, "structure_splitter"),
        ({"structure_min_samples_leaf": 0}, "structure_min_samples_leaf=0"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"fallback": "yes"}, "fallback='yes'"),
        ({"n_estimators": 0}, "n_estimators=0"),
    ],
)
def test_refused_parameters(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SemiSupervisedForestClassifier(**{**SMALL, **params}).fit(X, Y)


def test_infinity_and_labels_without_weight_are_refused():
    rows = X.copy()
    rows[100, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*column 2"):
        SemiSupervisedForestClassifier(**SMALL).fit(rows, Y)
    with pytest.raises(ValueError, match="every row with a label has a weight of zero"):
        SemiSupervisedForestClassifier(**SMALL).fit(X, Y, (Y < 0).astype(float))


def test_one_row_one_label_and_classes_with_one_label():
    forest = SemiSupervisedForestClassifier(**SMALL)
    assert forest.fit([[1.0, 2.0]], ["a"]).predict([[5.0, 6.0]]) == ["a"]
    one = forest.fit(X, hide(TRUTH, [4]))
    assert (one.transduction_ == TRUTH[4]).all()
    np.testing.assert_array_equal(one.predict_proba(X), np.ones((120, 1)))
    each = forest.fit(X, hide(TRUTH, [0, 1, 2]))
    assert each.check_ == {"n_judged": 0, "sharpness": 4.0}
    assert (each.transduction_ == TRUTH).mean() > 0.8
    lonely = forest.fit(X, np.where((TRUTH == 2) & (np.arange(120) != 2), -1, Y))
    assert lonely.check_["n_judged"] == 12
    two = forest.fit([[0.0], [1.0], [0.1]], [0, 1, -1])
    assert two.label_distributions_.shape == (3, 2)


def test_columns_that_are_constant_repeated_or_too_many():
    wide = np.column_stack([X, X[:, :1], np.full(120, 3.0), RNG.normal(size=(120, 150))])
    for rows in (wide, np.ones((120, 2)), np.repeat(X[:20], 6, axis=0)):
        forest = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(rows, Y)
        assert np.isfinite(forest.label_distributions_).all()
        assert np.isfinite(forest.predict_proba(rows)).all()


def test_missing_values():
    rows = X.copy()
    rows[RNG.random(X.shape) < 0.1] = np.nan
    rows[5] = np.nan
    forest = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(rows, Y)
    assert (forest.transduction_ == TRUTH).mean() > 0.8
    assert np.isfinite(forest.predict_proba(rows)).all()


def test_sparse_rows_are_as_good_as_dense_ones():
    rows = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(rows, Y)
    for kind in (sp.csr_matrix, sp.csc_matrix):
        sparse = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(kind(rows), Y)
        np.testing.assert_array_equal(sparse.label_distributions_, dense.label_distributions_)
        np.testing.assert_array_equal(sparse.predict_proba(rows), dense.predict_proba(rows))


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_rows_of_zero_weight_are_absent(seed):
    weight = np.random.default_rng(seed).integers(0, 3, 120).astype(float)
    weight[:18] = np.maximum(weight[:18], 1.0)
    params = {**SMALL, "random_state": seed, "bootstrap": False, "fallback": False}
    forest = SemiSupervisedForestClassifier(**params).fit(X, Y, weight)
    kept = weight > 0
    same = SemiSupervisedForestClassifier(**params).fit(X[kept], Y[kept], weight[kept])
    np.testing.assert_array_equal(forest.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(forest.transduction_[kept], same.transduction_)
    assert forest.check_ == same.check_


def test_shifts_and_units_of_features_change_nothing():
    params = {**SMALL, "splitter": "axis", "structure_splitter": "axis"}
    forest = SemiSupervisedForestClassifier(**params).fit(X, Y)
    other = SemiSupervisedForestClassifier(**params).fit(X * [4.0, 0.5, 1.0, 2.0], Y)
    np.testing.assert_array_equal(forest.transduction_, other.transduction_)


@pytest.mark.parametrize("splitter", ["random_oblique", "auto"])
def test_threads_change_nothing(splitter):
    params = {**SMALL, "splitter": splitter, "fallback": False}
    one = SemiSupervisedForestClassifier(**params).fit(X, Y)
    two = SemiSupervisedForestClassifier(**params, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.check_ == two.check_


def test_alpha_and_structure_matter():
    params = {**SMALL, "fallback": False}
    # Half of the clouds' distance, so that trees have to choose.
    rows = X - 2.0 * np.eye(3, 4)[TRUTH]
    first = SemiSupervisedForestClassifier(**params).fit(rows, Y).label_distributions_
    for change in (
        {"alpha": 1e6},
        {"structure_splitter": "axis"},
        {"structure_min_samples_leaf": 5},
        {"n_neighbors": 2},
    ):
        other = SemiSupervisedForestClassifier(**{**params, **change}).fit(rows, Y)
        assert not np.array_equal(first, other.label_distributions_)


@pytest.mark.parametrize("fallback", [True, False])
@pytest.mark.parametrize("splitter", ["random_oblique", "auto"])
def test_files_and_pickles_keep_every_bit(tmp_path, fallback, splitter):
    params = {**SMALL, "splitter": splitter, "fallback": fallback}
    forest = SemiSupervisedForestClassifier(**params).fit(X, Y)
    save_model(forest, tmp_path / "model")
    for same in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_array_equal(same.predict_proba(X), forest.predict_proba(X))
        np.testing.assert_array_equal(same.label_distributions_, forest.label_distributions_)
        np.testing.assert_array_equal(same.transduction_, forest.transduction_)
        assert same.fallback_ == forest.fallback_
        assert same.check_ == forest.check_
        assert same.get_params() == forest.get_params()


GOOD = ({"fallback": False, "check": {}}, {"label_distributions": np.full((4, 3), 1 / 3)})


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({}, {}),
        (GOOD[0], {}),
        ({"fallback": False}, GOOD[1]),
        ({**GOOD[0], "more": 1}, GOOD[1]),
        (GOOD[0], {**GOOD[1], "more": np.zeros(1)}),
        ({**GOOD[0], "fallback": 2}, GOOD[1]),
        ({**GOOD[0], "check": [1]}, GOOD[1]),
        ({**GOOD[0], "check": {"other": 1.0}}, GOOD[1]),
        ({**GOOD[0], "check": {"error": 2.0}}, GOOD[1]),
        ({**GOOD[0], "check": {"n_judged": "many"}}, GOOD[1]),
        (GOOD[0], {"label_distributions": np.full((4, 2), 0.5)}),
        (GOOD[0], {"label_distributions": np.full(3, 1 / 3)}),
        (GOOD[0], {"label_distributions": np.full((4, 3), 1 / 3, dtype=np.float32)}),
        (GOOD[0], {"label_distributions": np.full((4, 3), 0.5)}),
        (GOOD[0], {"label_distributions": np.tile([2.0, -1.0, 0.0], (4, 1))}),
        (GOOD[0], {"label_distributions": np.full((4, 3), np.nan)}),
    ],
)
def test_a_file_with_other_extras(tmp_path, monkeypatch, header, arrays):
    forest = SemiSupervisedForestClassifier(**SMALL).fit(X, Y)
    kind = SemiSupervisedForestClassifier
    monkeypatch.setattr(kind, "_describe_extras", lambda self: GOOD)
    save_model(forest, tmp_path / "model")
    load_model(tmp_path / "model")
    monkeypatch.setattr(kind, "_describe_extras", lambda self: (header, arrays))
    save_model(forest, tmp_path / "model")
    with pytest.raises(ValueError, match="is not a valid model"):
        load_model(tmp_path / "model")


def test_a_pickle_that_was_tampered_with():
    forest = SemiSupervisedForestClassifier(**SMALL).fit(X, Y)
    rebuild, (state,) = forest.estimators_[0].tree_.__reduce__()
    state["children_left"] = np.full_like(state["children_left"], 10_000)
    with pytest.raises(ValueError, match="children"):
        rebuild(state)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_an_interrupted_fit_leaves_nothing(part):
    forest = SemiSupervisedForestClassifier(**SMALL, fallback=False)
    with Observer() as observer:
        before = forest.fit(X, Y).predict_proba(X)
    attributes = dict(vars(forest))
    with (
        Observer(interrupt_at=int(part * observer.n_items), slow_down=0.2),
        pytest.raises(KeyboardInterrupt),
    ):
        forest.fit(X[::-1], Y)
    assert vars(forest).keys() == attributes.keys()
    assert all(vars(forest)[name] is value for name, value in attributes.items())
    np.testing.assert_array_equal(forest.predict_proba(X), before)


def test_what_forests_have():
    forest = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(X, Y)
    assert forest.apply(X).shape == (120, 5)
    assert forest.feature_importances_.shape == (4,)
    assert forest.uncertainty(X).total.shape == (120,)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    named = SemiSupervisedForestClassifier(**SMALL, fallback=False).fit(frame, Y)
    assert list(named.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(named.predict_proba(frame), forest.predict_proba(X))
