"""Random quadratic forms, at any scale."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

from obtree.splitter import ConicSplitter
from obtree.testing.growth import find_differences, grow_forest, grow_tree


def count_leaves(X, y, splitter, n_trees=5, **options):
    trees = grow_forest(X, y, splitter=splitter, seeds=range(n_trees), keep_rows=True, **options)
    return np.mean([tree.n_leaves for tree in trees])


def test_circles_take_few_leaves():
    X, y = make_circles(400, factor=0.5, noise=0.03, random_state=0)
    X = X.astype(np.float32)
    options = {"max_features": 2}
    axis = count_leaves(X, y, "axis")
    conic = count_leaves(X, y, "conic", **options)
    assert conic <= 1.5 * axis
    # Units and origins play no part: up to rounding of X the trees are equally good.
    moved = (X * [1e-4, 1e5] + [3e-3, 1e6]).astype(np.float32)
    assert count_leaves(moved, y, "conic", **options) <= 1.5 * conic


def test_a_ring_takes_one_question_when_a_form_may_have_two_thresholds():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 1)).astype(np.float32)
    radius = np.abs(X[:, 0] - 0.1)
    y = ((radius > 0.3) & (radius < 0.6)).astype(int)
    one_sided = count_leaves(X, y, ConicSplitter(1), max_features=1)
    two_sided = count_leaves(X, y, ConicSplitter(1, two_sided=True), max_features=1)
    assert two_sided < one_sided


@pytest.mark.parametrize("subset_size", [1, 2, 3, 8])
def test_terms_of_a_form(subset_size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 9)).astype(np.float32)
    y = rng.integers(0, 2, 200)
    tree = grow_tree(X, y, splitter=ConicSplitter(subset_size), keep_rows=True, max_features=1)
    inner = np.flatnonzero(tree.children_left >= 0)
    for node in inner:
        terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
        feature, partner = tree.term_feature[terms], tree.term_partner[terms]
        used = np.unique(feature)
        n = len(used)
        assert n <= subset_size
        assert len(feature) == n + n * (n + 1) // 2
        assert sorted(feature[partner < 0]) == used.tolist()
        pairs = {frozenset(pair) for pair in zip(feature, partner, strict=True) if pair[1] >= 0}
        assert len(pairs) == n * (n + 1) // 2
    assert tree.term_share is not None
    assert tree.compute_feature_importances().sum() == pytest.approx(1.0)


def test_rare_values_and_missing_ones():
    # A sample of 32 rows sees one value only.
    rng = np.random.default_rng(0)
    X = np.zeros((3000, 3), dtype=np.float32)
    X[:6, 0] = 5.0
    X[6:9, 1] = np.nan
    X[:, 2] = np.nan
    X[9:12, 2] = 1.0
    y = np.zeros(3000, dtype=int)
    y[:12] = 1
    tree = grow_tree(X, y, splitter="conic", keep_rows=True, seeds=[rng.integers(100)])
    np.testing.assert_array_equal(tree.predict(X)[:, 0].argmax(axis=1), y)


def test_the_same_form_whatever_the_memory_layout():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)).astype(np.float32)
    y = rng.integers(0, 3, 150)
    one = grow_tree(X, y, splitter="conic", keep_rows=True)
    other = grow_tree(np.asfortranarray(X), y, splitter="conic", keep_rows=True)
    ranks = grow_tree(X, y, splitter="conic")
    assert find_differences(one, other) == []
    assert find_differences(one, ranks) == []


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="subset_size=9 is not valid; expected an integer from 1"):
        ConicSplitter(9)
    with pytest.raises(ValueError, match="subset_size=0 is not valid; expected an integer from 1"):
        ConicSplitter().set_params(subset_size=0)
    with pytest.raises(
        TypeError, match=r"subset_size=2\.5 is not valid; expected an integer from 1"
    ):
        ConicSplitter(2.5)
    with pytest.raises(TypeError, match="two_sided=1 is not valid; expected True or False"):
        ConicSplitter(two_sided=1)
    assert ConicSplitter(3).get_params() == {"subset_size": 3, "two_sided": False}
