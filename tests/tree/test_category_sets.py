"""Trees with sets of categories as plain arrays: nothing that is read is trusted."""

import pickle

import numpy as np
import pytest

from obtree import ObliqueTreeClassifier
from obtree.tree.category_sets import list_categories, read_set
from obtree.tree.state import tree_from_state, tree_to_state
from obtree.tree.tree import Tree


@pytest.fixture(scope="module")
def tree():
    """A tree of a number and two categories, with missing values."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 200), rng.normal(size=200), rng.integers(0, 50, 200)])
    y = (np.isin(X[:, 0], [1, 4, 5]) ^ (X[:, 2] % 3 == 0)) + (X[:, 1] > 0.5)
    X[rng.random(X.shape) < 0.1] = np.nan
    return ObliqueTreeClassifier(categorical_features=[0, 2], random_state=0).fit(X, y).tree_


def list_rows():
    values = [np.nan, *range(60), 0.5, -1.0, 65535.0, 65536.0, 2.0**40, -(2.0**40)]
    rng = np.random.default_rng(1)
    return rng.choice(values, (300, 3)).astype(np.float32)


def walk(tree, row):
    """The leaf of a row, by the words of the documentation."""
    node = 0
    while tree.children_left[node] >= 0:
        value = row[tree.term_feature[tree.term_ptr[node]]]
        missing_left = bool(tree.missing_go_left[node])
        if tree.set_ptr[node] < tree.set_ptr[node + 1]:
            listed = tree.set_categories[tree.set_ptr[node] : tree.set_ptr[node + 1]]
            left = missing_left != (value in listed.tolist())
        elif np.isnan(value):
            left = missing_left
        else:
            left = value <= tree.threshold[node]
        node = (tree.children_left if left else tree.children_right)[node]
    return node


def test_rows_go_where_the_documentation_says(tree):
    rows = list_rows()
    np.testing.assert_array_equal(tree.apply(rows), [walk(tree, row) for row in rows])


def test_read_set(tree):
    node = int(np.flatnonzero(np.diff(tree.set_ptr))[0])
    listed = list_categories(tree, node)
    values = read_set(tree, node, np.append(np.arange(100.0), np.nan))
    assert np.flatnonzero(~np.isnan(values)).tolist() == listed.tolist()
    assert (values[listed] == tree.missing_go_left[node]).all()


def test_there_and_back(tree):
    state = tree_to_state(tree)
    assert state["format"] == 5
    again = tree_from_state(pickle.loads(pickle.dumps(state)))
    rows = list_rows()
    np.testing.assert_array_equal(again.apply(rows), tree.apply(rows))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).apply(rows), tree.apply(rows))


def find_node(state):
    return int(np.flatnonzero(np.diff(state["set_ptr"]) > 1)[0])


def find_term(state):
    return int(state["term_ptr"][find_node(state)])


def set_item(name, where, value):
    def change(state):
        at = where(state) if callable(where) else where
        state[name] = state[name].copy()
        state[name][at] = value

    return change


DAMAGES = [
    ("set_ptr", lambda s: s.update(set_ptr=s["set_ptr"][:-1])),
    ("set_ptr", lambda s: s.update(set_ptr=s["set_ptr"] + 1)),
    ("set_ptr", set_item("set_ptr", -1, 2**40)),
    ("set_ptr", set_item("set_ptr", 1, -5)),
    ("set_ptr", lambda s: s.update(set_ptr=s["set_ptr"].astype(np.int32))),
    ("set_categories", lambda s: s.update(set_categories=s["set_categories"].astype(np.int64))),
    ("set_ptr", lambda s: s.update(set_categories=s["set_categories"][:-1])),
    ("set_categories", lambda s: s.pop("set_categories")),
    ("set_ptr", lambda s: s.pop("set_ptr")),
    ("set_", lambda s: s.update(format=4)),
    ("set_", lambda s: s.update(format=2)),
    ("ascend", lambda s: s.update(set_categories=s["set_categories"][::-1].copy())),
    ("threshold", set_item("threshold", find_node, 0.25)),
    ("term_weight", set_item("term_weight", find_term, 2.0)),
]


@pytest.mark.parametrize(("field", "change"), DAMAGES)
def test_damaged_sets_are_refused(tree, field, change):
    state = tree_to_state(tree)
    change(state)
    with pytest.raises(ValueError, match=field):
        tree_from_state(state)


def test_other_arrays_must_fit(tree):
    state = tree_to_state(tree)
    node, term = find_node(state), find_term(state)
    partner = np.full(len(state["term_feature"]), -1, dtype=np.int32)
    partner[term] = 1
    with pytest.raises(ValueError, match="term_partner"):
        tree_from_state({**state, "term_partner": partner})
    lower = np.full(len(state["threshold"]), -np.inf)
    lower[node] = 0.0
    with pytest.raises(ValueError, match="lower_threshold"):
        tree_from_state({**state, "lower_threshold": lower})
    offset = np.ones(3)
    with pytest.raises(ValueError, match="feature_offset"):
        tree_from_state({**state, "feature_offset": offset})
    offset = np.array([0.0, 2.0, 0.0])
    assert tree_from_state({**state, "feature_offset": offset}).feature_offset is not None


def test_prediction_looks_at_the_ranges_itself(tree):
    arrays = {name: getattr(tree, name) for name in tree_to_state(tree) if hasattr(tree, name)}
    arrays.pop("n_features")
    arrays["set_ptr"] = np.where(tree.set_ptr > 0, 2**33, 0)
    wrong = Tree.from_arrays(n_features=3, **arrays)
    with pytest.raises(ValueError, match="set_ptr"):
        wrong.apply(np.zeros((1, 3), dtype=np.float32))


def test_a_set_that_nobody_needs_is_dropped(tree):
    state = tree_to_state(ObliqueTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_)
    n_nodes = len(state["threshold"])
    arrays = {name: array for name, array in state.items() if name not in ("format", "n_features")}
    plain = Tree.from_arrays(
        n_features=1,
        **arrays,
        set_ptr=np.zeros(n_nodes + 1, dtype=np.int64),
        set_categories=np.zeros(0, dtype=np.uint16),
    )
    assert plain.set_ptr is None
    assert tree_to_state(plain)["format"] == 1
