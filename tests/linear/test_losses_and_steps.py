"""Losses and steps of linear models against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing import probe_linalg

SCORES = st.lists(st.floats(-700, 700, width=32), min_size=1, max_size=20)


@given(scores=SCORES)
def test_softmax(scores):
    expected = np.exp(np.asarray(scores) - max(scores))
    p, level = probe_linalg.apply_softmax(scores)
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-12, atol=1e-300)
    assert level == pytest.approx(np.log(expected.sum()) + max(scores))


@given(scores=SCORES)
def test_log_loss_of_a_leaf(scores):
    p, level = probe_linalg.apply_softmax(scores)
    exact, quick, probability = probe_linalg.tabulate_log_loss(scores)
    np.testing.assert_allclose(exact, level - np.asarray(scores), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(quick, level - np.asarray(scores), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(probability, p, rtol=1e-4, atol=1e-6)


@given(score=st.floats(-30, 30), positive=st.booleans())
def test_logistic(score, positive):
    probability, loss = probe_linalg.apply_logistic(score, positive)
    assert probability == pytest.approx(1 / (1 + np.exp(-score)))
    assert loss == pytest.approx(
        -np.log(probability if positive else 1 / (1 + np.exp(score))), rel=1e-6
    )


@given(seed=st.integers(0, 2**32 - 1), l1=st.sampled_from([0.0, 0.5, 5.0, 1e6]))
def test_coordinates_end_where_no_slope_is_left(seed, l1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5)).astype(np.float32)
    weight, slope = rng.uniform(0.1, 1.0, 40), rng.normal(size=40)
    w = (rng.normal(size=5) * (rng.random(5) < 0.5)).astype(np.float32)
    ridge = 0.1
    step = probe_linalg.descend_coordinates(X, weight, slope, w, l1, ridge, 1000)
    Z = X - np.average(X, axis=0, weights=weight)
    # The model: -cross.step + step.gram.step / 2, penalties on what the weights become.
    left = Z.T @ slope - Z.T @ (weight[:, None] * Z) @ step - ridge * (w + step)
    end = w + step
    scale = np.abs(Z.T @ (weight[:, None] * Z)).sum() * 1e-2
    moved = end != 0
    np.testing.assert_allclose(left[moved], l1 * np.sign(end[moved]), atol=scale)
    assert (np.abs(left[~moved]) <= l1 + scale).all()
    if l1 == 1e6:
        assert not end.any()


@given(seed=st.integers(0, 2**32 - 1), nu=st.sampled_from([0.5, 8.0, 1e4]))
def test_ball(seed, nu):
    w = np.random.default_rng(seed).normal(size=16).astype(np.float32) * 3
    out = probe_linalg.project_ball(w, nu)
    length = float((w.astype(float) ** 2).sum())
    expected = w * min(1.0, np.sqrt(nu / length))
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@given(
    noted=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 9), st.floats(-2, 2, width=32)),
        min_size=1,
        max_size=30,
    )
)
def test_pulls_sum_to_gradients(noted):
    X = np.random.default_rng(len(noted)).normal(size=(10, 8)).astype(np.float32)
    found = probe_linalg.sum_gradients(X, noted, 6)
    for plane in range(6):
        here = [(row, factor) for other, row, factor in noted if other == plane]
        if not here:
            assert found[plane] is None
            continue
        expected = sum(factor * X[row].astype(float) for row, factor in here)
        np.testing.assert_allclose(found[plane], expected, rtol=1e-4, atol=1e-4)
