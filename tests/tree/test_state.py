"""Saving and loading: what goes out comes back, what is damaged is refused."""

import copy
import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obtree.testing.growth import find_differences
from obtree.tree.predict import Predictor
from obtree.tree.state import tree_from_state, tree_to_state
from obtree.tree.tree import FIELDS, OPTIONAL_FIELDS, Tree


def make_state():
    """Five nodes: 0 -> (1, 2), 2 -> (3, 4); an axis split and one with two terms."""
    return {
        "format": 1,
        "n_features": 3,
        "children_left": np.array([1, -1, 3, -1, -1], dtype=np.int32),
        "children_right": np.array([2, -1, 4, -1, -1], dtype=np.int32),
        "threshold": np.array([0.5, 0.0, -1.0, 0.0, 0.0]),
        "term_ptr": np.array([0, 1, 1, 3, 3, 3]),
        "term_feature": np.array([2, 0, 1], dtype=np.int32),
        "term_weight": np.array([1.0, 0.5, -2.0]),
        "missing_go_left": np.array([1, 0, 0, 0, 0], dtype=np.uint8),
        "impurity": np.array([0.5, 0.0, 0.4, 0.0, 0.0]),
        "n_node_samples": np.array([10, 4, 6, 3, 3]),
        "weighted_n_node_samples": np.array([10.0, 4.0, 6.0, 3.0, 3.0]),
        "value": np.array([[[0.5, 0.5]], [[1, 0]], [[0.2, 0.8]], [[0, 1]], [[0.4, 0.6]]]),
        "n_classes": np.array([2]),
    }


def make_rich_state():
    """The same tree with a product, an interval and shares."""
    return make_state() | {
        "format": 2,
        "term_partner": np.array([-1, 2, -1], dtype=np.int32),
        "lower_threshold": np.array([-np.inf, -np.inf, -3.0, -np.inf, -np.inf]),
        "term_share": np.array([1.0, 0.25, 0.75], dtype=np.float32),
    }


def test_the_example_is_a_tree():
    tree = tree_from_state(make_state())
    X = np.array([[0, 0, 0], [0, 1, 1], [4, 1, 1], [0, 0, np.nan]], dtype=np.float32)
    np.testing.assert_array_equal(tree.apply(X), [1, 3, 4, 1])


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_splits=st.integers(0, 40),
    n_classes=st.sampled_from([(1,), (2,), (3, 2), (1, 1)]),
    max_terms=st.sampled_from([1, 4]),
    products=st.booleans(),
    intervals=st.booleans(),
)
def test_round_trip(
    make_rows, make_tree, seed, n_splits, n_classes, max_terms, products, intervals
):
    rng = np.random.default_rng(seed)
    X = make_rows(rng, 30, 5, missing=0.1)
    tree = make_tree(
        rng,
        X,
        n_splits,
        n_classes=n_classes,
        max_terms=max_terms,
        unit_weights=max_terms == 1,
        products=products,
        intervals=intervals,
    )
    for again in (
        tree_from_state(tree_to_state(tree)),
        pickle.loads(pickle.dumps(tree)),
        copy.copy(tree),
        copy.deepcopy(tree),
    ):
        assert again.n_features == tree.n_features
        assert again.n_outputs == tree.n_outputs
        for name, dtype in FIELDS.items():
            array = getattr(again, name)
            assert array.dtype == dtype
            assert not array.flags.writeable
            np.testing.assert_array_equal(array, getattr(tree, name))
        assert find_differences(tree, again) == []
        np.testing.assert_array_equal(again.apply(X), tree.apply(X))


def test_a_predictor_is_not_pickled_with_its_tree(make_rows, make_tree):
    rng = np.random.default_rng(0)
    X = make_rows(rng, 10, 3)
    tree = make_tree(rng, X, 20)
    before = pickle.dumps(tree)
    tree.apply(X)
    assert pickle.dumps(tree) == before


def test_loading_copies_and_leaves_the_state_alone():
    state = make_state()
    tree = tree_from_state(state)
    state["children_left"][0] = 77
    assert tree.children_left[0] == 1
    assert state["value"].flags.writeable


def test_foreign_byte_order_is_read():
    state = make_state()
    for name in FIELDS:
        state[name] = state[name].astype(state[name].dtype.newbyteorder(">"))
    X = np.zeros((1, 3), dtype=np.float32)
    assert tree_from_state(state).apply(X) == tree_from_state(make_state()).apply(X)


def put(name, index, value):
    def change(state):
        state[name][index] = value

    return change


def replace(name, value):
    def change(state):
        state[name] = value(state[name]) if callable(value) else value

    return change


def detach_cycle(state):
    """0 -> (1, 2) leaves; 3 -> (4, 5), 4 -> (3, 6): every node has one parent."""
    state.update(
        children_left=np.array([1, -1, -1, 4, 3, -1, -1], dtype=np.int32),
        children_right=np.array([2, -1, -1, 5, 6, -1, -1], dtype=np.int32),
        threshold=np.zeros(7),
        term_ptr=np.array([0, 1, 1, 1, 2, 3, 3, 3]),
        missing_go_left=np.zeros(7, dtype=np.uint8),
        impurity=np.zeros(7),
        n_node_samples=np.ones(7, dtype=np.int64),
        weighted_n_node_samples=np.ones(7),
        value=np.ones((7, 1, 2)),
    )


CORRUPTIONS = [
    ("format", lambda state: state.pop("format")),
    ("format", replace("format", 6)),
    ("feature_offset", replace("format", 4)),
    ("arrays of its leaves", replace("format", 3)),
    ("format", replace("format", "1")),
    ("format", replace("format", True)),
    ("format", replace("format", None)),
    ("extra", lambda state: state.update(extra=1)),
    *[(name, lambda s, name=name: s.pop(name)) for name in (*FIELDS, "n_features")],
    *[(name, replace(name, None)) for name in (*FIELDS, "n_features")],
    *[(name, replace(name, lambda a: a.tolist())) for name in FIELDS],
    *[(name, replace(name, lambda a: a.astype(object))) for name in FIELDS],
    *[(name, replace(name, lambda a: a.astype(np.float32))) for name in FIELDS],
    *[(name, replace(name, lambda a: a.astype(np.uint64))) for name in FIELDS],
    *[(name, replace(name, lambda a: a[None])) for name in FIELDS],
    *[
        (name, replace(name, lambda a: a.reshape(())[()] if a.size == 1 else a[0]))
        for name in FIELDS
    ],
    *[(name, replace(name, lambda a: a[:-1])) for name in FIELDS if name != "children_left"],
    *[
        (name, replace(name, lambda a: np.concatenate([a, a[:1]])))
        for name in FIELDS
        if name != "children_left"
    ],
    ("length", replace("children_left", lambda a: a[:-1])),
    ("n_features", replace("n_features", 0)),
    ("n_features", replace("n_features", -1)),
    ("n_features", replace("n_features", 2**31)),
    ("n_features", replace("n_features", 2**70)),
    ("n_features", replace("n_features", 3.0)),
    ("n_features", replace("n_features", True)),
    ("term_feature", replace("n_features", 2)),
    ("children_left", put("children_left", 0, 0)),
    ("children_left", put("children_left", 0, 5)),
    ("children_left", put("children_left", 0, 2**31 - 1)),
    ("children_left", put("children_left", 0, -2)),
    ("children_left", put("children_left", 0, -(2**31))),
    ("children_left", put("children_left", 0, 2)),
    ("children_left", put("children_left", 0, 3)),
    ("children_left", put("children_left", 2, 2)),
    ("children_left", put("children_left", 2, 1)),
    ("children_left", put("children_left", 2, -1)),
    ("children_left", put("children_left", 4, 4)),
    ("children_right", put("children_right", 0, 0)),
    ("children_right", put("children_right", 0, 5)),
    ("children_right", put("children_right", 2, -1)),
    ("children_right", put("children_right", 1, 4)),
    ("cycle", detach_cycle),
    ("threshold", put("threshold", 0, np.nan)),
    ("threshold", put("threshold", 0, np.inf)),
    ("threshold", put("threshold", 1, -np.inf)),
    ("term_weight", put("term_weight", 0, np.nan)),
    ("term_weight", put("term_weight", 2, np.inf)),
    ("term_ptr", put("term_ptr", 0, 1)),
    ("term_ptr", put("term_ptr", 5, 2)),
    ("term_ptr", put("term_ptr", 5, 4)),
    ("term_ptr", put("term_ptr", 2, -1)),
    ("term_ptr", put("term_ptr", 1, 2**62)),
    ("term_ptr", put("term_ptr", 1, -(2**63))),
    ("term_ptr", put("term_ptr", 1, 0)),
    ("term_ptr", put("term_ptr", 2, 2)),
    ("term_ptr", replace("term_ptr", np.array([0, 1, 1, 1, 3, 3]))),
    ("term_feature", put("term_feature", 0, 3)),
    ("term_feature", put("term_feature", 0, -1)),
    ("term_feature", put("term_feature", 2, -(2**31))),
    ("missing_go_left", put("missing_go_left", 0, 2)),
    ("impurity", put("impurity", 0, np.nan)),
    ("n_node_samples", put("n_node_samples", 0, -1)),
    ("weighted_n_node_samples", put("weighted_n_node_samples", 0, -1.0)),
    ("weighted_n_node_samples", put("weighted_n_node_samples", 0, np.inf)),
    ("value", put("value", 0, np.nan)),
    ("value", put("value", (1, 0, 0), -0.5)),
    ("value", replace("value", lambda a: a[:, :, :0])),
    ("value", replace("value", lambda a: a[:, :0])),
    ("value", replace("value", np.zeros((5, 0, 2**40)))),
    ("n_classes", replace("value", lambda a: a.repeat(2, axis=1))),
    ("n_classes", replace("value", lambda a: a.repeat(2, axis=2))),
    ("n_classes", put("n_classes", 0, 0)),
    ("n_classes", put("n_classes", 0, 3)),
    ("n_classes", put("n_classes", 0, -(2**63))),
    (
        "value of output 1",
        lambda s: s.update(value=np.ones((5, 2, 2)), n_classes=np.array([2, 1])),
    ),
    ("children_left", lambda s: s.update({name: s[name][:0] for name in FIELDS})),
]


@pytest.mark.parametrize(("field", "corrupt"), CORRUPTIONS)
def test_corrupt_states_are_refused(field, corrupt):
    state = make_state()
    corrupt(state)
    with pytest.raises(ValueError, match=field):
        tree_from_state(state)


SPLIT_FIELDS = ("term_partner", "lower_threshold", "term_share")

RICH_CORRUPTIONS = [
    ("term_partner", replace("format", 1)),
    *[(name, replace(name, None)) for name in SPLIT_FIELDS],
    *[(name, replace(name, lambda a: a.astype(np.float16))) for name in SPLIT_FIELDS],
    *[(name, replace(name, lambda a: a[None])) for name in SPLIT_FIELDS],
    *[(name, replace(name, lambda a: a[:-1])) for name in SPLIT_FIELDS],
    *[(name, replace(name, lambda a: np.append(a, a[:1]))) for name in SPLIT_FIELDS],
    ("term_partner", put("term_partner", 0, 3)),
    ("term_partner", put("term_partner", 0, -2)),
    ("term_partner", put("term_partner", 2, -(2**31))),
    ("term_partner", put("term_partner", 2, 2**31 - 1)),
    ("lower_threshold", put("lower_threshold", 2, -1.0)),
    ("lower_threshold", put("lower_threshold", 2, 5.0)),
    ("lower_threshold", put("lower_threshold", 0, np.nan)),
    ("lower_threshold", put("lower_threshold", 1, np.nan)),
    ("lower_threshold", put("lower_threshold", 0, np.inf)),
    ("term_share", put("term_share", 0, np.nan)),
    ("term_share", put("term_share", 0, -0.1)),
    ("term_share", put("term_share", 0, np.inf)),
]


@pytest.mark.parametrize(("field", "corrupt"), RICH_CORRUPTIONS)
def test_corrupt_optional_arrays_are_refused(field, corrupt):
    state = make_rich_state()
    corrupt(state)
    with pytest.raises(ValueError, match=field):
        tree_from_state(state)


def test_products_and_intervals_are_read():
    tree = tree_from_state(make_rich_state())
    # Node 2 asks whether -3 < 0.5 * x0 * x2 - 2 * x1 <= -1.
    X = np.array([[0, 0, 0], [0, 1, 1], [4, 1, 1], [0, 2, 1], [4, 2, 1]], dtype=np.float32)
    np.testing.assert_array_equal(tree.apply(X), [1, 3, 4, 4, 3])
    assert tree_to_state(tree).keys() == make_rich_state().keys()


def test_arrays_that_say_nothing_are_dropped():
    state = make_rich_state()
    state["term_partner"][:] = -1
    state["lower_threshold"][:] = -np.inf
    tree = tree_from_state(state)
    assert tree.term_partner is None
    assert tree.lower_threshold is None
    assert tree.term_share is not None
    plain = tree_from_state(make_state())
    assert [getattr(plain, name) for name in OPTIONAL_FIELDS] == [None] * len(OPTIONAL_FIELDS)
    assert tree_to_state(plain)["format"] == 1


@pytest.mark.parametrize("state", [None, 1, [], "tree", {}, {1: 2}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match="state"):
        tree_from_state(state)


def test_trees_are_not_made_without_arrays():
    with pytest.raises(TypeError, match="from_arrays"):
        Tree()
    with pytest.raises(TypeError, match="missing or unexpected arrays: children_left"):
        Tree.from_arrays(n_features=1, **{k: [] for k in FIELDS if k != "children_left"})


@settings(deadline=None, max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    changes=st.lists(
        st.tuples(
            st.sampled_from([*FIELDS, "term_partner", "lower_threshold"]),
            st.floats(0, 1, exclude_max=True),
            st.one_of(st.sampled_from([0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF]), st.integers(0, 255)),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_any_changed_bytes_are_refused_or_harmless(make_rows, make_tree, seed, changes):
    """Whatever bytes change, loading fails with ValueError or gives a tree that works."""
    rng = np.random.default_rng(seed)
    X = make_rows(rng, 20, 4, missing=0.1)
    tree = make_tree(rng, X, 12, max_terms=2, unit_weights=False, products=True, intervals=True)
    state = {name: np.array(value) for name, value in tree_to_state(tree).items()}
    state["format"], state["n_features"] = 2, 4
    state.setdefault("term_partner", np.full(len(tree.term_feature), -1, dtype=np.int32))
    state.setdefault("lower_threshold", np.full(tree.node_count, -np.inf))
    for name, where, byte in changes:
        data = state[name].reshape(-1).view(np.uint8)
        data[int(where * data.size)] = byte
    try:
        again = tree_from_state(state)
    except ValueError:
        return
    leaves = again.apply(X)
    assert (again.children_left[leaves] == -1).all()
    assert np.isfinite(Predictor([again]).predict(X)).all()
    again.decision_path(X)
    with np.errstate(all="ignore"):
        again.compute_feature_importances()


def test_a_million_nodes_in_a_cycle_are_refused_quickly():
    n = 1_000_001
    state = make_state()
    # 1 and 2 are leaves below the root; the others form a ring with a leaf at each node.
    ring = np.arange(3, n, 2)
    left = np.full(n, -1, dtype=np.int32)
    right = np.full(n, -1, dtype=np.int32)
    left[0], right[0] = 1, 2
    left[ring] = np.roll(ring, -1)
    right[ring] = ring + 1
    internal = left >= 0
    state.update(
        children_left=left,
        children_right=right,
        threshold=np.zeros(n),
        term_ptr=np.concatenate([[0], np.cumsum(internal)]),
        term_feature=np.zeros(internal.sum(), dtype=np.int32),
        term_weight=np.ones(internal.sum()),
        missing_go_left=np.zeros(n, dtype=np.uint8),
        impurity=np.zeros(n),
        n_node_samples=np.ones(n, dtype=np.int64),
        weighted_n_node_samples=np.ones(n),
        value=np.ones((n, 1, 2)),
    )
    begin = time.perf_counter()
    with pytest.raises(ValueError, match="cycle"):
        tree_from_state(state)
    assert time.perf_counter() - begin < 20
