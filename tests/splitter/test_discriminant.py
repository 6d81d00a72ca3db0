"""Directions of linear models against NumPy and SciPy, and what the splitter falls back to."""

import numpy as np
import pytest
from scipy import optimize, sparse

from obtree import ObliqueForestClassifier, ObliqueForestRegressor
from obtree.data.dataset import Dataset
from obtree.splitter import DiscriminantSplitter
from obtree.testing.growth import bind_criterion, find_differences, grow_tree
from obtree.testing.probe import propose_splits

METHODS = ["ridge", "lda", "logistic"]


def propose(X, y, splitter, criterion="gini", weight=None, **options):
    """The plane of one node as a vector of weights, and its threshold."""
    (found,) = propose_splits(
        Dataset(X, keep_rows=True),
        bind_criterion(criterion, y),
        splitter,
        np.arange(len(y)),
        np.ones(len(y)) if weight is None else weight,
        max_features=X.shape[1],
        **options,
    )
    direction = np.zeros(X.shape[1])
    direction[found[0]] = found[1]
    return direction, found[2]


def draw_classes(seed, n=300, n_features=4):
    """Two classes, correlated features of different scales."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) @ rng.normal(size=(n_features, n_features))
    y = (X @ rng.normal(size=n_features) + rng.normal(size=n) > 0).astype(int)
    X = (X * np.logspace(-2, 3, n_features) + 100).astype(np.float32)
    return X, y, rng.random(n) + 0.5


def standardise(X, weight):
    X = X.astype(float)
    mean = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    return (X - mean) / scale, scale


def fit_reference(method, X, y, weight, alpha):
    Z, scale = standardise(X, weight)
    n_features = Z.shape[1]
    if method == "logistic":

        def loss(beta):
            eta = Z @ beta[1:] + beta[0]
            losses = np.logaddexp(0, -np.where(y == 1, eta, -eta))
            return np.average(losses, weights=weight) + 0.125 * alpha * beta[1:] @ beta[1:]

        return optimize.minimize(loss, np.zeros(n_features + 1), tol=1e-12).x[1:] / scale
    W = weight / weight.sum()
    scatter = (Z * W[:, None]).T @ Z
    cross = Z.T @ (W * (y - np.average(y, weights=weight)))
    if method == "lda":
        for c in (0, 1):
            mean = np.average(Z[y == c], axis=0, weights=W[y == c])
            scatter -= W[y == c].sum() * np.outer(mean, mean)
    return np.linalg.solve(scatter + alpha * np.eye(n_features), cross) / scale


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_directions(method, alpha, seed):
    X, y, weight = draw_classes(seed)
    splitter = DiscriminantSplitter(method, n_terms=4, n_candidates=1, alpha=alpha, axis=False)
    found, _ = propose(X, y, splitter, weight=weight)
    expected = fit_reference(method, X, y, weight, alpha) * standardise(X, weight)[1]
    found = found * standardise(X, weight)[1]
    cosine = found @ expected / np.linalg.norm(found) / np.linalg.norm(expected)
    # Newton's steps end early: another decimal of the loss changes no tree.
    assert abs(cosine) > (0.995 if method == "logistic" else 1 - 1e-9)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_ridge_on_real_targets(n_outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = np.repeat((X @ [1.0, -2.0, 0.5])[:, None], n_outputs, axis=1)
    splitter = DiscriminantSplitter(n_terms=3, n_candidates=1, alpha=1e-6, axis=False)
    direction, _ = propose(X, y, splitter, "squared_error")
    np.testing.assert_allclose(direction / direction[0], [1.0, -2.0, 0.5], rtol=1e-4)


def test_random_groups_of_classes():
    # With four classes in the corners of a square, different groupings ask for different cuts.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = (np.c_[y % 2, y // 2] * 4 + rng.normal(size=(400, 2))).astype(np.float32)
    results = propose_splits(
        Dataset(X, keep_rows=True),
        bind_criterion("gini", y),
        DiscriminantSplitter(n_terms=2, n_candidates=1, axis=False),
        np.arange(400),
        np.ones(400),
        max_features=2,
        repeats=100,
    )
    angles = {round(float(np.arctan2(*weight[::-1]) % np.pi), 1) for _, weight, *_ in results}
    assert len(angles) >= 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", ["entropy", "squared_error", "absolute_error", "poisson"])
def test_trees_grow_until_pure(method, criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)).astype(np.float32)
    y = rng.integers(0, 3, (120, 2)) if criterion == "entropy" else rng.gamma(1, size=(120, 2))
    tree = grow_tree(X, y, criterion, splitter=DiscriminantSplitter(method), max_features=2)
    leaves = tree.children_left < 0
    assert np.all(tree.impurity[leaves] < 1e-12)
    assert np.diff(tree.term_ptr)[~leaves].max() > 1


def test_features_with_missing_values_are_left_to_axis_splits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    X[rng.random(200) < 0.5, 0] = np.nan
    y = (np.nan_to_num(X[:, 0]) + X[:, 1] + X[:, 2] > 0).astype(int)
    tree = grow_tree(X, y, splitter="discriminant")
    for node in np.flatnonzero(tree.children_left >= 0):
        terms = tree.term_feature[tree.term_ptr[node] : tree.term_ptr[node + 1]]
        if node == 0:
            assert 0 not in terms or len(terms) == 1
    X[:3] = np.nan
    tree = grow_tree(X[:10], y[:10], splitter=DiscriminantSplitter(axis=False))
    assert np.diff(tree.term_ptr).max() == 1


@pytest.mark.parametrize("method", METHODS)
def test_sparse_equals_dense(method):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((150, 6)) < 0.6, 0, rng.normal(size=(150, 6))).astype(np.float32)
    y = rng.integers(0, 3, 150)
    splitter = DiscriminantSplitter(method)
    dense, other = (grow_tree(table, y, splitter=splitter) for table in (X, sparse.csr_array(X)))
    assert find_differences(dense, other) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_scales_by_powers_of_two_change_nothing_else(method, criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)).astype(np.float32)
    y = rng.integers(0, 3, 150) if criterion == "gini" else rng.normal(size=150)
    scale = np.exp2([-60.0, 0.0, 13.0, 70.0])
    splitter = DiscriminantSplitter(method)
    one = grow_tree(X, y, criterion, splitter=splitter)
    other = grow_tree((X * scale).astype(np.float32), y, criterion, splitter=splitter)
    single = np.diff(one.term_ptr) == 1
    assert find_differences(one, other, ignore=("threshold", "term_weight")) == []
    np.testing.assert_array_equal(other.threshold[~single], one.threshold[~single])
    oblique = np.repeat(~single, np.diff(one.term_ptr))
    np.testing.assert_array_equal(
        other.term_weight[oblique] * scale[other.term_feature[oblique]], one.term_weight[oblique]
    )


def test_an_axis_split_competes():
    # A step of one feature that a linear fit to it sees as a slope.
    rng = np.random.default_rng(0)
    X = rng.random((300, 2)).astype(np.float32)
    y = np.where((X[:, 0] > 0.45) & (X[:, 0] < 0.55), 10.0, 0.1 * X[:, 1])
    with_axis, without = (
        grow_tree(X, y, "squared_error", splitter=DiscriminantSplitter(axis=axis), max_depth=2)
        for axis in (True, False)
    )
    loss = [tree.impurity[tree.children_left < 0].max() for tree in (with_axis, without)]
    assert loss[0] < loss[1]


def test_forests_gain_over_axis_splits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    latent = X @ rng.normal(size=8)
    train, test = slice(400), slice(400, None)
    for make, y in (
        (ObliqueForestClassifier, (latent > 0).astype(int)),
        (ObliqueForestRegressor, latent),
    ):
        score = {
            splitter: make(20, splitter=splitter, random_state=0)
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for splitter in ("axis", "discriminant")
        }
        assert score["discriminant"] > score["axis"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "qda"}, "unknown method 'qda'; expected one of"),
        ({"n_terms": 0}, "n_terms=0 is not valid; expected None or an integer >= 1"),
        ({"n_candidates": 1.5}, "n_candidates=1.5 is not valid"),
        ({"alpha": 0}, "alpha=0 is not valid; expected a number >= 1e-06"),
        ({"alpha": "much"}, "alpha='much' is not valid"),
        ({"axis": 1}, "axis=1 is not valid; expected True or False"),
    ],
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        DiscriminantSplitter(**params)
    with pytest.raises(ValueError, match=message):
        DiscriminantSplitter().set_params(**params)


def test_parameters_travel():
    splitter = DiscriminantSplitter("lda", n_terms=3, alpha=0.5)
    assert splitter.clone() == splitter
    assert splitter.get_params() == {
        "method": "lda",
        "n_terms": 3,
        "n_candidates": 3,
        "alpha": 0.5,
        "axis": True,
    }
    forest = ObliqueForestClassifier(splitter="discriminant")
    forest.set_params(splitter__method="logistic")
    assert forest.splitter == DiscriminantSplitter("logistic")
