"""Disjunctive normal forms: their value, and the slope of their error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueTreeClassifier
from obtree.optim.base import Problem
from obtree.optim.disjunctive import convert_tree, measure_columns
from obtree.testing.probe_disjunctive import apply_logistic, dot_selected, walk_row
from obtree.tree.normal_form import NormalForm
from obtree.tree.normal_predict import NormalPredictor

# What the walk leaves out: branches that less than this reaches.
FLOOR = 1e-3


def make_form(seed, n_classes=3, n_features=4, shared=False, steepness=2.0, splitter="axis"):
    """A tree of a few leaves as a form, and the rows it was grown on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, n_features)).astype(np.float32)
    y = rng.integers(0, n_classes, 40).astype(np.int32)
    y[:n_classes] = np.arange(n_classes)
    tree = ObliqueTreeClassifier(splitter=splitter, max_depth=3, random_state=seed).fit(X, y)
    problem = Problem(X, y[:, None], None, n_classes)
    mean, scale = measure_columns(problem)
    arrays = convert_tree(
        problem,
        tree.tree_,
        steepness=steepness,
        max_steepness=steepness,
        shared_weights=shared,
        mean=mean,
        scale=scale,
    )
    form = NormalForm.from_arrays(n_features=n_features, n_classes=n_classes, **arrays)
    return form, tree, X, y


def evaluate(form, x, weight):
    """Class values by equations 4, 5 and 12, path by path."""
    z = np.append(np.where(np.isnan(x), 0.0, (x - form.mean) * form.scale), 1.0)
    above = 1.0 / (1.0 + np.exp(-np.clip(weight @ z, -30, 30)))
    rest = np.ones(form.n_classes)

    def follow(code, g):
        if g < FLOOR:
            return
        if code <= -2:
            rest[-2 - code] *= 1.0 - min(g, 1.0 - 1e-6)
        elif code >= 0:
            follow(form.child_left[code], g * (1.0 - above[code]))
            follow(form.child_right[code], g * above[code])

    for code in form.root:
        follow(code, 1.0)
    if form.complement:
        return np.array([rest[1], 1.0 - rest[1]])
    return 1.0 - rest


def measure(form, x, label, weight):
    """Squared error by equation 7, over the functions that are there."""
    errors = (np.arange(form.n_classes) == label) - evaluate(form, x, weight)
    return (errors[1:] ** 2).sum() if form.complement else (errors**2).sum()


def differentiate(form, x, label, step=1e-5):
    """Slope of the error by every weight, by differences."""
    weight = form.weight.astype(np.float64)
    slope = np.zeros_like(weight)
    for at in np.ndindex(*weight.shape):
        moved = weight.copy()
        moved[at] += step
        up = measure(form, x, label, moved)
        moved[at] -= 2 * step
        slope[at] = (up - measure(form, x, label, moved)) / (2 * step)
    return slope


@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 4),
    shared=st.booleans(),
    row=st.integers(0, 39),
    weight=st.sampled_from([1.0, 2.5]),
)
def test_gradient_equals_finite_differences(seed, n_classes, shared, row, weight):
    form, _, X, y = make_form(seed, n_classes, shared=shared)
    values, loss, gradient = walk_row(form, X[row], y[row], weight)
    exact = evaluate(form, X[row].astype(float), form.weight.astype(float))
    np.testing.assert_allclose(values, exact, atol=1e-5)
    assert loss == pytest.approx(measure(form, X[row], y[row], form.weight.astype(float)), abs=1e-5)
    expected = weight * differentiate(form, X[row].astype(float), y[row])
    np.testing.assert_allclose(gradient, expected, atol=1e-4)
    assert np.abs(expected).max() > 1e-3  # or nothing was compared


@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 4),
    shared=st.booleans(),
    splitter=st.sampled_from(["axis", "random_oblique"]),
)
def test_an_infinitely_steep_form_is_the_tree(seed, n_classes, shared, splitter):
    form, tree, X, _ = make_form(seed, n_classes, shared=shared, steepness=1e6, splitter=splitter)
    values = NormalPredictor([form]).predict(X)[:, 0]
    hard = np.eye(n_classes)[tree.predict(X)]
    np.testing.assert_allclose(values, hard, atol=1e-4)


def test_a_missing_value_counts_as_the_mean():
    form, _, X, _ = make_form(0)
    x = X[0].copy()
    x[1] = np.nan
    full = x.copy()
    full[1] = form.mean[1]
    for a, b in zip(walk_row(form, x, 0), walk_row(form, full, 0), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_scores_of_units_and_their_shares():
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(9, 16)).astype(np.float32)
    x = rng.normal(size=16).astype(np.float32)
    for n in range(1, 10):
        at = rng.integers(0, 9, n)
        np.testing.assert_allclose(
            dot_selected(weight, at, x), weight[at] @ x, rtol=1e-5, atol=1e-6
        )
    score = np.concatenate([np.linspace(-29, 29, 500), [-1e30, 1e30, np.inf, -np.inf, np.nan]])
    below, above = apply_logistic(score)
    exact = 1.0 / (1.0 + np.exp(-np.clip(score[:-1], -30, 30)))
    np.testing.assert_allclose(above[:-1], exact, rtol=2e-6)
    np.testing.assert_allclose(
        below[:-1], 1.0 / (1.0 + np.exp(np.clip(score[:-1], -30, 30))), rtol=2e-6
    )
    assert above[-1] == above[-4]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_threads_and_types_change_nothing(dtype):
    forms = [make_form(seed)[0] for seed in range(3)]
    X = np.random.default_rng(0).integers(0, 4, (5000, 4)).astype(dtype)
    predictor = NormalPredictor(forms)
    one = predictor.predict(X)
    assert one.shape == (5000, 1, 3)
    np.testing.assert_array_equal(one, predictor.predict(X, n_threads=3))
    np.testing.assert_allclose(one.sum(axis=2), 1.0)
    votes = predictor.predict(X, combine="vote")
    expected = np.mean(
        [np.eye(3)[NormalPredictor([form]).predict(X)[:, 0].argmax(axis=1)] for form in forms],
        axis=0,
    )
    np.testing.assert_allclose(votes[:, 0], expected)


def test_columns_are_measured_without_missing_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)).astype(np.float32) * [1, 100, 0, 1] + [0, 1e4, 7, 0]
    X[:, 3] = np.nan
    X[::3, 0] = np.nan
    weight = rng.integers(1, 4, 50).astype(float)
    mean, scale = measure_columns(Problem(X, np.zeros((50, 1)), weight, 1))
    X = np.repeat(X.astype(np.float32).astype(float), weight.astype(int), axis=0)
    np.testing.assert_allclose(mean[:3], np.nanmean(X[:, :3], axis=0))
    np.testing.assert_allclose(scale, [1 / np.nanstd(X[:, 0]), 1 / X[:, 1].std(), 0, 0])
