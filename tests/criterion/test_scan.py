"""The best cut of a direction against trying every cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.criterion.registry import CLASSIFICATION
from obtree.testing.criterion_node import NodeProbe
from obtree.testing.growth import bind_criterion
from obtree.testing.reference import RATED, list_cuts, rate_split

CRITERIA = list(RATED)
LAYOUTS = ["sorted", "above", "gathered", "column", "rows"]


class Case:
    """A random node and a random column of ranks."""

    def __init__(
        self, name, seed, n, n_outputs=1, whole=False, n_codes=None, n_classes=3, heaviest=3
    ):
        rng = np.random.default_rng(seed)
        n_samples = 2 * n
        self.name = name
        self.rows = np.sort(rng.choice(n_samples, n, replace=False))
        self.n_classes = None
        if name in CLASSIFICATION:
            self.n_classes = [n_classes] * n_outputs
            self.y = rng.integers(0, n_classes, (n_samples, n_outputs))
        else:
            self.y = rng.gamma(1.0, size=(n_samples, n_outputs))
            self.y[rng.random(n_samples) < 0.2] = 0.0
            self.y[self.rows[0]] = 1.0
        self.weight = rng.random(n_samples) + 0.05
        if whole:
            self.weight = rng.integers(1, heaviest + 1, n_samples).astype(float)
        n_codes = n_codes or n
        self.codes = rng.integers(0, n_codes, n) + rng.integers(0, 300)
        self.criterion = bind_criterion(name, self.y, self.n_classes)
        self.node = NodeProbe(self.criterion, self.rows, self.weight)
        self.args = self.y[self.rows], self.weight[self.rows], self.n_classes

    def layouts(self):
        """The ways in which this criterion can be asked."""
        return LAYOUTS[:1] if self.name == "absolute_error" else LAYOUTS

    def rate(self, low):
        return rate_split(self.name, self.args[0], self.args[1], self.codes <= low, self.args[2])

    def check(self, **limits):
        """The cut found is allowed, lies between neighbours, and none is better."""
        cuts = list_cuts(self.name, self.codes, *self.args, **limits)
        for layout in self.layouts():
            found = self.node.scan(self.codes, layout=layout, **limits)
            if not cuts:
                assert found is None, layout
                continue
            best = max(quality for quality, *_ in cuts)
            quality = {(low, high): quality for quality, low, high in cuts}[found[1:]]
            scale = max(abs(best), self.node.weight)
            assert quality >= best - 1e-11 * scale, layout


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    n_outputs=st.integers(1, 3),
    whole=st.booleans(),
    few=st.booleans(),
)
def test_best_of_all_cuts(name, seed, n, n_outputs, whole, few):
    Case(name, seed, n, n_outputs, whole, n_codes=4 if few else None).check()


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 8, 9, 26])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_any_number_of_classes(name, n_classes):
    for seed in range(5):
        for whole in (True, False):
            Case(name, seed, 60, 1, whole, n_codes=20, n_classes=n_classes).check()


@pytest.mark.parametrize("n_classes", [3, 9, 26])
# Sums of squares of 60 such rows lie on both sides of 2^31; those of 150 far above.
@pytest.mark.parametrize(("n", "heaviest"), [(150, 3), (60, 1500), (150, 60000)])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_many_rows_and_heavy_ones(name, n, heaviest, n_classes):
    for seed in range(6):
        Case(name, seed, n, 1, True, n_codes=20, n_classes=n_classes, heaviest=heaviest).check()


@pytest.mark.parametrize("n_present", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_few_of_many_classes(name, n_present):
    for seed in range(5):
        case = Case(name, seed, 60, whole=True, n_codes=20, n_classes=26)
        # Not the first classes, nor neighbours.
        case.y = 25 - 2 * (case.y % n_present)
        case.args = case.y[case.rows], *case.args[1:]
        case.criterion = bind_criterion(name, case.y, case.n_classes)
        case.node = NodeProbe(case.criterion, case.rows, case.weight)
        fraction = np.bincount(case.args[0][:, 0], case.args[1], 26) / case.args[1].sum()
        np.testing.assert_array_equal(case.node.value, fraction)
        # The second call has the rows counted in another way, which must not disturb a third.
        for limits in ({}, {"min_samples_leaf": 4}, {}):
            case.check(**limits)


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    n_outputs=st.integers(1, 2),
    min_samples_leaf=st.integers(1, 10),
    min_fraction=st.sampled_from([0.0, 0.1, 0.35]),
    few=st.booleans(),
)
def test_leaf_limits(name, seed, n, n_outputs, min_samples_leaf, min_fraction, few):
    case = Case(name, seed, n, n_outputs, n_codes=5 if few else None)
    # Between two sums of weights, not on one, where rounding decides.
    case.check(
        min_samples_leaf=min_samples_leaf, min_weight_leaf=min_fraction * case.node.weight + 1e-7
    )


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    monotone=st.sampled_from([-1, 1]),
    bounded=st.booleans(),
    min_samples_leaf=st.integers(1, 4),
)
def test_monotonic_constraints(name, seed, n, monotone, bounded, min_samples_leaf):
    case = Case(name, seed, n, n_codes=8, n_classes=2)
    limits = {}
    if bounded:
        limits = {"lower": case.node.level - 0.31, "upper": case.node.level + 0.27}
    case.check(monotone=monotone, min_samples_leaf=min_samples_leaf, **limits)


@pytest.mark.parametrize("name", CRITERIA)
def test_only_a_better_cut_replaces_the_best(name):
    case = Case(name, 3, 30)
    for layout in case.layouts():
        score = case.node.scan(case.codes, layout=layout)[0]
        assert case.node.scan(case.codes, layout=layout, best_score=score) is None
        below = score - 1e-6 * abs(score) - 1e-9
        assert case.node.scan(case.codes, layout=layout, best_score=below) is not None


@pytest.mark.parametrize("name", CRITERIA)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), n_outputs=st.integers(1, 2))
def test_sorting_and_binning_agree(name, seed, n, n_outputs):
    case = Case(name, seed, n, n_outputs, whole=True, n_codes=12)
    for layout in case.layouts()[1:]:
        expected = case.node.scan(case.codes)
        found = case.node.scan(case.codes, layout=layout)
        if expected is None:
            assert found is None
            continue
        assert found[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
        if found[1:] != expected[1:]:  # two cuts of the same worth
            assert case.rate(found[1]) == pytest.approx(case.rate(expected[1]), rel=1e-11)


@pytest.mark.parametrize("name", CRITERIA)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 20))
def test_whole_weights_equal_repeated_rows(name, seed, n):
    case = Case(name, seed, n, whole=True)
    y, weight, n_classes = case.args
    counts = weight.astype(int)
    total = counts.sum()
    repeated = NodeProbe(
        bind_criterion(name, np.repeat(y, counts, axis=0), n_classes),
        np.arange(total),
        np.ones(total),
    )
    expected = repeated.scan(np.repeat(case.codes, counts))
    found = case.node.scan(case.codes)
    if expected is None:
        assert found is None
    else:
        assert found[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
        if name == "gini":  # sums of whole numbers: not a bit differs
            assert found == expected


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_first_of_equal_cuts_wins(name, layout):
    if name == "absolute_error" and layout != "sorted":
        pytest.skip("counts nothing into bins")
    node = NodeProbe(bind_criterion(name, [1, 2, 2, 1]), np.arange(4), np.ones(4))
    assert node.scan([5, 6, 7, 8], layout=layout)[1:] == (5, 6)


@pytest.mark.parametrize("name", CRITERIA)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9), whole=st.booleans())
def test_only_a_perfect_cut_reaches_the_goal(name, seed, n, whole):
    case = Case(name, seed, n, whole=whole, n_classes=2)
    case.y[:] = 1 + (case.y > np.median(case.y))
    case.node = NodeProbe(
        bind_criterion(name, case.y, case.n_classes and [3]), case.rows, case.weight
    )
    y = case.y[case.rows, 0]
    if len(np.unique(y)) == 1:
        return
    found = case.node.scan(y.astype(int))
    assert found[0] >= case.node.goal or case.node.goal == np.inf
    found = case.node.scan(case.codes)
    if found is not None:
        left = case.codes <= found[1]
        pure = len(np.unique(y[left])) == len(np.unique(y[~left])) == 1
        assert (found[0] >= case.node.goal) == (pure and case.node.goal < np.inf)


@pytest.mark.parametrize("name", CRITERIA)
def test_constant_column_has_no_cut(name):
    case = Case(name, 0, 9)
    for layout in case.layouts():
        assert case.node.scan(np.full(9, 4), layout=layout) is None


@pytest.mark.parametrize("name", [name for name in CRITERIA if name != "absolute_error"])
def test_bins_are_clean_after_every_scan(name):
    case = Case(name, 0, 40, n_codes=30)
    for layout in case.layouts()[1:]:
        for limits in ({}, {"min_samples_leaf": 3}, {"monotone": 1}):
            first = case.node.scan(case.codes, layout=layout, **limits)
            case.node.scan(case.codes[::-1] // 2, layout=layout, **limits)
            assert case.node.scan(case.codes, layout=layout, **limits) == first


@pytest.mark.parametrize("largest", [65535, 65536, 2**31, 2**40])
def test_weights_beyond_what_a_word_holds(largest):
    # Counts of small whole weights share a word with the class; larger ones must not.
    for seed in range(10):
        case = Case("gini", seed, 40, whole=True, n_codes=15)
        case.weight[case.rows[::7]] = largest
        case.node = NodeProbe(case.criterion, case.rows, case.weight)
        case.args = case.args[0], case.weight[case.rows], case.args[2]
        case.check()


def test_poisson_leaves_a_positive_sum_on_both_sides():
    node = NodeProbe(bind_criterion("poisson", [0.0, 0.0, 1.0]), np.arange(3), np.ones(3))
    for layout in LAYOUTS:
        assert node.scan([0, 1, 2], layout=layout) is None
