"""Loss-augmented inference and steps down the bound, against brute force over all codes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.testing.probe_descent import DescentProbe


def grow_links(rng, n_splits):
    """Children of a random tree: split nodes, or ~leaf; parents come first."""
    child = np.empty((n_splits, 2), dtype=np.int32)
    open_ends = [(0, 0), (0, 1)]
    for node in range(1, n_splits):
        up, side = open_ends.pop(rng.integers(len(open_ends)))
        child[up, side] = node
        open_ends += [(node, 0), (node, 1)]
    for leaf, (up, side) in enumerate(open_ends):
        child[up, side] = ~leaf
    return child


class Setting:
    """A random tree on random rows, and what NumPy says about it."""

    def __init__(self, seed, n_splits, regression, n=12):
        rng = np.random.default_rng(seed)
        self.regression = regression
        self.child = grow_links(rng, n_splits)
        X = rng.normal(size=(n, 5))
        n_slots = int(rng.integers(1, 4)) if regression else int(rng.integers(2, 5))
        if regression:
            self.y = rng.normal(size=(n, n_slots))
        else:
            self.y = rng.integers(0, n_slots, n)
        self.weight = rng.integers(1, 4, n).astype(float)
        self.probe = DescentProbe(X, self.y, self.weight, self.child, n_slots)
        self.probe.planes = rng.normal(size=(n_splits, 6)) * 10 ** rng.uniform(-1, 1)
        self.probe.leaves = rng.normal(size=(n_splits + 1, n_slots)) * 2

    def follow(self, code):
        """The leaf that a code of -1 and +1 leads to."""
        at = 0
        while at >= 0:
            at = self.child[at, int(code[at] > 0)]
        return ~at

    def compute_losses(self, row):
        theta = self.probe.leaves.astype(float)
        if self.regression:
            return ((theta - self.y[row]) ** 2).sum(axis=1)
        return np.log(np.exp(theta).sum(axis=1)) - theta[:, self.y[row]]

    def compute_scores(self, row, scale=1.0):
        return scale * (self.probe.planes.astype(float) @ self.probe.scaled[row])

    def list_codes(self, row, full):
        own = np.where(self.compute_scores(row) > 0, 1, -1)
        if full:
            return own, [np.array(code) for code in product([-1, 1], repeat=len(own))]
        flipped = [own * np.where(np.arange(len(own)) == k, -1, 1) for k in range(len(own))]
        return own, [own, *flipped]

    def compute_bound(self, row, full, scale=1.0, assigned=None):
        """Equations 7, 13 and 14, term by term."""
        scores, losses = self.compute_scores(row, scale), self.compute_losses(row)
        own, codes = self.list_codes(row, full)
        most = max(code @ scores + losses[self.follow(code)] for code in codes)
        if assigned is None:
            return most - own @ scores
        _, all_codes = self.list_codes(row, full=True)
        return most - max(c @ scores for c in all_codes if self.follow(c) == assigned)


def draw_settings(max_splits):
    return st.builds(Setting, st.integers(0, 2**32 - 1), st.integers(1, max_splits), st.booleans())


settings_drawn = draw_settings(6)
small_settings = draw_settings(4)


@given(setting=settings_drawn, full=st.booleans())
def test_the_code_found_is_the_worst_of_all(setting, full):
    for row in range(6):
        (own_leaf, loss), (leaf, bound), flipped = setting.probe.infer(row, full)
        own, _ = setting.list_codes(row, full)
        losses = setting.compute_losses(row)
        assert own_leaf == setting.follow(own)
        assert loss == pytest.approx(losses[own_leaf], rel=1e-4, abs=1e-5)
        expected = setting.compute_bound(row, full)
        assert bound == pytest.approx(expected, rel=1e-4, abs=1e-4)
        # The nodes it turns lead to its leaf, at the price that the bound has paid.
        code = own.copy()
        code[flipped] *= -1
        assert setting.follow(code) == leaf
        price = 2 * np.abs(setting.compute_scores(row)[flipped]).sum()
        assert losses[leaf] - price == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert len(flipped) <= (len(own) if full else 1)


@given(setting=settings_drawn)
def test_the_bound_is_never_below_the_loss(setting):
    for row in range(6):
        (_, loss), (_, fast), _ = setting.probe.infer(row, False)
        _, (_, full), _ = setting.probe.infer(row, True)
        assert loss <= fast
        assert fast <= full


@given(setting=settings_drawn, factor=st.floats(1.1, 20))
def test_the_bound_tightens_with_the_scale_of_the_planes(setting, factor):
    before = [setting.probe.infer(row, full)[1][1] for row in range(6) for full in (False, True)]
    setting.probe.planes = setting.probe.planes * factor
    after = [setting.probe.infer(row, full)[1][1] for row in range(6) for full in (False, True)]
    assert (np.array(after) <= np.array(before) + 1e-4).all()


@given(setting=small_settings, full=st.booleans(), held=st.booleans())
def test_a_step_goes_down_the_gradient_of_the_bound(setting, full, held):
    rows = np.arange(8)
    assigned = None
    if held:
        rng = np.random.default_rng(0)
        assigned = rng.integers(0, len(setting.child) + 1, len(setting.y))

    def sum_bounds():
        return sum(
            setting.weight[row]
            * setting.compute_bound(row, full, assigned=None if assigned is None else assigned[row])
            for row in rows
        )

    start = setting.probe.planes.astype(float)
    theta = setting.probe.leaves
    gradient = np.zeros_like(start)
    total = sum_bounds()
    for at in np.ndindex(*start.shape):
        sides = []
        for step in (1e-4, -1e-4):
            moved = start.copy()
            moved[at] += step
            setting.probe.planes = moved
            sides.append(sum_bounds())
        if not np.isclose(sides[0] - total, total - sides[1], atol=1e-6, rtol=1e-2):
            return  # a kink: there is no gradient here
        gradient[at] = (sides[0] - sides[1]) / 2e-4
    setting.probe.planes = start
    found = setting.probe.step(rows, 1.0, 0.0, full, assigned=assigned)
    assert found == pytest.approx(total, rel=1e-3, abs=1e-3)
    np.testing.assert_array_equal(setting.probe.leaves, theta)
    moved = start - setting.probe.planes
    np.testing.assert_allclose(moved * len(rows), gradient, rtol=0.05, atol=0.1)


def test_planes_that_are_pulled_at_stay_in_their_ball():
    setting = Setting(3, 6, False)
    rows = np.arange(12)
    pulled = {node for row in rows for node in setting.probe.infer(row, True)[2]}
    before = setting.probe.planes
    assert pulled
    assert (before[list(pulled)] ** 2).sum(axis=1).max() > 2.0
    setting.probe.step(rows, 0.5, 0.0, True, momentum=0.9, nu=2.0)
    for node, plane in enumerate(setting.probe.planes):
        if node in pulled:
            assert plane @ plane <= 2.0 * 1.0001
        else:
            np.testing.assert_array_equal(plane, before[node])


def test_leaves_move_towards_their_rows():
    setting = Setting(5, 1, True)
    before = setting.probe.leaves
    leaf_of = [setting.probe.infer(row, False)[1][0] for row in range(12)]
    setting.probe.step(np.arange(12), 0.0, 0.1)
    expected = before.astype(float)
    for leaf in range(2):
        of_leaf = np.array(leaf_of) == leaf
        slope = setting.weight[of_leaf, None] * (before[leaf] - setting.y[of_leaf])
        expected[leaf] -= 0.1 * 2 * slope.sum(axis=0) / 12
    np.testing.assert_allclose(setting.probe.leaves, expected, rtol=1e-4, atol=1e-5)
