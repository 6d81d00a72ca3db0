"""Random ferns: naive Bayes over cells, against plain NumPy, and what holds for all ferns."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from obtree import FernClassifier, ObliqueForestClassifier, load_model, save_model
from obtree.splitter.random_oblique import FernSplitter

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + 0.7 * RNG.normal(size=200) > 0).astype(int) + (X[:, 1] > 1)
NEW = RNG.normal(size=(60, 4))


def predict_slowly(ferns, rows, y, weight, new, smoothing):
    """Return log probabilities of new rows by counting rows in the cells of the ferns."""
    cells, new_cells = ferns.apply(rows), ferns.apply(new)
    n_classes = y.max() + 1
    total = np.array([weight[y == c].sum() for c in range(n_classes)])
    logs = np.tile(np.log(total / total.sum()), (len(new), 1))
    for t in range(cells.shape[1]):
        for i, cell in enumerate(new_cells[:, t]):
            for c in range(n_classes):
                here = weight[(y == c) & (cells[:, t] == cell)].sum()
                given_class = (here + smoothing) / (total[c] + smoothing * 2**ferns.depth)
                logs[i, c] += np.log(given_class)
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("splitter", ["axis_random", "random_oblique"])
@pytest.mark.parametrize("smoothing", [0.01, 1.0])
def test_agrees_with_a_plain_reference(splitter, smoothing):
    rows = X.copy()
    rows[::9, 2] = np.nan
    weight = RNG.integers(0, 3, size=200).astype(float)
    ferns = FernClassifier(4, depth=5, splitter=splitter, smoothing=smoothing, random_state=0)
    ferns.fit(rows, Y, weight)
    slow = predict_slowly(ferns, rows, Y, weight, NEW, smoothing)
    np.testing.assert_allclose(ferns.predict_log_proba(NEW), slow, atol=1e-9)
    np.testing.assert_allclose(ferns.predict_proba(NEW), np.exp(slow), atol=1e-9)
    np.testing.assert_array_equal(ferns.predict(NEW), slow.argmax(axis=1))


@pytest.mark.parametrize("n_candidates", [1, 4])
def test_nodes_of_a_level_share_a_test(n_candidates):
    ferns = FernClassifier(5, depth=6, n_candidates=n_candidates, random_state=1).fit(X, Y)
    for fern in ferns.estimators_:
        tree = fern.tree_
        assert tree.node_count == 2**7 - 1
        assert tree.n_leaves == 2**6
        depths = tree.compute_depths()
        for depth in range(6):
            nodes = np.flatnonzero(depths == depth)
            assert len(nodes) == 2**depth
            tests = {
                (
                    tree.threshold[node],
                    tree.missing_go_left[node],
                    *tree.term_feature[tree.term_ptr[node] : tree.term_ptr[node + 1]],
                    *tree.term_weight[tree.term_ptr[node] : tree.term_ptr[node + 1]],
                )
                for node in nodes
            }
            assert len(tests) == 1
        # No level is lost where cells are pure or empty.
        assert tree.n_node_samples.min() == 0
        assert tree.n_node_samples[tree.children_left < 0].sum() == 200
        np.testing.assert_array_equal(
            np.bincount(fern.apply(X), minlength=tree.node_count)[tree.children_left < 0],
            tree.n_node_samples[tree.children_left < 0],
        )


def test_a_test_leaves_rows_on_both_sides():
    ferns = FernClassifier(20, depth=4, n_candidates=1, random_state=0).fit(X, Y)
    for fern in ferns.estimators_:
        left = fern.tree_.n_node_samples[fern.tree_.children_left[0]]
        assert 0.2 * 200 <= left <= 0.8 * 200


def test_candidates_are_judged_by_the_classes():
    """Only one of many columns tells the classes apart: it is found among candidates."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(300, 10)), rng.integers(0, 2, 300)
    rows[:, 3] += 6 * y
    found = [
        FernClassifier(10, depth=1, splitter="axis_random", n_candidates=n, random_state=0)
        .fit(rows, y)
        .score(rows, y)
        for n in (1, 40)
    ]
    assert found[1] > 0.95
    params = {"depth": 1, "splitter": "axis_random", "n_candidates": 40, "random_state": 0}
    trees = FernClassifier(10, **params).fit(rows, y).estimators_
    assert all(tree.tree_.term_feature[0] == 3 for tree in trees)


def test_several_outputs():
    y = np.stack([Y, (X[:, 2] > 0).astype(int)], axis=1)
    ferns = FernClassifier(6, depth=4, random_state=0).fit(X, y)
    logs = ferns.predict_log_proba(NEW)
    for k, own in enumerate(logs):
        slow = predict_slowly(ferns, X, y[:, k], np.ones(200), NEW, 0.1)
        np.testing.assert_allclose(own, slow, atol=1e-9)
    np.testing.assert_allclose(ferns.predict_proba(NEW)[1].sum(axis=1), 1.0)
    assert ferns.predict(NEW).shape == (60, 2)


@given(seed=st.integers(0, 10_000), n_candidates=st.integers(1, 3), gaps=st.booleans())
@settings(max_examples=30)
def test_weights_are_repetition_in_any_order(seed, n_candidates, gaps):
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    if gaps:
        rows[rng.random(rows.shape) < 0.2] = np.nan
    y[:3] = [0, 1, 2]
    weight = rng.integers(0, 4, size=40)
    weight[:3] = 1
    again = rng.permutation(np.repeat(np.arange(40), weight))
    ferns = FernClassifier(3, depth=4, n_candidates=n_candidates, random_state=seed)
    one = ferns.fit(rows, y, weight).predict_log_proba(rows)
    two = ferns.fit(rows[again], y[again]).predict_log_proba(rows)
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_threads_and_layouts_change_nothing():
    thin = np.where(np.abs(X) > 0.8, X, 0.0)
    ferns = FernClassifier(9, depth=5, random_state=0).fit(thin, Y)
    known = ferns.predict_log_proba(thin)
    for rows in (thin, sp.csr_matrix(thin), sp.csc_matrix(thin), np.asfortranarray(thin)):
        other = FernClassifier(9, depth=5, random_state=0, n_jobs=2).fit(rows, Y)
        np.testing.assert_array_equal(other.predict_log_proba(rows), known)


def test_wide_sparse_rows_with_many_terms():
    rng = np.random.default_rng(0)
    rows = sp.random(120, 5000, density=0.01, random_state=0, format="csr")
    y = rng.integers(0, 2, 120)
    sparse = FernClassifier(3, depth=4, random_state=0).fit(rows, y)
    dense = FernClassifier(3, depth=4, random_state=0).fit(rows.toarray(), y)
    np.testing.assert_array_equal(sparse.apply(rows), dense.apply(rows.toarray()))
    splitter = FernSplitter(depth=4, feature_combinations=40)
    forest = ObliqueForestClassifier(3, splitter=splitter, max_features=2, random_state=0)
    one, two = forest.fit(rows, y).apply(rows), forest.fit(rows.toarray(), y).apply(rows)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((30, 2)),
        np.repeat(np.arange(30.0)[:, None], 3, axis=1),
        np.full((30, 2), np.nan),
        np.where(np.arange(30)[:, None] % 2, np.nan, [[1.0, 2.0]]),
        np.arange(30.0)[:, None] * 1e30,
    ],
)
def test_odd_columns(rows):
    y = np.arange(30) % 3
    proba = FernClassifier(5, depth=4, random_state=0).fit(rows, y).predict_proba(rows)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_one_row_and_one_class():
    assert FernClassifier(2, depth=3).fit([[1.0, 2.0]], ["a"]).predict([[5.0, 6.0]]) == ["a"]
    proba = FernClassifier(2, depth=3).fit(X, np.zeros(200)).predict_proba(NEW)
    np.testing.assert_array_equal(proba, np.ones((60, 1)))


def test_logarithms_do_not_underflow():
    rows = np.r_[np.full((200, 1), -1.0), np.full((200, 1), 1.0)]
    rows = np.tile(rows, (1, 5)) + 0.01 * RNG.normal(size=(400, 5))
    ferns = FernClassifier(300, depth=2, smoothing=1e-6, random_state=0)
    logs = ferns.fit(rows, np.repeat([0, 1], 200)).predict_log_proba(rows)
    assert np.isfinite(logs).all()
    assert logs.min() < -1000


def test_a_constant_factor_of_weights_says_nothing():
    weight = RNG.random(200)
    ferns = FernClassifier(4, depth=4, smoothing=1.0, random_state=0)
    one = ferns.fit(X, Y, weight).predict_log_proba(NEW)
    two = ferns.fit(X, Y, 1000 * weight).predict_log_proba(NEW)
    np.testing.assert_allclose(one, two, rtol=1e-9)


def test_class_weights_are_weights_of_rows():
    weighted = FernClassifier(5, depth=4, class_weight={0: 3, 1: 1, 2: 1}, random_state=0)
    weighted.fit(X, Y)
    same = FernClassifier(5, depth=4, random_state=0).fit(X, Y, np.where(Y == 0, 3.0, 1.0))
    np.testing.assert_allclose(weighted.predict_proba(NEW), same.predict_proba(NEW))
    balanced = FernClassifier(5, depth=4, class_weight="balanced", random_state=0).fit(X, Y)
    np.testing.assert_allclose(balanced.estimators_[0].tree_.value[0, 0], 1 / 3)


def test_cells_go_on_learning():
    whole = FernClassifier(5, depth=5, random_state=0).fit(X, Y)
    known = whole.predict_log_proba(NEW)
    whole.update_leaves(X[:80], Y[:80], keep=0.0)
    assert np.abs(whole.predict_log_proba(NEW) - known).max() > 0.01
    whole.update_leaves(X[80:], Y[80:])
    np.testing.assert_allclose(whole.predict_log_proba(NEW), known, rtol=1e-12)
    with pytest.raises(ValueError, match=r"not seen: \[7\]"):
        whole.update_leaves(X, np.where(Y == 2, 7, Y))


def test_saved_and_loaded(tmp_path):
    ferns = FernClassifier(4, depth=4, smoothing=0.5, random_state=0)
    ferns.fit(X + 2**30, Y.astype(str), np.full(200, 0.3))
    known = ferns.predict_log_proba(NEW + 2**30)
    save_model(ferns, tmp_path / "model")
    for model in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(ferns))):
        np.testing.assert_array_equal(model.predict_log_proba(NEW + 2**30), known)
        assert model.get_params() == ferns.get_params()
        model.update_leaves(X + 2**30, Y.astype(str))


@pytest.mark.parametrize("smoothing", [0.0, -1.0, "much"])
def test_a_file_with_a_smoothing_that_cannot_be(tmp_path, smoothing):
    ferns = FernClassifier(2, depth=2, random_state=0).fit(X, Y)
    ferns.smoothing = smoothing
    save_model(ferns, tmp_path / "model")
    with pytest.raises(ValueError, match=r"is not a valid model.*smoothing"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("extras", [{}, {"weight_unit": 0}, {"weight_unit": "1"}, {"more": 1}])
def test_a_file_with_other_extras(tmp_path, monkeypatch, extras):
    ferns = FernClassifier(2, depth=2, random_state=0).fit(X, Y)
    monkeypatch.setattr(FernClassifier, "_describe_extras", lambda self: (extras, {}))
    save_model(ferns, tmp_path / "model")
    with pytest.raises(ValueError, match="is not a valid model"):
        load_model(tmp_path / "model")


def test_a_pickle_that_was_tampered_with():
    ferns = FernClassifier(2, depth=2, random_state=0).fit(X, Y)
    rebuild, (state,) = ferns.estimators_[0].tree_.__reduce__()
    state["children_left"] = np.where(state["children_left"] == 1, 0, state["children_left"])
    state["children_left"] = state["children_left"].astype(np.int32)
    with pytest.raises(ValueError, match="children_left"):
        rebuild(state)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"depth": 0}, "depth=0.*from 1 to 20"),
        ({"depth": 21}, "depth=21"),
        ({"splitter": "axis"}, "unknown splitter 'axis'"),
        ({"splitter": FernSplitter()}, "splitter"),
        ({"n_candidates": 0}, "n_candidates=0"),
        ({"smoothing": 0}, "smoothing=0"),
        ({"class_weight": "balanced_subsample"}, "balanced_subsample"),
        ({"n_jobs": 1.5}, "n_jobs"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        FernClassifier(**params).fit(X, Y)


def test_a_failed_fit_leaves_the_last_one():
    ferns = FernClassifier(3, depth=3, random_state=0).fit(X, Y)
    known = ferns.predict_proba(NEW)
    with pytest.raises(ValueError, match="infinity"):
        ferns.fit(X * np.inf, Y)
    np.testing.assert_array_equal(ferns.predict_proba(NEW), known)


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    ferns = FernClassifier(3, depth=3, random_state=0).fit(frame, Y)
    assert ferns.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(ferns.fit(X, Y), "feature_names_in_")
