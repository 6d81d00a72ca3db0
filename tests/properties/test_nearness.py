"""What proximities and embeddings promise, on any data.

- Proximities equal sums over trees and pairs of rows; shared leaves are symmetric with ones on
  the diagonal, and rows of RF-GAP sum to one.
- Whole-number weights do what repeated rows do, where no rows are drawn.
- Trees along axes do not care for units and origins of columns, nor does anything for threads.
- A row of the training gets the coordinates again that it has.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from obtree import (
    ForestEmbedding,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    SemiSupervisedForestClassifier,
)
from obtree.testing.growth import name_partition

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("leaf", "oob", "gap")
AFFINITIES = ("binary", "gaussian", "mahalanobis")
FORESTS = {
    "axis": ObliqueForestClassifier(9, splitter="axis"),
    "oblique": ObliqueForestClassifier(
        9, splitter="random_oblique", bootstrap=True, max_samples=0.5
    ),
    "extra": ObliqueForestClassifier(9, splitter="axis_random", bootstrap=True, max_depth=3),
    "numbers": ObliqueForestRegressor(70, splitter="axis", min_samples_leaf=3, max_features=2),
}
GUIDES = ("density", "y", "random")


def draw_problem(seed, n=40, n_missing=0):
    """Rows on a grid, so that moving columns is exact, some without values, and three classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-512, 512, size=(n, 3)) / 64.0
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=n), [-4.0, 4.0])
    y[:3] = 0, 1, 2
    X.flat[rng.choice(X.size, n_missing, replace=False)] = np.nan
    return rng, X, y


def move_columns(rng, X):
    """The same columns in other units, from other origins."""
    return (X + rng.integers(-8, 9, X.shape[1])) * 2.0 ** rng.integers(-9, 10, X.shape[1])


def sum_slowly(forest, X, Y, kind, weight):
    """Proximities by their definition, a tree and a pair of rows at a time."""
    a, b = forest.apply(X), forest.apply(X if Y is None else Y)
    drawn = np.zeros(b.shape)
    for t, (tree, sample) in enumerate(zip(forest.estimators_, forest._samples, strict=True)):
        # Rows of zero weight are drawn by no tree.
        drawn[weight > 0, t] = sample.count(tree.random_state, np.count_nonzero(weight))
    found = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        n_out = 0
        n_both = np.zeros(len(b))
        for t in range(a.shape[1]):
            is_out = Y is not None or drawn[i, t] == 0
            shared = b[:, t] == a[i, t]
            if kind == "leaf":
                found[i] += shared / a.shape[1]
            elif kind == "oob" and is_out:
                n_both += drawn[:, t] == 0
                found[i] += shared & (drawn[:, t] == 0)
            elif kind == "gap" and is_out:
                n_out += 1
                share = shared * drawn[:, t] * weight
                found[i] += share / share.sum()
        found[i] /= np.maximum(n_both, 1) if kind == "oob" else max(n_out, 1)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORESTS)
@settings(max_examples=8)
@given(seed=SEEDS, n_missing=st.integers(0, 20), new=st.booleans(), weighted=st.booleans())
def test_proximities_are_the_slow_sums(name, kind, seed, n_missing, new, weighted):
    rng, X, y = draw_problem(seed, n_missing=n_missing)
    weight = rng.integers(0, 3, len(y)).astype(float) if weighted else np.ones(len(y))
    weight[:3] = 1.0
    forest = clone(FORESTS[name]).set_params(random_state=seed).fit(X, y, weight)
    fresh = np.where(rng.random(X.shape) < 0.1, np.nan, X + 0.25)[:20]
    rows, others = (fresh, X) if new else (X, None)
    found = forest.proximity(rows, others, kind=kind)
    expected = sum_slowly(forest, rows, others, kind, weight)
    # Values of shared leaves are float32.
    assert_allclose(found.toarray(), expected, rtol=1e-12 if kind == "gap" else 1e-7, atol=1e-14)
    if kind == "gap":
        reached = expected.any(axis=1)
        assert_allclose(found.sum(axis=1)[reached], 1.0)
        assert reached.all() or not new
    elif not new:
        assert_array_equal(found.diagonal(), 1.0 if kind == "leaf" else np.diag(expected))
        assert (found != found.T).nnz == 0
        assert found.max() <= 1.0
    other = forest.set_params(n_jobs=3).proximity(rows, others, kind=kind)
    assert (found != other).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["axis", "numbers"])
@given(seed=SEEDS, n_missing=st.integers(0, 20))
def test_proximities_along_axes_have_no_units(name, kind, seed, n_missing):
    rng, X, y = draw_problem(seed, n_missing=n_missing)
    moved = move_columns(rng, X)
    model = clone(FORESTS[name]).set_params(random_state=seed)
    found = clone(model).fit(X, y).proximity(X, kind=kind)
    assert (clone(model).fit(moved, y).proximity(moved, kind=kind) != found).nnz == 0


@pytest.mark.parametrize("splitter", ["axis", "axis_random", "random_oblique"])
@given(seed=SEEDS)
def test_proximities_of_whole_weights_are_those_of_repeated_rows(splitter, seed):
    rng, X, y = draw_problem(seed)
    counts = rng.integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), counts)
    model = ObliqueForestClassifier(5, splitter=splitter, bootstrap=False, max_depth=3)
    model.set_params(random_state=seed)
    weighted = clone(model).fit(X, y, counts.astype(float))
    repeated = clone(model).fit(X[again], y[again])
    leaf = weighted.proximity(X).toarray()
    assert_array_equal(repeated.proximity(X[again]).toarray(), leaf[np.ix_(again, again)])
    # No tree has left a row out: all are compared as new ones.
    copies = repeated.proximity(X, X[again], kind="gap") @ (again[:, None] == np.arange(len(y)))
    assert_allclose(copies, weighted.proximity(X, X, kind="gap").toarray(), atol=1e-14)


def list_leaves(model, X):
    """Names of the leaves that rows reach, tree by tree."""
    return [name_partition(tree.apply(X.astype(np.float32))) for tree in model.trees_]


def make_embedding(seed, **params):
    return ForestEmbedding(**{"n_estimators": 8, "random_state": seed, **params})


def weigh_slowly(model, X, weight, kind, power):
    """Affinities by their definition, pair by pair, of rows without missing values."""
    leaves = np.stack([tree.apply(X.astype(np.float32)) for tree in model.trees_], axis=1)
    total = weight.sum()
    mean = weight @ X / total
    Z = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / total)
    n, d = Z.shape
    affinity = np.zeros((n, n))
    for t in range(leaves.shape[1]):
        for leaf in np.unique(leaves[:, t]):
            rows = np.flatnonzero(leaves[:, t] == leaf)
            w = weight[rows]
            apart = Z[rows] - w @ Z[rows] / w.sum()
            sums = (w[:, None] * apart).T @ apart
            # As many rows more as there are features, with equal variances.
            covariance = (sums + np.trace(sums) / w.sum() * np.eye(d)) / (w.sum() + d)
            inverse = np.linalg.inv(covariance)
            for a, i in enumerate(rows):
                for b, j in enumerate(rows):
                    delta = apart[a] - apart[b]
                    q = delta @ inverse @ delta / (2 * d) if kind == "mahalanobis" else 0.0
                    affinity[i, j] += np.exp(-q) / leaves.shape[1]
    affinity **= power
    if kind == "gaussian":
        squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
        width = np.empty(n)
        for i in range(n):
            mates = np.flatnonzero(affinity[i])
            near = np.sort(np.repeat(squares[i, mates], weight[mates].astype(int)))
            positive = near[near > 0]
            # The row itself stands first, and the seventh neighbour behind it.
            width[i] = near[min(7, len(near) - 1)]
            if width[i] == 0:
                width[i] = positive[0] if len(positive) else 1.0
        affinity *= np.exp(-squares / np.maximum.outer(width, width))
    return affinity


@pytest.mark.parametrize("affinity", AFFINITIES)
@settings(max_examples=6)
@given(seed=SEEDS, power=st.integers(1, 6), guide=st.sampled_from(GUIDES))
def test_embeddings_solve_the_slow_problem(affinity, seed, power, guide):
    rng, X, y = draw_problem(seed)
    weight = rng.integers(1, 3, len(y)).astype(float)
    assume(len(np.unique(X, axis=0)) == len(X))
    model = make_embedding(seed, affinity=affinity, power=power, grow_on=guide)
    model.fit(X, y, weight)
    assume(model.n_parts_ == 1)
    slow = weigh_slowly(model, X, weight, affinity, power)
    degree = slow @ weight
    f = model.embedding_
    # sum_j W_ij w_j f_j = lambda d_i f_i, apart from the constant and of variance 1.
    assert_allclose(
        slow @ (weight[:, None] * f),
        model.eigenvalues_ * degree[:, None] * f,
        atol=2e-5 * degree.max(),
    )
    share = weight * degree / (weight @ degree)
    assert_allclose(share @ f, 0.0, atol=1e-5)
    known = model.eigenvalues_ > 0
    assert_allclose((f * share[:, None]).T @ f, np.diag(known.astype(float)), atol=1e-5)
    root = np.sqrt(weight / degree)
    values = np.linalg.eigvalsh(root[:, None] * slow * root)[::-1]
    assert_allclose(model.eigenvalues_, np.maximum(values[1:3], 0.0), atol=1e-5)


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("guide", ["density", "y"])
@settings(max_examples=8)
@given(seed=SEEDS)
def test_embeddings_of_whole_weights_are_those_of_repeated_rows(guide, affinity, seed):
    rng, X, y = draw_problem(seed, n=60)
    counts = rng.integers(0, 4, len(y))
    counts[:3] = 1
    again = np.repeat(np.arange(len(y)), counts)
    model = make_embedding(seed, affinity=affinity, grow_on=guide, splitter="axis")
    weighted = clone(model).fit(X, y, counts.astype(float))
    repeated = clone(model).fit(X[again], y[again])
    kept = X[counts > 0]
    assert_array_equal(list_leaves(weighted, kept), list_leaves(repeated, kept))
    assume(weighted.n_parts_ == 1)
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, atol=1e-9)
    assert_allclose(weighted.embedding_[again], repeated.embedding_, atol=1e-5)


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("guide", GUIDES)
@settings(max_examples=8)
@given(seed=SEEDS, n_missing=st.integers(0, 20))
def test_embeddings_along_axes_have_no_units(guide, affinity, seed, n_missing):
    rng, X, y = draw_problem(seed, n_missing=n_missing)
    moved = move_columns(rng, X)
    model = make_embedding(seed, affinity=affinity, grow_on=guide, splitter="axis")
    one, other = clone(model).fit(X, y), clone(model).fit(moved, y)
    assert_array_equal(list_leaves(one, X), list_leaves(other, moved))
    assert_allclose(other.eigenvalues_, one.eigenvalues_, atol=1e-6)
    assert_allclose(other.embedding_, one.embedding_, atol=1e-4)
    assert_allclose(other.transform(moved[:9]), one.transform(X[:9]), atol=1e-4)


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("guide", GUIDES)
@settings(max_examples=8)
@given(
    seed=SEEDS, n_missing=st.integers(0, 20), splitter=st.sampled_from(["axis", "random_oblique"])
)
def test_training_rows_get_their_coordinates_again(guide, affinity, seed, n_missing, splitter):
    _, X, y = draw_problem(seed, n_missing=n_missing)
    model = make_embedding(seed, affinity=affinity, grow_on=guide, splitter=splitter)
    found = clone(model).fit_transform(X, y)
    model.set_params(n_jobs=3).fit(X, y)
    assert_array_equal(model.embedding_, found)
    one = model.transform(X)
    assert_array_equal(model.set_params(n_jobs=1).transform(X), one)
    assert_array_equal(model.transform(X[::-1])[::-1], one)
    assume(model.n_parts_ == 1)
    small = model.eigenvalues_ < 1e-3
    assert_allclose(one[:, ~small], found[:, ~small], atol=1e-5)


@pytest.mark.parametrize("n_jobs", [1, 2])
@settings(max_examples=4)
@given(seed=SEEDS)
def test_labels_travel_alike_along_axes(n_jobs, seed):
    rng, X, y = draw_problem(seed, n=60)
    moved = move_columns(rng, X)
    y = np.where(rng.random(60) < 0.6, -1, y)
    y[:3] = 0, 1, 2
    params = {"splitter": "axis", "structure_splitter": "axis", "fallback": False}
    model = SemiSupervisedForestClassifier(5, random_state=seed, n_jobs=1, **params)
    one = clone(model).fit(X, y)
    other = clone(model).set_params(n_jobs=n_jobs).fit(moved, y)
    assert_allclose(other.label_distributions_, one.label_distributions_, atol=1e-5)
    assert_array_equal(other.transduction_, one.transduction_)
    assert_array_equal(one.transduction_[y >= 0], y[y >= 0])
    assert_allclose(one.label_distributions_.sum(axis=1), 1.0)
