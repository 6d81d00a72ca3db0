"""One tree: methods, attributes, randomness, pruning."""

import numpy as np
import pytest
from sklearn.base import clone

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obtree.splitter import AxisRandomSplitter, AxisSplitter


def get_arrays(tree):
    """Return what makes two trees the same."""
    names = ("children_left", "children_right", "threshold", "term_feature", "value")
    return [getattr(tree, name) for name in names]


def assert_same_tree(a, b):
    for left, right in zip(get_arrays(a), get_arrays(b), strict=True):
        np.testing.assert_array_equal(left, right)


def test_attributes_of_a_classifier(iris):
    X, y = iris
    tree = ObliqueTreeClassifier(max_features="sqrt", random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.classes_, [0, 1, 2])
    assert tree.n_classes_ == 3
    assert tree.n_outputs_ == 1
    assert tree.n_features_in_ == 4
    assert tree.max_features_ == 2
    assert tree.tree_.n_features == 4
    assert tree.get_n_leaves() == tree.tree_.n_leaves
    assert tree.get_depth() == tree.tree_.max_depth
    assert tree.feature_importances_.sum() == pytest.approx(1)


def test_fully_grown_tree_learns_its_data(iris, values):
    X, y = iris
    assert ObliqueTreeClassifier(random_state=0).fit(X, y).score(X, y) > 0.99
    X, y = values
    assert ObliqueTreeRegressor(random_state=0).fit(X, y).score(X, y) == pytest.approx(1)


def test_apply_and_decision_path(either, classes):
    X, y = classes
    tree = either.fit(X, y)
    leaves = tree.apply(X)
    path = tree.decision_path(X)
    if hasattr(tree, "estimators_"):
        path, ends = path
        assert leaves.shape == (300, 5)
        assert ends.shape == (6,)
        nodes = [child.tree_ for child in tree.estimators_]
        np.testing.assert_array_equal(np.diff(ends), [node.node_count for node in nodes])
    else:
        assert leaves.shape == (300,)
        leaves, ends, nodes = leaves[:, None], [0, tree.tree_.node_count], [tree.tree_]
        counts = np.bincount(leaves[:, 0], minlength=tree.tree_.node_count)
        is_leaf = tree.tree_.children_left < 0
        np.testing.assert_array_equal(counts[is_leaf], tree.tree_.n_node_samples[is_leaf])
    assert path.shape == (300, ends[-1])
    for t, node in enumerate(nodes):
        assert (node.children_left[leaves[:, t]] == -1).all()
        part = path[:, ends[t] : ends[t + 1]].toarray()
        assert (part[np.arange(300), leaves[:, t]] == 1).all()
        assert (part[:, 0] == 1).all()


def test_probabilities(classifier, classes):
    X, y = classes
    proba = classifier.set_params(max_depth=3).fit(X, y).predict_proba(X)
    assert proba.shape == (300, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.predict(X), proba.argmax(axis=1))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(classifier.predict_log_proba(X), np.log(proba))


def test_ties_go_to_the_first_class():
    tree = ObliqueTreeClassifier().fit([[0.0], [0.0]], ["b", "a"])
    np.testing.assert_array_equal(tree.predict([[0.0]]), ["a"])


def test_seed_decides(either, classes):
    X, y = classes
    a = clone(either).set_params(random_state=3, max_features=2).fit(X, y).apply(X)
    b = clone(either).set_params(random_state=3, max_features=2).fit(X, y).apply(X)
    c = clone(either).set_params(random_state=4, max_features=2).fit(X, y).apply(X)
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


def test_random_state_instance_and_none(either, classes):
    X, y = classes
    either.set_params(max_features=2)
    state = np.random.RandomState(0)
    a = either.set_params(random_state=state).fit(X, y).apply(X)
    b = either.set_params(random_state=state).fit(X, y).apply(X)
    c = either.set_params(random_state=np.random.RandomState(0)).fit(X, y).apply(X)
    np.testing.assert_array_equal(a, c)
    assert (a != b).any()
    either.set_params(random_state=None).fit(X, y)
    with pytest.raises(ValueError, match="random_state='x' is not valid; expected an integer"):
        either.set_params(random_state="x").fit(X, y)


@pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_tree_of_a_forest_grows_again_alone(forest, classes):
    X, y = classes
    params = {"splitter": "axis", "bootstrap": False, "max_features": 2}
    forest = forest(3, random_state=5, **params).fit(X, y)
    for child in forest.estimators_:
        assert_same_tree(clone(child).fit(X, y).tree_, child.tree_)


def test_best_first(either, classes):
    X, y = classes
    either.set_params(max_leaf_nodes=7).fit(X, y)
    for child in getattr(either, "estimators_", [either]):
        assert child.get_n_leaves() == 7


@pytest.mark.parametrize(
    ("params", "check"),
    [
        ({"max_depth": 2}, lambda tree: tree.max_depth <= 2),
        ({"min_samples_leaf": 20}, lambda tree: tree.n_node_samples.min() >= 20),
        ({"min_samples_leaf": 0.1}, lambda tree: tree.n_node_samples.min() >= 30),
        (
            {"min_samples_split": 50},
            lambda tree: tree.n_node_samples[tree.children_left >= 0].min() >= 50,
        ),
        (
            {"min_weight_fraction_leaf": 0.2},
            lambda tree: tree.weighted_n_node_samples.min() >= 60 - 1e-9,
        ),
        ({"min_impurity_decrease": 1e9}, lambda tree: tree.node_count == 1),
    ],
)
@pytest.mark.parametrize("kind", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_stop_rules(kind, params, check, classes):
    X, y = classes
    assert check(kind(**params, random_state=0).fit(X, y).tree_)


def test_pruning(either, classes):
    X, y = classes
    sizes = []
    for alpha in (0.0, 0.01, 1e9):
        either.set_params(ccp_alpha=alpha).fit(X, y)
        sizes.append(sum(t.tree_.node_count for t in getattr(either, "estimators_", [either])))
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] == len(getattr(either, "estimators_", [either]))
    with pytest.raises(ValueError, match="ccp_alpha=-1 is not valid"):
        either.set_params(ccp_alpha=-1).fit(X, y)


@pytest.mark.parametrize("kind", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_pruning_path(kind, classes):
    X, y = classes
    path = kind(random_state=0, ccp_alpha=5.0).cost_complexity_pruning_path(X, y)
    assert (np.diff(path.ccp_alphas) >= 0).all()
    assert (np.diff(path.impurities) >= 0).all()
    middle = np.diff(path.ccp_alphas[:-1]).argmax()  # a gap that rounding cannot close
    alpha = (path.ccp_alphas[middle] + path.ccp_alphas[middle + 1]) / 2
    pruned = kind(random_state=0, ccp_alpha=alpha).fit(X, y).tree_
    leaf = pruned.children_left < 0
    total = (pruned.impurity * pruned.weighted_n_node_samples)[leaf].sum() / 300
    assert total == pytest.approx(path.impurities[middle])


@pytest.mark.parametrize("sign", [1, -1])
def test_monotonic_constraints(either, sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = (sign * X[:, 0] + rng.normal(scale=0.3, size=300) > 0.5 * sign).astype(int)
    either.set_params(monotonic_cst=[sign, 0], max_depth=6).fit(X, y)
    grid = np.column_stack(
        [np.repeat(np.linspace(0, 1, 30), 20), np.tile(np.linspace(0, 1, 20), 30)]
    )
    out = either.predict_proba(grid)[:, 1] if hasattr(either, "classes_") else either.predict(grid)
    steps = np.diff(out.reshape(30, 20), axis=0)
    assert (sign * steps >= -1e-12).all()
    assert (sign * steps > 0).any()


def test_constraints_by_name():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(100, 2)), columns=["a", "b"])
    y = frame["a"] + rng.normal(scale=0.3, size=100)
    by_name = ObliqueTreeRegressor(monotonic_cst={"a": 1}, random_state=0).fit(frame, y)
    by_place = ObliqueTreeRegressor(monotonic_cst=[1, 0], random_state=0).fit(frame, y)
    assert_same_tree(by_name.tree_, by_place.tree_)


@pytest.mark.parametrize(
    ("splitter", "same"),
    [
        ("axis", AxisSplitter()),
        ("axis", AxisSplitter),
        ("axis_random", AxisRandomSplitter()),
    ],
)
def test_splitter_by_name_object_and_class(either, splitter, same, classes):
    X, y = classes
    a = clone(either).set_params(splitter=splitter).fit(X, y).apply(X)
    b = clone(either).set_params(splitter=same)
    np.testing.assert_array_equal(clone(b).fit(X, y).apply(X), a)


def test_splitter_parameters_are_reached_from_outside(either):
    either.set_params(splitter=AxisSplitter())
    nested = {f"splitter__{name}" for name in AxisSplitter().get_params()}
    assert nested <= set(either.get_params(deep=True))
    copy = clone(either)
    assert copy.splitter is not either.splitter
    assert copy.splitter.get_params() == either.splitter.get_params()


def test_parameters_of_a_splitter_given_by_name(either):
    either.set_params(splitter="axis")
    with pytest.raises(ValueError, match="no parameter 'colour'"):
        either.set_params(splitter__colour="red")
    for name, value in AxisSplitter().get_params().items():
        either.set_params(**{f"splitter__{name}": value})
        assert type(either.splitter) is AxisSplitter


def test_repr_shows_changes_only():
    assert repr(ObliqueTreeClassifier(max_depth=3)) == "ObliqueTreeClassifier(max_depth=3)"
