"""Programs that people run with scikit-learn's forests, with ours in their place."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from obtree import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    TAOTreeClassifier,
    export_text,
)

SPLITTERS = ["auto", "axis", "co2"]


@pytest.fixture(scope="module")
def flowers():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def patients():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :6], y[:200]


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]


@pytest.fixture(params=SPLITTERS)
def forest(request):
    return ObliqueForestClassifier(5, splitter=request.param, max_depth=4, random_state=0)


@pytest.fixture(params=["auto", "axis"])
def regressor(request):
    return ObliqueForestRegressor(5, splitter=request.param, max_depth=4, random_state=0)


def test_calibration(forest, patients):
    model = CalibratedClassifierCV(forest, method="isotonic", cv=2).fit(*patients)
    assert model.score(*patients) > 0.85


def test_stacking(forest, regressor, flowers, numbers):
    models = [("forest", forest), ("tree", TAOTreeClassifier(n_iter=1, random_state=0))]
    final = LogisticRegression(max_iter=1000)
    assert StackingClassifier(models, final, cv=2).fit(*flowers).score(*flowers) > 0.9
    models = [("forest", regressor), ("ridge", RidgeCV())]
    assert StackingRegressor(models, cv=2).fit(*numbers).score(*numbers) > 0.3


def test_voting_and_boosting(forest, flowers, numbers):
    models = [("forest", forest), ("line", LogisticRegression(max_iter=1000))]
    assert VotingClassifier(models, voting="soft").fit(*flowers).score(*flowers) > 0.9
    tree = ObliqueTreeClassifier(max_depth=2, random_state=0)
    assert BaggingClassifier(tree, 3, random_state=0).fit(*flowers).score(*flowers) > 0.9
    assert AdaBoostClassifier(tree, n_estimators=3, random_state=0).fit(*flowers).score(*flowers)
    start = ObliqueForestRegressor(3, splitter="axis", random_state=0)
    assert GradientBoostingRegressor(init=start, n_estimators=2).fit(*numbers).score(*numbers) > 0.5


def test_permutation_importance(forest, flowers):
    forest.fit(*flowers)
    found = permutation_importance(forest, *flowers, n_repeats=2, random_state=0)
    assert found.importances_mean[2:].max() > found.importances_mean[:2].max()
    assert forest.feature_importances_[2:].sum() > 0.6
    assert np.std([tree.feature_importances_ for tree in forest.estimators_], axis=0).shape == (4,)


@pytest.mark.parametrize("method", ["auto", "brute"])
def test_partial_dependence(forest, regressor, flowers, numbers, method):
    X, y = numbers
    found = partial_dependence(regressor.fit(X, y), X, [2], method=method, grid_resolution=5)
    assert found["average"][0, -1] > found["average"][0, 0]
    X, y = flowers
    forest.fit(X, y)
    found = partial_dependence(forest, X, ["petal length (cm)"], method=method, grid_resolution=5)
    assert found["average"].shape == (3, 5)


def test_selection_of_features(flowers):
    forest = ObliqueForestClassifier(5, splitter="axis", random_state=0)
    chosen = SelectFromModel(forest).set_output(transform="pandas").fit(*flowers)
    assert set(chosen.transform(flowers[0]).columns) <= set(flowers[0].columns)
    assert 1 <= RFECV(forest, cv=2).fit(*flowers).n_features_ <= 4
    picked = SequentialFeatureSelector(forest, n_features_to_select=1, cv=2).fit(*flowers)
    assert picked.get_support()[2:].any()


def test_search(flowers):
    forest = ObliqueForestClassifier(3, splitter="random_oblique", random_state=0)
    grid = {"max_depth": [1, 3], "max_features": ["sqrt", None]}
    search = GridSearchCV(make_pipeline(StandardScaler(), forest), _nest(grid), cv=2).fit(*flowers)
    assert search.best_params_["obliqueforestclassifier__max_depth"] == 3
    sizes, *_ = learning_curve(forest, *flowers, cv=2, train_sizes=[0.5, 1.0])
    assert len(sizes) == 2


def _nest(grid):
    return {f"obliqueforestclassifier__{name}": values for name, values in grid.items()}


def test_thresholds_and_predictions_out_of_fold(patients):
    forest = ObliqueForestClassifier(5, splitter="axis", random_state=0)
    tuned = TunedThresholdClassifierCV(forest, cv=2).fit(*patients)
    assert 0.0 <= tuned.best_threshold_ <= 1.0
    proba = cross_val_predict(forest, *patients, cv=2, method="predict_proba")
    assert proba.shape == (200, 2)


def test_tables():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=80), "colour": rng.choice(list("abc"), 80)})
    table.loc[::9, "size"] = np.nan
    y = np.where(table["colour"] == "a", "yes", "no")
    columns = ColumnTransformer(
        [("number", SimpleImputer(), ["size"]), ("word", OneHotEncoder(), ["colour"])]
    )
    forest = ObliqueForestClassifier(5, splitter="axis", random_state=0)
    assert make_pipeline(columns, forest).fit(table, y).score(table, y) == 1.0


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="this scikit-learn does not ask the last step of a pipeline for its score request",
)
def test_metadata_routing(flowers):
    X, y = flowers
    weight = np.where(y == 0, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        forest = ObliqueForestClassifier(5, splitter="axis", random_state=0)
        forest.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        model = make_pipeline(scaler, forest)
        found = cross_validate(
            model, X, y, params={"sample_weight": weight}, cv=2, return_estimator=True
        )
        # Nobody has seen the class that weighs nothing win.
        assert all((each.predict(X) != 0).all() for each in found["estimator"])
        search = GridSearchCV(model, _nest({"max_depth": [2, 3]}), cv=2)
        assert search.fit(X, y, sample_weight=weight).best_score_ > 0.8


def test_weights_of_classes(patients):
    X, y = patients
    for weight in ({0: 1.0, 1: 5.0}, "balanced", "balanced_subsample"):
        forest = ObliqueForestClassifier(
            20,
            splitter="axis",
            class_weight=weight,
            oob_score=balanced_accuracy_score,
            random_state=0,
        )
        assert forest.fit(X, y).oob_score_ > 0.8


def test_several_outputs(flowers):
    X, y = flowers
    both = np.column_stack([y, y == 1])
    forest = ObliqueForestClassifier(5, random_state=0).fit(X, both)
    assert forest.predict(X).shape == (150, 2)
    assert [proba.shape for proba in forest.predict_proba(X)] == [(150, 3), (150, 2)]
    each = MultiOutputClassifier(TAOTreeClassifier(n_iter=1, random_state=0)).fit(X, both)
    assert each.predict(X).shape == (150, 2)


def test_wrappers_of_classifiers(flowers):
    X, y = flowers
    forest = ObliqueForestClassifier(5, splitter="axis", random_state=0)
    assert OneVsRestClassifier(forest).fit(X, y).score(X, y) > 0.9
    some = np.where(np.arange(150) % 2, y, -1)
    assert SelfTrainingClassifier(forest).fit(X, some).score(X, y) > 0.9


def test_paths_and_arrays(forest, flowers):
    X, y = flowers
    forest.fit(X, y)
    path, ptr = forest.decision_path(X)
    assert path.shape == (150, ptr[-1])
    assert len(ptr) == 6
    assert OneHotEncoder().fit_transform(forest.apply(X)).shape[0] == 150
    tree = forest.estimators_[0].tree_
    n_nodes = tree.node_count
    assert tree.n_leaves == forest.estimators_[0].get_n_leaves() == (n_nodes + 1) // 2
    assert tree.max_depth == forest.estimators_[0].get_depth()
    for name in (
        "children_left",
        "children_right",
        "feature",
        "threshold",
        "impurity",
        "n_node_samples",
        "weighted_n_node_samples",
        "missing_go_to_left",
    ):
        assert getattr(tree, name).shape == (n_nodes,)
    assert tree.value.shape == (n_nodes, 1, 3)
    np.testing.assert_allclose(tree.value.sum(axis=2), 1.0)
    is_leaf = tree.children_left == tree.children_right
    assert (tree.feature[is_leaf] == -2).all()
    assert is_leaf.sum() == tree.n_leaves
    assert "petal" in export_text(forest.estimators_[0])
    assert "5 trees" in export_text(forest)
