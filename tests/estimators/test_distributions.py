"""Predictive distributions against slow and obvious sums over trees."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import make_regression

from obtree import (
    ObliqueForestRegressor,
)
from obtree.forest.shared_leaves import INTERPOLATIONS

X, Y = make_regression(150, 4, noise=20.0, random_state=0)
# Ties, so that values have several rows.
Y = np.round(Y, -1)
NEW = X[::4] + 0.05
LEVELS = [0.5, 0.05, 1.0, 0.25, 0.0, 0.95]
LARGE = {"min_samples_leaf": 5, "random_state": 0}


def fit(y=Y, sample_weight=None, **params):
    params = {"splitter": "axis", **LARGE, **params}
    return ObliqueForestRegressor(**{"n_estimators": 25, **params}).fit(X, y, sample_weight)


FOREST = fit()


def weigh_slowly(forest, X_new, weight=1.0, says=None, shares=True):
    """Weights of the training rows, (n_new, n_rows, n_trees)."""
    shared = forest.apply(X_new)[:, None, :] == forest.apply(X)[None, :, :]
    seeds = [tree.random_state for tree in forest.estimators_]
    counts = np.array([forest._bags.count(t, seed) for t, seed in enumerate(seeds)]).T
    weights = shared * (counts * np.reshape(weight, (-1, 1)))[None]
    if shares:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return weights if says is None else weights * says[:, None, :], counts


def read_slowly(values, weights, level, interpolation):
    """Quantile of weighted values, each in the middle of its weight."""
    found = np.unique(values[weights > 0])
    own = np.array([weights[values == v].sum() for v in found])
    upto = np.cumsum(own)
    wanted = level * upto[-1]
    if interpolation == "inverted_cdf":
        return found[min(np.sum(upto < wanted - 1e-12 * upto[-1]), len(found) - 1)]
    centre = upto - own / 2
    if interpolation == "linear":
        return np.interp(wanted, centre, found)
    after = np.sum(centre < wanted - 1e-12 * upto[-1])
    if after in (0, len(found)):
        return found[min(after, len(found) - 1)]
    low, high = found[after - 1], found[after]
    fraction = (wanted - centre[after - 1]) / (centre[after] - centre[after - 1])
    if fraction >= 1 - 1e-9:
        return high
    return {
        "lower": low,
        "higher": high,
        "midpoint": (low + high) / 2,
        "nearest": low if fraction <= 0.5 else high,
    }[interpolation]


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("shares", [True, False])
def test_weighted_quantiles(interpolation, shares):
    weight = np.random.default_rng(0).integers(0, 4, len(Y)) + 0.5
    forest = fit(sample_weight=weight)
    found = forest.predict_quantiles(
        NEW, LEVELS, interpolation=interpolation, weighted_leaves=shares
    )
    weights = weigh_slowly(forest, NEW, weight, shares=shares)[0].sum(axis=2)
    slow = [[read_slowly(Y, w, level, interpolation) for level in LEVELS] for w in weights]
    np.testing.assert_allclose(found, slow, atol=1e-8)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_counted_quantiles(interpolation):
    found = FOREST.predict_quantiles(
        NEW, LEVELS, weighted_quantile=False, interpolation=interpolation
    )
    counts = weigh_slowly(FOREST, NEW, shares=False)[0].sum(axis=2).astype(int)
    pools = [np.repeat(Y, count) for count in counts]
    if interpolation == "nearest":  # NumPy takes the even place of two that are as near
        assert all(np.isin(q, pool).all() for q, pool in zip(found, pools, strict=True))
        return
    slow = [np.quantile(pool, LEVELS, method=interpolation) for pool in pools]
    np.testing.assert_allclose(found, slow, atol=1e-8)


def test_leaves_one_by_one():
    found = FOREST.predict_quantiles(NEW, LEVELS, aggregate_leaves_first=False)
    weights = weigh_slowly(FOREST, NEW)[0]
    slow = [
        [np.mean([read_slowly(Y, w, level, "linear") for w in own.T]) for level in LEVELS]
        for own in weights
    ]
    np.testing.assert_allclose(found, slow, atol=1e-8)


def test_out_of_bag_quantiles():
    counts = weigh_slowly(FOREST, X)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = FOREST.predict_quantiles(X, LEVELS, oob_score=True)
    weights = weigh_slowly(FOREST, X, says=counts == 0)[0].sum(axis=2)
    slow = [[read_slowly(Y, w, level, "linear") for level in LEVELS] for w in weights]
    np.testing.assert_allclose(found, slow, atol=1e-8)
    np.testing.assert_array_equal(FOREST.predict_quantiles(quantiles=LEVELS, oob_score=True), found)
    some = np.array([7, 3, -1])
    own = FOREST.predict_quantiles(X[[7, 3, 0]], LEVELS, oob_score=True, indices=some)
    np.testing.assert_array_equal(own[:2], found[[7, 3]])
    np.testing.assert_array_equal(own[2:], FOREST.predict_quantiles(X[:1], LEVELS))
    twins = FOREST.predict_quantiles(quantiles=LEVELS, oob_score=True, duplicates=[[0, 1]])
    both = (counts[[0, 1]] == 0).all(axis=0)
    weights = weigh_slowly(FOREST, X[:2], says=np.array([both, both]))[0].sum(axis=2)
    slow = [[read_slowly(Y, w, level, "linear") for level in LEVELS] for w in weights]
    np.testing.assert_allclose(twins[:2], slow, atol=1e-8)


def test_rows_that_every_tree_has_drawn():
    forest = ObliqueForestRegressor(1, splitter="axis").fit(X, Y)
    with pytest.warns(UserWarning, match="no out-of-bag"):
        found = forest.predict_quantiles(oob_score=True)
    seed = forest.estimators_[0].random_state
    np.testing.assert_array_equal(np.isnan(found), forest._bags.count(0, seed) > 0)


def test_misses_are_those_of_trees_that_left_rows_out():
    for splitter in ("axis", "auto"):
        forest = fit(splitter=splitter, oob_score=True)
        kept = forest._training
        judged = ~np.isnan(kept.misses[:, 0])
        if not forest.chains_ if splitter == "auto" else True:
            np.testing.assert_allclose(
                kept.misses[judged, 0], (Y - forest.oob_prediction_)[judged], atol=1e-9
            )
        assert 0.2 <= kept.shrink <= 1.0


def test_scale_against_sums_over_trees():
    index = FOREST._index_leaves()
    model, kept = index.model, FOREST._training
    weights, counts = weigh_slowly(FOREST, X)
    squares = np.nan_to_num(kept.misses[:, 0]) ** 2
    known = ~np.isnan(kept.misses[:, 0])
    assert known.all()
    noise = (weights * squares[None, :, None]).sum(axis=1)
    values = np.array([tree.predict(X) for tree in FOREST.estimators_]).T
    whole = squares.mean()
    terms = np.stack([noise.mean(axis=1), values.var(axis=1, ddof=1), np.full(len(X), whole)], 1)
    scale = kept.shrink * np.sqrt(np.maximum(terms @ model._parts[:, 0], 1e-6 * whole))
    std = FOREST.predict(X, return_std=True)[1]
    np.testing.assert_allclose(std, scale * model._spread_z[0], rtol=1e-9)
    # Parts make the misses likelier than other parts.
    out = counts == 0
    own = (noise * out).sum(axis=1) / out.sum(axis=1)
    masked = np.where(out, values, np.nan)
    terms = np.stack([own, np.nanvar(masked, axis=1, ddof=1), np.full(len(X), whole)], 1)

    def score(parts):
        return norm.logpdf(kept.misses[:, 0], scale=np.sqrt(terms @ parts)).sum()

    best = score(model._parts[:, 0])
    for change in np.vstack([np.eye(3), -np.eye(3)]):
        assert score(np.maximum(model._parts[:, 0] + 0.05 * change, 1e-9)) < best + 0.2


def test_density_is_that_of_the_quantiles():
    rows = NEW[:3]
    mean, std = FOREST.predict(rows, return_std=True)
    for row, m, s in zip(rows, mean, std, strict=True):
        grid = m + s * np.linspace(-300, 300, 60_001)
        density = np.exp(FOREST.log_prob(np.repeat(row[None], len(grid), axis=0), grid))
        mass = np.cumsum(density) * (grid[1] - grid[0])
        assert abs(mass[-1] - 1) < 5e-3
        for level, q in zip(
            (0.1, 0.5, 0.9), FOREST.predict(row[None], quantiles=[0.1, 0.5, 0.9])[0], strict=True
        ):
            assert abs(np.interp(q, grid, mass) - level) < 0.04


@pytest.mark.parametrize("params", [{}, {"splitter": "random_oblique"}, {"splitter": "auto"}])
def test_means_are_those_of_predict(params):
    forest = fit(**params)
    many = np.tile(NEW, (30, 1))
    np.testing.assert_array_equal(forest.predict(many, return_std=True)[0], forest.predict(many))


def test_shapes():
    two = np.column_stack([Y, -3 * Y])
    forest = fit(two)
    assert forest.predict(NEW, quantiles=[0.1, 0.9]).shape == (len(NEW), 2, 2)
    assert forest.predict(NEW, quantiles=0.5).shape == (len(NEW), 2)
    assert FOREST.predict(NEW, quantiles=[0.5]).shape == (len(NEW), 1)
    assert FOREST.predict(NEW, quantiles=0.5).shape == (len(NEW),)
    mean, std = forest.predict(NEW, return_std=True)
    assert mean.shape == std.shape == (len(NEW), 2)
    np.testing.assert_array_equal(mean, forest.predict(NEW))
    assert forest.log_prob(NEW, forest.predict(NEW)).shape == (len(NEW),)
    found = forest.predict_quantiles(NEW, LEVELS)
    assert found.shape == (len(NEW), 2, len(LEVELS))
    weights = weigh_slowly(forest, NEW)[0].sum(axis=2)
    for k in range(2):
        slow = [[read_slowly(two[:, k], w, level, "linear") for level in LEVELS] for w in weights]
        np.testing.assert_allclose(found[:, k], slow, atol=1e-8)


@pytest.mark.parametrize(
    "params",
    [{"bootstrap": False}, {"n_estimators": 1}, {"splitter": "oc1"}, {"leaf": "linear"}, {}],
)
def test_everything_is_finite(params):
    y = np.where(np.arange(len(Y)) % 2, Y, 1e100 * Y)
    for target in (Y, np.full(len(Y), 3.0), np.zeros(len(Y)), y, 1e-100 * Y):
        forest = clone(ObliqueForestRegressor(5, splitter="axis", random_state=0))
        forest.set_params(**params).fit(X, target)
        std = forest.predict(NEW, return_std=True)[1]
        assert (std >= 0).all()
        assert np.isfinite(std).all()
        assert np.isfinite(forest.predict(NEW, quantiles=LEVELS)).all()
        assert np.isfinite(forest.predict_quantiles(NEW, LEVELS)).all()
        for far in (0.0, 1.0, -1e100, 1e100):
            assert np.isfinite(forest.log_prob(NEW, forest.predict(NEW) + far)).all()


def test_no_row_left_out_is_normal():
    forest = fit(bootstrap=False)
    weights = weigh_slowly(forest, NEW)[0].mean(axis=2)
    mean = weights @ Y
    std = np.sqrt(np.sum(weights * (Y - mean[:, None]) ** 2, axis=1))
    found = forest.predict(NEW, return_std=True)
    np.testing.assert_allclose(found[1], std, rtol=1e-9)
    np.testing.assert_allclose(
        forest.predict(NEW, quantiles=0.9), norm.ppf(0.9, found[0], std), rtol=1e-6
    )
    np.testing.assert_allclose(
        forest.log_prob(NEW, found[0] + std), norm.logpdf(1.0) - np.log(std), atol=0.05
    )


@pytest.mark.parametrize("shape", [(1, 3), (4, 9), (30, 1)])
def test_few_rows(shape):
    rng = np.random.default_rng(0)
    data, y = rng.normal(size=shape), rng.normal(size=shape[0])
    forest = ObliqueForestRegressor(10, random_state=0).fit(data, y)
    assert np.isfinite(forest.predict(data, quantiles=LEVELS)).all()
    assert np.isfinite(forest.log_prob(data, y)).all()
    assert np.isin(forest.predict_quantiles(data, LEVELS, interpolation="lower"), y).all()


def test_missing_values_and_constant_columns():
    data = X.copy()
    data[::3, 0] = np.nan
    data[:, 1] = 7.0
    forest = ObliqueForestRegressor(10, splitter="random_oblique", random_state=0).fit(data, Y)
    assert np.isfinite(forest.predict(data, quantiles=LEVELS)).all()
    assert np.isfinite(forest.predict_quantiles(data, LEVELS)).all()


def test_absent_rows_say_nothing():
    weight = (np.arange(len(Y)) % 3 > 0).astype(float)
    forest = fit(sample_weight=weight)
    some = ObliqueForestRegressor(25, splitter="axis", **LARGE).fit(X[weight > 0], Y[weight > 0])
    for levels in (LEVELS, 0.3):
        np.testing.assert_allclose(
            forest.predict(NEW, quantiles=levels), some.predict(NEW, quantiles=levels), rtol=1e-10
        )
        np.testing.assert_array_equal(
            forest.predict_quantiles(NEW, levels), some.predict_quantiles(NEW, levels)
        )


@given(st.lists(st.integers(1, 3), min_size=len(Y), max_size=len(Y)))
def test_weights_are_repetition(counts):
    params = {"splitter": "axis", "bootstrap": False, "min_samples_leaf": 1, "max_depth": 3}
    weighted = ObliqueForestRegressor(3, random_state=0, max_features=None, **params)
    repeated = clone(weighted).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    weighted.fit(X, Y, counts)
    np.testing.assert_allclose(
        weighted.predict_quantiles(NEW, LEVELS), repeated.predict_quantiles(NEW, LEVELS), atol=1e-8
    )
    np.testing.assert_allclose(
        weighted.predict(NEW, return_std=True)[1],
        repeated.predict(NEW, return_std=True)[1],
        rtol=1e-6,
    )


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5), st.booleans(), st.booleans())
def test_quantiles_ascend_with_levels(levels, weighted, shares):
    levels = np.sort(levels)
    assert (np.diff(FOREST.predict(NEW, quantiles=levels), axis=1) >= 0).all()
    for interpolation in INTERPOLATIONS:
        found = FOREST.predict_quantiles(
            NEW,
            levels,
            interpolation=interpolation,
            weighted_quantile=weighted,
            weighted_leaves=shares,
        )
        assert (np.diff(found, axis=1) >= -1e-9).all()


@given(st.integers(-20, 20), st.floats(-1e3, 1e3))
def test_units_of_y(power, shift):
    factor = 2.0**power
    other = fit(factor * Y + factor * np.round(shift))
    place = factor * np.round(shift)
    np.testing.assert_allclose(
        other.predict(NEW, quantiles=LEVELS),
        factor * FOREST.predict(NEW, quantiles=LEVELS) + place,
        rtol=1e-6,
        atol=1e-6 * factor * np.abs(Y).max(),
    )
    np.testing.assert_allclose(
        other.predict_quantiles(NEW, LEVELS),
        factor * FOREST.predict_quantiles(NEW, LEVELS) + place,
        rtol=1e-9,
        atol=1e-9 * factor * np.abs(Y).max(),
    )
    np.testing.assert_allclose(
        other.log_prob(NEW, factor * Y[::4] + place),
        FOREST.log_prob(NEW, Y[::4]) - np.log(factor),
        atol=1e-5,
    )


@pytest.mark.parametrize("splitter", ["axis", "auto"])
def test_threads_change_nothing(splitter):
    forests = [fit(splitter=splitter, n_jobs=n_jobs) for n_jobs in (1, 3)]
    many = np.tile(NEW, (50, 1))
    for call in (
        lambda f: f.predict(many, quantiles=LEVELS),
        lambda f: f.predict_quantiles(many, LEVELS),
        lambda f: f.log_prob(NEW, Y[::4]),
    ):
        np.testing.assert_array_equal(call(forests[0]), call(forests[1]))


def test_warm_start_is_the_whole_forest():
    forest = ObliqueForestRegressor(5, splitter="axis", warm_start=True, **LARGE).fit(X, Y)
    forest.predict(NEW, quantiles=0.5)
    forest.set_params(n_estimators=25).fit(X, Y)
    for levels in (LEVELS, 0.3):
        np.testing.assert_array_equal(
            forest.predict(NEW, quantiles=levels), FOREST.predict(NEW, quantiles=levels)
        )
    np.testing.assert_array_equal(
        forest.predict_quantiles(NEW, LEVELS), FOREST.predict_quantiles(NEW, LEVELS)
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"quantiles": 1.5}, r"quantiles=1\.5.*from 0 to 1"),
        ({"quantiles": [0.5, -0.1]}, r"quantiles=\[0\.5, -0\.1\]"),
        ({"quantiles": []}, r"quantiles=\[\]"),
        ({"quantiles": [np.nan]}, "quantiles="),
        ({"quantiles": [[0.5]]}, "quantiles="),
        ({"quantiles": "mean"}, "quantiles="),
        ({"quantiles": [0.5], "return_std": True}, "return_std=True and quantiles="),
        ({"return_std": 2}, "return_std=2"),
    ],
)
def test_bad_input(options, match):
    with pytest.raises(ValueError, match=match):
        FOREST.predict(NEW, **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"quantiles": 2}, "quantiles=2"),
        ({"interpolation": "cubic"}, "interpolation 'cubic'"),
        ({"weighted_quantile": 1}, "weighted_quantile=1"),
        ({"oob_score": True}, "150 rows"),
        ({"oob_score": True, "indices": [0.5]}, "indices="),
        ({"oob_score": True, "indices": np.full(len(NEW), 150)}, "149"),
        ({"oob_score": True, "indices": np.arange(len(NEW)), "duplicates": [[0, 900]]}, "149"),
    ],
)
def test_bad_input_of_quantiles(options, match):
    with pytest.raises(ValueError, match=match):
        FOREST.predict_quantiles(NEW, **options)


def test_bad_input_of_log_prob():
    for y in (Y, np.full(len(NEW), np.inf), np.zeros((len(NEW), 2))):
        with pytest.raises(ValueError, match=r"y |rows|samples"):
            FOREST.log_prob(NEW, y)
    with pytest.raises(ValueError, match="infinity"):
        FOREST.predict(np.full((1, 4), np.inf), quantiles=0.5)


@pytest.mark.parametrize("convert", [pd.DataFrame, sp.csr_matrix, np.asfortranarray])
def test_kinds_of_features(convert):
    data = np.round(X)
    data = pd.DataFrame(data, columns=list("abcd")) if convert is pd.DataFrame else convert(data)
    forest = fit_rows(data)
    plain = fit_rows(np.round(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = forest.predict(data, quantiles=LEVELS), forest.predict_quantiles(data, LEVELS)
        more = forest.predict_quantiles(data, LEVELS, oob_score=True)
    np.testing.assert_array_equal(found[0], plain.predict(np.round(X), quantiles=LEVELS))
    np.testing.assert_array_equal(found[1], plain.predict_quantiles(quantiles=LEVELS))
    np.testing.assert_array_equal(more, plain.predict_quantiles(quantiles=LEVELS, oob_score=True))


def fit_rows(data):
    return ObliqueForestRegressor(25, splitter="axis", random_state=0).fit(data, Y)
