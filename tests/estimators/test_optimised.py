"""What all estimators share that optimise a grown tree as a whole."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from obtree import (
    DisjunctiveForestClassifier,
    DisjunctiveTreeClassifier,
    NonGreedyForestClassifier,
    NonGreedyForestRegressor,
    NonGreedyTreeClassifier,
    NonGreedyTreeRegressor,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    load_model,
    save_model,
)
from obtree.estimators import optimised

CLASSIFIERS = [
    DisjunctiveTreeClassifier(n_epochs=2),
    DisjunctiveForestClassifier(3, n_epochs=2),
    NonGreedyTreeClassifier(max_depth=4, n_epochs=2),
    NonGreedyForestClassifier(3, max_depth=4, n_epochs=2),
    TAOTreeClassifier(max_depth=3, n_iter=2),
    TAOTreeClassifier(init="axis", leaf="linear", max_depth=2, n_iter=2),
    TAOForestClassifier(3, max_depth=4, n_iter=2),
]
REGRESSORS = [
    NonGreedyTreeRegressor(max_depth=4, n_epochs=2),
    NonGreedyForestRegressor(3, max_depth=4, n_epochs=2),
    TAOTreeRegressor(max_depth=3, n_iter=2),
    TAOTreeRegressor(init="axis", leaf="linear", max_depth=2, n_iter=2),
    TAOForestRegressor(3, max_depth=4, n_iter=2),
]
# Each with what makes its fit go on for hours.
ENDLESS = [
    (DisjunctiveForestClassifier, "n_epochs=10**6"),
    (NonGreedyForestClassifier, "n_epochs=10**6"),
    (NonGreedyForestRegressor, "n_epochs=10**6"),
    (TAOForestClassifier, "n_estimators=10**5"),
    (TAOForestRegressor, "n_estimators=10**5"),
]


@pytest.fixture(params=CLASSIFIERS + REGRESSORS, ids=str)
def model(request):
    """Each estimator, unfitted."""
    return clone(request.param).set_params(random_state=0)


@pytest.fixture
def rows(model, classes, values):
    """X and y that suit the estimator."""
    return classes if is_classifier(model) else values


def predict(model, X):
    """Everything that the model says of the rows."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def test_model_files(model, rows, tmp_path):
    X, y = rows
    save_model(model.fit(X, y), tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.get_params() == {**model.get_params(), "n_jobs": None}
    np.testing.assert_array_equal(predict(loaded, X), predict(model, X))


def test_threads_change_nothing(model, rows):
    X, y = rows
    model.fit(X, y)
    other = clone(model).set_params(n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(predict(other, X), predict(model, X))
    for ours, theirs in zip(
        np.atleast_1d(np.asarray(model.objective_, dtype=object)),
        np.atleast_1d(np.asarray(other.objective_, dtype=object)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_sparse_features_are_made_dense(model, rows):
    X, y = rows
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = predict(clone(model).fit(X, y), X)
    np.testing.assert_array_equal(predict(model.fit(sp.csr_matrix(X), y), X), dense)


def test_rows_of_weight_zero_are_absent(model, rows):
    X, y = rows
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    weighted = predict(clone(model).fit(X, y, weight), X)
    here = weight > 0
    absent = predict(model.fit(X[here], y[here], weight[here]), X)
    np.testing.assert_array_equal(weighted, absent)


def test_missing_values_are_learnt_from(model, rows):
    X, y = rows
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    chance = np.mean(y == np.bincount(y).argmax()) if is_classifier(model) else 0.0
    model.fit(X, y)
    assert np.isfinite(predict(model, X)).all()
    assert model.score(X, y) > chance + 0.1


def test_early_stopping_sets_rows_aside(model, rows):
    X, y = rows
    model.set_params(n_iter_no_change=1, validation_fraction=0.3).fit(X, y)
    if hasattr(model, "tree_") and not isinstance(model, DisjunctiveTreeClassifier):
        assert model.tree_.n_node_samples[0] == 210
    for fraction in (0.0, 1.0, 0.999):
        with pytest.raises(ValueError, match=r"validation_fraction="):
            clone(model).set_params(validation_fraction=fraction).fit(X, y)
    with pytest.raises(ValueError, match=r"n_iter_no_change=0"):
        clone(model).set_params(n_iter_no_change=0).fit(X, y)


def test_what_cannot_be_a_start_is_refused(model, rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"products of features"):
        clone(model).set_params(init="conic").fit(X, y)
    with pytest.raises(ValueError, match=r"Did you mean 'axis'|axis"):
        clone(model).set_params(init="axes").fit(X, y)
    other = ObliqueTreeClassifier(max_depth=2).fit(
        np.random.default_rng(0).normal(size=(9, 2)), [0, 1, 2] * 3
    )
    with pytest.raises(ValueError, match=r"init is a tree of 2 features"):
        clone(model).set_params(init=other).fit(X, y)


def test_a_fitted_forest_to_start_from(classes):
    X, y = classes
    params = {"splitter": "axis", "max_depth": 3, "bootstrap": False}
    start = ObliqueForestClassifier(3, random_state=0, **params).fit(X, y)
    forest = TAOForestClassifier(3, init=start, n_iter=2, random_state=0).fit(X, y)
    assert [tree.get_n_leaves() <= 8 for tree in forest.estimators_] == [True] * 3
    assert forest.score(X, y) >= start.score(X, y)
    with pytest.raises(ValueError, match=r"init holds 3 trees; expected 2"):
        TAOForestClassifier(2, init=start).fit(X, y)
    with pytest.raises(ValueError, match=r"other class labels"):
        TAOForestClassifier(3, init=start).fit(X, y + 1)


def test_parameters_of_the_splitter_are_reached(model, rows):
    X, y = rows
    model.set_params(init="oc1", init__n_jumps=1)
    assert model.get_params()["init__n_jumps"] == 1
    model.fit(X, y)
    assert clone(model).init == model.init


def test_several_outputs(model, rows):
    X, y = rows
    Y = np.stack([y, y[::-1]], axis=1)
    if is_classifier(model):
        with pytest.raises(ValueError, match=r"y has 2 outputs"):
            model.fit(X, Y)
    else:
        assert model.fit(X, Y).predict(X).shape == Y.shape


def test_an_error_leaves_the_previous_fit(model, rows, monkeypatch):
    X, y = rows
    expected = predict(model.fit(X, y), X)
    state = dict(vars(model))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(optimised, "refine_trees", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :3], y)
    assert vars(model) == state
    np.testing.assert_array_equal(predict(model, X), expected)


def test_progress_is_shown_on_request_only(model, rows, capsys):
    X, y = rows
    model.fit(X, y)
    assert capsys.readouterr().err == ""
    model.set_params(verbose=1).fit(X, y)
    assert "optimising" in capsys.readouterr().err


INTERRUPTED = textwrap.dedent(
    """
    import numpy as np
    from obtree import {name}

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 20)), rng.integers(0, 3, size=4000)
    forest = {name}(2, init="axis", max_depth=4, n_jobs=2, random_state=0).fit(X[:300], y[:300])
    before = forest.predict(X[:300])
    forest.set_params({endless})
    try:
        print("ready", flush=True)
        forest.fit(X, y)
    except KeyboardInterrupt:
        assert (forest.predict(X[:300]) == before).all()
        print("usable", flush=True)
    """
)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(("kind", "endless"), ENDLESS)
def test_interrupted_fit_ends_and_leaves_the_model_usable(kind, endless):
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(name=kind.__name__, endless=endless)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "ready\n"
        # Most likely the trees have grown by then and are being optimised; however the signal
        # falls, the outcome is the same.
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=1.0)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "usable\n"
        assert child.returncode == 0
    finally:
        child.kill()


@pytest.mark.parametrize("light", [1e-60, 1e-170, 1e-300])
@pytest.mark.parametrize("heavy", [1.0, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        NonGreedyTreeClassifier(max_depth=3),
        TAOTreeClassifier(max_depth=3),
        NonGreedyTreeRegressor(),
    ],
    ids=str,
)
def test_weights_next_to_nothing(model, light, heavy):
    """Rows that weigh too little for any float are in the tree, and count for nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 1] > 0).astype(int)
    y[X[:, 0] > 1] = 1 - y[X[:, 0] > 1]
    weight = np.where(X[:, 0] > 1, light, heavy)
    tree = clone(model).set_params(random_state=0).fit(X, y, sample_weight=weight).tree_
    assert tree.n_node_samples[0] == 300
    np.testing.assert_allclose(tree.weighted_n_node_samples[0], weight.sum(), rtol=1e-9)
    assert 0 <= tree.impurity.min() <= tree.impurity.max() <= 1
    value = tree.value[0].ravel()
    assert np.isclose(value[-1], np.average(y, weights=weight / heavy), rtol=1e-6)
