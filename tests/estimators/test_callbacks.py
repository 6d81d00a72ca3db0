"""scikit-learn's callbacks hear of fits and of trees, and change nothing but when to stop."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from obtree import (
    DensityForest,
    DisjunctiveForestClassifier,
    FernClassifier,
    ForestEmbedding,
    NonGreedyForestRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    SemiSupervisedForestClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeRegressor,
)

callback = pytest.importorskip("sklearn.callback")

FORESTS = [
    ObliqueForestClassifier(5, splitter="axis", random_state=0),
    ObliqueForestClassifier(5, splitter="co2", oob_score=True, n_jobs=2, random_state=0),
    ObliqueForestClassifier(9, random_state=0),
    ObliqueForestRegressor(5, splitter="random_oblique", random_state=0),
    ObliqueForestRegressor(9, random_state=0),
    TAOForestClassifier(4, n_iter=1, random_state=0),
    TAOForestRegressor(4, n_iter=1, n_jobs=3, random_state=0),
    NonGreedyForestRegressor(3, n_epochs=2, random_state=0),
    DisjunctiveForestClassifier(3, n_epochs=2, random_state=0),
    SemiSupervisedForestClassifier(4, random_state=0),
]
OTHERS = [
    ObliqueTreeClassifier(random_state=0),
    TAOTreeRegressor(n_iter=1, random_state=0),
    FernClassifier(3, depth=3, random_state=0),
    DensityForest(3, random_state=0),
    ForestEmbedding(2, n_estimators=3, random_state=0),
]


def name_model(model):
    return f"{type(model).__name__}-{getattr(model, 'splitter', '')}"


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(90, 5, n_informative=3, random_state=0)
    return X.astype(np.float32), y


class Recorder:
    """Writes down what it hears, and wants a stop after some trees."""

    def __init__(self, enough=None, shows=True):
        self.heard = []
        self.models = []
        self.enough = enough
        if not shows:
            self.on_fit_task_end = self.end_unseen

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.heard.append(f"begin {context.task_name}")
        if context.task_name == "fit":
            self.n_tasks = context.max_subtasks

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.heard.append(f"end {context.task_name}")
        if context.task_name == "tree":
            self.models.append((len(fitted_estimator.estimators_), fitted_estimator.predict(X)))
        return self.enough is not None and len(self.models) >= self.enough

    def end_unseen(self, estimator, context):
        self.heard.append(f"end {context.task_name}")


@pytest.mark.parametrize("model", FORESTS, ids=name_model)
def test_trees_are_told_of_in_order_and_are_the_same(model, data):
    X, y = data
    plain = clone(model).fit(X, y)
    recorder = Recorder()
    listened = clone(model).set_callbacks(recorder).fit(X, y)
    n_trees = model.n_estimators
    assert recorder.n_tasks == n_trees
    trees = ["begin tree", "end tree"] * n_trees
    assert recorder.heard.count("end tree") == n_trees
    assert recorder.heard == ["setup", "begin fit", *trees, "end fit", "teardown"]
    assert [n for n, _ in recorder.models] == list(range(1, n_trees + 1))
    np.testing.assert_array_equal(listened.predict(X), plain.predict(X))
    if not isinstance(model, SemiSupervisedForestClassifier):
        np.testing.assert_array_equal(recorder.models[-1][1], plain.predict(X))
    assert [tree.random_state for tree in listened.estimators_] == [
        tree.random_state for tree in plain.estimators_
    ]
    for name in ("oob_score_", "splitter_stats_"):
        assert getattr(listened, name, None) == getattr(plain, name, None)
    assert not hasattr(listened, "_fit_task")


@pytest.mark.parametrize("model", OTHERS, ids=name_model)
def test_other_estimators_tell_of_the_fit(model, data):
    recorder = Recorder()
    clone(model).set_callbacks(recorder).fit(*data)
    assert recorder.heard == ["setup", "begin fit", "end fit", "teardown"]
    assert recorder.n_tasks == 0


@pytest.mark.parametrize(
    "model",
    [
        ObliqueForestClassifier(20, splitter="axis", random_state=0),
        ObliqueForestRegressor(20, splitter="axis", oob_score=True, random_state=0),
        TAOForestRegressor(20, n_iter=1, random_state=0),
    ],
    ids=name_model,
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_enough_is_enough(model, data):
    X, y = data
    short = clone(model).set_callbacks(Recorder(enough=3)).fit(X, y)
    assert len(short.estimators_) == 3
    expected = clone(model).set_params(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(short.predict(X), expected.predict(X))
    assert getattr(short, "oob_score_", 0) == getattr(expected, "oob_score_", 0)


def test_warm_starts_tell_of_new_trees(data):
    X, y = data
    model = ObliqueForestClassifier(3, splitter="axis", warm_start=True, random_state=0).fit(X, y)
    recorder = Recorder()
    model.set_params(n_estimators=5).set_callbacks(recorder).fit(X, y)
    assert recorder.n_tasks == 2
    assert [n for n, _ in recorder.models] == [4, 5]
    expected = ObliqueForestClassifier(5, splitter="axis", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_forests_are_shown_only_to_those_who_look(data, monkeypatch):
    recorder = Recorder(shows=False)
    seen = []
    monkeypatch.setattr(
        ObliqueForestClassifier,
        "__copy__",
        lambda self: seen.append(1) or clone(self),
        raising=False,
    )
    ObliqueForestClassifier(3, splitter="axis").set_callbacks(recorder).fit(*data)
    assert recorder.heard.count("end tree") == 3
    assert not seen


def test_fits_that_fail_are_torn_down(data):
    X, y = data
    model = ObliqueForestClassifier(3, splitter="axis", random_state=0).fit(X, y)
    recorder = Recorder()
    model.set_params(max_depth=-1).set_callbacks(recorder)
    with pytest.raises(ValueError, match="max_depth"):
        model.fit(X, y)
    assert recorder.heard == ["setup", "begin fit", "teardown"]
    assert not hasattr(model, "_fit_task")
    assert len(model.estimators_) == 3


def test_scoring_monitor(data):
    X, y = data
    monitor = callback.ScoringMonitor(scoring="accuracy")
    forest = ObliqueForestClassifier(6, splitter="axis", random_state=0).set_callbacks(monitor)
    forest.fit(X, y)
    scores = {row["task_id"]: row for row in monitor.get_logs().data if row["task_name"] == "tree"}
    assert len(scores) == 6
    for k, row in scores.items():
        first = clone(forest).set_callbacks().set_params(n_estimators=k + 1).fit(X, y)
        assert row["accuracy"] == first.score(X, y)


def test_inside_of_others(data):
    recorder = Recorder()
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0).set_callbacks(recorder)
    make_pipeline(StandardScaler(), forest).fit(*data)
    assert recorder.heard.count("end tree") == 3
    search = GridSearchCV(forest, {"max_depth": [1, 2]}, cv=2, error_score="raise")
    search.fit(*data)
    assert recorder.heard.count("end tree") == 3 + 5 * 3
    assert recorder.heard.count("teardown") == 1 + 5


def test_progress_bar(data, capsys):
    pytest.importorskip("rich")
    forest = ObliqueForestClassifier(3, splitter="axis", random_state=0)
    forest.set_callbacks(callback.ProgressBar()).fit(*data)
    assert "ObliqueForestClassifier - fit" in capsys.readouterr().out
