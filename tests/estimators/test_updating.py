"""Leaves that go on learning: statistics of rows that come in parts are those of a fit."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOTreeRegressor,
    load_model,
    save_model,
)
from obtree.criterion.classes import Entropy
from obtree.criterion.registry import CLASSIFICATION
from obtree.tree.update import NUMBER_CRITERIA

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + 0.7 * RNG.normal(size=200) > 0).astype(int) + (X[:, 1] > 1)
NUMBERS = np.exp(X[:, 0] + 0.3 * RNG.normal(size=200))
TREE = {"max_leaf_nodes": 12, "random_state": 0}


def assert_same_statistics(found, known):
    """Compare all nodes of two trees of the same splits."""
    np.testing.assert_array_equal(found.children_left, known.children_left)
    np.testing.assert_array_equal(found.threshold, known.threshold)
    np.testing.assert_array_equal(found.n_node_samples, known.n_node_samples)
    np.testing.assert_allclose(found.weighted_n_node_samples, known.weighted_n_node_samples)
    np.testing.assert_allclose(found.value, known.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.impurity, known.impurity, rtol=1e-9, atol=1e-12)


def split_in_two(estimator, rows, y, weight=None, **options):
    """Fit on all rows, forget them, and learn them again in two parts."""
    weight = np.ones(len(y)) if weight is None else weight
    estimator.fit(rows, y, weight)
    half = len(y) // 2
    known = [tree.tree_ for tree in getattr(estimator, "estimators_", [estimator])]
    estimator.update_leaves(rows[:half], y[:half], weight[:half], keep=0.0, **options)
    estimator.update_leaves(rows[half:], y[half:], weight[half:], **options)
    return [tree.tree_ for tree in getattr(estimator, "estimators_", [estimator])], known


@pytest.mark.parametrize("criterion", CLASSIFICATION)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_two_parts_are_one_fit_for_classes(criterion, n_outputs):
    y = Y if n_outputs == 1 else np.stack([Y, X[:, 2] > 0], axis=1)
    tree = ObliqueTreeClassifier(criterion=criterion, **TREE)
    (found,), (known,) = split_in_two(tree, X, y)
    assert_same_statistics(found, known)
    np.testing.assert_array_equal(found.value, known.value)


@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_two_parts_are_one_fit_for_numbers(criterion, n_outputs):
    y = NUMBERS if n_outputs == 1 else np.stack([NUMBERS, np.abs(X[:, 2])], axis=1)
    tree = ObliqueTreeRegressor(criterion=criterion, **TREE)
    (found,), (known,) = split_in_two(tree, X, y)
    assert_same_statistics(found, known)


def test_a_large_offset_of_targets_loses_no_digits():
    y = 1e8 + NUMBERS
    tree = ObliqueTreeRegressor(**TREE)
    (found,), (known,) = split_in_two(tree, X, y)
    np.testing.assert_allclose(found.value - 1e8, known.value - 1e8, atol=1e-6)
    np.testing.assert_allclose(found.impurity, known.impurity, rtol=1e-5, atol=1e-9)


@given(
    seed=st.integers(0, 10_000),
    classifies=st.booleans(),
    whole=st.booleans(),
    n_outputs=st.integers(1, 2),
    splitter=st.sampled_from(["axis", "random_oblique", "discriminant"]),
)
def test_training_rows_give_back_the_statistics(seed, classifies, whole, n_outputs, splitter):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, size=40) if whole else rng.random(40)
    weight = weight.astype(float)
    weight[0] = 1.0
    y = rng.integers(0, 3, size=(40, n_outputs)) if classifies else rng.normal(size=(40, n_outputs))
    y = y[:, 0] if n_outputs == 1 else y
    kind = ObliqueForestClassifier if classifies else ObliqueForestRegressor
    balance = {"class_weight": "balanced"} if classifies and seed % 2 else {}
    bags = bool(seed % 3)
    forest = kind(3, splitter=splitter, bootstrap=bags, random_state=seed, **balance)
    forest.fit(rows, y, weight)
    known = [tree.tree_ for tree in forest.estimators_]
    before = forest.predict(rows)
    forest.update_leaves(rows, y, weight, keep=0.0, in_bag=bags)
    for found, tree in zip(forest.estimators_, known, strict=True):
        assert_same_statistics(found.tree_, tree)
    if whole and classifies and not balance:
        np.testing.assert_array_equal(forest.predict(rows), before)


def test_bags_balanced_in_each_tree():
    forest = ObliqueForestClassifier(
        4, splitter="axis", class_weight="balanced_subsample", max_depth=3, random_state=0
    ).fit(X, Y)
    known = [tree.tree_ for tree in forest.estimators_]
    forest.update_leaves(X, Y, keep=0.0, in_bag=True)
    for found, tree in zip(forest.estimators_, known, strict=True):
        assert_same_statistics(found.tree_, tree)


@given(seed=st.integers(0, 1000))
def test_weights_are_repetition(seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, size=50).astype(float)
    weight[0] = 1.0
    rows, y, numbers = rng.normal(size=(50, 4)), rng.integers(0, 3, 50), rng.normal(size=50)
    again = np.repeat(np.arange(50), weight.astype(int))
    for tree, target in (
        (ObliqueTreeClassifier(**TREE), Y),
        (ObliqueTreeRegressor(**TREE), NUMBERS),
    ):
        new = y if target is Y else numbers
        tree.fit(X, target)
        one = pickle.loads(pickle.dumps(tree)).update_leaves(rows, new, weight).tree_
        two = tree.update_leaves(rows[again], new[again]).tree_
        np.testing.assert_allclose(one.value, two.value, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(one.impurity, two.impurity, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(one.weighted_n_node_samples, two.weighted_n_node_samples)


@pytest.mark.parametrize("keep", [0.0, 0.3, 1.0])
def test_nodes_against_a_plain_reference(keep):
    """Every node by the rows that pass it, old ones weighed by `keep`."""
    tree = ObliqueTreeClassifier(**TREE).fit(X[:120], Y[:120])
    path = tree.decision_path(X).toarray().astype(bool)
    tree.update_leaves(X[120:], Y[120:], keep=keep)
    found = tree.tree_
    weight = np.where(np.arange(200) < 120, keep, 1.0)
    for node in range(found.node_count):
        rows = path[:, node] & (weight > 0)
        sums = np.bincount(Y[rows], weight[rows], minlength=3)
        assert found.n_node_samples[node] == rows.sum()
        np.testing.assert_allclose(found.weighted_n_node_samples[node], sums.sum())
        if rows.any():
            fractions = sums / sums.sum()
            np.testing.assert_allclose(found.value[node, 0], fractions, atol=1e-12)
            np.testing.assert_allclose(found.impurity[node], 1 - (fractions**2).sum(), atol=1e-12)


def test_nodes_without_rows_predict_what_those_above_do():
    tree = ObliqueTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    tree.update_leaves(X[:1], Y[:1], keep=0.0)
    np.testing.assert_array_equal(tree.predict(X), np.full(200, Y[0]))
    assert tree.tree_.n_node_samples.min() == 0
    assert tree.update_leaves(X, Y).tree_.n_node_samples[0] == 201
    assert np.isfinite(tree.feature_importances_).all()


def test_threads_sparse_rows_and_large_integers():
    rows = np.round(X * 100).astype(np.int64)
    far = rows + 2**40
    for table in (rows.astype(float), far):
        forest = ObliqueForestClassifier(8, splitter="random_oblique", max_depth=4, random_state=0)
        forest.fit(table[:100], Y[:100])
        other = pickle.loads(pickle.dumps(forest)).set_params(n_jobs=2)
        forest.update_leaves(table[100:], Y[100:])
        other.update_leaves(table[100:], Y[100:])
        np.testing.assert_array_equal(forest.predict_proba(table), other.predict_proba(table))
    thin = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    tree = ObliqueTreeClassifier(**TREE).fit(thin[:100], Y[:100])
    dense = pickle.loads(pickle.dumps(tree)).update_leaves(thin[100:].toarray(), Y[100:])
    tree.update_leaves(thin[100:], Y[100:])
    np.testing.assert_array_equal(tree.tree_.value, dense.tree_.value)


def test_models_are_saved_with_what_they_have_learnt(tmp_path):
    forest = ObliqueForestRegressor(3, splitter="axis", random_state=0).fit(X[:100], NUMBERS[:100])
    forest.update_leaves(X[100:], NUMBERS[100:], keep=0.5)
    save_model(forest, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))
    loaded.update_leaves(X, NUMBERS)
    forest.update_leaves(X, NUMBERS)
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))


def test_estimates_of_the_fit_are_removed():
    forest = ObliqueForestClassifier(20, splitter="axis", oob_score=True, random_state=0)
    forest.fit(X, Y)
    trees = forest.estimators_
    assert forest.update_leaves(X, Y) is forest
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")
    # The trees of the fit are as they were, for whoever still has them.
    assert trees[0].tree_.weighted_n_node_samples[0] == 200
    assert forest.estimators_[0].tree_.weighted_n_node_samples[0] == 400


def test_distributions_are_those_of_the_rows_of_the_fit():
    forest = ObliqueForestRegressor(5, splitter="axis", random_state=0).fit(X, NUMBERS)
    assert forest.predict(X[:3], quantiles=[0.1, 0.9]).shape == (3, 2)
    forest.update_leaves(X, NUMBERS)
    with pytest.raises(ValueError, match="after update_leaves"):
        forest.predict(X[:3], quantiles=[0.1, 0.9])
    with pytest.raises(ValueError, match="until update_leaves"):
        forest.proximity(X, kind="oob")
    assert forest.proximity(X[:3]).shape == (3, 3)
    assert forest.fit(X, NUMBERS).predict(X[:3], quantiles=0.5).shape == (3,)


def test_a_mixture_of_settings_goes_on():
    forest = ObliqueForestClassifier(10, splitter=["axis", "random_oblique"], random_state=0)
    forest.fit(X[:100], Y[:100])
    counts = [tree.tree_.n_node_samples[0] for tree in forest.estimators_]
    forest.update_leaves(X[100:], Y[100:])
    assert [tree.tree_.n_node_samples[0] - 100 for tree in forest.estimators_] == counts
    with pytest.raises(ValueError, match="in_bag=True needs trees that all draw alike"):
        forest.update_leaves(X, Y, in_bag=True)


def test_more_rows_help():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(3000, 4))
    y = (rows[:, 0] * rows[:, 1] + 0.3 * rng.normal(size=3000) > 0).astype(int)
    forest = ObliqueForestClassifier(20, splitter="axis", random_state=0).fit(rows[:300], y[:300])
    before = forest.score(rows[2000:], y[2000:])
    assert forest.update_leaves(rows[300:2000], y[300:2000]).score(rows[2000:], y[2000:]) > before


CLASS_TREE = ObliqueTreeClassifier(**TREE).fit(X, Y)
NUMBER_TREE = ObliqueTreeRegressor(**TREE).fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CLASS_TREE.update_leaves(X, Y + 1), r"not seen: \[3\]; expected labels among"),
        (lambda: CLASS_TREE.update_leaves(X, Y.astype(str)), r"not seen: \['0', '1', '2'\]"),
        (lambda: CLASS_TREE.update_leaves(X, np.stack([Y, Y], 1)), "y has 2 outputs; expected 1"),
        (lambda: NUMBER_TREE.update_leaves(X, np.stack([Y, Y], 1)), "y has 2 outputs; expected 1"),
        (lambda: CLASS_TREE.update_leaves(X[:, :2], Y), "2 features"),
        (lambda: CLASS_TREE.update_leaves(X, Y[:5]), "5 entries"),
        (lambda: CLASS_TREE.update_leaves(X[:0], Y[:0]), "0 (rows|sample)"),
        (lambda: CLASS_TREE.update_leaves(X, Y, keep=-1), "keep=-1 is not valid"),
        (lambda: CLASS_TREE.update_leaves(X, Y, keep=1.5), "keep=1.5 is not valid"),
        (lambda: CLASS_TREE.update_leaves(X, Y, np.zeros(200)), "sum to 0.0"),
        (lambda: CLASS_TREE.update_leaves(X, Y, -np.ones(200)), "Negative"),
        (lambda: CLASS_TREE.update_leaves(X * np.inf, Y), "infinity"),
        (lambda: NUMBER_TREE.update_leaves(X, NUMBERS * np.nan), "NaN"),
        (lambda: ObliqueTreeClassifier().update_leaves(X, Y), "not fitted"),
    ],
)
def test_bad_input(call, message):
    before = CLASS_TREE.tree_, NUMBER_TREE.tree_
    with pytest.raises(ValueError, match=message):
        call()
    assert (CLASS_TREE.tree_, NUMBER_TREE.tree_) == before


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (ObliqueTreeRegressor(criterion="absolute_error"), NUMBERS, "'absolute_error'.*no sums"),
        (ObliqueTreeRegressor(leaf="linear", max_depth=2), NUMBERS, "linear leaves"),
        (ObliqueTreeRegressor(monotonic_cst=[1, 0, 0, 0]), NUMBERS, "monotonic_cst"),
    ],
)
def test_what_cannot_be_updated(estimator, y, message):
    estimator.set_params(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        estimator.update_leaves(X, y)


def test_sharpened_targets_cannot_go_on(tmp_path):
    rows = np.random.default_rng(0).random((300, 2))
    y = np.sin(6 * rows[:, 0]) * np.cos(6 * rows[:, 1])
    forest = ObliqueForestRegressor(12, random_state=0).fit(rows, y)
    assert any(name.endswith(", sharpened") for name in forest.race_["setting"])
    save_model(forest, tmp_path / "model")
    for model in (forest, load_model(tmp_path / "model")):
        with pytest.raises(ValueError, match="sharpened targets"):
            model.update_leaves(rows, y)


def test_chains_and_refined_trees_cannot_be_updated():
    forest = ObliqueForestRegressor(3, splitter="axis", random_state=0).fit(X, NUMBERS)
    forest.chains_ = [forest.estimators_]
    with pytest.raises(ValueError, match="1 boosted chains"):
        forest.update_leaves(X, NUMBERS)
    forest.chains_ = []
    refined = TAOTreeRegressor(max_depth=2, random_state=0).fit(X, NUMBERS)
    forest.estimators_ = [refined, *forest.estimators_]
    with pytest.raises(ValueError, match="a TAOTreeRegressor"):
        forest.update_leaves(X, NUMBERS)


def test_negative_counts_are_refused_for_poisson():
    tree = ObliqueTreeRegressor(criterion="poisson", **TREE).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="needs y >= 0"):
        tree.update_leaves(X, -NUMBERS)


def test_a_criterion_given_as_a_class():
    tree = ObliqueTreeClassifier(criterion=Entropy, **TREE)
    (found,), (known,) = split_in_two(tree, X, Y)
    assert_same_statistics(found, known)
