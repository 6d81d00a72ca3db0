"""The Tree object: properties, importances, text."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from obtree.tree.export import export_text
from obtree.tree.importance import compute_importances
from obtree.tree.tree import Tree


def convert(fitted):
    """A scikit-learn tree as one of ours."""
    tree = fitted.tree_
    leaf = tree.children_left < 0
    return Tree.from_arrays(
        n_features=tree.n_features,
        children_left=tree.children_left,
        children_right=tree.children_right,
        threshold=np.where(leaf, 0.0, tree.threshold),
        term_ptr=np.concatenate([[0], np.cumsum(~leaf)]),
        term_feature=tree.feature[~leaf],
        term_weight=np.ones(np.count_nonzero(~leaf)),
        missing_go_left=np.zeros(tree.node_count),
        impurity=tree.impurity,
        n_node_samples=tree.n_node_samples,
        weighted_n_node_samples=tree.weighted_n_node_samples,
        value=tree.value,
        n_classes=np.ravel(tree.n_classes),
    )


@pytest.fixture
def pair():
    X, y = load_iris(return_X_y=True)
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    return X, fitted, convert(fitted)


def test_properties_agree_with_scikit_learn(pair):
    X, fitted, tree = pair
    X32 = X.astype(np.float32)
    assert tree.node_count == fitted.tree_.node_count
    assert tree.n_leaves == fitted.get_n_leaves()
    assert tree.max_depth == fitted.get_depth()
    assert tree.max_n_classes == 3
    np.testing.assert_array_equal(tree.feature, fitted.tree_.feature)
    np.testing.assert_array_equal(tree.apply(X), fitted.apply(X))
    np.testing.assert_array_equal(tree.predict(X)[:, 0], fitted.tree_.predict(X32))
    np.testing.assert_array_equal(
        tree.decision_path(X).toarray(), fitted.decision_path(X).toarray()
    )
    for normalize in (True, False):
        np.testing.assert_allclose(
            tree.compute_feature_importances(normalize=normalize),
            fitted.tree_.compute_feature_importances(normalize=normalize),
            rtol=1e-13,
        )
    assert repr(tree) == "Tree(node_count=17, n_leaves=9, max_depth=5, n_features=4)"


def test_arrays_are_read_only(pair):
    tree = pair[2]
    for name in ("children_left", "threshold", "value", "n_classes"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 0


def make_stump(**changes):
    fields = {
        "n_features": 3,
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "threshold": [1.25, 0, 0],
        "term_ptr": [0, 3, 3, 3],
        "term_feature": [0, 2, 0],
        "term_weight": [-3.0, 1.0, 0.0],
        "missing_go_left": [1, 0, 0],
        "impurity": [0.5, 0.0, 0.0],
        "n_node_samples": [10, 5, 5],
        "weighted_n_node_samples": [10.0, 5.0, 5.0],
        "value": [[[0.5, 0.5]], [[1, 0]], [[0, 1]]],
        "n_classes": [2],
    }
    return Tree.from_arrays(**{**fields, **changes})


def test_oblique_importance_is_shared_by_weight():
    np.testing.assert_allclose(make_stump().compute_feature_importances(), [0.75, 0, 0.25])
    np.testing.assert_allclose(make_stump().compute_feature_importances(False), [0.375, 0, 0.125])
    np.testing.assert_allclose(
        compute_importances(make_stump(), feature_scale=[1, 1, 9]), [0.25, 0, 0.75]
    )
    tiny = make_stump(term_weight=[-3e-320, 1e-320, 0.0])
    np.testing.assert_allclose(tiny.compute_feature_importances(), [0.75, 0, 0.25], rtol=1e-3)
    zero = make_stump(term_weight=[0.0, 0.0, 0.0])
    np.testing.assert_allclose(zero.compute_feature_importances(), [2 / 3, 0, 1 / 3])
    useless = make_stump(impurity=[0.0, 0.0, 0.0])
    np.testing.assert_array_equal(useless.compute_feature_importances(), 0)


def test_oblique_importance_is_shared_by_what_terms_account_for():
    stump = make_stump(term_share=[0.1, 0.3, 0.6])
    np.testing.assert_allclose(stump.compute_feature_importances(), [0.7, 0, 0.3], rtol=1e-6)
    product = make_stump(term_share=[0.1, 0.3, 0.6], term_partner=[-1, 1, 0])
    np.testing.assert_allclose(product.compute_feature_importances(), [0.7, 0.15, 0.15], rtol=1e-6)
    scaled = compute_importances(product, feature_scale=[1, 2, 4])
    np.testing.assert_allclose(scaled, [3 / 11, 4 / 11, 4 / 11])


def make_leaf(**changes):
    one = {
        "children_left": [-1],
        "children_right": [-1],
        "threshold": [0],
        "term_ptr": [0, 0],
        "term_feature": [],
        "term_weight": [],
        "missing_go_left": [0],
        "impurity": [0.5],
        "n_node_samples": [10],
        "weighted_n_node_samples": [10.0],
        "value": [[[0.5, 0.5]]],
    }
    return make_stump(**{**one, **changes})


def test_a_tree_of_one_leaf():
    tree = make_leaf()
    X = np.zeros((20, 3), dtype=np.float32)
    assert (tree.node_count, tree.n_leaves, tree.max_depth) == (1, 1, 0)
    np.testing.assert_array_equal(tree.compute_feature_importances(), 0)
    np.testing.assert_array_equal(tree.feature, [-2])
    for rows in (X[:1], X):
        np.testing.assert_array_equal(tree.apply(rows), 0)
        np.testing.assert_array_equal(tree.predict(rows), 0.5)
    assert export_text(tree) == "class 0 (n=10, 0.50)\n"


def test_export_of_linear_combinations():
    text = export_text(make_stump(), feature_names=["a", "b", "c"], class_names=["no", "yes"])
    assert text == (
        "-3.00*a + 1.00*c + 0.00*a <= 1.25 or missing\n"
        "|-- yes: class no (n=5, 1.00)\n"
        "`-- no: class yes (n=5, 1.00)\n"
    )
    short = export_text(make_stump(), max_terms=1, decimals=1)
    assert short.startswith("-3.0*x[0] + (2 smaller terms) <= 1.2")


def test_export_of_products_and_intervals():
    tree = make_stump(
        term_partner=[-1, 1, 0], lower_threshold=[-1.5, -np.inf, -np.inf], missing_go_left=[0, 0, 0]
    )
    text = export_text(tree, feature_names=["a", "b", "c"])
    assert text.startswith("-1.50 < -3.00*a + 1.00*c*b + 0.00*a^2 <= 1.25\n")


def test_export_of_an_estimator(pair):
    tree = pair[2]

    class Estimator:
        tree_ = tree
        classes_ = np.array(["setosa", "versicolor", "virginica"])
        feature_names_in_ = np.array(["sl", "sw", "pl", "pw"])

    text = export_text(Estimator(), max_depth=2)
    lines = text.splitlines()
    assert "pw <=" in lines[0] or "pl <=" in lines[0]
    assert lines[1] == "|-- yes: class setosa (n=50, 1.00)"
    assert "..." in text
    assert len(export_text(tree, max_depth=None).splitlines()) == tree.node_count


def test_export_of_regression_and_several_outputs():
    X, y = load_diabetes(return_X_y=True)
    tree = convert(DecisionTreeRegressor(max_depth=2).fit(X, np.column_stack([y, -y])))
    text = export_text(tree)
    leaf = np.flatnonzero(tree.children_left < 0)[0]
    assert f"value {tree.value[leaf, 0, 0]:.2f}, {tree.value[leaf, 1, 0]:.2f} (n=" in text
    with pytest.raises(ValueError, match="class_names cannot be used with 2 outputs"):
        export_text(tree, class_names=["a"])


def test_export_refuses_wrong_names():
    with pytest.raises(ValueError, match="feature_names has 2 names; expected 3"):
        export_text(make_stump(), feature_names=["a", "b"])
    with pytest.raises(TypeError, match="feature_names=3 is not valid; expected None or 3 names"):
        export_text(make_stump(), feature_names=3)
    with pytest.raises(ValueError, match="class_names has 1 names; expected 2"):
        export_text(make_stump(), class_names=["a"])
    with pytest.raises(ValueError, match="decimals=-1 is not valid; expected an integer >= 0"):
        export_text(make_stump(), decimals=-1)
    with pytest.raises(TypeError, match=r"max_depth=1\.5 is not valid; expected None or an"):
        export_text(make_stump(), max_depth=1.5)
    with pytest.raises(TypeError, match="model=3 is not valid; expected a Tree, a fitted tree"):
        export_text(3)
