"""Exact values of all kinds of nodes and leaves, against all coalitions one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from obtree import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    FernClassifier,
    NonGreedyForestClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    SemiSupervisedForestClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
)
from obtree.explain import expected_value, shap_values
from obtree.splitter import ConicSplitter, RandomObliqueSplitter, available
from obtree.tree.tree import Tree

SPLITTERS = [name for name in available() if name != "fern"]

TREES = {
    "linear leaves": ObliqueTreeRegressor(splitter="oc1", leaf="linear", min_samples_leaf=20),
    "linear leaves of axis splits": ObliqueTreeRegressor(
        splitter="axis", leaf="linear", min_samples_leaf=20
    ),
    "linear leaves of classes": ObliqueTreeClassifier(
        splitter="random_oblique", leaf="linear", min_samples_leaf=30
    ),
    "one linear leaf": ObliqueTreeRegressor(splitter="axis", leaf="linear", max_depth=1),
    "lines with noise": ObliqueTreeRegressor(
        splitter="axis", leaf="linear_gaussian", min_samples_leaf=20
    ),
    "intervals": ObliqueTreeClassifier(splitter=RandomObliqueSplitter(two_sided=True)),
    "products with intervals": ObliqueTreeClassifier(splitter=ConicSplitter(two_sided=True)),
    "one leaf": ObliqueTreeRegressor(splitter="axis", min_samples_split=1000),
}
MODELS = {
    "average": ObliqueForestClassifier(4, splitter="random_oblique"),
    "vote": ObliqueForestClassifier(5, splitter="oc1", combine="vote"),
    "vote of linear leaves": ObliqueForestClassifier(
        3, splitter="axis", leaf="linear", combine="vote", min_samples_leaf=30
    ),
    "product": ObliqueForestClassifier(4, splitter="co2", combine="product"),
    "rotation": ObliqueForestRegressor(3, splitter="axis", rotation="pca"),
    "gaussians": ObliqueForestRegressor(3, leaf="linear_gaussian", splitter="axis"),
    "TAO": TAOTreeClassifier(),
    "TAO of numbers": TAOTreeRegressor(),
    "TAO forest": TAOForestClassifier(3),
    "TAO forest of numbers": TAOForestRegressor(3),
    "non-greedy": NonGreedyForestClassifier(2),
    "non-greedy of numbers": NonGreedyTreeRegressor(),
    "disjunctive": DisjunctiveTreeClassifier(n_epochs=2),
    "disjunctive forest": DisjunctiveForestClassifier(2, n_epochs=2),
    "ferns": FernClassifier(4, depth=4),
    "semi-supervised": SemiSupervisedForestClassifier(3),
    "default": ObliqueForestClassifier(10),
    "default of numbers": ObliqueForestRegressor(10),
}


def fit(model, rows):
    X, classes, numbers = rows
    return model.set_params(random_state=0).fit(
        X, classes if hasattr(model, "predict_proba") else numbers
    )


def find_predict(model):
    return getattr(model, "predict_proba", model.predict)


def check(model, pairs, slow_values, **options):
    """Values are exact, and add up to what is predicted."""
    X, background, weight = pairs
    predict = find_predict(model)
    phi = shap_values(model, X, background, background_weight=weight, **options)
    assert phi.shape[:2] == X.shape
    expected = slow_values(predict, X, background, weight)
    np.testing.assert_allclose(phi.reshape(expected.shape), expected, atol=1e-12)
    base = expected_value(model, background, background_weight=weight)
    np.testing.assert_allclose(base + phi.sum(axis=1), predict(X), atol=1e-9)


@pytest.mark.parametrize("name", SPLITTERS)
def test_splitters(rows, pairs, slow_values, name):
    check(fit(ObliqueTreeClassifier(splitter=name), rows), pairs, slow_values)
    check(fit(ObliqueTreeRegressor(splitter=name), rows), pairs, slow_values)


@pytest.mark.parametrize("name", TREES)
def test_nodes_and_leaves(rows, pairs, slow_values, name):
    check(fit(TREES[name], rows), pairs, slow_values)


@pytest.mark.parametrize("name", MODELS)
def test_estimators(rows, pairs, slow_values, name):
    check(fit(MODELS[name], rows), pairs, slow_values)


def test_many_missing_values_of_lines(slow_values):
    # Whether a line counts depends on every one of them.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    tree = ObliqueTreeRegressor(splitter="axis", leaf="linear", max_depth=2).fit(
        X, X @ np.arange(6.0)
    )
    row, background = X[:2].copy(), X[2:5].copy()
    row[:, ::2] = np.nan
    background[0, 1] = np.nan
    check(tree, (row, background, None), slow_values)
    # Though features are many, what two rows without missing values share is found exactly.
    wide = np.hstack([X, rng.normal(size=(300, 24)).astype(np.float32)])
    tree = ObliqueTreeRegressor(splitter="axis", leaf="linear", max_depth=1).fit(
        wide, wide.sum(axis=1)
    )
    exact = shap_values(tree, wide[:2], wide[5:8], n_permutations=1)
    again = shap_values(tree, wide[:2], wide[5:8], n_permutations=7, random_state=3)
    np.testing.assert_array_equal(exact, again)


def test_boosted_chains_of_classes(slow_values):
    # Whether three in a row of nine squares are taken.
    X = np.random.default_rng(0).integers(0, 2, (400, 9)).astype(np.float32)
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8)]
    y = np.any([X[:, line].all(axis=1) for line in lines], axis=0)
    forest = ObliqueForestClassifier(10, random_state=0).fit(X, y)
    assert forest.chains_
    check(forest, (X[:2], X[100:103], [1.0, 2.0, 0.5]), slow_values)


def test_boosted_chains_of_numbers(slow_values, monkeypatch):
    # Chains have a share whatever they do.
    monkeypatch.setattr("obtree.estimators.chains.DOUBT", 100.0)
    monkeypatch.setattr("obtree.estimators.chains.HOPELESS", (1e9, 1e9, 1e9))
    monkeypatch.setattr("obtree.estimators.chains.BEHIND_NUMBERS", 1e9)
    X = np.random.default_rng(1).random((200, 6)).astype(np.float32)
    y = (X > [0.2, 0.4, 0.5, 0.6, 0.7, 0.8]).sum(axis=1) * 2.0 + X[:, 0]
    forest = ObliqueForestRegressor(10, random_state=0).fit(X, y)
    assert forest.chains_
    check(forest, (X[:2], X[100:103], [1.0, 2.0, 0.5]), slow_values)


def test_log_scores(rows, pairs, slow_values):
    X, background, weight = pairs
    forest = fit(ObliqueForestClassifier(5, splitter="oc1", combine="product"), rows)

    def add_logarithms(Z):
        return sum(np.log(np.maximum(tree.predict_proba(Z), 1e-6)) for tree in forest.estimators_)

    phi = shap_values(forest, X, background, background_weight=weight, output="log_score")
    expected = slow_values(add_logarithms, X, background, weight)
    np.testing.assert_allclose(phi, expected, atol=1e-11)
    base = expected_value(forest, background, background_weight=weight, output="log_score")
    np.testing.assert_allclose(base + phi.sum(axis=1), add_logarithms(X), atol=1e-9)


def test_several_outputs(rows, pairs, slow_values):
    X, classes, numbers = rows
    both = np.column_stack([numbers, numbers**2])
    forest = ObliqueForestRegressor(3, splitter="random_oblique", random_state=0).fit(X, both)
    check(forest, pairs, slow_values)
    labels = np.column_stack([classes, classes > 0])
    forest = ObliqueForestClassifier(3, splitter="oc1", random_state=0).fit(X, labels)
    query, background, _ = pairs
    phi = shap_values(forest, query, background)
    base = expected_value(forest, background)
    assert [part.shape for part in phi] == [(4, 6, 3), (4, 6, 2)]
    for k, (own, mean) in enumerate(zip(phi, base, strict=True)):
        expected = slow_values(lambda Z, k=k: forest.predict_proba(Z)[k], query, background)
        np.testing.assert_allclose(own, expected, atol=1e-12)
        np.testing.assert_allclose(
            mean + own.sum(axis=1), forest.predict_proba(query)[k], atol=1e-9
        )


def test_sparse_rows(rows):
    X = np.nan_to_num(rows[0])
    X[np.abs(X) < 0.5] = 0.0
    forest = ObliqueForestClassifier(3, splitter="random_oblique", random_state=0)
    forest.fit(sp.csr_matrix(X), rows[1])
    dense = shap_values(forest, X[:5], X[5:9])
    for kind in (sp.csr_matrix, sp.csc_array):
        np.testing.assert_array_equal(shap_values(forest, kind(X[:5]), kind(X[5:9])), dense)


def test_offsets(slow_values):
    # Seconds since 1970, whose differences float32 does not see.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 1] = 1.7e9 + np.arange(200)
    y = (X[:, 1] > 1.7e9 + 80) + 0.5 * X[:, 0]
    tree = ObliqueTreeRegressor(splitter="random_oblique", max_depth=5, random_state=0).fit(X, y)
    assert tree.tree_.feature_offset is not None
    check(tree, (X[75:85:3], X[::40], None), slow_values)


def test_names_of_columns(rows):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(rows[0], columns=list("abcdef"))
    forest = ObliqueForestClassifier(3, splitter="oc1", random_state=0).fit(table, rows[1])
    phi = shap_values(forest, table[:3], table[50:60])
    plain = ObliqueForestClassifier(3, splitter="oc1", random_state=0).fit(rows[0], rows[1])
    np.testing.assert_array_equal(phi, shap_values(plain, rows[0][:3], rows[0][50:60]))


def test_sums_that_meet_the_threshold(slow_values):
    # What is told of a range of sums has to allow for rounding: one sum is the threshold.
    rng = np.random.default_rng(0)
    leaf = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "term_ptr": [0, 20, 20, 20],
    }
    leaf |= {"missing_go_left": [0, 0, 0], "impurity": [0.0] * 3, "n_node_samples": [2, 1, 1]}
    leaf |= {"weighted_n_node_samples": [2.0, 1.0, 1.0], "n_classes": [1]}
    model = ObliqueTreeRegressor(max_depth=1).fit(np.eye(20), np.arange(20.0))
    few = [1, 5, 18, 19]
    for _ in range(40):
        weight = rng.normal(size=20)
        background = rng.normal(size=(1, 20)).astype(np.float32)
        x = background.copy()
        x[0, few] = rng.normal(size=4)
        # The least sum of any coalition.
        least = np.where(weight * x < weight * background, x, background)[0].astype(np.float64)
        lanes = weight[:16] * least[:16]
        lanes[:4] += weight[16:] * least[16:]
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        for threshold in (lanes[0], np.nextafter(lanes[0], -np.inf)):
            model.tree_ = Tree.from_arrays(
                n_features=20,
                **leaf,
                threshold=[threshold, 0.0, 0.0],
                term_feature=np.arange(20),
                term_weight=weight,
                value=np.array([0.0, 1.0, 0.0]).reshape(3, 1, 1),
            )
            found = shap_values(model, x, background)
            assert found.any() == (threshold == lanes[0])

            def predict(part, b=background, model=model):
                rows = np.repeat(b, len(part), axis=0)
                rows[:, few] = part
                return model.predict(rows)

            expected = slow_values(predict, x[:, few], background[:, few])[:, :, 0]
            np.testing.assert_allclose(found[:, few], expected, atol=1e-12)


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "oc1", "conic"])
def test_sets_of_categories(slow_values, splitter):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    X[:, [1, 4]] = rng.integers(0, 40, (200, 2))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(np.isin(X[:, 1] % 5, [0, 3]) * 2.0 + X[:, 0] + (X[:, 4] % 2))
    model = ObliqueForestRegressor(3, splitter=splitter, categorical_features=[1, 4])
    check(model.set_params(random_state=0).fit(X, y), (X[:3], X[50:55], None), slow_values)
