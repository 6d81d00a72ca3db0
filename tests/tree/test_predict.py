"""Routing and combining against slow references."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from obtree.tree.predict import Predictor

SHAPES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_rows": st.integers(0, 70),
        "n_features": st.integers(1, 40),
        "n_splits": st.integers(0, 40),
        "n_trees": st.integers(1, 11),
        "missing": st.sampled_from([0.0, 0.3]),
        "scale": st.sampled_from([1.0, 1e-40, 1e30]),
        "chain": st.booleans(),
    }
)


def draw(make_rows, make_tree, shape, **tree_options):
    rng = np.random.default_rng(shape["seed"])
    X = make_rows(rng, shape["n_rows"], shape["n_features"], shape["missing"], shape["scale"])
    trees = [
        make_tree(rng, X, shape["n_splits"], chain=shape["chain"], **tree_options)
        for _ in range(shape["n_trees"])
    ]
    return X, trees


@settings(deadline=None, max_examples=60)
@given(shape=SHAPES)
def test_axis_trees_route_as_documented(make_rows, make_tree, route, shape):
    X, trees = draw(make_rows, make_tree, shape)
    predictor = Predictor(trees)
    assert predictor.layout == "narrow"
    expected = np.stack([route(tree, X) for tree in trees], axis=1)
    np.testing.assert_array_equal(predictor.apply(X), expected)


@settings(deadline=None, max_examples=60)
@given(
    shape=SHAPES,
    max_terms=st.sampled_from([1, 3, 15, 16, 40]),
    products=st.booleans(),
    intervals=st.booleans(),
)
def test_oblique_trees_route_as_documented(
    make_rows, make_tree, route, shape, max_terms, products, intervals
):
    X, trees = draw(
        make_rows,
        make_tree,
        shape,
        max_terms=max_terms,
        unit_weights=False,
        products=products,
        intervals=intervals,
    )
    expected = np.stack([route(tree, X) for tree in trees], axis=1)
    np.testing.assert_array_equal(Predictor(trees).apply(X), expected)


@pytest.mark.parametrize("n_rows", [8, 511, 512, 1100])
def test_rows_of_many_kinds_of_nodes(make_rows, make_tree, route, n_rows):
    """Nodes of one term, of several and of many, so that rows wait in all lists at once."""
    rng = np.random.default_rng(n_rows)
    X = make_rows(rng, n_rows, 9, missing=0.1, scale=1.0)
    trees = [
        make_tree(rng, X, 60, max_terms=max_terms, unit_weights=False) for max_terms in (2, 20, 40)
    ]
    predictor = Predictor(trees)
    assert predictor.layout == "oblique"
    expected = np.stack([route(tree, X) for tree in trees], axis=1)
    np.testing.assert_array_equal(predictor.apply(X), expected)
    np.testing.assert_array_equal(predictor.apply(X[::-1]), expected[::-1])


def test_axis_and_oblique_trees_mix(make_rows, make_tree, route):
    rng = np.random.default_rng(0)
    X = make_rows(rng, 50, 5, missing=0.1)
    trees = [
        make_tree(rng, X, 20),
        make_tree(rng, X, 20, max_terms=3, unit_weights=False),
        make_tree(rng, X, 20, products=True),
        make_tree(rng, X, 20, intervals=True),
        make_tree(rng, X, 0),
    ]
    predictor = Predictor(trees)
    assert predictor.layout == "oblique"
    expected = np.stack([route(tree, X) for tree in trees], axis=1)
    np.testing.assert_array_equal(predictor.apply(X), expected)


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 40])
def test_many_features_fall_back_to_wide_nodes(make_rows, make_tree, route, n_rows):
    rng = np.random.default_rng(1)
    X = make_rows(rng, n_rows, 8193, missing=0.1)
    tree = make_tree(rng, X, 30)
    predictor = Predictor([tree])
    assert predictor.layout == "wide"
    np.testing.assert_array_equal(predictor.apply(X)[:, 0], route(tree, X))
    narrow = make_tree(rng, X[:, :8192], 30)
    assert Predictor([narrow]).layout == "narrow"
    np.testing.assert_array_equal(narrow.apply(X[:, :8192]), route(narrow, X[:, :8192]))


def test_too_many_nodes_fall_back_to_wide_nodes():
    # 8192 features leave 16 bits for the child, so 65536 nodes are one too many.
    for n_splits, layout in ((32767, "narrow"), (32768, "wide")):
        tree = make_chain(n_splits, n_features=8192)
        predictor = Predictor([tree])
        assert predictor.layout == layout
        X = np.zeros((2, 8192), dtype=np.float32)
        X[1] = 1.0
        np.testing.assert_array_equal(predictor.apply(X)[:, 0], [1, 2 * n_splits])


def make_chain(n_splits, n_features=1):
    """Every right child splits again; x <= k + 0.5 ends the walk at split k."""
    from obtree.tree.tree import Tree

    n_nodes = 2 * n_splits + 1
    internal = np.arange(n_nodes) % 2 == 0
    internal[-1] = False
    nodes = np.arange(n_nodes)
    n_terms = internal.astype(np.int64)
    depth = nodes // 2
    threshold = np.where(internal, depth + 0.5, 0.0) if n_features == 1 else 0.5 * internal
    return Tree.from_arrays(
        n_features=n_features,
        children_left=np.where(internal, nodes + 1, -1),
        children_right=np.where(internal, nodes + 2, -1),
        threshold=threshold,
        term_ptr=np.concatenate([[0], np.cumsum(n_terms)]),
        term_feature=(depth % n_features)[internal],
        term_weight=np.ones(n_splits),
        missing_go_left=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
        n_node_samples=np.ones(n_nodes),
        weighted_n_node_samples=np.ones(n_nodes),
        value=np.zeros((n_nodes, 1, 1)),
        n_classes=[1],
    )


def test_a_million_deep_chain():
    n_splits = 1_000_000
    tree = make_chain(n_splits)
    X = np.array([[0.0], [1000.0], [np.float32(1e9)]], dtype=np.float32)
    np.testing.assert_array_equal(tree.apply(X), [1, 2001, 2 * n_splits])
    assert tree.max_depth == n_splits


@pytest.mark.parametrize("n_classes", [(1,), (2,), (5,), (3, 2, 4)])
@pytest.mark.parametrize("values", ["mixed", "pure"])
@pytest.mark.parametrize("n_rows", [1, 3, 60])
def test_combine_modes_against_numpy(make_rows, make_tree, route, n_classes, values, n_rows):
    rng = np.random.default_rng(2)
    X = make_rows(rng, n_rows, 4, missing=0.05)
    trees = [make_tree(rng, X, 15, n_classes=n_classes, values=values) for _ in range(10)]
    predictor = Predictor(trees)
    leaf_values = [tree.value[route(tree, X)] for tree in trees]

    total = np.zeros_like(leaf_values[0])
    for value in leaf_values:
        total += value
    np.testing.assert_array_equal(predictor.predict(X), total / 10)

    if n_classes == (1,):
        return
    votes = np.zeros_like(total)
    for value in leaf_values:
        votes += value.argmax(axis=2)[:, :, None] == np.arange(value.shape[2])
    np.testing.assert_array_equal(predictor.predict(X, combine="vote"), votes / 10)

    product = np.ones_like(total)
    for value in leaf_values:
        product *= np.maximum(value, 1e-6)
    for k, n in enumerate(n_classes):
        product[:, k, n:] = 0.0
    product /= product.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(
        predictor.predict(X, combine="product"), product, rtol=1e-9, atol=1e-15
    )
    for combine in ("average", "vote", "product"):
        np.testing.assert_array_equal(
            predictor.classify(X, combine=combine),
            predictor.predict(X, combine=combine).argmax(axis=2),
        )


@settings(deadline=None, max_examples=30)
@given(shape=SHAPES, oblique=st.booleans())
def test_sparse_rows_give_what_dense_rows_give(make_rows, make_tree, shape, oblique):
    options = {"max_terms": 3, "unit_weights": False} if oblique else {}
    X, trees = draw(make_rows, make_tree, shape, **options)
    X[np.random.default_rng(shape["seed"]).random(X.shape) < 0.6] = 0.0
    predictor = Predictor(trees)
    for make in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array):
        np.testing.assert_array_equal(predictor.apply(make(X)), predictor.apply(X))
        np.testing.assert_array_equal(predictor.predict(make(X), 2), predictor.predict(X))


def test_sparse_blocks_are_cleaned(make_rows, make_tree):
    rng = np.random.default_rng(3)
    X = make_rows(rng, 9000, 12)
    X[rng.random(X.shape) < 0.7] = 0.0
    for options in ({}, {"max_terms": 3, "unit_weights": False}):
        predictor = Predictor([make_tree(rng, X, 50, **options)])
        expected = predictor.apply(X)
        np.testing.assert_array_equal(predictor.apply(sparse.csr_matrix(X), 3), expected)


def test_sparse_duplicates_add_up(make_rows, make_tree):
    rng = np.random.default_rng(4)
    X = make_rows(rng, 6, 3)
    tree = make_tree(rng, X, 10)
    doubled = sparse.csr_matrix((6, 3), dtype=np.float32)
    doubled.data = np.repeat(X.ravel() / 2, 2)
    doubled.indices = np.tile(np.repeat(np.arange(3, dtype=np.int32), 2), 6)
    doubled.indptr = np.arange(7, dtype=np.int32) * 6
    np.testing.assert_array_equal(tree.apply(doubled), tree.apply(X))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("indices", np.array([0, 9, 1], dtype=np.int32)),
        ("indices", np.array([0, -1, 1], dtype=np.int32)),
        ("indptr", np.array([0, 2, 1, 3], dtype=np.int32)),
        ("indptr", np.array([0, 1, 2, 300], dtype=np.int32)),
        ("indptr", np.array([1, 1, 2, 3], dtype=np.int32)),
    ],
)
def test_damaged_sparse_matrices_are_refused(make_rows, make_tree, field, value):
    rng = np.random.default_rng(5)
    tree = make_tree(rng, make_rows(rng, 5, 3), 10)
    X = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    setattr(X, field, value)
    with pytest.raises(ValueError, match=f"X.{field}"):
        tree.apply(X)


@pytest.mark.parametrize(
    "dtype", ["u1", "i1", "i2", "u2", "i4", "i8", "f2", "f4", "f8", ">f4", ">i2", "?", "O"]
)
@pytest.mark.parametrize("oblique", [False, True])
@pytest.mark.parametrize("n_rows", [2, 50])
def test_types_and_memory_orders(make_tree, dtype, oblique, n_rows):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 2 if dtype == "?" else 90, (n_rows, 70)).astype(dtype)
    options = {"max_terms": 3, "unit_weights": False} if oblique else {}
    tree = make_tree(rng, X.astype(np.float32), 40, **options)
    expected = tree.apply(np.ascontiguousarray(X, dtype=np.float32))
    backing = np.zeros((2 * n_rows, 210), dtype=dtype)
    backing[::2, ::3] = X
    reversed_rows = np.ascontiguousarray(X[::-1])[::-1]
    for given_X in (X, np.asfortranarray(X), backing[::2, ::3], reversed_rows):
        np.testing.assert_array_equal(tree.apply(given_X), expected)


def test_float64_is_rounded_to_float32(make_rows, make_tree):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3))
    tree = make_tree(rng, X.astype(np.float32), 60)
    np.testing.assert_array_equal(tree.apply(X), tree.apply(X.astype(np.float32)))


@pytest.mark.parametrize("oblique", [False, True])
def test_thread_count_changes_nothing(make_rows, make_tree, oblique):
    rng = np.random.default_rng(8)
    X = make_rows(rng, 20_000, 7, missing=0.01)
    options = {"max_terms": 3, "unit_weights": False} if oblique else {}
    predictor = Predictor([make_tree(rng, X, 60, **options) for _ in range(7)])
    for combine in ("average", "vote", "product"):
        expected = predictor.predict(X, combine=combine)
        for n_threads in (2, 3, 16):
            got = predictor.predict(X, n_threads=n_threads, combine=combine)
            assert got.tobytes() == expected.tobytes()
            classes = predictor.classify(X, n_threads=n_threads, combine=combine)
            np.testing.assert_array_equal(classes, expected.argmax(axis=2))
    np.testing.assert_array_equal(predictor.apply(X, 4), predictor.apply(X))
    # Rows do not depend on their neighbours either.
    few = np.concatenate([predictor.apply(X[k : k + 1]) for k in range(50)])
    np.testing.assert_array_equal(few, predictor.apply(X)[:50])


def test_wrong_calls_are_refused(make_rows, make_tree):
    rng = np.random.default_rng(9)
    X = make_rows(rng, 5, 3)
    tree = make_tree(rng, X, 4)
    predictor = Predictor([tree])
    with pytest.raises(ValueError, match=r"2 columns; expected n_features = 3"):
        predictor.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"1 dimensions; expected 2"):
        tree.apply(X[0])
    with pytest.raises(ValueError, match=r"complex64; expected real numbers"):
        predictor.apply(X.astype(np.complex64))
    with pytest.raises(ValueError, match=r"n_threads=0 is not valid"):
        predictor.predict(X, n_threads=0)
    with pytest.raises(ValueError, match="unknown combine 'mean'; expected one of 'average'"):
        predictor.predict(X, combine="mean")
    with pytest.raises(TypeError, match="combine=3 is not valid; expected one of 'average'"):
        predictor.predict(X, combine=3)
    with pytest.raises(ValueError, match="at least one tree"):
        Predictor([])
    with pytest.raises(ValueError, match="must share"):
        Predictor([tree, make_tree(rng, X, 4, n_classes=(4,))])
    with pytest.raises(ValueError, match="must share"):
        Predictor([tree, make_tree(rng, X[:, :2], 4)])
    assert predictor.predict(X[:0]).shape == (0, 1, 3)
    assert predictor.apply(X[:0]).shape == (0, 1)


def test_inconsistent_trees_are_refused_before_walking(make_rows, make_tree):
    rng = np.random.default_rng(10)
    X = make_rows(rng, 5, 3)
    for field, change, message in (
        ("children_left", lambda a: np.where(a > 0, 0, a), "do not form one tree"),
        ("children_left", lambda a: np.where(a > 0, len(a), a), "do not form one tree"),
        ("term_feature", lambda a: a + 3, "out of range"),
    ):
        tree = make_tree(rng, X, 6)
        setattr(tree, field, change(getattr(tree, field)).astype(np.int32))
        with pytest.raises(ValueError, match=message):
            Predictor([tree])


def test_decision_path(make_rows, make_tree):
    rng = np.random.default_rng(11)
    X = make_rows(rng, 40, 4)
    trees = [make_tree(rng, X, n) for n in (0, 10, 25)]
    predictor = Predictor(trees)
    indicator, n_nodes_ptr = predictor.decision_path(X)
    np.testing.assert_array_equal(n_nodes_ptr, np.cumsum([0] + [t.node_count for t in trees]))
    assert indicator.shape == (40, n_nodes_ptr[-1])
    assert indicator.has_sorted_indices
    for t, tree in enumerate(trees):
        part = indicator[:, n_nodes_ptr[t] : n_nodes_ptr[t + 1]].toarray()
        leaves = tree.apply(X)
        np.testing.assert_array_equal(part.sum(axis=1), tree.compute_depths()[leaves] + 1)
        assert part[np.arange(40), leaves].all()
        assert part[:, 0].all()
        for node in np.flatnonzero(tree.children_left >= 0):
            below = part[:, tree.children_left[node]] + part[:, tree.children_right[node]]
            np.testing.assert_array_equal(below, part[:, node])
    np.testing.assert_array_equal(tree.decision_path(X).toarray(), part)
    assert predictor.decision_path(X[:0])[0].shape == (0, n_nodes_ptr[-1])


SCRIPT = """
import hashlib, sys
import numpy as np
from obtree.core.dispatch import active_target
from obtree.tree.predict import Predictor
from obtree.tree.state import tree_from_state
import pickle
trees, X = pickle.load(open(sys.argv[1], "rb"))
p = Predictor(trees)
h = hashlib.sha256()
for A in (X, np.nan_to_num(X), X[:2], np.nan_to_num(X).astype(np.float64)):
    for combine in ("average", "vote", "product"):
        h.update(p.predict(A, 2, combine).tobytes())
    h.update(p.apply(A).tobytes())
print(active_target(), h.hexdigest())
"""


def test_instruction_sets_agree(make_rows, make_tree, tmp_path):
    import pickle

    from obtree.core.dispatch import available_targets

    rng = np.random.default_rng(12)
    X = make_rows(rng, 3000, 9, missing=0.05)
    for options in ({}, {"max_terms": 20, "unit_weights": False}):
        trees = [make_tree(rng, X, 80, **options) for _ in range(9)]
        (tmp_path / "model").write_bytes(pickle.dumps((trees, X)))
        digests = set()
        for target in available_targets():
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, str(tmp_path / "model")],
                env={**os.environ, "OBTREE_TARGET": target},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
            name, digest = done.stdout.split()
            assert name == target
            digests.add(digest)
        assert len(digests) == 1


def _predict_in_child(predictor, X, queue):
    queue.put(predictor.predict(X, n_threads=2).sum())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_work_after_fork(make_rows, make_tree):
    rng = np.random.default_rng(13)
    X = make_rows(rng, 20_000, 5)
    predictor = Predictor([make_tree(rng, X, 30) for _ in range(3)])
    expected = predictor.predict(X, n_threads=2).sum()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_predict_in_child, args=(predictor, X, queue))
    child.start()
    try:
        assert queue.get(timeout=60) == expected
        child.join(timeout=60)
        assert child.exitcode == 0
    finally:
        if child.is_alive():
            child.kill()


def test_one_predictor_serves_many_threads(make_rows, make_tree):
    rng = np.random.default_rng(14)
    X = make_rows(rng, 9000, 5)
    predictor = Predictor([make_tree(rng, X, 30) for _ in range(5)])
    expected = predictor.predict(X, combine="vote")
    results = [None] * 8

    def work(k):
        results[k] = predictor.predict(X, n_threads=1 + k % 3, combine="vote")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)
