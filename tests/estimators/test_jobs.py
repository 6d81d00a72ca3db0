"""n_jobs: what is accepted, what is refused, and how many threads there are."""

import warnings

import joblib
import numpy as np
import pytest

import obtree
from obtree.estimators.jobs import ALWAYS_ALLOWED, count_threads

X = np.random.default_rng(0).random((60, 3))
Y = (X[:, 0] > 0.5).astype(int)
PARALLEL = [
    kind
    for kind in map(obtree.__dict__.get, obtree.__all__)
    if isinstance(kind, type) and "n_jobs" in kind().get_params()
]
SHOWING = ("predict", "score_samples", "transform")
BAD = ["2", 1.5, 2.0, 0, True, False, np.bool_(True), np.float64(2), [2], "all"]
SHOWN = ["'2'", "1.5", "2.0", "0", "True", "False", "True", "2.0", r"\[2\]", "'all'"]


def make(kind, **params):
    """A small estimator of that class."""
    for name, value in (("n_estimators", 2), ("max_depth", 3), ("n_epochs", 1), ("n_iter", 1)):
        if name in kind().get_params():
            params[name] = value
    return kind(**params, random_state=0)


def show(model):
    """What a fitted model says of the rows."""
    method = next(name for name in SHOWING if hasattr(model, name))
    return getattr(model, method)(X)


def test_all_parallel_estimators_are_tried():
    assert len(PARALLEL) == 16


@pytest.mark.parametrize("kind", PARALLEL)
@pytest.mark.parametrize(("bad", "shown"), list(zip(BAD, SHOWN, strict=True)), ids=map(repr, BAD))
def test_what_is_no_number_of_threads_is_refused(kind, bad, shown):
    match = rf"n_jobs={shown} is not valid; expected None or an integer other than 0"
    with pytest.raises(ValueError, match=match):
        make(kind, n_jobs=bad).fit(X, Y)
    model = make(kind).fit(X, Y).set_params(n_jobs=bad)
    for method in (*SHOWING, "predict_proba", "apply", "decision_path"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=match):
                getattr(model, method)(X)
    if "warm_start" in kind().get_params():
        # Also when there is nothing to grow.
        with pytest.raises(ValueError, match=match):
            model.set_params(warm_start=True).fit(X, Y)


@pytest.mark.parametrize("kind", PARALLEL)
def test_numbers_of_threads_do_not_change_the_model(kind):
    expected = show(make(kind).fit(X, Y))
    for n_jobs in (1, 2, np.int64(2), np.uint8(1), -1, -1000, 10**9, 2**40):
        model = make(kind, n_jobs=n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(show(model.fit(X, Y)), expected)


def test_how_many_threads():
    assert count_threads(None) == 1
    assert count_threads(3) == 3
    assert count_threads(np.int32(3)) == 3
    assert count_threads(-1) == joblib.cpu_count()
    assert count_threads(-1000) == 1
    assert count_threads(ALWAYS_ALLOWED) == ALWAYS_ALLOWED
    assert count_threads(10**6) == max(ALWAYS_ALLOWED, 4 * joblib.cpu_count())
    with joblib.parallel_config(n_jobs=2):
        assert count_threads(None) == 2
