"""Threads, processes, pickles and interruptions."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.estimators import bagging, plan


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
        copy.deepcopy,
        copy.copy,
    ],
    ids=["pickle", "protocol 2", "deepcopy", "copy"],
)
def test_copies_predict_the_same(either, duplicate, classes):
    X, y = classes
    either.fit(X, y)
    expected = either.predict(X)
    model = duplicate(either)
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.apply(X), either.apply(X))


def test_joblib_dump(either, classes, tmp_path):
    X, y = classes
    expected = either.fit(X, y).predict(X)
    joblib.dump(either, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict(X), expected)


def test_packed_nodes_are_not_saved(classes):
    X, y = classes
    forest = ObliqueForestClassifier(5, random_state=0).fit(X, y)
    before = len(pickle.dumps(forest))
    forest.predict(X)
    assert len(pickle.dumps(forest)) == before


def test_damaged_pickle_is_refused(classes):
    X, y = classes
    tree = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    rebuild, (state,) = tree.tree_.__reduce__()
    with pytest.raises(ValueError, match=r".+"):
        rebuild({**state, "children_left": state["children_left"] + 1000})


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib(backend, classes):
    X, y = classes
    forest = ObliqueForestClassifier(4, n_jobs=2, random_state=0)
    expected = clone(forest).fit(X, y).predict(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        models = joblib.Parallel()(joblib.delayed(clone(forest).fit)(X, y) for _ in range(3))
    for model in models:
        np.testing.assert_array_equal(model.predict(X), expected)


def test_inside_threads(classes):
    X, y = classes
    forest = ObliqueForestClassifier(4, n_jobs=2, random_state=0)
    expected = clone(forest).fit(X, y).predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: clone(forest).fit(X, y).predict_proba(X), range(8)))
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_one_model_used_by_many_threads(classes):
    X, y = classes
    forest = ObliqueForestClassifier(20, n_jobs=2, random_state=0).fit(X, y)
    expected = clone(forest).fit(X, y).predict_proba(X)
    barrier = threading.Barrier(6)

    def predict():
        barrier.wait()  # all meet an empty cache
        return forest.predict_proba(X)

    with ThreadPoolExecutor(6) as pool:
        for job in [pool.submit(predict) for _ in range(6)]:
            np.testing.assert_array_equal(job.result(), expected)


def test_beside_the_threads_of_scikit_learn(classes):
    # Its wheels and those of obtree each bring a library of OpenMP along.
    X, y = classes
    known = HistGradientBoostingClassifier(max_iter=3).fit(X, y).predict_proba(X)
    pools = threadpool_info()
    forest = ObliqueForestClassifier(6, n_jobs=2, random_state=0).fit(X, y)
    assert [pool for pool in threadpool_info() if pool in pools] == pools
    with threadpool_limits(1):  # is not about n_jobs
        limited = clone(forest).fit(X, y)
    np.testing.assert_array_equal(limited.predict_proba(X), forest.predict_proba(X))
    again = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), known)


def fit_in_child(forest, X, y, queue):
    """Fit and predict in a forked process."""
    queue.put(forest.fit(X, y).predict(X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_fork(classes):
    X, y = classes
    forest = ObliqueForestClassifier(6, n_jobs=2, random_state=0)
    expected = forest.fit(X, y).predict(X)  # the parent has used its threads
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=fit_in_child, args=(clone(forest), X, y, queue))
    child.start()
    try:
        np.testing.assert_array_equal(queue.get(timeout=60), expected)
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()


INTERRUPTED = textwrap.dedent(
    """
    import signal, sys
    import numpy as np
    from obtree import ObliqueForestClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20000, 20)), rng.integers(0, 5, size=20000)
    forest = ObliqueForestClassifier(3, n_jobs=2, random_state=0).fit(X[:500], y[:500])
    before = forest.predict(X[:500])
    forest.set_params(n_estimators=100000)
    try:
        print("ready", flush=True)
        forest.fit(X, y)
    except KeyboardInterrupt:
        assert (forest.predict(X[:500]) == before).all()
        forest.set_params(n_estimators=3).fit(X[:500], y[:500])
        assert (forest.predict(X[:500]) == before).all()
        print("usable", flush=True)
    """
)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_interrupted_fit_ends_and_leaves_the_model_usable():
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        # However the signal falls, before, in or after the compiled part, fit would
        # otherwise run for an hour.
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=60)[0] == "usable\n"
        assert child.returncode == 0
    finally:
        child.kill()


def test_interruption_leaves_the_previous_fit(either, classes, monkeypatch):
    X, y = classes
    either.fit(X, y)
    expected = either.predict(X)
    state = dict(vars(either))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(plan, "grow_trees", interrupt)
    with pytest.raises(KeyboardInterrupt):
        either.fit(X[:, :3], y)
    assert vars(either) == state
    np.testing.assert_array_equal(either.predict(X), expected)


def test_interrupted_oob_leaves_the_previous_fit(classes, monkeypatch):
    X, y = classes
    forest = ObliqueForestClassifier(3, random_state=0).fit(X, y)
    state = dict(vars(forest)) | {"oob_score": True}

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(bagging, "predict_out_of_bag", interrupt)
    with pytest.raises(KeyboardInterrupt):
        forest.set_params(oob_score=True).fit(X, y)
    assert vars(forest) == state
