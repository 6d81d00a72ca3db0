"""The model of one leaf against dense solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.linear.leaf_solver import LeafSolver, fit_leaf


def draw(seed, n, q, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, q)) * 10.0 ** rng.integers(-3, 4, q) + 10.0 ** rng.integers(-2, 2, q)
    w = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    return rng, X, w


def standardise(X, w):
    mean = np.average(X, axis=0, weights=w)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    return (X - mean) / np.where(scale > 1e-6 * np.abs(mean), scale, np.inf)


def softmax(scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    q=st.integers(1, 20),
    n_outputs=st.integers(1, 3),
    weighted=st.booleans(),
    l2=st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_ridge_solves_the_normal_equations(seed, n, q, n_outputs, weighted, l2):
    rng, X, w = draw(seed, n, q, weighted)
    Y = rng.normal(size=(n, n_outputs)) * 5 + 100
    weight, intercept = fit_leaf(X, Y, w, l2=l2)
    Z = np.hstack([standardise(X, w), np.ones((n, 1))])
    penalty = np.diag([l2] * q + [0.0])
    beta = np.linalg.solve(Z.T @ (w[:, None] * Z) + penalty, Z.T @ (w[:, None] * Y))
    np.testing.assert_allclose(X @ weight + intercept, Z @ beta, rtol=1e-6, atol=1e-6)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 80),
    q=st.integers(1, 12),
    n_classes=st.integers(2, 6),
    weighted=st.booleans(),
    l2=st.sampled_from([1e-2, 1.0, 20.0]),
)
def test_the_gradient_of_a_logistic_leaf_is_zero(seed, n, q, n_classes, weighted, l2):
    rng, X, w = draw(seed, n, q, weighted)
    y = rng.integers(0, n_classes, n)
    y[:2] = [0, 1]
    weight, intercept = fit_leaf(X, y, w, n_classes=[n_classes], l2=l2)
    present = np.unique(y)
    p = softmax(X @ weight + intercept)
    assert not p[:, np.setdiff1d(np.arange(n_classes), present)].any()
    Z = standardise(X, w)
    scale = np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    error = w[:, None] * (p - np.eye(n_classes)[y])
    slope = Z.T @ error + l2 * weight * scale[:, None]
    np.testing.assert_allclose(slope[:, present] / w.sum(), 0.0, atol=2e-6)
    np.testing.assert_allclose(error[:, present].sum(axis=0) / w.sum(), 0.0, atol=2e-6)
    np.testing.assert_allclose(weight.sum(axis=1) * scale, 0.0, atol=1e-9)
    absent = np.setdiff1d(np.arange(n_classes), present)
    assert not weight[:, absent].any()


def test_separable_classes_end_at_a_finite_model():
    X = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    weight, intercept = fit_leaf(X, [0, 0, 1, 1], n_classes=[2], l2=1e-6)
    assert np.isfinite(weight).all()
    assert (softmax(X @ weight + intercept).argmax(axis=1) == [0, 0, 1, 1]).all()


def test_outputs_are_fitted_one_by_one():
    rng, X, w = draw(3, 50, 4, True)
    y = np.stack([rng.integers(0, 3, 50), rng.integers(0, 2, 50)], axis=1)
    weight, intercept = fit_leaf(X, y, w, n_classes=[3, 2])
    for k, n in enumerate((3, 2)):
        alone, constant = fit_leaf(X, y[:, k], w, n_classes=[n])
        np.testing.assert_array_equal(weight[:, 3 * k : 3 * k + n], alone)
        np.testing.assert_array_equal(intercept[3 * k : 3 * k + n], constant)
    assert not weight[:, 5].any()
    assert intercept[5] == 0.0


def test_integer_weights_equal_repeated_rows():
    rng, X, _ = draw(7, 40, 3, False)
    times = rng.integers(1, 4, 40)
    for y, options in (
        (rng.normal(size=40), {}),
        (rng.integers(0, 3, 40), {"n_classes": [3]}),
    ):
        weighted = fit_leaf(X, y, times, **options)
        repeated = fit_leaf(X.repeat(times, axis=0), y.repeat(times), **options)
        for one, other in zip(weighted, repeated, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-7)


def test_a_constant_feature_has_no_weight():
    X = np.array([[3.0, 1.0], [3.0, 2.0], [3.0, 4.0]])
    weight, _ = fit_leaf(X, [1.0, 2.0, 4.0])
    assert weight[0, 0] == 0.0
    assert weight[1, 0] > 0.0
    assert fit_leaf(X[:, :1], [1.0, 2.0, 4.0]) == (None, None)


def test_numbers_that_overflow_give_no_model():
    X = np.array([[1.0], [2.0], [3.0]])
    assert fit_leaf(X * 1e-300, [1e300, -1e300, 1e308], l2=1e-9) == (None, None)


@pytest.mark.parametrize(
    ("X", "y", "options", "match"),
    [
        ([1.0], [1.0], {}, "matrix"),
        ([[np.nan]], [1.0], {}, "finite"),
        ([[1.0]], [np.inf], {}, "y must be finite"),
        ([[1.0]], [2], {"n_classes": [2]}, "n_classes"),
        ([[1.0]], [-1], {"n_classes": [2]}, "n_classes"),
        ([[1.0]], [0], {"n_classes": [2, 2]}, "n_classes"),
        ([[1.0]], [0.0], {"sample_weight": [0.0]}, "sample_weight"),
        ([[1.0]], [0.0], {"sample_weight": [1.0, 1.0]}, "sample_weight"),
        ([[1.0]], [0.0], {"l2": 0.0}, "l2=0.0 is not valid"),
        ([[1.0]], [0.0], {"l2": np.nan}, "l2=nan is not valid"),
        ([[1.0]], [0.0], {"max_iter": 0}, "max_iter=0 is not valid"),
    ],
)
def test_wrong_input_is_refused(X, y, options, match):
    with pytest.raises(ValueError, match=match):
        fit_leaf(X, y, **options)


def test_a_solver_shows_its_parameters():
    solver = LeafSolver(2, [3, 2], 0.5, 7)
    assert (solver.n_outputs, solver.max_n_classes, solver.l2, solver.max_iter) == (2, 3, 0.5, 7)
