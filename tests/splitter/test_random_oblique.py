"""Random oblique splits: how directions are drawn, and that the best cut is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.data.dataset import Dataset
from obtree.splitter import RandomObliqueSplitter
from obtree.testing.growth import bind_criterion, find_differences, grow_tree
from obtree.testing.probe import propose_splits
from obtree.testing.reference import list_axis_splits, project, rate_split

WEIGHTS = ["sign", "uniform", "gaussian", "power_of_two"]


def propose(X, y, *, repeats=1, max_features=1, seed=0, criterion="gini", rows=None, **params):
    n = X.shape[0]
    return propose_splits(
        Dataset(X, keep_rows=True),
        bind_criterion(criterion, y),
        RandomObliqueSplitter(**params),
        np.arange(n) if rows is None else rows,
        np.ones(n),
        max_features=max_features,
        repeats=repeats,
        seed=seed,
    )


def draw_problem(seed, n=30, p=6, missing=0.0, decimals=2):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, p)), decimals).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return rng, X, rng.integers(0, 3, n)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(
    seed=st.integers(0, 2**32 - 1),
    missing=st.sampled_from([0.0, 0.2]),
    decimals=st.integers(0, 2),
    criterion=st.sampled_from(["gini", "entropy", "squared_error"]),
)
def test_threshold_is_the_best_of_its_direction(weights, kind, seed, missing, decimals, criterion):
    _, X, y = draw_problem(seed, missing=missing, decimals=decimals)
    table = sparse.csr_array(X) if kind == "sparse" else X
    n_classes = [3] if criterion != "squared_error" else None
    y = y if n_classes else y.astype(float)
    (found,) = propose(table, y, seed=seed, criterion=criterion, weights=weights)
    if found is None:
        return
    feature, weight, threshold, missing_left, rank_cut, _ = found
    assert rank_cut == -1
    assert len(set(feature)) == len(feature)
    score = np.array([project(feature, weight, x) for x in X])
    left = np.where(np.isnan(score), missing_left, score <= threshold)
    w, y = np.ones(len(y)), y[:, None]
    splits = list_axis_splits(criterion, score[:, None], y, w, n_classes)
    best = max(quality for quality, *_ in splits)
    assert rate_split(criterion, y, w, left, n_classes) >= best - 1e-9


@pytest.mark.parametrize("mean", [1, 1.5, 2, 3.7, 8, 20])
def test_number_of_terms(mean):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 8)).astype(np.float32)
    found = propose(X, rng.integers(0, 2, 12), repeats=4000, feature_combinations=mean)
    sizes = np.array([len(feature) for feature, *_ in found])
    expected = min(mean, 8)
    assert sizes.min() >= 1
    assert abs(sizes.mean() - expected) < 0.1
    # One more than a binomial number.
    assert abs(sizes.var() - (expected - 1) * (8 - expected) / 7) < 0.15
    counts = np.bincount(np.concatenate([feature for feature, *_ in found]), minlength=8)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights(weights):
    rng = np.random.default_rng(0)
    X = np.linspace(-1, 1, 40, dtype=np.float32)[:, None] * np.ones(3, dtype=np.float32)
    X += rng.normal(size=X.shape) * 1e-3
    found = propose(X, rng.integers(0, 2, 40), repeats=3000, weights=weights, dense=True)
    terms = np.array([weight for _, weight, *_ in found])
    assert np.all(terms[:, 0] > 0)
    assert np.all(terms != 0)
    # The distance between the quartiles is about 1, and so is the scale.
    if weights == "sign":
        assert set(np.abs(terms).ravel()) == {1.0}
    elif weights == "uniform":
        assert stats.kstest(np.abs(terms[:, 1]), "uniform").pvalue > 1e-4
    elif weights == "gaussian":
        assert stats.kstest(terms[:, 1], "norm").pvalue > 1e-4
    else:
        exponents = np.log2(np.abs(terms[:, 1:]))
        np.testing.assert_array_equal(exponents, np.round(exponents))
        # Relative to the first weight, which is made 1.
        assert np.all(np.abs(exponents) <= 6)
        assert np.all(terms[:, 0] == 1.0)
    assert 0.45 < np.mean(terms[:, 1] > 0) < 0.55


def test_single_terms_are_axis_splits():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 4)) * [1, 100, 1e-3, 1e6]).astype(np.float32)
    for _, weight, *_ in propose(X, rng.integers(0, 2, 30), repeats=50, feature_combinations=1):
        assert weight.tolist() == [1.0]


def test_constants_do_not_count_and_are_handed_down():
    rng = np.random.default_rng(0)
    X = np.full((50, 300), 2.0, dtype=np.float32)
    X[:, [7, 8]] = rng.normal(size=(50, 2))
    y = rng.integers(0, 2, 50)
    for seed in range(5):
        (found,) = propose(X, y, seed=seed, max_features=2, feature_combinations=1)
        assert set(found[0]) <= {7, 8}
        assert found[-1] >= 0
        tree = grow_tree(X, y, splitter="random_oblique", max_features=1, seeds=[seed])
        assert np.all(tree.impurity[tree.children_left < 0] == 0.0)


def test_few_possible_directions():
    # One feature: a single direction, however many are asked for.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1)).astype(np.float32)
    assert len(propose(X, rng.integers(0, 2, 20), max_features=1000)[0][0]) == 1
    assert propose(np.ones((5, 3), dtype=np.float32), [0, 1, 0, 1, 1], max_features=4) == [None]


def test_every_direction_of_two_features_is_found():
    # x + y and x - y: with more draws than directions, the best one every time.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1)).astype(np.float32)
    X = np.c_[X, rng.permutation(X)]  # of the same scale
    y = (X[:, 0] - X[:, 1] > 0.1).astype(int)
    for feature, weight, *_ in propose(X, y, max_features=4, repeats=50):
        assert feature.tolist() == [0, 1]
        assert weight[0] == -weight[1]


@pytest.mark.parametrize("dense", [False, True])
def test_random_thresholds(dense):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    X[:5, 0] = np.nan
    found = propose(X, rng.integers(0, 2, 40), repeats=500, threshold="random", dense=dense)
    sides = set()
    for feature, weight, threshold, missing_left, *_ in found:
        score = np.array([project(feature, weight, x) for x in X])
        assert np.nanmin(score) <= threshold < np.nanmax(score)
        if np.isnan(score).any():
            sides.add(missing_left)
    assert sides == {False, True}


def test_random_thresholds_separate_missing_from_present():
    X = np.array([[5.0], [np.nan], [5.0]], dtype=np.float32)
    ((_, _, threshold, missing_left, *_),) = propose(X, [0, 1, 0], threshold="random")
    assert threshold == np.finfo(float).max
    assert not missing_left


@given(
    seed=st.integers(0, 2**32 - 1), powers=st.lists(st.integers(-30, 30), min_size=4, max_size=4)
)
def test_features_of_any_scale(seed, powers):
    _, X, y = draw_problem(seed, n=60, p=4)
    options = {"splitter": "random_oblique", "seeds": [seed], "max_features": 3}
    one = grow_tree(X, y, **options)
    scale = np.exp2(powers).astype(np.float32)
    other = grow_tree(X * scale, y, **options)
    assert find_differences(one, other, ignore=("threshold", "term_weight")) == []


@given(seed=st.integers(0, 2**32 - 1))
def test_whole_numbers_take_another_way_to_the_same_tree(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (80, 5)).astype(np.uint8)
    y = rng.integers(0, 3, 80)
    options = {"splitter": "random_oblique", "seeds": [seed], "max_features": 4}
    fast = grow_tree(X, y, **options)
    # Sparse columns are projected in float64.
    assert find_differences(fast, grow_tree(sparse.csr_array(X.astype("f")), y, **options)) == []


def test_max_features_may_exceed_the_number_of_features():
    _, X, y = draw_problem(0, n=50, p=3)
    for max_features in (40, 5.0):
        forest = ObliqueForestClassifier(3, splitter="random_oblique", max_features=max_features)
        assert forest.fit(X, y).max_features_ == {40: 40, 5.0: 15}[max_features]
    with pytest.raises(ValueError, match="max_features=40"):
        ObliqueTreeClassifier(max_features=40).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"feature_combinations": 0.5}, "feature_combinations=0.5.*a number >= 1"),
        ({"feature_combinations": "2"}, "feature_combinations='2'"),
        ({"feature_combinations": float("nan")}, "feature_combinations=nan"),
        ({"weights": "signs"}, "Did you mean 'sign'"),
        ({"dense": 1}, "dense=1"),
        ({"threshold": None}, "threshold"),
        ({"two_sided": True, "threshold": "random"}, "two_sided=True.*threshold='best'"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        RandomObliqueSplitter(**params)


def test_parameters_reach_every_thread():
    _, X, y = draw_problem(0, n=80)
    forest = ObliqueForestClassifier(
        4, splitter=RandomObliqueSplitter(feature_combinations=1), random_state=0, n_jobs=2
    ).fit(X, y)
    for tree in forest.estimators_:
        assert np.all(np.diff(tree.tree_.term_ptr) <= 1)
    assert forest.get_params()["splitter__feature_combinations"] == 1


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_zero_weights_equal_absent_rows(criterion):
    # Scales come from the rows that an estimator keeps, which are those with a weight.
    rng, X, y = draw_problem(0, n=100, missing=0.1)
    weight = rng.integers(0, 3, 100).astype(float)
    options = {"splitter": "random_oblique", "criterion": criterion, "random_state": 0}
    weighted = ObliqueTreeClassifier(**options).fit(X, y, weight)
    kept = weight > 0
    absent = ObliqueTreeClassifier(**options).fit(X[kept], y[kept], weight[kept])
    assert find_differences(weighted.tree_, absent.tree_) == []


@pytest.mark.parametrize("kind", ["float32", "uint8"])
def test_two_sided_nodes_cut_out_a_layer(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (300, 2))
    y = (np.abs(X.sum(axis=1) - 100) < 30).astype(int)
    X = X.astype(kind)
    options = {"max_features": 16, "max_depth": 1, "random_state": 0}
    splitter = RandomObliqueSplitter(two_sided=True)
    tree = ObliqueTreeClassifier(splitter=splitter, **options).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.tree_.term_feature.tolist() == [0, 1]
    root = X[y == 1].sum(axis=1) * tree.tree_.term_weight[0]
    inside = (tree.tree_.lower_threshold[0] < root) & (root <= tree.tree_.threshold[0])
    assert inside.all() or not inside.any()
    plain = ObliqueTreeClassifier(splitter="random_oblique", **options).fit(X, y)
    assert plain.score(X, y) < 0.9


def test_two_sided_must_be_a_flag():
    with pytest.raises(TypeError, match="two_sided=1 is not valid; expected True or False"):
        RandomObliqueSplitter(two_sided=1)
