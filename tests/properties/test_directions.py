"""What holds for splitters that try random directions, whatever the data.

Every decision rests on the projections that the tree will compute again, so that training
rows are found where they were counted, bit for bit.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.splitter import ConicSplitter, RandomObliqueSplitter, TwoProbeSplitter
from obtree.testing.growth import find_differences, grow_forest, grow_tree, hash_trees
from obtree.testing.reference import find_members, route_rows

SPLITTERS = {
    "two_probe": TwoProbeSplitter(),
    "two_probe any": TwoProbeSplitter("any"),
    "two_probe two-sided": TwoProbeSplitter(two_sided=True),
    "random_oblique two-sided": RandomObliqueSplitter(two_sided=True),
    "conic": ConicSplitter(),
    "conic two-sided": ConicSplitter(3, two_sided=True),
}
LINEAR = [name for name in SPLITTERS if "conic" not in name]
SEEDS = st.integers(0, 2**32 - 1)


def draw_rough(seed, n=40):
    """Few values, many ties, missing values."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1).astype(np.float32)
    X[:, 3] = rng.integers(0, 3, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return rng, X, rng.integers(0, 3, n)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("kind", ["float32", "ranks", "csr"])
@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS, best_first=st.booleans())
def test_training_rows_reach_the_leaves_that_counted_them(name, kind, criterion, seed, best_first):
    rng, X, y = draw_rough(seed)
    weight = rng.integers(0, 3, len(y)).astype(float)
    weight[y.argmax()] = 1.0
    tree = grow_tree(
        sparse.csr_array(X) if kind == "csr" else X,
        y,
        criterion,
        n_classes=[3],
        splitter=SPLITTERS[name],
        seeds=[seed],
        sample_weight=weight,
        max_features=2,
        max_leaf_nodes=8 if best_first else -1,
        keep_rows=kind == "float32",
    )
    rows = np.flatnonzero(weight)
    leaves = route_rows(tree, X)
    members = find_members(tree, leaves[rows])
    np.testing.assert_array_equal(members.sum(axis=1), tree.n_node_samples)
    np.testing.assert_array_equal(tree.apply(X), leaves)
    inner = tree.children_left >= 0
    loss = tree.impurity * tree.weighted_n_node_samples
    gain = loss[inner] - loss[tree.children_left[inner]] - loss[tree.children_right[inner]]
    assert np.all(gain >= -1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS)
def test_whole_weights_equal_repeated_rows(name, criterion, seed):
    rng, X, y = draw_rough(seed)
    counts = rng.integers(0, 4, len(y))
    counts[y.argmax()] = 1
    options = {"splitter": SPLITTERS[name], "seeds": [seed], "max_features": 2}
    options |= {"n_classes": [3], "keep_rows": True}
    weighted = grow_tree(X, y, criterion, sample_weight=counts.astype(float), **options)
    repeated = grow_tree(np.repeat(X, counts, axis=0), np.repeat(y, counts), criterion, **options)
    kept = counts > 0
    absent = grow_tree(X[kept], y[kept], criterion, sample_weight=counts[kept] * 1.0, **options)
    ignore = () if criterion == "gini" else ("impurity", "value")
    assert find_differences(weighted, repeated, ignore=("n_node_samples", *ignore)) == []
    assert find_differences(weighted, absent, ignore=ignore) == []


@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS, power=st.integers(-30, 30))
def test_scaling_by_a_power_of_two_changes_nothing_but_units(name, seed, power):
    _, X, y = draw_rough(seed)
    options = {"splitter": SPLITTERS[name], "seeds": [seed], "max_features": 2}
    options["keep_rows"] = True
    one = grow_tree(X, y, **options)
    other = grow_tree((X * 2.0**power).astype(np.float32), y, **options)
    ignore = ("threshold", "lower_threshold", "term_weight")
    assert find_differences(one, other, ignore=ignore) == []
    np.testing.assert_array_equal(
        route_rows(one, X), route_rows(other, (X * 2.0**power).astype(np.float32))
    )


@pytest.mark.parametrize("name", ["two_probe", "two_probe two-sided"])
@given(seed=SEEDS, shift=st.integers(-1000, 1000))
def test_differences_do_not_see_a_shift(name, seed, shift):
    rng = np.random.default_rng(seed)
    X = (rng.integers(-100, 100, (40, 3)) / 8).astype(np.float32)  # exact after the shift
    y = rng.integers(0, 3, 40)
    options = {"splitter": SPLITTERS[name], "seeds": [seed], "keep_rows": True}
    one = grow_tree(X, y, **options)
    other = grow_tree(X + np.float32(shift), y, **options)
    if (np.diff(one.term_ptr) != 1).all():
        assert find_differences(one, other) == []


@pytest.mark.parametrize("name", SPLITTERS)
@given(seed=SEEDS)
def test_threads_change_nothing(name, seed):
    rng, X, y = draw_rough(seed)
    options = {"splitter": SPLITTERS[name], "seeds": rng.integers(0, 2**32, 4)}
    options |= {"n_bootstrap": len(X), "keep_rows": True, "max_features": 2}
    forests = [grow_forest(X, y, n_threads=k, **options) for k in (1, 3)]
    assert hash_trees(forests[0]) == hash_trees(forests[1])


@pytest.mark.parametrize("name", SPLITTERS)
def test_several_outputs(name):
    rng, X, _ = draw_rough(0, n=100)
    y = rng.normal(size=(100, 2))
    tree = grow_tree(X, y, "squared_error", splitter=SPLITTERS[name], keep_rows=True)
    assert tree.value.shape[1] == 2
    np.testing.assert_array_equal(tree.apply(X), route_rows(tree, X))


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("scale", [1e-30, 1e-4, 1e4, 1e15])
def test_rows_that_differ_are_told_apart_at_any_scale(name, scale):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 3)) * scale).astype(np.float32)
    tree = grow_tree(X, np.arange(60) % 7, splitter=SPLITTERS[name], keep_rows=True)
    assert np.all(tree.impurity[tree.children_left < 0] == 0.0)
