"""Density forests."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import PolynomialFeatures

from obtree import DensityForest, load_model, save_model
from obtree.estimators.density_samples import unpack_factors
from obtree.splitter import AxisSplitter, RotationSplitter
from obtree.testing.growth import find_differences

MOONS = make_moons(400, noise=0.15, random_state=0)[0]
FAR = MOONS + np.array([1e6, -1e7])
PLAIN = DensityForest(10, splitter="axis", truncate=True, random_state=0).fit(MOONS)
OBLIQUE = DensityForest(10, splitter="random_oblique", truncate=True, random_state=0).fit(MOONS)
FOREST = {"axis": PLAIN, "random_oblique": OBLIQUE}
# Its leaves overlap.
SMOOTH = DensityForest(10, splitter="axis", random_state=0).fit(MOONS)


def draw_gaussian(n, d, seed=0):
    covariance = 0.9 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return np.random.default_rng(seed).multivariate_normal(np.zeros(d), covariance, n), covariance


def make_grid(low, high, n):
    side = low + (np.arange(n) + 0.5) * (high - low) / n
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2), ((high - low) / n) ** 2


@pytest.mark.parametrize("splitter", FOREST)
def test_the_density_is_that_of_the_leaf_of_each_tree(splitter):
    forest = FOREST[splitter]
    X = MOONS[:50].astype(np.float32)
    values = np.empty((10, 50))
    for t, (member, leaf) in enumerate(zip(forest.estimators_, forest.apply(X).T, strict=True)):
        tree = member.tree_
        factors = unpack_factors(tree.leaf_factor, 2)
        for i, node in enumerate(leaf):
            gaussian = multivariate_normal(tree.leaf_mean[node], factors[node] @ factors[node].T)
            values[t, i] = tree.leaf_log_weight[node] + gaussian.logpdf(X[i])
        np.testing.assert_allclose(tree.shifted.leaf_mean, tree.leaf_mean)
    expected = logsumexp(values, axis=0) - np.log(10)
    np.testing.assert_allclose(forest.score_samples(X), expected, rtol=1e-9)
    assert forest.score(X) == pytest.approx(expected.mean())


@pytest.mark.parametrize("splitter", FOREST)
def test_the_integral_is_one(splitter):
    grid, cell = make_grid(-5, 6, 500)
    density = np.exp(FOREST[splitter].score_samples(grid))
    assert density.sum() * cell == pytest.approx(1.0, abs=0.01)
    assert np.mean([m.tree_.leaf_mass.max() for m in FOREST[splitter].estimators_]) < 1


@pytest.mark.parametrize("truncate", ["auto", False])
def test_without_cells_it_is_a_mixture(truncate):
    forest = DensityForest(5, truncate=truncate, random_state=0).fit(MOONS)
    assert forest.stop_rule_.is_refined
    grid, cell = make_grid(-5, 6, 400)
    density = np.exp(forest.score_samples(grid))
    assert density.sum() * cell == pytest.approx(1.0, abs=1e-3)
    expected = np.zeros(20)
    for member in forest.estimators_:
        tree = member.tree_
        factors = unpack_factors(tree.leaf_factor, 2)
        for node in np.flatnonzero(tree.children_left < 0):
            gaussian = multivariate_normal(tree.leaf_mean[node], factors[node] @ factors[node].T)
            expected += (
                np.exp(tree.leaf_log_weight[node]) * gaussian.pdf(grid[:20].astype(np.float32)) / 5
            )
    np.testing.assert_allclose(density[:20], expected, rtol=1e-9)
    assert forest.sample(30, random_state=0).shape == (30, 2)
    line = np.column_stack([np.full(4001, 0.4), np.linspace(-6, 7, 4001)])
    marginal = np.exp(forest.score_samples([[0.4, np.nan]])[0])
    whole = np.exp(forest.score_samples(line)).sum() * 13 / 4000
    assert marginal == pytest.approx(whole, rel=1e-3)


def test_leaves_overlap_where_that_is_better():
    fresh = make_moons(2000, noise=0.15, random_state=1)[0]
    assert SMOOTH.score(fresh) > PLAIN.score(fresh) + 0.05
    # Where columns have few different values, leaves had better end between them.
    steps = np.round(np.random.default_rng(0).exponential(size=(600, 4)))
    assert not DensityForest(10, splitter="axis", random_state=0).fit(steps).stop_rule_.is_refined


@pytest.mark.parametrize("splitter", FOREST)
def test_a_single_gaussian_stays_one_leaf(splitter):
    X, covariance = draw_gaussian(600, 4)
    forest = DensityForest(10, splitter=splitter, random_state=0).fit(X)
    assert np.mean([member.tree_.node_count for member in forest.estimators_]) < 2
    fresh, _ = draw_gaussian(2000, 4, seed=1)
    truth = multivariate_normal(np.zeros(4), covariance).logpdf(fresh).mean()
    assert truth - 0.05 < forest.score(fresh) < truth


def test_heaps_are_told_apart():
    assert (
        PLAIN.score(MOONS)
        > multivariate_normal(MOONS.mean(0), np.cov(MOONS.T)).logpdf(MOONS).mean() + 0.5
    )


@pytest.mark.parametrize("splitter", FOREST)
def test_samples_have_the_density(splitter):
    forest = FOREST[splitter]
    sample = forest.sample(3000, random_state=0)
    np.testing.assert_array_equal(sample, forest.sample(3000, random_state=0))
    grid, _ = make_grid(-3, 4, 300)
    density = np.exp(forest.score_samples(grid))
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(grid), size=3000, p=density / density.sum())
    other = grid[drawn] + rng.uniform(-3.5 / 300, 3.5 / 300, (3000, 2))
    X = PolynomialFeatures(4).fit_transform(np.vstack([sample, other]))
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    accuracy = cross_val_score(LogisticRegression(), X, np.repeat([0, 1], 3000), cv=5).mean()
    assert accuracy < 0.52


def test_marginals_of_a_gaussian():
    X, covariance = draw_gaussian(3000, 3)
    forest = DensityForest(2, min_samples_leaf=1500, max_depth=1, max_samples=1000).fit(X)
    rows = X[:20].copy()
    rows[:10, 1] = np.nan
    rows[10:, [0, 2]] = np.nan
    first = multivariate_normal(np.zeros(2), covariance[np.ix_([0, 2], [0, 2])])
    expected = np.append(
        first.logpdf(rows[:10][:, [0, 2]]), multivariate_normal(0, 1).logpdf(rows[10:, 1])
    )
    np.testing.assert_allclose(forest.score_samples(rows), expected, atol=0.25)
    np.testing.assert_allclose(forest.score_samples(np.full((2, 3), np.nan)), 0.0, atol=0.01)
    # Conditionals are regressions.
    log_density, mean = forest.conditional(X[:10], [1])
    slope = np.linalg.solve(covariance[np.ix_([0, 2], [0, 2])], covariance[[0, 2], 1])
    np.testing.assert_allclose(mean[:, 0], X[:10][:, [0, 2]] @ slope, atol=0.1)
    rest = 1 - covariance[1, [0, 2]] @ slope
    expected = multivariate_normal(0, rest).logpdf(X[:10, 1] - X[:10][:, [0, 2]] @ slope)
    np.testing.assert_allclose(log_density, expected, atol=0.2)


@pytest.mark.parametrize("splitter", FOREST)
def test_marginals_are_integrals(splitter):
    forest = FOREST[splitter]
    x = np.linspace(-6, 7, 4001)
    for fixed in (-0.5, 0.4, 1.5):
        line = np.column_stack([np.full(4001, fixed), x])
        density = np.exp(forest.score_samples(line))
        whole = density.sum() * (x[1] - x[0])
        marginal = np.exp(forest.score_samples([[fixed, np.nan]])[0])
        assert marginal == pytest.approx(whole, rel=0.03)
        log_density, mean = forest.conditional(line, columns=1)
        assert np.exp(log_density).sum() * (x[1] - x[0]) == pytest.approx(1.0, abs=0.03)
        assert (mean == mean[0]).all()
        assert mean[0, 0] == pytest.approx(density @ x / density.sum(), abs=0.05)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1), st.booleans())
def test_conditionals_integrate_to_one(seed, column, truncate):
    X = make_moons(150, noise=0.2, random_state=seed)[0]
    forest = DensityForest(4, truncate=truncate, random_state=seed).fit(X)
    x = np.linspace(-10, 10, 4001)
    line = np.empty((4001, 2))
    line[:, column], line[:, 1 - column] = x, X[0, 1 - column]
    log_density, _ = forest.conditional(line, [column])
    assert np.exp(log_density).sum() * 0.005 == pytest.approx(1.0, abs=0.08)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000), st.integers(-8, 8), st.integers(-100, 100))
def test_units_change_the_density_by_the_jacobian(seed, exponent, shift):
    X = (np.random.default_rng(seed).integers(-64, 64, size=(80, 3)) / 16).astype(np.float32)
    X[:40] += 8
    moved = X * np.float32([1, 2.0**exponent, 1]) + np.float32([0, 0, shift])
    options = {"max_features": None, "random_state": seed}
    one = DensityForest(4, **options).fit(X)
    other = DensityForest(4, **options).fit(moved)
    assert one.stop_rule_ == other.stop_rule_
    expected = one.score_samples(X) - exponent * np.log(2)
    np.testing.assert_allclose(other.score_samples(moved), expected, atol=0.02)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_a_weight_of_two_is_two_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)) + rng.choice([0, 6], size=(60, 1))
    weight = rng.integers(0, 4, 60)
    options = {
        "max_samples": None,
        "max_features": None,
        "min_samples_leaf": 1,
        "max_depth": 1,
        "random_state": 0,
    }
    one = DensityForest(2, **options).fit(X, sample_weight=weight)
    other = DensityForest(2, **options).fit(np.repeat(X, weight, axis=0))
    absent = DensityForest(2, **options).fit(X[weight > 0], sample_weight=weight[weight > 0])
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), atol=1e-2)
    np.testing.assert_array_equal(one.score_samples(X), absent.score_samples(X))


def test_the_scale_of_weights_does_not_matter():
    weight = np.random.default_rng(0).integers(1, 4, len(MOONS)).astype(float)
    one = DensityForest(3, random_state=0).fit(MOONS, sample_weight=weight)
    other = DensityForest(3, random_state=0).fit(MOONS, sample_weight=weight * 8)
    np.testing.assert_array_equal(one.score_samples(MOONS), other.score_samples(MOONS))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(n_jobs):
    params = PLAIN.get_params() | {"n_jobs": n_jobs}
    other = DensityForest(**params).fit(MOONS)
    for one, two in zip(PLAIN.estimators_, other.estimators_, strict=True):
        assert not find_differences(one.tree_, two.tree_)
    rows = MOONS.copy()
    rows[::200, 0] = np.nan
    np.testing.assert_array_equal(PLAIN.score_samples(rows), other.score_samples(rows))
    assert other.stop_rule_ == PLAIN.stop_rule_
    other = DensityForest(10, splitter="axis", random_state=0, n_jobs=n_jobs).fit(MOONS)
    np.testing.assert_array_equal(SMOOTH.score_samples(rows), other.score_samples(rows))


def test_rows_with_missing_values():
    X, _ = draw_gaussian(800, 3)
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    forest = DensityForest(10, random_state=0).fit(holes)
    fresh, covariance = draw_gaussian(1000, 3, seed=2)
    truth = multivariate_normal(np.zeros(3), covariance).logpdf(fresh).mean()
    assert forest.score(fresh) > truth - 0.1
    assert np.isfinite(forest.score_samples(holes[:10])).all()
    holes[:, 1] = np.nan
    assert np.isfinite(DensityForest(2, random_state=0).fit(holes).score_samples(fresh)).all()


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 3)),
        np.ones((30, 2)),
        [[1.0, 2.0], [3.0, 4.0]],
        np.random.default_rng(0).normal(size=(6, 9)),
        np.repeat(np.random.default_rng(0).normal(size=(50, 1)), 3, axis=1),
        np.hstack([np.random.default_rng(0).normal(size=(50, 1)), np.full((50, 1), 7.0)]),
        np.random.default_rng(0).normal(size=(40, 2)) * [1e-20, 1e20] + [0, 1e22],
    ],
    ids=["one row", "equal rows", "two rows", "wide", "duplicated", "constant", "units"],
)
@pytest.mark.parametrize("truncate", [True, False, "auto"])
def test_poor_data(X, truncate):
    forest = DensityForest(3, truncate=truncate, random_state=0).fit(X)
    assert np.isfinite(forest.score_samples(X)).all()
    assert np.isfinite(forest.sample(5, random_state=0)).all()
    assert np.isfinite(forest.conditional(X, [0])[1]).all()


def test_far_from_zero():
    forest = DensityForest(10, splitter="axis", truncate=True, random_state=0).fit(FAR)
    np.testing.assert_allclose(forest.score_samples(FAR), PLAIN.score_samples(MOONS), atol=0.05)
    assert np.abs(forest.sample(50, random_state=0) - FAR[0]).max() < 10
    _, mean = forest.conditional([[1e6, np.nan]], [1])
    assert abs(mean[0, 0] + 1e7) < 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"truncate": "yes"}, "truncate"),
        ({"shrinkage": -1.0}, "shrinkage"),
        ({"max_samples": 1.5}, "max_samples"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"max_depth": 0}, "max_depth"),
        ({"splitter": "oak"}, "splitter"),
        ({"splitter": "co2"}, "expected targets"),
    ],
)
def test_parameters_that_are_refused(options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        DensityForest(**{"n_estimators": 2, **options}).fit(MOONS)


def test_data_that_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        DensityForest(2).fit([[np.inf], [0.0]])
    with pytest.raises(TypeError, match="sparse"):
        DensityForest(2).fit(csr_matrix(MOONS))
    with pytest.raises(ValueError, match="300 columns; expected at most 256"):
        DensityForest(2).fit(np.ones((3, 300)))
    with pytest.raises(NotFittedError):
        DensityForest().score_samples(MOONS)
    with pytest.raises(ValueError, match="n_samples=0"):
        PLAIN.sample(0)
    with pytest.raises(ValueError, match="infinity"):
        PLAIN.score_samples([[np.inf, 0.0]])


def test_conditions_that_are_refused():
    with pytest.raises(ValueError, match=r"columns=2"):
        PLAIN.conditional(MOONS, [2])
    with pytest.raises(ValueError, match="twice"):
        PLAIN.conditional(MOONS, [0, 0])
    with pytest.raises(ValueError, match="expected from 1 to 2 columns"):
        PLAIN.conditional(MOONS, [])
    with pytest.raises(ValueError, match="'a', which is not a column"):
        PLAIN.conditional(MOONS, ["a"])
    with pytest.raises(ValueError, match=r"meets the condition x\[0\] = 1e\+30 of row 1"):
        PLAIN.conditional([[0.0, np.nan], [1e30, np.nan]], [1])


def test_the_better_splitter_is_chosen():
    rng = np.random.default_rng(0)
    steps = np.round(rng.exponential(size=(600, 4)))  # what one column has is seen by cuts of it
    assert DensityForest(20, random_state=0).fit(steps).splitter_ == "axis"
    turned = rng.normal(size=(600, 1)) @ [[1.0, 1.0]] + rng.choice([-1, 1], (600, 1)) * [[2, -2]]
    turned += rng.normal(size=(600, 2)) * 0.1
    forest = DensityForest(20, random_state=0).fit(turned)
    # Its principal component is the one direction that matters.
    assert forest.splitter_ == "RotationSplitter"
    # It is the forest that this splitter gives.
    rotated = RotationSplitter(AxisSplitter(), group_size=64)
    alone = DensityForest(20, splitter=rotated, random_state=0).fit(turned)
    np.testing.assert_array_equal(alone.score_samples(turned), forest.score_samples(turned))


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MOONS, columns=["a", "b"])
    forest = DensityForest(3, random_state=0).fit(frame)
    few = frame[:5]
    one, other = forest.conditional(few, ["b"]), forest.conditional(few, [1])
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("copy", ["file", "pickle"])
def test_a_saved_forest_is_the_same(copy, tmp_path):
    for forest in (PLAIN, OBLIQUE, SMOOTH, DensityForest(2, random_state=0).fit(MOONS + 1e6)):
        if copy == "file":
            save_model(forest, tmp_path / "model")
            same = load_model(tmp_path / "model")
        else:
            same = pickle.loads(pickle.dumps(forest))
        assert same.get_params() == forest.get_params()
        assert same.stop_rule_ == forest.stop_rule_
        rows = MOONS[:20].copy()
        rows[0, 1] = np.nan
        np.testing.assert_array_equal(same.score_samples(rows), forest.score_samples(rows))
        np.testing.assert_array_equal(same.sample(9, 1), forest.sample(9, 1))


def tamper(forest, **changes):
    """The forest with arrays of its first tree changed, behind everybody's back."""
    other = pickle.loads(pickle.dumps(forest))
    tree = other.estimators_[0].tree_
    for name, change in changes.items():
        array = getattr(tree, name).copy()
        change(array)
        setattr(tree, name, array)
    return other


def damage_factor(array):
    array[...] = -1.0


def damage_mean(array):
    array[...] = np.nan


def damage_mass(array):
    array[...] = 2.0


def damage_weight(array):
    array[...] += 0.5


def halve(array):
    array[...] *= 0.5


def double(array):
    array[...] += np.log(2.0)


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("leaf_factor", damage_factor, "positive diagonal"),
        ("leaf_mean", damage_mean, "finite"),
        ("leaf_mass", damage_mass, "from 0 to 1"),
        ("leaf_log_weight", lambda array: array.fill(800.0), "within 700"),
    ],
)
def test_numbers_that_no_leaf_has(name, change, text, tmp_path):
    other = tamper(PLAIN, **{name: change})
    save_model(other, tmp_path / "model")
    with pytest.raises(ValueError, match=text):
        load_model(tmp_path / "model")
    with pytest.raises(ValueError, match=text):
        pickle.loads(pickle.dumps(other))


def test_a_density_that_is_none(tmp_path):
    for forest, change, text in (
        (PLAIN, {"leaf_log_weight": damage_weight}, r"integrates to 1\.6"),
        (SMOOTH, {"leaf_mass": halve, "leaf_log_weight": double}, "integrates to 2"),
    ):
        save_model(tamper(forest, **change), tmp_path / "model")
        with pytest.raises(ValueError, match=text):
            load_model(tmp_path / "model")


@pytest.mark.parametrize(
    "rule",
    [
        [1.0, 2.0],
        [1, 2.0, 1.0, True],
        [-1.0, 2.0, 1.0, True],
        [1.0, 2.0, 3.0, True],
        [1.0, 2.0, 1.0, True, 0.0],
        [1.0, 2.0, 1.0, True, False, False],
        "no",
    ],
)
def test_rules_that_are_none(rule, tmp_path):
    other = pickle.loads(pickle.dumps(PLAIN))
    other._describe_extras = lambda: ({"stop_rule": rule, "splitter": "axis"}, {})
    save_model(other, tmp_path / "model")
    with pytest.raises(ValueError, match="stop_rule"):
        load_model(tmp_path / "model")


def test_rules_of_earlier_files(tmp_path):
    other = pickle.loads(pickle.dumps(PLAIN))
    other._describe_extras = lambda: (
        {"stop_rule": list(PLAIN.stop_rule_)[:4], "splitter": "axis"},
        {},
    )
    save_model(other, tmp_path / "model")
    assert load_model(tmp_path / "model").stop_rule_ == PLAIN.stop_rule_
