"""Bootstrap samples: whole-number weights drawn from a stream of their own."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from obtree.forest.grow import bootstrap_counts
from obtree.testing.growth import grow_forest
from obtree.testing.probe_core import balance_classes, draw_bootstrap
from obtree.testing.reference import Xoshiro


@pytest.mark.parametrize(("n", "n_draws"), [(1, 1), (7, 7), (100, 30), (10, 500), (5, 0)])
def test_counts_are_those_of_the_stream(n, n_draws):
    generator = Xoshiro.from_seed(42, 1)
    expected = Counter(generator.bounded(n) for _ in range(n_draws))
    counts = bootstrap_counts(42, n, n_draws)
    assert counts.dtype == np.int32
    assert counts.tolist() == [expected[i] for i in range(n)]
    np.testing.assert_array_equal(draw_bootstrap(42, n, n_draws), counts)


@pytest.mark.parametrize(("n", "n_draws"), [(0, 3), (-1, 3), (3, -1)])
def test_wrong_sizes(n, n_draws):
    with pytest.raises(ValueError, match=f"cannot draw {n_draws} of {n} rows"):
        bootstrap_counts(0, n, n_draws)


def test_two_trees_share_about_63_percent():
    # Two independent samples of n draws: each row is in one with probability 1 - 1/e, so
    # the second holds 63.2 % of the rows of the first. Neighbouring seeds are the hard case.
    n = 2000
    drawn = np.array([bootstrap_counts(seed, n, n) > 0 for seed in range(60)])
    assert np.abs(drawn.mean(axis=1) - 0.632).max() < 0.04
    shared = (drawn[:, None] & drawn[None]).sum(axis=2) / drawn.sum(axis=1)[:, None]
    pairs = shared[~np.eye(60, dtype=bool)]
    assert abs(pairs.mean() - 0.632) < 0.003
    assert np.abs(pairs - 0.632).max() < 0.08  # more than five standard deviations


def test_rows_are_drawn_uniformly():
    total = sum(bootstrap_counts(seed, 50, 50) for seed in range(400))
    assert total.sum() == 400 * 50
    assert stats.chisquare(total).pvalue > 1e-4


def test_a_tree_grows_on_its_bootstrap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    y = rng.integers(0, 3, 120)
    for seed in (0, 1, 2**32 - 1):
        (tree,) = grow_forest(X, y, seeds=[seed], n_bootstrap=80, max_features=2)
        counts = bootstrap_counts(seed, 120, 80)
        assert tree.n_node_samples[0] == np.count_nonzero(counts)
        assert tree.weighted_n_node_samples[0] == 80
        np.testing.assert_allclose(
            tree.value[0, 0], np.bincount(y, weights=counts) / 80, rtol=1e-14
        )
        # The same tree as with the counts as weights: growth has a stream of its own.
        (weighted,) = grow_forest(
            X, y, seeds=[seed], sample_weight=counts.astype(float), max_features=2
        )
        np.testing.assert_array_equal(tree.threshold, weighted.threshold)
        np.testing.assert_array_equal(tree.term_feature, weighted.term_feature)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_balancing_makes_the_drawn_classes_weigh_the_same(n_outputs):
    rng = np.random.default_rng(0)
    codes = rng.choice(4, (300, n_outputs), p=[0.6, 0.3, 0.1, 0.0]).astype(np.int32)
    drawn = draw_bootstrap(7, 300, 300)
    weight = balance_classes(codes, 4, drawn)
    expected = drawn.copy()
    for k in range(n_outputs):
        counts = np.bincount(codes[:, k], weights=drawn, minlength=4)
        n_present = np.count_nonzero(counts)
        expected *= drawn.sum() / (n_present * np.maximum(counts, 1))[codes[:, k]]
    np.testing.assert_allclose(weight[drawn > 0], expected[drawn > 0], rtol=1e-12)
    assert np.all(weight[drawn == 0] == 0)
    if n_outputs == 1:
        sums = np.bincount(codes[:, 0], weights=weight, minlength=4)
        np.testing.assert_allclose(sums[:3], 100.0)


def test_balanced_trees_see_balanced_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    y = (rng.random(200) < 0.1).astype(int)
    trees = grow_forest(X, y, seeds=range(5), n_bootstrap=200, balance_subsample=True)
    for tree in trees:
        np.testing.assert_allclose(tree.value[0, 0], [0.5, 0.5])
        assert tree.weighted_n_node_samples[0] == pytest.approx(200)


def test_a_bag_of_weightless_rows_still_gives_numbers():
    # One row in ten weighs anything, so that some bags hold no such row at all.
    X = np.arange(10, dtype=np.float32)[:, None]
    weight = np.eye(10)[3]
    for criterion, y in (("gini", np.arange(10) % 2), ("squared_error", np.arange(10.0))):
        trees = grow_forest(X, y, criterion, seeds=range(40), n_bootstrap=10, sample_weight=weight)
        for tree in trees:
            assert np.all(np.isfinite(tree.value))
            assert np.all(np.isfinite(tree.impurity))


@pytest.mark.parametrize(("n", "n_draws"), [(1, 1), (10, 8), (50, 1), (50, 50)])
def test_without_replacement_no_row_is_drawn_twice(n, n_draws):
    counts = bootstrap_counts(7, n, n_draws, replace=False)
    assert set(counts.tolist()) <= {0, 1}
    assert counts.sum() == n_draws
    assert np.array_equal(draw_bootstrap(7, n, n_draws, replace=False), counts)


def test_without_replacement_rows_are_drawn_uniformly():
    total = sum(bootstrap_counts(seed, 20, 16, replace=False) for seed in range(2000))
    # Each row is in four fifths of the samples; six standard deviations.
    assert np.abs(total - 1600).max() < 6 * np.sqrt(2000 * 0.8 * 0.2)


def test_more_rows_than_there_are_cannot_be_drawn_without_replacement():
    with pytest.raises(ValueError, match="cannot draw 11 of 10 rows"):
        bootstrap_counts(0, 10, 11, replace=False)


def test_a_tree_grows_on_its_sample_without_replacement():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    (tree,) = grow_forest(X, y, seeds=[5], n_bootstrap=48, replace=False)
    drawn = bootstrap_counts(5, 60, 48, replace=False).astype(float)
    (alone,) = grow_forest(X, y, seeds=[5], sample_weight=drawn)
    assert tree.n_node_samples[0] == 48
    assert np.array_equal(tree.threshold, alone.threshold)
