"""Linear leaves: what they predict, and which arrays can be theirs."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obtree.builder.prune import cut_branches
from obtree.testing.growth import find_differences
from obtree.tree.export import export_text
from obtree.tree.leaf_models import ConstantLeaf, LinearLeaf
from obtree.tree.predict import PROBABILITY_FLOOR, Predictor
from obtree.tree.state import tree_from_state, tree_to_state
from obtree.tree.tree import Tree

LEAF_FIELDS = tuple(LinearLeaf.fields)
CLASSES = [(1,), (1, 1, 1), (2,), (5,), (3, 2), (2, 4)]


def draw(make_rows, make_tree, seed, n_classes, n_trees=3, **options):
    rng = np.random.default_rng(seed)
    X = make_rows(rng, 60, 6, missing=0.05)
    trees = [
        make_tree(rng, X, int(rng.integers(0, 12)), n_classes=n_classes, linear=k != 1, **options)
        for k in range(n_trees)
    ]
    return X, trees


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.sampled_from(CLASSES),
    oblique=st.booleans(),
)
def test_predictions_are_as_documented(
    make_rows, make_tree, predict_slowly, seed, n_classes, oblique
):
    options = {"max_terms": 3, "unit_weights": False} if oblique else {}
    X, trees = draw(make_rows, make_tree, seed, n_classes, **options)
    each = [predict_slowly(tree, X) for tree in trees]
    for tree, values in zip(trees, each, strict=True):
        found = tree.predict(X)
        np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-300)
        if max(n_classes) == 1:
            np.testing.assert_array_equal(found, values)
    predictor = Predictor(trees)
    np.testing.assert_allclose(predictor.predict(X), np.mean(each, axis=0), rtol=1e-12)
    if max(n_classes) == 1:
        return
    inside = np.arange(max(n_classes)) < np.array(n_classes)[:, None]
    votes = [v.argmax(axis=2)[:, :, None] == np.arange(v.shape[2]) for v in each]
    np.testing.assert_allclose(
        predictor.predict(X, combine="vote"), np.mean(votes, axis=0), rtol=1e-12
    )
    product = np.exp(sum(np.log(np.maximum(v, PROBABILITY_FLOOR)) for v in each)) * inside
    product /= product.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(predictor.predict(X, combine="product"), product, rtol=1e-9)


@pytest.mark.parametrize("n_classes", CLASSES)
def test_blocks_threads_and_layouts_change_nothing(make_rows, make_tree, n_classes):
    X, trees = draw(make_rows, make_tree, 3, n_classes)
    predictor = Predictor(trees)
    assert predictor.layout == "wide"
    X = np.tile(X, (40, 1))
    expected = predictor.predict(X)
    np.testing.assert_array_equal(predictor.predict(X, n_threads=3), expected)
    np.testing.assert_array_equal(predictor.predict(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(predictor.predict(X.astype(np.float64)), expected)
    by_row = np.concatenate([predictor.predict(X[i : i + 1]) for i in range(60)])
    np.testing.assert_array_equal(by_row, expected[:60])
    missing = np.isnan(X).any(axis=1)
    np.testing.assert_array_equal(
        predictor.predict(sparse.csr_matrix(X[~missing])), expected[~missing]
    )


def test_a_forest_of_constant_leaves_keeps_its_layout(make_rows, make_tree):
    rng = np.random.default_rng(0)
    X = make_rows(rng, 20, 4)
    trees = [make_tree(rng, X, 5) for _ in range(2)]
    assert Predictor(trees).layout == "narrow"
    assert not trees[0].has_linear_leaves
    assert tree_to_state(trees[0])["format"] == 1


def test_a_row_too_large_gets_the_constant(make_rows, make_tree):
    rng = np.random.default_rng(0)
    tree = make_tree(rng, make_rows(rng, 5, 2), 0, n_classes=(1,), linear=True)
    state = tree_to_state(tree)
    state["leaf_ptr"], state["leaf_feature"] = np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    state["leaf_weight"] = np.array([[1e300], [-1e300]])
    tree = tree_from_state(state)
    X = np.array([[1, 1], [3e38, 3e38], [np.nan, 1]], dtype=np.float32)
    constant = tree.value[0, 0, 0]
    np.testing.assert_array_equal(
        tree.predict(X)[:, 0, 0], [tree.leaf_intercept[0, 0], constant, constant]
    )


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.sampled_from(CLASSES))
def test_round_trip(make_rows, make_tree, seed, n_classes):
    X, (tree, *_) = draw(make_rows, make_tree, seed, n_classes, intervals=True, products=True)
    for again in (tree_from_state(tree_to_state(tree)), pickle.loads(pickle.dumps(tree))):
        assert find_differences(tree, again) == []
        np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    if tree.has_linear_leaves:
        assert tree_to_state(tree)["format"] == 3


def make_state(make_rows, make_tree):
    rng = np.random.default_rng(5)
    X = make_rows(rng, 20, 4, missing=0.1)
    tree = make_tree(rng, X, 6, n_classes=(3, 2), linear=True)
    return X, {name: np.array(value) for name, value in tree_to_state(tree).items()}


def put(name, index, value):
    def change(state):
        state[name][index] = value

    return change


def give_terms_to_the_root(state):
    state["leaf_ptr"][1:] = np.maximum(state["leaf_ptr"][1:], 1)


CORRUPTIONS = [
    *[(name, lambda s, name=name: s.pop(name)) for name in LEAF_FIELDS],
    *[(name, lambda s, name=name: s.update({name: None})) for name in LEAF_FIELDS],
    *[
        (name, lambda s, name=name, change=change: s.update({name: change(s[name])}))
        for name in LEAF_FIELDS
        for change in (
            lambda a: a.astype(np.float16),
            lambda a: a.astype(object),
            lambda a: a[None],
            lambda a: a.reshape(-1)[0],
        )
    ],
    *[
        (wrong, lambda s, name=name, change=change: s.update({name: change(s[name])}))
        for name, wrong in zip(
            LEAF_FIELDS, ("leaf_ptr", "leaf_weight", "leaf_weight", "leaf_intercept"), strict=True
        )
        for change in (lambda a: a[:-1], lambda a: np.concatenate([a, a[:1]]), lambda a: a[:0])
    ],
    ("leaf_ptr", lambda s: s.update(format=2)),
    ("leaf_ptr", lambda s: s.update(format=1)),
    ("format", lambda s: s.update(format=6)),
    ("leaf_weight", lambda s: s.update(leaf_weight=s["leaf_weight"][:, :-1])),
    ("leaf_intercept", lambda s: s.update(leaf_intercept=s["leaf_intercept"][:, :0])),
    ("leaf_ptr", put("leaf_ptr", 0, -1)),
    ("leaf_ptr", put("leaf_ptr", -1, 2**62)),
    ("leaf_ptr", put("leaf_ptr", 3, -(2**63))),
    ("leaf_ptr", put("leaf_ptr", 3, 2**62)),
    ("leaf_ptr", give_terms_to_the_root),
    ("leaf_feature", put("leaf_feature", 0, 4)),
    ("leaf_feature", put("leaf_feature", 0, -1)),
    ("leaf_feature", put("leaf_feature", -1, -(2**31))),
    ("leaf_weight", put("leaf_weight", (0, 0), np.nan)),
    ("leaf_weight", put("leaf_weight", (-1, 1), np.inf)),
    ("leaf_weight", put("leaf_weight", (0, 5), 1.0)),
    ("leaf_intercept", put("leaf_intercept", (0, 0), np.nan)),
    ("leaf_intercept", put("leaf_intercept", (1, 5), 1.0)),
]


@pytest.mark.parametrize(("field", "corrupt"), CORRUPTIONS)
def test_corrupt_leaves_are_refused(make_rows, make_tree, field, corrupt):
    _, state = make_state(make_rows, make_tree)
    state["format"], state["n_features"] = 3, 4
    corrupt(state)
    with pytest.raises(ValueError, match=field):
        tree_from_state(state)


@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(LEAF_FIELDS),
            st.floats(0, 1, exclude_max=True),
            st.one_of(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]), st.integers(0, 255)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_changed_bytes_are_refused_or_harmless(make_rows, make_tree, changes):
    X, state = make_state(make_rows, make_tree)
    state["format"], state["n_features"] = 3, 4
    for name, where, byte in changes:
        data = state[name].reshape(-1).view(np.uint8)
        data[int(where * data.size)] = byte
    try:
        tree = tree_from_state(state)
    except ValueError:
        return
    assert np.isfinite(tree.predict(X)).all()
    assert np.isfinite(Predictor([tree]).predict(X, combine="product")).all()


def test_arrays_that_disagree_are_not_packed(make_rows, make_tree):
    X, state = make_state(make_rows, make_tree)
    arrays = {name: value for name, value in state.items() if name not in ("format", "n_features")}
    for name, change in (
        ("leaf_feature", lambda a: a + 4),
        ("leaf_ptr", lambda a: a + 1),
        ("leaf_weight", lambda a: a[1:]),
        ("leaf_intercept", lambda a: a[:, 1:]),
    ):
        tree = Tree.from_arrays(n_features=4, **{**arrays, name: change(arrays[name])})
        with pytest.raises(ValueError, match="tree 0"):
            tree.predict(X)
    arrays.pop("leaf_weight")
    with pytest.raises(TypeError, match="leaf_weight"):
        Tree.from_arrays(n_features=4, **arrays)


def test_a_pruned_node_is_a_constant_leaf(make_rows, make_tree, route, predict_slowly):
    rng = np.random.default_rng(1)
    X = make_rows(rng, 200, 4)
    tree = make_tree(rng, X, 15, n_classes=(1,), linear=True)
    # Collapse the parent of the leaf that most rows reach, and nothing else.
    leaf = np.bincount(route(tree, X)).argmax()
    parent = np.flatnonzero((tree.children_left == leaf) | (tree.children_right == leaf))[0]
    collapsed = np.arange(tree.node_count) == parent
    pruned = cut_branches(tree, collapsed)
    inside = tree.decision_path(X)[:, parent].toarray()[:, 0] > 0
    assert inside.any()
    assert not inside.all()
    np.testing.assert_array_equal(pruned.predict(X)[inside], tree.value[[parent] * inside.sum()])
    np.testing.assert_array_equal(pruned.predict(X)[~inside], tree.predict(X)[~inside])
    assert find_differences(tree_from_state(tree_to_state(pruned)), pruned) == []


def test_a_tree_pruned_to_its_root_forgets_the_models(make_rows, make_tree):
    rng = np.random.default_rng(1)
    tree = make_tree(rng, make_rows(rng, 50, 4), 5, n_classes=(2,), linear=True)
    pruned = cut_branches(tree, np.arange(tree.node_count) == 0)
    assert not pruned.has_linear_leaves
    assert pruned.leaf_intercept is None
    assert pruned.leaf_kind is ConstantLeaf
    assert pruned.leaf_arrays == {}


def make_stump(n_classes, weight, intercept):
    n_values = len(n_classes) * max(n_classes)
    value = np.full((3, len(n_classes), max(n_classes)), 0.5)
    return Tree.from_arrays(
        n_features=2,
        n_classes=np.array(n_classes),
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        threshold=[0.5, 0, 0],
        term_ptr=[0, 1, 1, 1],
        term_feature=[0],
        term_weight=[1.0],
        missing_go_left=[0, 0, 0],
        impurity=[1.0, 1, 1],
        n_node_samples=[8, 4, 4],
        weighted_n_node_samples=[8.0, 4, 4],
        value=value,
        leaf_ptr=[0, 0, 2, 2],
        leaf_feature=[0, 1],
        leaf_weight=np.reshape(weight, (2, n_values)),
        leaf_intercept=np.reshape(intercept, (3, n_values)),
    )


def test_models_are_written_as_text():
    tree = make_stump((1,), [2.0, -0.25], [0, -1.5, 0])
    assert export_text(tree) == (
        "x[0] <= 0.50\n"
        "|-- yes: value 0.50 (n=4): 2.00*x[0] - 0.25*x[1] - 1.50\n"
        "`-- no: value 0.50 (n=4)\n"
    )
    tree = make_stump((2,), [[2.0, -2.0], [3.0, 3.0]], np.zeros((3, 2)))
    assert "class 0 (n=4, 0.50): softmax of a, b\n" in export_text(tree, feature_names=["a", "b"])
    short = export_text(tree, feature_names=["a", "b"], max_terms=1)
    assert "softmax of a, (1 smaller terms)\n" in short
