"""Weights of float64 as products of two float32 numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from obtree import ObliqueTreeClassifier, TAOTreeClassifier
from obtree.export.c_weights import divide, find_scales, is_single


def draw_singles(rng, n):
    return (rng.normal(size=n) * 10.0 ** rng.integers(-5, 6, n)).astype(np.float32).astype(float)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 8))
def test_products_are_taken_apart(seed, n_terms, n_features):
    rng = np.random.default_rng(seed)
    # Every feature occurs a few times: what is common to its weights is then the scale.
    feature = np.concatenate(
        [np.repeat(np.arange(n_features), 5), rng.integers(0, n_features, n_terms)]
    )
    weight = draw_singles(rng, len(feature)) * draw_singles(rng, n_features)[feature]
    scale = find_scales(weight, feature)
    assert is_single(scale).all()
    quotient = divide(weight, scale[feature])
    assert is_single(quotient).all()
    product = (
        quotient.astype(np.float32).astype(float) * scale.astype(np.float32).astype(float)[feature]
    )
    assert np.array_equal(product.view(np.uint64), weight.view(np.uint64))


def test_a_single_weight_is_factored():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(50):
        weight = draw_singles(rng, 1) * draw_singles(rng, 1)
        scale = find_scales(weight, np.array([0]))
        if scale is not None:
            assert divide(weight, scale).tolist() == (weight / scale).tolist()
            found += 1
    assert found >= 45


@pytest.mark.parametrize("n_terms", [1, 2, 50])
def test_weights_that_are_no_products(n_terms):
    # 53 random bits have no two factors of 24.
    weight = np.random.default_rng(0).random(n_terms) + 0.1
    feature = np.zeros(n_terms, dtype=int)
    assert find_scales(weight, feature) is None


def test_singles_keep_their_weights():
    weight = draw_singles(np.random.default_rng(0), 30)
    scale = find_scales(weight, np.arange(30) % 4)
    assert scale.tolist() == [1.0] * 4
    assert find_scales(np.zeros(0), np.zeros(0, dtype=int)).tolist() == []


def test_what_is_written_is_narrow(export):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32) * [1, 2, 3, 4, 5, 6]
    y = (X.sum(axis=1) > 0) + (X[:, 0] > 0.5)
    refined = TAOTreeClassifier(l1=0.001, max_depth=5, random_state=0).fit(X, y)
    assert not is_single(refined.tree_.term_weight).all()
    program = export(refined)
    assert "static const float model_plane_weight[" in program.source
    assert "static const float model_plane_scale[6]" in program.source
    program.check(X)
    # Planes of this splitter have scales of their own in every node.
    greedy = ObliqueTreeClassifier(splitter="co2", max_depth=5, random_state=0).fit(X, y)
    program = export(greedy)
    assert "static const double model_plane_weight[" in program.source
    program.check(X)
    # Sums and differences.
    whole = rng.integers(0, 3, (300, 6)).astype(np.float32)
    sums = ObliqueTreeClassifier(splitter="two_probe", random_state=0).fit(whole, y)
    assert set(sums.tree_.term_weight) == {-1.0, 1.0}
    program = export(sums)
    assert "static const int8_t model_plane_weight[" in program.source
    program.check(whole)
    X, y = load_digits(return_X_y=True)
    leaves = TAOTreeClassifier(leaf="linear", n_iter=1, random_state=0).fit(X[:300], y[:300])
    program = export(leaves)
    assert "static const float model_linear_weight[" in program.source
    program.check(X)
