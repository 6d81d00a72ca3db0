"""Beside the package shap: the same values, its dictionary of trees, its plots' objects."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

from obtree import (
    FernClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    TAOForestClassifier,
)
from obtree.explain import expected_value, explain, shap_values, to_shap_dict
from obtree.explain.whole import list_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 8)).astype(np.float32)
NUMBERS = X[:, 0] * X[:, 1] + X[:, 2]
CLASSES = (NUMBERS > 0).astype(int) + (X[:, 3] > 1)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def choose_target(model):
    return CLASSES if hasattr(model, "predict_proba") else NUMBERS


@pytest.mark.parametrize(
    "model",
    [
        ObliqueForestRegressor(5, splitter="axis"),
        ObliqueForestRegressor(5, splitter="random_oblique"),
        ObliqueForestClassifier(5, splitter="oc1"),
        ObliqueForestClassifier(5, splitter="co2", combine="product"),
        ObliqueForestClassifier(10),
        TAOForestClassifier(3),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.get_params().get('splitter')}",
)
def test_exact_explainer(model):
    shap = pytest.importorskip("shap")
    model.set_params(random_state=0).fit(X, choose_target(model))
    predict = getattr(model, "predict_proba", model.predict)
    background = X[100:120]
    masker = shap.maskers.Independent(background, max_samples=len(background))
    found = shap.ExactExplainer(predict, masker)(X[:4])
    phi = shap_values(model, X[:4], background)
    np.testing.assert_allclose(phi, found.values, atol=1e-9)
    base = np.broadcast_to(expected_value(model, background), found.base_values.shape)
    np.testing.assert_allclose(base, found.base_values, atol=1e-9)


AXIS = [
    ObliqueForestRegressor(5, splitter="axis"),
    ObliqueForestRegressor(5, splitter="axis_random"),
    ObliqueForestClassifier(5, splitter="axis"),
    ObliqueForestClassifier(5, splitter="axis", combine="vote"),
    ObliqueTreeClassifier(splitter="axis"),
]


@pytest.mark.parametrize("model", AXIS, ids=lambda model: str(model)[:50])
@pytest.mark.parametrize("table", [X, HOLES.astype(np.float32)], ids=["whole", "missing"])
def test_tree_explainer_against_a_background(model, table):
    shap = pytest.importorskip("shap")
    model.set_params(random_state=0).fit(table, choose_target(model))
    background = table[100:120]
    explainer = shap.TreeExplainer(
        to_shap_dict(model), background, feature_perturbation="interventional"
    )
    predict = getattr(model, "predict_proba", model.predict)
    np.testing.assert_allclose(explainer.model.predict(table), predict(table), atol=1e-12)
    np.testing.assert_allclose(
        explainer.expected_value, expected_value(model, background), atol=1e-12
    )
    # It adds up float32 numbers.
    np.testing.assert_allclose(
        explainer.shap_values(table[:6], check_additivity=False),
        shap_values(model, table[:6], background),
        atol=1e-5,
    )


@pytest.mark.parametrize("model", AXIS[:3], ids=lambda model: str(model)[:50])
def test_tree_explainer_along_paths(model):
    shap = pytest.importorskip("shap")
    model.set_params(random_state=0).fit(X[:, :5], choose_target(model))
    found = shap.TreeExplainer(
        to_shap_dict(model), feature_perturbation="tree_path_dependent"
    ).shap_values(X[:3, :5], check_additivity=False)
    trees = [tree.tree_ for tree in model.estimators_]
    for row, own in zip(X[:3, :5], found, strict=True):
        expected = np.mean([divide_along_paths(tree, row) for tree in trees], axis=0)
        np.testing.assert_allclose(own.reshape(expected.shape), expected, atol=1e-6)


@pytest.mark.parametrize("combine", ["average", "vote"])
def test_tree_explainer_of_several_outputs(combine):
    # The first has fewer classes than the second.
    shap = pytest.importorskip("shap")
    model = ObliqueForestClassifier(5, splitter="axis", combine=combine, random_state=0)
    model.fit(X, np.stack([NUMBERS > 0, CLASSES, X[:, 0] > 0], axis=1))
    background = X[100:120]
    trees = to_shap_dict(model)
    explainer = shap.TreeExplainer(trees, background, feature_perturbation="interventional")
    expected = np.concatenate(model.predict_proba(X), axis=1)
    np.testing.assert_allclose(explainer.model.predict(X), expected, atol=1e-12)
    np.testing.assert_allclose(
        explainer.shap_values(X[:6], check_additivity=False),
        np.concatenate(shap_values(model, X[:6], background), axis=2),
        atol=1e-5,
    )


def divide_along_paths(tree, x):
    """Shapley values where rows without a feature go both ways, as training rows did."""

    def average(node, known):
        if tree.children_left[node] < 0:
            return tree.value[node].ravel()
        left, right = tree.children_left[node], tree.children_right[node]
        feature = tree.feature[node]
        if known[feature]:
            return average(left if x[feature] <= tree.threshold[node] else right, known)
        weight = tree.weighted_n_node_samples
        return (weight[left] * average(left, known) + weight[right] * average(right, known)) / (
            weight[left] + weight[right]
        )

    coalitions = [known[::-1] for known in itertools.product([False, True], repeat=len(x))]
    return list_weights(len(x)) @ np.array([average(0, known) for known in coalitions])


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (ObliqueForestClassifier(3, splitter="oc1"), "tests more than one feature"),
        (ObliqueForestClassifier(3, splitter="axis", combine="product"), "are multiplied"),
        (
            ObliqueForestRegressor(3, splitter="axis", leaf="linear", min_samples_leaf=50),
            "has linear leaves",
        ),
        (FernClassifier(3, depth=3), "does not walk down trees"),
    ],
)
def test_what_shap_cannot_express(model, reason):
    model.set_params(random_state=0).fit(X, choose_target(model))
    with pytest.raises(ValueError, match=reason):
        to_shap_dict(model)


def test_offsets_are_no_matter_of_shap():
    big = X.astype(np.float64)
    big[:, 0] = 1.7e9 + np.arange(len(X))
    forest = ObliqueForestRegressor(2, splitter="axis", random_state=0).fit(big, big[:, 0] - 1.7e9)
    with pytest.raises(ValueError, match="subtracts constants"):
        to_shap_dict(forest)


def test_explanations_for_plots():
    shap = pytest.importorskip("shap")
    forest = ObliqueForestClassifier(3, splitter="oc1", random_state=0).fit(
        X, np.array(["a", "b", "c"])[CLASSES]
    )
    found = explain(forest, X[:5], X[100:110], background_weight=np.arange(10.0))
    assert isinstance(found, shap.Explanation)
    assert found.values.shape == (5, 8, 3)
    assert list(found.output_names) == ["a", "b", "c"]
    assert found.feature_names[0] == "x[0]"
    np.testing.assert_array_equal(found.data, X[:5])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, forest.predict_proba(X[:5]), atol=1e-9)
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    shap.plots.beeswarm(found[:, :, 1], show=False)
    shap.plots.waterfall(found[0, :, 1], show=False)
    plt.close("all")


def test_explanations_of_several_outputs():
    pytest.importorskip("shap")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    forest = ObliqueForestRegressor(3, splitter="axis", random_state=0)
    found = explain(forest.fit(table, np.column_stack([NUMBERS, X[:, 0]])), table[:5], table[9:19])
    assert found.values.shape == (5, 8, 2)
    assert found.feature_names == list("abcdefgh")
    assert list(found.output_names) == ["0", "1"]
    found = explain(
        ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(
            X, np.column_stack([CLASSES, CLASSES > 0])
        ),
        X[:5],
        X[9:19],
        feature_names=list("ABCDEFGH"),
    )
    assert found.values.shape == (5, 8, 5)
    assert list(found.output_names) == ["0: 0", "0: 1", "0: 2", "1: 0", "1: 1"]
    found = explain(forest.fit(X, NUMBERS), X[:5], X[9:19])
    assert found.base_values.shape == (5,)


def test_without_shap():
    code = (
        "import sys; sys.modules['shap'] = None\n"
        "from obtree import ObliqueTreeRegressor\n"
        "from obtree.explain import explain, shap_values\n"
        "tree = ObliqueTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])\n"
        "assert shap_values(tree, [[0.0]], [[1.0]]) == -1.0\n"
        "try:\n    explain(tree, [[0.0]], [[1.0]])\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert "pip install 'obtree[explain]'" in done.stdout, done.stderr


def test_permutation_importance():
    forest = ObliqueForestClassifier(10, splitter="oc1", random_state=0).fit(X, CLASSES)
    found = permutation_importance(forest, X, CLASSES, n_repeats=2, random_state=0)
    assert set(np.argsort(found.importances_mean)[-4:]) == {0, 1, 2, 3}
