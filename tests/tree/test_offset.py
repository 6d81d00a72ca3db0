"""Trees that subtract numbers from the features before they look at them."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from obtree.builder.prune import prune_tree
from obtree.tree import export_text
from obtree.tree.predict import Predictor
from obtree.tree.state import tree_from_state, tree_to_state
from obtree.tree.tree import Tree

OFFSET = np.array([0.0, 1.7e9])


def make_tree(**changes):
    """x1 <= 2.5 + offset, then 2 * x0 - x1 <= -3 - offset; the last leaf is linear."""
    arrays = {
        "children_left": [1, -1, 3, -1, -1],
        "children_right": [2, -1, 4, -1, -1],
        "threshold": [2.5, 0.0, -3.0, 0.0, 0.0],
        "term_ptr": [0, 1, 1, 3, 3, 3],
        "term_feature": [1, 0, 1],
        "term_weight": [1.0, 2.0, -1.0],
        "missing_go_left": [0, 0, 1, 0, 0],
        "impurity": [1.0, 0.0, 0.5, 0.0, 0.0],
        "n_node_samples": [10, 4, 6, 3, 3],
        "weighted_n_node_samples": [10.0, 4.0, 6.0, 3.0, 3.0],
        "value": np.arange(5.0).reshape(5, 1, 1),
        "n_classes": [1],
        "leaf_ptr": [0, 0, 0, 0, 0, 2],
        "leaf_feature": [0, 1],
        "leaf_weight": [[3.0], [0.5]],
        "leaf_intercept": np.array([[0.0], [0.0], [0.0], [0.0], [7.0]]),
        "feature_offset": OFFSET,
    }
    return Tree.from_arrays(n_features=2, **(arrays | changes))


@pytest.fixture
def rows():
    X = np.array([[0, 2], [0, 3], [0, 4], [5, 4], [np.nan, 4], [0, np.nan]], dtype=np.float64)
    X[:, 1] += OFFSET[1]
    return X


LEAVES = [1, 3, 3, 4, 3, 3]


def walk(tree, x):
    """The documented rule, in float64, with the numbers that the tree shows."""
    node = 0
    while tree.children_left[node] >= 0:
        terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
        total = sum(tree.term_weight[terms] * x[tree.term_feature[terms]])
        left = tree.missing_go_left[node] if np.isnan(total) else total <= tree.threshold[node]
        node = (tree.children_left if left else tree.children_right)[node]
    return node


def test_what_is_shown_is_in_the_numbers_of_the_user(rows):
    tree = make_tree()
    np.testing.assert_array_equal(tree.threshold, [1.7e9 + 2.5, 0, -1.7e9 - 3, 0, 0])
    assert tree.leaf_intercept[4] == 7.0 - 0.5 * 1.7e9
    assert [walk(tree, x) for x in rows] == LEAVES
    np.testing.assert_array_equal(tree.shifted.threshold, [2.5, 0, -3, 0, 0])
    assert tree.shifted.feature_offset is None
    for array in (tree.threshold, tree.leaf_intercept, tree.feature_offset):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_rows_are_shifted_by_the_tree(rows):
    tree = make_tree()
    np.testing.assert_array_equal(tree.apply(rows), LEAVES)
    np.testing.assert_array_equal(tree.apply(rows.tolist()), LEAVES)
    np.testing.assert_array_equal(tree.apply(sp.csr_matrix(rows)), LEAVES)
    assert tree.predict(rows)[3, 0, 0] == 7.0 + 3.0 * 5 + 0.5 * 4
    assert tree.decision_path(rows)[:, 3].toarray().ravel().tolist() == [0, 1, 1, 0, 1, 1]
    shifted = (rows - OFFSET).astype(np.float32)
    np.testing.assert_array_equal(Predictor([tree, tree]).apply(shifted)[:, 1], LEAVES)
    with pytest.raises(ValueError, match="X has 3 columns; expected n_features = 2"):
        tree.apply(np.ones((2, 3)))
    with pytest.raises(ValueError, match="X has 1 dimensions"):
        tree.apply(np.ones(2))


def test_intervals_and_products():
    tree = make_tree(
        term_partner=[-1, 1, -1],
        lower_threshold=[1.5, -np.inf, -9.0, -np.inf, -np.inf],
        term_weight=[2.0, 2.0, -1.0],
    )
    np.testing.assert_array_equal(
        tree.lower_threshold, [2 * 1.7e9 + 1.5, -np.inf, -9.0, -np.inf, -np.inf]
    )
    assert tree.threshold[0] == 2 * 1.7e9 + 2.5
    assert tree.threshold[2] == -3.0  # the product is of shifted features


def test_offsets_of_zero_are_none():
    assert make_tree(feature_offset=np.zeros(2)).feature_offset is None
    plain = make_tree(feature_offset=None)
    assert plain.shifted is plain
    assert plain.with_offset(None) is plain
    assert make_tree().with_offset(None).threshold[0] == 2.5


def test_states_keep_every_bit(rows):
    tree = make_tree()
    state = tree_to_state(tree)
    assert state["format"] == 4
    np.testing.assert_array_equal(state["threshold"], tree.shifted.threshold)
    for other in (tree_from_state(state), pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        np.testing.assert_array_equal(other.feature_offset, OFFSET)
        np.testing.assert_array_equal(other.shifted.threshold, tree.shifted.threshold)
        np.testing.assert_array_equal(other.threshold, tree.threshold)
        np.testing.assert_array_equal(other.predict(rows), tree.predict(rows))
    without_leaves = make_tree(
        leaf_ptr=None, leaf_feature=None, leaf_weight=None, leaf_intercept=None
    )
    other = tree_from_state(tree_to_state(without_leaves))
    np.testing.assert_array_equal(other.apply(rows), LEAVES)
    assert tree_to_state(make_tree(feature_offset=None))["format"] == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature_offset": np.ones(3)}, "feature_offset has length 3; expected 2"),
        ({"feature_offset": np.ones(0)}, "feature_offset has length 0; expected 2"),
        ({"feature_offset": np.array([0.0, np.nan])}, "feature_offset must be finite"),
        ({"feature_offset": np.array([0.0, np.inf])}, "feature_offset must be finite"),
        ({"feature_offset": np.ones(2, dtype=np.float32)}, "feature_offset has dtype float32"),
        ({"feature_offset": np.ones((1, 2))}, "feature_offset has 2 dimensions"),
        ({"feature_offset": [0.0, 1.0]}, "feature_offset must be an array"),
        ({"format": 3}, "unexpected fields in a tree state: feature_offset"),
        ({"leaf_ptr": None}, "unexpected fields in a tree state: leaf_ptr"),
        ({"feature_offset": None}, "fields in a tree state: feature_offset"),
    ],
)
def test_damaged_states_are_refused(change, message):
    state = tree_to_state(make_tree()) | change
    state = {name: value for name, value in state.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        tree_from_state(state)


def test_huge_offsets_do_no_harm(rows):
    state = tree_to_state(make_tree()) | {"feature_offset": np.array([1e308, -1e308])}
    tree = tree_from_state(state)
    assert set(tree.apply(rows)) <= {1, 3, 4}


def test_trees_move_to_other_offsets(rows):
    tree = make_tree()
    assert tree.shift_to(OFFSET.copy()) is tree.shifted
    plain = tree.shift_to(None)
    assert plain.feature_offset is None
    np.testing.assert_array_equal(plain.threshold, tree.threshold)
    other = tree.shift_to(np.array([1.0, 1.7e9 + 2]))
    np.testing.assert_array_equal(other.threshold, [0.5, 0, -3.0, 0, 0])
    assert other.leaf_intercept[4] == 7.0 + 3.0 + 0.5 * 2
    np.testing.assert_array_equal(
        other.with_offset(np.array([1.0, 1.7e9 + 2])).predict(rows), tree.predict(rows)
    )


def test_trees_with_different_offsets_are_not_combined():
    with pytest.raises(ValueError, match="the trees have different feature_offset"):
        Predictor([make_tree(), make_tree(feature_offset=np.array([0.0, 1.0]))])
    with pytest.raises(ValueError, match="the trees have different feature_offset"):
        Predictor([make_tree(), make_tree(feature_offset=None)])


def test_pruned_trees_keep_the_offset(rows):
    pruned = prune_tree(make_tree(), 0.4)
    assert pruned.node_count == 3
    np.testing.assert_array_equal(pruned.feature_offset, OFFSET)
    assert pruned.threshold[0] == 1.7e9 + 2.5
    np.testing.assert_array_equal(pruned.apply(rows), [1, 2, 2, 2, 2, 2])


def test_text_is_in_the_numbers_of_the_user():
    text = export_text(make_tree(), feature_names=["a", "time"])
    assert text == (
        "time <= 1700000002.50\n"
        "|-- yes: value 1.00 (n=4)\n"
        "`-- no: 2.00*a - 1.00*(time - 1700000000) <= -3.00 or missing\n"
        "    |-- yes: value 3.00 (n=3)\n"
        "    `-- no: value 4.00 (n=3): 3.00*a + 0.50*(time - 1700000000) + 7.00\n"
    )


def test_text_tells_thresholds_apart():
    tree = make_tree(
        term_ptr=[0, 1, 1, 2, 2, 2],
        term_feature=[1, 1],
        term_weight=[1.0, 1.0],
        threshold=[0.25, 0.0, 0.25 + 2.0**-17, 0.0, 0.0],
        feature_offset=np.array([0.0, -2460000.5]),
    )
    lines = export_text(tree).splitlines()
    shown = [float(line.split("<= ")[1].split()[0]) for line in (lines[0], lines[2])]
    np.testing.assert_allclose(shown, tree.threshold[[0, 2]], rtol=0, atol=1e-6)
    assert shown[0] != shown[1]
    oblique = export_text(make_tree(feature_offset=np.array([0.0, -2460000.5])))
    assert "2.00*x[0] - 1.00*(x[1] + 2460000.5) <= -3.00" in oblique
