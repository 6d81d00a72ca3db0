"""Linear Gaussian leaves, and what trees and forests predict with them."""

import json
import os
import pickle
import warnings
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeRegressor,
    load_model,
    save_model,
)
from obtree.criterion.linear_gaussian import LinearGaussian
from obtree.estimators.gaussian_mixture import find_quantiles, measure_log_density
from obtree.forest.grow import bootstrap_counts
from obtree.testing.growth import hash_trees
from obtree.testing.probe_team import Observer
from obtree.tree.export import export_text
from obtree.tree.predict import Predictor
from obtree.tree.state import tree_from_state, tree_to_state

LINES = {"criterion": "linear_gaussian", "random_state": 0}
NOISE_ROWS = 5.0


@pytest.fixture(scope="module")
def data():
    return make_friedman1(300, n_features=6, noise=1.0, random_state=0)


@pytest.fixture(scope="module")
def forest(data):
    return ObliqueForestRegressor(8, **LINES).fit(*data)


def fit_leaf(X, y, w, l2, repeats=1.0):
    """What a leaf keeps: mean, coefficients, squares, freedom, covariance without the noise."""
    total = w.sum()
    mean, centre = w @ y / total, w @ X / total
    Z = X - centre
    gram = (Z * w[:, None]).T @ Z
    spread = np.sqrt(np.diag(gram) / total)
    penalty = np.diag((l2 + total / 2.0**30) * spread**2)
    inverse = np.linalg.inv(gram + penalty)
    cross = (Z * w[:, None]).T @ (y - mean)
    beta = inverse @ cross
    squares = w @ (y - mean) ** 2 - cross @ beta
    used = np.trace(inverse @ gram)
    free = max(total - repeats * (1.0 + used), total / 4.0)
    return mean, centre, beta, squares, free, inverse


def predict_slowly(tree, X, y, w, X_new, l2=1.0, repeats=None):
    """Mean and variance of each new row, from the rows of its leaf."""
    repeats = np.ones(len(y)) if repeats is None else repeats
    X, X_new = (np.asarray(part, np.float32).astype(float) for part in (X, X_new))
    leaves, reached = tree.apply(X), tree.apply(X_new)
    fits = {}
    for leaf in np.unique(leaves[w > 0]):
        rows = (leaves == leaf) & (w > 0)
        drawn = w[rows] @ repeats[rows] / w[rows].sum()
        fits[leaf] = (*fit_leaf(X[rows], y[rows], w[rows], l2, drawn), w[rows].sum(), drawn, rows)
    prior = sum(fit[3] for fit in fits.values()) / sum(fit[4] for fit in fits.values())
    mean, variance = np.empty(len(X_new)), np.empty(len(X_new))
    for i, leaf in enumerate(reached):
        centre_y, centre, beta, squares, free, inverse, total, drawn, rows = fits[leaf]
        z = X_new[i] - centre
        low, high = y[rows].min(), y[rows].max()
        margin = 0.25 * (high - low)
        mean[i] = np.clip(centre_y + z @ beta, low - margin, high + margin)
        noise = (squares + NOISE_ROWS * prior) / (free + NOISE_ROWS)
        variance[i] = noise * (1.0 + drawn * (1.0 / total + z @ inverse @ z))
    return mean, variance


def test_leaves_of_a_tree_against_numpy(data):
    X, y = data
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    X_new = make_friedman1(200, n_features=6, random_state=1)[0] * 1.2
    tree = ObliqueTreeRegressor(leaf="linear_gaussian", max_leaf_nodes=6, leaf_l2=3.0)
    tree.fit(X, y, w)
    mean, variance = predict_slowly(tree.tree_, X, y, w, X_new, l2=3.0)
    found, std = tree.predict(X_new, return_std=True)
    np.testing.assert_allclose(found, mean, rtol=1e-7)
    np.testing.assert_allclose(std**2, variance, rtol=1e-6)
    np.testing.assert_array_equal(tree.predict(X_new), found)
    y_new = np.random.default_rng(1).normal(15.0, 5.0, 200)
    np.testing.assert_allclose(
        tree.log_prob(X_new, y_new), norm(found, std).logpdf(y_new), rtol=1e-9
    )


def test_leaves_of_a_bootstrap_against_numpy(data):
    X, y = data
    forest = ObliqueForestRegressor(3, splitter="axis", bootstrap=True, **LINES).fit(X, y)
    means, variances = forest._call_predictor("list_moments", X)
    for t, estimator in enumerate(forest.estimators_):
        w = bootstrap_counts(estimator.random_state, 300, 300).astype(float)
        mean, variance = predict_slowly(estimator.tree_, X, y, w, X, repeats=w)
        np.testing.assert_allclose(means[:, t, 0], mean, rtol=1e-7)
        np.testing.assert_allclose(variances[:, t, 0], variance, rtol=1e-6)


def test_the_forest_is_the_mean_of_its_trees(data, forest):
    X, y = data
    means, variances = forest._call_predictor("list_moments", X)
    variances = variances * forest.noise_scale_
    mean, std = forest.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=1)[:, 0])
    second = (variances + means**2).mean(axis=1)[:, 0]
    np.testing.assert_allclose(std, np.sqrt(second - mean**2), rtol=1e-6)
    density = norm(means, np.sqrt(variances)).pdf(y[:, None, None]).mean(axis=1)
    np.testing.assert_allclose(forest.log_prob(X, y), np.log(density[:, 0]), rtol=1e-9, atol=1e-12)
    levels = [0.0, 0.05, 0.5, 0.95, 1.0]
    found = forest.predict(X, quantiles=levels)
    inner = found[:, 1:4, None]
    below = norm(means[:, None, :, 0], np.sqrt(variances)[:, None, :, 0]).cdf(inner).mean(axis=2)
    np.testing.assert_allclose(below, np.tile(levels[1:4], (300, 1)), atol=1e-9)
    assert (found[:, 0] == -np.inf).all()
    assert (found[:, 4] == np.inf).all()
    np.testing.assert_array_equal(forest.predict(X, quantiles=0.5), found[:, 2])


@given(seed=st.integers(0, 2**32 - 1))
def test_densities_integrate_to_one(seed):
    rng = np.random.default_rng(seed)
    means, variances = rng.normal(size=(1, 7, 1)), rng.gamma(1.0, size=(1, 7, 1)) + 0.01
    grid = np.linspace(-40.0, 40.0, 80_001)
    density = measure_log_density(
        grid[:, None], np.repeat(means, len(grid), 0), np.repeat(variances, len(grid), 0)
    )
    assert trapezoid(np.exp(density[:, 0]), grid) == pytest.approx(1.0, abs=1e-6)
    ((low, high),) = find_quantiles(means, variances, [0.1, 0.9])[0]
    inside = (grid > low) & (grid < high)
    assert trapezoid(np.exp(density[inside, 0]), grid[inside]) == pytest.approx(0.8, abs=1e-3)


def test_density_of_a_fitted_forest_integrates_to_one(data, forest):
    grid = np.linspace(-60.0, 100.0, 4001)
    for row in data[0][:3]:
        density = np.exp(forest.log_prob(np.tile(row, (len(grid), 1)), grid))
        assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)


def test_the_scale_makes_rows_left_out_likely(data):
    X, y = data
    forest = ObliqueForestRegressor(20, splitter="axis", **LINES).fit(X, y)
    means, variances = forest._call_predictor("list_moments", X)
    seeds = [tree.random_state for tree in forest.estimators_]
    unseen = np.array([bootstrap_counts(seed, 300, 300) for seed in seeds]).T == 0
    judged = unseen.any(axis=1)

    def judge(scale):
        density = norm(means[:, :, 0], np.sqrt(variances[:, :, 0] * scale)).pdf(y[:, None])
        return np.log((density * unseen).sum(axis=1)[judged] / unseen.sum(axis=1)[judged]).mean()

    scale = forest.noise_scale_[0]
    assert judge(scale) > max(judge(scale * 1.1), judge(scale / 1.1))
    whole = ObliqueForestRegressor(5, splitter="axis", bootstrap=False, **LINES).fit(X, y)
    np.testing.assert_array_equal(whole.noise_scale_, [1.0])


def test_threads_and_steps_change_nothing(data):
    X, y = data
    for splitter in ("auto", "axis"):
        one = ObliqueForestRegressor(6, splitter=splitter, **LINES).fit(X, y)
        two = clone(one).set_params(n_jobs=2).fit(X, y)
        three = clone(one).set_params(n_estimators=3, warm_start=True).fit(X, y)
        three.set_params(n_estimators=6).fit(X, y)
        for other in (two, three):
            assert hash_trees(one._list_trees()) == hash_trees(other._list_trees())
            np.testing.assert_array_equal(one.log_prob(X, y), other.log_prob(X, y))


@given(seed=st.integers(0, 2**32 - 1))
def test_whole_weights_equal_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + 0.3 * rng.normal(size=120)
    counts = rng.integers(0, 4, 120)
    counts[:2] = 1
    model = ObliqueForestRegressor(2, splitter="axis", bootstrap=False, **LINES)
    one = model.fit(X, y, counts).predict(X, return_std=True)
    other = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(other.predict(X, return_std=True), one, rtol=1e-6)


def test_several_outputs_are_independent_given_x(data):
    X, y = data
    both = np.column_stack([y, 3.0 - 2.0 * y])
    model = ObliqueForestRegressor(4, splitter="axis", max_leaf_nodes=4, **LINES)
    one, two = clone(model).fit(X, y), clone(model).fit(X, both)
    mean, std = two.predict(X, return_std=True)
    np.testing.assert_allclose(mean[:, 1], 3.0 - 2.0 * mean[:, 0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(std[:, 1], 2.0 * std[:, 0], rtol=1e-6)
    np.testing.assert_allclose(one.predict(X), mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(
        two.log_prob(X, both), 2.0 * one.log_prob(X, y) - np.log(2.0), rtol=1e-6, atol=1e-6
    )
    assert two.predict(X[:5], quantiles=[0.1, 0.9]).shape == (5, 2, 2)
    with pytest.raises(ValueError, match="y has 1 outputs, expected 2"):
        two.log_prob(X, y)


def test_a_missing_regressor_makes_the_tree_less_sure(data):
    X, y = data
    tree = ObliqueTreeRegressor(leaf="linear_gaussian", max_depth=1).fit(X, y)
    lacking = X.copy()
    kept = tree.tree_.feature[0]
    lacking[:, [j for j in range(6) if j != kept]] = np.nan
    mean, std = tree.predict(lacking, return_std=True)
    assert (std > tree.predict(X, return_std=True)[1]).mean() > 0.95
    leaves, model = tree.apply(X), tree.tree_
    term = np.arange(model.leaf_line_ptr[leaves[0]], model.leaf_line_ptr[leaves[0] + 1])
    known = model.leaf_line_feature[term] == kept
    z = X[0, kept].astype(np.float32) - model.leaf_line_centre[term][known]
    expected = model.leaf_line_mean[leaves[0], 0] + model.leaf_line_weight[term][known, 0] @ z
    assert mean[0] == pytest.approx(expected)


@pytest.mark.parametrize("splitter", ["auto", "axis", "axis_random", "co2", "oc1", "conic"])
def test_missing_values_are_learnt_with(data, splitter):
    X, y = data
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    forest = ObliqueForestRegressor(4, splitter=splitter, **LINES).fit(X, y)
    assert forest.score(X, y) > 0.5
    assert np.isfinite(forest.log_prob(X, y)).all()
    with pytest.raises(ValueError, match="infinity"):
        forest.predict(np.where(np.isnan(X), np.inf, X), return_std=True)


def test_sparse_and_shifted_features(data):
    X, y = data
    X = np.where(X < 0.3, 0.0, X)
    forest = ObliqueForestRegressor(4, splitter="axis", **LINES).fit(X, y)
    other = clone(forest).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(
        other.predict(sp.csc_matrix(X), return_std=True), forest.predict(X, return_std=True)
    )
    # Far from zero float32 would not do; an offset is taken off and the leaves know.
    far = X + 1e7
    moved = clone(forest).fit(far, y)
    assert moved.estimators_[0].tree_.feature_offset is not None
    found = moved.predict(far, return_std=True)
    np.testing.assert_allclose(found, forest.predict(X, return_std=True), rtol=1e-3)
    tree = moved.estimators_[0].tree_
    back = tree.shift_to(None)
    np.testing.assert_allclose(back.leaf_line_centre, tree.leaf_line_centre)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((50, 3)), np.arange(50.0)),
        (np.repeat(np.arange(60.0)[:, None], 5, axis=1), np.arange(60.0)),
        (np.random.default_rng(0).normal(size=(20, 100)), np.arange(20.0)),
        (np.ones((1, 2)), np.ones(1)),
        (np.random.default_rng(0).normal(size=(50, 3)), np.full(50, 3.0)),
        (np.random.default_rng(0).normal(size=(50, 3)), np.zeros(50)),
        (np.random.default_rng(0).normal(size=(50, 3)) * 1e-38, np.arange(50.0)),
        (np.random.default_rng(0).normal(size=(50, 3)) * 1e30, np.arange(50.0) * 1e135),
    ],
    ids=["constant", "duplicated", "wide", "one row", "constant y", "zeros", "tiny", "huge"],
)
def test_degenerate_data(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = ObliqueForestRegressor(5, **LINES).fit(X, y)
        mean, std = forest.predict(X, return_std=True)
        density = forest.log_prob(X, y)
    assert np.isfinite(mean).all()
    assert np.isfinite(density).all()
    assert (std > 0.0).all()
    if np.ptp(y) == 0.0:
        np.testing.assert_allclose(mean, y, atol=1e-12)


def test_who_has_them_and_who_has_not(data):
    X, y = data
    with pytest.raises(ValueError, match="leaf='linear_gaussian' predicts numbers"):
        ObliqueForestClassifier(2, leaf="linear_gaussian").fit(X, y > 14)
    with pytest.raises(ValueError, match="unknown criterion 'linear_gaussian'"):
        ObliqueForestClassifier(2, criterion="linear_gaussian").fit(X, y > 14)
    for criterion in ("absolute_error", "poisson"):
        with pytest.raises(ValueError, match="whose models minimise squared errors"):
            ObliqueTreeRegressor(leaf="linear_gaussian", criterion=criterion).fit(X, abs(y))
    with pytest.raises(ValueError, match="monotonic_cst cannot be honoured"):
        ObliqueTreeRegressor(monotonic_cst=[1] * 6, **LINES).fit(X, y)
    plain = ObliqueTreeRegressor(max_depth=2).fit(X, y)
    for ask in (lambda: plain.predict(X, return_std=True), lambda: plain.log_prob(X, y)):
        with pytest.raises(ValueError, match="needs leaves that predict a variance"):
            ask()
    with pytest.raises(ValueError, match="has constant leaves"):
        Predictor([plain.tree_]).list_moments(X)
    by_class = ObliqueTreeRegressor(criterion=LinearGaussian, random_state=0).fit(X, y)
    by_name = ObliqueTreeRegressor(**LINES).fit(X, y)
    np.testing.assert_array_equal(by_class.log_prob(X, y), by_name.log_prob(X, y))
    linear = ObliqueTreeRegressor(leaf="linear", max_depth=2, **LINES).fit(X, y)
    assert linear.tree_.leaf_kind.name == "linear"


def test_leaves_as_text(data):
    X, y = data
    tree = ObliqueTreeRegressor(max_depth=1, **LINES).fit(X, y).tree_
    text = export_text(tree)
    assert "(noise " in text
    assert "smaller terms" in text or "*" in text


def test_pickles_and_files_give_the_same_bits(data, forest, tmp_path):
    X, y = data
    tree = ObliqueTreeRegressor(**LINES).fit(X, y)
    for model in (forest, tree):
        save_model(model, tmp_path / "model")
        for copy in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(copy.log_prob(X, y), model.log_prob(X, y))
            np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def change_header(path, change):
    """Write a model file again with another header."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    (name,) = (name for name in parts if name.endswith(".json"))
    header = json.loads(parts[name])
    change(header)
    parts[name] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)


@pytest.mark.parametrize("leaf", ["linear", "linear_gaussian"])
def test_leaves_too_small_for_lines_are_kept_in_files(leaf, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    forest = ObliqueForestRegressor(3, splitter="axis", leaf=leaf, random_state=0).fit(X, X[:, 0])
    save_model(forest, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), forest.predict(X))


@pytest.mark.parametrize(
    "scale", [None, [], [0.0], [-1.0], ["1"], [1.0, 1.0], [True], 1.0, [[1.0]], {}]
)
def test_files_with_another_scale_are_refused(forest, tmp_path, scale):
    save_model(forest, tmp_path / "model")
    load_model(tmp_path / "model")
    change_header(tmp_path / "model", lambda header: header["extras"].update(noise_scale=scale))
    with pytest.raises(ValueError, match="noise_scale"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("plain", [False, True])
def test_a_scale_belongs_to_such_leaves(data, forest, tmp_path, plain):
    model = ObliqueForestRegressor(2, splitter="axis").fit(*data) if plain else forest
    save_model(model, tmp_path / "model")

    def change(header):
        if plain:
            header["extras"]["noise_scale"] = [1.0]
        else:
            del header["extras"]["noise_scale"]

    change_header(tmp_path / "model", change)
    with pytest.raises(ValueError, match="noise_scale"):
        load_model(tmp_path / "model")


DAMAGE = {
    "leaf_line_noise": lambda a: a * 0.0,
    "leaf_line_share": lambda a: a - 1.0,
    "leaf_line_spread": lambda a: a - 1e9,
    "leaf_line_low": lambda a: a + 1e9,
    "leaf_line_high": lambda a: a - 1e9,
    "leaf_line_mean": lambda a: a * np.nan,
    "leaf_line_centre": lambda a: a[:-1],
    "leaf_line_weight": lambda a: np.hstack([a, a]),
    "leaf_line_inverse": lambda a: a[:, :-1].copy(),
    "leaf_line_feature": lambda a: a + np.int32(1000),
    "leaf_line_ptr": lambda a: a[::-1].copy(),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_leaves_are_refused(forest, name):
    state = tree_to_state(forest.estimators_[0].tree_)
    tree_from_state(state)
    with pytest.raises(ValueError, match="leaf_line"):
        tree_from_state(state | {name: DAMAGE[name](state[name])})


def test_a_leaf_with_more_terms_than_columns_is_refused(forest):
    state = tree_to_state(forest.estimators_[0].tree_)
    ptr = state["leaf_line_ptr"].copy()
    first = np.flatnonzero(state["children_left"] < 0)[0]
    ptr[first + 1 :] = ptr[-1]
    with pytest.raises(ValueError, match="expected at most 6"):
        tree_from_state(state | {"leaf_line_ptr": ptr})


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_fit_leaves_everything_as_it_was(data, n_jobs):
    X, y = data
    model = ObliqueForestRegressor(20, n_jobs=n_jobs, **LINES)
    with Observer() as observer:
        before = model.fit(X, y).log_prob(X, y)
    n_items, attributes = observer.n_items, set(vars(model))
    with Observer(interrupt_at=n_items // 2, slow_down=0.3) as observer:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[::-1], y)
        assert observer.n_items < n_items
    assert set(vars(model)) == attributes
    np.testing.assert_array_equal(model.log_prob(X, y), before)
