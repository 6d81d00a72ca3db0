"""The best plane on a line against trying every plane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.criterion.registry import CLASSIFICATION
from obtree.testing.criterion_node import add_column, find_steps, scan_flips
from obtree.testing.growth import bind_criterion
from obtree.testing.reference import RATED, list_flips

CRITERIA = list(RATED)


class Line:
    """A random node, distances from a plane, and a column to add to them."""

    def __init__(self, name, seed, n, n_outputs=1, whole=False, rough=False, n_classes=3):
        rng = np.random.default_rng(seed)
        self.name = name
        self.rows = np.sort(rng.choice(2 * n, n, replace=False))
        self.n_classes = None
        if name in CLASSIFICATION:
            self.n_classes = [n_classes] * n_outputs
            self.y = rng.integers(0, n_classes, (2 * n, n_outputs))
        else:
            self.y = rng.gamma(1.0, size=(2 * n, n_outputs))
        self.weight = rng.random(2 * n) + 0.05
        if whole:
            self.weight = rng.integers(1, 4, 2 * n).astype(float)
        self.score = rng.normal(size=n)
        self.x = rng.normal(size=n).astype(np.float32)
        if rough:  # zeros, and rows that change sides together
            self.score = np.round(self.score)
            self.x = np.round(self.x)

    def scan(self, **limits):
        criterion = bind_criterion(self.name, self.y, self.n_classes)
        return scan_flips(criterion, self.rows, self.weight, self.score, self.x, **limits)

    def check(self, **limits):
        found = self.scan(**limits)
        y, w = self.y[self.rows], self.weight[self.rows]
        planes = list_flips(self.name, self.score, self.x, y, w, self.n_classes, **limits)
        if not planes:
            assert found is None
            return
        best = max(quality for quality, *_ in planes)
        quality = {(low, high): quality for quality, low, high in planes}[found[1:]]
        assert quality >= best - 1e-11 * max(abs(best), w.sum())


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    n_outputs=st.integers(1, 2),
    whole=st.booleans(),
    rough=st.booleans(),
)
def test_best_of_all_planes(name, seed, n, n_outputs, whole, rough):
    Line(name, seed, n, n_outputs, whole, rough).check()


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    min_samples_leaf=st.integers(1, 8),
    min_fraction=st.sampled_from([0.0, 0.1, 0.35]),
)
def test_leaf_limits(name, seed, n, min_samples_leaf, min_fraction):
    line = Line(name, seed, n)
    total = line.weight[line.rows].sum()
    line.check(min_samples_leaf=min_samples_leaf, min_weight_leaf=min_fraction * total + 1e-7)


@pytest.mark.parametrize("n_classes", [1, 2, 9, 26])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_any_number_of_classes(name, n_classes):
    for seed in range(4):
        for whole in (True, False):
            Line(name, seed, 60, 1, whole, n_classes=n_classes).check()


@pytest.mark.parametrize("largest", [65535, 65536, 2**40])
def test_weights_beyond_what_a_word_holds(largest):
    for seed in range(5):
        line = Line("gini", seed, 40, whole=True)
        line.weight[line.rows[::7]] = largest
        line.check()


@pytest.mark.parametrize("name", CRITERIA)
def test_only_a_better_plane_replaces_the_best(name):
    line = Line(name, 3, 30)
    score = line.scan()[0]
    assert line.scan(best_score=score) is None
    assert line.scan(best_score=score - 1e-6 * abs(score) - 1e-9) == line.scan()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 600), step=st.floats(-10, 10))
def test_steps_and_sums(seed, n, step):
    rng = np.random.default_rng(seed)
    score = np.where(rng.random(n) < 0.2, 0.0, rng.normal(size=n)) * rng.choice([-1.0, 1.0], n)
    x = np.where(rng.random(n) < 0.3, 0.0, rng.normal(size=n)).astype(np.float32)
    token = rng.integers(0, 2**31, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (-(score + 0.0) / x.astype(float)).astype(np.float32)
    kept = np.isfinite(expected)
    steps, halves, n_down = find_steps(score, x, token)
    assert steps.tobytes() == expected[kept].tobytes()
    np.testing.assert_array_equal(halves, 2 * token[kept] + (score[kept] < 0))
    assert n_down == np.signbit(expected[kept]).sum()
    np.testing.assert_array_equal(add_column(score, x, step), score + step * x.astype(float))


def test_rows_without_a_finite_step_stay():
    tiny = np.float32(1e-45)
    steps, halves, n_down = find_steps([1.0, -1.0, 1e300, 1.0], [0.0, tiny, 1.0, 2.0], [0, 1, 2, 3])
    assert steps.tolist() == [-0.5]
    assert halves.tolist() == [6]
    assert n_down == 1
