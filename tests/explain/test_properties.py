"""What Shapley values are defined by, on random trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree import ObliqueForestClassifier, ObliqueForestRegressor, TAOForestClassifier
from obtree.explain import expected_value, shap_values
from obtree.splitter import RandomObliqueSplitter
from obtree.testing.probe_team import Observer
from obtree.tree.tree import Tree, list_arrays

SPLITTERS = ("axis", "axis_random", "random_oblique", "conic", "oc1", "co2")


@st.composite
def forests(draw):
    """A small forest, rows to explain and a background, with ties and missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_features = draw(st.integers(1, 16))
    X = rng.normal(size=(90, n_features)).astype(np.float32)
    if draw(st.booleans()):
        X = np.round(X)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    y = np.nan_to_num(X).sum(axis=1) + rng.normal(size=90)
    params = {
        "splitter": draw(st.sampled_from(SPLITTERS)),
        "max_depth": draw(st.integers(1, 6)),
        "random_state": 0,
    }
    if draw(st.booleans()):
        forest = ObliqueForestRegressor(3, **params)
    else:
        combine = draw(st.sampled_from(["average", "vote"]))
        forest, y = ObliqueForestClassifier(3, combine=combine, **params), np.digitize(y, [-1, 1])
    return forest.fit(X, y), X, y


@given(forests(), st.integers(0, 13))
def test_values_add_up_whatever_is_exact(drawn, max_exact):
    forest, X, _ = drawn
    predict = getattr(forest, "predict_proba", forest.predict)
    weight = np.random.default_rng(0).random(5)
    phi = shap_values(forest, X[:3], X[40:45], background_weight=weight, max_exact=max_exact)
    base = expected_value(forest, X[40:45], background_weight=weight)
    np.testing.assert_allclose(base + phi.sum(axis=1), predict(X[:3]), atol=1e-9)


@pytest.mark.parametrize("splitter", ["axis", "random_oblique", "co2"])
@pytest.mark.parametrize("n_rows", [1, 3, 70])
def test_threads_change_nothing(splitter, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)).astype(np.float32)
    forest = ObliqueForestRegressor(30, splitter=splitter, max_depth=5, random_state=0)
    forest.fit(X, X[:, 0] * X[:, 1] + X[:, 2:].sum(axis=1))
    # Enough work for several threads.
    background = X[:300] if n_rows < 70 else X[:10]
    options = {"max_exact": 4, "n_permutations": 1}
    one = shap_values(forest, X[:n_rows], background, **options, n_jobs=1)
    for n_jobs in (2, 3):
        more = shap_values(forest, X[:n_rows], background, **options, n_jobs=n_jobs)
        np.testing.assert_array_equal(one, more)


@given(forests())
def test_features_that_no_tree_uses_get_nothing(drawn):
    forest, X, _ = drawn
    trees = [tree.tree_ for tree in forest.estimators_]
    used = {j for tree in trees for j in tree.term_feature}
    used |= {j for tree in trees if tree.term_partner is not None for j in tree.term_partner}
    phi = shap_values(forest, X[:3], X[40:45], max_exact=5)
    for j in set(range(X.shape[1])) - used:
        assert not phi[:, j].any()


@given(forests())
def test_weights_are_numbers_of_rows(drawn):
    forest, X, _ = drawn
    counts = np.array([2, 0, 1, 3])
    repeated = np.repeat(X[40:44], counts, axis=0)
    options = {"max_exact": 16}
    weighted = shap_values(forest, X[:3], X[40:44], background_weight=counts, **options)
    plain = shap_values(forest, X[:3], repeated, **options)
    np.testing.assert_allclose(weighted, plain, atol=1e-12)
    np.testing.assert_allclose(
        expected_value(forest, X[40:44], background_weight=counts),
        expected_value(forest, repeated),
        atol=1e-12,
    )


def test_features_with_equal_parts_get_the_same():
    # The root compares the sum of two features, which stand in it for each other.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).astype(np.float32)
    y = (X[:, 1] + X[:, 3] > 0).astype(int)
    forest = ObliqueForestClassifier(
        20, splitter=RandomObliqueSplitter(feature_combinations=2), max_depth=1, random_state=0
    ).fit(X, y)
    for tree in forest.estimators_:
        used = tree.tree_.term_feature
        if len(used) != 2 or np.ptp(tree.tree_.term_weight) != 0.0:
            continue
        rows, background = np.zeros((1, 4), dtype=np.float32), np.zeros((1, 4), dtype=np.float32)
        rows[0, used] = 3.0
        background[0, used] = -2.0
        phi = shap_values(tree, rows, background)
        np.testing.assert_allclose(phi[0, used[0]], phi[0, used[1]], atol=1e-15)
        assert phi.any()
        break
    else:
        raise AssertionError("no tree adds two features up")


@given(st.integers(0, 1000), st.sampled_from(["axis", "conic", "oc1"]))
def test_columns_in_another_order(seed, splitter):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2]
    order = rng.permutation(5)
    forest = ObliqueForestRegressor(2, splitter=splitter, max_depth=3, random_state=0).fit(X, y)
    phi = shap_values(forest, X[:3], X[10:14])
    # The same trees, with the columns named anew.
    place = np.argsort(order).astype(np.int32)
    for member in forest.estimators_:
        arrays = list_arrays(member.tree_)
        arrays["term_feature"] = place[arrays["term_feature"]]
        if arrays["term_partner"] is not None:
            partner = arrays["term_partner"]
            arrays["term_partner"] = np.where(partner < 0, -1, place[partner])
        member.tree_ = Tree.from_arrays(n_features=5, **arrays)
    moved = shap_values(forest, X[:3][:, order], X[10:14][:, order])
    np.testing.assert_allclose(moved, phi[:, order], atol=1e-12)


def test_ctrl_c():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)).astype(np.float32)
    forest = TAOForestClassifier(3, max_depth=4, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)

    def work():
        return shap_values(forest, X[:40], X[100:120])

    with Observer() as observer:
        before = work()
    n_items = observer.n_items
    with Observer(interrupt_at=n_items // 2) as observer:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert observer.n_items < n_items
    np.testing.assert_array_equal(work(), before)
