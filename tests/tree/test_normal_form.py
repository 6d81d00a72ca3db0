"""States of disjunctive normal forms: round trips, and states that are damaged."""

import copy
import pickle

import numpy as np
import pytest

from obtree import DisjunctiveTreeClassifier
from obtree.tree.normal_form import FIELDS, NormalForm, form_from_state, form_to_state
from obtree.tree.normal_predict import NormalPredictor


@pytest.fixture(scope="module")
def fitted():
    """A fitted form and rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    tree = DisjunctiveTreeClassifier(n_epochs=2, random_state=0).fit(X, y)
    return tree.form_, X


def test_round_trip(fitted):
    form, X = fitted
    expected = NormalPredictor([form]).predict(X)
    for other in (form_from_state(form_to_state(form)), pickle.loads(pickle.dumps(form))):
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(other, name), getattr(form, name))
        np.testing.assert_array_equal(NormalPredictor([other]).predict(X), expected)
    assert copy.deepcopy(form) is form
    with pytest.raises(ValueError, match="read-only"):
        form.weight[0, 0] = 1.0
    with pytest.raises(TypeError, match="from_arrays"):
        NormalForm()


def test_pickles_of_older_versions(fitted):
    form, _ = fitted
    old = pickle.dumps(form, protocol=0).replace(b"obtree.tree.normal", b"obtree.optim.normal")
    assert b"obtree.optim.normal_form" in old
    np.testing.assert_array_equal(pickle.loads(old).weight, form.weight)


def test_offsets(fitted):
    plain, X = fitted
    offset = np.array([0.0, 1.7e9, 0.0])
    form = plain.with_offset(offset)
    assert form.shifted is plain
    np.testing.assert_array_equal(form.mean, plain.mean + offset)
    with pytest.raises(ValueError, match="read-only"):
        form.mean[0] = 1.0
    state = form_to_state(form)
    assert (state["format"], form_to_state(plain)["format"]) == (2, 1)
    other = form_from_state(state)
    np.testing.assert_array_equal(other.feature_offset, offset)
    np.testing.assert_array_equal(other.shifted.mean, plain.mean)
    # Predictors read what is left after the offset has been subtracted.
    expected = NormalPredictor([plain]).predict(X)
    np.testing.assert_array_equal(NormalPredictor([other, form]).predict(X), expected)
    with pytest.raises(ValueError, match="different feature_offset"):
        NormalPredictor([plain, form])
    assert form.with_offset(np.zeros(3)) is plain
    for damage in (
        {"format": 1},
        {"format": 3},
        {"feature_offset": offset[1:]},
        {"feature_offset": np.full(3, np.inf)},
        {"feature_offset": offset.astype(np.float32)},
        {"feature_offset": offset[None]},
    ):
        with pytest.raises(ValueError, match=r"feature_offset|format"):
            form_from_state(state | damage)
    with pytest.raises(ValueError, match="feature_offset"):
        form_from_state(form_to_state(plain) | {"format": 2})


def replace(name, change):
    """Change a copy of one field."""

    def apply(state):
        value = state[name]
        if isinstance(value, np.ndarray):
            value = value.copy()
        state[name] = change(value)

    return apply


def put(name, at, value):
    """Overwrite one entry."""

    def change(array):
        array[at] = value
        return array

    return replace(name, change)


DAMAGE = {
    "format": replace("format", lambda _: 99),
    "format is text": replace("format", lambda _: "1"),
    "no features": replace("n_features", lambda _: 0),
    "many classes": replace("n_classes", lambda _: 2**21),
    "true classes": replace("n_classes", lambda _: True),
    "fewer classes": replace("n_classes", lambda _: 1),
    "list": replace("root", lambda a: a.tolist()),
    "type": replace("child_left", lambda a: a.astype(np.int64)),
    "dimensions": replace("weight", np.ravel),
    "short": replace("child_right", lambda a: a[:-1]),
    "weights": replace("weight", lambda a: a[:-1]),
    "columns": replace("weight", lambda a: np.ascontiguousarray(a[:, 1:])),
    "mean": replace("mean", lambda a: a[:-1]),
    "no roots": replace("root", lambda a: a[:0]),
    "far child": put("child_left", 0, 10**6),
    "low child": put("child_left", 0, -(10**6)),
    "cycle": put("child_left", -1, 0),
    "own child": put("child_left", 0, 0),
    "twice": put("root", 0, 1),
    "nan": put("weight", (0, 0), np.nan),
    "infinite mean": put("mean", 0, np.inf),
    "negative scale": put("scale", 0, -1.0),
    "extra": lambda state: state.update(more=1),
    "lacking": lambda state: state.pop("mean"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_states_are_refused(fitted, damage):
    state = form_to_state(fitted[0])
    damage(state)
    with pytest.raises(ValueError, match=r"format|fields|n_\w+|root|child_|weight|mean|scale"):
        form_from_state(state)


def test_other_things_are_refused():
    with pytest.raises(ValueError, match="dict"):
        form_from_state([])


def test_huge_weights_do_no_harm(fitted):
    form, X = fitted
    state = form_to_state(form)
    state["weight"] = np.full_like(form.weight, 3e38)
    state["weight"][:, ::2] *= -1
    state["scale"] = np.full_like(form.scale, 1e300)
    values = NormalPredictor([form_from_state(state)]).predict(X)
    assert np.isfinite(values).all()
