"""Sets of categories against a list of all sets, and what may not matter to them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obtree import ObliqueForestRegressor, ObliqueTreeRegressor
from obtree.builder.rule import GrowthRule
from obtree.criterion.registry import make_criterion
from obtree.data.dataset import Dataset
from obtree.data.targets import Targets
from obtree.forest.grow import grow_trees
from obtree.splitter import OneCategorySplitter, resolve_splitter
from obtree.splitter.categories import CategoryRival
from obtree.tree.category_sets import list_categories

SPLITTERS = [
    "axis",
    OneCategorySplitter,
    "axis_random",
    "random_oblique",
    "two_probe",
    "conic",
    "oc1",
    "co2",
    "discriminant",
]


def grow(X, y, categorical, *, splitter="axis", criterion=None, weight=None, seed=0, **rule):
    """A tree on columns of which some are categories; integer y are classes."""
    is_class = y.dtype.kind == "i"
    y = y.reshape(len(y), -1)
    targets = Targets(
        y.astype(np.int32) if is_class else y,
        np.array([y.max() + 1] * y.shape[1]) if is_class else None,
    )
    splitter = resolve_splitter(splitter)
    dataset = Dataset(
        np.asarray(X, dtype=np.float32), keep_rows=splitter.needs_rows, categorical=categorical
    )
    (tree,) = grow_trees(
        dataset,
        targets,
        make_criterion(criterion or ("gini" if is_class else "squared_error"), targets),
        splitter,
        GrowthRule(**{"max_features": X.shape[1], **rule}),
        seeds=np.array([seed], dtype=np.uint32),
        sample_weight=weight,
    )
    return tree


def measure_loss(y, weight):
    """Weight times impurity of one side, of numbers or of two classes: the same up to a factor."""
    total = weight.sum()
    return (weight * (y - (weight * y).sum() / total) ** 2).sum() if total else 0.0


def list_losses(category, y, weight, min_samples_leaf=1):
    """Loss of every way to divide the categories, missing ones as one of them."""
    present = np.unique(category)
    losses = []
    for size in range(1, len(present)):
        for chosen in itertools.combinations(present, size):
            left = np.isin(category, chosen)
            if min(left.sum(), (~left).sum()) >= min_samples_leaf:
                sides = (measure_loss(y[s], weight[s]) for s in (left, ~left))
                losses.append(sum(sides))
    return losses


@pytest.mark.parametrize("criterion", ["squared_error", "gini", "entropy"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    k=st.integers(2, 7),
    missing=st.sampled_from([0.0, 0.2]),
    weighted=st.booleans(),
)
def test_no_set_is_better(criterion, seed, n, k, missing, weighted):
    rng = np.random.default_rng(seed)
    category = rng.permutation(50)[:k][rng.integers(0, k, n)].astype(float)
    category[rng.random(n) < missing] = np.nan
    y = rng.normal(size=n) if criterion == "squared_error" else rng.integers(0, 2, n)
    y[:2] = 0, 1
    weight = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    tree = grow(category[:, None], y, [True], criterion=criterion, weight=weight, max_depth=1)
    known = np.where(np.isnan(category), -1, category)
    losses = list_losses(known, y.astype(float), weight)
    if criterion == "entropy":
        losses = list_entropies(known, y, weight)
    if tree.node_count == 1:
        assert len(losses) == 0
        return
    leaf = tree.apply(category[:, None].astype(np.float32))
    left = leaf == tree.children_left[0]
    measure = measure_entropy if criterion == "entropy" else measure_loss
    found = sum(measure(y[side].astype(float), weight[side]) for side in (left, ~left))
    best = min(losses)
    assert found <= best + 1e-9 * max(best, 1.0)
    assert tree.n_node_samples[1:].tolist() == [left.sum(), (~left).sum()]


@pytest.mark.parametrize("criterion", ["squared_error", "gini", "absolute_error"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    k=st.integers(2, 7),
    missing=st.sampled_from([0.0, 0.2]),
    min_samples_leaf=st.integers(1, 3),
)
def test_no_single_category_is_better(criterion, seed, n, k, missing, min_samples_leaf):
    rng = np.random.default_rng(seed)
    category = rng.permutation(50)[:k][rng.integers(0, k, n)].astype(float)
    category[rng.random(n) < missing] = np.nan
    y = rng.integers(0, 3, n) if criterion == "gini" else rng.normal(size=n)
    y[:2] = 0, 1
    tree = grow(
        category[:, None],
        y,
        [True],
        splitter=OneCategorySplitter(),
        criterion=criterion,
        max_depth=1,
        min_samples_leaf=min_samples_leaf,
    )
    known = np.where(np.isnan(category), -1, category)
    sides = [known == one for one in np.unique(known)]
    sides = [s for s in sides if min(s.sum(), (~s).sum()) >= min_samples_leaf]
    if tree.node_count == 1:
        # Absolute errors need not become less.
        assert not sides or criterion == "absolute_error"
        return
    left = tree.apply(category[:, None].astype(np.float32)) == tree.children_left[0]
    assert any((left == s).all() or (left == ~s).all() for s in sides)
    found = measure_spread(criterion, y[left]) + measure_spread(criterion, y[~left])
    best = min(measure_spread(criterion, y[s]) + measure_spread(criterion, y[~s]) for s in sides)
    assert found <= best + 1e-9 * max(best, 1.0)


def measure_spread(criterion, y):
    """Sum over rows of what the criterion calls an error."""
    if criterion == "gini":
        return len(y) - (np.unique(y, return_counts=True)[1] ** 2).sum() / len(y)
    if criterion == "absolute_error":
        return np.abs(y - np.median(y)).sum()
    return len(y) * y.var()


def test_columns_of_numbers_are_split_as_ever():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    one = ObliqueTreeRegressor(splitter=OneCategorySplitter(), random_state=0).fit(X, y)
    axis = ObliqueTreeRegressor(splitter="axis", random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.tree_.threshold, axis.tree_.threshold)


def differ_clearly(category, y):
    """Whether means of categories have thrice the variance that noise would give them."""
    names, count = np.unique(category, return_counts=True)
    if len(names) < 2 or len(y) < 2 * len(names):
        return False
    mean = np.array([y[category == c].mean(axis=0) for c in names])
    between = (count[:, None] * (mean - y.mean(axis=0)) ** 2).sum() / (len(names) - 1)
    within = ((y - mean[np.searchsorted(names, category)]) ** 2).sum() / (len(y) - len(names))
    return between > 3 * within


def list_cuts(category, y):
    """Losses of the cuts of categories in the order of their means; those of -1 on either side."""
    names = [c for c in np.unique(category) if c != -1]
    names.sort(key=lambda c: y[category == c].mean())
    for k in range(len(names) + 1):
        for extra in ([], [-1]):
            left = np.isin(category, names[:k] + extra)
            if 0 < left.sum() < len(y):
                yield sum(measure_loss(y[s], np.ones(s.sum())) for s in (left, ~left))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rare=st.integers(17, 22),
    n_common=st.integers(0, 6),
    missing=st.booleans(),
    spread=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_rare_ones_of_many_stay_together_unless_they_differ(
    seed, n_rare, n_common, missing, spread
):
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(20, 24, n_common), *rng.integers(1, 20, n_rare)]
    category = np.repeat(rng.permutation(40)[: len(sizes)], sizes).astype(float)
    if missing:
        category = np.append(category, [np.nan] * 3)
    effect = spread * rng.normal(size=50)
    y = rng.normal(size=len(category)) + effect[np.nan_to_num(category, nan=49).astype(int)]
    tree = grow(category[:, None], y, [True], max_depth=1)
    known = np.where(np.isnan(category), -1, category)
    rare = np.isin(known, [c for c in np.unique(category) if (known == c).sum() < 20])
    if not differ_clearly(known[rare], y[rare, None]):
        known[rare] = -1
    losses = list(list_cuts(known, y))
    assert (tree.node_count == 1) == (len(losses) == 0)
    if losses:
        left = tree.apply(category[:, None].astype(np.float32)) == tree.children_left[0]
        assert all(len(np.unique(left[known == c])) == 1 for c in np.unique(known))
        found = sum(measure_loss(y[side], np.ones(side.sum())) for side in (left, ~left))
        assert found <= min(losses) * (1 + 1e-9)
        assert tree.n_node_samples[1:].tolist() == [left.sum(), (~left).sum()]


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("max_leaf_nodes", [-1, 4])
@pytest.mark.parametrize("level", [10.0, -10.0])
def test_new_ones_go_where_rare_ones_go(splitter, max_leaf_nodes, level):
    # Also where no row lacks the category, and most rows go to the other side.
    rng = np.random.default_rng(0)
    category = np.repeat(np.arange(35.0), [100] * 5 + [3] * 30)
    y = np.where(category < 5, level, 0.0) + rng.normal(size=len(category))
    X = np.column_stack([category, rng.normal(size=len(y))])
    tree = grow(X, y, [True, False], splitter=splitter, max_leaf_nodes=max_leaf_nodes, max_depth=1)
    if not tree.set_ptr[1]:
        pytest.skip("the set is drawn at random, and has lost")
    rows = np.array([[7.0, 0.0], [99.0, 0.0], [np.nan, 0.0]], dtype=np.float32)
    assert len(set(tree.apply(rows).tolist())) == 1
    assert list_categories(tree, 0).max() < 5


@pytest.mark.parametrize("splitter", ["axis", "axis_random"])
@pytest.mark.parametrize("kind", ["classes", "several numbers"])
@pytest.mark.parametrize("known", [True, False])
def test_rare_ones_differ_in_classes_and_several_numbers(splitter, kind, known):
    """Thirty categories of ten rows each give the targets, or have nothing to do with them."""
    rng = np.random.default_rng(0)
    category = rng.permutation(np.repeat(np.arange(30.0), 10))
    told = category.astype(int) if known else rng.integers(0, 30, 300)
    y = told % 3 if kind == "classes" else np.column_stack([told % 5, told // 6]).astype(float)
    tree = grow(category[:, None], y, [True], splitter=splitter)
    assert (tree.node_count > 1) == known


def test_forest_of_categories_with_few_rows_each():
    """Fifty towns, forty rows each, and their levels: a node of half the rows still tells them."""
    rng = np.random.default_rng(0)
    town, size = rng.integers(0, 50, 2000), rng.uniform(1, 5, 2000)
    level = rng.normal(size=50)
    X, y = np.column_stack([town, size]), size * level[town] + rng.normal(0, 0.5, 2000)
    forest = ObliqueForestRegressor(30, splitter="axis", categorical_features=[0], random_state=0)
    errors = forest.fit(X[:1500], y[:1500]).predict(X[1500:]) - y[1500:]
    assert np.sqrt(np.mean(errors**2)) < 0.8


def measure_entropy(y, weight):
    total = weight.sum()
    parts = np.array([weight[y == c].sum() for c in (0, 1)])
    parts = parts[parts > 0]
    return -(parts * np.log(parts / total)).sum()


def list_entropies(category, y, weight):
    present = np.unique(category)
    losses = []
    for size in range(1, len(present)):
        for chosen in itertools.combinations(present, size):
            left = np.isin(category, chosen)
            losses.append(sum(measure_entropy(y[s], weight[s]) for s in (left, ~left)))
    return losses


def draw_problem(rng, n=120, task="real"):
    """Two numbers and two categories, missing ones among them."""
    X = np.column_stack(
        [
            rng.integers(0, 5, n),
            rng.normal(size=n),
            rng.integers(0, 12, n),
            np.round(rng.normal(size=n), 1),
        ]
    ).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.isin(X[:, 0], [1, 4]) * 2.0 + np.isin(X[:, 2], [0, 3, 5]) + np.nan_to_num(X[:, 1])
    y = y + 0.1 * rng.normal(size=n)
    if task == "real":
        return X, y
    return X, np.digitize(y, np.quantile(y, [0.5] if task == "two" else [0.3, 0.6]))


CATEGORICAL = np.array([True, False, True, False])


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("task", ["real", "two", "three"])
@pytest.mark.parametrize("max_leaf_nodes", [-1, 12])
def test_leaves_hold_their_rows(splitter, task, max_leaf_nodes):
    X, y = draw_problem(np.random.default_rng(3), task=task)
    tree = grow(X, y, CATEGORICAL, splitter=splitter, max_leaf_nodes=max_leaf_nodes)
    leaf = tree.children_left < 0
    counts = np.bincount(tree.apply(X), minlength=tree.node_count)
    assert (counts[leaf] == tree.n_node_samples[leaf]).all()
    by_set = np.diff(tree.set_ptr) > 0
    assert by_set.any()
    of_set = np.repeat(by_set, np.diff(tree.term_ptr))
    assert (CATEGORICAL[tree.term_feature] == of_set).all()


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("task", ["real", "two", "three"])
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), n_many=st.integers(2, 30))
def test_names_do_not_matter(splitter, task, seed, n_many):
    rng = np.random.default_rng(seed)
    X, y = draw_problem(rng, task=task)
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, rng.integers(0, n_many, len(X)))
    other = X.copy()
    for j, k in ((0, 5), (2, n_many)):
        number = np.append(rng.permutation(40)[:k], np.nan)
        other[:, j] = number[np.where(np.isnan(X[:, j]), k, X[:, j]).astype(int)]
    first = grow(X, y, CATEGORICAL, splitter=splitter).predict(X)
    second = grow(other, y, CATEGORICAL, splitter=splitter).predict(other)
    np.testing.assert_array_equal(first, second)


def test_order_of_rows_does_not_matter():
    # Of many categories, with those of few rows between the others.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        category = np.repeat(rng.permutation(25), [40] * 5 + [8] * 20).astype(float)
        chance = rng.dirichlet([0.3] * 4, 25)
        y = np.array([rng.choice(4, p=chance[int(c)]) for c in category])
        y[:4] = range(4)
        order = rng.permutation(len(y))
        first = grow(category[:, None], y, [True], max_depth=1)
        second = grow(category[order, None], y[order], [True], max_depth=1)
        rows = np.arange(25.0, dtype=np.float32)[:, None]
        np.testing.assert_array_equal(first.apply(rows), second.apply(rows))


@given(seed=st.integers(0, 2**32 - 1), task=st.sampled_from(["real", "two", "three"]))
def test_what_was_not_seen_is_missing(seed, task):
    rng = np.random.default_rng(seed)
    X, y = draw_problem(rng, n=60, task=task)
    if rng.random() < 0.5:
        X[np.isnan(X[:, 2]), 2] = 0
    tree = grow(X, y, CATEGORICAL, seed=seed % 100)
    rows = X.copy()
    rows[:, 2] = np.nan
    expected = tree.apply(rows)
    for unseen in (12, 31, 32, 1000, 2.0**31, -1.0):
        rows[:, 2] = unseen
        np.testing.assert_array_equal(tree.apply(rows), expected)


def test_a_category_that_a_node_lacks_goes_where_missing_goes():
    # Category 2 is on the right of the root, where the number decides; it never meets category 0.
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 5], [3, 5], [2, 6], [3, 6]], dtype=float)
    y = np.array([0.0, 1.0, 0.0, 1.0, 10.0, 12.0, 10.0, 12.0])
    tree = grow(X, y, [True, False], max_features=2)
    for x1 in (0.0, 6.0):
        rows = np.array([[np.nan, x1], [9.0, x1]], dtype=np.float32)
        assert len(set(tree.apply(rows).tolist())) == 1


@given(seed=st.integers(0, 2**32 - 1), task=st.sampled_from(["real", "two", "three"]))
def test_weights_are_repetitions(seed, task):
    rng = np.random.default_rng(seed)
    X, y = draw_problem(rng, n=40, task=task)
    if task == "real":
        y = np.round(y * 8) / 8  # sums are exact, in whatever order
    weight = rng.integers(1, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    weighed = grow(X, y, CATEGORICAL, weight=weight.astype(float))
    plain = grow(X[repeated], y[repeated], CATEGORICAL)
    np.testing.assert_allclose(weighed.predict(X), plain.predict(X), atol=1e-12)


def test_two_of_equal_means_are_not_lost():
    # XOR of two categories: no split of one alone gains anything.
    X = np.array([[a, b] for a in (0, 1, 2) for b in (0, 1, 2) for _ in range(2)], dtype=float)
    y = ((X[:, 0] + X[:, 1]) % 3).astype(int)
    tree = grow(X, y, [True, True])
    assert (tree.predict(X.astype(np.float32))[:, 0].argmax(axis=1) == y).all()


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_all_features_may_be_categories(splitter):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (80, 2)).astype(float)
    y = np.isin(X[:, 0], [1, 4]) * 2.0 + np.isin(X[:, 1], [0, 2])
    tree = grow(X, y, [True, True], splitter=splitter)
    np.testing.assert_allclose(tree.predict(X.astype(np.float32))[:, 0, 0], y)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_what_a_splitter_counts_has_a_place_beside_sets(splitter):
    # Also where it is shown no features: the sums over all trees are made of it.
    splitter = resolve_splitter(splitter)
    assert CategoryRival(splitter).counter_names == splitter.counter_names


@pytest.mark.parametrize("n_categorical", [3, 200])
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_planes_of_many_zeros_know_no_categories(splitter, n_categorical):
    # So many columns of zeros are read entry by entry.
    rng = np.random.default_rng(0)
    numbers = np.where(rng.random((150, 300)) < 0.03, rng.normal(size=(150, 300)), 0.0)
    categories = rng.integers(0, 5, (150, n_categorical))
    y = (numbers[:, :20].sum(axis=1) > 0).astype(int)
    categorical = np.arange(300 + n_categorical) < n_categorical
    X = np.column_stack([categories, numbers]).astype(np.float32)
    tree = grow(X, y, categorical, splitter=splitter)
    by_set = np.diff(tree.set_ptr) > 0 if tree.set_ptr is not None else np.zeros(tree.node_count)
    of_set = np.repeat(by_set, np.diff(tree.term_ptr))
    assert (categorical[tree.term_feature] == of_set).all()
    # Which category has number 0 is nothing to go by.
    other = np.column_stack([(categories + 1) % 5, numbers]).astype(np.float32)
    again = grow(other, y, categorical, splitter=splitter)
    np.testing.assert_array_equal(again.predict(other), tree.predict(X))


def test_many_categories():
    rng = np.random.default_rng(1)
    category = rng.permutation(np.repeat(np.arange(10_000), 20)).astype(float)
    effect = rng.normal(size=10_000) > 0
    tree = grow(category[:, None], effect[category.astype(int)].astype(int), [True])
    assert tree.node_count == 3
    assert set(list_categories(tree, 0).tolist()) in (
        set(np.flatnonzero(effect)),
        set(np.flatnonzero(~effect)),
    )


def test_three_classes_find_the_direction_of_most_difference():
    # Categories 0-4 hold class 0, the others classes 1 and 2 alike.
    category = np.repeat(np.arange(10), 20)
    y = np.where(category < 5, 0, 1 + np.arange(200) % 2)
    tree = grow(category[:, None].astype(float), y, [True], max_depth=1)
    assert set(list_categories(tree, 0).tolist()) in ({0, 1, 2, 3, 4}, {5, 6, 7, 8, 9})


def test_sparse_features_have_no_categories():
    from scipy import sparse

    with pytest.raises(ValueError, match="dense"):
        Dataset(sparse.csr_array(np.eye(3, dtype=np.float32)), categorical=[True, False, False])
