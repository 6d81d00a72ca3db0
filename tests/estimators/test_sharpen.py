"""Sharpened targets: the second stage of a race between settings for numbers."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from obtree import ObliqueForestRegressor
from obtree.estimators import race, settings, sharpen
from obtree.estimators.mixture import Residuals
from obtree.estimators.task import Target


@pytest.fixture(scope="module")
def smooth():
    """A smooth function almost without noise, which forests flatten."""
    X, y = make_friedman1(700, 6, noise=0.05, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


def test_what_a_mixture_lacks():
    truth = np.array([[1.0], [2.0], [3.0]])
    first, second = Residuals(truth), Residuals(truth)
    first.add(np.array([0, 1]), np.array([[0.5], [2.5]]))
    first.add(np.array([0]), np.array([[0.7]]))
    second.add(np.array([1]), np.array([[1.0]]))
    lack = sharpen.measure_lack([first, second], np.array([0.75, 0.25]))
    # Row 0: first alone, 0.6 in the mean. Row 1: 0.75 * 2.5 + 0.25 * 1. Row 2: nobody.
    assert lack[:, 0] == pytest.approx([0.4, -0.125, 0.0])
    sharp = sharpen.sharpen_target(Target(truth), lack, 2.0)
    assert sharp.y[:, 0] == pytest.approx([1.8, 1.75, 3.0])
    assert sharp.classes is None


def test_settings_with_the_largest_fractions_are_sharpened():
    known = settings.REGRESSION[:5]
    chosen = sharpen.sharpen_settings(known, np.array([0.1, 0.5, 0.0, 0.3, 0.1]))
    assert [s.name for s in chosen] == [f"{known[k].name}, sharpened" for k in (1, 3, 0)]
    assert all(s.strength == sharpen.STRENGTH for s in chosen)


def test_sharpened_trees_help_on_smooth_data(smooth, monkeypatch):
    X, y, X_test, y_test = smooth
    forest = ObliqueForestRegressor(60, random_state=0).fit(X, y)
    share = sum(
        fraction
        for name, fraction in zip(forest.race_["setting"], forest.race_["fraction"], strict=True)
        if name.endswith("sharpened")
    )
    assert share > 0.2
    monkeypatch.setattr(race, "can_sharpen", lambda estimator, plan: False)
    plain = ObliqueForestRegressor(60, random_state=0).fit(X, y)
    errors = [np.mean((m.predict(X_test) - y_test) ** 2) for m in (forest, plain)]
    assert errors[0] < 0.95 * errors[1]


def test_noise_is_not_sharpened():
    X = np.random.default_rng(0).random((400, 4))
    y = np.random.default_rng(1).normal(size=400)
    forest = ObliqueForestRegressor(20, random_state=0).fit(X, y)
    for name, fraction in zip(forest.race_["setting"], forest.race_["fraction"], strict=True):
        assert fraction < 0.15 or not name.endswith("sharpened")


def test_a_warm_start_sharpens_as_one_fit_would(smooth):
    X, y, X_test, _ = smooth
    some = ObliqueForestRegressor(15, warm_start=True, random_state=0).fit(X, y)
    some.set_params(n_estimators=40).fit(X, y)
    whole = ObliqueForestRegressor(40, random_state=0).fit(X, y)
    assert np.array_equal(some.predict(X_test), whole.predict(X_test))


def test_large_data_find_targets_for_all_rows(smooth, monkeypatch):
    monkeypatch.setattr(race, "MAX_ROWS", 200)
    X, y, X_test, y_test = smooth
    pair = [ObliqueForestRegressor(30, random_state=0, n_jobs=n).fit(X, y) for n in (1, 3)]
    names = [
        name
        for name, count in zip(pair[0].race_["setting"], pair[0].race_["n_trees"], strict=True)
        if count
    ]
    assert any(name.endswith("sharpened") for name in names)
    assert pair[0].score(X_test, y_test) > 0.85
    assert np.array_equal(*(one.predict(X_test) for one in pair))


@pytest.mark.parametrize(
    "changed",
    [{"criterion": "friedman_mse"}, {"monotonic_cst": [1, 0, 0, 0, 0, 0]}, {"splitter": ["axis"]}],
    ids=str,
)
def test_what_is_not_sharpened(changed, smooth):
    forest = ObliqueForestRegressor(5, random_state=0, **changed).fit(*smooth[:2])
    assert not any(name.endswith("sharpened") for name in forest.race_["setting"])
