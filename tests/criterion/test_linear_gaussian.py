"""The criterion of linear Gaussian leaves against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueTreeRegressor
from obtree.data.scale import find_weight_unit
from obtree.testing import check_criterion
from obtree.testing.criterion_node import NodeProbe, scan_flips
from obtree.testing.growth import bind_criterion, find_differences, grow_tree

N = 160
RIDGE = 1.0
SEEDS = st.integers(0, 2**32 - 1)


def fit_line(Z, y, w, ridge=RIDGE):
    """Sum of squares that a ridge regression leaves with its penalty, and the freedom it uses."""
    total = w.sum()
    Z = Z - w @ Z / total
    y = y - w @ y / total
    gram = (Z * w[:, None]).T @ Z
    penalty = np.diag(ridge * np.diag(gram) / total + total / 2.0**30)
    solved = np.linalg.solve(gram + penalty, (Z * w[:, None]).T @ y)
    squares = w @ (y - Z @ solved) ** 2 + solved @ penalty @ solved
    return squares, np.trace(np.linalg.solve(gram + penalty, gram))


def rate_rows(Z, y, w, spread):
    """What the criterion sums over the rows of a node, or of a side of it."""
    total = w.sum()
    squares, used = fit_line(Z, y, w)
    variance = squares / max(total - 1.0 - used, total / 4.0)
    variance *= 1.0 + (1.0 + used) / total
    return 0.5 * total * np.log1p(variance / (1e-6 * spread))


def standardise(X, w):
    """The columns about their means over the rows that have them, means where they lack."""
    present = ~np.isnan(X)
    weight = present * w[:, None]
    mean = np.where(present, X * weight, 0.0).sum(axis=0) / weight.sum(axis=0)
    Z = np.where(present, X - mean, 0.0)
    return Z / np.sqrt((Z**2 * weight).sum(axis=0) / weight.sum(axis=0))


class Case:
    """A node of random rows, whose line changes with the first column."""

    def __init__(self, seed, n_outputs=1, missing=False):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(N, 3)).astype(np.float32)
        if missing:
            self.X[rng.random(self.X.shape) < 0.1] = np.nan
        slope = np.where(np.nan_to_num(self.X[:, :1]) > 0.3, 3.0, -1.0)
        self.y = slope * np.nan_to_num(self.X[:, 1:2]) + rng.normal(size=(N, n_outputs))
        self.weight = rng.integers(1, 4, N).astype(float)
        self.rows = np.sort(rng.choice(N, 140, replace=False))
        made = bind_criterion("linear_gaussian", self.y, None, self.X)
        self.made, self.node = made, NodeProbe(made, self.rows, self.weight)
        self.codes = rng.integers(0, 20, 140)
        w = self.weight[self.rows]
        self.Z, self.w = standardise(self.X[self.rows].astype(float), w), w
        self.targets = self.y[self.rows]
        centred = self.targets - w @ self.targets / w.sum()
        self.spread = w @ centred**2 / w.sum()

    def rate(self, part):
        """The sum for some rows of the node, averaged over outputs."""
        return np.mean(
            [
                rate_rows(self.Z[part], self.targets[part, k], self.w[part], self.spread[k])
                for k in range(self.targets.shape[1])
            ]
        )


@given(seed=SEEDS, n_outputs=st.integers(1, 2), missing=st.booleans())
def test_impurity_and_best_cut(seed, n_outputs, missing):
    case = Case(seed, n_outputs, missing)
    everything = np.ones(len(case.rows), dtype=bool)
    whole = case.rate(everything)
    np.testing.assert_allclose(case.node.impurity, whole / case.w.sum(), rtol=1e-8)
    least = 10.0 + 1.5 * 3
    scores = {}
    for low in range(19):
        left = case.codes <= low
        if min(case.w[left].sum(), case.w[~left].sum()) >= least:
            scores[low] = -case.rate(left) - case.rate(~left)
    best = max(scores.values())
    found = case.node.scan(case.codes)
    if best < -whole - 1e-7:
        assert found is None
    elif best > -whole + 1e-7:
        np.testing.assert_allclose(found[0], best, rtol=1e-8)
        np.testing.assert_allclose(scores[found[1]], best, rtol=1e-8)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_best_plane_on_a_line(n_outputs):
    for seed in range(5):
        case = Case(seed, n_outputs)
        rng = np.random.default_rng(seed)
        # Few rows change sides, so that every plane is looked at.
        distance = rng.normal(size=140)
        x = np.where(rng.random(140) < 0.15, rng.normal(size=140), 0.0).astype(np.float32)
        moved = x != 0.0
        steps = np.sort(-distance[moved] / x[moved].astype(float))
        best = -np.inf
        for step in (steps[1:] + steps[:-1]) / 2:
            right = distance + step * x >= 0
            best = max(best, -case.rate(right) - case.rate(~right))
        found = scan_flips(case.made, case.rows, case.weight, distance, x)
        if best > -case.rate(np.ones(140, dtype=bool)) + 1e-7:
            np.testing.assert_allclose(found[0], best, rtol=1e-8)


def test_the_bound_is_above_the_sum_and_near_it():
    rng = np.random.default_rng(0)
    for n in (12, 40, 200):
        Z = rng.standard_t(3, size=(n, 4))
        Z -= Z.mean(axis=0)
        inverse = np.linalg.inv(Z.T @ Z + np.diag((Z**2).mean(axis=0)))
        leverage = 1.0 / n + np.einsum("ij,jk,ik->i", Z, inverse, Z)
        bound = n * np.log1p(leverage.sum() / n)
        assert 0.0 <= bound - np.log1p(leverage).sum() <= 2 * 0.31 * leverage.sum()


def test_the_contract_with_and_without_rows_to_read():
    check_criterion("linear_gaussian", task="regression")


@given(seed=SEEDS, a=st.sampled_from([0.25, 1.0, 8.0]), b=st.sampled_from([0.0, 3.0, -17.0]))
def test_affine_maps_change_no_split(seed, a, b):
    rng = np.random.default_rng(seed)
    X = rng.integers(-50, 50, (200, 3)) / 16.0
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 2]) + 0.3 * rng.normal(size=200)
    options = {"splitter": "axis", "seeds": [0]}
    one = grow_tree(X.astype(np.float32), y, "linear_gaussian", **options)
    moved = (X * [a, 2.0, 1.0] + [b, 0.0, 5.0]).astype(np.float32)
    other = grow_tree(moved, y, "linear_gaussian", **options)
    third = grow_tree(X.astype(np.float32), -a * y + b, "linear_gaussian", **options)
    leaves = one.apply(X.astype(np.float32))
    np.testing.assert_array_equal(other.apply(moved), leaves)
    np.testing.assert_array_equal(third.apply(X.astype(np.float32)), leaves)


@given(seed=SEEDS)
def test_whole_weights_equal_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 2]) + 0.3 * rng.normal(size=150)
    counts = rng.integers(1, 4, 150)
    options = {"splitter": "axis", "seeds": [0]}
    assert find_weight_unit(counts.astype(float)) == 1.0
    one = grow_tree(X, y, "linear_gaussian", sample_weight=counts.astype(float), **options)
    again = np.repeat(np.arange(150), counts)
    other = grow_tree(X[again], y[again], "linear_gaussian", **options)
    ignored = ["n_node_samples", "value", "impurity"]
    assert find_differences(one, other, ignore=ignored) == []
    np.testing.assert_allclose(one.impurity, other.impurity, rtol=1e-8)


def test_columns_that_correlate_best_are_the_regressors():
    # A hundred columns, of which the last two matter, and a kink that an axis split finds.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 100)).astype(np.float32)
    y = np.where(X[:, 98] > 0.0, 6.0, 1.0) * X[:, 98] + 2.0 * X[:, 99] + 0.1 * rng.normal(size=600)
    tree = ObliqueTreeRegressor(criterion="linear_gaussian", max_depth=1).fit(X, y).tree_
    assert tree.feature[0] == 98
    assert abs(tree.threshold[0]) < 0.3


def test_a_line_is_not_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=300)
    tree = ObliqueTreeRegressor(criterion="linear_gaussian").fit(X, y)
    assert tree.get_n_leaves() <= 3
    assert ObliqueTreeRegressor(min_samples_leaf=13).fit(X, y).get_n_leaves() > 10
