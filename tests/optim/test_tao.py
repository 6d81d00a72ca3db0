"""Tree alternating optimisation against slow, obvious calculations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obtree import ObliqueTreeClassifier, ObliqueTreeRegressor
from obtree.forest.refine import refine_trees
from obtree.optim.base import Problem
from obtree.optim.editable_tree import order_depth_first
from obtree.optim.tao import TAO
from obtree.testing.probe_tao import reduce_problem


def make_rows(seed, n=60, p=4, n_classes=3, missing=0.0):
    """Random rows, classes, numbers and weights without ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    filled = np.nan_to_num(X)
    codes = rng.integers(0, n_classes, n)
    codes = np.where(filled[:, 0] + filled[:, 1] > 0, codes, codes % 2).astype(np.int32)
    Y = np.stack([filled[:, 0] ** 2, filled @ rng.normal(size=p)], axis=1).astype(np.float64)
    return X, codes, Y, rng.uniform(0.5, 2.0, n)


def make_problem(seed, regression, n_train=None, **options):
    """A problem and a start tree of a few levels."""
    X, codes, Y, weight = make_rows(seed, **options)
    if regression:
        tree = ObliqueTreeRegressor(max_depth=3, splitter="axis_random", random_state=seed)
        return Problem(X, Y, weight, 0, n_train), tree.fit(X, Y).tree_
    tree = ObliqueTreeClassifier(max_depth=3, splitter="axis_random", random_state=seed)
    return Problem(X, codes[:, None], weight, 3, n_train), tree.fit(X, codes).tree_


def predict_leaf(problem, tree, x, node, forced, side):
    """Leaf that one row reaches when a node is made to send it to a side."""
    at = 0
    while tree.children_left[at] >= 0:
        terms = slice(tree.term_ptr[at], tree.term_ptr[at + 1])
        total = (tree.term_weight[terms] * x[tree.term_feature[terms]].astype(float)).sum()
        left = bool(tree.missing_go_left[at]) if np.isnan(total) else total <= tree.threshold[at]
        if at == node and forced:
            left = side == 0
        at = tree.children_left[at] if left else tree.children_right[at]
    return at


def measure_leaves(problem, tree):
    """Best constant of every leaf: a class, or numbers."""
    leaves = np.array([predict_leaf(problem, tree, x, -1, False, 0) for x in problem.X])
    best = {}
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        w = problem.sample_weight[rows]
        if problem.n_classes:
            best[leaf] = np.bincount(problem.y[rows, 0], w, problem.n_classes).argmax()
        else:
            best[leaf] = np.average(problem.y[rows], axis=0, weights=w)
    return leaves, best


def find_cost(problem, row, best):
    """Cost of one row in a leaf with this constant."""
    if problem.n_classes:
        return problem.sample_weight[row] * (best != problem.y[row, 0])
    mean = np.average(problem.y, axis=0, weights=problem.sample_weight)
    variance = np.average((problem.y - mean) ** 2, axis=0, weights=problem.sample_weight).mean()
    return problem.sample_weight[row] * ((problem.y[row] - best) ** 2).sum() / variance


@pytest.mark.parametrize("regression", [False, True])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.1]))
def test_reduced_problems_equal_brute_force(regression, seed, missing):
    problem, tree = make_problem(seed, regression, missing=missing)
    leaves, best = measure_leaves(problem, tree)
    new_id = np.argsort(order_depth_first(tree.children_left, tree.children_right))
    for node in np.flatnonzero(tree.children_left >= 0):
        below = np.zeros(tree.node_count, dtype=bool)
        below[node] = True
        for at in order_depth_first(tree.children_left, tree.children_right):
            if below[at] and tree.children_left[at] >= 0:
                below[[tree.children_left[at], tree.children_right[at]]] = True
        expected = {}
        for row in np.flatnonzero(below[leaves]):
            ends = [predict_leaf(problem, tree, problem.X[row], node, True, s) for s in (0, 1)]
            costs = [find_cost(problem, row, best[end]) for end in ends]
            if abs(costs[0] - costs[1]) > 1e-12:
                expected[row] = costs[0] - costs[1]
        rows, gain, objective = reduce_problem(problem, tree, new_id[node])
        found = {row: g for row, g in zip(rows, gain, strict=True) if abs(g) > 1e-12}
        assert found.keys() == expected.keys()
        for row, value in found.items():
            assert value == pytest.approx(expected[row], abs=1e-9)
        total = sum(find_cost(problem, i, best[leaf]) for i, leaf in enumerate(leaves))
        assert objective == pytest.approx(total)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    regression=st.booleans(),
    leaf=st.sampled_from(["constant", "linear"]),
    l1=st.sampled_from([0.0, 0.01, 1.0]),
    p=st.sampled_from([1, 4, 140]),
    missing=st.sampled_from([0.0, 0.05]),
    random_start=st.booleans(),
)
def test_the_objective_never_rises(seed, regression, leaf, l1, p, missing, random_start):
    p = max(p, 2)
    problem, tree = make_problem(seed, regression, p=p, missing=missing)
    optimiser = TAO(leaf=leaf, l1=l1, n_iter=4, tol=0.0, max_depth=3)
    ((model, report),) = refine_trees(problem, optimiser, [None if random_start else tree], [seed])
    objective = report["objective"]
    assert (objective[1:] <= objective[:-1] * (1 + 1e-12)).all()
    if leaf == "constant" and l1 == 0.0:
        leaves = model.apply(problem.X)
        values = model.value[leaves]
        best = values[:, 0].argmax(axis=1) if problem.n_classes else values[:, :, 0]
        total = sum(find_cost(problem, i, b) for i, b in enumerate(best))
        assert objective[-1] == pytest.approx(total)


@pytest.mark.parametrize("p", [8, 150])
def test_one_node_learns_a_plane(p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, p)).astype(np.float32)
    y = (X[:, :5].sum(axis=1) > 0.3).astype(np.int32)
    start = ObliqueTreeClassifier(max_depth=1).fit(X, y).tree_
    ((model, report),) = refine_trees(Problem(X, y[:, None], None, 2), TAO(n_iter=10), [start], [0])
    assert np.mean(model.predict(X)[:, 0].argmax(axis=1) != y) < (0.02 if p < 128 else 0.08)
    assert report["objective"][-1] < 0.5 * report["objective"][0]


def test_a_larger_penalty_leaves_fewer_terms():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20)).astype(np.float32)
    y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=500) > 0).astype(np.int32)
    problem = Problem(X, y[:, None], None, 2)
    n_terms = [
        len(refine_trees(problem, TAO(l1=l1, max_depth=2), [None], [0])[0][0].term_weight)
        for l1 in (0.01, 3.0, 30.0)
    ]
    assert n_terms[0] > n_terms[1] > n_terms[2]


def test_larger_steps_fit_leaves_more_closely():
    X, codes, _, _ = make_rows(0, n=400, p=150)
    start = ObliqueTreeClassifier(max_depth=1, random_state=0).fit(X, codes).tree_
    problem = Problem(X, codes[:, None], None, 3)
    loss = []
    for rate in (0.003, 0.01, 0.03):
        optimiser = TAO(leaf="linear", l1=0.0, leaf_rate=rate, n_iter=2, tol=0.0)
        ((model, _),) = refine_trees(problem, optimiser, [start], [0])
        own = model.predict(X)[np.arange(400), 0, codes]
        loss.append(-np.log(np.maximum(own, 1e-6)).mean())
    assert loss[0] > loss[1] > loss[2]


def test_linear_leaves_are_ridge_regressions():
    X, _, Y, weight = make_rows(0, n=200)
    start = ObliqueTreeRegressor(max_depth=2, random_state=0).fit(X, Y).tree_
    problem = Problem(X, Y, weight)
    ((model, _),) = refine_trees(problem, TAO(leaf="linear", ridge=2.0, n_iter=2), [start], [0])
    # The penalty is two rows, and a row weighs what it does on average.
    weight = weight / weight.mean()
    spread = np.sqrt(
        np.average((X - np.average(X, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    )
    leaves = model.apply(X)
    assert model.is_linear if hasattr(model, "is_linear") else model.leaf_ptr is not None
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        Z = X[rows] / spread
        w = weight[rows][:, None]
        Zc = Z - (w * Z).sum(axis=0) / w.sum()
        yc = Y[rows] - (w * Y[rows]).sum(axis=0) / w.sum()
        coef = np.linalg.solve(Zc.T @ (w * Zc) + 2.0 * np.eye(4), Zc.T @ (w * yc)) / spread[:, None]
        terms = slice(model.leaf_ptr[leaf], model.leaf_ptr[leaf + 1])
        if terms.stop > terms.start:
            np.testing.assert_allclose(model.leaf_weight[terms], coef, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("p", [4, 150])
def test_threads_change_nothing(leaf, p):
    problem, _ = make_problem(1, False, n=300, p=p)
    trees = [
        refine_trees(problem, TAO(leaf=leaf, max_depth=4), [None], [3], n_threads=k)[0]
        for k in (1, 3)
    ]
    np.testing.assert_array_equal(trees[0][1]["objective"], trees[1][1]["objective"])
    np.testing.assert_array_equal(trees[0][0].term_weight, trees[1][0].term_weight)
    np.testing.assert_array_equal(trees[0][0].apply(problem.X), trees[1][0].apply(problem.X))


def test_the_best_tree_on_the_rows_set_aside_is_kept():
    X, codes, _, _ = make_rows(5, n=400)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 400).astype(np.int32)  # nothing to learn
    start = ObliqueTreeClassifier(max_depth=6, random_state=0).fit(X[:200], codes[:200]).tree_
    stopped = Problem(X, codes[:, None], None, 3, n_train=200)
    optimiser = TAO(n_iter=8, tol=0.0, n_iter_no_change=1)
    ((model, report),) = refine_trees(stopped, optimiser, [start], [0])
    ((last, full),) = refine_trees(
        Problem(X[:200], codes[:200, None], None, 3), optimiser, [start], [0]
    )
    assert len(report["objective"]) <= len(full["objective"])
    error = [np.mean(t.predict(X[200:])[:, 0].argmax(axis=1) != codes[200:]) for t in (model, last)]
    assert error[0] <= error[1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"leaf": "cubic"}, "unknown leaf 'cubic'; expected one of"),
        ({"l1": -1.0}, "l1=-1.0 is not valid; expected a number >= 0"),
        ({"leaf_rate": 0.0}, "leaf_rate=0.0 is not valid; expected a number > 0"),
        ({"n_iter": 0}, "n_iter=0 is not valid; expected an integer >= 1"),
        ({"max_depth": 0}, "max_depth=0 is not valid; expected an integer >= 1"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        TAO(**params)
