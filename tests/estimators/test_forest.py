"""Forests: combination, warm starts, out-of-bag estimates, threads."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.forest.grow import bootstrap_counts
from obtree.splitter import AxisSplitter

FORESTS = [ObliqueForestClassifier, ObliqueForestRegressor]


def assert_same_forest(a, b):
    assert len(a.estimators_) == len(b.estimators_)
    for left, right in zip(a.estimators_, b.estimators_, strict=True):
        assert left.random_state == right.random_state
        for name in ("children_left", "threshold", "term_feature", "value", "impurity"):
            np.testing.assert_array_equal(getattr(left.tree_, name), getattr(right.tree_, name))


@pytest.mark.parametrize(
    ("kind", "child"),
    [
        (ObliqueForestClassifier, ObliqueTreeClassifier),
        (ObliqueForestRegressor, ObliqueTreeRegressor),
    ],
)
def test_trees_are_estimators(kind, child, classes):
    pd = pytest.importorskip("pandas")
    X, y = classes
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    forest = kind(4, max_depth=3, random_state=0).fit(X, y)
    assert len(forest.estimators_) == 4
    seeds = {tree.random_state for tree in forest.estimators_}
    assert len(seeds) == 4
    for tree in forest.estimators_:
        assert type(tree) is child
        assert tree.max_depth == 3
        assert tree.get_depth() <= 3
        assert list(tree.feature_names_in_) == list(X.columns)
    method = "predict_proba" if hasattr(forest, "classes_") else "predict"
    each = [getattr(tree, method)(X) for tree in forest.estimators_]
    np.testing.assert_allclose(getattr(forest, method)(X), np.mean(each, axis=0))


def test_forest_is_better_than_a_tree(classes, values):
    X, y = classes
    assert (
        cross_val_score(ObliqueForestClassifier(30, random_state=0), X, y).mean()
        > cross_val_score(ObliqueTreeClassifier(random_state=0), X, y).mean()
    )
    X, y = values
    assert (
        cross_val_score(ObliqueForestRegressor(30, random_state=0), X, y).mean()
        > cross_val_score(ObliqueTreeRegressor(random_state=0), X, y).mean()
    )


class WholeRows(AxisSplitter):
    """Axis splits that would rather see all rows."""

    prefers_bootstrap = False


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize(("splitter", "drawn"), [(AxisSplitter, True), (WholeRows, False)])
def test_splitter_decides_about_bootstraps(kind, splitter, drawn, classes):
    X, y = classes
    auto = kind(3, splitter=splitter(), max_features=3, random_state=1).fit(X, y)
    given = clone(auto).set_params(bootstrap=drawn).fit(X, y)
    assert_same_forest(auto, given)
    other = clone(auto).set_params(bootstrap=not drawn).fit(X, y)
    assert any(
        left.tree_.node_count != right.tree_.node_count
        for left, right in zip(auto.estimators_, other.estimators_, strict=True)
    )


def test_what_needs_bootstraps_says_so(classes):
    X, y = classes
    forest = ObliqueForestClassifier(3, splitter=WholeRows(), max_samples=0.5)
    with pytest.raises(ValueError, match=r"bootstrap='auto' means False.*WholeRows"):
        forest.fit(X, y)
    forest.set_params(bootstrap=True, n_estimators=30).fit(X, y)


def test_subsamples_are_balanced_only_where_there_are_any(classes):
    X, y = classes
    forest = ObliqueForestClassifier(3, splitter=WholeRows(), random_state=0)
    forest.set_params(class_weight="balanced_subsample").fit(X, y)
    whole = clone(forest).set_params(class_weight="balanced").fit(X, y)
    assert_same_forest(forest, whole)


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("bootstrap", [True, False])
def test_threads_change_nothing(kind, bootstrap, classes):
    X, y = classes
    one = kind(7, bootstrap=bootstrap, max_features=3, random_state=1, n_jobs=1).fit(X, y)
    for n_jobs in (2, 5, -1):
        many = kind(7, bootstrap=bootstrap, max_features=3, random_state=1, n_jobs=n_jobs)
        many.fit(X, y)
        assert_same_forest(one, many)
        np.testing.assert_array_equal(one.predict(X), many.predict(X))
        np.testing.assert_array_equal(one.apply(X), many.apply(X))
        if kind is ObliqueForestClassifier:
            np.testing.assert_array_equal(one.predict_proba(X), many.predict_proba(X))


def test_combine(classes):
    X, y = classes
    forest = ObliqueForestClassifier(9, max_depth=3, random_state=0).fit(X, y)
    each = np.array([tree.predict_proba(X) for tree in forest.estimators_])
    np.testing.assert_allclose(forest.predict_proba(X), each.mean(axis=0))

    forest.set_params(combine="vote")
    votes = (each.argmax(axis=2)[..., None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), votes)
    np.testing.assert_array_equal(forest.predict(X), votes.argmax(axis=1))

    forest.set_params(combine="product")
    proba = forest.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    sure = (each > 1e-3).all(axis=(0, 2))  # where no floor is needed
    product = each[:, sure].prod(axis=0)
    product /= product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba[sure], product, rtol=1e-9)
    assert sure.any()

    forest.set_params(combine="mean")
    with pytest.raises(ValueError, match="unknown combine 'mean'"):
        forest.predict(X)


@pytest.mark.parametrize("combine", ["product", "vote"])
def test_regression_averages_only(combine, values):
    X, y = values
    with pytest.raises(ValueError, match=f"unknown combine '{combine}'; expected 'average'"):
        ObliqueForestRegressor(2, combine=combine).fit(X, y)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("splitter", ["axis", "auto"])
def test_warm_start_is_the_forest_grown_at_once(kind, bootstrap, splitter, classes):
    X, y = classes
    params = dict(bootstrap=bootstrap, max_features=3, random_state=7, oob_score=bootstrap)
    params["splitter"] = splitter
    whole = kind(8, **params).fit(X, y)
    grown = kind(3, warm_start=True, **params).fit(X, y)
    first = list(grown.estimators_)
    grown.set_params(n_estimators=8).fit(X, y)
    assert grown.estimators_[:3] == first
    assert_same_forest(whole, grown)
    np.testing.assert_array_equal(whole.predict(X), grown.predict(X))
    if bootstrap:
        assert whole.oob_score_ == grown.oob_score_


def test_warm_start_without_a_seed(classes):
    X, y = classes
    forest = ObliqueForestClassifier(3, warm_start=True).fit(X, y)
    forest.set_params(n_estimators=6).fit(X, y)
    assert len({tree.random_state for tree in forest.estimators_}) == 6


def test_warm_start_messages(classes):
    X, y = classes
    forest = ObliqueForestClassifier(4, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        forest.fit(X, y)
    forest.set_params(n_estimators=2)
    with pytest.raises(ValueError, match="n_estimators=2 must be larger or equal to"):
        forest.fit(X, y)
    forest.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="the same classes"):
        forest.fit(X, y % 2)
    with pytest.raises(ValueError, match="as many columns"):
        forest.fit(X[:, :5], y)
    assert len(forest.estimators_) == 4
    with pytest.warns(UserWarning, match="class_weight='balanced' with warm_start=True"):
        forest.set_params(class_weight="balanced").fit(X, y)


def test_warm_start_turns_to_oob(classes):
    X, y = classes
    forest = ObliqueForestClassifier(30, warm_start=True, random_state=0).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    with pytest.warns(UserWarning, match="without increasing"):
        forest.set_params(oob_score=True).fit(X, y)
    assert forest.oob_score_ > 0.5
    forest.set_params(oob_score=False, warm_start=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")


@pytest.mark.parametrize("combine", ["average", "product", "vote"])
@pytest.mark.parametrize("max_samples", [None, 0.5])
def test_oob_of_a_classifier(combine, max_samples, classes):
    X, y = classes
    y = np.array(["a", "b", "c"])[y]
    forest = ObliqueForestClassifier(
        40,
        splitter="axis",
        oob_score=True,
        combine=combine,
        max_samples=max_samples,
        random_state=0,
    ).fit(X, y)
    assert forest.oob_decision_function_.shape == (300, 3)
    np.testing.assert_allclose(forest.oob_decision_function_.sum(axis=1), 1)
    right = forest.classes_[forest.oob_decision_function_.argmax(axis=1)] == y
    assert forest.oob_score_ == right.mean()
    assert 0.6 < forest.oob_score_ < 0.95
    if combine == "average":
        n_draws = 300 if max_samples is None else 150
        row = 17
        judges = [
            tree.predict_proba(X[[row]])[0]
            for tree in forest.estimators_
            if bootstrap_counts(tree.random_state, 300, n_draws)[row] == 0
        ]
        np.testing.assert_allclose(forest.oob_decision_function_[row], np.mean(judges, axis=0))


def test_oob_of_a_regressor(values):
    X, y = values
    forest = ObliqueForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_prediction_.shape == (300,)
    residual = ((y - forest.oob_prediction_) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert forest.oob_score_ == pytest.approx(1 - residual)
    assert 0.5 < forest.oob_score_ < forest.score(X, y)


def test_oob_threads_and_layouts_change_nothing(classes):
    X, y = classes
    X = np.round(X * 10).astype(np.int8)
    params = dict(n_estimators=30, oob_score=True, random_state=0)
    expected = ObliqueForestClassifier(n_jobs=1, **params).fit(X, y).oob_decision_function_
    for n_jobs, data in (
        (2, X),
        (3, np.asfortranarray(X)),
        (2, X.astype(np.float64)),
        (1, sp.csr_matrix(X)),
        (2, sp.csc_matrix(X)),
    ):
        forest = ObliqueForestClassifier(n_jobs=n_jobs, **params).fit(data, y)
        np.testing.assert_array_equal(forest.oob_decision_function_, expected)


def test_oob_with_a_callable(classes):
    X, y = classes
    y = np.array(["a", "b", "c"])[y]
    seen = []

    def score(y_true, y_pred):
        seen.append((y_true, y_pred))
        return 0.25

    forest = ObliqueForestClassifier(40, oob_score=score, random_state=0).fit(X, y)
    assert forest.oob_score_ == 0.25
    np.testing.assert_array_equal(seen[0][0], y)
    assert set(seen[0][1]) <= {"a", "b", "c"}


def test_oob_of_several_outputs(classes):
    X, y = classes
    Y = np.column_stack([y, y % 2])
    forest = ObliqueForestClassifier(40, oob_score=True, random_state=0).fit(X, Y)
    assert forest.oob_decision_function_.shape == (300, 3, 2)
    assert 0 < forest.oob_score_ < 1
    forest = ObliqueForestRegressor(40, oob_score=True, random_state=0).fit(X, Y)
    assert forest.oob_prediction_.shape == (300, 2)


def test_oob_says_when_trees_are_too_few(classes):
    X, y = classes
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest = ObliqueForestClassifier(2, oob_score=True, random_state=0).fit(X, y)
    missing = np.isnan(forest.oob_decision_function_).any(axis=1)
    assert 0 < missing.sum() < 300
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        forest = ObliqueForestClassifier(1, oob_score=True, random_state=0).fit([[1.0]], [1])
    assert np.isnan(forest.oob_score_)


def test_bootstraps_share_the_expected_rows(classes):
    X, y = classes
    forest = ObliqueForestClassifier(20, random_state=0).fit(X, y)
    drawn = [bootstrap_counts(tree.random_state, 3000, 3000) > 0 for tree in forest.estimators_]
    fraction = np.mean([(a & b).sum() / a.sum() for a, b in itertools.pairwise(drawn)])
    assert fraction == pytest.approx(1 - np.exp(-1), abs=0.02)


def test_max_samples(classes):
    X, y = classes
    for max_samples, expected in ((50, 50), (0.1, 30), (None, 300)):
        forest = ObliqueForestClassifier(
            3, splitter="axis", max_samples=max_samples, random_state=0
        ).fit(X, y)
        for tree in forest.estimators_:
            assert tree.tree_.weighted_n_node_samples[0] == expected


def test_class_weights(classes):
    X, y = classes
    rare = (y == 0) & (np.arange(300) % 10 > 0)
    X, y = X[~rare], y[~rare]
    plain = ObliqueForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    shares = []
    for class_weight in ("balanced", "balanced_subsample", {0: 10.0, 1: 1.0, 2: 1.0}):
        forest = clone(plain).set_params(class_weight=class_weight).fit(X, y)
        shares.append((forest.predict(X) == 0).sum())
    assert min(shares) > (plain.predict(X) == 0).sum()
    params = dict(n_estimators=3, bootstrap=False, max_features=None, random_state=0)
    a = ObliqueForestClassifier(class_weight="balanced_subsample", **params).fit(X, y)
    b = ObliqueForestClassifier(class_weight="balanced", **params).fit(X, y)
    assert_same_forest(a, b)


def test_importances(classes):
    X, y = classes
    forest = ObliqueForestClassifier(10, random_state=0).fit(X, y)
    each = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, each)
    stump = ObliqueForestClassifier(3, min_impurity_decrease=1e9).fit(X, y)
    np.testing.assert_array_equal(stump.feature_importances_, np.zeros(8))


def test_grid_search_reaches_the_splitter(classes):
    X, y = classes
    forest = ObliqueForestClassifier(5, splitter=AxisSplitter(), random_state=0)
    search = GridSearchCV(
        forest, {"splitter": ["axis", "axis_random", AxisSplitter()], "max_depth": [1, 4]}, cv=2
    ).fit(X, y)
    assert search.best_params_["max_depth"] == 4
    grid = {f"splitter__{name}": [value] for name, value in AxisSplitter().get_params().items()}
    GridSearchCV(forest, grid, cv=2).fit(X, y)


def test_estimators_may_be_cut(classes):
    X, y = classes
    forest = ObliqueForestClassifier(6, random_state=0).fit(X, y)
    forest.predict(X)
    forest.estimators_ = forest.estimators_[:1]
    np.testing.assert_array_equal(forest.predict_proba(X), forest.estimators_[0].predict_proba(X))


def test_progress_bar(classes, capsys):
    X, y = classes
    ObliqueForestClassifier(3, random_state=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    ObliqueForestClassifier(3, splitter="axis", random_state=0, verbose=1).fit(X, y)
    assert "3/3" in capsys.readouterr().err


def test_probabilities_are_useful(classes):
    X, y = classes
    forest = ObliqueForestClassifier(60, random_state=0).fit(X[:200], y[:200])
    assert log_loss(y[200:], forest.predict_proba(X[200:])) < np.log(3)
