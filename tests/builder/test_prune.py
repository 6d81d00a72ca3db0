"""Cost-complexity pruning against scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_regression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from obtree.builder.prune import prune_tree, pruning_path
from obtree.tree.state import tree_from_state, tree_to_state
from obtree.tree.tree import Tree


def convert(fitted):
    """A scikit-learn tree as one of ours, with a second term of weight 0 at each split."""
    tree = fitted.tree_
    leaf = tree.children_left < 0
    n_internal = np.count_nonzero(~leaf)
    return Tree.from_arrays(
        n_features=tree.n_features,
        children_left=tree.children_left,
        children_right=tree.children_right,
        threshold=np.where(leaf, 0.0, tree.threshold),
        term_ptr=np.concatenate([[0], np.cumsum(2 * ~leaf)]),
        term_feature=np.repeat(tree.feature[~leaf], 2),
        term_weight=np.tile([1.0, 0.0], n_internal),
        missing_go_left=~leaf,
        impurity=tree.impurity,
        n_node_samples=tree.n_node_samples,
        weighted_n_node_samples=tree.weighted_n_node_samples,
        value=tree.value,
        n_classes=np.ravel(tree.n_classes),
    )


def make_problem(name):
    if name == "cancer":
        return (*load_breast_cancer(return_X_y=True), DecisionTreeClassifier)
    if name == "digits":
        return (*load_digits(return_X_y=True), DecisionTreeClassifier)
    if name == "diabetes":
        return (*load_diabetes(return_X_y=True), DecisionTreeRegressor)
    X, y = make_regression(200, 5, n_targets=2, random_state=0)
    return X, y, DecisionTreeRegressor


PROBLEMS = ["cancer", "digits", "diabetes", "two_outputs"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_path_equals_scikit_learn(name, weighted):
    X, y, Estimator = make_problem(name)
    w = np.random.default_rng(0).integers(1, 4, len(X)) if weighted else None
    fitted = Estimator(random_state=0).fit(X, y, sample_weight=w)
    expected = Estimator(random_state=0).cost_complexity_pruning_path(X, y, sample_weight=w)
    alphas, impurities = pruning_path(convert(fitted))
    np.testing.assert_allclose(alphas, expected.ccp_alphas, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(impurities, expected.impurities, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", PROBLEMS)
def test_pruned_trees_equal_scikit_learn(name):
    X, y, Estimator = make_problem(name)
    tree = convert(Estimator(random_state=0).fit(X, y))
    alphas = np.unique(pruning_path(tree)[0])
    middles = (alphas[1:] + alphas[:-1]) / 2
    for alpha in [*np.quantile(middles, [0.0, 0.3, 0.7, 1.0]), 2 * alphas[-1] + 1]:
        expected = Estimator(random_state=0, ccp_alpha=alpha).fit(X, y)
        pruned = prune_tree(tree, alpha)
        assert pruned.node_count == expected.tree_.node_count
        assert pruned.max_depth == expected.get_depth()
        leaf_values = expected.tree_.predict(X.astype(np.float32)).reshape(len(X), -1)
        np.testing.assert_array_equal(pruned.predict(X).reshape(len(X), -1), leaf_values)
        # The checks of loading hold for what compaction made: links, terms, leaves.
        tree_from_state(tree_to_state(pruned))


def test_nothing_to_prune():
    X, y = load_diabetes(return_X_y=True)
    tree = convert(DecisionTreeRegressor(max_leaf_nodes=5).fit(X, y))
    assert prune_tree(tree, 0.0) is tree
    stump = prune_tree(tree, 1e9)
    assert stump.node_count == 1
    assert stump.term_ptr.tolist() == [0, 0]
    assert prune_tree(stump, 1.0) is stump
    alphas, impurities = pruning_path(stump)
    np.testing.assert_array_equal(alphas, [0.0])
    np.testing.assert_allclose(impurities, tree.impurity[:1])


@pytest.mark.parametrize("alpha", [-1e-9, np.nan, np.inf])
def test_wrong_alpha_is_refused(alpha):
    tree = convert(DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]))
    with pytest.raises(ValueError, match=r"ccp_alpha=.* is not valid; expected a number >= 0"):
        prune_tree(tree, alpha)


def test_zero_weights_do_not_divide_by_zero():
    tree = convert(DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]))
    state = tree_to_state(tree)
    state["weighted_n_node_samples"] = np.zeros(3)
    alphas, impurities = pruning_path(tree_from_state(state))
    np.testing.assert_array_equal(alphas, [0.0, 0.0])
    np.testing.assert_array_equal(impurities, [0.0, 0.0])


def test_numbering_of_nodes_does_not_matter():
    X, y = load_diabetes(return_X_y=True)
    tree = convert(DecisionTreeRegressor(random_state=0).fit(X, y))
    rng = np.random.default_rng(0)
    n = tree.node_count
    new = np.concatenate([[0], 1 + rng.permutation(n - 1)])
    old = np.argsort(new)
    state = tree_to_state(tree)
    for name in (
        "threshold",
        "missing_go_left",
        "impurity",
        "n_node_samples",
        "weighted_n_node_samples",
        "value",
    ):
        state[name] = state[name][old]
    for name in ("children_left", "children_right"):
        children = state[name][old]
        state[name] = np.where(children < 0, -1, new[children]).astype(np.int32)
    n_terms = np.diff(tree.term_ptr)[old]
    state["term_ptr"] = np.concatenate([[0], np.cumsum(n_terms)])
    terms = [k for i in old for k in range(tree.term_ptr[i], tree.term_ptr[i + 1])]
    state["term_feature"] = tree.term_feature[terms]
    state["term_weight"] = tree.term_weight[terms]
    shuffled = tree_from_state(state)
    alphas = np.unique(pruning_path(tree)[0])
    alpha = (alphas[40] + alphas[41]) / 2
    expected, pruned = prune_tree(tree, alpha), prune_tree(shuffled, alpha)
    assert pruned.node_count == expected.node_count < n
    np.testing.assert_array_equal(pruned.predict(X), expected.predict(X))
