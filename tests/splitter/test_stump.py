"""The bound of CO2: above the loss, tighter for longer weights, lower after steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obtree.data.dataset import Dataset
from obtree.testing.growth import bind_criterion
from obtree.testing.probe_stump import StumpProbe, descend, find_nu

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ["classes", "numbers", "two outputs", "together"]


def draw_stump(seed, kind, nu=100.0):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 60)), int(rng.integers(1, 20))
    X = rng.normal(size=(n, m)) / np.sqrt(m)
    if kind == "numbers":
        y = X[:, :1] + rng.normal(size=(n, 1))
    else:
        y = rng.integers(0, rng.integers(2, 6), (n, 2 if kind == "two outputs" else 1))
    weight = rng.integers(1, 4, n).astype(float)
    stump = StumpProbe(X, y, weight, nu, shared_moment=kind == "together")
    stump.start(rng.normal(size=m) * 3, float(rng.normal()))
    return rng, X, y, weight, stump


def judge_slowly(X, y, weight, stump):
    """Equations 2 and 5 in float64, row by row; and the derivative by the score."""
    w, bias = stump.plane
    score = X @ w - bias
    losses = np.zeros((2, len(y)))
    first = 0
    for k in range(y.shape[1]):
        size = y[:, k].max() + 1 if y.dtype.kind == "i" else 1
        theta = stump.leaves[:, first : first + size]
        first += size
        for leaf in range(2):
            if y.dtype.kind == "i":
                level = np.log(np.sum(np.exp(theta[leaf])))
                losses[leaf] += level - theta[leaf][y[:, k]]
            else:
                losses[leaf] += (theta[leaf] - y[:, k]) ** 2
    bound = np.maximum(losses[0] - score, losses[1] + score) - np.abs(score)
    loss = np.where(score < 0, losses[0], losses[1])
    branch = losses[0] - score >= losses[1] + score
    factor = weight * (np.where(branch, -1, 1) - np.where(score >= 0, 1, -1))
    clear = (np.abs(losses[0] - losses[1] - 2 * score) > 1e-4) & (np.abs(score) > 1e-4)
    return np.average(bound, weights=weight), np.average(loss, weights=weight), factor, clear


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_judgement_agrees_with_the_equations(kind, seed):
    _, X, y, weight, stump = draw_stump(seed, kind)
    surrogate, loss, factor = stump.judge()
    expected = judge_slowly(X, y, weight, stump)
    np.testing.assert_allclose(surrogate, expected[0], rtol=1e-4, atol=1e-4)
    if expected[3].all():
        np.testing.assert_allclose(loss, expected[1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(factor[expected[3]], expected[2][expected[3]])


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_bound_is_never_below_the_loss(kind, seed):
    rng, *_, stump = draw_stump(seed, kind)
    for _ in range(30):
        surrogate, loss, _ = stump.judge()
        assert surrogate >= loss
        stump.move(float(rng.random()), 0.1)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_bound_tightens_as_the_weights_grow(kind, seed):
    _, *_, stump = draw_stump(seed, kind)
    before, loss, _ = stump.judge()
    for _ in range(8):
        stump.stretch(1.5)
        surrogate, same, _ = stump.judge()
        assert same == pytest.approx(loss)
        assert surrogate <= before + 1e-5 * abs(before)
        before = surrogate


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_weights_stay_in_the_ball(kind, seed):
    _, *_, stump = draw_stump(seed, kind, nu=4.0)
    for _ in range(10):
        stump.move(0.5, 0.1)
        assert np.sum(stump.plane[0] ** 2) <= 4.0 * (1 + 1e-5)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@given(
    seed=SEEDS,
    n=st.integers(2, 400),
    batch_size=st.integers(1, 120),
    rate=st.sampled_from([0.01, 0.1, 1.0, 10.0]),
)
def test_bound_falls_over_accepted_epochs(kind, seed, n, batch_size, rate):
    rng = np.random.default_rng(seed)
    m = int(rng.choice([rng.integers(1, 20), 150]))
    X = rng.normal(size=(n, m)).astype(np.float32)
    X += rng.normal(size=m).astype(np.float32) * 10
    y = rng.integers(0, 4, n) if kind == "classes" else X[:, 0] + rng.normal(size=n)
    criterion = bind_criterion("entropy" if kind == "classes" else "squared_error", y)
    found = descend(
        Dataset(X, keep_rows=True),
        criterion,
        rng.integers(1, 4, n),
        column=m - 1,
        threshold=float(np.median(X[:, -1])),
        nu=100.0,
        rate=rate,
        n_epochs=int(rng.integers(1, 12)),
        min_steps=int(rng.integers(1, 60)),
        batch_size=batch_size,
        seed=seed % 2**31,
    )
    accepted = found["accepted"]
    assert accepted[0] == found["before"]
    assert np.all(np.diff(accepted) < 0)
    # It ends where it was accepted last, and that is what the equations say it is.
    assert found["after"] == accepted[-1]
    w, bias = found["plane"]
    score = found["rows"] @ w - bias
    if kind == "classes":
        level = np.log(np.exp(found["leaves"]).sum(axis=1, keepdims=True))
        low, high = (level - found["leaves"])[:, found["targets"]]
    else:
        low, high = (found["leaves"] - found["targets"]) ** 2
    bound = np.maximum(low - score, high + score) - np.abs(score)
    np.testing.assert_allclose(
        accepted[-1], np.average(bound, weights=found["weight"]), rtol=1e-4, atol=1e-4
    )


def standardise_slowly(X, weight):
    """Rows whose columns all have the same variance."""
    centred = X - np.average(X.astype(float), axis=0, weights=weight)
    return centred / np.sqrt(np.average(centred**2, axis=0, weights=weight) * X.shape[1])


def scale_slowly(X, weight):
    """Rows of classes as the stump sees them."""
    centred = X - np.average(X.astype(float), axis=0, weights=weight)
    variance = np.average(centred**2, axis=0, weights=weight)
    # A column that hardly varies counts as if it had a tenth of the others' spread.
    root = (variance / variance.mean() + 0.01) ** 0.25
    centred = centred / root if X.shape[1] > 128 else centred * root
    return centred / np.sqrt(np.average(np.sum(centred**2, axis=1), weights=weight))


def draw_digits(rng, n, m):
    """Whole numbers 0 to 15, all in every column, some of them rare."""
    X = np.floor(16 * rng.beta(rng.uniform(0.2, 3, m), rng.uniform(0.2, 3, m), (n, m)))
    X[:16] = np.arange(16)[:, None]
    return X.astype(np.float32)


def load_rows(X, y, weight, seed=0):
    """The rows of a node, in the order they have, since one batch holds them."""
    criterion = bind_criterion("squared_error" if y.dtype.kind == "f" else "entropy", y)
    plan = {"nu": 100.0, "rate": 1.0, "n_epochs": 1, "min_steps": 1, "batch_size": len(y)}
    start = {"column": 0, "threshold": float(np.median(X[:, 0]))}
    found = descend(Dataset(X, keep_rows=True), criterion, weight, seed=seed, **start, **plan)
    return found["rows"]


@pytest.mark.parametrize("m", [5, 150])
def test_rows_are_centred_and_scaled(m):
    """Columns of one unit keep a fraction of their spread, another one where there are many."""
    rng = np.random.default_rng(0)
    X, y, weight = draw_digits(rng, 400, m), rng.integers(0, 3, 400), rng.integers(1, 4, 400)
    expected = scale_slowly(X, weight)
    for seed in range(4):
        rows = load_rows(X, y, weight, seed)
        np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("m", [5, 150])
def test_columns_of_different_units(m):
    """Each is scaled by itself, so that it does not matter in which unit it comes."""
    rng = np.random.default_rng(0)
    X = (draw_digits(rng, 400, m) * np.exp2(rng.integers(-9, 9, m))).astype(np.float32)
    y, weight = rng.integers(0, 3, 400), rng.integers(1, 4, 400)
    expected = standardise_slowly(X, weight)
    np.testing.assert_allclose(load_rows(X, y, weight), expected, rtol=1e-4, atol=1e-5)


def test_rows_of_numbers_are_standardised():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(100, 6)) * np.exp2(rng.integers(-9, 9, 6))).astype(np.float32)
    weight = rng.integers(1, 4, 100)
    rows = load_rows(X, rng.normal(size=100), weight)
    np.testing.assert_allclose(rows, standardise_slowly(X, weight), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("n_columns", "values", "kind", "nu"),
    [
        (2, "many", "classes", 100.0),
        (16, "many", "classes", 100.0),
        (36, "many", "classes", 100.0 / 1.5**3),
        (128, "many", "classes", 20.0),
        (144, "many", "classes", 100.0 / 3.0),
        (36, "two", "classes", 100.0),
        (36, "many", "numbers", 100.0),
    ],
)
def test_radius_depends_on_the_columns_of_a_node(n_columns, values, kind, nu):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, n_columns)).astype(np.float32)
    y = rng.integers(0, 2, 50)
    criterion = bind_criterion("entropy" if kind == "classes" else "squared_error", y)
    data = Dataset(X if values == "many" else np.sign(X), keep_rows=True)
    assert find_nu(data, criterion) == pytest.approx(nu)


@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=5)
def test_descent_gets_somewhere(seed):
    """Rows that a plane, but no axis, divides: the bound falls to a fraction of its start."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    criterion = bind_criterion("entropy", (X.sum(axis=1) > 0).astype(int))
    plan = {"nu": 100.0, "rate": 1.0, "n_epochs": 5, "min_steps": 80, "batch_size": 100}
    data = Dataset(X, keep_rows=True)
    found = descend(data, criterion, np.ones(300), column=0, threshold=0.0, seed=seed, **plan)
    assert found["after"] < 0.5 * found["before"]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=SEEDS)
def test_start_is_shortened_and_stays_the_same_plane(kind, seed):
    _, *_, stump = draw_stump(seed, kind)
    stump.stretch(50.0)
    w, bias = stump.plane
    before, loss, _ = stump.judge()
    stump.shorten(0.01)
    shorter, shorter_bias = stump.plane
    shrink = shorter @ w / (w @ w)
    assert 0.01 - 1e-4 <= shrink <= 1.0 + 1e-4
    np.testing.assert_allclose(shorter, shrink * w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(shorter_bias, shrink * bias, rtol=1e-4, atol=1e-5)
    surrogate, same, _ = stump.judge()
    # The plane is the same one, seen through a bound that is no tighter.
    assert same == pytest.approx(loss)
    assert surrogate >= before - 1e-5 * abs(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_short_steps_go_down(kind, seed):
    _, *_, stump = draw_stump(seed, kind)
    begin = stump.judge()[0]
    for _ in range(60):
        stump.move(0.01, 0.01)
    assert stump.judge()[0] <= begin + 1e-4
