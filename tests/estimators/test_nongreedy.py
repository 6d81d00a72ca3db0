"""Non-greedy trees and forests."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

from obtree import (
    NonGreedyForestClassifier,
    NonGreedyForestRegressor,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)

SMALL = {"n_epochs": 3, "max_depth": 4, "random_state": 0}
CLASSIFIERS = [NonGreedyTreeClassifier(**SMALL), NonGreedyForestClassifier(3, **SMALL)]
REGRESSORS = [NonGreedyTreeRegressor(**SMALL), NonGreedyForestRegressor(3, **SMALL)]
QUICK = {"n_epochs": 2, "max_depth": 3}

# Rows are shuffled into batches: repeated rows meet others than weighted ones do.
WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "batches hold rows, not weights"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks(
    [
        NonGreedyTreeClassifier(**QUICK),
        NonGreedyTreeRegressor(**QUICK, stable=True),
        NonGreedyForestClassifier(2, **QUICK, n_jobs=2),
        NonGreedyForestRegressor(2, **QUICK, init="axis", inference="full"),
    ],
    expected_failed_checks=lambda model: {} if hasattr(model, "class_weight") else WEIGHTS,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=CLASSIFIERS + REGRESSORS, ids=lambda e: type(e).__name__)
def model(request):
    return clone(request.param)


def list_trees(model):
    return [tree.tree_ for tree in getattr(model, "estimators_", [model])]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("depth", [5, 12])
def test_a_tree_is_better_than_its_start(digits, depth):
    X, y = digits
    gains = []
    for seed in range(4):
        start = ObliqueTreeClassifier(criterion="entropy", max_depth=depth, random_state=seed).fit(
            X[:1200], y[:1200]
        )
        tree = NonGreedyTreeClassifier(init="axis", max_depth=depth, random_state=seed)
        tree.fit(X[:1200], y[:1200])
        same = NonGreedyTreeClassifier(init=start, random_state=seed).fit(X[:1200], y[:1200])
        np.testing.assert_array_equal(tree.tree_.threshold, same.tree_.threshold)
        gains.append(tree.score(X[1200:], y[1200:]) - start.score(X[1200:], y[1200:]))
    assert np.mean(gains) > 0.04


@pytest.mark.parametrize("params", [{"inference": "full"}, {"stable": True}, {"init": "axis"}])
def test_variants_lower_the_loss_of_a_poor_start(digits, params):
    X, y = digits
    tree = NonGreedyTreeClassifier(max_depth=4, random_state=0, **{"init": "axis"} | params)
    tree.fit(X, y)
    assert tree.objective_[-1] < tree.objective_[0]
    assert len(tree.objective_) == tree.n_epochs + 1


def test_an_optimised_tree_routes_rows_as_it_has_counted_them(model, classes):
    X, y = classes
    X = X.copy()
    X[::7, 2] = np.nan
    model.fit(X, y)
    leaves = np.reshape(model.apply(X), (len(X), -1))
    for tree, found in zip(list_trees(model), leaves.T, strict=True):
        counts = np.bincount(found, minlength=tree.node_count)
        is_leaf = tree.children_left < 0
        np.testing.assert_array_equal(counts[is_leaf], tree.n_node_samples[is_leaf])
        assert tree.n_node_samples[0] == len(X)


def test_columns_with_missing_values_keep_their_splits(classes):
    X, y = classes
    X = X.copy()
    X[::3, 2] = np.nan
    tree = NonGreedyTreeClassifier(**SMALL).fit(X, y).tree_
    lengths = np.diff(tree.term_ptr)
    for node in np.flatnonzero(lengths > 1):
        assert 2 not in tree.term_feature[tree.term_ptr[node] : tree.term_ptr[node + 1]]
    assert (lengths > 1).any()


def test_nothing_but_missing_values_leaves_the_start(classes):
    X, y = classes
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    start = ObliqueTreeClassifier(splitter="axis", max_depth=4, random_state=0).fit(X, y)
    tree = NonGreedyTreeClassifier(init=start, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), start.predict(X))


def test_results_follow_the_seed_and_not_the_threads(model, classes):
    X, y = classes
    first = clone(model).fit(X, y)
    again = clone(model).set_params(n_jobs=3).fit(X, y)
    other = clone(model).set_params(random_state=1).fit(X, y)
    for one, two in zip(list_trees(first), list_trees(again), strict=True):
        np.testing.assert_array_equal(one.term_weight, two.term_weight)
        np.testing.assert_array_equal(one.threshold, two.threshold)
    assert not np.array_equal(list_trees(first)[0].threshold, list_trees(other)[0].threshold)


def test_rows_of_no_weight_are_absent(model, classes):
    X, y = classes
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    weighed = clone(model).fit(X, y, weight)
    alone = clone(model).fit(X[weight > 0], y[weight > 0])
    for one, two in zip(list_trees(weighed), list_trees(alone), strict=True):
        np.testing.assert_array_equal(one.threshold, two.threshold)


def test_heavy_rows_are_served_better(classes):
    X, y = classes
    weight = np.where(y == 0, 30.0, 1.0)
    plain = NonGreedyTreeClassifier(**SMALL).fit(X, y)
    weighed = NonGreedyTreeClassifier(**SMALL).fit(X, y, weight)
    by_class = NonGreedyTreeClassifier(**SMALL, class_weight={0: 30.0}).fit(X, y)
    assert (weighed.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    np.testing.assert_array_equal(weighed.predict(X), by_class.predict(X))


def test_early_stopping_keeps_the_best_epoch(digits):
    X, y = digits
    tree = NonGreedyTreeClassifier(
        n_epochs=60, learning_rate=3.0, n_iter_no_change=2, max_depth=6, random_state=0
    ).fit(X, y)
    assert 3 <= len(tree.objective_) < 61
    assert tree.tree_.n_node_samples[0] == len(X) - int(np.ceil(0.1 * len(X)))


def test_inactive_leaves_are_counted_and_pruned(digits):
    X, y = digits
    start = ObliqueTreeClassifier(splitter="co2", max_depth=9, random_state=0).fit(X, y)
    params = {"init": start, "learning_rate": 2.0, "n_epochs": 4, "random_state": 0}
    kept = NonGreedyTreeClassifier(prune_inactive=False, **params).fit(X, y)
    pruned = NonGreedyTreeClassifier(**params).fit(X, y)
    is_leaf = kept.tree_.children_left < 0
    n_inactive = int((kept.tree_.n_node_samples[is_leaf] == 0).sum())
    assert n_inactive > 0
    assert kept.n_inactive_leaves_ == pruned.n_inactive_leaves_ == n_inactive
    assert kept.get_n_leaves() == start.get_n_leaves()
    assert pruned.get_n_leaves() == start.get_n_leaves() - n_inactive
    np.testing.assert_array_equal(kept.predict(X), pruned.predict(X))


def test_forests_report_each_tree(classes):
    X, y = classes
    forest = NonGreedyForestClassifier(3, **SMALL).fit(X, y)
    assert forest.n_inactive_leaves_.shape == (3,)
    assert len(forest.objective_) == 3
    for tree, count, curve in zip(
        forest.estimators_, forest.n_inactive_leaves_, forest.objective_, strict=True
    ):
        assert tree.n_inactive_leaves_ == count
        np.testing.assert_array_equal(tree.objective_, curve)
    start = ObliqueForestClassifier(3, splitter="co2", max_depth=4, random_state=0).fit(X, y)
    refined = NonGreedyForestClassifier(3, init=start, random_state=0).fit(X, y)
    for tree, grown in zip(refined.estimators_, start.estimators_, strict=True):
        assert tree.get_n_leaves() + tree.n_inactive_leaves_ == grown.get_n_leaves()
        assert not np.array_equal(tree.apply(X), grown.apply(X))


def test_regression_of_several_outputs():
    X, y = make_regression(600, 6, n_targets=2, noise=5.0, random_state=0)
    y = y * [1.0, 1000.0] + [0.0, 1e6]
    gains = []
    for seed in range(3):
        start = ObliqueTreeRegressor(
            splitter="co2", max_depth=6, min_samples_leaf=5, random_state=seed
        ).fit(X[:400], y[:400])
        tree = NonGreedyTreeRegressor(max_depth=6, random_state=seed).fit(X[:400], y[:400])
        assert tree.predict(X).shape == (600, 2)
        gains.append(tree.score(X[400:], y[400:]) - start.score(X[400:], y[400:]))
    assert np.mean(gains) > 0


def test_scaled_and_shifted_features_change_little(digits):
    X, y = digits
    tree = NonGreedyTreeClassifier(max_depth=5, random_state=0)
    one = tree.fit(X, y).predict(X)
    two = tree.fit(4.0 * X - 8.0, y).predict(4.0 * X - 8.0)
    assert (one == two).mean() > 0.9


def test_the_objective_is_the_log_loss_of_smoothed_leaves(digits):
    X, y = digits
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    start = ObliqueTreeClassifier(splitter="co2", max_depth=4, random_state=0).fit(X, y)
    tree = NonGreedyTreeClassifier(init=start, n_epochs=0).fit(X, y, sample_weight=weight)
    leaf = start.apply(X)
    counts = np.zeros((leaf.max() + 1, 10))
    np.add.at(counts, (leaf, y), weight)
    probability = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 5.0)
    expected = -np.average(np.log(probability[leaf, y]), weights=weight)
    np.testing.assert_allclose(tree.objective_, [expected], rtol=1e-5)


def test_a_tree_without_splits_stays_one():
    X = np.ones((5, 2))
    tree = NonGreedyTreeClassifier().fit(X, [0, 0, 1, 1, 1])
    assert tree.get_n_leaves() == 1
    assert len(tree.objective_) == 1


def test_models_survive_a_file(model, classes, tmp_path):
    X, y = classes
    model.fit(X, y)
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"inference": "slow"}, "inference"),
        ({"nu": 0}, "nu=0"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0"),
        ({"momentum": 1.0}, "momentum=1.0"),
        ({"n_epochs": -1}, "n_epochs=-1"),
        ({"n_epochs": 2.5}, "n_epochs=2.5"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"stable": "yes"}, "stable"),
        ({"prune_inactive": 3}, "prune_inactive"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"init": "conic"}, "init"),
    ],
)
def test_parameters_are_checked(params, message, classes):
    with pytest.raises(ValueError, match=message):
        NonGreedyTreeClassifier(**params).fit(*classes)
