"""Columns that float32 does not tell apart, such as time stamps and identifiers."""

import copy
import pickle
import warnings

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
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOForestClassifier,
    TAOForestRegressor,
    TAOTreeClassifier,
    TAOTreeRegressor,
    load_model,
    save_model,
    tao_path,
)
from obtree.data.precision import find_offset
from obtree.testing.growth import hash_trees
from obtree.testing.reference import route_rows
from obtree.tree.normal_form import FIELDS
from obtree.tree.tree import Tree

START = {"time": 1_700_000_000, "identifier": 10**12, "beyond float64": 2**60}

MODELS = [
    ObliqueTreeClassifier(random_state=0),
    ObliqueTreeClassifier(splitter="conic", max_depth=4, random_state=0),
    ObliqueTreeRegressor(leaf="linear", max_depth=4, random_state=0),
    ObliqueForestClassifier(5, splitter="random_oblique", bootstrap=True, random_state=0),
    ObliqueForestRegressor(5, random_state=0),
    ObliqueForestClassifier(3, splitter="oc1", max_depth=5, random_state=0),
    ObliqueForestClassifier(3, splitter="co2", max_depth=5, random_state=0),
    ObliqueForestRegressor(3, rotation="pca", rotation_size=2, random_state=0),
    DisjunctiveTreeClassifier(n_epochs=3, random_state=0),
    DisjunctiveForestClassifier(3, n_epochs=3, random_state=0),
    NonGreedyTreeClassifier(n_epochs=3, random_state=0),
    NonGreedyTreeRegressor(n_epochs=3, random_state=0),
    NonGreedyForestClassifier(3, n_epochs=3, random_state=0),
    NonGreedyForestRegressor(3, n_epochs=3, random_state=0),
    TAOTreeClassifier(max_depth=4, random_state=0),
    TAOTreeRegressor(max_depth=4, random_state=0),
    TAOForestClassifier(3, max_depth=4, random_state=0),
    TAOForestRegressor(3, max_depth=4, random_state=0),
]


def name_model(model):
    return f"{type(model).__name__}-{getattr(model, 'splitter', getattr(model, 'init', ''))}"


def draw(seed=0, n=600, missing=False):
    """Steps from 0 to n, two more columns, and classes that alternate every 60 steps."""
    rng = np.random.default_rng(seed)
    steps = rng.permutation(n)
    X = np.column_stack([rng.integers(0, 9, n), steps, rng.integers(0, 5, n)])
    y = steps // 60 % 2
    if missing:
        X = X.astype(np.float64)
        X[rng.random(n) < 0.1, 1] = np.nan
    return X, y


def shift(X, start, dtype=np.int64):
    """Let the steps begin elsewhere."""
    X = X.astype(dtype)
    X[:, 1] += dtype(start)
    return X


def fit_quietly(model, X, y):
    """Fit a clone; no warning may say that values became equal."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="X is rounded")
        return clone(model).fit(X, y)


def find_steps_offset(X):
    """What the estimators find, as a column of steps that are counted from there."""
    offset, losses = find_offset(X)
    assert losses == []
    return offset


def check_same_model(model, plain, X, small):
    """One model is the other, with another origin of the numbers."""
    ours = [tree.shifted for tree in model._list_trees()]
    np.testing.assert_array_equal(model.predict(X), plain.predict(small))
    if is_classifier(model):
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(small))
    if isinstance(ours[0], Tree):
        assert hash_trees(ours) == hash_trees(plain._list_trees())
        np.testing.assert_array_equal(model.apply(X), plain.apply(small))
    else:
        for one, other in zip(ours, plain._list_trees(), strict=True):
            for name in FIELDS:
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("start", START.values(), ids=START)
@pytest.mark.parametrize("model", MODELS, ids=name_model)
def test_models_do_not_depend_on_where_numbers_begin(model, start):
    X, y = draw()
    large = shift(X, start)
    offset = find_steps_offset(large)
    small = (large - offset.astype(np.int64)).astype(np.float32)
    fitted = fit_quietly(model, large, y)
    plain = fit_quietly(model, small, y)
    np.testing.assert_array_equal(fitted._list_trees()[0].feature_offset, offset)
    check_same_model(fitted, plain, large, small)


@pytest.mark.parametrize("model", MODELS, ids=name_model)
def test_missing_time_stamps(model):
    X, y = draw(missing=True)
    large = shift(X, 1.7e9, np.float64)
    offset = find_steps_offset(large)
    small = (large - offset).astype(np.float32)
    check_same_model(fit_quietly(model, large, y), fit_quietly(model, small, y), large, small)


@pytest.mark.parametrize("start", START.values(), ids=START)
@pytest.mark.parametrize("kind", [ObliqueTreeClassifier, ObliqueForestClassifier])
def test_neighbours_are_learnt(kind, start):
    X, y = draw(n=4000)
    large = shift(X, start)
    model = kind(max_features=None, random_state=0).fit(large[::2], y[::2])
    assert model.score(large[1::2], y[1::2]) > 0.95
    rounded = large.astype(np.float32)
    model.fit(rounded[::2], y[::2])
    assert model.score(rounded[1::2], y[1::2]) < 0.75


@pytest.mark.parametrize("model", MODELS, ids=name_model)
def test_saved_and_copied_models(model, tmp_path):
    X, y = draw()
    large = shift(X, 1_700_000_000)
    fitted = fit_quietly(model, large, y)
    save_model(fitted, tmp_path / "model")
    others = [
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        load_model(tmp_path / "model"),
    ]
    for other in others:
        np.testing.assert_array_equal(
            other._list_trees()[-1].feature_offset, fitted._list_trees()[-1].feature_offset
        )
        np.testing.assert_array_equal(other.predict(large), fitted.predict(large))


def test_trees_of_a_forest_predict_by_themselves():
    X, y = draw()
    large = shift(X, 1_700_000_000)
    forest = ObliqueForestClassifier(3, splitter="random_oblique", random_state=0).fit(large, y)
    path, ptr = forest.decision_path(large)
    proba = 0.0
    for t, tree in enumerate(forest.estimators_):
        proba = proba + tree.predict_proba(large) / 3
        leaves = forest.apply(large)[:, t]
        np.testing.assert_array_equal(tree.apply(large), leaves)
        np.testing.assert_array_equal(tree.tree_.apply(large), leaves)
        np.testing.assert_array_equal(route_rows(tree.tree_, large[:50]), leaves[:50])
        np.testing.assert_array_equal(tree.tree_.predict(large)[:, 0], tree.predict_proba(large))
        own = path[:, ptr[t] : ptr[t + 1]]
        assert (own != tree.decision_path(large)).nnz == 0
        assert (own != tree.tree_.decision_path(large)).nnz == 0
    np.testing.assert_allclose(forest.predict_proba(large), proba)


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "oc1", "co2"])
def test_the_rule_holds_in_the_numbers_of_the_user(splitter):
    X, y = draw()
    large = shift(X, 1.7e9, np.float64)
    tree = ObliqueTreeClassifier(splitter=splitter, random_state=0).fit(large, y).tree_
    path = tree.decision_path(large).toarray().astype(bool)
    internal = np.flatnonzero(tree.children_left >= 0)
    assert (np.abs(tree.threshold[internal]) > 1e6).any()
    for node in internal:
        terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
        rows = large[path[:, node]]
        total = rows[:, tree.term_feature[terms]] @ tree.term_weight[terms]
        gap = total - tree.threshold[node]
        clear = np.abs(gap) > 1e-13 * 1.7e9 * np.abs(tree.term_weight[terms]).sum()
        left = path[path[:, node], tree.children_left[node]]
        np.testing.assert_array_equal(left[clear], gap[clear] <= 0)
        assert clear.mean() > 0.9


def test_linear_leaves_in_the_numbers_of_the_user():
    X, _ = draw()
    large = shift(X, 1.7e9, np.float64)
    y = 3.0 * X[:, 1] - X[:, 0]
    model = ObliqueTreeRegressor(leaf="linear", max_depth=1, random_state=0).fit(large, y)
    tree, leaves = model.tree_, model.apply(large)
    expected = [
        tree.leaf_intercept[leaf, 0]
        + sum(
            tree.leaf_weight[k, 0] * x[tree.leaf_feature[k]]
            for k in range(tree.leaf_ptr[leaf], tree.leaf_ptr[leaf + 1])
        )
        for leaf, x in zip(leaves, large, strict=True)
    ]
    np.testing.assert_allclose(model.predict(large), expected, rtol=0, atol=1e-5)
    assert model.score(large, y) > 0.999


def test_other_containers_and_types_predict_the_same():
    pd = pytest.importorskip("pandas")
    X, y = draw()
    large = shift(X, 1_700_000_000)
    model = ObliqueForestClassifier(5, random_state=0).fit(large, y)
    expected = model.predict_proba(large)
    for other in (
        large.astype(np.float64),
        np.asfortranarray(large),
        large.astype(np.uint64),
        large.astype(np.int32),
        large.astype(np.longdouble),
        large.astype(object),
        large.tolist(),
        np.repeat(large, 2, axis=1)[:, ::2],
        sp.csr_matrix(large),
        sp.csc_matrix(large.astype(np.float64)),
    ):
        np.testing.assert_array_equal(model.predict_proba(other), expected)
    np.testing.assert_array_equal(model.predict_proba(large[:1]), expected[:1])
    frame = pd.DataFrame(large, columns=["a", "time", "b"])
    mixed = frame.astype({"a": "float32", "b": "int8"})
    for table in (frame, mixed, frame.astype("Int64")):
        again = ObliqueForestClassifier(5, random_state=0).fit(table, y)
        np.testing.assert_array_equal(again.predict_proba(table), expected)
        assert hash_trees(again._list_trees()) == hash_trees(model._list_trees())


def test_frames_that_become_float64_as_a_whole():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = draw()
    columns = {"a": X[:, 0] / 2, "id": 2**60 + X[:, 1]}
    n_left = len(np.unique((2**60 + X[:, 1]).astype(np.float64)))
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        with pytest.warns(UserWarning, match=rf"'id'\): {n_left} left of 600") as caught:
            ObliqueTreeClassifier(random_state=0).fit(frame, y)
        assert [warning.filename for warning in caught] == [__file__]
    columns["id"] = 1_700_000_000_000_000_000 + 1000 * X[:, 1]  # nanoseconds
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        assert fit_quietly(ObliqueTreeClassifier(random_state=0), frame, y).score(frame, y) == 1.0
    rows = (2**60 + X).tolist()
    assert fit_quietly(ObliqueTreeClassifier(random_state=0), rows, y).score(rows, y) == 1.0


def test_values_far_from_the_training_data():
    X, y = draw()
    large = shift(X, 1.7e9, np.float64)
    model = ObliqueTreeClassifier(random_state=0).fit(large, y)
    far = large[:3].copy()
    far[:, 1] = [0.0, -1e30, 1e30]
    low, high = large[:2].copy()
    low[1], high[1] = large[:, 1].min(), large[:, 1].max()
    ends = np.array([low, low, high])
    ends[:, [0, 2]] = far[:, [0, 2]]
    np.testing.assert_array_equal(model.predict_proba(far), model.predict_proba(ends))
    for bad in (np.inf, 1e39):
        far[1, 1] = bad
        with pytest.raises(ValueError, match="too large for float32 in column 1, first at row 1"):
            model.predict(far)
        with pytest.raises(ValueError, match="too large for float32 in column 1, first at row 1"):
            ObliqueTreeClassifier().fit(far, [0, 1, 0])


def test_a_warm_start_keeps_the_offset():
    X, y = draw()
    large = shift(X, 1_700_000_000)
    whole = ObliqueForestClassifier(6, random_state=0).fit(large, y)
    grown = ObliqueForestClassifier(3, warm_start=True, random_state=0).fit(large, y)
    grown.set_params(n_estimators=6).fit(large, y)
    assert hash_trees(grown._list_trees()) == hash_trees(whole._list_trees())
    later = shift(X, 1_700_900_000)
    grown.set_params(n_estimators=9).fit(later, y)
    offsets = {tree.feature_offset.tobytes() for tree in grown._list_trees()}
    assert offsets == {whole._list_trees()[0].feature_offset.tobytes()}
    assert (grown.estimators_[-1].predict(later) == y).mean() > 0.8
    # Sparse features are counted from there as well.
    forest = clone(grown).set_params(n_estimators=2).fit(large, y)
    dense = copy.deepcopy(forest).set_params(n_estimators=4).fit(later, y)
    for kind in (sp.csr_matrix, sp.csc_matrix):
        other = copy.deepcopy(forest).set_params(n_estimators=4).fit(kind(later), y)
        np.testing.assert_array_equal(other.predict_proba(large), dense.predict_proba(large))
        assert hash_trees(other._list_trees()) == hash_trees(dense._list_trees())
    with pytest.raises(ValueError, match="X must have as many columns"):
        forest.set_params(n_estimators=5).fit(np.tile(large, 2), y)
    # Without an offset at first there is none later, and the user hears of it.
    plain = ObliqueForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="column 1: .* left of 600"):
        plain.set_params(n_estimators=4).fit(large, y)
    assert plain.estimators_[-1].tree_.feature_offset is None
    # A new fit looks anew.
    assert grown.set_params(warm_start=False).fit(X, y).estimators_[0].tree_.feature_offset is None


def test_rows_of_no_weight_are_absent():
    X, y = draw()
    large = shift(X, 1_700_000_000)
    weight = np.ones(len(y))
    weight[::5] = 0.0
    dirty = large.copy()
    dirty[::5, 1] = np.random.default_rng(1).integers(0, 2**62, 120)
    model = ObliqueTreeClassifier(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = clone(model).fit(dirty, y, sample_weight=weight)
        other = clone(model).fit(large[weight > 0], y[weight > 0])
    assert hash_trees([one.tree_]) == hash_trees([other.tree_])


@pytest.mark.parametrize(
    "kind", [TAOTreeClassifier, NonGreedyTreeClassifier, DisjunctiveTreeClassifier]
)
def test_fitted_trees_to_start_from(kind):
    """Whatever the start counts from, what is made of it counts as its own data do."""
    X, y = draw()
    large = shift(X, 1_700_000_000)
    start = ObliqueTreeClassifier(max_depth=4, random_state=0)
    moved = shift(X, 1_700_000_512)  # the offset is a multiple of 128 here
    a = kind(init=clone(start).fit(large, y), random_state=0).fit(large, y)
    b = kind(init=clone(start).fit(moved, y), random_state=0)
    b.init.tree_ = b.init.tree_.shifted.with_offset(a._list_trees()[0].feature_offset)
    b.fit(large, y)
    np.testing.assert_array_equal(a.predict_proba(large), b.predict_proba(large))
    user = clone(start).fit(large, y).tree_.shift_to(None)
    c = kind(init=user, random_state=0).fit(large, y)
    np.testing.assert_array_equal(a.predict_proba(large), c.predict_proba(large))


def test_paths():
    X, y = draw()
    large = shift(X, 1_700_000_000)
    small = (large - find_offset(large)[0].astype(np.int64)).astype(np.float32)
    ones = tao_path(TAOTreeClassifier(max_depth=3, random_state=0), large, y, [0.01, 1.0])
    others = tao_path(TAOTreeClassifier(max_depth=3, random_state=0), small, y, [0.01, 1.0])
    for one, other in zip(ones, others, strict=True):
        check_same_model(one, other, large, small)
    tree = ObliqueTreeClassifier(random_state=0)
    path, expected = (tree.cost_complexity_pruning_path(Z, y) for Z in (large, small))
    np.testing.assert_array_equal(path.ccp_alphas, expected.ccp_alphas)
    tree.set_params(ccp_alpha=0.01)
    check_same_model(clone(tree).fit(large, y), clone(tree).fit(small, y), large, small)


def test_out_of_bag_scores():
    X, y = draw()
    large = shift(X, 1_700_000_000)
    small = (large - find_offset(large)[0].astype(np.int64)).astype(np.float32)
    forest = ObliqueForestClassifier(30, bootstrap=True, oob_score=True, random_state=0)
    one, other = clone(forest).fit(large, y), clone(forest).fit(small, y)
    assert one.oob_score_ == other.oob_score_ > 0.7


def two_ranges(n=600):
    """Seconds, and small numbers: no offset serves both."""
    steps = np.random.default_rng(0).permutation(n)
    return np.where(steps % 2 == 0, steps, 1_700_000_000 + steps), steps // 60 % 2


def test_the_user_is_told_of_what_is_lost():
    pd = pytest.importorskip("pandas")
    column, y = two_ranges()
    X = np.column_stack([np.zeros(600, dtype=np.int64), column])
    n_left = len(np.unique(column.astype(np.float32)))
    for table, name in ((X, "column 1"), (pd.DataFrame(X, columns=["a", "when"]), r"'when'\)")):
        for data in (table, table.astype(np.float64)):
            with pytest.warns(UserWarning, match=f"{name}: {n_left} left of 600. If") as caught:
                ObliqueForestClassifier(2, random_state=0).fit(data, y)
            assert len(caught) == 1
            assert caught[0].filename == __file__
    many = np.repeat(column[:, None], 8, axis=1)
    with pytest.warns(UserWarning, match="column 4: [^;]*; and 3 more columns"):
        ObliqueTreeClassifier(random_state=0).fit(many, y)


@pytest.mark.parametrize("model", MODELS, ids=name_model)
def test_every_model_tells_once(model):
    column, y = two_ranges()
    X = np.column_stack([np.arange(600) % 7, column])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(model).fit(X, y)
    assert [str(w.message) for w in caught if "column 1: " in str(w.message)] != []
    assert sum("X is rounded" in str(w.message) for w in caught) == 1
    assert fitted._list_trees()[0].feature_offset is None


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_features_are_not_shifted(kind):
    X, y = draw()
    large = shift(X, 1.7e9, np.float64)
    with pytest.warns(UserWarning, match="column 1: .* left of 600. If") as caught:
        model = ObliqueTreeClassifier(random_state=0).fit(kind(large), y)
    assert [warning.filename for warning in caught] == [__file__]
    assert model.tree_.feature_offset is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ObliqueTreeClassifier(random_state=0).fit(kind(X.astype(np.float64)), y)
        ObliqueTreeClassifier(random_state=0).fit(kind(large.astype(np.float32)), y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_that_lose_nothing_are_those_of_float32(iris, diabetes, dtype):
    for (X, y), kind in ((iris, ObliqueForestClassifier), (diabetes, ObliqueForestRegressor)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one = kind(3, random_state=0).fit(X.astype(dtype), y)
        other = kind(3, random_state=0).fit(X.astype(np.float32), y)
        assert one.estimators_[0].tree_.feature_offset is None
        assert hash_trees(one._list_trees()) == hash_trees(other._list_trees())


def test_float32_is_taken_as_it_is():
    X, y = draw()
    rounded = shift(X, 1_700_000_000).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ObliqueTreeClassifier(random_state=0).fit(rounded, y)
    assert model.tree_.feature_offset is None
